package wire_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/wire"
)

const secret = "sk-test-secret"

var body = membrane.Request{Head: []byte(`{"messages":[`), Messages: []byte(`{"a":"<é>"}`), Tail: []byte(`]}`)}

// fault reads {"error":{"type":…,"message":…}}.
func fault(_ int, raw []byte) (wire.Fault, bool) {
	var w struct {
		Error struct{ Type, Message string }
	}
	if json.Unmarshal(raw, &w) != nil || w.Error.Type == "" {
		return wire.Fault{}, false
	}
	f := wire.Fault{Text: w.Error.Type + ": " + w.Error.Message}
	if w.Error.Type == "too_long" {
		f.Kind = membrane.ContextTooLong
	}
	return f, true
}

func client(t testing.TB, url string, more ...func(*wire.Config)) *wire.Client {
	t.Helper()
	cfg := wire.Config{
		Model: "test/m", Protocol: "the Word API", BaseURL: url, Header: http.Header{"Authorization": {"Bearer " + secret}},
		Secrets: []string{"", secret}, KeyName: "TEST_KEY", NotFound: "(does it end in /v1?)", Fault: fault,
	}
	for _, f := range more {
		f(&cfg)
	}
	c, err := wire.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// play posts once and tells what came back, a line each.
func play(t testing.TB, c *wire.Client, ctx context.Context) string {
	t.Helper()
	var out strings.Builder
	for e, err := range c.Stream(ctx, wire.Post{Path: "v1/speak?alt=sse", Request: body, Answer: func() wire.Answer { return &strict{} }}) {
		switch e := e.(type) {
		case nil:
			var typed *membrane.Error
			if !errors.As(err, &typed) {
				t.Fatalf("an error of another type: %v", err)
			}
			fmt.Fprintf(&out, "%s %d %s %s\n", typed.Kind, typed.Status, typed.RetryAfter, err)
		case membrane.TextDelta:
			fmt.Fprintf(&out, "%s\n", e.Text)
		case membrane.Done:
			fmt.Fprintf(&out, "done %s\n", e.Fragment)
		}
	}
	return out.String()
}

// strict is an answer of words that a full stop ends.
type strict struct {
	words
	whole bool
}

func (s *strict) Read(e wire.Event) ([]membrane.Event, bool, error) {
	if bytes.HasPrefix(e.Data, []byte("{")) {
		f, _ := fault(0, e.Data)
		return nil, false, f.Err(0)
	}
	shown, whole, err := s.words.Read(e)
	s.whole = whole
	return shown, whole, err
}

func (s *strict) Done() (membrane.Done, error) {
	if !s.whole {
		return membrane.Done{}, wire.Unreadable("the answer ended in the middle")
	}
	return s.words.Done()
}

func TestStream(t *testing.T) {
	t.Parallel()
	kind := func(k string) http.Header { return http.Header{"Content-Type": {k}} }
	for _, c := range []struct {
		name   string
		answer membranetest.Answer
		want   string
	}{
		{"whole", membranetest.Answer{Body: "data: a\n\ndata: b\n\ndata: .\n\n"}, "a\nb\ndone ab\n"},
		{"what follows the end is not read", membranetest.Answer{Body: "data: a\n\ndata: .\n\ndata: b\n\n"}, "a\ndone a\n"},
		{"behind the end the line stays open", membranetest.Answer{Body: "data: a\n\ndata: .\n\n", Hold: true}, "a\ndone a\n"},
		{"no end", membranetest.Answer{Body: "data: a\n\n"}, "a\nnetwork 0 0s model test/m: network: the answer ended in the middle\n"},
		{"torn", membranetest.Answer{Body: "data: a\n\ndata: b", Break: true}, "a\nnetwork 0 0s model test/m: network: the connection broke off in the middle of the answer\n"},
		{"an error in the stream", membranetest.Answer{Body: "data: a\n\ndata: {\"error\":{\"type\":\"busy\",\"message\":\"no\"}}\n\n"}, "a\nnetwork 0 0s model test/m: network: busy: no\n"},
		{"the key in the stream", membranetest.Answer{Body: "data: {\"error\":{\"type\":\"key\",\"message\":\"" + secret + "\"}}\n\n"}, "network 0 0s model test/m: network: key: [the API key]\n"},
		{"plain text that is a stream", membranetest.Answer{Header: kind("text/plain"), Body: "data: a\n\ndata: .\n\n"}, "a\ndone a\n"},
		{"a page", membranetest.Answer{Header: kind("text/html"), Body: "<!doctype html><p>Log in"}, "invalid_request 200 0s model test/m: invalid_request: the server answered 200 with a web page, not as the Word API does: check the base URL URL, a proxy, or a page to log in to\n"},
		{"other JSON", membranetest.Answer{Header: kind("application/json"), Body: `{"models":[]}`}, "invalid_request 200 0s model test/m: invalid_request: the server answered 200 with JSON and not with a stream of events ({\"models\":[]}): check that the base URL URL speaks the Word API\n"},
		{"nothing", membranetest.Answer{Header: kind("application/octet-stream")}, "invalid_request 200 0s model test/m: invalid_request: the server answered 200 without a stream of events (content type \"application/octet-stream\"): check that the base URL URL speaks the Word API\n"},
		{"an error with 200", membranetest.Answer{Header: kind("application/json"), Body: `{"error":{"type":"too_long","message":"by 3"}}`}, "context_too_long 200 0s model test/m: context_too_long: too_long: by 3: compact the conversation or start another\n"},
		{"401", membranetest.Answer{Status: 401, Body: `{"error":{"type":"key","message":"not ` + secret + `"}}`}, "auth 401 0s model test/m: auth: key: not [the API key]: check the key in TEST_KEY and what it may use\n"},
		{"401 whose text is cut in the key", membranetest.Answer{Status: 401, Body: `{"error":{"type":"key","message":"` + strings.Repeat("x", 290) + secret + `"}}`}, "auth 401 0s model test/m: auth: key: " + strings.Repeat("x", 290) + "[the …: check the key in TEST_KEY and what it may use\n"},
		{"404", membranetest.Answer{Status: 404, Body: `not here`}, "invalid_request 404 0s model test/m: invalid_request: the server answered 404: not here: check the model's name and the base URL URL (does it end in /v1?)\n"},
		{"404 page", membranetest.Answer{Status: 404, Body: `<html>`}, "invalid_request 404 0s model test/m: invalid_request: the server answered 404 with a web page, not as the Word API does: check the base URL URL, a proxy, or a page to log in to\n"},
		{"413", membranetest.Answer{Status: 413}, "context_too_long 413 0s model test/m: context_too_long: the server answered 413 Request Entity Too Large: compact the conversation or start another\n"},
		{"429", membranetest.Answer{Status: 429, Header: http.Header{"Retry-After": {"7"}, "X-Request-Id": {"req_1"}}, Body: `{"error":{"type":"slow","message":"` + strings.Repeat("x ", 400) + `"}}`}, "rate_limited 429 7s model test/m: rate_limited: slow: " + strings.Repeat("x ", 147) + "… (request req_1): ask again later, or less often\n"},
		{"503", membranetest.Answer{Status: 503, Header: http.Header{"Retry-After-Ms": {"1500"}}}, "overloaded 503 1.5s model test/m: overloaded: the server answered 503 Service Unavailable: ask again later\n"},
		{"504", membranetest.Answer{Status: 504}, "timeout 504 0s model test/m: timeout: the server answered 504 Gateway Timeout: ask again later\n"},
		{"redirect elsewhere", membranetest.Answer{Status: 307, Header: http.Header{"Location": {"https://elsewhere.invalid/"}}}, "invalid_request 0 0s model test/m: invalid_request: check the base URL URL: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := membranetest.Serve(t, c.answer)
			got := strings.ReplaceAll(play(t, client(t, s.URL), t.Context()), s.URL, "URL")
			if !strings.HasSuffix(c.want, "\n") {
				got = got[:min(len(got), len(c.want))]
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			r := s.Requests()[0]
			if string(r.Body) != `{"messages":[{"a":"<é>"}]}` || r.Length != body.Len() || r.Path != "/v1/speak" || r.Header.Get("Authorization") != "Bearer "+secret {
				t.Errorf("asked: %+v", r)
			}
		})
	}
}

func TestNoConnection(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(nil)
	host := gone.Listener.Addr().String()
	gone.Close()
	if got := play(t, client(t, "http://"+host), t.Context()); !strings.HasPrefix(got, "network 0 0s model test/m: network: no connection to "+host+": ") {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, want := play(t, client(t, "http://"+host), ctx), "cancelled 0 0s model test/m: cancelled: the request was cancelled\n"; got != want {
		t.Error(got)
	}
}

// A stream is bounded in bytes: an event, and all of it.
func TestStreamIsBounded(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("data: x\n\n", 100)
	s := membranetest.Serve(t, membranetest.Answer{Body: many}, membranetest.Answer{Body: "data: " + many[:9] + strings.Repeat("y", 200) + "\n\n"})
	c := client(t, s.URL, func(cfg *wire.Config) { cfg.MaxEvent, cfg.MaxStream = 100, 500 })
	for _, want := range []string{"the answer is longer than is read", "an event of the stream is too long: it has more than 100 bytes"} {
		if got := play(t, c, t.Context()); !strings.Contains(got, "invalid_request 0 0s model test/m: invalid_request: "+want) {
			t.Errorf("%s; want %s", got, want)
		}
	}
}

// roundTrip answers without a network, for tests under a fake clock.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func streamOf(r io.Reader) *http.Response {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(r)}
}

// A server that sends nothing is given up after the idle time, the consumer's time is not the server's,
// and one that sends for ever is given up as well.
func TestStreamTimes(t *testing.T) {
	t.Parallel()
	drip := func(ctx context.Context, every time.Duration, n int, last string) io.Reader {
		r, w := io.Pipe()
		go func() {
			for range n {
				select {
				case <-time.After(every):
					_, _ = io.WriteString(w, "data: a\n\n")
				case <-ctx.Done():
					_ = w.CloseWithError(ctx.Err())
					return
				}
			}
			_, _ = io.WriteString(w, last)
			<-ctx.Done()
			_ = w.CloseWithError(ctx.Err())
		}()
		return r
	}
	for _, c := range []struct {
		name     string
		every    time.Duration
		n        int
		last     string
		consumer time.Duration
		want     string
		after    time.Duration
	}{
		{"silent", time.Hour, 1, "", 0, "timeout 0 0s model test/m: timeout: the server sent nothing for 2m0s: ask again later\n", 2 * time.Minute},
		{"silent later", time.Minute, 3, "", 0, "a\na\na\ntimeout 0 0s model test/m: timeout: the server sent nothing for 2m0s: ask again later\n", 5 * time.Minute},
		{"slow, and a slower consumer", time.Minute, 3, "data: .\n\n", 10 * time.Minute, "a\na\na\ndone aaa\n", -1},
		{"for ever", 61 * time.Second, 1 << 20, "", 0, strings.Repeat("a\n", 59) + "timeout 0 0s model test/m: timeout: the answer was not whole after 1h0m0s: ask for less at once\n", time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cl := client(t, "http://local.test", func(cfg *wire.Config) {
					cfg.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
						return streamOf(drip(r.Context(), c.every, c.n, c.last)), nil
					})}
				})
				began := time.Now()
				var out strings.Builder
				for e, err := range cl.Stream(t.Context(), wire.Post{Request: body, Answer: func() wire.Answer { return &strict{} }}) {
					switch e := e.(type) {
					case nil:
						var typed *membrane.Error
						_ = errors.As(err, &typed)
						fmt.Fprintf(&out, "%s %d %s %s\n", typed.Kind, typed.Status, typed.RetryAfter, err)
					case membrane.TextDelta:
						fmt.Fprintf(&out, "%s\n", e.Text)
						time.Sleep(c.consumer)
					case membrane.Done:
						fmt.Fprintf(&out, "done %s\n", e.Fragment)
					}
				}
				if diff := cmp.Diff(c.want, out.String()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if took := time.Since(began); c.after >= 0 && took != c.after {
					t.Errorf("it took %s, want %s", took, c.after)
				}
			})
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	good := wire.Config{BaseURL: "https://host/v1", Fault: fault}
	if _, err := wire.New(good); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*wire.Config){
		"is no address":                       func(c *wire.Config) { c.BaseURL = "localhost:8080" },
		"holds a user's name":                 func(c *wire.Config) { c.BaseURL = "https://a:b@host" },
		"the header X-Key holds characters":   func(c *wire.Config) { c.Header = http.Header{"X-Key": {"a\nb"}} },
		"Fault, which reads":                  func(c *wire.Config) { c.Fault = nil },
		"the header X-Key holds characters t": func(c *wire.Config) { c.Header = http.Header{"X-Key": {"naïve"}} },
	} {
		cfg := good
		change(&cfg)
		if _, err := wire.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A query of the base address goes with each request, behind it that of the path.
func TestAddress(t *testing.T) {
	t.Parallel()
	var seen []string
	for _, base := range []string{"http://h/v1", "http://h/v1/", "http://h/a%2Fb/v1?api-version=1"} {
		c := client(t, base, func(cfg *wire.Config) {
			cfg.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				seen = append(seen, r.URL.String())
				return nil, &url.Error{Op: "Post", Err: io.EOF}
			})}
		})
		play(t, c, t.Context())
	}
	want := []string{"http://h/v1/v1/speak?alt=sse", "http://h/v1/v1/speak?alt=sse", "http://h/a%2Fb/v1/v1/speak?api-version=1&alt=sse"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
