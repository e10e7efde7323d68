package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
	"github.com/weir-run/weir/membrane/gemini"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/openai"
	"github.com/weir-run/weir/membrane/openai/responses"
	"github.com/weir-run/weir/tool"
)

// dialectCases are what becomes of schemas, names and images in each dialect: topics schema-ref,
// schema-dialect, tool-name and image-poison.
func dialectCases() map[string]runner {
	return map[string]runner{
		"C054": imageIsPoison, "C056": imageIsPoison,
		"C152": schemaReference, "C153": schemaNullable, "C154": schemaKeywords, "C156": schemaAlternatives,
		"C157": nameTooLong,
	}
}

// noting is a model that tells what tools lose on the way to its wire.
type noting interface {
	membrane.Model
	Notes(h membrane.Head) []string
}

// dialects are the wires that providers speak, by name; say writes an answer of each as it is streamed.
func dialects(t *testing.T, url string) map[string]noting {
	t.Helper()
	claude, errA := anthropic.New("claude-test", anthropic.Config{APIKey: "k", BaseURL: url})
	quirks := openai.QuirksOf(url)
	quirks.Images = true
	chat, errB := openai.New("gpt-test", openai.Config{APIKey: "k", BaseURL: url, Quirks: &quirks})
	newer, errC := responses.New("gpt-test", responses.Config{APIKey: "k", BaseURL: url})
	google, errD := gemini.New("gemini-3-test", gemini.Config{APIKey: "k", BaseURL: url})
	for _, err := range []error{errA, errB, errC, errD} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return map[string]noting{"anthropic": claude, "openai-chat": chat, "openai-responses": newer, "gemini": google}
}

// say is an answer of each dialect: a text, or a call of a tool without arguments.
func say(dialect, text, call string) string {
	named := func(kind, rest string) string {
		return fmt.Sprintf("event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, rest)
	}
	switch dialect {
	case "anthropic":
		block, stop := fmt.Sprintf(`{"type":"text","text":%q}`, text), "end_turn"
		if call != "" {
			block, stop = fmt.Sprintf(`{"type":"tool_use","id":"t1","name":%q,"input":{}}`, call), "tool_use"
		}
		return named("message_start", `,"message":{"content":[]}`) + named("content_block_start", `,"index":0,"content_block":`+block) +
			named("content_block_stop", `,"index":0`) + named("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q}`, stop)) + named("message_stop", "")
	case "openai-chat":
		delta, stop := fmt.Sprintf(`{"content":%q}`, text), "stop"
		if call != "" {
			delta, stop = fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"t1","type":"function","function":{"name":%q,"arguments":"{}"}}]}`, call), "tool_calls"
		}
		return membranetest.Data(fmt.Sprintf(`{"choices":[{"index":0,"delta":%s,"finish_reason":%q}]}`, delta, stop)) + membranetest.Data("[DONE]")
	case "openai-responses":
		item := fmt.Sprintf(`{"id":"m1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":%q}]}`, text)
		if call != "" {
			item = fmt.Sprintf(`{"id":"f1","type":"function_call","status":"completed","call_id":"t1","name":%q,"arguments":"{}"}`, call)
		}
		return named("response.output_item.done", `,"output_index":0,"item":`+item) + named("response.completed", `,"response":{"status":"completed"}`)
	}
	part := fmt.Sprintf(`{"text":%q}`, text)
	if call != "" {
		part = fmt.Sprintf(`{"functionCall":{"name":%q,"args":{}}}`, call)
	}
	return membranetest.Data(`{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"finishReason":"STOP"}]}`)
}

// offeredSchema is the schema under which the tool stands in a head of the dialect, and how often it is there.
func offeredSchema(t *testing.T, m noting, raw string) (schema map[string]any, text string) {
	t.Helper()
	given := json.RawMessage(raw)
	h := membrane.Head{Tools: []membrane.ToolSpec{{Name: "fine"}, {Name: "srv--t", Schema: given}}}
	e, err := m.EncodeHead(h)
	if err != nil {
		t.Fatal(err)
	}
	if string(given) != raw {
		t.Errorf("%s: the stored schema was changed: %s", m.Dialect(), given)
	}
	var head any
	if err := json.Unmarshal(slices.Concat(e.Head, e.Tail), &head); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(e.Head), `"fine"`) {
		t.Errorf("%s: another tool is not offered any more", m.Dialect())
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, x := range v {
				walk(x)
			}
		case map[string]any:
			if v["name"] == "srv--t" {
				for _, key := range []string{"input_schema", "parameters", "parametersJsonSchema"} {
					if s, ok := v[key].(map[string]any); ok {
						schema = s
					}
				}
			}
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(head)
	back, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	return schema, string(back)
}

func inDialects(t *testing.T, run func(t *testing.T, m noting)) {
	t.Helper()
	for name, m := range dialects(t, "http://localhost") {
		t.Run(name, func(t *testing.T) { run(t, m) })
	}
}

// at follows keys.
func at(v any, keys ...string) any {
	for _, key := range keys {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return v
}

// schemaReference: a reference to any place of the same schema stands for what is there.
func schemaReference(t *testing.T, c field) {
	in := inputOf[mcpResult](t, c)
	inDialects(t, func(t *testing.T, m noting) {
		schema, text := offeredSchema(t, m, in.Raw)
		items, _ := at(schema, "properties", "acts", "items").(map[string]any)
		if ref, ok := items["$ref"].(string); ok {
			items, _ = at(schema, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...).(map[string]any)
		}
		if items["type"] != "object" {
			t.Errorf("what the reference points at is lost: %s", text)
		}
	})
}

// schemaNullable: a type that may be null stays one, or the note names tool, server and field.
func schemaNullable(t *testing.T, c field) {
	in := inputOf[mcpResult](t, c)
	inDialects(t, func(t *testing.T, m noting) {
		schema, text := offeredSchema(t, m, in.Raw)
		items := at(schema, "properties", "rows", "items")
		if !strings.Contains(text, `"null"`) || items == nil || !strings.Contains(text, `"a":{"type":"string"}`) {
			notes := strings.Join(m.Notes(membrane.Head{Tools: []membrane.ToolSpec{{Name: "srv--t", Schema: []byte(in.Raw)}}}), "\n")
			if !strings.Contains(notes, "srv--t") || !strings.Contains(notes, "rows") {
				t.Errorf("%s\nnotes: %s", text, notes)
			}
		}
		if kind, _ := at(items, "type").([]any); m.Dialect() == "gemini" && kind != nil {
			t.Errorf("a list of types, which the provider does not take: %s", text)
		}
	})
}

// schemaKeywords: keywords that a provider refuses are left out for that provider alone.
func schemaKeywords(t *testing.T, c field) {
	in := inputOf[mcpResult](t, c)
	inDialects(t, func(t *testing.T, m noting) {
		schema, text := offeredSchema(t, m, in.Raw)
		if at(schema, "properties", "q", "type") != "string" {
			t.Errorf("the property is lost: %s", text)
		}
		if m.Dialect() == "gemini" && (strings.Contains(text, "$schema") || strings.Contains(text, "additionalProperties")) {
			t.Errorf("the provider refuses this: %s", text)
		}
	})
}

// schemaAlternatives: alternatives at the root become one object.
func schemaAlternatives(t *testing.T, c field) {
	in := inputOf[mcpResult](t, c)
	inDialects(t, func(t *testing.T, m noting) {
		schema, text := offeredSchema(t, m, in.Raw)
		if schema["type"] != "object" || schema["anyOf"] != nil || at(schema, "properties", "a") == nil || at(schema, "properties", "b") == nil {
			t.Errorf("%s", text)
		}
		if notes := m.Notes(membrane.Head{Tools: []membrane.ToolSpec{{Name: "srv--t", Schema: []byte(in.Raw)}}}); len(notes) == 0 || !strings.Contains(notes[0], "srv--t") {
			t.Errorf("nobody is told: %v", notes)
		}
	})
}

// wired is a provider of any dialect that answers in turn.
type wired struct {
	mu      sync.Mutex
	answers []string
	bodies  []string
}

func (w *wired) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || len(w.answers) == 0 {
		http.Error(out, "no answer is left", http.StatusTeapot)
		return
	}
	w.bodies = append(w.bodies, string(body))
	out.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(out, w.answers[0])
	w.answers = w.answers[1:]
}

// overWire runs turns over each dialect, each turn with a store of its own, and gives the bodies.
func overWire(t *testing.T, tools []tool.Tool, turns []agent.Turn, answers func(dialect string) []string, look func(t *testing.T, dialect string, bodies []string)) {
	t.Helper()
	server := map[string]*wired{}
	for dialect := range dialects(t, "http://localhost") {
		server[dialect] = &wired{answers: answers(dialect)}
		s := httptest.NewServer(server[dialect])
		defer s.Close()
		w := newWorld(t)
		m := dialects(t, s.URL)[dialect]
		for _, turn := range turns {
			store := w.open()
			a, err := agent.New(store, m, agent.Config{Tools: tools})
			if err != nil {
				t.Fatal(err)
			}
			turn.Conversation = talk
			_, err = a.Run(t.Context(), turn).Collect()
			if closed := store.Close(); err != nil || closed != nil {
				t.Fatalf("%s: %v %v", dialect, err, closed)
			}
		}
		look(t, dialect, server[dialect].bodies)
	}
}

// nameTooLong: on the wire a name is legal, unique and always the same; the tool is found by its own.
func nameTooLong(t *testing.T, c field) {
	in := inputOf[struct {
		Kind   string   `json:"kind"`
		Server string   `json:"server"`
		Names  []string `json:"names"`
	}](t, c)
	ran := 0
	var tools []tool.Tool
	name := in.Server + "--" + in.Names[0]
	for _, n := range []string{name, name + "_too"} {
		tools = append(tools, tool.Tool{Name: n, Description: "Waits.", Schema: []byte(`{"type":"object"}`), Run: gives("x", tool.Text("it is done")).Run})
	}
	run := tools[0].Run
	tools[0].Run = counting(&ran, run)
	legal := membrane.WireName(name)
	if len(legal) > 64 || legal == membrane.WireName(name+"_too") {
		t.Fatalf("%s has %d characters, or is that of another tool", legal, len(legal))
	}
	overWire(t, tools, []agent.Turn{{Text: "Do it."}},
		func(d string) []string { return []string{say(d, "", legal), say(d, "Done.", "")} },
		func(t *testing.T, dialect string, bodies []string) {
			if len(bodies) != 2 || !strings.Contains(bodies[0], `"`+legal+`"`) || !strings.Contains(bodies[0], "[full name: "+name+"]") || !strings.Contains(bodies[1], "it is done") {
				t.Errorf("%s: %d requests: %.3000q", dialect, len(bodies), bodies)
			}
			if strings.Contains(bodies[0], `"name":"`+name+`"`) {
				t.Errorf("%s: the name is sent as it is", dialect)
			}
		})
	if want := len(dialects(t, "http://localhost")); ran != want {
		t.Errorf("the tool ran %d times, want %d", ran, want)
	}
}

// imageIsPoison: an image that a provider would refuse is a text that says so, and the conversation goes on.
func imageIsPoison(t *testing.T, c field) {
	in := inputOf[mcpResult](t, c)
	r := blocksOf(t, in.Raw)
	var asked []membrane.Block
	var data []string
	blocks, ok := r.Data.([]tool.Content)
	if !ok {
		t.Fatalf("the result holds a %T", r.Data)
	}
	for _, b := range blocks {
		asked = append(asked, membrane.Block{Type: membrane.Image, MIMEType: b.MIMEType, Data: b.Data})
		quoted, err := json.Marshal(b.Data)
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, strings.Trim(string(quoted), `"`))
	}
	look := gives("look", r)
	overWire(t, []tool.Tool{look}, []agent.Turn{{Text: "What is this?", Content: asked}, {Text: "And now?"}},
		func(d string) []string {
			return []string{say(d, "", "look"), say(d, "Odd.", ""), say(d, "Still here.", "")}
		},
		func(t *testing.T, dialect string, bodies []string) {
			if len(bodies) != 3 {
				t.Fatalf("%s: %d requests", dialect, len(bodies))
			}
			for _, d := range data {
				if strings.Contains(bodies[2], d) {
					t.Errorf("%s: what is refused is sent: %s", dialect, bodies[2])
				}
			}
			if !strings.Contains(bodies[2], "not sent") && !strings.Contains(bodies[2], "[image") {
				t.Errorf("%s: nothing says that an image was left out: %s", dialect, bodies[2])
			}
			m := dialects(t, "http://localhost")[dialect]
			fragment, err := m.EncodeMessage(membrane.Message{Role: membrane.Results, Results: []membrane.Result{{CallID: "t1", Tool: "look", Images: asked}}})
			if err != nil || strings.Contains(string(fragment), data[0]) || !strings.Contains(string(fragment), "[image: ") {
				t.Errorf("%s: as a result: %s, %v", dialect, fragment, err)
			}
		})
}

// counting counts how often a tool runs.
func counting(n *int, run tool.Handler) tool.Handler {
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		*n++
		return run(ctx, c)
	}
}
