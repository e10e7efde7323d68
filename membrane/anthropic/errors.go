package anthropic

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weir-run/weir/membrane"
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
// this build knows. It never looks at a message.
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
	}
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return membrane.ContextTooLong
	case kind == "invalid_request_error" || kind == "not_found_error" || kind == "conflict_error":
		return membrane.InvalidRequest
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusPaymentRequired:
		return membrane.Auth
	case status == http.StatusTooManyRequests:
		return membrane.RateLimited
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return membrane.Timeout
	case status >= http.StatusInternalServerError:
		return membrane.Overloaded
	case status == 0: // in the middle of a stream
		return membrane.Network
	}
	return membrane.InvalidRequest
}

// answered makes the error of an answer that is no stream.
func (m *Model) answered(resp *http.Response, body []byte) *membrane.Error {
	var wire struct {
		Error     wireError `json:"error"`
		RequestID string    `json:"request_id"`
	}
	known := json.Unmarshal(body, &wire) == nil && (wire.Error.Type != "" || wire.Error.Message != "")
	e := &membrane.Error{
		Kind: kindOf(resp.StatusCode, wire.Error.Type), Status: resp.StatusCode,
		RetryAfter: membrane.RetryAfter(resp.Header, time.Now()),
	}
	id := wire.RequestID
	if id == "" {
		id = resp.Header.Get("Request-Id")
	}
	switch {
	case known:
		e.Text = wire.Error.text(id)
	case bytes.HasPrefix(bytes.TrimSpace(body), []byte("<")):
		e.Text = fmt.Sprintf("the server answered %d with a web page, not as the Messages API does: check the address, a proxy, or a page to log in to", resp.StatusCode)
	case resp.StatusCode < http.StatusBadRequest:
		e.Text = fmt.Sprintf("the server answered %d without a stream of events (%.60q): check the address", resp.StatusCode, resp.Header.Get("Content-Type"))
	case blank(string(body)):
		e.Text = fmt.Sprintf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	default:
		e.Text = fmt.Sprintf("the server answered %d: %s", resp.StatusCode, body)
	}
	if resp.StatusCode == http.StatusNotFound {
		e.Text = fmt.Sprintf("the model %s, or the address of the server, is not known: %s", m.model, e.Text)
	}
	return e
}

// text says what the provider says: its type and code, its message, and the request's id, by which
// the provider finds it.
func (w wireError) text(requestID string) string {
	kind := w.Type
	if w.Details.Code != "" {
		kind += " (" + w.Details.Code + ")"
	}
	text := strings.TrimPrefix(kind+": "+w.Message, ": ")
	if requestID != "" && len(requestID) <= 100 {
		// A message can be long; what was cut must not be the id.
		line := []rune(membrane.Line(text))
		text = fmt.Sprintf("%s (request %s)", string(line[:min(len(line), membrane.MaxLine-130)]), requestID)
	}
	return text
}

// failed makes the error of a request that got no answer, or whose answer broke off.
func (m *Model) failed(ctx context.Context, err error) *membrane.Error {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	var wrapped *url.Error
	e := &membrane.Error{Kind: membrane.Network, Err: err}
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(context.Cause(ctx), errIdle):
		e.Kind, e.Err, e.Text = membrane.Timeout, errIdle, fmt.Sprintf("nothing came for %s", m.cfg.IdleTimeout)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Kind, e.Err, e.Text = membrane.Timeout, ctx.Err(), "the time for the request is over"
	case ctx.Err() != nil:
		e.Kind, e.Err, e.Text = membrane.Cancelled, ctx.Err(), "the request was cancelled"
	case errors.Is(err, bufio.ErrTooLong):
		e.Kind, e.Text = membrane.InvalidRequest, "an event of the answer is too long to be read"
	case errors.Is(err, membrane.ErrRedirect):
		e.Kind, e.Text = membrane.InvalidRequest, "check the address: "+err.Error()
	case errors.As(err, &dns):
		e.Text = fmt.Sprintf("the host %s was not found: check the address and the network", dns.Name)
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Kind, e.Text = membrane.Timeout, err.Error()
	case errors.As(err, &wrapped):
		e.Text = fmt.Sprintf("no connection to the server: %v", wrapped.Err)
	default:
		e.Text = err.Error()
	}
	return e
}

// finish completes an error: the model's name, one bounded line, and nothing of the key in it.
func (m *Model) finish(e *membrane.Error) *membrane.Error {
	e.Model = m.Name()
	e.Text = membrane.Line(strings.ReplaceAll(e.Text, m.cfg.APIKey, "[the API key]"))
	if e.Err != nil && strings.Contains(e.Err.Error(), m.cfg.APIKey) {
		e.Err = nil
	}
	return e
}
