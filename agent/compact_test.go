package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// A conversation that is driven far past the model's context is compacted: old results become
// references, what was dropped can still be read, and within each epoch the prefix holds.
func TestACompactedConversationGoesOnAndReadsWhatWasDropped(t *testing.T) {
	step := func(seen scripted.Seen) (scripted.Step, error) {
		if last := seen.Messages[len(seen.Messages)-1]; strings.Contains(last.PlainText(), "Sum it up") {
			return scripted.Step{Text: "The user wants forty rounds."}, nil
		}
		switch {
		case seen.Step > 42:
			return scripted.Step{Text: seen.Results()[0].Text}, nil
		case seen.Step == 42:
			return scripted.Step{Calls: []scripted.Call{call("workspace--read", `{"path":"tool-results/r1-1-page.txt","offset":2,"limit":1}`)}}, nil
		}
		return scripted.Step{Text: "on", Calls: []scripted.Call{call("page", fmt.Sprintf(`{"n":%d}`, seen.Step))}}, nil
	}
	w := newWorld(t, scripted.Step{Play: step})
	w.script.AfterEnd = scripted.Repeat
	w.config.Window = 20_000
	w.tools = []tool.Tool{says("page", "first line\nsecond line\n"+strings.Repeat("some more text of the page\n", 300))}
	out := w.run("Forty rounds, please.")
	if out.Reason != "done" || !strings.Contains(out.Text, "second line") {
		t.Fatalf("ended as %q with %.200q", out.Reason, out.Text)
	}
	compactions := 0
	for _, reason := range epochs(out) {
		if reason == "compaction" {
			compactions++
		}
	}
	if compactions < 2 || compactions > 12 {
		t.Errorf("%d compactions in 42 rounds", compactions)
	}
	w.verify()
	bodies := membranetest.Bodies(t, w.bodies)
	largest, breaks := 0, 0
	for i, b := range bodies {
		largest = max(largest, len(b))
		if i == 0 {
			continue
		}
		before, errA := scripted.Split(bodies[i-1])
		after, errB := scripted.Split(b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if !membrane.Prefixed(before, after) {
			breaks++
		}
	}
	if breaks > compactions {
		t.Errorf("the prefix breaks %d times, there are %d compactions", breaks, compactions)
	}
	if largest > 20_000*6 {
		t.Errorf("the largest body has %d bytes", largest)
	}
	w.with(func(_ *agent.Agent, s *sqlite.Store) {
		stored, err := s.Epochs(t.Context(), "c")
		if err != nil || len(stored) != compactions+1 {
			t.Fatalf("%d epochs for %d compactions, %v", len(stored), compactions, err)
		}
		n := 0
		if err := s.Fragments(t.Context(), "c", 1, 0, func(history.Fragment) error { n++; return nil }); err != nil || n == 0 {
			t.Errorf("the first epoch has %d fragments, %v", n, err)
		}
	})
}

// When the model says that its context is full, the conversation is compacted and asked again.
func TestAFullContextIsCompactedOnce(t *testing.T) {
	asked := 0
	w := newWorld(t, scripted.Step{Play: func(seen scripted.Seen) (scripted.Step, error) {
		if seen.Step <= 5 {
			return scripted.Step{Calls: []scripted.Call{call("page", `{}`)}}, nil
		}
		asked++
		if len(seen.Body) > 30_000 {
			return scripted.Step{Fail: &scripted.Failure{Kind: membrane.ContextTooLong, Text: "too long"}}, nil
		}
		return scripted.Step{Text: "fits now"}, nil
	}})
	w.script.AfterEnd = scripted.Repeat
	w.tools = []tool.Tool{says("page", strings.Repeat("some more text of the page\n", 500))}
	out := w.run("go")
	if out.Text != "fits now" || asked < 2 || asked > 4 {
		t.Errorf("%q after %d requests", out.Text, asked)
	}
	w.verify()
}
