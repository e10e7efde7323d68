package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
	"github.com/weir-run/weir/membrane/membranetest"
)

// transport plays an answer inside a bubble, where no network is.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	return f(r)
}

// streams answers with what write writes; it ends when the request does.
func streams(write func(io.Writer)) transport {
	return func(r *http.Request) (*http.Response, error) {
		out, in := io.Pipe()
		go func() {
			<-r.Context().Done()
			_ = in.CloseWithError(r.Context().Err())
		}()
		go write(in)
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: out, Request: r}, nil
	}
}

func failed(t *testing.T, m *anthropic.Model, ctx context.Context) *membrane.Error {
	t.Helper()
	var typed *membrane.Error
	for _, err := range m.Stream(ctx, request(t, m, `{"role":"user","content":[{"type":"text","text":"Go."}]}`)) {
		if err != nil && !errors.As(err, &typed) {
			t.Fatalf("an error of another type: %v", err)
		}
	}
	if typed == nil {
		t.Fatal("no error")
	}
	return typed
}

// A stream may be slow, as long as something comes: pings count, and so does nothing of what the
// consumer takes for itself.
func TestStreamIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		send := streams(func(w io.Writer) {
			parts := strings.SplitAfter(stream(t, start()+block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"a"}`, `{"type":"text_delta","text":"b"}`)), "\n\n")
			for _, part := range parts {
				time.Sleep(100 * time.Second)
				_, _ = io.WriteString(w, "event: ping\ndata: {\"type\": \"ping\"}\n\n")
				time.Sleep(100 * time.Second)
				_, _ = io.WriteString(w, part)
			}
		})
		m := newModel(t, "http://localhost", func(c *anthropic.Config) { c.HTTPClient = &http.Client{Transport: send} })
		began := time.Now()
		var text string
		var err error
		for e, failure := range m.Stream(t.Context(), request(t, m, "")) {
			if d, ok := e.(membrane.TextDelta); ok {
				text += d.Text
				time.Sleep(20 * time.Minute) // the consumer takes its time
			}
			err = failure
		}
		var typed *membrane.Error
		if text != "ab" || !errors.As(err, &typed) || typed.Kind != membrane.Timeout || typed.Text != "the server sent nothing for 2m0s: ask again later" {
			t.Errorf("%q, %v", text, err)
		}
		if took := time.Since(began); took < 40*time.Minute || took > time.Hour {
			t.Errorf("it took %s", took)
		}
	})
}

func TestStreamNeverAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		m := newModel(t, "http://localhost", func(c *anthropic.Config) {
			c.HTTPClient, c.IdleTimeout = &http.Client{Transport: hang}, 3*time.Second
		})
		began := time.Now()
		if e := failed(t, m, t.Context()); e.Kind != membrane.Timeout || e.Text != "the server sent nothing for 3s: ask again later" || time.Since(began) != 3*time.Second {
			t.Error(e, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if e := failed(t, m, ctx); e.Kind != membrane.Timeout || e.Text != "the time for the request is over" || !errors.Is(e, context.DeadlineExceeded) {
			t.Error(e)
		}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		if e := failed(t, m, ctx); e.Kind != membrane.Cancelled || !errors.Is(e, context.Canceled) {
			t.Error(e)
		}
	})
}

// A consumer that breaks out ends the request: nothing is left behind (the bubble would not end).
func TestStreamBroken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		send := streams(func(w io.Writer) { _, _ = io.WriteString(w, stream(t, start()+say(0, "Hello"))) })
		m := newModel(t, "http://localhost", func(c *anthropic.Config) { c.HTTPClient = &http.Client{Transport: send} })
		for e, err := range m.Stream(t.Context(), request(t, m, "")) {
			if err != nil || e != (membrane.TextDelta{Text: "Hello"}) {
				t.Errorf("%v, %v", e, err)
			}
			break
		}
	})
}

func TestStreamCancelledMidway(t *testing.T) {
	t.Parallel()
	server := membranetest.Serve(t, membranetest.Answer{Body: stream(t, start()+say(0, "Hello")), Hold: true})
	m := newModel(t, server.URL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var typed *membrane.Error
	for e, err := range m.Stream(ctx, request(t, m, "")) {
		if e != nil {
			cancel()
		}
		_ = errors.As(err, &typed)
	}
	if typed == nil || typed.Kind != membrane.Cancelled || !errors.Is(typed, context.Canceled) {
		t.Error(typed)
	}
}

func TestStreamConnections(t *testing.T) {
	t.Parallel()
	closed := membranetest.Serve(t, membranetest.Answer{Body: stream(t, start()+say(0, "Hello")), Break: true})
	away := membranetest.Serve(t, membranetest.Answer{Status: 307, Header: http.Header{"Location": {"http://other.example/"}}})
	long := membranetest.Serve(t, membranetest.Answer{Body: stream(t, start()) + strings.Repeat(":"+strings.Repeat("x", 1<<20)+"\n", 65)})
	wide := membranetest.Serve(t, membranetest.Answer{Body: "data: " + strings.Repeat("x", 40<<20)})
	for _, c := range []struct {
		name, url string
		via       http.RoundTripper
		kind      membrane.Kind
		text      string
	}{
		{"refused", "http://127.0.0.1:1", nil, membrane.Network, "no connection to 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused"},
		{"no such host", "http://localhost", transport(func(*http.Request) (*http.Response, error) {
			return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "api.example", IsNotFound: true}}
		}), membrane.Network, "the host api.example was not found: check the base URL and the network"},
		{"the key in an error", "http://localhost", transport(func(*http.Request) (*http.Response, error) {
			return nil, errors.New("proxy said: Bearer " + secret)
		}), membrane.Network, "no connection to localhost: proxy said: Bearer [the API key]: check the base URL"},
		{"broken off", closed.URL, nil, membrane.Network, "the connection broke off in the middle of the answer"},
		{"sent elsewhere", away.URL, nil, membrane.InvalidRequest, "check the base URL http://127.0.0.1:"},
		{"without end", long.URL, nil, membrane.InvalidRequest, "the answer is longer than"},
		{"one event without end", wide.URL, nil, membrane.InvalidRequest, "an event of the stream is too long: it has more than 16777216 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, c.url, func(cfg *anthropic.Config) {
				if c.via != nil {
					cfg.HTTPClient = &http.Client{Transport: c.via}
				}
			})
			e := failed(t, m, t.Context())
			if e.Kind != c.kind || !strings.HasPrefix(e.Text, c.text) || e.Model != "anthropic/claude-test" {
				t.Errorf("%v, want %s: %s", e, c.kind, c.text)
			}
			if e.Err != nil && strings.Contains(e.Err.Error(), secret) {
				t.Errorf("the error underneath holds the key: %v", e.Err)
			}
		})
	}
}

// What a stored head asks for decides over the headers, also after a restart with another Config.
func TestStreamHeaders(t *testing.T) {
	t.Parallel()
	server := membranetest.Serve(t)
	for _, c := range []struct {
		head  string
		betas []string
		want  []string
	}{
		{`{"messages":[`, nil, nil},
		{`{"messages":[`, []string{"a-1", "b-2"}, []string{"a-1", "b-2"}},
		{`{"thinking":{"block_binding":{}},"messages":[`, []string{"a-1"}, []string{"a-1", "thinking-binding-controls-2026-08-01"}},
	} {
		server.Add(membranetest.Answer{Body: stream(t, start()+end("end_turn"))})
		m := newModel(t, server.URL+"/base/", func(cfg *anthropic.Config) { cfg.Betas = c.betas })
		play(t, m, membrane.Request{Head: []byte(c.head), Tail: []byte("]}")})
		requests := server.Requests()
		last := requests[len(requests)-1]
		if diff := cmp.Diff(c.want, last.Header.Values("Anthropic-Beta")); diff != "" {
			t.Error(diff)
		}
		if last.Path != "/base/v1/messages" || last.Header.Get("Content-Type") != "application/json" || last.Header.Get("Anthropic-Version") == "" {
			t.Errorf("%s %v", last.Path, last.Header)
		}
	}
}

// The environment says nothing: neither of another server nor of another key.
func TestStreamIgnoresTheEnvironment(t *testing.T) {
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "other")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Other: 1")
	var asked *http.Request
	m, err := anthropic.New("claude-test", anthropic.Config{APIKey: secret, HTTPClient: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
		asked = r
		return nil, io.EOF
	})}})
	if err != nil {
		t.Fatal(err)
	}
	_ = failed(t, m, t.Context())
	if asked == nil || asked.URL.String() != "https://api.anthropic.com/v1/messages" || asked.Header.Get("Authorization") != "Bearer "+secret || asked.Header.Get("X-Other") != "" {
		t.Errorf("%+v", asked)
	}
}

func TestStreamLogsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	server := membranetest.Serve(t, membranetest.Answer{Body: stream(t, start()+`{"type":"weather"}`+"\n"+end("end_turn"))})
	m := newModel(t, server.URL, func(c *anthropic.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	play(t, m, request(t, m, ""))
	if !strings.Contains(log.String(), "type=weather") {
		t.Errorf("log: %s", &log)
	}
}

// Where a round is so long that the provider would lose what it keeps, the answer carries a marker: on
// a block that can carry one, near enough to what was before, and at most twice.
func TestCacheMarkers(t *testing.T) {
	t.Parallel()
	calls := func(n, from int) string {
		var out strings.Builder
		for i := range n {
			out.WriteString(call(from+i, fmt.Sprintf("toolu_%02d", i), "git", "{}"))
		}
		return out.String()
	}
	thoughts := func(n int) string {
		var out strings.Builder
		for i := range n {
			out.WriteString(block(i, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"signature_delta","signature":"s"}`))
		}
		return out.String()
	}
	const short = `"cache_control":{"type":"ephemeral"}`
	for _, c := range []struct {
		name, cache, answer, messages, mark string
		want                                []int // the blocks that carry a marker
	}{
		{name: "short", answer: calls(9, 0)},
		{name: "ten calls and ten results", answer: calls(10, 0), mark: short, want: []int{9}},
		{name: "thirty", answer: calls(30, 0), mark: short, want: []int{17}},
		{name: "an hour for the head", cache: anthropic.CacheLong, answer: calls(30, 0), mark: short, want: []int{17}},
		{name: "no cache", cache: anthropic.CacheOff, answer: calls(30, 0)},
		{name: "thinking carries none", answer: thoughts(20) + calls(20, 20)},
		{name: "text does", answer: say(0, "a") + calls(30, 1), mark: short, want: []int{17}},
		{name: "once before", messages: `{` + short + `}`, answer: calls(30, 0), mark: short, want: []int{17}},
		{name: "twice before", messages: `{` + short + `},{` + short + `}`, answer: calls(30, 0)},
		{name: "a text that speaks of it", messages: `{"text":"{\"cache_control\":{\"type\":\"ephemeral\"}} {\"cache_control\":{\"type\":\"ephemeral\"}}"}`, answer: calls(30, 0), mark: short, want: []int{17}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := membranetest.Serve(t, membranetest.Answer{Body: stream(t, start()+c.answer+end("tool_use"))})
			m := newModel(t, server.URL, func(cfg *anthropic.Config) { cfg.Cache = c.cache })
			var fragment struct{ Content []json.RawMessage }
			for e, err := range m.Stream(t.Context(), request(t, m, c.messages)) {
				if err != nil {
					t.Fatal(err)
				}
				if done, ok := e.(membrane.Done); ok {
					if err := json.Unmarshal(done.Fragment, &fragment); err != nil {
						t.Fatal(err)
					}
				}
			}
			var got []int
			for i, b := range fragment.Content {
				if strings.Contains(string(b), "cache_control") {
					got = append(got, i)
					if !strings.HasSuffix(string(b), ","+c.mark+"}") {
						t.Errorf("block %d: %s", i, b)
					}
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("markers on %v, want %v", got, c.want)
			}
		})
	}
}

// counted counts how often it is closed.
type counted struct {
	io.Reader
	closed int
}

func (c *counted) Close() error { c.closed++; return nil }

// However an answer ends, its connection is given back.
func TestStreamClosesTheBody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		kind   string
		body   string
	}{
		"whole":      {200, "text/event-stream", stream(t, start()+say(0, "Hello")+end("end_turn"))},
		"broken off": {200, "text/event-stream", stream(t, start())},
		"unreadable": {200, "text/event-stream", "data: {\n\n"},
		"no stream":  {200, "application/json", "{}"},
		"an error":   {500, "application/json", "{}"},
	} {
		body := &counted{Reader: strings.NewReader(c.body)}
		m := newModel(t, "http://localhost", func(cfg *anthropic.Config) {
			cfg.HTTPClient = &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: c.status, Header: http.Header{"Content-Type": {c.kind}}, Body: body, Request: r}, nil
			})}
		})
		play(t, m, request(t, m, ""))
		if body.closed == 0 {
			t.Errorf("%s: the body was not closed", name)
		}
	}
}
