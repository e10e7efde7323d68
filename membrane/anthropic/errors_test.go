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
