package cases

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// familyCache are the items of family D: equal bytes, on which a provider's cache lives.
func familyCache() map[string]item {
	return map[string]item{
		"D01": hundredBuilds, "D02": nestedOrder, "D03": bytePrefix, "D04": sortedAndLate, "D05": firstLikeTheRest, "D06": injectedOnce,
		"D07": lowWatermark, "D08": costBefore, "D09": whatTheCacheHas, "D10": neverLonger, "D11": rowsAreFixed, "D12": requestLog, "D14": anyOrder,
	}
}

// nestedArgs has a schema with objects in objects.
type nestedArgs struct {
	Zeta  map[string]int `json:"zeta,omitempty" jsonschema:"a map"`
	Alpha struct {
		Omega []string `json:"omega"`
		Beta  struct {
			Y string `json:"y"`
			A string `json:"a"`
		} `json:"beta"`
	} `json:"alpha"`
	Mid *string `json:"mid,omitempty"`
}

func hundredBuilds(t *testing.T) {
	w := quick(t)
	var first []byte
	s := w.open()
	defer func() { _ = s.Close() }()
	for n := range 100 {
		var tools []tool.Tool
		for i := range 5 {
			x, err := tool.Func(fmt.Sprintf("tool-%d", i), "Takes arguments.", func(_ context.Context, in nestedArgs) (string, error) { return "ran", nil })
			if err != nil {
				t.Fatal(err)
			}
			tools = append(tools, x)
		}
		rand.Shuffle(len(tools), func(i, j int) { tools[i], tools[j] = tools[j], tools[i] })
		model, err := scripted.New(scripted.Script{Steps: []scripted.Step{{Text: "x"}}}, scripted.Config{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(s, model, agent.Config{Tools: tools, System: "Be brief."})
		if err != nil {
			t.Fatal(err)
		}
		head := membrane.Head{System: "Be brief."}
		for _, x := range a.Tools() {
			head.Tools = append(head.Tools, membrane.ToolSpec{Name: x.Name, Description: x.Description, Schema: x.Schema})
		}
		made, err := model.EncodeHead(head)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			first = made.Head
			// That is what is sent.
			w.tools, w.config.System = tools, "Be brief."
			w.turn("Go on.", scripted.Step{Text: "Done."})
			if !bytes.Equal(split(t, w.last()).Head, first) {
				t.Fatalf("sent is another head: %s", cmp.Diff(string(first), string(split(t, w.last()).Head)))
			}
		}
		if !bytes.Equal(made.Head, first) {
			t.Fatalf("build %d is not the first one:\n%s", n+1, cmp.Diff(string(first), string(made.Head)))
		}
	}
	if names := first; bytes.Index(names, []byte(`"tool-0"`)) > bytes.Index(names, []byte(`"tool-1"`)) || bytes.Index(names, []byte(`"tool-1"`)) > bytes.Index(names, []byte(`"tool-2"`)) {
		t.Error("the tools are not sorted by name")
	}
}

func anyOrder(t *testing.T) {
	names := []string{"zeta", "alpha", "Beta", "a-b", "a--b", "a_b", "a.b"}
	var first string
	for range 5 {
		w := quick(t, named(names...)...)
		w.turn("Go on.", scripted.Step{Text: "Done."})
		if first == "" {
			first = string(w.last())
		}
		if d := cmp.Diff(first, string(w.last())); d != "" {
			t.Errorf("with the order %v:\n%s", names, d)
		}
		rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
}

func nestedOrder(t *testing.T) {
	const raw = `{"type":"object","properties":{"z":{"type":"object","properties":{"y":{"type":"string"},"a":{"enum":["q","b"]}},"required":["y","a"]},"b":{"$ref":"#/$defs/d"}},"$defs":{"d":{"minimum":1.50,"type":"number"}}}`
	given := gives("given", tool.Text("ran"))
	given.Schema = json.RawMessage(raw)
	var bodies []string
	for range 5 {
		typed, err := tool.Func("typed", "", func(context.Context, nestedArgs) (string, error) { return "ran", nil })
		if err != nil {
			t.Fatal(err)
		}
		w := quick(t, typed, given)
		w.turn("Go on.", scripted.Step{Text: "Done."})
		bodies = append(bodies, string(w.last()))
	}
	for i, b := range bodies {
		if b != bodies[0] {
			t.Errorf("body %d is not the first one:\n%s", i+1, cmp.Diff(bodies[0], b))
		}
	}
	if !strings.Contains(bodies[0], raw) {
		t.Errorf("the given schema is not sent as it is: %s", bodies[0])
	}
	if z, a := strings.Index(bodies[0], `"zeta"`), strings.Index(bodies[0], `"alpha"`); z < 0 || z > a {
		t.Error("the properties are not in the order of the fields")
	}
}

func bytePrefix(t *testing.T) {
	w := quick(t, gives("t", tool.Text(rows(3000))), gives("u", tool.Value(map[string]any{"b": 1, "a": "<&>"})))
	call := scripted.Step{Text: "I call.", Calls: []scripted.Call{asks("", "t", `{"x":1.0}`), asks("", "u", ``)}}
	for range 3 {
		w.turn("Go on.", call, call, scripted.Step{Text: "Done."})
	}
	bodies := w.received()
	if len(bodies) != 9 {
		t.Fatalf("%d bodies", len(bodies))
	}
	for i := 1; i < len(bodies); i++ {
		a, b := split(t, bodies[i-1]), split(t, bodies[i])
		if !bytes.Equal(a.Head, b.Head) || !bytes.HasPrefix(b.Messages, append(bytes.Clone(a.Messages), ',')) {
			t.Errorf("request %d does not begin with all %d bytes of request %d", i+1, len(a.Messages), i)
		}
	}
}

func sortedAndLate(t *testing.T) {
	w := quick(t, named("srv-b--x", "srv-a--z", "srv-a--b", "late-not-yet")...)
	w.tools = w.tools[:3]
	w.turn("Go on.", scripted.Step{Text: "Fine."})
	names := func() (all []string) {
		for _, x := range parseBody(t, w.last()).Tools {
			all = append(all, x.Name)
		}
		return all
	}
	want := []string{"results--list", "srv-a--b", "srv-a--z", "srv-b--x"}
	if got := names(); !slices.IsSorted(got) || !slices.Equal(got[:4], want) {
		t.Errorf("the tools stand as %v", got)
	}
	// One that comes later breaks the head and not the messages, and the break is told.
	w.tools = append(w.tools, named("late")...)
	out := w.turn("Go on.", scripted.Step{Text: "Fine."})
	first, second := split(t, w.body(1)), split(t, w.body(2))
	if reasons, _ := opened(out); !slices.Equal(reasons, []string{"tools"}) || !bytes.HasPrefix(second.Messages, first.Messages) || !slices.Contains(names(), "late") {
		t.Errorf("epochs %v, tools %v", reasons, names())
	}
}

func firstLikeTheRest(t *testing.T) {
	w := quick(t)
	for range 3 {
		w.turn("The same \"question\" <with> everything: é \u2028.", scripted.Step{Text: "Fine."})
	}
	var elements []json.RawMessage
	if err := json.Unmarshal(append(append([]byte("["), split(t, w.last()).Messages...), ']'), &elements); err != nil || len(elements) != 5 {
		t.Fatalf("%d messages, %v", len(elements), err)
	}
	if d := cmp.Diff(string(elements[0]), string(elements[2])); d != "" {
		t.Errorf("the first and a later one:\n%s", d)
	}
	if first := split(t, w.body(1)).Messages; string(first) != string(elements[0]) {
		t.Errorf("in the first request it was %s", first)
	}
}

func injectedOnce(t *testing.T) {
	w := quick(t)
	turn := func(facts string) {
		w.steps = append(w.steps, scripted.Step{Text: "Fine."})
		w.process(func(a *agent.Agent, _ *sqlite.Store) {
			if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on.", Context: facts}).Collect(); err != nil {
				t.Fatal(err)
			}
		})
	}
	turn("It is Monday.\nThe folder is /a.")
	turn("The folder is /b.\nIt is Tuesday.")
	turn("")
	body := string(w.last())
	want := []string{`user "It is Monday.\nThe folder is /a." "Go on."`, `assistant "Fine."`, `user "The folder is /b.\nIt is Tuesday." "Go on."`, `assistant "Fine."`, `user "Go on."`}
	if d := cmp.Diff(want, parseBody(t, w.last()).outline()); d != "" || strings.Count(body, "Monday") != 1 {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func lowWatermark(t *testing.T) {
	w := quick(t, gives("t", tool.Text(strings.Repeat("a row of the result\n", 250))))
	w.config.Calls.Loops = agent.IgnoreLoops // the same call fills the context
	w.config.Window = 20_000
	var steps []scripted.Step
	for range 25 {
		steps = append(steps, scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}})
	}
	out := w.turn("Go on.", append(steps, scripted.Step{Text: "Done."})...)
	// 25 rounds of about 1,250 tokens: after each compaction there is room for several rounds.
	if n := kinds(out)["epoch compaction"]; n == 0 || n > 6 || out.Text != "Done." {
		t.Errorf("%d compactions in 25 rounds, ended as %q", n, out.Text)
	}
	for i := 1; i < len(out.Events); i++ {
		if _, ok := out.Events[i].(agent.EpochOpened); ok {
			if _, twice := out.Events[i-1].(agent.EpochOpened); twice && i > 1 {
				t.Error("two epochs one after the other")
			}
		}
	}
}

func costBefore(t *testing.T) {
	w := quick(t, gives("t", tool.Text(strings.Repeat("a row of the result\n", 1000))))
	w.config.Calls.Loops = agent.IgnoreLoops // the same call fills the context
	for range 3 {
		w.call("t", "{}")
	}
	w.steps = append(w.steps, scripted.Step{Play: func(seen scripted.Seen) (scripted.Step, error) {
		if len(seen.Body) > 45_000 {
			return scripted.Step{Fail: &scripted.Failure{Kind: membrane.ContextTooLong, Text: "too long"}}, nil
		}
		return scripted.Step{Text: "Done."}, nil
	}})
	told := int64(-1)
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		for e, err := range a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}) {
			if err != nil {
				t.Fatal(err)
			}
			switch e := e.(type) {
			case agent.EpochOpened:
				if told = e.Bytes; e.Reason != "compaction" {
					t.Errorf("an epoch of reason %s", e.Reason)
				}
			case agent.Answered:
				if told < 0 {
					t.Error("the answer came before the cost was told")
				}
			}
		}
	})
	if r := split(t, w.last()); told != int64(len(r.Head)+len(r.Messages)) {
		t.Errorf("the compaction is told to cost %d bytes, the request has %d", told, len(r.Head)+len(r.Messages))
	}
}

// common is how long the part is that two texts begin with.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func whatTheCacheHas(t *testing.T) {
	w := quick(t, gives("t", tool.Text(strings.Repeat("a row of the result\n", 1000))))
	w.config.Calls.Loops = agent.IgnoreLoops // the same call fills the context
	w.turn("One.", scripted.Step{Text: "Fine.", Usage: &membrane.Usage{In: 10, Out: 1, CacheWrite: 400}})
	w.call("t", "{}")
	w.config.System = "Another."
	w.turn("Two.", scripted.Step{Text: "Fine.", Usage: &membrane.Usage{In: 11, Out: 1, CacheRead: 300, CacheWrite: 20}})
	for range 3 {
		w.call("t", "{}")
	}
	w.steps = append(w.steps, scripted.Step{Play: func(seen scripted.Seen) (scripted.Step, error) {
		if len(seen.Body) > 45_000 {
			return scripted.Step{Fail: &scripted.Failure{Kind: membrane.ContextTooLong, Text: "too long"}}, nil
		}
		return scripted.Step{Text: "Done."}, nil
	}})
	w.turn("Three.")
	bodies := w.received()
	w.look(func(s *sqlite.Store) {
		requests, err := s.Requests(t.Context(), talk)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]history.Usage{{In: 10, Out: 1, CacheWrite: 400}, {In: 11, Out: 1, CacheRead: 300, CacheWrite: 20}}, []history.Usage{requests[0].Usage, requests[3].Usage}); d != "" {
			t.Errorf("what the cache had, by request (-want +got):\n%s", d)
		}
		epochs, err := s.Epochs(t.Context(), talk)
		if err != nil || len(epochs) != 3 {
			var reasons []string
			for _, e := range epochs {
				reasons = append(reasons, e.Reason)
			}
			t.Fatalf("the epochs are %v, %v", reasons, err)
		}
		// The first byte that differs between the epochs is the same in what is stored and in what was sent.
		for i, pair := range [][2]int{{2, 3}, {len(bodies) - 2, len(bodies) - 1}} {
			before, after := string(split(t, bodies[pair[0]]).Messages), string(split(t, bodies[pair[1]]).Messages)
			stored := common(fragments(t, s, i+1), fragments(t, s, i+2))
			if sent := common(before, after); stored < sent || i == 1 && stored != sent {
				t.Errorf("%s: %d bytes are stored as shared, %d were sent as shared", epochs[i+1].Reason, stored, sent)
			}
		}
	})
}

func neverLonger(t *testing.T) {
	// Results that are shorter than the reference to them stay as they are.
	w := quick(t, gives("tiny", tool.Text("ok")), gives("long", tool.Text(strings.Repeat("a row of the result\n", 1000))))
	w.round(asks("", "tiny", "{}"), asks("", "tiny", "{}"))
	w.call("long", "{}")
	w.call("tiny", "{}")
	w.steps = append(w.steps, scripted.Step{Play: func(seen scripted.Seen) (scripted.Step, error) {
		if len(seen.Body) > 20_000 {
			return scripted.Step{Fail: &scripted.Failure{Kind: membrane.ContextTooLong, Text: "too long"}}, nil
		}
		return scripted.Step{Text: "Done."}, nil
	}})
	if out := w.turn("Go on."); kinds(out)["epoch compaction"] != 1 {
		t.Fatalf("events %v", kinds(out))
	}
	var all []string
	for _, m := range parseBody(t, w.last()).Messages {
		for _, b := range m.Content {
			if m.Role == "results" {
				all = append(all, *b.Text)
			}
		}
	}
	want := []string{"ok", "ok", "[Left out to save room: r2-1, 20000 characters in 1000 lines, stored whole as tool-results/r2-1-long.txt]", "ok"}
	if d := cmp.Diff(want, all); d != "" {
		t.Errorf("the results after the compaction (-want +got):\n%s", d)
	}
}

func rowsAreFixed(t *testing.T) {
	w := quick(t, gives("t", tool.Text("a result")), gives("long", tool.Text(rows(3000))))
	w.round(asks("", "t", "{}"), asks("", "long", "{}"))
	before := w.dump(everything)
	db := w.database()
	defer func() { _ = db.Close() }()
	for _, statement := range []string{
		`UPDATE fragments SET bytes = x'00'`, `UPDATE results SET whole = 'y' WHERE whole IS NOT NULL`, `UPDATE results SET shown = 'y'`,
		`UPDATE messages SET body = 'y'`, `UPDATE calls SET args = 'y'`, `UPDATE epochs SET head = 'y'`, `UPDATE spills SET bytes = 1`,
		`UPDATE requests SET chain = x'00'`, `DELETE FROM fragments`, `DELETE FROM results`, `DELETE FROM messages`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err == nil {
			t.Errorf("this was done: %s", statement)
		}
	}
	if d := cmp.Diff(before, w.dump(everything)); d != "" {
		t.Errorf("what is stored has changed:\n%s", d)
	}
}

func requestLog(t *testing.T) {
	w := quick(t, gives("t", tool.Text(rows(3000))))
	w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}}, scripted.Step{Text: "Done."})
	w.config.System = "Another."
	w.turn("More.", scripted.Step{Text: "Fine."})
	bodies := w.received()
	w.look(func(s *sqlite.Store) {
		requests, err := s.Requests(t.Context(), talk)
		if err != nil || len(requests) != len(bodies) {
			t.Fatalf("%d requests for %d bodies, %v", len(requests), len(bodies), err)
		}
		for i, r := range requests {
			parts := split(t, bodies[i])
			if r.TotalBytes != int64(len(bodies[i])) || r.MessageBytes != int64(len(parts.Messages)) || r.HeadSHA != sha256.Sum256(parts.Head) {
				t.Errorf("request %d is logged with %d and %d bytes; %d and %d were sent", i+1, r.MessageBytes, r.TotalBytes, len(parts.Messages), len(bodies[i]))
			}
			chain, n := [32]byte{}, 0
			if err := s.Fragments(t.Context(), talk, r.Epoch, 0, func(f history.Fragment) error {
				if n++; n <= r.LastPos {
					chain = history.Chain(chain, f.Bytes)
				}
				return nil
			}); err != nil || chain != r.Chain {
				t.Errorf("the chain of request %d is not that of its fragments: %v", i+1, err)
			}
		}
	})
}
