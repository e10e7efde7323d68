package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// familyCrashes are the items of family A that have a kill, a cancel or a failure in them. That every
// request is paired, the world holds by itself.
func familyCrashes() map[string]item {
	return map[string]item{
		"A01": brokenSession, "A02": pairedAfterCompaction, "A03": calledThenAsked, "A04": orphanInTheMiddle,
		"A05": interrupted, "A07": noEmptyError, "A08": networkLost, "A09": resumedTwice,
		"A10": killedInABatch, "A11": siblingsOfTheAborted, "A15": byCallNotByPosition, "A16": storedWins,
		"A17": outcomeUnknown, "A21": pendingRuns,
	}
}

// broken is a world whose process was killed while a call of the tool sh ran.
func broken(t *testing.T, question string) *world {
	t.Helper()
	w := quick(t, gives("sh", tool.Text("ran again")))
	w.kill(question)
	return w
}

// kill runs a turn in a process that is killed while its call runs.
func (w *world) kill(question string) {
	w.t.Helper()
	w.steps = append(w.steps, scripted.Step{Calls: []scripted.Call{asks("", "sh", "{}")}})
	p := w.child(job{Text: question, Tools: []jobTool{{Name: "sh", Hang: true}}})
	p.until("hangs sh")
	p.kill()
}

func brokenSession(t *testing.T) {
	w := broken(t, "The question. "+strings.Repeat("It is long. ", 2000))
	if out := w.turn("Go on.", tooLong("The question.", scripted.Step{Text: "Done."})); out.Text != "Done." {
		t.Fatalf("ended as %q, %s", out.Text, out.Reason)
	}
	compacted(t, w)
	if out := w.turn("And now?", scripted.Step{Text: "Fine."}); out.Text != "Fine." {
		t.Errorf("ended as %q", out.Text)
	}
}

func pairedAfterCompaction(t *testing.T) {
	for _, size := range []int{100, 900, 3000} {
		w := quick(t, gives("t", tool.Text(strings.Repeat("a row\n", size)), limit(1000)))
		call := scripted.Step{Calls: []scripted.Call{asks("", "t", "{}"), asks("", "t", "{}")}}
		w.turn("The question. "+strings.Repeat("It is long. ", 3000), call, call, scripted.Step{Text: "Fine."})
		out := w.turn("Go on.", call, tooLong("The question.", scripted.Step{Text: "Done."}))
		if out.Text != "Done." || kinds(out)["epoch compaction"] == 0 {
			t.Errorf("%d: ended as %q, %s, events %v", size, out.Text, out.Reason, kinds(out))
		}
	}
}

func calledThenAsked(t *testing.T) {
	w := broken(t, "Go on.")
	w.turn("Never mind.", scripted.Step{Text: "Fine."})
	want := []string{`user "Go on."`, "assistant call-1", "results call-1!", `user "Never mind."`}
	if d := cmp.Diff(want, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("what was sent (-want +got):\n%s", d)
	}
	// What is stored is what was sent: message by message, byte for byte.
	w.look(func(s *sqlite.Store) {
		messages, err := s.Messages(t.Context(), talk, 0)
		if err != nil {
			t.Fatal(err)
		}
		var roles []string
		for _, m := range messages {
			roles = append(roles, m.Role)
		}
		if d := cmp.Diff([]string{"user", "assistant", "results", "user", "assistant"}, roles); d != "" {
			t.Errorf("what is stored (-want +got):\n%s", d)
		}
		if all := fragments(t, s, 1); !strings.HasPrefix(all, string(split(t, w.last()).Messages)) {
			t.Error("the stored bytes are not those that were sent")
		}
	})
}

func orphanInTheMiddle(t *testing.T) {
	w := broken(t, "One.")
	w.turn("Two.", scripted.Step{Text: "Fine."})
	w.kill("Three.")
	w.turn("Four.", scripted.Step{Text: "Fine."})
	w.turn("Five.", scripted.Step{Text: "Fine."})
	want := []string{
		`user "One."`, "assistant call-1", "results call-1!", `user "Two."`, `assistant "Fine."`, `user "Three."`, "assistant call-2", "results call-2!",
		`user "Four."`, `assistant "Fine."`, `user "Five."`,
	}
	if d := cmp.Diff(want, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("what was sent (-want +got):\n%s", d)
	}
}

func interrupted(t *testing.T) {
	var cancel atomic.Pointer[context.CancelFunc]
	w := quick(t, stop("sh", &cancel, 3), gives("done", tool.Text("done")))
	w.aborted(&cancel, scripted.Step{Calls: []scripted.Call{asks("a", "sh", "{}"), asks("b", "done", "{}"), asks("c", "sh", "{}"), asks("d", "sh", "{}")}})
	w.turn("Again.", scripted.Step{Text: "Done."})
	if got := parseBody(t, w.last()).outline()[2]; got != "results a! b c! d!" && got != "results a! b! c! d!" {
		t.Errorf("the answers: %s", got)
	}
	if n := w.value("SELECT count(*) FROM results"); n != "4" {
		t.Errorf("%s results are stored for 4 calls", n)
	}
	betweenAnswerAndCalls(t)
}

// betweenAnswerAndCalls cancels a turn when the answer is there and its calls have not begun.
func betweenAnswerAndCalls(t *testing.T) {
	t.Helper()
	for range 5 {
		w := quick(t, gives("t", tool.Text("ran")))
		w.steps = []scripted.Step{{Calls: []scripted.Call{asks("a", "t", "{}"), asks("b", "t", "{}")}}, {Text: "Done."}}
		ctx, cancel := context.WithCancel(t.Context())
		w.with(func(m *scripted.Model) membrane.Model {
			return otherModel{Model: m, stream: func(ctx context.Context, r membrane.Request) stream {
				return func(yield func(membrane.Event, error) bool) {
					for e, err := range m.Stream(ctx, r) {
						if _, last := e.(membrane.Done); last {
							cancel()
						}
						if !yield(e, err) {
							return
						}
					}
				}
			}}
		}, func(a *agent.Agent, _ *sqlite.Store) {
			out, err := a.Run(ctx, agent.Turn{Conversation: talk, Text: "Go on."}).Collect()
			if !errors.Is(err, context.Canceled) || out.Reason != "cancelled" {
				t.Errorf("cancelled between the answer and its calls: ended as %q, %v", out.Reason, err)
			}
		})
		cancel()
		if t.Failed() {
			return
		}
	}
}

type silent struct{}

func (silent) Error() string { return "" }

func noEmptyError(t *testing.T) {
	w := quick(t, handler("empty", func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, silent{} }),
		handler("blank", func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, errors.New(" \n") }),
		handler("panics", func(context.Context, tool.Call) (tool.Result, error) { panic("") }),
		handler("nilpanic", func(context.Context, tool.Call) (tool.Result, error) { panic(silent{}) }),
		gives("marked", tool.Error("")))
	for _, a := range w.reads("empty", "{}") {
		if !a.isError || strings.TrimSpace(a.text) == "" {
			t.Errorf("%s: %q", a.call.Tool, a.text)
		}
	}
	for _, a := range w.round(asks("", "blank", "{}"), asks("", "panics", "{}"), asks("", "nilpanic", "{}"), asks("", "marked", "{}")) {
		if said := strings.TrimSuffix(strings.TrimSpace(a.text), ":"); !a.isError || len(said) < 10 || strings.HasSuffix(strings.TrimSpace(a.text), ":") {
			t.Errorf("%s: %q", a.call.Tool, a.text)
		}
	}
	// And of a request: the run's error and the event say something, and the conversation is usable.
	w.steps = append(w.steps, scripted.Step{Fail: &scripted.Failure{Kind: membrane.InvalidRequest}})
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		_, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Again."}).Collect()
		if err == nil || strings.TrimSpace(err.Error()) == "" || strings.HasSuffix(err.Error(), ": ") {
			t.Errorf("the run's error: %q", err)
		}
		events, err := a.Events(t.Context(), talk, 0)
		if e, ok := events[len(events)-1].(agent.RequestFailed); err != nil || !ok || strings.TrimSpace(e.Text) == "" {
			t.Errorf("the last event: %+v, %v", events[len(events)-1], err)
		}
	})
	w.steps[len(w.steps)-1] = scripted.Step{Text: "Fine."}
	if out := resumed(t, w); out.Text != "Fine." {
		t.Errorf("resumed to %q", out.Text)
	}
}

func networkLost(t *testing.T) {
	lost := errors.New("dial tcp: network is unreachable")
	w := quick(t, handler("net", func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, lost }))
	var calls []scripted.Call
	for i := range 4 {
		calls = append(calls, asks(fmt.Sprint("c", i), "net", "{}"))
	}
	w.steps = []scripted.Step{{Calls: calls}, {Fail: &scripted.Failure{Kind: membrane.Network, Text: "unreachable too", RetryAfter: time.Millisecond}}}
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		var failed *membrane.Error
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect(); !errors.As(err, &failed) {
			t.Fatalf("the run: %v", err)
		}
	})
	w.steps[1] = scripted.Step{Text: "Back."}
	if out := resumed(t, w); out.Text != "Back." {
		t.Errorf("resumed to %q", out.Text)
	}
	for i, b := range w.shown() {
		if b.ID != fmt.Sprint("c", i) || !b.IsError || !strings.Contains(*b.Text, "network is unreachable") {
			t.Errorf("call %d is answered %q as %s", i, *b.Text, b.ID)
		}
	}
	if n := len(w.shown()); n != 4 {
		t.Errorf("%d results for 4 calls", n)
	}
}

func resumedTwice(t *testing.T) {
	var cancel atomic.Pointer[context.CancelFunc]
	w := quick(t, stop("sh", &cancel, 1))
	w.aborted(&cancel, scripted.Step{Calls: []scripted.Call{asks("", "sh", "{}")}})
	before := w.dump(everything)
	for range 3 {
		w.process(func(a *agent.Agent, _ *sqlite.Store) {
			if _, err := a.Resume(t.Context(), talk).Collect(); !errors.Is(err, agent.ErrNothingToResume) {
				t.Errorf("a resume: %v", err)
			}
			if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk}).Collect(); !errors.Is(err, agent.ErrNoText) {
				t.Errorf("a turn without a text: %v", err)
			}
		})
	}
	if d := cmp.Diff(before, w.dump(everything)); d != "" {
		t.Errorf("something was stored:\n%s", d)
	}
}

// batch kills a process in a round of calls of these tools, the last of which to be settled is named, and
// resumes the turn. It gives the world and how often each tool ran in both processes.
func batch(t *testing.T, settled string, traits map[string]tool.Traits, tools ...jobTool) (w *world, ran map[string]int) {
	t.Helper()
	w = quick(t)
	var step scripted.Step
	log := func(name string) string { return w.dir + "-" + name }
	for i := range tools {
		tools[i].Log = log(tools[i].Name)
		step.Calls = append(step.Calls, asks("", tools[i].Name, "{}"))
		w.tools = append(w.tools, handler(tools[i].Name, func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Text("ran again"), note(log(tools[i].Name))
		}, traits[tools[i].Name]))
	}
	w.steps = []scripted.Step{step, {Text: "Done."}}
	p := w.child(job{Text: "Go on.", Tools: tools})
	p.until("settled " + settled)
	p.kill()
	if out := resumed(t, w); out.Text != "Done." {
		t.Errorf("resumed to %q", out.Text)
	}
	ran = map[string]int{}
	for _, x := range tools {
		ran[x.Name] = lines(t, x.Log)
	}
	return w, ran
}

// outcomes are the answers of a round, in short.
func (w *world) outcomes(n int) (all []string) {
	w.t.Helper()
	w.look(func(s *sqlite.Store) {
		calls, err := s.CallsOf(w.t.Context(), talk, 1)
		if err != nil || len(calls) != n {
			w.t.Fatalf("%d calls, %v", len(calls), err)
		}
	})
	for i := range n {
		a := w.answer(history.CallID{Round: 1, Index: i + 1})
		all = append(all, fmt.Sprintf("%s %s", a.call.Tool, a.call.Outcome))
	}
	return all
}

func killedInABatch(t *testing.T) {
	w, ran := batch(t, "r1-1", nil, jobTool{Name: "pays", Text: "paid"}, jobTool{Name: "hangs", Hang: true})
	if ran["pays"] != 1 || ran["hangs"] != 1 {
		t.Errorf("the tools ran %v times", ran)
	}
	if d := cmp.Diff([]string{"pays done", "hangs unknown"}, w.outcomes(2)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if a := w.answer(resultOf(t, "r1-2")); !a.isError || !strings.Contains(a.text, "find out before you call it again") {
		t.Errorf("what was running is answered %q", a.text)
	}
}

func siblingsOfTheAborted(t *testing.T) {
	var cancel atomic.Pointer[context.CancelFunc]
	fast := make(chan struct{}, 2)
	w := quick(t, gives("fast", tool.Text("I am done")))
	var store atomic.Pointer[sqlite.Store]
	w.tools = append(w.tools, handler("stalls", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		// It stalls until the results of its siblings are in the store; then the user has had enough.
		for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			rows, err := store.Load().ResultsOf(ctx, talk, 1)
			if err == nil && len(rows) == 2 {
				break
			}
		}
		close(fast)
		(*cancel.Load())()
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}))
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "fast", "{}"), asks("", "stalls", "{}"), asks("", "fast", "{}")}}}
	w.process(func(a *agent.Agent, s *sqlite.Store) {
		store.Store(s)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		cancel.Store(&end)
		if _, err := a.Run(ctx, agent.Turn{Conversation: talk, Text: "Go on."}).Collect(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
	w.turn("Again.", scripted.Step{Text: "Done."})
	if d := cmp.Diff([]string{"fast done", "stalls cancelled", "fast done"}, w.outcomes(3)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, id := range []string{"r1-1", "r1-3"} {
		if a := w.answer(resultOf(t, id)); a.text != "I am done" {
			t.Errorf("%s is answered %q", id, a.text)
		}
	}
}

func byCallNotByPosition(t *testing.T) {
	// The second and the third of the same tool are done, the first is not: each keeps its own result.
	w, ran := batch(t, "r1-3", nil, jobTool{Name: "hangs", Hang: true}, jobTool{Name: "two", Text: "second"}, jobTool{Name: "three", Text: "third"})
	if ran["two"] > 1 || ran["three"] != 1 || ran["hangs"] != 1 {
		t.Errorf("the tools ran %v times", ran)
	}
	if a := w.answer(resultOf(t, "r1-3")); a.text != "third" {
		t.Errorf("the third is answered %q", a.text)
	}
	if got := w.outcomes(3); got[0] != "hangs unknown" || got[2] != "three done" {
		t.Errorf("%v", got)
	}
}

func storedWins(t *testing.T) {
	// Even a tool that may run again does not, when its result is stored.
	again := map[string]tool.Traits{"reads": {ReadOnly: true}, "hangs": {Idempotent: true}}
	w, ran := batch(t, "r1-1", again, jobTool{Name: "reads", Text: "what was read"}, jobTool{Name: "hangs", Hang: true})
	if ran["reads"] != 1 {
		t.Errorf("the tools ran %v times", ran)
	}
	if a := w.answer(resultOf(t, "r1-1")); a.text != "what was read" || a.isError {
		t.Errorf("the stored result is shown as %q", a.text)
	}
}

func outcomeUnknown(t *testing.T) {
	w := broken(t, "Go on.")
	for _, text := range []string{"Again.", "And again."} {
		w.turn(text, scripted.Step{Text: "Fine."})
	}
	// The call stays in every later request, and its answer says that it may have had an effect.
	if outline := parseBody(t, w.last()).outline(); !slices.Contains(outline, "assistant call-1") || !slices.Contains(outline, "results call-1!") {
		t.Errorf("the call is gone: %v", outline)
	}
	if a := w.answer(resultOf(t, "r1-1")); a.call.Outcome != history.OutcomeUnknown || !strings.Contains(a.text, "may have taken effect") {
		t.Errorf("%s: %q", a.call.Outcome, a.text)
	}
}

func pendingRuns(t *testing.T) {
	// Eight calls hang in the eight slots, the ninth waits for one: it never began, so it runs now.
	w := quick(t)
	log := w.dir + "-ran"
	var step scripted.Step
	for range 8 {
		step.Calls = append(step.Calls, asks("", "hangs", "{}"))
	}
	step.Calls = append(step.Calls, asks("", "waits", "{}"))
	w.steps = []scripted.Step{step, {Text: "Done."}}
	w.tools = []tool.Tool{gives("hangs", tool.Text("ran again")), handler("waits", func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Text("ran"), note(log)
	})}
	p := w.child(job{Text: "Go on.", Tools: []jobTool{{Name: "hangs", Hang: true}, {Name: "waits", Text: "ran", Log: log}}})
	for range 8 {
		p.until("hangs hangs")
	}
	p.kill()
	resumed(t, w)
	got := w.outcomes(9)
	if want := append(slices.Repeat([]string{"hangs unknown"}, 8), "waits done"); !slices.Equal(want, got) || lines(t, log) != 1 {
		t.Errorf("%v; what waited ran %d times", got, lines(t, log))
	}
}
