package membrane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"time"
)

const (
	// MaxErrorBody is how many bytes of an error answer can be read through a [Transport]: SDKs read
	// all of it into memory.
	MaxErrorBody = 64 << 10
	// maxRedirects is how often one request may be sent elsewhere.
	maxRedirects = 3
	// maxRetryAfter bounds what [RetryAfter] gives.
	maxRetryAfter = 24 * time.Hour
)

// ErrRedirect says that a server wants a request to be sent where it must not go: to another host or
// another scheme, with the key and the conversation in it, or as a GET without a body.
var ErrRedirect = errors.New("the redirect is not followed")

// carried is the key of the request that a context carries.
type carried struct{}

// Carry gives a context under which a [Transport] sends r as the body of a request.
func Carry(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, carried{}, r)
}

// Transport puts the bytes of a [Request] on the HTTP request of an SDK, in the place of whatever body
// the SDK wrote: no SDK promises stable bytes. It is the same for all dialects, and it serves each
// attempt, so that a retried or redirected request has the same body. The message bytes are read where
// they stand.
//
// A request without a body, and one whose context carries nothing (see [Carry]), passes unchanged.
type Transport struct {
	// Base sends the requests; nil means http.DefaultTransport.
	Base http.RoundTripper
}

// RoundTrip sends one request. An answer with an error status is cut at [MaxErrorBody].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if r, ok := req.Context().Value(carried{}).(Request); ok && req.Body != nil && req.Body != http.NoBody {
		_ = req.Body.Close() // the SDK's own, which is not sent
		req = req.Clone(req.Context())
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(r.Body()), nil }
		req.Body, _ = req.GetBody()
		req.ContentLength = r.Len()
		req.TransferEncoding = nil
		req.Header.Del("Content-Encoding")
	}
	resp, err := base.RoundTrip(req)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		resp.Body = cut{Reader: io.LimitReader(resp.Body, MaxErrorBody), Closer: resp.Body}
	}
	return resp, err
}

// cut reads less than there is, and closes all of it.
type cut struct {
	io.Reader
	io.Closer
}

// Client gives a client that sends through a [Transport] and otherwise works as base does; nil means
// the zero http.Client. It follows a redirect only on the same host, with the same scheme and method:
// what it refuses is an [ErrRedirect].
func Client(base *http.Client) *http.Client {
	var c http.Client
	if base != nil {
		c = *base
	}
	c.Transport = &Transport{Base: c.Transport}
	check := c.CheckRedirect
	c.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		first := via[0]
		switch {
		case req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme:
			return fmt.Errorf("%w: %s://%s sends the request on to %s://%s", ErrRedirect, first.URL.Scheme, first.URL.Host, req.URL.Scheme, req.URL.Host)
		case req.Method != first.Method:
			return fmt.Errorf("%w: %s makes a %s of a %s", ErrRedirect, first.URL.Host, req.Method, first.Method)
		case len(via) > maxRedirects:
			return fmt.Errorf("%w: %s sent the request on %d times", ErrRedirect, first.URL.Host, len(via))
		case check != nil:
			return check(req, via)
		}
		return nil
	}
	return &c
}

// RetryAfter reads how long an answer asks to wait: the header Retry-After-Ms (milliseconds), else
// Retry-After as RFC 9110 section 10.2.3 has it, in seconds or as a date. A date counts from the date
// of the same answer, so that the two clocks need not agree, and from now when it has none. It is 0
// when the answer does not say, and at most 24 hours.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := number(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	text := h.Get("Retry-After")
	if d, ok := number(text, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		now = sent
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

func number(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	if n > float64(maxRetryAfter/unit) {
		return maxRetryAfter, true
	}
	return time.Duration(n * float64(unit)), true
}
