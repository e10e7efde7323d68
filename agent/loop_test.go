package agent_test

import (
	"strings"
	"testing"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// A model that calls the same for ever is warned, and its turn ends with the reason; the next turn goes on.
func TestATurnEndsThatGoesRoundInCircles(t *testing.T) {
	var steps []scripted.Step
	for range 8 {
		steps = append(steps, scripted.Step{Calls: []scripted.Call{call("t", `{}`)}})
	}
	w := newWorld(t, append(steps, scripted.Step{Text: "fine"})...)
	w.tools = []tool.Tool{says("t", "the same")}
	reason := func(a *agent.Agent, text string) (reason string, loops int) {
		for e, err := range a.Run(t.Context(), agent.Turn{Conversation: "c", Text: text}) {
			if err != nil {
				t.Fatal(err)
			}
			switch e := e.(type) {
			case agent.TurnEnded:
				reason = e.Reason
			case agent.Looping:
				loops++
			}
		}
		return reason, loops
	}
	w.with(func(a *agent.Agent, s *sqlite.Store) {
		why, loops := reason(a, "go")
		if !strings.HasPrefix(why, "loop: the same call of t") || loops != 6 {
			t.Errorf("%d loops, ended as %q", loops, why)
		}
		rounds, err := s.RoundsOf(t.Context(), "c")
		if err != nil || len(rounds) != 8 || !rounds[7].Closed {
			t.Errorf("rounds %+v, %v", rounds, err)
		}
		if why, _ := reason(a, "and now?"); why != "done" {
			t.Errorf("the next turn ended as %q", why)
		}
	})
}
