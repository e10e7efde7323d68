package cases

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// edgeCalls are the edge cases of calls and their results finding each other.
func edgeCalls() map[string]item {
	return map[string]item{
		"27": outOfOrder, "28": afterTheCancel, "29": messageInARound, "30": cutInACall, "31": noArguments,
		"32": underscores, "33": prefixesThatCollide, "52": limitBeyondTheTimer, "61": stoppedWhileOneWaits,
	}
}

func outOfOrder(t *testing.T) {
	// The last call is done first.
	const n = 6
	var done [n + 1]chan struct{}
	for i := range done {
		done[i] = make(chan struct{})
	}
	close(done[n])
	var tools []tool.Tool
	var calls []scripted.Call
	for i := range n {
		tools = append(tools, handler(fmt.Sprint("t", i), func(context.Context, tool.Call) (tool.Result, error) {
			defer close(done[i])
			<-done[i+1]
			return tool.Text(fmt.Sprint("of ", i)), nil
		}))
		calls = append(calls, asks(fmt.Sprint("c", i), fmt.Sprint("t", i), "{}"))
	}
	w := quick(t, tools...)
	for i, a := range w.round(calls...) {
		if a.text != fmt.Sprint("of ", i) || a.call.ProviderID != calls[i].ID {
			t.Errorf("call %d (%s) is answered %q", i, a.call.ProviderID, a.text)
		}
	}
	if d := cmp.Diff("results c0 c1 c2 c3 c4 c5", parseBody(t, w.last()).outline()[2]); d != "" {
		t.Errorf("the order of the results (-want +got):\n%s", d)
	}
	// A second result for a call, and one for a call that nobody made, change nothing.
	before := w.dump(repair)
	s := w.open()
	defer func() { _ = s.Close() }()
	lease, err := s.TakeLease(t.Context(), history.Take{Conversation: talk, Run: "again", Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"r1-1", "r1-7", "r2-1"} {
		_, err := s.SettleCalls(t.Context(), lease, []history.Settled{{
			Result: history.Result{ID: resultOf(t, id), Tool: "t0", Whole: []byte("another")}, Outcome: history.OutcomeDone, Now: time.Now(),
		}}, nil)
		if !errors.Is(err, history.ErrConflict) && !errors.Is(err, history.ErrNotFound) || !strings.Contains(err.Error(), id) {
			t.Errorf("a result for %s: %v", id, err)
		}
	}
	if err := s.ReleaseLease(t.Context(), lease); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, w.dump(repair)); d != "" {
		t.Errorf("what is stored has changed:\n%s", d)
	}
}

// deaf runs a turn whose one call does not hear that the turn is cancelled and comes back only after the
// run has ended; it gives the time that the run took from the cancel on, with the store's late results.
func deaf(t *testing.T, w *world, name string) (took time.Duration, late []history.Event) {
	t.Helper()
	var cancelled atomic.Int64
	var cancel atomic.Pointer[context.CancelFunc]
	release, back := make(chan struct{}), make(chan struct{})
	w.tools = append(w.tools, handler(name, func(context.Context, tool.Call) (tool.Result, error) {
		cancelled.Store(time.Now().UnixNano())
		(*cancel.Load())()
		<-release
		defer close(back)
		return tool.Text("TOO LATE"), nil
	}))
	w.config.Calls.Grace = 20 * time.Millisecond
	w.steps = append(w.steps, scripted.Step{Calls: []scripted.Call{asks("", name, "{}")}})
	w.process(func(a *agent.Agent, s *sqlite.Store) {
		ctx, end := context.WithCancel(t.Context())
		defer end()
		cancel.Store(&end)
		out, err := a.Run(ctx, agent.Turn{Conversation: talk, Text: "Go on."}).Collect()
		took = time.Since(time.Unix(0, cancelled.Load()))
		if !errors.Is(err, context.Canceled) || out.Reason != "cancelled" {
			t.Fatalf("ended as %q, %v", out.Reason, err)
		}
		before := w.dump(repair)
		close(release)
		<-back
		for end := time.Now().Add(soon); late == nil && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			all, err := s.Events(t.Context(), talk, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range all {
				if e.Kind == "late_result" {
					late = append(late, e)
				}
			}
		}
		if d := cmp.Diff(before, w.dump(repair)); d != "" {
			t.Errorf("the late result changed what is stored:\n%s", d)
		}
	})
	return took, late
}

func afterTheCancel(t *testing.T) {
	w := quick(t)
	_, late := deaf(t, w, "deaf")
	if len(late) != 1 || !strings.Contains(string(late[0].Data), `"r1-1"`) {
		t.Errorf("the late result is told by %d events: %v", len(late), late)
	}
	w.turn("And now?", scripted.Step{Text: "Fine."})
	if strings.Contains(string(w.last()), "TOO LATE") {
		t.Error("the late result was sent")
	}
	if a := w.answer(resultOf(t, "r1-1")); !a.isError || !strings.Contains(a.text, "cancelled") {
		t.Errorf("the call is answered %q", a.text)
	}
}

func messageInARound(t *testing.T) {
	sent := make(chan error, 1)
	var running atomic.Pointer[agent.Agent]
	w := quick(t, handler("t", func(context.Context, tool.Call) (tool.Result, error) {
		go func() { sent <- running.Load().Send(t.Context(), talk, agent.Turn{Text: "By the way."}) }()
		for range 100 { // it is given away while the call runs, or shortly after
			time.Sleep(time.Millisecond)
		}
		return tool.Text("ran"), nil
	}), gives("u", tool.Text("ran too")))
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("a", "t", "{}"), asks("b", "u", "{}")}}, {Text: "Done."}, {Text: "Heard."}}
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		running.Store(a)
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect(); err != nil {
			t.Fatal(err)
		}
		if err := <-sent; err != nil {
			t.Error(err)
		}
	})
	outline := parseBody(t, w.last()).outline()
	if d := cmp.Diff([]string{`user "Go on."`, "assistant a b", "results a b"}, outline[:3]); d != "" {
		t.Errorf("between the calls and their results (-want +got):\n%s", d)
	}
	if strings.Count(strings.Join(outline[3:], "\n"), `user "By the way."`) != 1 {
		t.Errorf("the message is not told once behind them: %v", outline)
	}
}

func cutInACall(t *testing.T) {
	ran := atomic.Int32{}
	w := quick(t, handler("t", func(context.Context, tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text("ran"), nil
	}))
	w.turn("Go on.", scripted.Step{
		Text: "I will write it.", Stop: membrane.StopCut, Calls: []scripted.Call{asks("a", "t", "{}"), asks("b", "t", `{"text":"half of`)},
	}, scripted.Step{Text: "Done."})
	if ran.Load() != 0 {
		t.Errorf("%d calls of a cut answer ran", ran.Load())
	}
	want := []string{`user "Go on."`, `assistant "I will write it." a b`, "results a! b!"}
	if d := cmp.Diff(want, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("the next request (-want +got):\n%s", d)
	}
	for _, b := range w.shown() {
		if !strings.Contains(*b.Text, "cut") || !strings.Contains(*b.Text, "not run") {
			t.Errorf("call %s is answered %q", b.ID, *b.Text)
		}
	}
}

func noArguments(t *testing.T) {
	ran := atomic.Int32{}
	w := quick(t, handler("t", func(context.Context, tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text("ran"), nil
	}))
	bad := []string{`{"a":`, `{a:1}`, `[]`, `"text"`, `{} {}`, "\x00", `{"a":1,}`, "no"}
	var calls []scripted.Call
	for _, args := range bad {
		calls = append(calls, asks("", "t", args))
	}
	for i, a := range w.round(calls...) {
		if !a.isError || !strings.Contains(a.text, "arguments of t") || string(a.call.Args) != bad[i] {
			t.Errorf("%q is answered %q, stored as %q", bad[i], a.text, a.call.Args)
		}
	}
	if ran.Load() != 0 {
		t.Errorf("the tool ran %d times", ran.Load())
	}
}

func underscores(t *testing.T) {
	names := []string{"srv__do__it", "__x__", "a__b--c__d", "mcp__server__tool.v2"}
	w := quick(t, named(names...)...)
	var calls []scripted.Call
	for _, n := range names {
		calls = append(calls, asks("", n, "{}"))
	}
	for i, a := range w.round(calls...) {
		if a.text != "from "+names[i] || a.call.Tool != names[i] || a.row.Tool != names[i] {
			t.Errorf("%s is answered %q, stored as %s", names[i], a.text, a.call.Tool)
		}
		if b := w.shown()[i]; b.Tool != names[i] {
			t.Errorf("%s stands on the wire as %s", names[i], b.Tool)
		}
	}
}

func prefixesThatCollide(t *testing.T) {
	w := quick(t)
	s := w.open()
	defer func() { _ = s.Close() }()
	model, err := scripted.New(scripted.Script{Steps: []scripted.Step{{Text: "x"}}}, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	// Tool b--c of server a, and tool c of server a--b; and one that is taken by the agent's own.
	for _, name := range []string{"a--b--c", "workspace--read"} {
		cfg := agent.Config{Tools: named(name, name)}
		if name == "workspace--read" {
			cfg.Tools = named(name)
		}
		if _, err := agent.New(s, model, cfg); err == nil || !strings.Contains(err.Error(), "two tools are named "+name) {
			t.Errorf("two tools named %s: %v", name, err)
		}
	}
}

func limitBeyondTheTimer(t *testing.T) {
	longest := time.Duration(math.MaxInt64)
	w := quick(t, gives("t", tool.Text("ran"), tool.Traits{Timeout: longest, Idle: longest}),
		handler("slow", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			select {
			case <-ctx.Done():
				return tool.Text("stopped at once"), nil
			case <-time.After(50 * time.Millisecond):
				return tool.Text("ran"), nil
			}
		}, tool.Traits{Timeout: longest, Idle: longest}))
	w.config.Calls.Timeout, w.config.Calls.Grace, w.config.Limits.Wall = longest, longest, longest
	for _, a := range w.round(asks("", "t", "{}"), asks("", "slow", "{}")) {
		if a.text != "ran" || a.isError {
			t.Errorf("%s is answered %q", a.call.Tool, a.text)
		}
	}
}

func stoppedWhileOneWaits(t *testing.T) {
	// One call runs, the others wait for the only slot, when the program is told to stop.
	var cancel atomic.Pointer[context.CancelFunc]
	w := quick(t, stop("t", &cancel, 1))
	w.config.Calls.Parallel = 1
	began := time.Now()
	w.aborted(&cancel, scripted.Step{Calls: []scripted.Call{asks("a", "t", "{}"), asks("b", "t", "{}"), asks("c", "t", "{}")}})
	if took := time.Since(began); took > soon {
		t.Errorf("it took %s", took)
	}
	w.turn("Again.", scripted.Step{Text: "Done."})
	if d := cmp.Diff("results a! b! c!", parseBody(t, w.last()).outline()[2]); d != "" {
		t.Errorf("the answers (-want +got):\n%s", d)
	}
}
