package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
)

const (
	// maxTold is how many characters of what a provider says stand in an error: the rest of the line says
	// what to do.
	maxTold = 300
	// maxRequestID is the longest id of a request that is told.
	maxRequestID = 100
	// redacted stands in the place of a secret.
	redacted = "[the API key]"
)

// Fault is what a provider says of a request that failed.
type Fault struct {
	// Kind is how the provider's own type classifies it; empty leaves it to the status.
	Kind membrane.Kind
	// Text is what it says, its type included.
	Text string
	// RequestID is the id by which the provider finds the request; empty means that of the header.
	RequestID string
	// Do says what helps; empty means what helps with the kind.
	Do string
	// RetryAfter is how long the body asks to wait; a header that says so comes first.
	RetryAfter time.Duration
}

// KindOf classifies an error by the HTTP status; 0 stands for an error in the middle of a stream.
func KindOf(status int) membrane.Kind {
	switch {
	case status == http.StatusRequestEntityTooLarge:
		return membrane.ContextTooLong
	case status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusPaymentRequired:
		return membrane.Auth
	case status == http.StatusTooManyRequests:
		return membrane.RateLimited
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return membrane.Timeout
	case status >= http.StatusInternalServerError:
		return membrane.Overloaded
	case status == 0:
		return membrane.Network
	}
	return membrane.InvalidRequest
}

// Err makes the error of a fault; status is 0 in the middle of a stream.
func (f Fault) Err(status int) *membrane.Error {
	e := &membrane.Error{Kind: f.Kind, Status: status, RetryAfter: f.RetryAfter}
	if e.Kind == "" {
		e.Kind = KindOf(status)
	}
	e.Text = clip(f.Text, maxTold)
	if f.RequestID != "" && len(f.RequestID) <= maxRequestID {
		e.Text += " (request " + f.RequestID + ")"
	}
	if f.Do != "" {
		e.Text = strings.TrimSuffix(e.Text, ".") + ": " + f.Do
	}
	return e
}

// Unreadable is an answer that was spoilt on its way: asking again can help.
func Unreadable(format string, args ...any) error {
	return &membrane.Error{Kind: membrane.Network, Text: fmt.Sprintf(format, args...)}
}

// Unknown is an answer that this build cannot keep whole: asking again does not help.
func Unknown(format string, args ...any) error {
	return &membrane.Error{Kind: membrane.InvalidRequest, Text: fmt.Sprintf(format, args...) + ", which this build does not know: use a newer one"}
}

// answered makes the error of an answer that is no stream.
func (c *Client) answered(resp *http.Response, kind string, body []byte) *membrane.Error {
	status := resp.StatusCode
	f, known := c.cfg.Fault(status, body)
	if f.RequestID == "" {
		f.RequestID = requestID(resp.Header)
	}
	text := bytes.TrimSpace(body)
	where := c.base.Redacted()
	switch {
	case known && f.Do == "":
		f.Do = c.advice(f.Kind, status)
	case known:
	case bytes.HasPrefix(text, []byte("<")) || strings.HasSuffix(kind, "html"):
		f.Text = fmt.Sprintf("the server answered %d with a web page, not as %s does", status, c.cfg.Protocol)
		f.Do = fmt.Sprintf("check the base URL %s, a proxy, or a page to log in to", where)
	case status < http.StatusBadRequest && canon.Valid(text):
		f.Text = fmt.Sprintf("the server answered %d with JSON and not with a stream of events (%s)", status, clip(string(text), 100))
		f.Do = fmt.Sprintf("check that the base URL %s speaks %s", where, c.cfg.Protocol)
	case status < http.StatusBadRequest:
		f.Text = fmt.Sprintf("the server answered %d without a stream of events (content type %.60q)", status, kind)
		f.Do = fmt.Sprintf("check that the base URL %s speaks %s", where, c.cfg.Protocol)
	case len(text) == 0:
		f.Text, f.Do = fmt.Sprintf("the server answered %d %s", status, http.StatusText(status)), c.advice("", status)
	default:
		f.Text, f.Do = fmt.Sprintf("the server answered %d: %s", status, clip(string(text), maxTold)), c.advice("", status)
	}
	e := f.Err(status)
	if wait := membrane.RetryAfter(resp.Header, c.cfg.Now()); wait > 0 {
		e.RetryAfter = wait
	}
	return e
}

// advice says what helps with an error.
func (c *Client) advice(kind membrane.Kind, status int) string {
	if kind == "" {
		kind = KindOf(status)
	}
	switch {
	case kind == membrane.Auth && c.cfg.KeyName != "":
		return "check the key in " + c.cfg.KeyName + " and what it may use"
	case kind == membrane.Auth:
		return "check the key and what it may use"
	case kind == membrane.RateLimited:
		return "ask again later, or less often"
	case kind == membrane.Overloaded || kind == membrane.Timeout:
		return "ask again later"
	case kind == membrane.ContextTooLong:
		return "compact the conversation or start another"
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		return strings.TrimSpace(fmt.Sprintf("check the model's name and the base URL %s %s", c.base.Redacted(), c.cfg.NotFound))
	}
	return ""
}

// requestID is the id that an answer's header gives.
func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "Request-Id"} {
		if id := h.Get(name); id != "" {
			return id
		}
	}
	return ""
}

// failed makes the error of a request that got no answer, or whose answer broke off.
func (c *Client) failed(ctx context.Context, err error) *membrane.Error {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	var wrapped *url.Error
	e := &membrane.Error{Kind: membrane.Network, Err: err}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errIdle):
		e.Kind, e.Err, e.Text = membrane.Timeout, errIdle, fmt.Sprintf("the server sent nothing for %s: ask again later", c.cfg.IdleTimeout)
	case errors.Is(cause, errLong):
		e.Kind, e.Err, e.Text = membrane.Timeout, errLong, fmt.Sprintf("the answer was not whole after %s: ask for less at once", c.cfg.MaxTime)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Kind, e.Err, e.Text = membrane.Timeout, ctx.Err(), "the time for the request is over"
	case ctx.Err() != nil:
		e.Kind, e.Err, e.Text = membrane.Cancelled, ctx.Err(), "the request was cancelled"
	case errors.As(err, &e):
		return e
	case errors.Is(err, ErrEventTooLong):
		e.Kind, e.Text = membrane.InvalidRequest, err.Error()
	case errors.Is(err, membrane.ErrRedirect):
		e.Kind, e.Text = membrane.InvalidRequest, fmt.Sprintf("check the base URL %s: %v", c.base.Redacted(), err)
	case errors.As(err, &dns):
		e.Text = fmt.Sprintf("the host %s was not found: check the base URL and the network", dns.Name)
	case errors.As(err, &timeout) && timeout.Timeout():
		e.Kind, e.Text = membrane.Timeout, err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Text = "the connection broke off in the middle of the answer"
	case errors.As(err, &wrapped):
		e.Text = fmt.Sprintf("no connection to %s: %v: check the base URL and the network", c.base.Host, wrapped.Err)
	default:
		e.Text = err.Error()
	}
	return e
}

// finish completes an error: the model's name, one bounded line, and no secret in it.
func (c *Client) finish(e *membrane.Error) *membrane.Error {
	e.Model = c.cfg.Model
	for _, secret := range c.cfg.Secrets {
		if secret == "" {
			continue
		}
		e.Text = strings.ReplaceAll(e.Text, secret, redacted)
		if e.Err != nil && strings.Contains(e.Err.Error(), secret) {
			e.Err = nil
		}
	}
	e.Text = membrane.Line(e.Text)
	return e
}

// clip cuts a line at n characters.
func clip(text string, n int) string {
	line := []rune(membrane.Line(text))
	if len(line) <= n {
		return string(line)
	}
	return string(line[:n]) + "…"
}
