package openai_test

import (
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/openai"
)

// answered is an answer with everything that servers differ in: reasoning, what only the model
// understands, and a call whose arguments are no JSON.
const answered = `{"choices":[{"index":0,"delta":{"reasoning_content":"R","reasoning_details":[{"data":"S"}],"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"f","arguments":"a = 1"},"extra_content":{"google":{"thought_signature":"G"}}}]}}]}
{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}
[DONE]`

// What each server wants differently shows in the head, in the answer that goes back and in a result.
func TestQuirks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, head, answer, result string }{
		{
			"https://api.openai.com/v1", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":7,"messages":[{"role":"developer","content":"S"}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"a = 1"}}]}`, "in the next message",
		},
		{
			"https://me.openai.azure.com/openai/v1/", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":7,"messages":[{"role":"system","content":"S"}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"a = 1"}}]}`, "in the next message",
		},
		{
			"https://api.deepseek.com", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":7,"messages":[{"role":"system","content":"S"}`,
			`{"role":"assistant","content":null,"reasoning_content":"R","tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"_unparsed\":\"a = 1\"}"}}]}`, "not known to take images",
		},
		{
			"https://openrouter.ai/api/v1", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":7,"messages":[{"role":"system","content":"S"}`,
			`{"role":"assistant","content":null,"reasoning_details":[{"data":"S"}],"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"_unparsed\":\"a = 1\"}"}}]}`, "in the next message",
		},
		{
			"https://generativelanguage.googleapis.com/v1beta/openai", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":7,"messages":[{"role":"system","content":"S"}`,
			`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"_unparsed\":\"a = 1\"}"},"extra_content":{"google":{"thought_signature":"G"}}}]}`, "in the next message",
		},
		{
			"https://api.mistral.ai/v1", `{"model":"m","stream":true,"max_tokens":7,"messages":[{"role":"system","content":"S"}`,
			`{"role":"assistant","content":"","tool_calls":[{"id":"ID","type":"function","function":{"name":"f","arguments":"{\"_unparsed\":\"a = 1\"}"}}]}`, "in the next message",
		},
		{
			"http://localhost:11434/v1", `{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":7,"messages":[{"role":"system","content":"S"}`,
			`{"role":"assistant","content":null,"reasoning_content":"R","reasoning_details":[{"data":"S"}],"tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"_unparsed\":\"a = 1\"}"},"extra_content":{"google":{"thought_signature":"G"}}}]}`, "not known to take images",
		},
	} {
		t.Run(c.base, func(t *testing.T) {
			t.Parallel()
			quirks := openai.QuirksOf(c.base)
			m := newModel(t, membranetest.Serve(t, membranetest.Answer{Body: lines(answered)}).URL, "m", func(cfg *openai.Config) { cfg.Quirks = &quirks })
			head, err := m.EncodeHead(membrane.Head{System: "S", MaxTokens: 7})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.head, string(head.Head)); diff != "" {
				t.Errorf("head (-want +got):\n%s", diff)
			}
			done, _ := play(t, m)
			result, err := m.EncodeMessage(membrane.Message{Role: membrane.Results, Results: []membrane.Result{{CallID: "call_1", Text: "T", Images: []membrane.Block{{Type: membrane.Image, Data: png(t)}}}}})
			if err != nil {
				t.Fatal(err)
			}
			fragment := string(done.Fragment)
			if quirks.ShortIDs { // the result answers the id of the call, whatever that became
				_, id, _ := strings.Cut(string(result), `"tool_call_id":"`)
				fragment = strings.ReplaceAll(fragment, id[:9], "ID")
			}
			if diff := cmp.Diff(c.answer, fragment); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if !strings.Contains(string(result), c.result) {
				t.Errorf("result %s; want %s", result, c.result)
			}
		})
	}
}

// Servers whose messages are written alike have one dialect, and what a head is written differently in is
// among the settings: a conversation that moves gets messages and a head that the next server takes.
func TestDialect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ base, dialect, settings string }{
		{"http://localhost:11434/v1", "openai-chat", ``},
		{"https://api.openai.com/v1", "openai-chat+images+written+nothing", `{"quirks":"developer, max_completion_tokens, 128 tools"}`},
		{"https://me.openai.azure.com/openai/v1", "openai-chat+images+written+nothing", `{"quirks":"system, max_completion_tokens, 128 tools"}`},
		{"https://api.mistral.ai/v1", "openai-chat+images+ids9+empty+nothing", `{"quirks":"system, max_tokens, no stream_options"}`},
		{"https://api.deepseek.com", "openai-chat+reasoning_content", ``},
	} {
		m, err := openai.New("m", openai.Config{APIKey: "k", BaseURL: c.base})
		if err != nil {
			t.Fatal(err)
		}
		if m.Dialect() != c.dialect || string(m.Settings()) != c.settings || m.Encoder() == "" {
			t.Errorf("%s: %s %s", c.base, m.Dialect(), m.Settings())
		}
	}
	m, err := openai.New("m", openai.Config{Provider: "compat", BaseURL: "http://localhost/v1", MaxTokens: 9, Settings: []byte(`{"a":1.0}`)})
	if err != nil || m.Name() != "compat/m" || string(m.Settings()) != `{"a":1.0,"max_tokens":9}` {
		t.Errorf("%s %s, %v", m.Name(), m.Settings(), err)
	}
}

// png is an image that every server takes.
func png(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/pixel.png")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Arguments go back as an object where a server wants one, and what another model kept goes nowhere.
func TestArgumentsAsObject(t *testing.T) {
	t.Parallel()
	m := newModel(t, "http://local.test", "m", func(cfg *openai.Config) { cfg.Quirks.Arguments = openai.ArgumentsObject })
	for in, want := range map[string]string{``: `{}`, `{"z":1.0,"a":2}`: `{"z":1.0,"a":2}`, `a = 1`: `{"_unparsed":"a = 1"}`, `"{\"a\":1}"`: `{"a":1}`} {
		got, err := m.EncodeMessage(membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{{Type: membrane.Call, CallID: "c", Tool: "f", Args: []byte(in)}}})
		if err != nil || string(got) != `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":`+want+`}}]}` {
			t.Errorf("%s: %s, %v", in, got, err)
		}
	}
}

// The head holds settings in their order, those of the head over those of the config, and nothing twice.
func TestEncodeHead(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	m := newModel(t, "http://local.test", "m", func(cfg *openai.Config) {
		cfg.Settings, cfg.MaxTokens = []byte(`{"b":1.0,"a":"<"}`), 5
		cfg.Logger = slog.New(slog.NewTextHandler(&told, nil))
	})
	h := membrane.Head{Settings: []byte(`{"a":2,"c":[]}`), Tools: []membrane.ToolSpec{{Name: "b.c", Description: "D", Schema: []byte(`{"type":"object","properties":{}}`)}, {Name: "a"}, {Name: "z", Schema: []byte("[]")}}}
	got, err := m.EncodeHead(h)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5,"b":1.0,"a":2,"c":[],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":%q,"description":"D\n\n[full name: b.c]","parameters":{"type":"object","properties":{}}}}],"messages":[`, membrane.WireName("b.c"))
	if diff := cmp.Diff(want, string(got.Head)); diff != "" || string(got.Tail) != "]}" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if notes := m.Notes(h); len(notes) != 2 || !strings.Contains(told.String(), "tool z is left out") {
		t.Errorf("notes %q, told %s", notes, told.String())
	}
	for _, settings := range []string{`{"n":2}`, `{"messages":[]}`, `[]`, `{"a":1,"a":1}`} {
		if _, err := m.EncodeHead(membrane.Head{Settings: []byte(settings)}); err == nil || !strings.HasPrefix(err.Error(), "encode the head: the settings ") {
			t.Errorf("%s: %v", settings, err)
		}
	}
	if _, err := m.EncodeHead(membrane.Head{Tools: []membrane.ToolSpec{{Name: "a"}, {Name: "a"}}}); err == nil {
		t.Error("two tools of one name are taken")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		model string
		cfg   openai.Config
	}{
		"openai: a model needs a name, such as gpt-5.5":                                                  {" ", openai.Config{APIKey: "k"}},
		"openai: model m has no API key: set OPENAI_API_KEY":                                             {"m", openai.Config{}},
		"openai: MaxTokens and IdleTimeout must not be negative":                                         {"m", openai.Config{APIKey: "k", MaxTokens: -1}},
		`openai: the settings hold "stream", which the head has already`:                                 {"m", openai.Config{APIKey: "k", Settings: []byte(`{"stream":false}`)}},
		`openai: BaseURL "localhost:11434" is no address such as https://host/path`:                      {"m", openai.Config{BaseURL: "localhost:11434"}},
		`openai: Quirks.Arguments is "x"; it must be "written", "parsed" or "object"`:                    {"m", openai.Config{APIKey: "k", Quirks: &openai.Quirks{Arguments: "x"}}},
		"openai: the header Authorization holds characters that no header has: is the key copied whole?": {"m", openai.Config{APIKey: "k\u00a0k"}},
	} {
		if _, err := openai.New(c.model, c.cfg); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if m, err := openai.New("m", openai.Config{BaseURL: "http://localhost:11434/v1"}); err != nil || m.Name() != "openai/m" {
		t.Errorf("a server of one's own needs no key: %v", err)
	}
}

// What a message has no place for is an error, and what it holds that no server takes is a labelled text.
func TestEncodeMessage(t *testing.T) {
	t.Parallel()
	m := newModel(t, "http://local.test", "m")
	other := newModel(t, "http://local.test", "other")
	text := func(s string) membrane.Block { return membrane.Block{Type: membrane.Text, Text: s} }
	for _, c := range []struct {
		in   membrane.Message
		want string
	}{
		{membrane.UserText("a\ufffd<b>"), "{\"role\":\"user\",\"content\":\"a\ufffd<b>\"}"},
		{membrane.Message{Role: membrane.User, Blocks: []membrane.Block{text("a"), text(""), text("b")}}, `{"role":"user","content":"a\n\nb"}`},
		{membrane.Message{Role: membrane.User}, `{"role":"user","content":"[a message without text]"}`},
		{membrane.Message{Role: membrane.User, Blocks: []membrane.Block{{Type: membrane.Other, Raw: []byte(`{"dialect":"x","model":"m","block":{}}`)}}}, `{"role":"user","content":"[a part that this provider does not take was left out]"}`},
		{membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{{Type: membrane.Thinking, Text: "t"}, text("a"), {Type: membrane.Image, MIMEType: "image/png"}}}, `{"role":"assistant","content":"a[image: image/png, 0 bytes, not sent: an answer takes no images]"}`},
		{membrane.Message{Role: membrane.Assistant}, ``},
	} {
		for _, model := range []*openai.Model{m, other} {
			if got, err := model.EncodeMessage(c.in); err != nil || string(got) != c.want {
				t.Errorf("%s, %v; want %s", got, err, c.want)
			}
		}
	}
	for _, bad := range []membrane.Message{{Role: "system"}, {Role: membrane.User, Blocks: []membrane.Block{{Type: membrane.Call}}}} {
		if got, err := m.EncodeMessage(bad); err == nil {
			t.Errorf("%+v is taken: %s", bad, got)
		}
	}
}
