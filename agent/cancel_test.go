package agent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// A cancel at each stage returns within its bound, ends the turn as cancelled with every call answered,
// and leaves a conversation that goes on.
func TestACancelAtEachStage(t *testing.T) {
	calls := scripted.Step{Text: "I call.", Calls: []scripted.Call{call("t", `{}`), call("t", `{}`)}}
	for name, c := range map[string]struct {
		first   scripted.Step
		approve func(context.Context, round.Question) (round.Decision, error)
		tool    tool.Handler
		at      func(agent.Event) bool
	}{
		"before the answer": {first: scripted.Step{Text: "late", Delay: time.Minute}, at: func(e agent.Event) bool { _, ok := e.(agent.TurnBegun); return ok }},
		"streaming":         {first: scripted.Step{Text: "one two three", Stall: true}, at: func(e agent.Event) bool { _, ok := e.(agent.TextDelta); return ok }},
		"opening the round": {first: calls, at: func(e agent.Event) bool { _, ok := e.(agent.TextDelta); return ok }},
		"deciding": {first: calls, approve: func(ctx context.Context, _ round.Question) (round.Decision, error) {
			<-ctx.Done()
			return round.Decision{}, ctx.Err()
		}, at: func(e agent.Event) bool { _, ok := e.(agent.Answered); return ok }},
		"running": {first: calls, tool: func(context.Context, tool.Call) (tool.Result, error) {
			select {} // it ignores its context
		}, at: func(e agent.Event) bool { _, ok := e.(agent.CallStarted); return ok }},
		"closing":      {first: calls, at: func(e agent.Event) bool { _, ok := e.(agent.CallSettled); return ok }},
		"asking again": {first: calls, at: func(e agent.Event) bool { _, ok := e.(agent.RoundClosed); return ok }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.first, scripted.Step{Text: "on", Delay: 100 * time.Millisecond}, scripted.Step{Text: "on"})
			w.script.AfterEnd = scripted.Repeat
			run := c.tool
			if run == nil {
				run = func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("x"), nil }
			}
			w.tools = []tool.Tool{handler("t", tool.Traits{}, run)}
			w.config.Approve = c.approve
			w.config.Calls.Grace = 30 * time.Millisecond
			w.with(func(a *agent.Agent, s *sqlite.Store) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began := time.Now()
				var last error
				reason := ""
				for e, err := range a.Run(ctx, agent.Turn{Conversation: "c", Text: "go"}) {
					last = err
					if err == nil && c.at(e) {
						cancel()
					}
					if e, ok := e.(agent.TurnEnded); ok {
						reason = e.Reason
					}
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("it took %v", took)
				}
				if !errors.Is(last, context.Canceled) || reason != "cancelled" {
					t.Errorf("the turn ended as %q with %v", reason, last)
				}
				rows, err := s.CallsOf(t.Context(), "c", 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range rows {
					if r.State != history.CallAnswered {
						t.Errorf("%s is %s", r.ID, r.State)
					}
				}
				if _, err := a.Resume(t.Context(), "c").Collect(); !errors.Is(err, agent.ErrNothingToResume) {
					t.Errorf("resume: %v", err)
				}
			})
			w.config.Approve, w.tools = nil, []tool.Tool{says("t", "x")}
			w.script.Steps = []scripted.Step{{Text: "on"}}
			if out := w.run("go on"); out.Reason != "done" {
				t.Errorf("the next turn ended as %q", out.Reason)
			}
			w.verify()
			membranetest.Prefix(t, scripted.Split, membranetest.Bodies(t, w.bodies)...)
		})
	}
}
