package execute

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/weir-run/weir/tool"
)

// Defaults of one call.
const (
	// DefaultTimeout bounds a call whose tool sets no limit of its own.
	DefaultTimeout = 120 * time.Second
	// DefaultGrace is how long a call that was told to stop may take to return.
	DefaultGrace = 2 * time.Second
)

// Env is what surrounds one call.
type Env struct {
	// Running is what the tool may know; Run fills in Call, Progress and Spool.
	Running tool.Running
	// Timeout is the default limit of a call; 0 means [DefaultTimeout].
	Timeout time.Duration
	// Grace is how long a stopped call may take to return; 0 means [DefaultGrace].
	Grace time.Duration
	// Progress hears what the tool reports; nil is nobody.
	Progress func(text string)
	// Spool makes the place for streamed output; nil when none can be had.
	Spool func() tool.Spool
	// Late hears the result of a body that returned only after it was given up; nil is nobody.
	Late func(Ran)
}

// Outcome says how a body ended.
type Outcome string

// The outcomes of a body.
const (
	Done      Outcome = "done"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
)

// Ran is what one run of a body gave.
type Ran struct {
	Result  tool.Result
	Outcome Outcome
	// Fatal ends the turn after the call is answered; nil otherwise.
	Fatal error
	// Stack is the stack of a panic.
	Stack string
	// Duration is how long the body ran.
	Duration time.Duration
	// Abandoned says that the body was still running when its time and its grace were over.
	Abandoned bool
}

// errIdle and errAbsolute tell the two limits of a call apart.
var (
	errIdle     = errors.New("no progress")
	errAbsolute = errors.New("time is up")
)

// Run runs the body of a prepared call to its end, its limit, or the end of ctx plus a grace time,
// whichever is first, also when the tool ignores its context. It never panics and always answers.
func Run(ctx context.Context, p Prepared, env Env) Ran {
	if p.Refusal != nil {
		return Ran{Result: *p.Refusal, Outcome: Failed}
	}
	began := time.Now()
	body, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	idle := newIdle(p.Tool.Idle)
	defer idle.stop()

	r := env.Running
	r.Call = p.Call
	r.Spool = env.Spool
	r.Progress = func(text string) {
		idle.reset()
		if env.Progress != nil && body.Err() == nil {
			env.Progress(text)
		}
	}
	done := make(chan Ran, 1)
	go func() { done <- call(tool.WithCall(body, r), p) }()

	limit := p.Tool.Timeout
	if limit <= 0 {
		limit = either(env.Timeout, DefaultTimeout)
	}
	absolute := time.NewTimer(limit)
	defer absolute.Stop()
	var why error
	select {
	case ran := <-done:
		if ran.Outcome == Cancelled && ran.Fatal == nil && ctx.Err() != nil {
			// The cancel and the body's own word of it came together: which was seen first decides nothing.
			return ended(stopped(p, context.Cause(ctx), limit), began)
		}
		return ended(ran, began)
	case <-absolute.C:
		why = errAbsolute
	case <-idle.fired():
		why = errIdle
	case <-ctx.Done():
		why = context.Cause(ctx)
	}
	stop(why)
	grace := time.NewTimer(either(env.Grace, DefaultGrace))
	defer grace.Stop()
	select {
	case ran := <-done:
		if ran.Outcome == Done || ran.Fatal != nil || ran.Stack != "" {
			return ended(ran, began) // it ended after all; what it did is the truth
		}
		return ended(stopped(p, why, limit), began)
	case <-grace.C:
	}
	if env.Late != nil {
		go func() { env.Late(ended(<-done, began)) }()
	}
	given := stopped(p, why, limit)
	given.Abandoned = true
	return ended(given, began)
}

func ended(r Ran, began time.Time) Ran {
	r.Duration = time.Since(began)
	return r
}

func either(a, b time.Duration) time.Duration {
	if a > 0 {
		return a
	}
	return b
}

// stopped words the result of a call that did not end by itself. Only limits are named, never measured
// times, so that the text is the same on every machine.
func stopped(p Prepared, why error, limit time.Duration) Ran {
	tail := "It may have taken effect."
	if p.Tool.ReadOnly {
		tail = "It changes nothing, so it can be called again."
	}
	switch {
	case errors.Is(why, errAbsolute):
		return Ran{Outcome: Failed, Result: tool.Errorf("%s was stopped: it ran longer than its limit of %s. %s", p.Call.Name, limit, tail)}
	case errors.Is(why, errIdle):
		return Ran{Outcome: Failed, Result: tool.Errorf("%s was stopped: it reported no progress for %s. %s", p.Call.Name, p.Tool.Idle, tail)}
	}
	return Ran{Outcome: Cancelled, Result: tool.Errorf("%s was cancelled before it ended. %s", p.Call.Name, tail)}
}

// call runs the body and turns its three endings into a result.
func call(ctx context.Context, p Prepared) (ran Ran) {
	defer func() {
		if v := recover(); v != nil {
			ran = Ran{
				Result:  tool.Errorf("%s failed: it panicked: %s", p.Call.Name, firstLine(fmt.Sprint(v))),
				Outcome: Failed,
				Stack:   string(debug.Stack()),
			}
		}
	}()
	result, err := p.Tool.Run(ctx, p.Call)
	if err == nil {
		outcome := Done
		if result.IsError {
			outcome = Failed
		}
		return Ran{Result: result, Outcome: outcome}
	}
	ran = Ran{Outcome: Failed, Result: tool.Error(text(err))}
	if tool.IsFatal(err) {
		ran.Fatal = err
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		ran.Outcome = Cancelled
	}
	return ran
}

// text gives an error's text; no error text is empty.
func text(err error) string {
	if s := strings.TrimSpace(err.Error()); s != "" {
		return err.Error()
	}
	return fmt.Sprintf("the tool failed with an error of type %T that has no text", err)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if line == "" {
		return "with a value that has no text"
	}
	if r := []rune(line); len(r) > 500 {
		line = string(r[:500]) + "…"
	}
	return line
}

// idleTimer fires when nothing was reported for a while; with a limit of 0 it never fires.
type idleTimer struct {
	mu    sync.Mutex
	timer *time.Timer
	limit time.Duration
}

func newIdle(limit time.Duration) *idleTimer {
	if limit <= 0 {
		return &idleTimer{}
	}
	return &idleTimer{timer: time.NewTimer(limit), limit: limit}
}

func (i *idleTimer) fired() <-chan time.Time {
	if i.timer == nil {
		return nil
	}
	return i.timer.C
}

func (i *idleTimer) reset() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.timer != nil {
		i.timer.Reset(i.limit)
	}
}

func (i *idleTimer) stop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.timer != nil {
		i.timer.Stop()
	}
}
