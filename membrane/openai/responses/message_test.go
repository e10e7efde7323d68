package responses_test

import (
	"strings"
	"testing"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/openai/responses"
)

// What a message has no place for is an error, and what it holds that no server takes is a labelled text.
func TestEncodeMessage(t *testing.T) {
	t.Parallel()
	plain, err := responses.New("m", responses.Config{BaseURL: "http://local.test"})
	if err != nil {
		t.Fatal(err)
	}
	image := membrane.Block{Type: membrane.Image, MIMEType: "image/svg+xml", Data: []byte("<svg/>")}
	for _, c := range []struct {
		in   membrane.Message
		want string
	}{
		{membrane.UserText("a<b>"), `{"role":"user","content":"a<b>"}`},
		{membrane.Message{Role: membrane.User}, `{"role":"user","content":"[a message without text]"}`},
		{membrane.Message{Role: membrane.User, Blocks: []membrane.Block{{Type: membrane.Text, Text: "a"}, image, {Type: membrane.Other}}}, `{"role":"user","content":"a\n\n[image: image/svg+xml, 6 bytes, not sent: this server is not known to take images]\n\n[a part that this provider does not take was left out]"}`},
		{membrane.Message{Role: membrane.Results, Results: []membrane.Result{{CallID: "c", Images: []membrane.Block{image}}, {CallID: "d", IsError: true}}}, `{"type":"function_call_output","call_id":"c","output":"[image: image/svg+xml, 6 bytes, not sent: this server is not known to take images]"},{"type":"function_call_output","call_id":"d","output":"[an error without text]"}`},
		{membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{{Type: membrane.Thinking, Text: "t"}, {Type: membrane.Text, Text: " "}, {Type: membrane.Text, Text: "a"}, image, {Type: membrane.Call, CallID: "c", Tool: "f.g"}}}, `{"role":"assistant","content":"a"},{"role":"assistant","content":"[image: image/svg+xml, 6 bytes, not sent: an answer takes no images]"},{"type":"function_call","call_id":"c","name":"` + membrane.WireName("f.g") + `","arguments":"{}"}`},
		{membrane.Message{Role: membrane.Assistant}, ``},
	} {
		if got, err := plain.EncodeMessage(c.in); err != nil || string(got) != c.want {
			t.Errorf("%s, %v; want %s", got, err, c.want)
		}
	}
	for _, bad := range []membrane.Message{{Role: "system"}, {Role: membrane.User, Blocks: []membrane.Block{{Type: membrane.Call}}}} {
		if got, err := plain.EncodeMessage(bad); err == nil {
			t.Errorf("%+v is taken: %s", bad, got)
		}
	}
	notes := plain.Notes(membrane.Head{Tools: []membrane.ToolSpec{{Name: "z", Schema: []byte("[]")}}})
	if len(notes) != 1 || !strings.Contains(notes[0], "tool z is left out") {
		t.Errorf("%q", notes)
	}
}
