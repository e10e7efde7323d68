package form

import (
	"testing"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/wire"
)

// The code and the type decide; the status only where they say nothing; a message never.
func TestFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   membrane.Kind
		text   string
	}{
		{400, `{"error":{"message":"m","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, membrane.ContextTooLong, "context_length_exceeded, invalid_request_error (messages): m"},
		{400, `{"error":{"code":400,"message":"too long","type":"exceed_context_size_error","n_ctx":8}}`, membrane.ContextTooLong, "400, exceed_context_size_error: too long"},
		{429, `{"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}`, membrane.Auth, "insufficient_quota, insufficient_quota: m"},
		{429, `{"error":{"message":"m","type":"tokens","code":"rate_limit_exceeded"}}`, membrane.RateLimited, "rate_limit_exceeded, tokens: m"},
		{429, `{"error":{"message":"m","type":"new"}}`, membrane.RateLimited, "new: m"},
		{401, `{"error":{"message":"m","type":"invalid_request_error","code":null}}`, membrane.Auth, "invalid_request_error: m"},
		{400, `{"error":{"message":"This model's maximum context length is 10 tokens","type":"BadRequestError","param":null,"code":400}}`, membrane.InvalidRequest, "400, BadRequestError: This model's maximum context length is 10 tokens"},
		{400, `{"object":"error","message":"m","type":"BadRequestError","code":40001}`, membrane.InvalidRequest, "40001, BadRequestError: m"},
		{404, `{"error":"model \"x\" not found, try pulling it first"}`, membrane.InvalidRequest, `model "x" not found, try pulling it first`},
		{429, `[{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED"}}]`, membrane.RateLimited, "429, RESOURCE_EXHAUSTED: m"},
		{400, `{"error":{"message":"m","code":"content_filter","type":null,"innererror":{}}}`, membrane.Refused, "content_filter: m"},
		{500, `{"error":{"message":"m","type":"server_error"}}`, membrane.Overloaded, "server_error: m"},
		{422, `{"object":"error","message":{"detail":[{"loc":["body"]}]},"type":"invalid_request_error"}`, membrane.InvalidRequest, `invalid_request_error: {"detail":[{"loc":["body"]}]}`},
		{0, `{"error":{"code":502,"message":"Provider disconnected"}}`, membrane.Overloaded, "502: Provider disconnected"},
		{0, `{"error":{"code":"new","message":"m"}}`, membrane.Network, "new: m"},
		{400, `{"detail":"Not Found"}`, "", ""},
		{200, `{"error":null,"choices":[]}`, "", ""},
		{200, `{"error":{}}`, "", ""},
		{200, `null`, "", ""},
		{500, ``, "", ""},
	} {
		f, ok := Fault(c.status, []byte(c.body))
		if ok != (c.want != "") {
			t.Errorf("%s: read as %+v", c.body, f)
			continue
		}
		if f.Kind == "" && ok {
			f.Kind = wire.KindOf(c.status)
		}
		if f.Kind != c.want || f.Text != c.text {
			t.Errorf("%d %s: %s %q, want %s %q", c.status, c.body, f.Kind, f.Text, c.want, c.text)
		}
	}
}

// An id fits the server, and two ids stay two.
func TestIDs(t *testing.T) {
	t.Parallel()
	long := "call_" + string(make([]byte, 50)) + "a"
	for _, c := range []struct {
		kind      IDs
		id        string
		unchanged bool
	}{
		{IDs40, "call_abc", true},
		{IDs40, "0123456789012345678901234567890123456789", true},
		{IDs40, "01234567890123456789012345678901234567890", false},
		{IDs9, "D681PevKs", true},
		{IDs9, "call_01-2", false},
		{IDs9, "", false},
	} {
		got := c.kind.Wire(c.id)
		if (got == c.id) != c.unchanged || got == "" || len(got) > 40 || c.kind == IDs9 && !nine(got) {
			t.Errorf("%s: %q becomes %q", c.kind, c.id, got)
		}
	}
	if IDs40.Wire(long) == IDs40.Wire(long+"b") || IDs9.Wire(long) == IDs9.Wire(long+"b") {
		t.Error("two ids become one")
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for in, ok := range map[string]bool{``: true, `{"a":1}`: true, `{"a":1,"a":2}`: false, `{"model":1}`: false, `[]`: false, `{`: false} {
		if _, err := Settings([]byte(in), "model"); (err == nil) != ok {
			t.Errorf("%s: %v", in, err)
		}
	}
}
