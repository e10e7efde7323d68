package anthropic

import (
	"testing"

	"github.com/weir-run/weir/membrane"
)

// The provider's type decides; the status only where the type says nothing.
func TestKindOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		kind   string
		want   membrane.Kind
	}{
		{400, "invalid_request_error", membrane.InvalidRequest},
		{413, "invalid_request_error", membrane.ContextTooLong},
		{400, "request_too_large", membrane.ContextTooLong},
		{413, "", membrane.ContextTooLong},
		{404, "not_found_error", membrane.InvalidRequest},
		{409, "conflict_error", membrane.InvalidRequest},
		{200, "overloaded_error", membrane.Overloaded},
		{0, "overloaded_error", membrane.Overloaded},
		{0, "api_error", membrane.Overloaded},
		{0, "rate_limit_error", membrane.RateLimited},
		{0, "invalid_request_error", membrane.InvalidRequest},
		{0, "timeout_error", membrane.Timeout},
		{0, "new_error", membrane.Network},
		{401, "new_error", membrane.Auth},
		{402, "", membrane.Auth},
		{403, "", membrane.Auth},
		{400, "billing_error", membrane.Auth},
		{408, "", membrane.Timeout},
		{504, "", membrane.Timeout},
		{429, "", membrane.RateLimited},
		{429, "invalid_request_error", membrane.InvalidRequest},
		{503, "", membrane.Overloaded},
		{529, "new_error", membrane.Overloaded},
		{418, "", membrane.InvalidRequest},
		{200, "", membrane.InvalidRequest},
	} {
		if got := kindOf(c.status, c.kind); got != c.want {
			t.Errorf("%d %q: %s, want %s", c.status, c.kind, got, c.want)
		}
	}
}

// A prompt that is too long is known by the beginning of a message, and only where the type and the status
// are those that it has.
func TestTooLong(t *testing.T) {
	t.Parallel()
	const long = "prompt is too long: 205000 tokens > 200000 maximum"
	for _, c := range []struct {
		status        int
		kind, message string
		want          membrane.Kind
	}{
		{400, "invalid_request_error", long, membrane.ContextTooLong},
		{0, "invalid_request_error", long, membrane.ContextTooLong},
		{400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 32000 > 200000", membrane.ContextTooLong},
		{400, "invalid_request_error", "messages.3: the text " + long, membrane.InvalidRequest},
		{400, "new_error", long, membrane.InvalidRequest},
		{403, "permission_error", long, membrane.Auth},
		{429, "rate_limit_error", long, membrane.RateLimited},
	} {
		if got := (wireError{Type: c.kind, Message: c.message}).fault(c.status, "").Kind; got != c.want {
			t.Errorf("%d %s %q: %s, want %s", c.status, c.kind, c.message, got, c.want)
		}
	}
}
