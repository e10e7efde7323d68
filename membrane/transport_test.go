package membrane_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
)

func post(t *testing.T, c *http.Client, address string, r *membrane.Request) (string, error) {
	t.Helper()
	ctx := t.Context()
	if r != nil {
		ctx = membrane.Carry(ctx, *r)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{"the sdk's": "own"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func TestTransportSendsTheBytes(t *testing.T) {
	t.Parallel()
	r := &membrane.Request{Head: []byte(`{"messages":[`), Messages: []byte(strings.Repeat(`{"a": "<>"},`, 50_000)), Tail: []byte(`]}`)}
	s := membranetest.Serve(t,
		membranetest.Answer{},
		membranetest.Answer{Status: 307, Header: http.Header{"Location": {"/elsewhere"}}},
		membranetest.Answer{},
		membranetest.Answer{},
	)
	c := membrane.Client(nil)
	for range 2 { // the second is sent on, with the same body
		if _, err := post(t, c, s.URL, r); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := post(t, c, s.URL, nil); err != nil {
		t.Fatal(err)
	}
	want := string(r.Head) + string(r.Messages) + string(r.Tail)
	got := s.Requests()
	for i, request := range got[:3] {
		if string(request.Body) != want || request.Length != r.Len() {
			t.Errorf("request %d: %d bytes, said to be %d, want %d", i, len(request.Body), request.Length, len(want))
		}
	}
	if got[2].Path != "/elsewhere" {
		t.Errorf("path %s", got[2].Path)
	}
	if string(got[3].Body) != `{"the sdk's": "own"}` {
		t.Errorf("a request that carries nothing was changed: %s", got[3].Body)
	}
}

// A connection that was kept and has gone is noticed only on the next request; that one is sent again.
func TestTransportSendsAgain(t *testing.T) {
	t.Parallel()
	r := membrane.Request{Head: []byte("head["), Messages: []byte("{1}"), Tail: []byte("]")}
	var bodies []string
	first := true
	c := membrane.Client(&http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, string(body))
		if first {
			first = false
			if req.Body, err = req.GetBody(); err != nil { // as http.Transport does it
				return nil, err
			}
			if body, err = io.ReadAll(req.Body); err != nil {
				return nil, err
			}
			bodies = append(bodies, string(body))
		}
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: req}, nil
	})})
	if _, err := post(t, c, "http://localhost", &r); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"head[{1}]", "head[{1}]"}, bodies); diff != "" {
		t.Error(diff)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestClientRefusesRedirects(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the conversation was sent to another host") }))
	t.Cleanup(away.Close)
	host := strings.TrimPrefix(away.URL, "http://")
	for _, c := range []struct {
		name, location string
		status, times  int
		want           string
	}{
		{"another host", away.URL, 308, 1, " sends the request on to http://" + host},
		{"another scheme", "https://HOST/", 307, 1, " sends the request on to https://HOST"},
		{"another method", "/", 302, 1, "HOST makes a GET of a POST"},
		{"for ever", "/", 307, 4, "HOST sent the request on 4 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := membranetest.Serve(t)
			own := strings.TrimPrefix(s.URL, "http://")
			for range c.times {
				s.Add(membranetest.Answer{Status: c.status, Header: http.Header{"Location": {strings.Replace(c.location, "HOST", own, 1)}}})
			}
			_, err := post(t, membrane.Client(nil), s.URL, &membrane.Request{Head: []byte("[")})
			if want := strings.Replace(c.want, "HOST", own, 1); !errors.Is(err, membrane.ErrRedirect) || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("%v, want one that ends in %q", err, want)
			}
		})
	}
}

// What a caller's own client does stays: its check of redirects, its transport.
func TestClientKeepsTheBase(t *testing.T) {
	t.Parallel()
	s := membranetest.Serve(t, membranetest.Answer{Status: 307, Header: http.Header{"Location": {"/b"}}})
	stop := errors.New("stop")
	base := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return stop }, Timeout: time.Minute}
	c := membrane.Client(base)
	if _, err := post(t, c, s.URL, nil); !errors.Is(err, stop) {
		t.Errorf("%v, want the base's own error", err)
	}
	if c.Timeout != time.Minute || base.Transport != nil {
		t.Error("the base was changed, or not taken over")
	}
	fails := membrane.Client(&http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF })})
	var wrapped *url.Error
	if _, err := post(t, fails, s.URL, nil); !errors.As(err, &wrapped) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestTransportCutsErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", membrane.MaxErrorBody+1)
	s := membranetest.Serve(t, membranetest.Answer{Status: 500, Body: long}, membranetest.Answer{Body: long})
	c := membrane.Client(nil)
	for _, want := range []int{membrane.MaxErrorBody, len(long)} {
		if body, err := post(t, c, s.URL, nil); err != nil || len(body) != want {
			t.Errorf("%d bytes, want %d (%v)", len(body), want, err)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		header map[string]string
		want   time.Duration
	}{
		{nil, 0},
		{map[string]string{"Retry-After": "7"}, 7 * time.Second},
		{map[string]string{"Retry-After": "1.5"}, 1500 * time.Millisecond},
		{map[string]string{"Retry-After": "7", "Retry-After-Ms": "250"}, 250 * time.Millisecond},
		{map[string]string{"Retry-After": "-1"}, 0},
		{map[string]string{"Retry-After": "NaN"}, 0},
		{map[string]string{"Retry-After": "1e300"}, 24 * time.Hour},
		{map[string]string{"Retry-After": "Inf"}, 24 * time.Hour},
		{map[string]string{"Retry-After": "soon"}, 0},
		{map[string]string{"Retry-After": "Sun, 01 Nov 2026 12:00:30 GMT"}, 30 * time.Second},
		{map[string]string{"Retry-After": "Sun, 01 Nov 2026 11:00:30 GMT", "Date": "Sun, 01 Nov 2026 11:00:00 GMT"}, 30 * time.Second},
		{map[string]string{"Retry-After": "Sun, 01 Nov 2026 11:00:30 GMT"}, 0},
		{map[string]string{"Retry-After": "Sun, 01 Nov 2099 11:00:30 GMT"}, 24 * time.Hour},
	} {
		h := http.Header{}
		for name, value := range c.header {
			h.Set(name, value)
		}
		if got := membrane.RetryAfter(h, now); got != c.want {
			t.Errorf("%v: %s, want %s", c.header, got, c.want)
		}
	}
}

// TestTransportDoesNotCopy sends 16 MiB and allocates far less.
func TestTransportDoesNotCopy(t *testing.T) { // not in parallel: others allocate too
	r := membrane.Request{Head: []byte("["), Messages: make([]byte, 16<<20), Tail: []byte("]")}
	var sent int64
	c := membrane.Client(&http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		var err error
		sent, err = io.Copy(io.Discard, req.Body)
		return &http.Response{StatusCode: 200, Body: http.NoBody, Request: req}, err
	})})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := post(t, c, "http://localhost", &r); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 || sent != r.Len() {
		t.Errorf("%d bytes were allocated to send %d of %d", n, sent, r.Len())
	}
}
