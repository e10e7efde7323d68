package membrane_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

func TestJoined(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, head string
		fragments  []string
		want       string
	}{
		{"none", `[`, nil, ``},
		{"one", `[`, []string{`{1}`}, `{1}`},
		{"several", `[`, []string{`{1}`, `{2},{3}`, `{4}`}, `{1},{2},{3},{4}`},
		{"an empty one adds nothing", `[`, []string{``, `{1}`, ``, `{2}`, ``}, `{1},{2}`},
		{"the head ends in an element", `[{0}`, []string{``, `{1}`, `{2}`}, `,{1},{2}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var messages []byte
			for _, f := range c.fragments {
				messages = membrane.Joined([]byte(c.head), messages, []byte(f))
			}
			if diff := cmp.Diff(c.want, string(messages)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestBody(t *testing.T) {
	t.Parallel()
	r := membrane.Request{Head: []byte("head["), Messages: []byte("{1}"), Tail: []byte("]")}
	for range 2 { // a retry reads it again
		body, err := io.ReadAll(r.Body())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("head[{1}]", string(body)); diff != "" {
			t.Error(diff)
		}
		if r.Len() != int64(len(body)) {
			t.Errorf("length %d, want %d", r.Len(), len(body))
		}
	}
}

func TestErrorSaysSomething(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  membrane.Error
		want string
	}{
		{membrane.Error{Kind: membrane.Overloaded, Model: "m", Text: "busy", Err: io.EOF}, "model m: overloaded: busy"},
		{membrane.Error{Kind: membrane.Network, Model: "m", Err: io.EOF}, "model m: network: EOF"},
		{membrane.Error{Kind: membrane.Timeout, Model: "m", Err: fmt.Errorf("slow\n%w", io.EOF)}, "model m: timeout: slow EOF"},
		{membrane.Error{Kind: membrane.Auth, Model: "m"}, "model m: auth: no reason was given"},
	} {
		if diff := cmp.Diff(c.want, c.err.Error()); diff != "" {
			t.Error(diff)
		}
		if c.err.Err != nil && !errors.Is(&c.err, io.EOF) {
			t.Errorf("%v does not lead to the error underneath", &c.err)
		}
	}
}

func TestMessageParts(t *testing.T) {
	t.Parallel()
	m := membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{
		{Type: membrane.Thinking, Text: "Hm."}, {Type: membrane.Text, Text: "one "}, {Type: membrane.Call, CallID: "c"}, {Type: membrane.Text, Text: "two"},
	}}
	if diff := cmp.Diff("one two", m.PlainText()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]membrane.Block{{Type: membrane.Call, CallID: "c"}}, m.Calls()); diff != "" {
		t.Error(diff)
	}
}
