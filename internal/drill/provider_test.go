package drill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/weir-run/weir/membrane/membranetest"
)

// provider is a local server in the place of Anthropic's: what it is asked decides alone what it answers,
// so that a killed process may ask again. It keeps what arrived whole.
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

// ServeHTTP answers one request with the step that follows those in its body.
func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // whoever asked was killed
	}
	var asked struct{ Messages []struct{ Role string } }
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	step := 1
	for _, m := range asked.Messages {
		if m.Role == "assistant" {
			step++
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.records.Add(membranetest.Answer{Body: p.answer(step), Piece: 700})
	r.Body = io.NopCloser(bytes.NewReader(body))
	p.records.ServeHTTP(w, r)
}

// answer is a step as the provider streams it.
func (p *provider) answer(step int) string {
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
	block(0, `{"type":"thinking","thinking":"","signature":""}`, fmt.Sprintf(`{"type":"signature_delta","signature":"Sig-%d="}`, step))
	block(1, `{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":"Step %d."}`, step))
	stop := "end_turn"
	for i, c := range planned(p.conversation, step) {
		stop = "tool_use"
		args, _ := json.Marshal(string(c.Args)) // a string always marshals
		block(2+i, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d_%d","name":%q,"input":{}}`, step, i, c.Tool),
			fmt.Sprintf(`{"type":"input_json_delta","partial_json":%s}`, args))
	}
	send("message_delta", `,"delta":{"stop_reason":%q},"usage":{"output_tokens":5}`, stop)
	send("message_stop", "")
	return out.String()
}
