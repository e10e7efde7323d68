package realm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weir-run/weir/scripting/internal/lower"
)

// engine is a JavaScript engine as the loop sees it: one realm for one script. Only Interrupt may be called
// while another method runs.
type engine interface {
	// Start runs a lowered script until it waits for something.
	Start(p lower.Program) error
	// Turn runs one job and then every job that it made ready.
	Turn(job func() error) error
	// Main says whether the script's own function has come to its end, and whether it returned a value.
	Main() (settled, valued bool)
	// Outcome gives the value and what was off.
	Outcome() Outcome
	// Interrupt ends what runs, with a reason, as soon as the engine can.
	Interrupt(reason error)
	// Stopped turns an error of Start or Turn into the outcome of a run that it ended.
	Stopped(err error) Outcome
}

// errNever is the end of a script that waits while nothing is in flight.
var errNever = errors.New("the script waits for a promise that never settles: no tool call and no timer is pending")

// errUsed is the outcome of a second script in one realm.
var errUsed = errors.New("the realm has had its script: each takes one")

func (p *Prepared) run(ctx context.Context, s Script, h Host) (out Outcome) {
	s.Limits = s.Limits.filled()
	defer func() {
		if p := recover(); p != nil {
			out = Outcome{Failed: true, Failure: oneLine(fmt.Sprintf("the engine could not go on: %v", p))}
		}
	}()
	if err := lower.Check(s.Code, MaxCode); err != nil {
		return Outcome{Failed: true, Failure: err.Error()}
	}
	program, err := lower.Lower(s.Code)
	if err != nil {
		return Outcome{Failed: true, Failure: oneLine(err.Error())}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := newLoop(h)
	defer close(l.done)
	vm, err := p.take()
	if err == nil {
		err = vm.begin(ctx, s, l)
	}
	if err != nil {
		return Outcome{Failed: true, Failure: oneLine(err.Error())}
	}
	return l.run(ctx, vm, program)
}

// take gives the realm away, once.
func (p *Prepared) take() (*vm, error) {
	vm, err := p.vm, p.err
	p.vm, p.err = nil, errUsed
	return vm, err
}

func (l Limits) filled() Limits {
	if l.Stack <= 0 {
		l.Stack = 8000
	}
	if l.Depth <= 0 {
		l.Depth = 1000
	}
	if l.InnerChars <= 0 {
		l.InnerChars = 20_000_000
	}
	if l.Heap <= 0 {
		l.Heap = 512 << 20
	}
	if l.Timers <= 0 {
		l.Timers = 10_000
	}
	return l
}

// reply is the answer of a call on its way back to the loop.
type reply struct {
	call   *flight
	answer Answer
	err    error
}

// flight is a call of a tool that has not been answered.
type flight struct {
	name   string
	at     string
	settle func(Answer) error
}

// launch runs a call on a goroutine of its own; its answer comes back through the loop.
func (l *loop) launch(ctx context.Context, name, at string, args json.RawMessage, settle func(Answer) error) {
	f := &flight{name: name, at: at, settle: settle}
	l.flights = append(l.flights, f)
	wait := func() (Answer, error) { return l.host.Call(ctx, name, args) }
	if h, ok := l.host.(Beginner); ok {
		wait = h.Begin(ctx, name, args)
	}
	go func() {
		a, err := wait()
		select {
		case l.replies <- reply{f, a, err}:
		case <-l.done:
		}
	}()
}
