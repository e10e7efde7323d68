package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane/membranetest"
)

// geminiWire is an answer of the Gemini API: a text, or a call when tool is not empty.
func geminiWire(text, tool, args string) string {
	part := fmt.Sprintf(`{"text":%q}`, text)
	if tool != "" {
		part = fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s},"thoughtSignature":"R0VNSU5J"}`, tool, args)
	}
	return membranetest.Data(fmt.Sprintf(`{"candidates":[{"content":{"role":"model","parts":[%s]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":25,"candidatesTokenCount":15}}`, part))
}

// withKeys runs command lines with keys in the environment.
func withKeys(t *testing.T, dir string, env map[string]string) func(args ...string) (int, string, string) {
	return func(args ...string) (int, string, string) {
		t.Helper()
		var o, e bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &o, err: &e, env: func(name string) string {
			if name == "WEIR_DIR" {
				return dir
			}
			return env[name]
		}}
		status := a.run(t.Context(), args)
		if strings.Contains(o.String()+e.String(), "sk-test") {
			t.Errorf("%q shows the key:\n%s%s", args, o.String(), e.String())
		}
		return status, o.String(), e.String()
	}
}

// TestGemini runs a conversation with a model of Google's, with the key in either of its variables.
func TestGemini(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			server := membranetest.Serve(t,
				membranetest.Answer{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After-Ms": {"20"}}, Body: `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`},
				membranetest.Answer{Body: geminiWire("", "results--list", "{}")},
				membranetest.Answer{Body: geminiWire("All is well.", "", "")},
			)
			run := withKeys(t, filepath.Join(t.TempDir(), "state"), map[string]string{variable: " sk-test-secret\n"})
			status, out, errs := run("run", "-m", "gemini/gemini-3-test", "--base-url", server.URL, "--conversation", "c1", "How is it?")
			if status != statusDone || out != "All is well.\n" || !strings.Contains(errs, "overloaded") {
				t.Fatalf("status %d, %q\n%s", status, out, errs)
			}
			for i, r := range server.Requests() {
				if r.Path != "/v1beta/models/gemini-3-test:streamGenerateContent" || r.Header.Get("X-Goog-Api-Key") != "sk-test-secret" {
					t.Errorf("request %d went to %s with the key %q", i+1, r.Path, r.Header.Get("X-Goog-Api-Key"))
				}
			}
			if body := string(server.Bodies()[2]); !strings.Contains(body, `"thoughtSignature":"R0VNSU5J"`) {
				t.Errorf("the signature does not go back: %s", body)
			}
			if status, out, errs = run("history", "verify"); status != statusDone {
				t.Errorf("verify: %s%s", out, errs)
			}
		})
	}
}

// TestGeminiGoesWrong holds that what can be wrong is told in one line that names the model and what to do,
// and that the conversation can be used afterwards.
func TestGeminiGoesWrong(t *testing.T) {
	t.Parallel()
	server := membranetest.Serve(t)
	run := withKeys(t, filepath.Join(t.TempDir(), "state"), map[string]string{"GEMINI_API_KEY": "sk-test-secret", "ANTHROPIC_API_KEY": "sk-test-other"})
	for _, c := range []struct {
		model  string
		answer membranetest.Answer
		want   string
	}{
		{
			"gemini/gemini-3-test",
			membranetest.Answer{Status: 400, Body: `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`},
			"weir: model gemini/gemini-3-test: auth: INVALID_ARGUMENT (API_KEY_INVALID): API key not valid. Please pass a valid API key: check the key in GEMINI_API_KEY and what it may use\n",
		},
		{
			"gemini/gemini-9",
			membranetest.Answer{Status: 404, Body: `{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta","status":"NOT_FOUND"}}`},
			"weir: model gemini/gemini-9: invalid_request: NOT_FOUND: models/gemini-9 is not found for API version v1beta: check the model's name and the base URL " + server.URL + "\n",
		},
		{ // a server that speaks another protocol
			"gemini/gemini-3-test",
			membranetest.Answer{Status: 404, Body: `{"error":{"message":"Invalid URL","type":"invalid_request_error","code":null}}`},
			"check the model's name and the base URL " + server.URL + "\n",
		},
		{
			"gemini/gemini-3-test",
			membranetest.Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"choices":[]}`},
			"weir: model gemini/gemini-3-test: invalid_request: the server answered 200 with JSON and not with a stream of events ({\"choices\":[]}): check that the base URL " + server.URL + " speaks the Gemini API\n",
		},
		{
			"anthropic/claude-test",
			membranetest.Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"choices":[]}`},
			"weir: model anthropic/claude-test: invalid_request: the server answered 200 with JSON and not with a stream of events ({\"choices\":[]}): check that the base URL " + server.URL + " speaks the Messages API\n",
		},
		{
			"anthropic/claude-9",
			membranetest.Answer{Status: 404, Body: `{"type":"error","error":{"type":"not_found_error","message":"model: claude-9"}}`},
			"weir: model anthropic/claude-9: invalid_request: not_found_error: model: claude-9: check the model's name and the base URL " + server.URL + "\n",
		},
	} {
		server.Add(c.answer)
		status, out, errs := run("run", "-m", c.model, "--base-url", server.URL, "--conversation", "c1", "How is it?")
		if status != statusFailed || out != "" || !strings.Contains(errs, c.want) {
			t.Errorf("status %d, %q, want %q in\n%s", status, out, c.want, errs)
		}
	}
	for spec, want := range map[string]string{
		"gemini/":       `weir: model "gemini/": name it, as in gemini/gemini-3-pro`,
		"gemini/a?b":    `weir: gemini: "a?b" is no name of a model, such as gemini-3-pro`,
		"gemini/../a b": `weir: gemini: "../a b" is no name of a model, such as gemini-3-pro`,
	} {
		if status, _, errs := run("run", "-m", spec, "--conversation", "c2", "x"); status != statusUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: status %d, %s, want %s", spec, status, errs, want)
		}
	}
	noKey := withKeys(t, filepath.Join(t.TempDir(), "state"), nil)
	if status, _, errs := noKey("run", "-m", "gemini/m", "x"); status != statusUsage || !strings.Contains(errs, "weir: model gemini/m needs a key: put it into the variable GEMINI_API_KEY of the environment") {
		t.Errorf("status %d, %s", status, errs)
	}
	server.Add(membranetest.Answer{Body: geminiWire("Usable.", "", "")})
	if status, out, errs := run("run", "-m", "gemini/gemini-3-test", "--base-url", server.URL, "--conversation", "c1", "And now?"); status != statusDone || out != "Usable.\n" {
		t.Errorf("status %d, %q\n%s", status, out, errs)
	}
	if status, out, errs := run("history", "verify"); status != statusDone {
		t.Errorf("verify: %s%s", out, errs)
	}
}

// TestMovingByCommandLine takes one conversation from a provider to two others and back.
func TestMovingByCommandLine(t *testing.T) {
	t.Parallel()
	server := membranetest.Serve(t,
		membranetest.Answer{Body: wire("", "results--list", "{}")}, membranetest.Answer{Body: wire("One.", "", "")},
		membranetest.Answer{Body: chatWire("Two.", "", "")},
		membranetest.Answer{Body: geminiWire("", "results--list", "{}")}, membranetest.Answer{Body: geminiWire("Three.", "", "")},
		membranetest.Answer{Body: wire("Four.", "", "")},
	)
	dir := filepath.Join(t.TempDir(), "state")
	run := withKeys(t, dir, map[string]string{"ANTHROPIC_API_KEY": "sk-test-a", "OPENAI_API_KEY": "sk-test-o", "GOOGLE_API_KEY": "sk-test-g"})
	for _, c := range []struct{ model, address, want string }{
		{"anthropic/claude-test", server.URL, "One.\n"},
		{"openai-chat/gpt-test", server.URL + "/v1", "Two.\n"},
		{"gemini/gemini-3-test", server.URL, "Three.\n"},
		{"anthropic/claude-test", server.URL, "Four.\n"},
	} {
		status, out, errs := run("run", "-m", c.model, "--base-url", c.address, "--conversation", "c1", "Go on.")
		if status != statusDone || out != c.want {
			t.Fatalf("%s: status %d, %q\n%s", c.model, status, out, errs)
		}
	}
	bodies := server.Bodies()
	split := membranetest.SplitAt("messages")
	first, errA := split(bodies[1])
	last, errB := split(bodies[5])
	if errA != nil || errB != nil || !bytes.HasPrefix(last.Messages, first.Messages) {
		t.Errorf("back at the first provider the conversation does not go on where it was: %v %v\n%s\n%s", errA, errB, first.Messages, last.Messages)
	}
	if strings.Contains(string(last.Messages), "R0VNSU5J") {
		t.Errorf("another provider's signature is sent: %s", last.Messages)
	}
	_, out, _ := run("history", "show", "--json", "c1")
	var shown struct{ Epochs []shownEpoch }
	if err := json.Unmarshal([]byte(out), &shown); err != nil {
		t.Fatal(err)
	}
	var reasons []string
	for _, e := range shown.Epochs {
		reasons = append(reasons, e.Dialect+" "+e.Reason)
	}
	if diff := cmp.Diff([]string{"anthropic start", "openai-chat dialect", "gemini dialect", "anthropic dialect"}, reasons); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if status, out, errs := run("history", "verify"); status != statusDone {
		t.Errorf("verify: %s%s", out, errs)
	}
}
