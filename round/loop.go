package round

import (
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weir-run/weir/envelope/loop"
	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/tool"
)

// EventLoop reports that calls go round in circles.
const EventLoop = "loop"

// maxSame is the longest text that is compared as such, in bytes; a longer one counts by its hash.
const maxSame = 64 << 10

// circle is what one conversation has done lately, as far as loops are concerned.
type circle struct {
	mu   sync.Mutex
	ring *loop.Ring
	// last is the last round in it; began is the zero of its clock.
	last  int
	began time.Time
	// latest are the results of calls by their identity.
	latest map[loop.Key]history.CallID
}

// watched is what was said of a round before it ran.
type watched struct {
	circle *circle
	step   loop.Step
	before loop.Verdict
}

// watch looks at the calls of a new round: whether they may run, are answered from before, or end the turn.
func (w *work) watch() error {
	if !w.settler.cfg.Loops || w.request.Refuse != "" {
		return nil
	}
	c := w.settler.circle(w.request.Conversation)
	c.mu.Lock()
	defer c.mu.Unlock()
	step := w.step()
	if c.ring == nil || c.last != w.n-1 && !w.beside {
		if err := w.recall(c, step); err != nil {
			return fmt.Errorf("read the last rounds: %w", err)
		}
	}
	w.watched = &watched{circle: c, step: step, before: c.ring.Next(step)}
	switch w.watched.before.Action {
	case loop.End:
		w.looped = w.watched.before.Reason
		for _, one := range w.calls {
			refusal := tool.Errorf("%s was not run: %s", one.prepared.Call.Name, w.looped)
			one.prepared.Refusal = &refusal
		}
	case loop.Reuse:
		for i, one := range w.calls {
			if id, ok := c.latest[step.Calls[i].Identity]; ok && one.prepared.Refusal == nil && one.prepared.Tool.ReadOnly {
				one.reuse = id
			}
		}
	}
	return nil
}

// step is the calls of this round as the ring sees them, before they have results.
func (w *work) step() loop.Step {
	s := loop.Step{}
	for _, c := range w.calls {
		s.Calls = append(s.Calls, seen(c.prepared.Call.Name, c.prepared.Call.Args, c.prepared.Tool))
	}
	return s
}

// seen is one call as a ring sees it, before it has a result. What a tool depends on and what it writes is not
// known, so it may be everything.
func seen(name string, args []byte, t tool.Tool) loop.Call {
	c := loop.Call{
		Tool: name, Identity: loop.Identity(name, args), ReadOnly: t.ReadOnly, Pollable: t.Pollable, Depends: []string{"*"},
	}
	if !t.ReadOnly {
		c.Writes = []string{"*"}
	}
	return c
}

// circle is the memory of one conversation.
func (s *Settler) circle(conversation string) *circle {
	s.circlesMu.Lock()
	defer s.circlesMu.Unlock()
	c := s.circles[conversation]
	if c == nil {
		const most = 256
		if len(s.circles) >= most { // what is forgotten is read from the store when it is needed again
			clear(s.circles)
		}
		c = &circle{began: s.cfg.Now(), latest: map[loop.Key]history.CallID{}}
		s.circles[conversation] = c
	}
	return c
}

// recall makes the memory of what is stored. Rounds before one that no call of this step was in cannot be
// in a circle with it, so mostly the stored calls are enough.
func (w *work) recall(c *circle, now loop.Step) error {
	c.ring, c.last, c.latest = &loop.Ring{}, w.n-1, map[loop.Key]history.CallID{}
	if w.n == 1 {
		return nil
	}
	calls, err := w.settler.store.CallsAfter(w.durable, w.request.Conversation, w.n-1-loop.Size)
	if err != nil {
		return err
	}
	known := false
	for _, one := range calls {
		for _, mine := range now.Calls {
			known = known || one.ID.Sub == 0 && loop.Identity(one.Tool, one.Args) == mine.Identity
		}
	}
	if !known {
		return nil
	}
	var steps []loop.Step
	for _, one := range calls {
		if one.ID.Sub > 0 || one.ID.Round >= w.n || one.State != history.CallAnswered {
			continue
		}
		r, err := w.settler.store.ResultOf(w.durable, w.request.Conversation, one.ID)
		if err != nil {
			return err
		}
		t, _ := w.settler.set.Tool(one.Tool)
		mine := seen(one.Tool, one.Args, t)
		text := ""
		if r.Bytes <= maxSame { // it may lie in a file, and is compared by its text all the same
			if text, _, err = w.text(&call{id: one.ID, record: r}); err != nil {
				w.settler.cfg.Logger.Warn("an earlier result is not compared", "result", one.ID.String(), "err", err)
			}
		}
		mine.Result, mine.IsError = sameAs(text, r), r.IsError
		c.latest[mine.Identity] = one.ID
		if one.ID.Index == 1 || len(steps) == 0 {
			steps = append(steps, loop.Step{At: one.Created.Sub(c.began)})
		}
		last := &steps[len(steps)-1]
		last.Calls = append(last.Calls, mine)
	}
	c.ring = loop.Rebuild(steps)
	return nil
}

// sameAs is what a call gave, for the comparison with what it gave before.
func sameAs(text string, r history.Result) loop.Key {
	if r.Bytes > maxSame {
		text = hex.EncodeToString(r.SHA256[:])
	}
	return loop.ResultOf(text, r.IsError)
}

// observe takes the round with its results in, and gives what the model is told of it.
func (w *work) observe() (string, []history.Event) {
	if w.watched == nil {
		return "", nil
	}
	c := w.watched.circle
	c.mu.Lock()
	defer c.mu.Unlock()
	step := w.watched.step
	step.At = w.settler.cfg.Now().Sub(c.began)
	for i, one := range w.calls {
		step.Calls[i].Result = sameAs(one.whole.Text, one.record)
		step.Calls[i].IsError = one.record.IsError
		if one.reuse == (history.CallID{}) {
			c.latest[step.Calls[i].Identity] = one.id
		}
	}
	c.last = max(c.last, w.n)
	v := c.ring.Observe(step)
	if w.looped != "" {
		v = w.watched.before
	}
	if v.Action == loop.Go {
		return "", nil
	}
	warning := v.Warning
	if others := v.Others(nil, w.settler.set.Names()); len(others) > 0 && warning != "" {
		warning = strings.TrimSuffix(warning, ".") + ". Other tools: " + strings.Join(others, ", ") + "."
	}
	return warning, []history.Event{event(EventLoop, looping{
		Round: w.n, Tools: v.Repeated, Repeats: v.Repeats, Cycle: v.Cycle, Burst: v.Burst, Ended: w.looped != "",
	})}
}

// looping is the data of [EventLoop].
type looping struct {
	Round   int      `json:"round"`
	Tools   []string `json:"tools"`
	Repeats int      `json:"repeats"`
	Cycle   int      `json:"cycle"`
	Burst   bool     `json:"burst,omitempty"`
	Ended   bool     `json:"ended,omitempty"`
}

// reused answers a read-only call from what it gave the last time, without running it; false when that
// cannot be had, and the call runs.
func (w *work) reused(c *call) bool {
	if c.reuse == (history.CallID{}) {
		return false
	}
	r, err := w.settler.store.ResultOf(w.durable, w.request.Conversation, c.reuse)
	if err != nil || r.Spill != nil {
		c.reuse = history.CallID{} // a long one is cheaper to make than to store again
		return false
	}
	given := tool.Result{Data: string(r.Whole), Structured: r.Structured, IsError: r.IsError}
	if r.IsError {
		given = tool.Error(string(r.Whole))
	}
	outcome := execute.Done
	if r.IsError {
		outcome = execute.Failed
	}
	w.whole(c, execute.Ran{Result: given, Outcome: outcome})
	return true
}
