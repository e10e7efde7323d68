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

// chatWire is an answer of Chat Completions: a text, or a call when tool is not empty.
func chatWire(text, tool, args string) string {
	reason, delta := "stop", fmt.Sprintf(`{"role":"assistant","content":%q}`, text)
	if tool != "" {
		reason, delta = "tool_calls", fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_01","type":"function","function":{"name":%q,"arguments":%q}}]}`, tool, args)
	}
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":%s,"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":%q}],"usage":{"prompt_tokens":25,"completion_tokens":15}}

data: [DONE]

`, delta, reason)
}

// responsesWire is an answer of the Responses API, in the same way.
func responsesWire(text, tool, args string) string {
	item := fmt.Sprintf(`{"id":"msg_01","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":%q}]}`, text)
	if tool != "" {
		item = fmt.Sprintf(`{"id":"fc_01","type":"function_call","status":"completed","call_id":"call_01","name":%q,"arguments":%q}`, tool, args)
	}
	return fmt.Sprintf("event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":%s}\n\n", item) +
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":25,\"output_tokens\":15}}}\n\n"
}

// TestOpenAI runs a conversation over each protocol of OpenAI's: at an address of the command line and at
// one of the environment, with the key that belongs to the prefix, and with a failure that is told.
func TestOpenAI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model, path, dialect, key, base string
		wire                            func(text, tool, args string) string
	}{
		{"openai/gpt-test", "/v1/responses", "openai-responses", "OPENAI_API_KEY", "OPENAI_BASE_URL", responsesWire},
		{"openai-chat/gpt-test", "/v1/chat/completions", "openai-chat", "OPENAI_API_KEY", "OPENAI_BASE_URL", chatWire},
		{"compat/some:8b", "/v1/chat/completions", "openai-chat", "COMPAT_API_KEY", "COMPAT_BASE_URL", chatWire},
	} {
		t.Run(c.model, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			server := membranetest.Serve(t,
				membranetest.Answer{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After-Ms": {"20"}}, Body: `{"error":{"type":"requests","code":"rate_limit_exceeded","message":"slowly"}}`},
				membranetest.Answer{Body: c.wire("", "results--list", "{}")},
				membranetest.Answer{Body: c.wire("All is well.", "", "")},
				membranetest.Answer{Body: c.wire("Still well.", "", "")},
				membranetest.Answer{Status: http.StatusUnauthorized, Body: `{"error":{"type":"invalid_request_error","code":"invalid_api_key","message":"Incorrect API key provided: sk-test-secret"}}`},
			)
			address := server.URL + "/v1"
			env := map[string]string{"WEIR_DIR": dir, c.key: " sk-test-secret\n"}
			typed := func(in string, args ...string) (int, string, string) {
				var o, e bytes.Buffer
				a := &app{in: strings.NewReader(in), out: &o, err: &e, env: func(name string) string { return env[name] }}
				status := a.run(t.Context(), args)
				if strings.Contains(o.String()+e.String(), "sk-test") {
					t.Errorf("%q shows the key:\n%s%s", args, o.String(), e.String())
				}
				return status, o.String(), e.String()
			}
			status, out, errs := typed("", "run", "-m", c.model, "--conversation", "c1", "--base-url", address, "How is it?")
			if status != statusDone || out != "All is well.\n" || !strings.Contains(errs, "rate_limited") {
				t.Fatalf("status %d, %q\n%s", status, out, errs)
			}
			// The address is stored, but the key goes there only when it is said again.
			if status, _, errs = typed("", "run", "--conversation", "c1", "And now?"); status != statusUsage || !strings.Contains(errs, "the conversation is stored with the address "+address) {
				t.Errorf("status %d, %s", status, errs)
			}
			env[c.base] = address
			if status, out, errs = typed("", "run", "--conversation", "c1", "--base-url", "", "And now?"); status != statusDone || out != "Still well.\n" {
				t.Errorf("status %d, %q\n%s", status, out, errs)
			}
			status, _, errs = typed("", "run", "--conversation", "c1", "--base-url", "", "And then?")
			if want := ": auth: invalid_api_key, invalid_request_error: Incorrect API key provided: [the API key]: check the key in " + c.key; status != statusFailed || !strings.Contains(errs, want) {
				t.Errorf("status %d, %s; want %s", status, errs, want)
			}
			for i, r := range server.Requests() {
				if r.Path != c.path || r.Header.Get("Authorization") != "Bearer sk-test-secret" {
					t.Errorf("request %d went to %s with the key %q", i+1, r.Path, r.Header.Get("Authorization"))
				}
			}
			status, out, errs = typed("", "history", "show", "--json", "c1")
			var shown struct {
				Settings setup
				Epochs   []shownEpoch
			}
			if err := json.Unmarshal([]byte(out), &shown); err != nil || status != statusDone {
				t.Fatalf("status %d, %v, %s", status, err, errs)
			}
			if len(shown.Epochs) != 1 || shown.Epochs[0].Dialect != c.dialect {
				t.Errorf("stored: %+v", shown.Epochs)
			}
			if status, out, errs = typed("", "history", "verify"); status != statusDone {
				t.Errorf("verify: %s%s", out, errs)
			}
		})
	}
}
