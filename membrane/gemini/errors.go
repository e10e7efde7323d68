package gemini

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/wire"
)

// maxWait bounds the wait that an error asks for.
const maxWait = 24 * time.Hour

// status is the google.rpc.Status that the provider answers instead of an answer, and in the middle of one.
// Source: https://google.aip.dev/193, https://ai.google.dev/gemini-api/docs/troubleshooting.
type status struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status"`
	Details []struct {
		Type       string `json:"@type"`
		Reason     string `json:"reason"`
		RetryDelay string `json:"retryDelay"`
	} `json:"details"`
}

// reason is that of the ErrorInfo, such as "API_KEY_INVALID".
func (s status) reason() string {
	for _, d := range s.Details {
		if strings.HasSuffix(d.Type, "google.rpc.ErrorInfo") && d.Reason != "" {
			return d.Reason
		}
	}
	return ""
}

// wait is that of the RetryInfo.
func (s status) wait() time.Duration {
	for _, d := range s.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && strings.HasSuffix(d.Type, "google.rpc.RetryInfo") {
			return min(max(wait, 0), maxWait)
		}
	}
	return 0
}

// kind classifies an error by its reason and its status; empty leaves it to the HTTP status.
func (s status) kind() membrane.Kind {
	if strings.HasPrefix(s.reason(), "API_KEY_") { // invalid, expired, blocked: with the status of any invalid argument
		return membrane.Auth
	}
	switch s.Status {
	case "UNAUTHENTICATED", "PERMISSION_DENIED":
		return membrane.Auth
	case "RESOURCE_EXHAUSTED":
		return membrane.RateLimited
	case "UNAVAILABLE", "INTERNAL", "UNKNOWN", "ABORTED", "DATA_LOSS":
		return membrane.Overloaded
	case "DEADLINE_EXCEEDED":
		return membrane.Timeout
	case "CANCELLED":
		return membrane.Network
	case "INVALID_ARGUMENT":
		if s.tooLong() {
			return membrane.ContextTooLong
		}
		return membrane.InvalidRequest
	case "NOT_FOUND", "FAILED_PRECONDITION", "OUT_OF_RANGE", "UNIMPLEMENTED", "ALREADY_EXISTS":
		return membrane.InvalidRequest
	}
	return ""
}

// tooLong reports whether an invalid argument is a prompt, or a body, that is too long. The provider gives it
// no status and no reason of its own, so here, and nowhere else, the beginning of a message decides.
// Source: the provider's answers "The input token count (1196265) exceeds the maximum number of tokens
// allowed (1048576)." and "Request payload size exceeds the limit: 20971520 bytes."
func (s status) tooLong() bool {
	return strings.HasPrefix(s.Message, "The input token count") && strings.Contains(s.Message, "exceeds the maximum number of tokens") ||
		strings.HasPrefix(s.Message, "Request payload size exceeds the limit")
}

// fault is what the error says.
func (s status) fault() wire.Fault {
	name := s.Status
	if reason := s.reason(); reason != "" {
		name += " (" + reason + ")"
	}
	return wire.Fault{Kind: s.kind(), Text: strings.TrimPrefix(name+": "+s.Message, ": "), RetryAfter: s.wait()}
}

// fault reads the error of an answer that is no stream; some servers put it into an array.
func fault(_ int, body []byte) (wire.Fault, bool) {
	type failed struct {
		Error *status `json:"error"`
	}
	var one failed
	if body = bytes.TrimSpace(body); bytes.HasPrefix(body, []byte("[")) {
		var list []failed
		if json.Unmarshal(body, &list) != nil || len(list) == 0 {
			return wire.Fault{}, false
		}
		one = list[0]
	} else if json.Unmarshal(body, &one) != nil {
		return wire.Fault{}, false
	}
	if one.Error == nil || one.Error.Status == "" && one.Error.Code == 0 {
		return wire.Fault{}, false
	}
	return one.Error.fault(), true
}
