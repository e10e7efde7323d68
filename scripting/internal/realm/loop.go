package realm

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-run/weir/scripting/internal/lower"
)

// loop is the one goroutine on which a script runs: it takes answers and timers in order and gives each a
// turn of the engine.
type loop struct {
	host    Host
	replies chan reply
	done    chan struct{}
	flights []*flight
	timers  timers
	live    map[int64]*timer
	next    int64
	fatal   error
}

func newLoop(h Host) *loop {
	return &loop{host: h, replies: make(chan reply), done: make(chan struct{}), live: map[int64]*timer{}}
}

// run drives a script to its end. A script that returns a value ends there: calls that nobody waited for
// are cancelled and told. One that returns nothing ends when nothing is pending any more, so that
// main() without await still does its work.
func (l *loop) run(ctx context.Context, e engine, p lower.Program) Outcome {
	stop := context.AfterFunc(ctx, func() { e.Interrupt(context.Cause(ctx)) })
	defer stop()
	err := e.Start(p)
	for err == nil {
		settled, valued := e.Main()
		if settled && (valued || !l.pending()) {
			return l.remark(e.Outcome())
		}
		if !settled && len(l.flights) == 0 && len(l.live) == 0 {
			return e.Stopped(errNever)
		}
		err = l.wait(ctx, e)
	}
	if settled, valued := e.Main(); settled && valued && l.fatal == nil {
		return l.remark(e.Outcome())
	}
	return e.Stopped(err)
}

// pending says whether something is on its way that a finished script still waits for. Intervals do not
// keep it alive.
func (l *loop) pending() bool {
	if len(l.flights) > 0 {
		return true
	}
	for _, t := range l.live {
		if t.every < 0 {
			return true
		}
	}
	return false
}

// remark adds what was left behind to an outcome without a failure.
func (l *loop) remark(out Outcome) Outcome {
	if out.Failure != "" || len(l.flights) == 0 {
		return out
	}
	names := make([]string, 0, 3)
	for _, f := range l.flights[:min(3, len(l.flights))] {
		names = append(names, f.name+f.at)
	}
	more := ""
	if n := len(l.flights) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	out.Failure = fmt.Sprintf("returned while tool calls were pending, which were cancelled: %s%s; await them", strings.Join(names, ", "), more)
	return out
}

// wait gives the next answer or timer its turn; answers that have come go before timers that are due.
func (l *loop) wait(ctx context.Context, e engine) error {
	select {
	case r := <-l.replies:
		return l.take(e, r)
	default:
	}
	var due <-chan time.Time
	if len(l.timers) > 0 {
		d := time.Until(l.timers[0].due)
		if d <= 0 {
			return l.fire(e)
		}
		t := time.NewTimer(d)
		defer t.Stop()
		due = t.C
	}
	select {
	case r := <-l.replies:
		return l.take(e, r)
	case <-due:
		return l.fire(e)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *loop) take(e engine, r reply) error {
	i := slices.Index(l.flights, r.call)
	l.flights = slices.Delete(l.flights, i, i+1)
	if r.err != nil {
		l.fatal = r.err
		return r.err
	}
	return e.Turn(func() error { return r.call.settle(r.answer) })
}

func (l *loop) fire(e engine) error {
	t := heap.Pop(&l.timers).(*timer)
	if t.every >= 0 {
		t.due = time.Now().Add(max(t.every, time.Millisecond))
		heap.Push(&l.timers, t)
	} else {
		delete(l.live, t.id)
	}
	return e.Turn(t.job)
}

// after adds a timer; every is negative for one that fires once.
func (l *loop) after(d, every time.Duration, job func() error) int64 {
	l.next++
	t := &timer{id: l.next, due: time.Now().Add(d), every: every, job: job}
	l.live[t.id] = t
	heap.Push(&l.timers, t)
	return t.id
}

func (l *loop) clear(id int64) {
	if t := l.live[id]; t != nil {
		heap.Remove(&l.timers, t.index)
		delete(l.live, id)
	}
}

type timer struct {
	id    int64
	due   time.Time
	every time.Duration
	job   func() error
	index int
}

// timers is a heap by time, then by age.
type timers []*timer

func (t timers) Len() int { return len(t) }

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].index, t[j].index = i, j
}

func (t *timers) Push(x any) {
	n := x.(*timer)
	n.index = len(*t)
	*t = append(*t, n)
}

func (t timers) Less(i, j int) bool {
	if t[i].due.Equal(t[j].due) {
		return t[i].id < t[j].id
	}
	return t[i].due.Before(t[j].due)
}

func (t *timers) Pop() any {
	old := *t
	last := old[len(old)-1]
	*t = old[:len(old)-1]
	return last
}
