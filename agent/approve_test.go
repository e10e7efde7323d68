package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// asking is a world whose tool "danger" is asked about.
func asking(t *testing.T, ran *atomic.Int32) *world {
	w := newWorld(t,
		scripted.Step{Calls: []scripted.Call{call("danger", `{"n":1}`), call("safe", `{}`), call("danger", `{"n":2}`)}},
		scripted.Step{Play: func(s scripted.Seen) (scripted.Step, error) {
			var all []string
			for _, r := range s.Results() {
				all = append(all, r.Text)
			}
			return scripted.Step{Text: strings.Join(all, " | ")}, nil
		}},
	)
	w.tools = []tool.Tool{
		handler("danger", tool.Traits{}, func(_ context.Context, c tool.Call) (tool.Result, error) {
			ran.Add(1)
			return tool.Text("did " + string(c.Args)), nil
		}),
		says("safe", "fine"),
	}
	w.config.Approve = func(_ context.Context, q round.Question) (round.Decision, error) {
		if q.Tool.Name == "safe" {
			return round.Decision{Verdict: round.Allow}, nil
		}
		return round.Decision{Verdict: round.Ask}, nil
	}
	return w
}

// A question suspends the turn durably: the answers come in other processes, one after the other, and
// each is used once.
func TestAnApprovalSuspendsTheTurnAcrossProcesses(t *testing.T) {
	var ran atomic.Int32
	w := asking(t, &ran)
	out := w.run("go")
	if d := cmp.Diff([]string{"r1-1", "r1-3"}, out.Waiting); d != "" || out.Reason != "" || ran.Load() != 0 {
		t.Fatalf("waiting (-want +got):\n%s; ended %q, ran %d", d, out.Reason, ran.Load())
	}
	w.verify()
	resume := func(answers ...agent.Answer) (out agent.Outcome) {
		w.with(func(a *agent.Agent, _ *sqlite.Store) {
			var err error
			if out, err = a.Resume(t.Context(), "c", answers...).Collect(); err != nil {
				t.Fatal(err)
			}
		})
		return out
	}
	if out := resume(); len(out.Waiting) != 2 || ran.Load() != 0 {
		t.Fatalf("without an answer: %v, ran %d", out.Waiting, ran.Load())
	}
	if out := resume(agent.Answer{Call: "r1-1", Grant: true}); len(out.Waiting) != 1 || ran.Load() != 1 {
		t.Fatalf("after one answer: %v, ran %d", out.Waiting, ran.Load())
	}
	out = resume(agent.Answer{Call: "r1-3", Reason: "too dangerous"})
	want := `did {"n":1} | fine | danger was not run: it was not approved: too dangerous`
	if out.Text != want || out.Reason != "done" || ran.Load() != 1 {
		t.Errorf("got %q, ended %q, ran %d; want %q", out.Text, out.Reason, ran.Load(), want)
	}
	membranetest.Prefix(t, scripted.Split, membranetest.Bodies(t, w.bodies)...)
	w.verify()
}

// An answer may come days later: the time that a turn waits is not the turn's.
func TestAnAnswerMayComeDaysLater(t *testing.T) {
	var ran atomic.Int32
	w := asking(t, &ran)
	w.run("go")
	w.config.Now = func() time.Time { return time.Now().Add(72 * time.Hour) }
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		out, err := a.Resume(t.Context(), "c", agent.Answer{Call: "r1-1", Grant: true}, agent.Answer{Call: "r1-3", Grant: true}).Collect()
		if err != nil || out.Reason != "done" || ran.Load() != 2 {
			t.Errorf("ended as %q, ran %d, %v", out.Reason, ran.Load(), err)
		}
	})
}

// An answer is bound to the schema, the description and the arguments that were asked about.
func TestAnApprovalDoesNotCarryOverAChangedTool(t *testing.T) {
	for name, change := range map[string]func(*tool.Tool){
		"schema":      func(t *tool.Tool) { t.Schema = []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`) },
		"description": func(t *tool.Tool) { t.Description = "It does something else now." },
	} {
		t.Run(name, func(t *testing.T) { approvedBefore(t, change) })
	}
}

func approvedBefore(t *testing.T, change func(*tool.Tool)) {
	var ran atomic.Int32
	w := asking(t, &ran)
	w.run("go")
	change(&w.tools[0])
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		out, err := a.Resume(t.Context(), "c", agent.Answer{Call: "r1-1", Grant: true}, agent.Answer{Call: "r1-3", Grant: true}).Collect()
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Waiting) != 2 || ran.Load() != 0 {
			t.Errorf("an approval of another schema was used: waiting %v, ran %d", out.Waiting, ran.Load())
		}
	})
}

func TestAnswersThatCannotBe(t *testing.T) {
	var ran atomic.Int32
	w := asking(t, &ran)
	w.run("go")
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		for call, want := range map[string]error{"r1-2": history.ErrNotFound, "r9-9": history.ErrNotFound} {
			if _, err := a.Resume(t.Context(), "c", agent.Answer{Call: call, Grant: true}).Collect(); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", call, err, want)
			}
		}
		if _, err := a.Resume(t.Context(), "c", agent.Answer{Call: "one"}).Collect(); err == nil || !strings.Contains(err.Error(), "looks like r3-1") {
			t.Errorf("no id: %v", err)
		}
		out, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "never mind"}).Collect()
		if err != nil || ran.Load() != 0 {
			t.Errorf("a new turn: %v, ran %d", err, ran.Load())
		}
		if !strings.Contains(out.Text, "nobody answered") {
			t.Errorf("the model is told %q", out.Text)
		}
	})
	w.verify()
}

// What is redacted was never stored and never shown, streamed or not.
func TestRedactedTextIsNowhere(t *testing.T) {
	w := newWorld(t, scripted.Step{Calls: []scripted.Call{call("plain", `{}`), call("stream", `{}`)}},
		scripted.Step{Text: "done", Expect: []scripted.Expect{{Result: 1, Equals: ptr("key ***")}, {Result: 2, Contains: "key ***"}}})
	w.config.Redact = func(_ context.Context, _ tool.Call, r tool.Result) tool.Result {
		switch x := r.Data.(type) {
		case string:
			r.Data = strings.ReplaceAll(x, "hunter2", "***")
		case []byte:
			r.Data = []byte(strings.ReplaceAll(string(x), "hunter2", "***"))
		}
		return r
	}
	w.tools = []tool.Tool{says("plain", "key hunter2"), handler("stream", tool.Traits{}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		running, _ := tool.CallFrom(ctx)
		for range 5000 {
			if _, err := running.Spool().Write([]byte("key hunter2\n")); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Result{Data: tool.Spooled{}}, nil
	})}
	w.run("go")
	w.with(func(_ *agent.Agent, s *sqlite.Store) {
		for _, id := range []history.CallID{{Round: 1, Index: 1}, {Round: 1, Index: 2}} {
			r, err := s.ResultOf(t.Context(), "c", id)
			if err != nil {
				t.Fatal(err)
			}
			whole := string(r.Whole) + string(r.Shown)
			if r.Spill != nil {
				f, err := s.Spills().Open(t.Context(), r.Spill.File)
				if err != nil {
					t.Fatal(err)
				}
				b := make([]byte, f.Size())
				_, _ = f.ReadAt(b, 0)
				_ = f.Close()
				whole += string(b)
			}
			if strings.Contains(whole, "hunter2") || !strings.Contains(whole, "***") {
				t.Errorf("%s: %.60q", id, whole)
			}
		}
	})
}

func ptr(s string) *string { return &s }
