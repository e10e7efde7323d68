package drill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weir-run/weir/membrane/membranetest"
)

// provider is a local server in the place of all providers: the path says in which dialect it is asked, and
// what it is asked decides alone what it answers, so that a killed process may ask again. It keeps what
// arrived whole. Whatever an answer signs holds the name of its model.
type provider struct {
	conversation string
	mu           sync.Mutex
	records      *membranetest.Server
}

// serve starts a provider and gives it with its address.
func serve(t *testing.T, conversation string) (*provider, string) {
	t.Helper()
	p := &provider{conversation: conversation, records: membranetest.Serve(t)}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return p, server.URL
}

// asked is what the body of a request says, in any of the dialects.
type asked struct {
	Model              string
	Messages, Contents []struct{ Role string }
	// Input is a list of items: a message has a role, a call, its output and reasoning have none.
	Input []struct{ Role string }
}

// askedOf reads a request: the model, and the step that follows those in it.
func askedOf(path string, body []byte) (model string, step int, err error) {
	var a asked
	if err := json.Unmarshal(body, &a); err != nil {
		return "", 0, err
	}
	step = 1
	for _, m := range slices.Concat(a.Messages, a.Contents, a.Input) {
		if m.Role == "assistant" || m.Role == "model" {
			step++
		}
	}
	if _, name, ok := strings.Cut(path, "/models/"); ok {
		a.Model, _, _ = strings.Cut(name, ":")
	}
	return a.Model, step, nil
}

// ServeHTTP answers one request with the step that follows those in its body.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked was killed
	}
	model, step, err := askedOf(r.URL.Path, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var answer string
	switch {
	case strings.HasSuffix(r.URL.Path, "/messages"):
		answer = p.anthropic(model, step)
	case strings.HasSuffix(r.URL.Path, "/chat/completions"):
		answer = p.openai(step)
	case strings.HasSuffix(r.URL.Path, "/responses"):
		answer = p.responses(model, step)
	case strings.HasSuffix(r.URL.Path, ":streamGenerateContent"):
		answer = p.gemini(model, step)
	default:
		http.NotFound(w, r)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records.Add(membranetest.Answer{Body: answer, Piece: 700})
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.records.ServeHTTP(w, r)
}

// signature is what a model signs a step with.
func signature(model string, step int) string { return fmt.Sprintf("Sig-%s-%d=", model, step) }

// anthropic is a step as the Messages API streams it.
func (p *provider) anthropic(model string, step int) string {
	var out strings.Builder
	send := func(kind, format string, args ...any) {
		fmt.Fprintf(&out, "event: %s\ndata: {\"type\":%q"+format+"}\n\n", append([]any{kind, kind}, args...)...)
	}
	block := func(index int, block, delta string) {
		send("content_block_start", `,"index":%d,"content_block":%s`, index, block)
		send("content_block_delta", `,"index":%d,"delta":%s`, index, delta)
		send("content_block_stop", `,"index":%d`, index)
	}
	send("message_start", `,"message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":9,"output_tokens":1}}`)
	block(0, `{"type":"thinking","thinking":"","signature":""}`, fmt.Sprintf(`{"type":"signature_delta","signature":%q}`, signature(model, step)))
	block(1, `{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":"Step %d."}`, step))
	stop := "end_turn"
	for i, c := range planned(p.conversation, step) {
		stop = "tool_use"
		block(2+i, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d_%d","name":%q,"input":{}}`, step, i, c.Tool),
			fmt.Sprintf(`{"type":"input_json_delta","partial_json":%s}`, asText(c.Args)))
	}
	send("message_delta", `,"delta":{"stop_reason":%q},"usage":{"output_tokens":5}`, stop)
	send("message_stop", "")
	return out.String()
}

// asText writes arguments as a JSON string.
func asText(args []byte) []byte {
	raw, _ := json.Marshal(string(args)) // a string always marshals
	return raw
}

// openai is a step as Chat Completions streams it.
func (p *provider) openai(step int) string {
	var out strings.Builder
	send := func(delta, stop string) {
		out.WriteString(membranetest.Data(fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`, delta, stop)))
	}
	send(fmt.Sprintf(`{"role":"assistant","content":"Step %d."}`, step), "null")
	stop := `"stop"`
	for i, c := range planned(p.conversation, step) {
		stop = `"tool_calls"`
		send(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"call_%d_%d","type":"function","function":{"name":%q,"arguments":%s}}]}`, i, step, i, c.Tool, asText(c.Args)), "null")
	}
	send("{}", stop)
	out.WriteString(membranetest.Data(`{"id":"c","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}`))
	out.WriteString(membranetest.Data("[DONE]"))
	return out.String()
}

// responses is a step as the Responses API streams it, with encrypted reasoning.
func (p *provider) responses(model string, step int) string {
	items := []string{
		fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","encrypted_content":%q,"summary":[]}`, step, signature(model, step)),
		fmt.Sprintf(`{"id":"msg_%d","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"Step %d."}]}`, step, step),
	}
	for i, c := range planned(p.conversation, step) {
		items = append(items, fmt.Sprintf(`{"id":"fc_%d_%d","type":"function_call","status":"completed","call_id":"call_%d_%d","name":%q,"arguments":%s}`, step, i, step, i, c.Tool, asText(c.Args)))
	}
	var out strings.Builder
	for i, item := range items {
		out.WriteString(membranetest.Named(fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item)))
	}
	out.WriteString(membranetest.Named(`{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9,"output_tokens":5}}}`))
	return out.String()
}

// gemini is a step as the Gemini API streams it: its calls have no ids, and the first part behind the
// thinking is signed. Arguments that are no object are a text there.
func (p *provider) gemini(model string, step int) string {
	var out strings.Builder
	send := func(part, stop string) {
		out.WriteString(membranetest.Data(fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]},"index":0%s}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":5}}`, part, stop)))
	}
	send(`{"text":"I think.","thought":true}`, "")
	send(fmt.Sprintf(`{"text":"Step %d.","thoughtSignature":%q}`, step, signature(model, step)), "")
	for i, c := range planned(p.conversation, step) {
		args, signed := c.Args, ""
		if !json.Valid(args) {
			args = asText(args)
		}
		if i == 0 {
			signed = fmt.Sprintf(`,"thoughtSignature":%q`, signature(model, step))
		}
		send(fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}%s}`, c.Tool, args, signed), "")
	}
	send("", `,"finishReason":"STOP"`)
	return out.String()
}
