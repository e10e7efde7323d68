package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-run/weir/execute"
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
	if t.Text == "" && len(t.Content) == 0 {
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
	m := asked(t)
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
	if err := d.goOn(); err != nil {
		return err
	}
	if _, _, err := d.settleOpen(true); err != nil {
		return err
	}
	return d.end(d.replay.begin(), reasonSuperseded)
}

// resume goes on with the open turn.
func (d *drive) resume(answers ...Answer) error {
	if d.turn.N == 0 || d.turn.State == history.TurnEnded {
		return fmt.Errorf("conversation %s: %w", d.conversation, ErrNothingToResume)
	}
	if err := d.wound(); err != nil {
		return err
	}
	if err := d.answers(answers); err != nil {
		return err
	}
	settled, any, err := d.settleOpen(false)
	if err != nil {
		return err
	}
	if len(settled.Waiting) > 0 {
		return d.pause(settled)
	}
	if err := d.goOn(); err != nil {
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
	if p.next.asked {
		d.live(Restarted{Request: p.next.request})
	}
	p.outcome("interrupted", history.Usage{}, 0)
	p.intent()
	return d.write(p)
}

// wound sets the turn's clock to the time that it was driven before: what its requests and its calls took.
// The time in between, while nobody drove it, does not count.
func (d *drive) wound() error {
	requests, err := d.a.store.Requests(d.durable, d.conversation)
	if err != nil {
		return fmt.Errorf("read the requests of %s: %w", d.conversation, err)
	}
	var used time.Duration
	for _, r := range requests[max(0, len(requests)-d.turn.Rounds-1):] {
		used += r.Latency
	}
	rounds, err := d.a.store.RoundsOf(d.durable, d.conversation)
	if err != nil {
		return fmt.Errorf("read the rounds of %s: %w", d.conversation, err)
	}
	for _, r := range rounds {
		if r.Turn != d.turn.N {
			continue
		}
		results, err := d.a.store.ResultsOf(d.durable, d.conversation, r.N)
		if err != nil {
			return fmt.Errorf("read the results of round %d of %s: %w", r.N, d.conversation, err)
		}
		longest := time.Duration(0)
		for _, x := range results {
			longest = max(longest, x.Duration)
		}
		used += longest
	}
	d.turn.StartedAt = d.a.cfg.Now().Add(-used)
	return nil
}

// wasEnding ends a turn that stopped between the commit of its last round and that of its end: a limit is
// reached, or a result of the round says that it ends the turn.
func (d *drive) wasEnding() (bool, error) {
	m, ok, err := last(d.durable, d.a.store, d.conversation, d.turn)
	if err != nil || !ok || m.Role != string(membrane.Results) {
		return false, err
	}
	if over := d.limit(); over != "" {
		return true, d.end(d.replay.begin(), over)
	}
	rows, err := d.a.store.ResultsOf(d.durable, d.conversation, m.Round)
	if err != nil {
		return false, fmt.Errorf("read the results of round %d of %s: %w", m.Round, d.conversation, err)
	}
	for _, r := range rows {
		notes, err := execute.ReadNotes(r.Notes)
		switch {
		case err != nil:
			continue // notes that cannot be read end nothing
		case notes.Fatal != "":
			return true, d.end(d.replay.begin(), "failed: "+clip(notes.Fatal, 200))
		case notes.EndTurn:
			return true, d.end(d.replay.begin(), reasonTool)
		}
	}
	return false, nil
}

// settleOpen closes the round that was open when the conversation stopped; false when there is none.
// unasked answers calls that wait for an approval instead of waiting on.
func (d *drive) settleOpen(unasked bool) (round.Round, bool, error) {
	open, err := d.a.store.FindRound(d.durable, d.conversation, "")
	if errors.Is(err, history.ErrNotFound) || (err == nil && open.Closed) {
		return round.Round{}, false, nil
	}
	if err != nil {
		return round.Round{}, false, fmt.Errorf("read the open round of %s: %w", d.conversation, err)
	}
	settled, err := d.settle(round.Request{Latest: true, Turn: open.Turn, Unasked: unasked}, false)
	return settled, true, err
}

// write stores a plan that belongs to no round and drives on.
func (d *drive) write(p *plan) error {
	if err := d.put(p); err != nil {
		return err
	}
	return d.loop()
}

// maxCompactions is how often a request is compacted because the model says that its context is full.
const maxCompactions = 3

// loop asks the model and settles its calls until the turn ends.
func (d *drive) loop() error {
	for {
		if stop, err := d.cancelled(); err != nil {
			return err
		} else if stop {
			return d.cancel(0, "", d.replay.begin())
		}
		if d.full() {
			if err := d.compact(false); err != nil || d.turn.State == history.TurnEnded {
				return err
			}
		}
		done, err := d.ask()
		for try := 0; tooLong(err) && try < maxCompactions && d.turn.State != history.TurnEnded; try++ {
			if err = d.compact(true); err == nil && d.turn.State != history.TurnEnded {
				done, err = d.ask()
			}
		}
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
	p.outcome("ok", usage(done.Usage), done.latency)
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
	if total := done.Usage.In + done.Usage.CacheRead + done.Usage.CacheWrite + done.Usage.Out; total > 0 {
		d.counted = counted{bytes: len(p.next.messages), tokens: total}
	}
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
		return d.withoutCalls(p, done.Stop)
	}
	request := round.Request{Key: fmt.Sprintf("message-%d", p.next.seq), Turn: d.turn.N, Open: p.append}
	for _, c := range calls {
		request.Calls = append(request.Calls, tool.Call{ID: c.CallID, Name: c.Tool, Args: c.Args, MaxTokens: d.room(p, len(calls))})
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

// withoutCalls goes on or ends the turn after an answer that calls nothing; true when it is over.
func (d *drive) withoutCalls(p *plan, stop membrane.Stop) (bool, error) {
	reason := reasonDone
	switch stop {
	case membrane.StopPaused:
		reason = ""
	case membrane.StopCalls:
		reason = reasonNoCall
	case membrane.StopRefused:
		reason = reasonRefused
	case membrane.StopCut:
		reason = reasonCut
	case membrane.StopContextFull:
		reason = reasonContextFull
	}
	over := d.limit()
	var letters []*letter
	if over == "" && (reason == "" || reason == reasonDone) {
		letters = d.a.sent.take(d.conversation)
	}
	switch {
	case reason == "" && over != "":
		return true, d.end(p, over)
	case reason != "" && len(letters) == 0:
		return true, d.end(p, reason)
	}
	if err := d.letters(p, letters); err != nil {
		done(letters, err)
		return true, err
	}
	p.intent()
	p.append.Now = d.a.cfg.Now()
	receipt, err := d.a.store.Append(d.durable, d.held.Lease(), p.append)
	done(letters, err)
	if err != nil {
		return true, fmt.Errorf("write to %s: %w", d.conversation, err)
	}
	d.replay.commit(p)
	d.emit(receipt)
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
		p.outcome("cancelled", history.Usage{}, 0)
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
