package gemini_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/gemini"
	"github.com/weir-run/weir/membrane/membranetest"
)

// ask plays the chunks, a line each, and gives the last event or the error.
func ask(t *testing.T, name string, lines ...string) (done membrane.Done, failed *membrane.Error) {
	t.Helper()
	var body strings.Builder
	for _, line := range lines {
		body.WriteString(membranetest.Data(line))
	}
	server := membranetest.Serve(t, membranetest.Answer{Body: body.String()})
	m := newModel(t, server.URL, name)
	e, err := m.EncodeHead(membrane.Head{})
	if err != nil {
		t.Fatal(err)
	}
	for event, err := range m.Stream(t.Context(), membrane.Request{Head: e.Head, Tail: e.Tail}) {
		if d, ok := event.(membrane.Done); ok {
			done = d
		}
		if err != nil && !errors.As(err, &failed) {
			t.Fatalf("an error of another type: %v", err)
		}
	}
	return done, failed
}

// Every reason to stop that the provider documents is one of the closed set, or an error that says what it is.
func TestStop(t *testing.T) {
	t.Parallel()
	const text, call = `{"text":"a"}`, `{"functionCall":{"name":"a"}}`
	for _, c := range []struct {
		reason, part string
		stop         membrane.Stop
		kind         membrane.Kind
	}{
		{"STOP", text, membrane.StopEnd, ""},
		{"STOP", call, membrane.StopCalls, ""},
		{"MAX_TOKENS", text, membrane.StopCut, ""},
		{"MAX_TOKENS", call, membrane.StopCut, ""},
		{"SAFETY", text, membrane.StopRefused, ""},
		{"RECITATION", text, membrane.StopRefused, ""},
		{"LANGUAGE", text, membrane.StopRefused, ""},
		{"BLOCKLIST", text, membrane.StopRefused, ""},
		{"PROHIBITED_CONTENT", text, membrane.StopRefused, ""},
		{"SPII", text, membrane.StopRefused, ""},
		{"IMAGE_SAFETY", text, membrane.StopRefused, ""},
		{"MALFORMED_FUNCTION_CALL", text, "", membrane.Network},
		{"UNEXPECTED_TOOL_CALL", text, "", membrane.Network},
		{"OTHER", text, "", membrane.Network},
		{"TOO_MANY_TOOL_CALLS", text, "", membrane.InvalidRequest},
		{"MISSING_THOUGHT_SIGNATURE", text, "", membrane.InvalidRequest},
		{"FINISH_REASON_UNSPECIFIED", text, "", membrane.Network},
		{"SOMETHING_NEW", text, "", membrane.InvalidRequest},
	} {
		done, failed := ask(t, "gemini-test", `{"candidates":[{"content":{"parts":[`+c.part+`]},"finishReason":"`+c.reason+`","finishMessage":"said so"}]}`)
		kind := membrane.Kind("")
		if failed != nil {
			kind = failed.Kind
			if !strings.Contains(failed.Text, c.reason) && c.reason != "FINISH_REASON_UNSPECIFIED" {
				t.Errorf("%s is not named: %s", c.reason, failed.Text)
			}
		}
		if done.Stop != c.stop || kind != c.kind {
			t.Errorf("%s: %q %q, want %q %q", c.reason, done.Stop, kind, c.stop, c.kind)
		}
	}
}

// A prompt that is blocked is refused with an empty answer, so that the conversation can go on.
func TestBlockedPrompt(t *testing.T) {
	t.Parallel()
	done, failed := ask(t, "gemini-test", `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7}}`)
	if failed != nil || done.Stop != membrane.StopRefused || len(done.Message.Blocks) != 0 || len(done.Fragment) != 0 || done.Usage.In != 7 {
		t.Errorf("%+v, %v", done, failed)
	}
	if _, failed = ask(t, "gemini-test", `{"usageMetadata":{"promptTokenCount":7}}`); failed == nil || failed.Kind != membrane.Network {
		t.Errorf("nothing at all: %v", failed)
	}
}

// A part with a signature is never joined with one without, before or behind it, and other answers than the
// first are left out.
func TestPartsWithSignaturesStayApart(t *testing.T) {
	t.Parallel()
	done, failed := ask(t, "gemini-test",
		`{"candidates":[{"content":{"parts":[{"text":"a"},{"text":"b","thoughtSignature":"S1"},{"text":"c"}]}},{"index":1,"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}`,
		`{"candidates":[{"content":{"parts":[{"text":"d"},{"text":"e","thought":true},{"text":"f","thought":true},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]},"finishReason":"STOP"}]}`)
	if failed != nil {
		t.Fatal(failed)
	}
	want := `{"role":"model","parts":[{"text":"a"},{"text":"b","thoughtSignature":"S1"},{"text":"cd"},{"text":"ef","thought":true},{"inlineData":{"mimeType":"image/png","data":"AA=="}}]}`
	if diff := cmp.Diff(want, string(done.Fragment)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Models from Gemini 3 on want a signature on the first call of an answer: their own goes back, and for an
// answer of another model the documented value stands there. Earlier models get none.
func TestStandIn(t *testing.T) {
	t.Parallel()
	message := func(raw []byte) membrane.Message {
		return membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{
			{Type: membrane.Thinking, Text: "Hm.", Raw: membrane.Own("anthropic", "claude", []byte(`{"signature":"x"}`))},
			{Type: membrane.Text, Text: "I look."},
			{Type: membrane.Call, CallID: "1", Tool: "a", Raw: raw},
			{Type: membrane.Call, CallID: "2", Tool: "b"},
		}}
	}
	const rest = `,{"functionCall":{"id":"2","name":"b","args":{}}}]}`
	const first = `{"role":"model","parts":[{"text":"I look."},{"functionCall":{"id":"1","name":"a","args":{}}`
	own := func(model string) []byte { return membrane.Own("gemini", model, []byte(`{"thoughtSignature":"OWN"}`)) }
	for _, c := range []struct {
		model string
		raw   []byte
		want  string
	}{
		{"gemini-3-pro", nil, first + `,"thoughtSignature":"skip_thought_signature_validator"}` + rest},
		{"gemini-3-pro", own("gemini-3-flash"), first + `,"thoughtSignature":"skip_thought_signature_validator"}` + rest},
		{"gemini-3-pro", own("gemini-3-pro"), first + `,"thoughtSignature":"OWN"}` + rest},
		{"gemini-flash-latest", nil, first + `,"thoughtSignature":"skip_thought_signature_validator"}` + rest},
		{"gemini-2.5-pro", nil, first + `}` + rest},
		{"gemini-2.5-pro", own("gemini-3-pro"), first + `}` + rest},
		{"other", nil, first + `}` + rest},
	} {
		got, err := newModel(t, "", c.model).EncodeMessage(message(c.raw))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.model, diff)
		}
	}
}

// Images go with a result where the model takes them there, and never with an error.
func TestImagesInResults(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG\r\n\x1a\n")
	results := func(fail bool) membrane.Message {
		return membrane.Message{Role: membrane.Results, Results: []membrane.Result{{CallID: "1", Tool: "a", Text: "two", IsError: fail, Images: []membrane.Block{
			{Type: membrane.Image, MIMEType: "image/png", Data: png}, {Type: membrane.Image, Data: webp()},
		}}}}
	}
	for _, c := range []struct {
		model string
		fail  bool
		want  string
	}{
		{"gemini-3-pro", false, `{"output":"two\n[image: image/png, 8 bytes, not sent: it is cut off or damaged]"},"parts":[{"inlineData":{"mimeType":"image/webp","data":"UklGRhYAAABXRUJQVlA4WAoAAAAAAAAAAAAAAAAA"}}]}}]}`},
		{"gemini-3-pro", true, `{"error":"two\n[image: image/png, 8 bytes, not sent: it is cut off or damaged]\n[image: image/webp, 30 bytes, not sent: an error result takes no images]"}}}]}`},
		{"gemini-2.5-pro", false, `{"output":"two\n[image: image/png, 8 bytes, not sent: it is cut off or damaged]\n[image: image/webp, 30 bytes, not sent: this model takes no images in results]"}}}]}`},
	} {
		got, err := newModel(t, "", c.model).EncodeMessage(results(c.fail))
		if err != nil {
			t.Fatal(err)
		}
		want := `{"role":"user","parts":[{"functionResponse":{"id":"1","name":"a","response":` + c.want
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.model, diff)
		}
	}
}

// webp is the smallest thing that is taken for a whole WebP image.
func webp() []byte {
	return append([]byte("RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00"), make([]byte, 10)...)
}

func TestEncodeMessageRefuses(t *testing.T) {
	t.Parallel()
	m := newModel(t, "", "gemini-test")
	for _, c := range []struct {
		message membrane.Message
		want    string
	}{
		{membrane.Message{Role: "x"}, `encode a message: its role is "x", which this dialect does not have`},
		{membrane.Message{Role: membrane.User, Blocks: []membrane.Block{{Type: membrane.Call}}}, `encode a message: a user's message has a block of type "call", which only an answer can have`},
	} {
		if _, err := m.EncodeMessage(c.message); err == nil || err.Error() != c.want {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	for want, message := range map[string]membrane.Message{
		`{"role":"user","parts":[{"text":"[a message without text]"}]}`: {Role: membrane.User, Blocks: []membrane.Block{{Type: membrane.Text}}},
		``: {Role: membrane.Assistant, Blocks: []membrane.Block{{Type: membrane.Thinking, Text: "x"}, {Type: membrane.Other, Raw: []byte(`{}`)}}},
	} {
		if got, err := m.EncodeMessage(message); err != nil || string(got) != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

// FuzzStream plays any chunks: no panic, and what is taken for whole can be stored, sent back and stored again.
func FuzzStream(f *testing.F) {
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"s"},{"functionCall":{"name":"x","args":[1]}}]},"finishReason":"STOP"}]}`))
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{"text":"\ud83d","thought":true},{"text":"` + "\xff" + `"},{"thought":1}]},"finishReason":"MAX_TOKENS"}]}`))
	f.Add([]byte(`{"candidates":[{"content":{"parts":[{},{"functionCall":null},{"functionCall":{"id":"` + "\xff" + `","args":"{\"a\":1}","x":1},"y":"\ud800"}]},"finishReason":"STOP"}]}`))
	m, err := gemini.New("gemini-3-test", gemini.Config{APIKey: "k"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		done, err := gemini.Assembled(m, data)
		if err != nil {
			var typed *membrane.Error
			if !errors.As(err, &typed) {
				t.Fatalf("an error of another type: %v", err)
			}
			return
		}
		body, err := membrane.Encode(done.Message)
		if err != nil {
			t.Fatal(err)
		}
		stored, err := membrane.Decode(membrane.Codec, body)
		if err != nil {
			t.Fatal(err)
		}
		again, err := m.EncodeMessage(stored)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(done.Fragment), string(again)); diff != "" {
			t.Errorf("stored and encoded again it is another answer:\n%s", diff)
		}
		if len(again) > 0 {
			checkJSON(t, again)
		}
	})
}
