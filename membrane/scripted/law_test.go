package scripted_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
)

// TestLaw03PrefixOfRecordedBodies plays ten rounds, each by a model of its own as after a restart, and
// compares the bodies that they received.
func TestLaw03PrefixOfRecordedBodies(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := scripted.Script{AfterEnd: scripted.Loop, Steps: []scripted.Step{
		{Text: "I look.", Calls: []scripted.Call{{Tool: "a", Args: []byte(`{ "z":1.0, "a" : "<" }`)}, {Tool: "b", Args: []byte(`{"cut`)}}},
		{Thinking: "Hm.", Text: "Done \u2028 <b>."},
		{},
	}}
	k := newTalk(t, s, scripted.Config{Bodies: dir})
	k.say(membrane.UserText("Go."))
	for i := range 10 {
		next := newTalk(t, s, scripted.Config{Bodies: dir})
		next.bytes = k.bytes
		k = next
		done := k.next()
		if calls := done.Message.Calls(); len(calls) > 0 {
			results := membrane.Message{Role: membrane.Results}
			for _, c := range calls {
				results.Results = append(results.Results, membrane.Result{CallID: c.CallID, Tool: c.Tool, Text: fmt.Sprintf("\"%d\"\n", i)})
			}
			k.say(results)
		} else {
			k.say(membrane.UserText("more"))
		}
	}
	bodies := membranetest.Bodies(t, dir)
	if len(bodies) != 10 {
		t.Fatalf("%d bodies, want 10", len(bodies))
	}
	membranetest.Prefix(t, scripted.Split, bodies...)

	// Every call of the conversation has an id of its own.
	seen := map[string]bool{}
	for part := range strings.SplitSeq(string(bodies[9]), `"type":"call","id":"`) {
		id, _, _ := strings.Cut(part, `"`)
		if seen[id] {
			t.Errorf("call id %q comes twice", id)
		}
		seen[id] = true
	}
}

// TestLaw09HeadIsDeterministic offers the same tools in other orders, many times.
func TestLaw09HeadIsDeterministic(t *testing.T) {
	t.Parallel()
	m, err := scripted.New(scripted.Script{Steps: []scripted.Step{{}}}, scripted.Config{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	schema := `{"type":"object","properties":{"zeta":{"type":"string"}, "alpha":{"type":"integer"},"mid":{"type":"boolean"}},"required":["zeta"]}`
	tools := map[string]membrane.ToolSpec{}
	for _, name := range []string{"a", "b", "c"} {
		tools[name] = membrane.ToolSpec{Name: name, Description: "<" + name + ">", Schema: []byte(schema)}
	}
	want := `{"model":"m","system":"s","tools":[`
	for i, name := range []string{"a", "b", "c"} {
		if i > 0 {
			want += ","
		}
		want += `{"name":"` + name + `","description":"<` + name + `>","schema":` + schema + `}`
	}
	want += `],"max_tokens":100,"settings":{"z":1,"a": 2},"messages":[`
	for _, order := range []string{"bac", "cba", "abc"} {
		for range 20 {
			h := membrane.Head{System: "s", MaxTokens: 100, Settings: []byte(`{"z":1,"a": 2}`)}
			for _, name := range order {
				h.Tools = append(h.Tools, tools[string(name)])
			}
			env, err := m.EncodeHead(h)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(env.Head)); diff != "" {
				t.Fatalf("order %s (-want +got):\n%s", order, diff)
			}
			if h.Tools[0].Name != order[:1] {
				t.Fatal("the caller's tools were sorted")
			}
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	t.Parallel()
	m, err := scripted.New(scripted.Script{Steps: []scripted.Step{{}}}, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		head membrane.Head
		want string
	}{
		{"schema", membrane.Head{Tools: []membrane.ToolSpec{{Name: "a", Schema: []byte(`{"type":`)}}}, "encode the head: the schema of tool a is not JSON"},
		{"twins", membrane.Head{Tools: []membrane.ToolSpec{{Name: "a"}, {Name: "b"}, {Name: "a"}}}, "encode the head: there are two tools named a"},
		{"settings", membrane.Head{Settings: []byte(`[1]`)}, "encode the head: the settings are not a JSON object"},
		{"cut settings", membrane.Head{Settings: []byte(`{"a":`)}, "encode the head: the settings are not a JSON object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := m.EncodeHead(c.head)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := m.EncodeMessage(membrane.Message{Role: "tool"}); err == nil {
		t.Error("a message of no role was encoded")
	}
}

func TestEncodeMessage(t *testing.T) {
	t.Parallel()
	m, err := scripted.New(scripted.Script{Steps: []scripted.Step{{}}}, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	image := membrane.Block{Type: membrane.Image, MIMEType: "image/png", Data: []byte{0xff, 0xfe}}
	for _, c := range []struct {
		name    string
		message membrane.Message
		want    string
	}{
		{"image", membrane.Message{Role: membrane.User, Blocks: []membrane.Block{image}}, `{"role":"user","content":[{"type":"image","mime":"image/png","data":"//4="}]}`},
		{
			"image in a result",
			membrane.Message{Role: membrane.Results, Results: []membrane.Result{{CallID: "1", Tool: "t", Text: "see", Images: []membrane.Block{image}}}},
			`{"role":"results","content":[{"id":"1","tool":"t","text":"see","images":[{"type":"image","mime":"image/png","data":"//4="}]}]}`,
		},
		{
			"from another dialect",
			membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{
				{Type: membrane.Other, Raw: []byte(`{"type":"encrypted"}`)}, {Type: membrane.Text, Text: "", Raw: []byte(`{"scripted_step":"x"}`)},
			}},
			`{"role":"assistant","content":[{"type":"text","text":""}]}`,
		},
		{"a user has no steps", membrane.Message{Role: membrane.User, Blocks: []membrane.Block{{Type: membrane.Text, Text: "a", Raw: []byte(`{"scripted_step":3}`)}}}, `{"role":"user","content":[{"type":"text","text":"a"}]}`},
		{"nothing", membrane.Message{Role: membrane.Results}, `{"role":"results","content":[]}`},
		{"no text", membrane.UserText("a\xff\xed\xa0\x80"), `{"role":"user","content":[{"type":"text","text":"a` + "\ufffd\ufffd" + `"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := m.EncodeMessage(c.message)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
