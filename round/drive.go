package round

import (
	"context"
	"errors"
	"time"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tool"
)

// together is how long a result waits for others before it is stored alone: results that arrive within
// it share a commit. It only ever delays a write while other calls are still running.
const together = 2 * time.Millisecond

// drive runs what has to be run and stores each whole result as it arrives. Results that come together
// share a commit, and those that come last are left for the commit that closes the round.
func (w *work) drive() error {
	arrived := make(chan *call, len(w.calls))
	running := w.start(arrived)
	for running > 0 {
		batch := []*call{<-arrived}
		running--
		batch, running = w.collect(batch, running, arrived)
		if running == 0 && len(w.waiting()) == 0 {
			break // the closing commit carries these
		}
		if err := w.store(batch); err != nil {
			w.abandon(arrived, running, err)
			return err
		}
	}
	return nil
}

// collect adds what arrives within a moment.
func (w *work) collect(batch []*call, running int, arrived <-chan *call) ([]*call, int) {
	if running == 0 {
		return batch, 0
	}
	moment := time.NewTimer(together)
	defer moment.Stop()
	for running > 0 {
		select {
		case c := <-arrived:
			batch = append(batch, c)
			running--
		case <-moment.C:
			return batch, running
		}
	}
	return batch, running
}

// abandon lets the bodies that still run end without anybody waiting for them. What they give to a driver
// that was taken over is late.
func (w *work) abandon(arrived <-chan *call, running int, why error) {
	go func() {
		for range running {
			if c := <-arrived; c.ran && errors.Is(why, history.ErrStale) {
				w.recordLate(c.record)
			}
		}
	}()
}

// start begins every call that has no result yet and says how many will arrive.
func (w *work) start(arrived chan<- *call) int {
	first := map[*call]bool{}
	for _, c := range w.atOnce() {
		if c.free = w.slots.try(c.prepared.Tool); c.free != nil {
			first[c] = true
		}
	}
	running := 0
	for _, c := range w.calls {
		if c.whole != nil || c.stored {
			continue
		}
		running++
		go func() {
			w.one(c, first[c])
			arrived <- c
		}()
	}
	return running
}

// one brings one call to its whole result: wait for its turn and a slot, mark it, run it, convert it.
func (w *work) one(c *call, ready bool) {
	if w.request.Refuse != "" {
		w.whole(c, execute.Ran{Outcome: execute.Failed, Result: tool.Error(w.request.Refuse)})
		return
	}
	if c.prepared.Refusal != nil {
		w.whole(c, execute.Run(w.ctx, c.prepared, execute.Env{}))
		return
	}
	if w.reused(c) {
		if ready {
			c.free()
		}
		return
	}
	if !ready && !w.approved(c) {
		return
	}
	if !ready {
		if c.free = w.slots.take(w.ctx, c.prepared.Tool); c.free == nil {
			w.notStarted(c)
			return
		}
	}
	defer c.free()
	if w.ctx.Err() != nil {
		w.notStarted(c)
		return
	}
	if c.unmarked || (c.state != history.CallRunning && !c.prepared.Tool.Repeatable()) {
		mark := history.Start{ID: c.id, Attempt: c.attempt, Approval: c.granted(), Now: w.settler.cfg.Now()}
		if err := w.settler.store.StartCalls(w.durable, w.lease, []history.Start{mark}); err != nil {
			w.failed(c, err)
			return
		}
		c.state = history.CallRunning
	}
	c.inner = newInner(w, c)
	ran := w.run(w.ctx, c)
	c.inner.end()
	c.ran = !ran.Abandoned
	w.whole(c, ran)
}

// env is what surrounds a call.
func (w *work) env(c *call) execute.Env {
	cfg := w.settler.cfg
	report := func(p Progress) {
		if cfg.Notify != nil {
			p.Call, p.Tool = c.id, c.prepared.Tool.Name
			cfg.Notify(Notice{Progress: &p})
		}
	}
	report(Progress{Started: true})
	return execute.Env{
		Running: tool.Running{
			Conversation: w.request.Conversation, Round: w.n, Result: c.id.String(), Attempt: c.attempt,
			Key:     w.request.Conversation + "/" + c.id.String(),
			Room:    min(w.cap(c), max(MinCap, cfg.RoundChars/len(w.calls))),
			Offered: w.settler.set.Names(), Dispatch: c.dispatcher(),
		},
		Timeout: cfg.Timeout, Grace: cfg.Grace,
		Progress: func(text string) {
			if w.heard != nil {
				w.heard(text)
			}
			report(Progress{Text: text})
		},
		Spool: w.spool(c),
		Late:  func(r execute.Ran) { w.late(c, r) },
	}
}

// spool gives a tool the place for its output, made when it first asks for it.
func (w *work) spool(c *call) func() tool.Spool {
	return func() tool.Spool {
		if w.settler.cfg.Redact != nil {
			c.held.CompareAndSwap(nil, &heldOutput{})
			return c.held.Load()
		}
		name := w.name(c)
		made := spill.NewSpool(w.cap(c), func(ext string) (spill.Writer, error) {
			name.Ext = ext
			return w.settler.store.Spills().Create(w.durable, name)
		})
		if !c.spool.CompareAndSwap(nil, made) {
			made = c.spool.Load()
		}
		return made
	}
}

// cap is the inline cap of one call: the smallest of the call's own, the tool's and the round's.
func (w *work) cap(c *call) int {
	smallest := w.settler.cfg.MaxChars
	for _, own := range []int{c.prepared.Call.MaxChars, c.prepared.Tool.MaxChars} {
		if own > 0 {
			smallest = min(smallest, own)
		}
	}
	return max(MinCap, smallest)
}

// capOf is the inline cap for a whole result: that of its call and, where that is given in tokens, as many
// characters of this text as have so many tokens.
func (w *work) capOf(c *call, whole execute.Whole) int {
	room := w.cap(c)
	limit, has := int64(c.prepared.Call.MaxTokens), whole.Tokens()
	if limit <= 0 || has <= limit {
		return room
	}
	figures, _ := whole.Figures()
	return max(MinCap, min(room, int(figures.Chars*limit/has)))
}

func (w *work) notStarted(c *call) {
	effect := "It had no effect."
	if c.attempt > 1 {
		effect = "An earlier attempt may have taken effect."
	}
	w.whole(c, execute.Ran{
		Outcome: execute.Cancelled,
		Result:  tool.Errorf("%s was not started: the turn was cancelled before. %s", c.prepared.Call.Name, effect),
	})
	c.outcome = history.OutcomeNotStarted
}

// failed answers a call whose start could not be stored: it was not run.
func (w *work) failed(c *call, err error) {
	w.whole(c, execute.Ran{
		Outcome: execute.Failed,
		Result:  tool.Errorf("%s was not started: its start could not be stored: %v", c.prepared.Call.Name, err),
	})
	c.outcome = history.OutcomeNotStarted
}

// late stores the result of a body that returned after its call was answered.
func (w *work) late(c *call, r execute.Ran) {
	late := &call{id: c.id, prepared: c.prepared}
	w.convert(late, r)
	w.recordLate(late.record)
}

// superseded records what bodies gave to a driver that was taken over meanwhile: the rows are another's.
func (w *work) superseded(why error, calls []*call) {
	if !errors.Is(why, history.ErrStale) {
		return
	}
	for _, c := range calls {
		if c.ran {
			w.recordLate(c.record)
		}
	}
}

// recordLate stores that a result came late. It changes nothing that was shown; a store that refuses it
// (the call is another driver's and has no answer yet) has the last word.
func (w *work) recordLate(r history.Result) {
	ctx, stop := context.WithTimeout(w.durable, 10*time.Second)
	defer stop()
	_, err := w.settler.store.SettleCalls(ctx, w.lease, []history.Settled{{
		Result: r, Outcome: history.OutcomeLate, Now: w.settler.cfg.Now(),
	}}, nil)
	if err != nil && !errors.Is(err, history.ErrConflict) {
		w.settler.cfg.Logger.Warn("a late result was not recorded", "call", r.ID.String(), "err", err)
	}
}
