package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-run/weir/membrane/membranetest"
)

// wire is an answer of Anthropic's Messages API: a text, or a call when tool is not empty.
func wire(text, tool, args string) string {
	var b strings.Builder
	event := func(kind, data string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, data) }
	event("message_start", `,"message":{"id":"msg_01","type":"message","role":"assistant","model":"claude-test","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":25,"output_tokens":1}}`)
	stop := "end_turn"
	if tool == "" {
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
		event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"text_delta","text":%q}`, text))
	} else {
		stop = "tool_use"
		event("content_block_start", fmt.Sprintf(`,"index":0,"content_block":{"type":"tool_use","id":"toolu_01","name":%q,"input":{}}`, tool))
		event("content_block_delta", fmt.Sprintf(`,"index":0,"delta":{"type":"input_json_delta","partial_json":%q}`, args))
	}
	event("content_block_stop", `,"index":0`)
	event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":15}`, stop))
	event("message_stop", "")
	return b.String()
}

// typed runs one command line with a key in the environment.
func typed(t *testing.T, dir, in string, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	a := &app{in: strings.NewReader(in), out: &o, err: &e, env: func(name string) string {
		return map[string]string{"WEIR_DIR": dir, "ANTHROPIC_API_KEY": " sk-test-secret\n"}[name]
	}}
	status = a.run(t.Context(), args)
	if strings.Contains(o.String()+e.String(), "sk-test") {
		t.Errorf("%q shows the key:\n%s%s", args, o.String(), e.String())
	}
	return status, o.String(), e.String()
}

// TestAnthropic runs a conversation with a model that is reached over the network: the key goes where the
// command line says and is kept nowhere; a request that fails is tried again, and that is told.
func TestAnthropic(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	server := membranetest.Serve(t,
		membranetest.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {"1"}}, Body: `{"type":"error","error":{"type":"rate_limit_error","message":"slowly"}}`},
		membranetest.Answer{Body: wire("", "results--list", "{}")},
		membranetest.Answer{Body: wire("All is well.", "", "")},
		membranetest.Answer{Body: wire("Still well.", "", "")},
		membranetest.Answer{Status: http.StatusUnauthorized, Body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`},
	)
	reach := []string{"-m", "anthropic/claude-test", "--base-url", server.URL}
	status, out, errs := typed(t, dir, "", append([]string{"run", "--conversation", "c1", "How is it?"}, reach...)...)
	if status != statusDone || out != "All is well.\n" {
		t.Fatalf("status %d, %q\n%s", status, out, errs)
	}
	for _, want := range []string{
		"request 1 failed (", "rate_limited", "): it is asked again in 1.0 s", "r1-1  results--list: ",
		"next: weir history show latest", "weir run --conversation latest --base-url " + server.URL + " PROMPT",
	} {
		if !strings.Contains(errs, want) {
			t.Errorf("%q is not told:\n%s", want, errs)
		}
	}
	for i, r := range server.Requests() {
		if r.Path != "/v1/messages" || r.Header.Get("Authorization") != "Bearer sk-test-secret" {
			t.Errorf("request %d went to %s with the key %q", i+1, r.Path, r.Header.Get("Authorization"))
		}
	}

	// The address is stored, but the key goes there only when it is said again.
	status, _, errs = typed(t, dir, "", "run", "--conversation", "c1", "And now?")
	if want := "the conversation is stored with the address " + server.URL; status != statusUsage || !strings.Contains(errs, want) {
		t.Errorf("status %d, %s; want %q", status, errs, want)
	}
	if n := len(server.Requests()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
	status, out, errs = typed(t, dir, "And now?\nAnd then?\n", "chat", "--conversation", "c1", "--base-url", server.URL)
	if status != statusFailed || out != "Still well.\n" {
		t.Errorf("status %d, %q", status, out)
	}
	for _, want := range []string{"weir: model anthropic/claude-test: auth: ", "next: weir chat --conversation latest --base-url " + server.URL + "\n"} {
		if !strings.Contains(errs, want) {
			t.Errorf("%q is not told:\n%s", want, errs)
		}
	}
	status, out, errs = typed(t, dir, "", "history", "show", "--json", "c1")
	var shown struct {
		Settings setup
		Epochs   []shownEpoch
	}
	if err := json.Unmarshal([]byte(out), &shown); err != nil || status != statusDone {
		t.Fatalf("status %d, %v, %s", status, err, errs)
	}
	if shown.Settings.BaseURL != server.URL || len(shown.Epochs) != 1 || shown.Epochs[0].Dialect != "anthropic" {
		t.Errorf("stored: %+v", shown)
	}
	if status, out, errs = typed(t, dir, "", "history", "verify"); status != statusDone {
		t.Errorf("verify: %s%s", out, errs)
	}
}
