package agent

import (
	"errors"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
)

// Retries of a request. A request is asked again only while nothing of its answer was shown.
const (
	maxTries   = 4
	firstPause = time.Second
	maxPause   = 60 * time.Second
)

// ask sends the announced request and gives the model's answer. When the run was cancelled meanwhile
// the turn has ended. An error leaves the turn open: it can be resumed.
func (d *drive) ask() (answer, error) {
	request := d.replay.request
	pause := firstPause
	for try := 1; ; try++ {
		began := time.Now()
		done, shown, err := d.once(request)
		if err == nil {
			return answer{Done: done, latency: time.Since(began)}, nil
		}
		if cancelled, stale := d.cancelled(); stale != nil {
			return answer{}, stale
		} else if cancelled {
			return answer{}, d.cancel(request, shown, d.replay.begin())
		}
		if shown != "" || try == maxTries || !retryable(err) {
			return answer{}, d.failed(request, shown, err)
		}
		d.wait(request, err, pause) // when the run ends meanwhile, the next try says so
		pause = min(2*pause, maxPause)
	}
}

// once plays one stream: the answer, and what was shown of it before it failed.
func (d *drive) once(request int) (done membrane.Done, said string, failed error) {
	var shown strings.Builder
	if err := d.ctx.Err(); err != nil {
		return membrane.Done{}, "", err
	}
	ctx, end := d.chat()
	defer func() { end(done, failed) }()
	for e, err := range d.a.model.Stream(ctx, d.replay.body()) {
		if err != nil {
			return membrane.Done{}, shown.String(), err
		}
		switch e := e.(type) {
		case membrane.TextDelta:
			shown.WriteString(e.Text)
			d.events <- TextDelta{Request: request, Text: e.Text}
		case membrane.ThinkingDelta:
			d.events <- ThinkingDelta{Request: request, Text: e.Text}
		case membrane.Done:
			return e, shown.String(), nil
		}
	}
	return membrane.Done{}, shown.String(), &membrane.Error{
		Kind: membrane.Network, Model: d.a.model.Name(), Text: "the answer ended in the middle",
	}
}

func retryable(err error) bool {
	var e *membrane.Error
	if !errors.As(err, &e) {
		return false
	}
	switch e.Kind {
	case membrane.RateLimited, membrane.Overloaded, membrane.Network, membrane.Timeout:
		return true
	}
	return false
}

// tooLong reports whether a request failed because the model's context is full.
func tooLong(err error) bool {
	var e *membrane.Error
	return errors.As(err, &e) && e.Kind == membrane.ContextTooLong
}

// wait pauses before another try, for as long as the provider asked, or with up to a quarter of chance so
// that many clients do not come back at the same moment.
func (d *drive) wait(request int, err error, pause time.Duration) {
	pause += rand.N(pause / 4)
	kind := ""
	var e *membrane.Error
	if errors.As(err, &e) {
		kind = string(e.Kind)
		if e.RetryAfter > 0 {
			pause = min(e.RetryAfter, maxPause)
		}
	}
	d.live(Retrying{Request: request, Kind: kind, Text: clip(err.Error(), 500), Wait: pause})
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.ctx.Done():
	}
}

// failed stores that a request got no answer and gives the run's error.
func (d *drive) failed(request int, shown string, err error) error {
	kind := "failed"
	var e *membrane.Error
	if errors.As(err, &e) {
		kind = string(e.Kind)
	}
	p := d.replay.begin()
	p.outcome(kind, history.Usage{}, 0)
	p.append.Events = append(p.append.Events, event(kindRequestFailed, RequestFailed{
		Request: request, Kind: kind, Text: clip(err.Error(), 500), Partial: shown,
	}))
	if stored := d.put(p); stored != nil {
		return errors.Join(err, stored)
	}
	return err
}

// clean makes a text valid UTF-8 before anything of it is stored.
func clean(s string) string {
	valid, _ := canon.CleanUTF8(s)
	return valid
}

// clip cuts a text for an event at n characters.
func clip(s string, n int) string {
	r := []rune(clean(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n]) + "…"
}
