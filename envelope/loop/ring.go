// Package loop is to see calls that go round in circles; pure.
//
// A conversation has one [Ring]. Before a step runs, [Ring.Next] says whether it should; afterwards
// [Ring.Observe] takes it in and says what to tell the model. No progress is the same call with the same
// result; errors count; circles of one to three steps are seen.
package loop

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"
)

// What a number of repeats leads to.
const (
	// Size is how many steps a ring holds.
	Size = 20
	// WarnAt is the repeat at which the model is warned and other tools are suggested.
	WarnAt = 3
	// ReuseAt is the one at which a read-only call is answered from the one before, without running.
	ReuseAt = 5
	// EndAt is the one at which the turn ends.
	EndAt = 8
	// ChangingAt is the one at which the same call with changing results is warned of, and calls of one
	// tool that all fail in the same way, whatever their arguments.
	ChangingAt = 10
	// Burst is the sliding time within which WarnAt repeats are one.
	Burst = 10 * time.Second
	// longest is the longest circle in steps.
	longest = 3
)

// Call is one call of a step.
type Call struct {
	// Tool is its name.
	Tool string
	// Identity and Result are made by [Identity] and [ResultOf]; before the call has run Result is not
	// read.
	Identity, Result Key
	// ReadOnly and Pollable are those of the tool. A call that is Pollable is meant to be repeated: it is
	// warned of in a burst, and nothing else.
	ReadOnly, Pollable bool
	// IsError marks a failure; a write that failed wrote nothing.
	IsError bool
	// Writes are what the call wrote, Depends what its result depends on: paths, or "*" for everything.
	Writes, Depends []string
}

// Step is what a model asked for in one answer: one call, or several that run beside each other, of which
// the order does not count.
type Step struct {
	Calls []Call
	// At is the monotonic time since some start, the same for all steps of a ring.
	At time.Duration
}

// Action is what to do with a step.
type Action uint8

// The actions, in the order of their severity.
const (
	// Go runs it, and says nothing.
	Go Action = iota
	// Warn runs it, and warns in the result.
	Warn
	// Reuse answers the read-only calls from the step before without running them, and warns.
	Reuse
	// End ends the turn; Reason says why. Where there is no turn to end, it is an error result.
	End
)

// Verdict is what a ring says of a step.
type Verdict struct {
	Action Action
	// Repeats is how often the circle was gone round, this time included; Cycle how many steps it has.
	Repeats, Cycle int
	// Burst: the last WarnAt repeats were within a sliding ten seconds.
	Burst bool
	// Changing: the calls are the same and their results are not.
	Changing bool
	// Failing: the calls differ, and all of them fail in the same way.
	Failing bool
	// Warning is the text for the model, Reason the one for the end of the turn; empty when there is none.
	Warning, Reason string
	// Repeated are the names of the tools of the circle, sorted.
	Repeated []string
}

// entry is a step as the ring holds it.
type entry struct {
	call, full, failure Key // failure is zero where a call of it did not fail
	at                  time.Duration
	calls               []Call
}

// Ring is the memory of one conversation: its last [Size] steps, and how long each circle has lasted. The
// zero value is ready. It is not safe for concurrent use: a conversation takes one step at a time.
type Ring struct {
	held []entry
	// same counts, by the length of a circle less one, the steps that were the same as that many before;
	// alike those with the same calls, whatever they gave.
	same, alike [longest]int
	// failed counts the steps that failed as the one before did.
	failed int
}

// Rebuild makes the ring of stored steps, oldest first. Times are those that were stored, relative to any
// start.
func Rebuild(steps []Step) *Ring {
	r := &Ring{}
	for _, s := range steps {
		r.Observe(s)
	}
	return r
}

// Next says what to do with a step that has not run yet: End at the eighth repeat, Reuse at the fifth where
// every call of it is read-only, else Go. It changes nothing.
func (r *Ring) Next(s Step) Verdict {
	if len(s.Calls) == 0 || poll(s) {
		return Verdict{}
	}
	e := enter(s)
	for cycle := 1; cycle <= longest; cycle++ {
		at := len(r.held) - cycle
		// It goes on if it is the call that the circle has at this place; what it gives is not known yet.
		if at < 0 || r.held[at].call != e.call || r.same[cycle-1] < cycle {
			continue
		}
		repeats := (r.same[cycle-1]+1)/cycle + 1
		v := Verdict{Repeats: repeats, Cycle: cycle, Repeated: r.tools(cycle)}
		switch {
		case repeats >= EndAt:
			v.Action, v.Reason = End, v.reason()
			return v
		case repeats >= ReuseAt && readOnly(s):
			v.Action, v.Warning = Reuse, v.warning()
			return v
		}
	}
	return Verdict{}
}

// Previous is the step whose results answer this one where [Ring.Next] says Reuse: that of one circle
// before.
func (r *Ring) Previous(v Verdict) ([]Call, bool) {
	at := len(r.held) - v.Cycle
	if v.Cycle < 1 || at < 0 {
		return nil, false
	}
	return r.held[at].calls, true
}

// Observe takes in a step with its results and says what to tell the model. A write that the ring has not
// seen before, and that touches what a step of it depends on, makes it forget all of them.
func (r *Ring) Observe(s Step) Verdict {
	if len(s.Calls) == 0 {
		return Verdict{}
	}
	e := enter(s)
	if r.isReset(s, e) {
		*r = Ring{}
	}
	for cycle := 1; cycle <= longest; cycle++ {
		at := len(r.held) - cycle
		r.same[cycle-1] = goOn(r.same[cycle-1], at >= 0 && r.held[at].full == e.full)
		r.alike[cycle-1] = goOn(r.alike[cycle-1], at >= 0 && r.held[at].call == e.call)
	}
	last := len(r.held) - 1
	r.failed = goOn(r.failed, last >= 0 && e.failure != Key{} && r.held[last].failure == e.failure)
	r.held = append(r.held, e)
	if len(r.held) > Size {
		r.held = slices.Delete(r.held, 0, 1)
	}
	return r.judge(s)
}

func goOn(n int, same bool) int {
	if same {
		return n + 1
	}
	return 0
}

// judge says what the newest step means.
func (r *Ring) judge(s Step) Verdict {
	for cycle := 1; cycle <= longest; cycle++ {
		v := Verdict{Repeats: r.same[cycle-1]/cycle + 1, Cycle: cycle, Repeated: r.tools(cycle)}
		if v.Repeats < WarnAt {
			continue
		}
		v.Burst = r.burst(cycle)
		if poll(s) {
			if !v.Burst {
				continue
			}
			v.Action, v.Warning = Warn, v.warning()
			return v
		}
		v.Action, v.Warning = Warn, v.warning()
		switch {
		case v.Repeats >= EndAt:
			v.Action, v.Reason = End, v.reason()
		case v.Repeats >= ReuseAt && readOnly(s):
			v.Action = Reuse
		}
		return v
	}
	for cycle := 1; cycle <= longest && !poll(s); cycle++ {
		if n := r.alike[cycle-1]/cycle + 1; n >= ChangingAt {
			v := Verdict{Action: Warn, Repeats: n, Cycle: cycle, Changing: true, Repeated: r.tools(cycle)}
			v.Warning = v.warning()
			return v
		}
	}
	if n := r.failed + 1; n >= ChangingAt && !poll(s) {
		v := Verdict{Action: Warn, Repeats: n, Cycle: 1, Failing: true, Repeated: r.tools(1)}
		v.Warning = v.warning()
		return v
	}
	return Verdict{}
}

// burst reports whether the last WarnAt rounds of a circle ended within a sliding ten seconds.
func (r *Ring) burst(cycle int) bool {
	first := len(r.held) - 1 - (WarnAt-1)*cycle
	if first < 0 {
		return false
	}
	took := r.held[len(r.held)-1].at - r.held[first].at
	return took >= 0 && took <= Burst // a time before the one before is another start, not a burst
}

// isReset reports whether a step wrote what a step of the ring depends on. A write that the ring has seen
// with the same result is no news.
func (r *Ring) isReset(s Step, e entry) bool {
	for _, h := range r.held {
		if h.full == e.full {
			return false
		}
	}
	for _, c := range s.Calls {
		if c.ReadOnly || c.IsError || len(c.Writes) == 0 {
			continue
		}
		for _, h := range r.held {
			for _, before := range h.calls {
				if touches(c.Writes, before.Depends) {
					return true
				}
			}
		}
	}
	return false
}

// tools are the names of the tools of the last steps.
func (r *Ring) tools(cycle int) (names []string) {
	for _, h := range r.held[max(len(r.held)-cycle, 0):] {
		for _, c := range h.calls {
			if !slices.Contains(names, c.Tool) {
				names = append(names, c.Tool)
			}
		}
	}
	slices.Sort(names)
	return names
}

// enter sorts the calls of a step and hashes them.
func enter(s Step) entry {
	e := entry{at: s.At, calls: slices.Clone(s.Calls)}
	slices.SortStableFunc(e.calls, func(a, b Call) int {
		if n := bytes.Compare(a.Identity[:], b.Identity[:]); n != 0 {
			return n
		}
		return bytes.Compare(a.Result[:], b.Result[:])
	})
	var call, full, failure []byte
	failed := true
	for _, c := range e.calls {
		failed = failed && c.IsError
		failure = append(append(append(failure, c.Tool...), 0), c.Result[:]...)
		call = append(call, c.Identity[:]...)
		full = append(append(full, c.Identity[:]...), c.Result[:]...)
	}
	e.call, e.full = sum("calls", call), sum("step", full)
	if failed {
		e.failure = sum("failure", failure)
	}
	return e
}

func poll(s Step) bool {
	return !slices.ContainsFunc(s.Calls, func(c Call) bool { return !c.Pollable })
}

func readOnly(s Step) bool {
	return !slices.ContainsFunc(s.Calls, func(c Call) bool { return !c.ReadOnly })
}

// warning is the text for the model. It depends on nothing but the verdict.
func (v Verdict) warning() string {
	what := v.what()
	switch {
	case v.Failing:
		return fmt.Sprintf("%d calls of %s in a row failed in the same way, whatever their arguments: the cause is elsewhere, so do something else", v.Repeats, v.names())
	case v.Changing:
		return fmt.Sprintf("%s was made %d times in a row, each time with another result: if you wait for something, wait longer between calls", what, v.Repeats)
	case v.Burst:
		return fmt.Sprintf("%s gave the same result %d times in a row, the last three within 10 s: run it once in the background, or wait, before you make it again", what, v.Repeats)
	}
	return fmt.Sprintf("%s gave the same result %d times in a row: repeating it changes nothing, so do something else", what, v.Repeats)
}

func (v Verdict) reason() string {
	return fmt.Sprintf("%s gave the same result %d times in a row, so the turn was ended", v.what(), v.Repeats)
}

func (v Verdict) what() string {
	if v.Cycle > 1 {
		return fmt.Sprintf("the same circle of %d steps (%s)", v.Cycle, v.names())
	}
	return "the same call of " + v.names()
}

// names are the first tools of the circle.
func (v Verdict) names() string {
	var names []string
	for _, name := range v.Repeated[:min(len(v.Repeated), 3)] {
		names = append(names, fmt.Sprintf("%.64s", name))
	}
	if len(v.Repeated) > 3 {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// Others are at most three tools to suggest instead: of those that are preferred, else of those that are
// offered, in their order, those that are offered and are none of the circle.
func (v Verdict) Others(preferred, offered []string) (names []string) {
	for _, from := range [][]string{preferred, offered} {
		for _, name := range from {
			if len(names) < 3 && slices.Contains(offered, name) && !slices.Contains(v.Repeated, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			return names
		}
	}
	return nil
}
