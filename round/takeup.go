package round

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/tool"
)

// takeUp goes on with a round that is stored. One that is closed is given back; of one that is open,
// what has a result keeps it, what never started is run, and what was running is run again only where
// the tool allows it.
func (w *work) takeUp(found history.Round) (*Round, error) {
	if len(w.request.Calls) > 0 && digest(w.request) != found.Digest {
		return nil, fmt.Errorf("round %d, key %q: %w", found.N, found.Key, ErrOtherCalls)
	}
	w.n, w.request.Key = found.N, found.Key
	calls, err := w.settler.store.CallsOf(w.durable, w.request.Conversation, found.N)
	if err != nil {
		return nil, err
	}
	again, err := w.leaveInner(calls, found.Closed)
	if err != nil {
		return nil, err
	}
	for _, stored := range calls {
		if stored.ID.Sub > 0 {
			continue
		}
		c := &call{
			id: stored.ID, state: stored.State, subs: subs(calls, stored.ID.Index), attempt: stored.Attempt, outcome: stored.Outcome,
			prepared: w.settler.set.Prepare(tool.Call{ID: stored.ProviderID, Name: stored.Tool, Args: stored.Args}),
		}
		if c.prepared.Tool.Dispatches && again[stored.ID.Index] {
			c.prepared.Tool.Idempotent = true // all that it did may be done again
		}
		w.calls = append(w.calls, c)
		if stored.State == history.CallSettled || stored.State == history.CallAnswered {
			if err := w.loadResult(c); err != nil {
				return nil, err
			}
		}
	}
	if found.Closed {
		return w.stored(found)
	}
	if err := w.questions(); err != nil {
		return nil, err
	}
	return nil, w.again()
}

// leaveInner answers the inner calls that a crash left without a result, and says of which calls all inner
// ones may be made again.
func (w *work) leaveInner(calls []history.Call, closed bool) (map[int]bool, error) {
	again := map[int]bool{}
	for _, c := range calls {
		if c.ID.Sub == 0 {
			again[c.ID.Index] = true
		}
	}
	var left []*call
	for _, c := range calls {
		if c.ID.Sub == 0 {
			continue
		}
		t, _ := w.settler.set.Tool(c.Tool)
		if !t.Repeatable() && c.State != history.CallPending && c.State != history.CallWaiting {
			again[c.ID.Index] = false
		}
		if closed || c.State == history.CallSettled || c.State == history.CallAnswered {
			continue
		}
		one := &call{id: c.ID, state: c.State, attempt: c.Attempt, prepared: execute.Prepared{Call: tool.Call{Name: c.Tool, Args: c.Args}, Tool: t}}
		if c.State == history.CallRunning {
			w.unknown(one, "it was interrupted: the process stopped while it ran. It may have taken effect, and it was not repeated")
		} else {
			w.notStarted(one)
		}
		left = append(left, one)
	}
	if len(left) == 0 {
		return again, nil
	}
	return again, w.store(left)
}

// subs counts the inner calls of one call.
func subs(calls []history.Call, index int) int {
	last := 0
	for _, c := range calls {
		if c.ID.Index == index {
			last = max(last, c.ID.Sub)
		}
	}
	return last
}

// again prepares the calls of an interrupted round: it answers those whose outcome is unknown and marks
// those that are begun once more, so that the number of attempts is bounded over any number of crashes.
func (w *work) again() error {
	for _, c := range w.calls {
		if c.stored || c.prepared.Refusal != nil && c.state != history.CallRunning {
			continue
		}
		repeatable := c.prepared.Tool.Repeatable()
		switch {
		case c.state == history.CallRunning && !repeatable:
			w.unknown(c, "it was interrupted: the process stopped while it ran. It may have taken effect, and it was not repeated: find out before you call it again")
		case c.attempt >= MaxAttempts && (repeatable || c.state == history.CallRunning):
			w.unknown(c, fmt.Sprintf("it was begun %d times and the process stopped each time, so it is not begun again", c.attempt))
		}
	}
	for _, c := range w.calls {
		// A call that is begun once more counts as another attempt, which its start stores.
		if !c.stored && c.whole == nil && c.prepared.Tool.Repeatable() {
			c.attempt++
			c.unmarked = true
		}
	}
	var marks []history.Start
	for _, c := range w.atOnce() {
		c.state, c.unmarked = history.CallRunning, false
		marks = append(marks, history.Start{ID: c.id, Attempt: c.attempt, Now: w.settler.cfg.Now()})
	}
	if len(marks) == 0 || w.ctx.Err() != nil {
		return nil
	}
	return w.settler.store.StartCalls(w.durable, w.lease, marks)
}

// unknown answers a call that was running when the process stopped.
func (w *work) unknown(c *call, why string) {
	w.whole(c, execute.Ran{Outcome: execute.Failed, Result: tool.Errorf("%s has no result: %s.", c.prepared.Call.Name, why)})
	c.outcome = history.OutcomeUnknown
}

// leave answers the calls of an open round that its host does not come back to: nothing of it is run.
func (w *work) leave(open history.Round) error {
	left, stop := context.WithCancel(w.durable)
	stop()
	old := &work{
		settler: w.settler, ctx: left, durable: w.durable, lease: w.lease, slots: newSlots(1),
		request: Request{Conversation: w.request.Conversation, Turn: open.Turn},
	}
	if _, err := old.takeUp(open); err != nil {
		return err
	}
	if err := old.drive(); err != nil {
		return err
	}
	_, err := old.close()
	return err
}

// stored gives back a closed round, as it was shown.
func (w *work) stored(found history.Round) (*Round, error) {
	r := Round{N: found.N, Key: found.Key, Stored: true}
	for _, c := range w.calls {
		if !c.stored {
			return nil, fmt.Errorf("round %d is closed and %s has no result: %w", found.N, c.id, history.ErrCorrupt)
		}
		text := c.record.Shown
		if c.record.Same {
			text = c.record.Whole
		}
		var err error
		if c.images, err = Images(w.durable, w.settler.store, w.request.Conversation, c.record); err != nil {
			return nil, err
		}
		r.Results = append(r.Results, w.settled(c, string(text)))
	}
	return &r, nil
}

// loadResult reads the stored result of a call.
func (w *work) loadResult(c *call) error {
	record, err := w.settler.store.ResultOf(w.durable, w.request.Conversation, c.id)
	if errors.Is(err, history.ErrNotFound) {
		return fmt.Errorf("%s is settled and has no result: %w", c.id, history.ErrCorrupt)
	}
	if err != nil {
		return err
	}
	c.record, c.stored = record, true
	return nil
}
