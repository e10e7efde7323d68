package anthropic

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/wire"
)

// wireError is what the provider answers instead of a message, and in the middle of one.
// Source: https://platform.claude.com/docs/en/api/errors.
type wireError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Details struct {
		Code string `json:"error_code"`
	} `json:"details"`
}

// kindOf classifies an error by the provider's type, and by the HTTP status where there is no type that
// this build knows; 0 stands for an error in the middle of a stream.
func kindOf(status int, kind string) membrane.Kind {
	switch kind {
	case "authentication_error", "permission_error", "billing_error":
		return membrane.Auth
	case "rate_limit_error":
		return membrane.RateLimited
	case "overloaded_error", "api_error":
		return membrane.Overloaded
	case "timeout_error":
		return membrane.Timeout
	case "request_too_large":
		return membrane.ContextTooLong
	case "invalid_request_error", "not_found_error", "conflict_error":
		if status != http.StatusRequestEntityTooLarge {
			return membrane.InvalidRequest
		}
	}
	return wire.KindOf(status)
}

// tooLong reports whether an error says that the prompt does not fit into the model's window. The provider
// gives it the type of any invalid request, no code and the status 400, so here, and nowhere else, the
// beginning of a message decides. It decides over little: where a later wording is not known the error is
// told as an invalid request, and a conversation is not compacted by itself.
// Source: the provider's answers "prompt is too long: 205000 tokens > 200000 maximum" and "input length
// and `max_tokens` exceed context limit: 199000 + 32000 > 200000, decrease input length or `max_tokens`
// and try again".
func (w wireError) tooLong(status int) bool {
	return w.Type == "invalid_request_error" && (status == http.StatusBadRequest || status == 0) &&
		(strings.HasPrefix(w.Message, "prompt is too long") || strings.HasPrefix(w.Message, "input length and `max_tokens` exceed context limit"))
}

// fault reads the error of an answer that is no stream.
func fault(status int, body []byte) (wire.Fault, bool) {
	var answer struct {
		Type      string    `json:"type"`
		Error     wireError `json:"error"`
		RequestID string    `json:"request_id"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error.Type == "" && answer.Error.Message == "" {
		return wire.Fault{}, false
	}
	return answer.Error.fault(status, answer.RequestID), true
}

// fault says what the provider says: its type and code, and its message.
func (w wireError) fault(status int, requestID string) wire.Fault {
	f := wire.Fault{Kind: kindOf(status, w.Type), RequestID: requestID}
	if w.tooLong(status) {
		f.Kind = membrane.ContextTooLong
	}
	kind := w.Type
	if w.Details.Code != "" {
		kind += " (" + w.Details.Code + ")"
	}
	f.Text = strings.TrimPrefix(kind+": "+w.Message, ": ")
	return f
}
