package wire_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/wire"
)

// A request is sent again with the same bytes, after the pause that the provider asks for or one that
// doubles, and never once something was shown or when another try cannot help.
func TestRetry(t *testing.T) {
	t.Parallel()
	fail := func(status int, header ...string) membranetest.Answer {
		h := http.Header{"Date": {"Mon, 02 Nov 2026 10:00:00 GMT"}}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return membranetest.Answer{Status: status, Header: h}
	}
	good := membranetest.Answer{Body: "data: a\n\ndata: .\n\n"}
	const done = "a\ndone a\n"
	for _, c := range []struct {
		name    string
		answers []membranetest.Answer
		retry   wire.Retry
		want    string
		pauses  []time.Duration
	}{
		{"not asked for", []membranetest.Answer{fail(503)}, wire.Retry{}, "overloaded 503 ", nil},
		{"doubles with chance", []membranetest.Answer{fail(503), fail(500), fail(504), good}, wire.Retry{Tries: 4}, done, []time.Duration{1125 * time.Millisecond, 2250 * time.Millisecond, 4500 * time.Millisecond}},
		{"no more tries", []membranetest.Answer{fail(503), fail(503)}, wire.Retry{Tries: 2}, "overloaded 503 ", []time.Duration{1125 * time.Millisecond}},
		{"seconds", []membranetest.Answer{fail(429, "Retry-After", "3"), good}, wire.Retry{Tries: 2}, done, []time.Duration{3 * time.Second}},
		{"milliseconds", []membranetest.Answer{fail(429, "Retry-After-Ms", "30", "Retry-After", "9"), good}, wire.Retry{Tries: 2}, done, []time.Duration{30 * time.Millisecond}},
		{"a date", []membranetest.Answer{fail(429, "Retry-After", "Mon, 02 Nov 2026 10:00:20 GMT"), good}, wire.Retry{Tries: 2}, done, []time.Duration{20 * time.Second}},
		{"longer than the longest pause", []membranetest.Answer{fail(429, "Retry-After", "61")}, wire.Retry{Tries: 2}, "rate_limited 429 1m1s ", nil},
		{"longer than what is left", []membranetest.Answer{fail(429, "Retry-After", "40"), fail(429, "Retry-After", "40")}, wire.Retry{Tries: 9, Total: time.Minute}, "rate_limited 429 40s ", []time.Duration{40 * time.Second}},
		{"never beyond the longest pause", []membranetest.Answer{fail(500), fail(500), good}, wire.Retry{Tries: 3, First: 3 * time.Second, Max: 4 * time.Second}, done, []time.Duration{3375 * time.Millisecond, 4 * time.Second}},
		{"another try cannot help", []membranetest.Answer{fail(400)}, wire.Retry{Tries: 9}, "invalid_request 400 ", nil},
		{"a torn answer of which nothing was shown", []membranetest.Answer{{Body: "data: .", Break: true}, good}, wire.Retry{Tries: 2}, done, []time.Duration{1125 * time.Millisecond}},
		{"something was shown", []membranetest.Answer{{Body: "data: x\n\n", Break: true}}, wire.Retry{Tries: 9}, "x\nnetwork 0 ", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := membranetest.Serve(t, c.answers...)
			var slept, told []time.Duration
			c.retry.Rand = func() float64 { return 0.5 }
			c.retry.Sleep = func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil }
			c.retry.Told = func(err *membrane.Error, d time.Duration) {
				if err.Model != "test/m" {
					t.Errorf("told of %v", err)
				}
				told = append(told, d)
			}
			got := play(t, client(t, s.URL, func(cfg *wire.Config) { cfg.Retry = c.retry }), t.Context())
			if !strings.HasPrefix(got, c.want) || strings.Count(got, "\n") != max(1, strings.Count(c.want, "\n")) && !strings.HasPrefix(c.want, "x") {
				t.Errorf("%s; want %s", got, c.want)
			}
			if diff := cmp.Diff(c.pauses, slept); diff != "" {
				t.Errorf("pauses (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(slept, told); diff != "" {
				t.Errorf("told (-slept +told):\n%s", diff)
			}
			bodies := s.Bodies()
			if len(bodies) != len(c.answers) {
				t.Errorf("%d requests, want %d", len(bodies), len(c.answers))
			}
			for i, b := range bodies {
				if !bytes.Equal(bodies[0], b) {
					t.Errorf("try %d has another body: %s", i+1, b)
				}
			}
		})
	}
}

// A context that ends during a pause ends the request.
func TestRetryIsCancelled(t *testing.T) {
	t.Parallel()
	s := membranetest.Serve(t, membranetest.Answer{Status: 503})
	ctx, cancel := context.WithCancel(t.Context())
	retry := wire.Retry{Tries: 3, First: time.Hour, Max: time.Hour, Total: 2 * time.Hour, Told: func(*membrane.Error, time.Duration) { cancel() }}
	got := play(t, client(t, s.URL, func(cfg *wire.Config) { cfg.Retry = retry }), ctx)
	if !strings.HasPrefix(got, "overloaded 503 ") || len(s.Requests()) != 1 {
		t.Errorf("%d requests, %s", len(s.Requests()), got)
	}
}

func TestRetryable(t *testing.T) {
	t.Parallel()
	if wire.Retryable(errors.New("x")) || wire.Retryable(&membrane.Error{Kind: membrane.Auth}) || !wire.Retryable(&membrane.Error{Kind: membrane.Timeout}) {
		t.Error("only what may pass is retryable")
	}
}
