package wire

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/weir-run/weir/membrane"
)

// Defaults of a [Retry].
const (
	// DefaultFirst is the pause before the second try.
	DefaultFirst = time.Second
	// DefaultMaxPause is the longest pause between two tries.
	DefaultMaxPause = time.Minute
	// DefaultTotal bounds the pauses of one request together.
	DefaultTotal = 5 * time.Minute
	// maxTries bounds the tries of one request.
	maxTries = 20
)

// Retry says when a request that failed is sent again. The zero value sends it once: an agent tries
// again by itself and tells of it, so this is for hosts with a loop of their own.
//
// A request is sent again only while nothing of its answer was given away, and only for a failure that
// may pass: see [Retryable]. A pause is what the provider asks for; otherwise it doubles from First to
// Max, with up to a quarter of chance on top, so that many clients do not come back at one moment. When
// the provider asks for more than Max, or for more than is left of Total, the error is given at once,
// with its RetryAfter.
type Retry struct {
	// Tries is how often a request is sent at most, the first time included; 0 means once, and more than
	// 20 means 20.
	Tries int
	// First, Max and Total are the defaults above where they are 0.
	First, Max, Total time.Duration
	// Told hears of each failure that is followed by another try; nil is nobody.
	Told func(err *membrane.Error, pause time.Duration)
	// Sleep waits; nil waits by the clock and gives the context's error when that ends first.
	Sleep func(ctx context.Context, d time.Duration) error
	// Rand gives chance in [0,1); nil is the process's.
	Rand func() float64
}

// Retryable reports whether the same request may succeed later: the kinds rate_limited, overloaded,
// network and timeout.
func Retryable(err error) bool {
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

// pauses hands out the pauses of one request.
type pauses struct {
	Retry
	try  int
	next time.Duration
	left time.Duration
}

func (r Retry) start() *pauses {
	if r.First <= 0 {
		r.First = DefaultFirst
	}
	if r.Max <= 0 {
		r.Max = DefaultMaxPause
	}
	if r.Total <= 0 {
		r.Total = DefaultTotal
	}
	if r.Sleep == nil {
		r.Sleep = sleep
	}
	if r.Rand == nil {
		r.Rand = rand.Float64
	}
	return &pauses{Retry: r, try: 1, next: min(r.First, r.Max), left: r.Total}
}

// again waits before the next try; false when there is none.
func (p *pauses) again(ctx context.Context, err *membrane.Error) bool {
	if p.try >= min(p.Tries, maxTries) || !Retryable(err) || ctx.Err() != nil {
		return false
	}
	pause := p.next + time.Duration(p.Rand()*float64(p.next)/4)
	pause = min(pause, p.Max)
	if err.RetryAfter > 0 {
		pause = err.RetryAfter
	}
	if pause > p.Max || pause > p.left {
		return false
	}
	p.try++
	p.left -= pause
	p.next = min(2*p.next, p.Max)
	if p.Told != nil {
		p.Told(err, pause)
	}
	return p.Sleep(ctx, pause) == nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
