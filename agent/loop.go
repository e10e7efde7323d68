package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// Reasons of a turn's end; a limit's reason begins with "limit: ".
const (
	reasonDone        = "done"
	reasonCancelled   = "cancelled"
	reasonRefused     = "refused"
	reasonCut         = "cut: the answer reached its limit of tokens"
	reasonContextFull = "the model's context is full"
	reasonTool        = "a tool ended the turn"
	reasonSuperseded  = "superseded by a new turn"
	reasonNoCall      = "the model stopped to call a tool, without a call"
)

// run begins a turn and drives it to its end.
func (d *drive) run(t Turn) error {
	if t.Text == "" && t.Context == "" {
		return ErrNoText
	}
	if t.Key != "" {
		known, err := d.known(t.Key)
		if err != nil || known {
			return err
		}
	}
	if d.turn.N > 0 && d.turn.State != history.TurnEnded {
		if err := d.supersede(); err != nil {
			return err
		}
	}
	p := d.replay.begin()
	if err := d.ensureHead(d.durable, p); err != nil {
		return err
	}
	m := membrane.Message{Role: membrane.User}
	for _, text := range []string{t.Context, t.Text} {
		if text != "" {
			m.Blocks = append(m.Blocks, membrane.Block{Type: membrane.Text, Text: clean(text)})
		}
	}
	n := d.turn.N + 1
	if err := d.add(p, m, history.Message{Turn: n}, nil); err != nil {
		return err
	}
	p.intent()
	p.append.Now = d.a.cfg.Now()
	p.append.Events = append(p.append.Events, event(kindTurnBegun, TurnBegun{Turn: n, Key: t.Key}))
	receipt, err := d.a.store.BeginTurn(d.durable, d.held.Lease(), history.Begin{Turn: n, Key: t.Key, Append: p.append})
	if err != nil {
		return fmt.Errorf("begin turn %d of %s: %w", n, d.conversation, err)
	}
	d.turn = history.Turn{N: n, Key: t.Key, FirstSeq: p.next.seq, State: history.TurnOpen, StartedAt: p.append.Now}
	d.replay.commit(p)
	d.emit(receipt)
	return d.loop()
}

// known takes up the turn of a key: an open one is driven on, one that has ended is left as it is.
func (d *drive) known(key string) (bool, error) {
	turns, err := d.a.store.TurnsOf(d.durable, d.conversation)
	if err != nil {
		return false, fmt.Errorf("read the turns of %s: %w", d.conversation, err)
	}
	for _, t := range turns {
		if t.Key != key {
			continue
		}
		if t.State == history.TurnEnded {
			d.events <- TurnEnded{Turn: t.N, Reason: t.Reason, Rounds: t.Rounds}
			return true, nil
		}
		return true, d.resume()
	}
	return false, nil
}

// supersede settles an open turn that a new one follows: each of its calls is answered, then it ends.
func (d *drive) supersede() error {
	if _, _, err := d.settleOpen(); err != nil {
		return err
	}
	return d.end(d.replay.begin(), reasonSuperseded)
}

// resume goes on with the open turn.
func (d *drive) resume() error {
	if d.turn.N == 0 || d.turn.State == history.TurnEnded {
		return fmt.Errorf("conversation %s: %w", d.conversation, ErrNothingToResume)
	}
	settled, any, err := d.settleOpen()
	if err != nil {
		return err
	}
	if d.turn.State == history.TurnCancelling {
		return d.end(d.replay.begin(), reasonCancelled)
	}
	if any {
		if over, err := d.afterRound(settled, ""); over || err != nil {
			return err
		}
	} else if over, err := d.wasEnding(); over || err != nil {
		return err
	}
	// Whatever was asked before the stop is asked again, as a request of its own.
	p := d.replay.begin()
	if err := d.ensureHead(d.durable, p); err != nil {
		return err
	}
	if d.request.N > 0 && d.request.Outcome == "" {
		p.append.Outcomes = append(p.append.Outcomes, history.Outcomes{N: d.request.N, Outcome: "interrupted"})
		d.live(Restarted{Request: d.request.N})
	}
	p.intent()
	return d.write(p)
}

// wasEnding ends a turn that stopped between the commit of its last round and that of its end: then the
// round's results were stored and no further request was announced.
func (d *drive) wasEnding() (bool, error) {
	m, ok, err := last(d.durable, d.a.store, d.conversation, d.turn)
	if err != nil || !ok || m.Role != string(membrane.Results) || d.request.Outcome != "ok" {
		return false, err
	}
	reason := d.limit()
	if reason == "" {
		reason = reasonTool
	}
	return true, d.end(d.replay.begin(), reason)
}

// settleOpen closes the round that was open when the conversation stopped; false when there is none.
func (d *drive) settleOpen() (round.Round, bool, error) {
	open, err := d.a.store.FindRound(d.durable, d.conversation, "")
	if errors.Is(err, history.ErrNotFound) || (err == nil && open.Closed) {
		return round.Round{}, false, nil
	}
	if err != nil {
		return round.Round{}, false, fmt.Errorf("read the open round of %s: %w", d.conversation, err)
	}
	settled, err := d.settle(round.Request{Key: open.Key, Turn: open.Turn}, false)
	return settled, true, err
}

// write stores a plan that belongs to no round and drives on.
func (d *drive) write(p *plan) error {
	p.append.Now = d.a.cfg.Now()
	receipt, err := d.a.store.Append(d.durable, d.held.Lease(), p.append)
	if err != nil {
		return fmt.Errorf("write to %s: %w", d.conversation, err)
	}
	d.replay.commit(p)
	d.emit(receipt)
	return d.loop()
}

// loop asks the model and settles its calls until the turn ends.
func (d *drive) loop() error {
	for {
		if stop, err := d.cancelled(); err != nil {
			return err
		} else if stop {
			return d.cancel(0, "", d.replay.begin())
		}
		done, err := d.ask()
		if err != nil || d.turn.State == history.TurnEnded {
			return err
		}
		over, err := d.answer(done)
		if err != nil || over {
			return err
		}
	}
}

// answered adds the model's answer and the outcome of its request to a plan.
func (d *drive) answered(done answer) (*plan, error) {
	p := d.replay.begin()
	p.append.Outcomes = append(p.append.Outcomes, history.Outcomes{
		N: d.replay.request, Outcome: "ok", Usage: usage(done.Usage), Latency: done.latency,
	})
	if len(done.Message.Blocks) > 0 {
		if err := d.add(p, done.Message, history.Message{Turn: d.turn.N}, done.Fragment); err != nil {
			return nil, err
		}
	}
	p.append.Events = append(p.append.Events, event(kindAnswered, Answered{
		Message: p.next.seq, Request: d.replay.request, Text: done.Message.PlainText(), Stop: string(done.Stop),
		Calls: len(done.Message.Calls()), In: done.Usage.In, Out: done.Usage.Out,
		CacheRead: done.Usage.CacheRead, CacheWrite: done.Usage.CacheWrite,
	}))
	d.turn.Tokens += done.Usage.Out
	return p, nil
}

// answer stores what the model said and does what it asks for; true when the turn is over.
func (d *drive) answer(done answer) (bool, error) {
	p, err := d.answered(done)
	if err != nil {
		return true, err
	}
	calls := done.Message.Calls()
	if len(calls) == 0 {
		switch done.Stop {
		case membrane.StopPaused:
			p.intent()
			p.append.Now = d.a.cfg.Now()
			receipt, err := d.a.store.Append(d.durable, d.held.Lease(), p.append)
			if err != nil {
				return true, fmt.Errorf("write to %s: %w", d.conversation, err)
			}
			d.replay.commit(p)
			d.emit(receipt)
			if over := d.limit(); over != "" {
				return true, d.end(d.replay.begin(), over)
			}
			return false, nil
		case membrane.StopCalls:
			return true, d.end(p, reasonNoCall)
		case membrane.StopRefused:
			return true, d.end(p, reasonRefused)
		case membrane.StopCut:
			return true, d.end(p, reasonCut)
		case membrane.StopContextFull:
			return true, d.end(p, reasonContextFull)
		}
		return true, d.end(p, reasonDone)
	}
	request := round.Request{Key: fmt.Sprintf("message-%d", p.next.seq), Turn: d.turn.N, Open: p.append}
	for _, c := range calls {
		request.Calls = append(request.Calls, tool.Call{ID: c.CallID, Name: c.Tool, Args: c.Args})
	}
	if done.Stop == membrane.StopCut {
		request.Refuse = "the answer was cut at its limit of tokens, so its calls were not run: call again, with less in one answer"
	}
	opened := p.next
	d.replay = &opened // the round's first commit stores it; when that fails the run ends
	settled, err := d.settle(request, true)
	if err != nil {
		return true, err
	}
	return d.afterRound(settled, done.Stop)
}

// settle settles a round and adds its results message to the conversation; ask says that the model will
// be asked again, if nothing is against it, and that the round is a new one.
func (d *drive) settle(r round.Request, ask bool) (round.Round, error) {
	lease := d.held.Lease()
	r.Conversation, r.Lease = d.conversation, &lease
	var sealed *plan
	if ask {
		d.turn.Rounds++
	}
	r.Seal = func(closed round.Round) (history.Append, error) {
		sealed = d.replay.begin()
		m := membrane.Message{Role: membrane.Results}
		for _, s := range closed.Results {
			m.Results = append(m.Results, membrane.Result{CallID: s.Call.ID, Tool: s.Call.Name, Text: s.Text, IsError: s.IsError})
		}
		if err := d.add(sealed, m, history.Message{Turn: d.turn.N, Round: closed.N}, nil); err != nil {
			return history.Append{}, err
		}
		if ask && !closed.EndTurn && closed.Fatal == nil && d.limit() == "" && d.ctx.Err() == nil {
			sealed.intent()
		}
		return sealed.append, nil
	}
	unwatch := context.AfterFunc(d.ctx, d.cancelling)
	defer unwatch()
	settled, err := d.settler.Settle(d.ctx, r)
	if err != nil {
		return settled, err
	}
	if sealed != nil {
		d.replay.commit(sealed)
	}
	return settled, nil
}

// cancelling marks the turn while a round is still being settled, so that a crash now does not take the
// turn up again.
func (d *drive) cancelling() {
	if errors.Is(context.Cause(d.ctx), history.ErrStale) {
		return
	}
	_, err := d.a.store.SetTurn(d.durable, d.held.Lease(), history.TurnChange{
		Turn: d.turn.N, State: history.TurnCancelling, Append: history.Append{Now: d.a.cfg.Now()},
	})
	if err != nil {
		d.a.cfg.Logger.Warn("a turn was not marked as cancelling", "conversation", d.conversation, "err", err)
	}
}

// afterRound ends the turn where the round did; true when it is over.
func (d *drive) afterRound(settled round.Round, stop membrane.Stop) (bool, error) {
	if cancelled, err := d.cancelled(); err != nil {
		return true, err
	} else if cancelled {
		return true, d.cancel(0, "", d.replay.begin())
	}
	switch {
	case settled.Fatal != nil:
		if err := d.end(d.replay.begin(), "failed: "+clip(settled.Fatal.Error(), 200)); err != nil {
			return true, err
		}
		return true, settled.Fatal
	case settled.EndTurn:
		return true, d.end(d.replay.begin(), reasonTool)
	case stop == membrane.StopRefused:
		return true, d.end(d.replay.begin(), reasonRefused)
	}
	if over := d.limit(); over != "" {
		return true, d.end(d.replay.begin(), over)
	}
	return false, nil
}

// add encodes a message once, for the store and for the wire.
func (d *drive) add(p *plan, m membrane.Message, row history.Message, fragment []byte) error {
	row.Role, row.Codec = string(m.Role), membrane.Codec
	var err error
	if m.Role != membrane.Results {
		if row.Body, err = membrane.Encode(m); err != nil {
			return fmt.Errorf("encode a message of %s: %w", d.conversation, err)
		}
	}
	if fragment == nil {
		if fragment, err = d.a.model.EncodeMessage(m); err != nil {
			return fmt.Errorf("encode a message of %s for %s: %w", d.conversation, d.a.model.Name(), err)
		}
	}
	p.message(row, d.a.model.Encoder(), fragment)
	return nil
}

// cancel ends the turn after a cancel and reports it as the run's error. A request that was being
// answered leaves what it had shown.
func (d *drive) cancel(request int, partial string, p *plan) error {
	if request > 0 {
		p.append.Outcomes = append(p.append.Outcomes, history.Outcomes{N: request, Outcome: "cancelled"})
		p.append.Events = append(p.append.Events, event(kindRequestFailed, RequestFailed{
			Request: request, Kind: string(membrane.Cancelled), Text: "the turn was cancelled", Partial: partial,
		}))
	}
	if err := d.end(p, reasonCancelled); err != nil {
		return err
	}
	return context.Cause(d.ctx)
}

// answer is a response of the model and how long it took.
type answer struct {
	membrane.Done
	latency time.Duration
}
