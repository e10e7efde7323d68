package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// Tools that change do so between two rounds: the round that runs keeps its own, the next request is told
// of the new ones in an epoch of its own, and a list that cannot be had or used changes nothing.
func TestToolsChangeBetweenRounds(t *testing.T) {
	w := newWorld(t,
		scripted.Step{Calls: []scripted.Call{{Tool: "a", Args: []byte(`{}`)}, {Tool: "b", Args: []byte(`{}`)}}},
		scripted.Step{Calls: []scripted.Call{{Tool: "b", Args: []byte(`{}`)}}},
		scripted.Step{Calls: []scripted.Call{{Tool: "a", Args: []byte(`{}`)}}},
		scripted.Step{Calls: []scripted.Call{{Tool: "b", Args: []byte(`{}`)}}},
		scripted.Step{Text: "done"})
	lists := []struct {
		tools []tool.Tool
		err   error
	}{
		{tools: []tool.Tool{says("a", "from a")}},
		{tools: []tool.Tool{says("b", "from b")}},
		{err: errors.New("the server is down")},
		{tools: []tool.Tool{says("b", "x"), says("b", "twice")}},
		{tools: []tool.Tool{says("b", "from b")}},
	}
	asked := 0
	w.config.Refresh = func(context.Context) ([]tool.Tool, error) {
		l := lists[min(asked, len(lists)-1)]
		asked++
		return l.tools, l.err
	}
	var texts, epochs []string
	w.with(func(a *agent.Agent, s *sqlite.Store) {
		for e, err := range a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := e.(agent.EpochOpened); ok {
				epochs = append(epochs, e.Reason)
			}
		}
		results, err := s.ResultsOf(t.Context(), "c", 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			full, err := s.ResultOf(t.Context(), "c", r.ID)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, r.ID.String()+" "+string(full.Whole[:min(len(full.Whole), 26)]))
		}
	})
	want := []string{
		"r1-1 from a", `r1-2 there is no tool named "b"`[:31], "r2-1 from b",
		`r3-1 there is no tool named "a"`[:31], "r4-1 from b",
	}
	if d := cmp.Diff(want, texts); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"start", "tools"}, epochs); d != "" {
		t.Errorf("epochs (-want +got):\n%s", d)
	}
	if n := len(membranetest.Bodies(t, w.bodies)); n != 5 {
		t.Errorf("%d requests", n)
	}
}

// What the runtime does with a tool may change alone: the next round has it, and no epoch is opened for it.
func TestATraitOfAToolChangesBetweenRounds(t *testing.T) {
	w := newWorld(t,
		scripted.Step{Calls: []scripted.Call{{Tool: "a", Args: []byte(`{}`)}}},
		scripted.Step{Calls: []scripted.Call{{Tool: "a", Args: []byte(`{}`)}}},
		scripted.Step{Text: "done"})
	asked := 0
	w.config.Refresh = func(context.Context) ([]tool.Tool, error) {
		long := says("a", strings.Repeat("a line of text\n", 400))
		if asked++; asked > 1 {
			long.MaxChars = 1000
		}
		return []tool.Tool{long}, nil
	}
	epochs := 0
	w.with(func(a *agent.Agent, s *sqlite.Store) {
		for e, err := range a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.(agent.EpochOpened); ok {
				epochs++
			}
		}
		results, err := s.ResultsOf(t.Context(), "c", 0)
		if err != nil || len(results) != 2 || results[0].Spill != nil || results[1].Spill == nil {
			t.Errorf("the new cap was not taken: %d results, %v", len(results), err)
		}
	})
	if epochs != 1 {
		t.Errorf("%d epochs", epochs)
	}
}
