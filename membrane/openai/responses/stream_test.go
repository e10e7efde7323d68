package responses_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/openai/responses"
)

// answers is a transport that answers with a stream and no network.
type answers string

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	var out strings.Builder
	for line := range strings.Lines(string(a)) {
		out.WriteString(membranetest.Named(strings.TrimSuffix(line, "\n")))
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(out.String()))}, nil
}

// play asks once and tells what came: the deltas, and the fragment or the error.
func play(t testing.TB, body string) string {
	t.Helper()
	m, err := responses.New("m", responses.Config{BaseURL: "http://local.test", HTTPClient: &http.Client{Transport: answers(body)}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for e, err := range m.Stream(t.Context(), membrane.Request{Head: []byte(`{"input":[`), Tail: []byte("]}")}) {
		switch e := e.(type) {
		case nil:
			var typed *membrane.Error
			if !errors.As(err, &typed) || typed.Model != m.Name() || strings.Contains(err.Error(), "\n") {
				t.Fatalf("an error of another type: %v", err)
			}
			fmt.Fprintf(&out, "%s: %s", typed.Kind, typed.Text)
		case membrane.TextDelta:
			fmt.Fprintf(&out, "%s|", e.Text)
		case membrane.ThinkingDelta:
			fmt.Fprintf(&out, "(%s)|", e.Text)
		case membrane.Done:
			fmt.Fprintf(&out, "%s %s", e.Stop, e.Fragment)
			stored, err := membrane.Encode(e.Message)
			if err != nil {
				t.Fatal(err)
			}
			message, err := membrane.Decode(membrane.Codec, stored)
			if err != nil {
				t.Fatal(err)
			}
			again, err := m.EncodeMessage(message)
			if err != nil || string(again) != string(e.Fragment) {
				t.Errorf("%q\nlive   %s\nstored %s\n%v", body, e.Fragment, again, err)
			}
			if !json.Valid([]byte("[" + string(e.Fragment) + "]")) {
				t.Errorf("%q becomes no JSON: %s", body, e.Fragment)
			}
		}
	}
	return out.String()
}

func item(n int, raw string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, n, raw) + "\n"
}

func piece(n int, text string) string {
	return fmt.Sprintf(`{"type":"response.output_text.delta","output_index":%d,"content_index":0,"delta":%q}`, n, text) + "\n"
}

func message(content string) string {
	return `{"id":"msg","type":"message","role":"assistant","content":[` + content + `]}`
}

// What servers send that is not as the reference has it, and what the provider would refuse back.
func TestStream(t *testing.T) {
	t.Parallel()
	const completed = `{"type":"response.completed","response":{"status":"completed"}}`
	text := func(s string) string { return `{"type":"output_text","text":"` + s + `"}` }
	said := func(s string) string {
		return `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + s + `"}]}`
	}
	reasoning := `{"id":"rs","type":"reasoning","summary":[{"type":"summary_text","text":"A"},{"type":"summary_text","text":"B"}],"encrypted_content":"E"}`
	for _, c := range []struct{ name, body, want string }{
		{"no pieces", item(0, message(text("a"))) + completed, "a|end " + said("a")},
		{"only the end tells", `{"type":"response.completed","response":{"status":"completed","output":[` + message(text("a")) + `]}}`, "a|end " + said("a")},
		{"a refusal", `{"type":"response.refusal.delta","output_index":0,"delta":"No."}` + "\n" + item(0, message(`{"type":"refusal","refusal":"No."}`)) + completed, `No.|refused {"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"No."}]}`},
		{"parts of a message", item(0, message(text("a")+","+text("")+`,{"type":"new","x":1.0},`+text("b"))) + completed, `ab|end {"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"new","x":1.0},{"type":"output_text","text":"b"}]}`},
		{"two messages", item(0, message(text("a"))) + item(1, message(text("b"))) + completed, "a|b|end " + said("a") + "," + said("b")},
		{"reasoning that nothing follows", item(0, message(text("a"))) + item(1, reasoning) + completed, "a|end " + said("a")},
		{"reasoning alone", item(0, reasoning) + `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`, "cut "},
		{"reasoning that is not encrypted", item(0, `{"id":"rs","type":"reasoning","summary":[]}`) + item(1, message(text("a"))) + completed, "a|end " + said("a")},
		{"reasoning that is open", item(0, `{"id":"rs","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"A"}]}`) + item(1, message(text("a"))) + completed, `a|end {"id":"rs","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"A"}]},` + said("a")},
		{"two summaries", `{"type":"response.reasoning_summary_text.delta","delta":"A"}` + "\n" + `{"type":"response.reasoning_summary_part.added","summary_index":1}` + "\n" + `{"type":"response.reasoning_summary_text.delta","delta":"B"}` + "\n" + item(0, reasoning) + item(1, message(text("a"))) + completed, "(A)|(\n\n)|(B)|a|end " + reasoning + "," + said("a")},
		{"pieces that were lost", piece(0, "a") + item(0, message(text("ab"))) + completed, "a|network: a message of the answer is not what was sent of it before: pieces were lost"},
		{"never closed", piece(0, "a") + completed, "a|network: item 0 of the answer was never closed"},
		{"a gap", item(1, message(text("a"))) + completed, "a|network: item 0 of the answer was never closed"},
		{"closed twice", item(0, reasoning) + item(0, reasoning), "network: an item of the answer is closed that is none: " + reasoning},
		{"no end", item(0, message(text("a"))), "a|network: the answer ended in the middle"},
		{"incomplete, and no reason", item(0, message(text("a"))) + `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":null}}`, "a|cut " + said("a")},
		{"incomplete for what is not known", `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"bored"}}}`, `invalid_request: the answer is incomplete for the reason "bored", which this build does not know: use a newer one`},
		{"failed", `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"}}}`, "rate_limited: rate_limit_exceeded: slow: ask again later"},
		{"failed, and no error", `{"type":"response.failed","response":{"status":"failed","error":null}}`, `network: the stream broke off with an error: {"type":"response.failed","response":{"status":"failed","error":null}}`},
		{"an error as an object", `{"type":"error","error":{"type":"server_error","message":"oh"}}`, "overloaded: server_error: oh: ask again later"},
		{"an error without a type", `{"error":{"code":"invalid_prompt","message":"no"}}`, "refused: invalid_prompt: no"},
		{"a piece of nothing", `{"type":"response.output_text.delta","delta":"a"}`, "network: a piece of a text belongs to no item"},
		{"a delta that is no text", `{"type":"response.reasoning_text.delta","delta":7}`, "network: a delta of type response.reasoning_text.delta brings no text"},
		{"arguments that are an object", item(0, `{"type":"function_call","call_id":"c","name":"f","arguments":{"z":1.0}}`) + completed, `calls {"type":"function_call","call_id":"c","name":"f","arguments":"{\"z\":1.0}"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, play(t, c.body)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzItems feeds two items of any kind: what becomes a message encodes to the same bytes again, and the
// bytes are JSON.
func FuzzItems(f *testing.F) {
	f.Add(`{"id":"rs","type":"reasoning","summary":[{"text":"a"}],"encrypted_content":"x"}`, `{"type":"message","status":"\ud800","content":[{"type":"output_text","text":"a","x":1},{"type":"y"}]}`)
	f.Add(`{"type":"function_call","call_id":"c","name":"g.h","arguments":"{","x":{}}`, `{"type":"function_call","call_id":"c","arguments":7}`)
	f.Add(`{"type":"new","x":"\ud83d\ude00"}`, `{"type":"message","content":null}`)
	f.Fuzz(func(t *testing.T, a, b string) {
		play(t, item(0, strings.ReplaceAll(a, "\n", " "))+item(1, strings.ReplaceAll(b, "\n", " "))+`{"type":"response.completed","response":{"status":"completed"}}`)
	})
}

// The head asks for nothing to be stored, and for encrypted reasoning where the model reasons.
func TestEncodeHead(t *testing.T) {
	t.Parallel()
	const include = `"include":["reasoning.encrypted_content"]`
	for _, c := range []struct {
		model, base, reasoning string
		want                   bool
	}{
		{"gpt-5.5", "", "", true},
		{"o4-mini", "https://me.openai.azure.com/openai/v1", "", true},
		{"gpt-4o", "", "", false},
		{"gpt-5-chat-latest", "", "", false},
		{"gpt-4o", "", responses.On, true},
		{"gpt-5.5", "", responses.Off, false},
		{"gpt-oss-20b", "http://localhost:8000/v1", "", false},
	} {
		m, err := responses.New(c.model, responses.Config{APIKey: "k", BaseURL: c.base, Reasoning: c.reasoning})
		if err != nil {
			t.Fatal(err)
		}
		head, err := m.EncodeHead(membrane.Head{System: "S", MaxTokens: 7, Settings: []byte(`{"reasoning":{"effort":"low"}}`)})
		if err != nil {
			t.Fatal(err)
		}
		want := `{"model":"` + c.model + `","stream":true,"store":false,"max_output_tokens":7,"instructions":"S","reasoning":{"effort":"low"},"input":[`
		if got := strings.Replace(string(head.Head), include+",", "", 1); got != want || strings.Contains(string(head.Head), include) != c.want {
			t.Errorf("%+v: %s", c, head.Head)
		}
	}
	m := newModel(t, "http://local.test", "m")
	if got := []string{m.Dialect(), m.Name(), string(m.Settings())}; !slices.Equal(got, []string{"openai-responses+images", "openai/m", `{"reasoning_content":"encrypted"}`}) {
		t.Errorf("%q", got)
	}
	for _, settings := range []string{`{"store":true}`, `{"previous_response_id":"x"}`} {
		if _, err := m.EncodeHead(membrane.Head{Settings: []byte(settings)}); err == nil {
			t.Errorf("%s is taken", settings)
		}
	}
	if head, err := m.EncodeHead(membrane.Head{Settings: []byte(`{"include":["x"]}`)}); err != nil || strings.Count(string(head.Head), "include") != 1 {
		t.Errorf("%s, %v", head.Head, err)
	}
	if _, err := responses.New("m", responses.Config{APIKey: "k", Images: "yes"}); err == nil {
		t.Error("a choice that there is not is taken")
	}
}
