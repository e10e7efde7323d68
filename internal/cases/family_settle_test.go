package cases

import (
	"bytes"
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
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// familySettled are the items of family A about calls that are settled together.
func familySettled() map[string]item {
	return map[string]item{
		"A06": noResultWithoutACall, "A12": nInNOut, "A13": failuresStayAlone, "A14": everyState,
		"A18": lateChangesNothing, "A19": allSettled, "A20": idFixed, "A22": everyWaitEnds,
	}
}

func noResultWithoutACall(t *testing.T) {
	w := quick(t, gives("t", tool.Text("ran")))
	w.call("t", "{}")
	s := w.open()
	defer func() { _ = s.Close() }()
	lease, err := s.TakeLease(t.Context(), history.Take{Conversation: talk, Run: "again", Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	settled := []history.Settled{{Result: history.Result{ID: resultOf(t, "r1-2"), Tool: "t", Whole: []byte("of nobody")}, Outcome: history.OutcomeDone, Now: time.Now()}}
	_, err1 := s.SettleCalls(t.Context(), lease, settled, nil)
	_, err2 := s.CloseRound(t.Context(), lease, history.Closing{
		Round: 2, Shown: []history.Shown{{ID: resultOf(t, "r2-1"), Text: []byte("of nobody")}}, Append: history.Append{Now: time.Now()},
	})
	for _, err := range []error{err1, err2} {
		if !errors.Is(err, history.ErrConflict) && !errors.Is(err, history.ErrNotFound) {
			t.Errorf("a result without a call: %v", err)
		}
	}
	if err := s.ReleaseLease(t.Context(), lease); err != nil {
		t.Error(err)
	}
	if n := w.value("SELECT count(*) FROM results"); n != "1" {
		t.Errorf("%s results are stored for one call", n)
	}
}

func nInNOut(t *testing.T) {
	w := quick(t, handler("t", func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Text("of " + string(c.Args)), nil
	}))
	for _, n := range []int{1, 2, 4, 8, 9, 64} {
		var calls []scripted.Call
		var want []string
		for i := range n {
			args := fmt.Sprintf(`{"n":%d,"i":%d}`, n, i)
			calls, want = append(calls, asks(fmt.Sprintf("c%d-%d", n, i), "t", args)), append(want, fmt.Sprintf("c%d-%d=of %s", n, i, args))
		}
		w.turn("Go on.", scripted.Step{Calls: calls}, scripted.Step{Text: "Done."})
		if d := cmp.Diff(want, texts(t, w.last())); d != "" {
			t.Errorf("%d calls (-want +got):\n%s", n, d)
		}
	}
}

func failuresStayAlone(t *testing.T) {
	failed := make(chan struct{}, 4)
	w := quick(t,
		handler("errs", func(context.Context, tool.Call) (tool.Result, error) {
			defer func() { failed <- struct{}{} }()
			return tool.Result{}, errors.New("no")
		}),
		handler("panics", func(context.Context, tool.Call) (tool.Result, error) {
			defer func() { failed <- struct{}{} }()
			panic("no way")
		}),
		handler("waits", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			failed <- struct{}{}
			return tool.Result{}, ctx.Err()
		}, tool.Traits{Timeout: 20 * time.Millisecond}),
		handler("sound", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			for range 3 {
				<-failed // it ends after all the others have failed
			}
			return tool.Text("unharmed"), ctx.Err()
		}))
	got := w.round(asks("", "sound", "{}"), asks("", "errs", "{}"), asks("", "panics", "{}"), asks("", "waits", "{}"), asks("", "nobody", "{}"))
	for i, want := range []string{"unharmed", "no", "no way", "20ms", `no tool named "nobody"`} {
		if a := got[i]; !strings.Contains(a.text, want) || a.isError != (i > 0) {
			t.Errorf("%s: %q, error %v", a.call.Tool, a.text, a.isError)
		}
	}
}

func everyState(t *testing.T) {
	// A round with a call that waits, one that is settled and one that was never begun: whoever reads it
	// shows what is in and nothing of the rest, and the conversation goes on.
	w := quick(t, gives("ask", tool.Text("approved")), gives("t", tool.Text("the needle\n")))
	w.config.Approve = approving("ask")
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "t", "{}"), asks("", "ask", "{}")}}, {Text: "Done."}}
	w.turn("Go on.")
	w.look(func(s *sqlite.Store) {
		calls, err := s.CallsOf(t.Context(), talk, 1)
		if err != nil || calls[0].State != history.CallSettled || calls[1].State != history.CallWaiting {
			t.Errorf("the calls: %+v, %v", calls, err)
		}
		problems, err := history.Verify(t.Context(), s, talk)
		if err != nil || len(problems) > 0 {
			t.Errorf("verify: %v, %v", problems, err)
		}
		rows, err := s.ResultsOf(t.Context(), talk, 1)
		if err != nil || len(rows) != 1 || rows[0].ID.String() != "r1-1" {
			t.Errorf("the results: %v, %v", rows, err)
		}
	})
	if out := resumed(t, w); !slices.Equal(out.Waiting, []string{"r1-2"}) {
		t.Errorf("without an answer: waiting %v, %q", out.Waiting, out.Reason)
	}
	if out := resumed(t, w, agent.Answer{Call: "r1-2", Grant: true}); out.Text != "Done." {
		t.Errorf("with the answer: %q", out.Text)
	}
	if d := cmp.Diff([]string{"call-1=the needle\n", "call-2=approved"}, texts(t, w.last())); d != "" {
		t.Errorf("the results (-want +got):\n%s", d)
	}
}

// approving asks about calls of one tool and lets all others run.
func approving(name string) func(context.Context, round.Question) (round.Decision, error) {
	return func(_ context.Context, q round.Question) (round.Decision, error) {
		if q.Tool.Name == name {
			return round.Decision{Verdict: round.Ask}, nil
		}
		return round.Decision{Verdict: round.Allow}, nil
	}
}

func lateChangesNothing(t *testing.T) {
	w := quick(t, gives("quick", tool.Text("in time")))
	w.round(asks("", "quick", "{}"))
	before := w.received()
	_, late := deaf(t, w, "deaf")
	if len(late) != 1 || !strings.Contains(string(late[0].Data), `"r2-1"`) {
		t.Errorf("the late result is told by %v", late)
	}
	w.turn("More.", scripted.Step{Text: "Fine."})
	for i, body := range before {
		if !bytes.Equal(body, w.body(i+1)) || bytes.Contains(w.last(), []byte("TOO LATE")) {
			t.Errorf("body %d is not what it was, or the late result was sent", i+1)
		}
	}
	if a := w.answer(resultOf(t, "r2-1")); a.call.Outcome != history.OutcomeCancelled {
		t.Errorf("the call ended as %s", a.call.Outcome)
	}
}

func allSettled(t *testing.T) {
	var done atomic.Int32
	w := quick(t, handler("t", func(_ context.Context, c tool.Call) (tool.Result, error) {
		defer done.Add(1)
		if bytes.Contains(c.Args, []byte("slow")) {
			time.Sleep(100 * time.Millisecond)
		}
		return tool.Text("ran"), nil
	}))
	w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "t", `{}`), asks("", "t", `{"slow":1}`), asks("", "t", `{}`)}},
		scripted.Step{Play: func(seen scripted.Seen) (scripted.Step, error) {
			if n := done.Load(); n != 3 || len(seen.Results()) != 3 {
				t.Errorf("the model is asked when %d of 3 calls are done, with %d results", n, len(seen.Results()))
			}
			return scripted.Step{Text: "Done."}, nil
		}})
	if done.Load() != 3 {
		t.Errorf("%d calls ran", done.Load())
	}
}

func idFixed(t *testing.T) {
	w := quick(t, gives("t", tool.Text("ran")))
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "t", "{}"), asks("", "t", "{}")}}, {Fail: &scripted.Failure{Kind: membrane.RateLimited, Text: "later", RetryAfter: time.Millisecond}}}
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		var failed *membrane.Error
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect(); !errors.As(err, &failed) {
			t.Fatal(err)
		}
	})
	w.steps[1] = scripted.Step{Text: "Done."}
	resumed(t, w)
	bodies := w.received()
	if len(bodies) < 4 {
		t.Fatalf("%d requests; the failed one was to be tried again", len(bodies))
	}
	for i, body := range bodies[1:] {
		if d := cmp.Diff([]string{"assistant call-1 call-2", "results call-1 call-2"}, parseBody(t, body).outline()[1:3]); d != "" {
			t.Errorf("request %d (-want +got):\n%s", i+2, d)
		}
	}
	if a := w.answer(resultOf(t, "r1-2")); a.call.ProviderID != "call-2" {
		t.Errorf("stored as %q", a.call.ProviderID)
	}
}

func everyWaitEnds(t *testing.T) {
	hangs := handler("t", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	call := scripted.Step{Calls: []scripted.Call{asks("", "t", "{}"), asks("", "t", "{}"), asks("", "t", "{}")}}
	for name, c := range map[string]struct {
		step           scripted.Step
		parallel       int
		approve, later bool
	}{
		"an answer that stalls":   {step: scripted.Step{Text: "Hm.", Stall: true}},
		"an answer that is late":  {step: scripted.Step{Text: "Hm.", Delay: time.Minute}, later: true},
		"a pause before a retry":  {step: scripted.Step{Fail: &scripted.Failure{Kind: membrane.Overloaded, RetryAfter: time.Minute}}},
		"calls that run":          {step: call},
		"calls that wait for one": {step: call, parallel: 1},
		"a decision":              {step: call, approve: true},
	} {
		w := quick(t, hangs)
		w.steps = []scripted.Step{c.step}
		w.config.Calls.Parallel = c.parallel
		w.process(func(a *agent.Agent, s *sqlite.Store) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.approve {
				w.config.Approve = func(ctx context.Context, _ round.Question) (round.Decision, error) {
					cancel()
					<-ctx.Done()
					return round.Decision{}, ctx.Err()
				}
				a = w.agent(s)
			}
			var failed error
			reason, began := "", time.Now()
			for e, err := range a.Run(ctx, agent.Turn{Conversation: talk, Text: "Go on."}) {
				switch e := e.(type) {
				case agent.TextDelta, agent.CallStarted, agent.Retrying: // it waits, or will at once
					began = time.Now()
					cancel()
				case agent.TurnBegun:
					if c.later {
						time.AfterFunc(200*time.Millisecond, cancel)
					}
				case agent.TurnEnded:
					reason = e.Reason
				}
				failed = err
			}
			if took := time.Since(began); !errors.Is(failed, context.Canceled) || reason != "cancelled" || took > soon {
				t.Errorf("%s: ended as %q, %v, after %s", name, reason, failed, took)
			}
		})
	}
}
