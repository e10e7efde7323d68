package cases

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// orphanCases are calls that lost their results: topics orphan-call and resume-lost.
func orphanCases() map[string]runner {
	return map[string]runner{
		"C061": abortedCall,
		"C062": abortedRound,
		"C063": killedCall,
		"C068": repairedOnce,
		"C095": durableFirst,
	}
}

// stop makes a tool that ends the turn's context once it runs for the nth time, and waits for that.
func stop(name string, cancel *atomic.Pointer[context.CancelFunc], nth int32) tool.Tool {
	var begun atomic.Int32
	return handler(name, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		if begun.Add(1) == nth {
			(*cancel.Load())()
		}
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
}

// aborted runs a turn that its own tool cancels.
func (w *world) aborted(cancel *atomic.Pointer[context.CancelFunc], steps ...scripted.Step) {
	w.t.Helper()
	w.steps = append(w.steps, steps...)
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		ctx, end := context.WithCancel(w.t.Context())
		defer end()
		cancel.Store(&end)
		out, err := a.Run(ctx, agent.Turn{Conversation: talk, Text: "Go on."}).Collect()
		if !errors.Is(err, context.Canceled) || out.Reason != "cancelled" {
			w.t.Fatalf("the turn ended as %q, %v", out.Reason, err)
		}
	})
}

func abortedCall(t *testing.T, c field) {
	events := story(t, c, "call", "abort", "user")
	var cancel atomic.Pointer[context.CancelFunc]
	w := newWorld(t, stop(events[0].Name, &cancel, 1))
	w.aborted(&cancel, scripted.Step{Calls: []scripted.Call{asks(events[0].id(), events[0].Name, string(events[0].Args))}})
	w.turn(events[2].Text, scripted.Step{Text: "Done."})
	want := []string{`user "Go on."`, "assistant c1", "results c1!", `user "go on"`}
	if d := cmp.Diff(want, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("the next request (-want +got):\n%s", d)
	}
	if a := w.answer(resultOf(t, "r1-1")); a.text != "edit was cancelled before it ended. It may have taken effect." && !strings.Contains(a.text, "cancel") {
		t.Errorf("the call is answered: %q", a.text)
	}
}

func abortedRound(t *testing.T, c field) {
	events := story(t, c, "call", "call", "call", "abort", "user")
	// All three run when the turn is cancelled; only the first one does.
	for _, parallel := range []int{3, 1} {
		var cancel atomic.Pointer[context.CancelFunc]
		w := newWorld(t, stop("sh", &cancel, int32(parallel)))
		w.config.Calls.Parallel = parallel
		var calls []scripted.Call
		for _, e := range events[:3] {
			calls = append(calls, asks(e.id(), e.Name, string(e.Args)))
		}
		w.aborted(&cancel, scripted.Step{Calls: calls})
		w.turn(events[4].Text, scripted.Step{Text: "Done."})
		want := []string{`user "Go on."`, "assistant c1 c2 c3", "results c1! c2! c3!", `user "continue"`}
		if d := cmp.Diff(want, parseBody(t, w.last()).outline()); d != "" {
			t.Errorf("parallel %d: the next request (-want +got):\n%s", parallel, d)
		}
		for i := range calls {
			a := w.answer(history.CallID{Round: 1, Index: i + 1})
			begun := i < parallel
			if outcome := a.call.Outcome; begun != (outcome == history.OutcomeCancelled) || begun == (outcome == history.OutcomeNotStarted) {
				t.Errorf("parallel %d: %s ended as %s", parallel, a.row.ID, outcome)
			}
			if strings.Contains(a.text, "had no effect") == begun || !strings.Contains(a.text, "cancelled") {
				t.Errorf("parallel %d: %s is answered %q", parallel, a.row.ID, a.text)
			}
		}
	}
}

func killedCall(t *testing.T, c field) {
	events := story(t, c, "call", "kill9", "resume", "user", "assistant")
	w := newWorld(t, gives("sh", tool.Text("ran again")))
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks(events[0].id(), events[0].Name, string(events[0].Args))}}}
	p := w.child(job{Text: "Go on.", Tools: []jobTool{{Name: "sh", Hang: true}}})
	p.until("hangs sh")
	p.kill()
	w.turn(events[3].Text, scripted.Step{Text: events[4].Text})
	w.turn("And now?", scripted.Step{Text: "Done."})
	want := []string{`user "Go on."`, "assistant c1", "results c1!", `user "hi"`, `assistant "ok"`, `user "And now?"`}
	if d := cmp.Diff(want, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("the repair stands (-want +got):\n%s", d)
	}
	if a := w.answer(resultOf(t, "r1-1")); a.call.Outcome != history.OutcomeUnknown || !strings.Contains(a.text, "interrupted") || !strings.Contains(a.text, "may have taken effect") {
		t.Errorf("the call ended as %s and is answered %q", a.call.Outcome, a.text)
	}
}

// everything are the tables of the store, but the one that says who drives a conversation.
var everything = []string{
	"conversations", "turns", "epochs", "messages", "fragments", "rounds", "calls", "results", "spills", "approvals", "reads", "jobs", "requests", "events",
}

// repair are the tables in which an answered call shows.
var repair = []string{"epochs", "messages", "fragments", "rounds", "calls", "results", "spills"}

func repairedOnce(t *testing.T, c field) {
	events := story(t, c, "call", "kill9", "resume", "close", "resume")
	w := newWorld(t, gives("sh", tool.Text("ran again")))
	var said warnings
	w.config.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
	w.store.Logger = w.config.Logger
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks(events[0].id(), events[0].Name, string(events[0].Args))}}}
	p := w.child(job{Text: "Go on.", Tools: []jobTool{{Name: "sh", Hang: true}}})
	p.until("hangs sh")
	p.kill()
	resume := func() error {
		var err error
		w.process(func(a *agent.Agent, _ *sqlite.Store) { _, err = a.Resume(t.Context(), talk).Collect() })
		return err
	}
	// The first resume repairs; then the provider fails, so the turn stays open.
	w.steps = append(w.steps, scripted.Step{Fail: &scripted.Failure{Kind: membrane.InvalidRequest, Text: "no"}})
	var refused *membrane.Error
	if err := resume(); !errors.As(err, &refused) {
		t.Fatalf("the first resume: %v", err)
	}
	once := w.dump(repair)
	if n := strings.Count(once, "interrupted"); n == 0 {
		t.Errorf("nothing was repaired: %s", once)
	}
	if err := resume(); !errors.As(err, &refused) {
		t.Fatalf("the second resume: %v", err)
	}
	if d := cmp.Diff(once, w.dump(repair)); d != "" {
		t.Errorf("the second load changed what was repaired:\n%s", d)
	}
	// The third ends the turn. From then on a load changes nothing at all, and says why.
	w.steps[1] = scripted.Step{Text: "Done."}
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	all := w.dump(everything)
	if err := resume(); !errors.Is(err, agent.ErrNothingToResume) {
		t.Errorf("a resume of what has ended: %v", err)
	}
	if d := cmp.Diff(all, w.dump(everything)); d != "" {
		t.Errorf("the last load changed the store:\n%s", d)
	}
	if want := []string{`user "Go on."`, "assistant c1", "results c1!"}; cmp.Diff(want, parseBody(t, w.last()).outline()) != "" {
		t.Errorf("the last request: %v", parseBody(t, w.last()).outline())
	}
	if said.String() != "" {
		t.Errorf("warnings: %s", said.String())
	}
}

// warnings collects what a logger writes.
type warnings struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (w *warnings) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.String()
}

func durableFirst(t *testing.T, c field) {
	events := story(t, c, "call", "result", "kill9", "resume")
	w := newWorld(t, gives("sh", tool.Text("ran again")))
	log := w.dir + "-ran"
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks(events[0].id(), events[0].Name, string(events[0].Args))}}, {Text: "Hm.", Stall: true}}
	p := w.child(job{Text: "Go on.", Tools: []jobTool{{Name: "sh", Text: events[1].Text, Log: log}}})
	p.until("says Hm.")
	// The model has received the result: now, while that process lives, another one finds it stored.
	if a := w.answer(resultOf(t, "r1-1")); a.whole != "done" || a.text != "done" || a.call.State != history.CallAnswered {
		t.Errorf("stored before it was sent: %q, shown %q, %s", a.whole, a.text, a.call.State)
	}
	p.kill()
	w.steps[1] = scripted.Step{Text: "Done."}
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		if out, err := a.Resume(t.Context(), talk).Collect(); err != nil || out.Text != "Done." {
			t.Errorf("resumed to %q, %v", out.Text, err)
		}
	})
	if a := w.answer(resultOf(t, "r1-1")); a.text != "done" {
		t.Errorf("after the resume the result is %q", a.text)
	}
	if n := lines(t, log); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}
