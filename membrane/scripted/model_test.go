package scripted_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

// talk is a conversation with a model, kept as its bytes.
type talk struct {
	t     *testing.T
	model *scripted.Model
	env   membrane.Envelope
	bytes []byte
}

func newTalk(t *testing.T, script scripted.Script, config scripted.Config) *talk {
	t.Helper()
	m, err := scripted.New(script, config)
	if err != nil {
		t.Fatal(err)
	}
	return open(t, m)
}

func open(t *testing.T, m *scripted.Model) *talk {
	t.Helper()
	env, err := m.EncodeHead(membrane.Head{
		System: "Be careful.",
		Tools: []membrane.ToolSpec{
			{Name: "b", Description: "second", Schema: []byte(`{"type":"object","properties":{"z":{},"a":{}}}`)},
			{Name: "a", Description: "first"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &talk{t: t, model: m, env: env}
}

func (k *talk) say(m membrane.Message) {
	k.t.Helper()
	fragment, err := k.model.EncodeMessage(m)
	if err != nil {
		k.t.Fatal(err)
	}
	k.bytes = membrane.Joined(k.env.Head, k.bytes, fragment)
}

func (k *talk) request() membrane.Request {
	return membrane.Request{Head: k.env.Head, Messages: k.bytes, Tail: k.env.Tail}
}

// ask sends the request and gives the events but the last, the last, and the error.
func (k *talk) ask() (deltas []membrane.Event, done membrane.Done, err error) {
	for e, err := range k.model.Stream(k.t.Context(), k.request()) {
		if err != nil {
			return deltas, done, err
		}
		if d, ok := e.(membrane.Done); ok {
			done = d
			continue
		}
		deltas = append(deltas, e)
	}
	return deltas, done, nil
}

// next asks, demands an answer and takes it into the conversation.
func (k *talk) next() membrane.Done {
	k.t.Helper()
	_, done, err := k.ask()
	if err != nil {
		k.t.Fatal(err)
	}
	k.bytes = membrane.Joined(k.env.Head, k.bytes, done.Fragment)
	return done
}

func script(t *testing.T, text string) scripted.Script {
	t.Helper()
	s, err := scripted.Parse("test.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStreamPlaysSteps(t *testing.T) {
	t.Parallel()
	k := newTalk(t, script(t, `{"steps": [
		{"thinking": "Hm.", "text": "I look  for it.", "calls": [
			{"name": "a", "args": {"n": 1.0, "a":[ 1 ]}},
			{"id": "x", "name": "b", "args_text": "{\"cut"},
			{"id": "x", "name": "b"}
		]},
		{"text": ["Found.", "Line 7."], "usage": {"in": 1, "out": 2, "cache_read": 3, "cache_write": 4}}
	]}`), scripted.Config{})
	k.say(membrane.UserText("Where?"))
	deltas, done, err := k.ask()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]membrane.Event{
		membrane.ThinkingDelta{Text: "Hm."},
		membrane.TextDelta{Text: "I "},
		membrane.TextDelta{Text: "look  "},
		membrane.TextDelta{Text: "for "},
		membrane.TextDelta{Text: "it."},
	}, deltas); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
	in := (k.request().Len() + 3) / 4
	if diff := cmp.Diff(membrane.Done{
		Message: membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{
			{Type: membrane.Thinking, Text: "Hm.", Raw: []byte(`{"scripted_step":1}`)},
			{Type: membrane.Text, Text: "I look  for it."},
			{Type: membrane.Call, CallID: "call-1", Tool: "a", Args: []byte(`{"n": 1.0, "a":[ 1 ]}`)},
			{Type: membrane.Call, CallID: "x", Tool: "b", Args: []byte(`{"cut`)},
			{Type: membrane.Call, CallID: "x-2", Tool: "b"},
		}},
		Fragment: []byte(`{"role":"assistant","step":1,"content":[{"type":"thinking","text":"Hm."},{"type":"text","text":"I look  for it."},` +
			`{"type":"call","id":"call-1","tool":"a","args":{"n": 1.0, "a":[ 1 ]}},` +
			`{"type":"call","id":"x","tool":"b","args":{"_unparsed":"{\"cut"}},` +
			`{"type":"call","id":"x-2","tool":"b","args":{}}]}`),
		Stop:  membrane.StopCalls,
		Usage: membrane.Usage{In: in, Out: (3 + 15 + 1 + 21 + 1 + 5 + 1 + 3) / 4},
	}, done); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	k.bytes = membrane.Joined(k.env.Head, k.bytes, done.Fragment)
	k.say(membrane.Message{Role: membrane.Results, Results: []membrane.Result{
		{CallID: "call-1", Tool: "a", Text: "<b>&\n\"x\""}, {CallID: "x", Tool: "b", Text: "", IsError: true}, {CallID: "x-2", Tool: "b", Text: "ok"},
	}})
	wantBody := `{"model":"scripted/test.json","system":"Be careful.","tools":[{"name":"a","description":"first","schema":{"type":"object"}},` +
		`{"name":"b","description":"second","schema":{"type":"object","properties":{"z":{},"a":{}}}}],"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"Where?"}]},` + string(done.Fragment) +
		`,{"role":"results","content":[{"id":"call-1","tool":"a","text":"<b>&\n\"x\""},{"id":"x","tool":"b","text":"","is_error":true},{"id":"x-2","tool":"b","text":"ok"}]}]}`
	if diff := cmp.Diff(wantBody, body(t, k.request())); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	last := k.next()
	if diff := cmp.Diff("Found.\nLine 7.", last.Message.PlainText()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(membrane.Usage{In: 1, Out: 2, CacheRead: 3, CacheWrite: 4}, last.Usage); diff != "" {
		t.Error(diff)
	}
	if last.Stop != membrane.StopEnd {
		t.Errorf("stop %q, want end", last.Stop)
	}
}
