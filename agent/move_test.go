package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// posing is a model under another name, with parameters of its own.
type posing struct {
	membrane.Model
	name, settings string
}

func (p posing) Name() string              { return p.name }
func (p posing) Settings() json.RawMessage { return json.RawMessage(p.settings) }

// pose runs one turn of the world's conversation with its model under another name.
func (w *world) pose(name, settings, text string) agent.Outcome {
	w.t.Helper()
	s := w.store()
	defer func() { _ = s.Close() }()
	model, err := scripted.New(w.script, scripted.Config{Bodies: w.bodies})
	if err != nil {
		w.t.Fatal(err)
	}
	if name == "" {
		name = model.Name()
	}
	return w.turn(s, posing{model, name, settings}, text)
}

func (w *world) turn(s *sqlite.Store, model membrane.Model, text string) agent.Outcome {
	w.t.Helper()
	cfg := w.config
	cfg.Tools = w.tools
	a, err := agent.New(s, model, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := a.Run(w.t.Context(), agent.Turn{Conversation: "c", Text: text}).Collect()
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// What a model adds to a head of its own is part of what the head means; a model without such parameters
// has the fingerprint that it always had. Another model's head is never kept.
func TestAModelsOwnParametersOpenAnEpoch(t *testing.T) {
	w := newWorld(t)
	w.script.Steps, w.script.AfterEnd = []scripted.Step{{Text: "so"}}, scripted.Repeat
	w.run("plain")
	for _, c := range []struct {
		name, settings string
		keep           bool
		want           []string
	}{
		{"", "", false, nil},
		{"", `{"effort":"low"}`, false, []string{"settings"}},
		{"", `{"effort":"low"}`, false, nil},
		{"", `{"effort":"high"}`, true, nil},
		{"", `{"effort":"high"}`, false, []string{"settings"}},
		{"other", `{"effort":"high"}`, true, []string{"model"}},
	} {
		w.config.KeepHead = c.keep
		if d := cmp.Diff(c.want, epochs(w.pose(c.name, c.settings, "next"))); d != "" {
			t.Errorf("%+v (-want +got):\n%s", c, d)
		}
	}
	w.with(func(_ *agent.Agent, s *sqlite.Store) {
		stored, err := s.Epochs(t.Context(), "c")
		if err != nil {
			t.Fatal(err)
		}
		// Nothing is signed, so another model shares everything.
		if last := stored[len(stored)-1]; last.Base != last.N-1 || last.BaseCount != 12 {
			t.Errorf("the epoch of another model begins with %d fragments of epoch %d, want 12 of the one before", last.BaseCount, last.Base)
		}
	})
	w.verify()
}

// A conversation that was compacted and goes to another provider, and back, stays compacted: what was summed
// up is not sent again, and neither is an older epoch that held it.
func TestACompactedConversationStaysSoWithAnotherModel(t *testing.T) {
	first := strings.Repeat("the very first words ", 20)
	text := func(s string) membranetest.Answer {
		return membranetest.Answer{Body: `data: {"type":"message_start","message":{"content":[]}}` + "\n\n" +
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"` + s + `"}}` + "\n\n" +
			`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"}
	}
	server := membranetest.Serve(t, text("At the start."), text("There."), text("Once more."))
	claude, err := anthropic.New("claude-test", anthropic.Config{APIKey: "k", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, scripted.Step{Play: func(seen scripted.Seen) (scripted.Step, error) {
		if last := seen.Messages[len(seen.Messages)-1]; strings.Contains(last.PlainText(), "Sum it up") {
			return scripted.Step{Text: "The summary of it."}, nil
		}
		return scripted.Step{Text: strings.Repeat("words and words ", 300)}, nil
	}})
	w.script.AfterEnd = scripted.Repeat
	w.tools = []tool.Tool{says("page", "x")}
	move := func(text string) (reasons []string) {
		s := w.store()
		defer func() { _ = s.Close() }()
		return epochs(w.turn(s, claude, text))
	}
	move(first) // the provider's own epoch from before the compaction
	w.run("go on")
	w.config.Window = 4_000
	for n := range 8 {
		w.run(fmt.Sprint("turn ", n))
	}
	w.config.Window = 0
	if d := cmp.Diff([]string{"dialect"}, move("And there?")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	bodies := server.Bodies()
	sent := string(bodies[len(bodies)-1])
	if strings.Contains(sent, "the very first words") || !strings.Contains(sent, "The summary of it.") || strings.Contains(sent, "Sum it up") {
		t.Errorf("what was summed up came back: %.3000s", sent)
	}
	w.run("back")
	scriptedBodies := membranetest.Bodies(t, w.bodies)
	back := string(scriptedBodies[len(scriptedBodies)-1])
	if strings.Contains(back, "the very first words") || !strings.Contains(back, "The summary of it.") || !strings.Contains(back, "And there?") {
		t.Errorf("back at the first model: %.3000s", back)
	}
	if d := cmp.Diff([]string{"dialect"}, move("Again.")); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	bodies = server.Bodies()
	one, errA := membranetest.SplitAt("messages")(bodies[1])
	two, errB := membranetest.SplitAt("messages")(bodies[2])
	if errA != nil || errB != nil || !membrane.Prefixed(one, two) {
		t.Errorf("going back does not go on where it ended: %v %v", errA, errB)
	}
	w.verify()
}

// Results that are references stay references with another provider's model, and the last ones stay whole.
func TestReferencesStayReferencesWithAnotherModel(t *testing.T) {
	server := membranetest.Serve(t, membranetest.Answer{Body: `data: {"type":"message_start","message":{"content":[]}}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"})
	claude, err := anthropic.New("claude-test", anthropic.Config{APIKey: "k", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, scripted.Step{Play: func(seen scripted.Seen) (scripted.Step, error) {
		if seen.Step <= 9 {
			return scripted.Step{Calls: []scripted.Call{call("page", `{}`), call("small", `{}`)}}, nil
		}
		return scripted.Step{Text: "done"}, nil
	}})
	w.script.AfterEnd = scripted.Repeat
	w.tools = []tool.Tool{says("page", strings.Repeat("some more text of the page\n", 150)), says("small", "1")}
	w.config.Window = 8_000
	out := w.run("go")
	if got := epochs(out); len(got) < 2 || got[1] != "compaction" {
		t.Fatalf("epochs %v: nothing was compacted", got)
	}
	s := w.store()
	defer func() { _ = s.Close() }()
	w.turn(s, claude, "And there?")
	before := membranetest.Bodies(t, w.bodies)
	was, is := string(before[len(before)-1]), string(server.Bodies()[0])
	for _, words := range []string{"[Left out to save room: ", "some more text of the page\\nsome more"} {
		if a, b := strings.Count(was, words), strings.Count(is, words); a != b || a == 0 {
			t.Errorf("%q stood in the last request %d times, and stands in that of the other model %d times", words, a, b)
		}
	}
	w.verify()
}

// Which tools a model is offered otherwise, or not at all, is told with the epoch; the others are offered,
// and the conversation goes on.
func TestALostToolIsTold(t *testing.T) {
	server := membranetest.Serve(t, membranetest.Answer{Body: `data: {"type":"message_start","message":{"content":[]}}` + "\n\n" +
		`data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"})
	claude, err := anthropic.New("claude-test", anthropic.Config{APIKey: "k", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.tools = []tool.Tool{says("fine", "x"), says("srv--bad", "x")}
	w.tools[1].Schema = []byte(`{"type":"object","properties":{"a b":{}}}`)
	s := w.store()
	defer func() { _ = s.Close() }()
	var notes []string
	for _, e := range w.turn(s, claude, "go").Events {
		if opened, ok := e.(agent.EpochOpened); ok {
			notes = append(notes, opened.Notes...)
		}
	}
	want := []string{`tool srv--bad is left out: the provider does not take "a b" as the name of an argument: only A-Z a-z 0-9 _ . -, at most 64`}
	if d := cmp.Diff(want, notes); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if body := string(server.Bodies()[0]); !strings.Contains(body, `"name":"fine"`) || strings.Contains(body, "srv--bad") {
		t.Errorf("offered: %s", body)
	}
}
