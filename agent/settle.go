package agent

import (
	"context"
	"errors"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/round"
)

// settle settles a round and adds its results message to the conversation, with what was sent meanwhile;
// ask says that the model will be asked again, if nothing is against it, and that the round is a new one.
func (d *drive) settle(r round.Request, ask bool) (round.Round, error) {
	lease := d.held.Lease()
	r.Conversation, r.Lease = d.conversation, &lease
	var sealed *plan
	var letters []*letter
	if ask {
		d.turn.Rounds++
	}
	r.Seal = func(closed round.Round) (history.Append, error) {
		sealed = d.replay.begin()
		goesOn := ask && !closed.EndTurn && closed.Fatal == nil && closed.Loop == "" && d.limit() == "" && d.ctx.Err() == nil
		if goesOn {
			// The boundary between two rounds: from here on the model has the tools of now.
			if next, changed := d.refreshed(); changed {
				d.offer = next
				if err := d.ensureHead(d.durable, sealed); err != nil {
					return history.Append{}, err
				}
			}
		}
		if err := d.add(sealed, results(closed), history.Message{Turn: d.turn.N, Round: closed.N}, nil); err != nil {
			return history.Append{}, err
		}
		if goesOn {
			letters = d.a.sent.take(d.conversation)
			if err := d.letters(sealed, letters); err != nil {
				return history.Append{}, err
			}
			sealed.intent()
		}
		return sealed.append, nil
	}
	unwatch := context.AfterFunc(d.ctx, d.cancelling)
	defer unwatch()
	settled, err := d.offer.settler.Settle(d.ctx, r)
	done(letters, err)
	if err != nil {
		return settled, err
	}
	if sealed != nil {
		d.replay.commit(sealed)
	}
	return settled, nil
}

// results is the message of a closed round, in call order.
func results(closed round.Round) membrane.Message {
	m := membrane.Message{Role: membrane.Results}
	for _, s := range closed.Results {
		r := membrane.Result{CallID: s.Call.ID, Tool: s.Call.Name, Text: s.Text, IsError: s.IsError}
		for _, image := range s.Images {
			r.Images = append(r.Images, membrane.Block{Type: membrane.Image, MIMEType: image.MIMEType, Data: image.Data})
		}
		m.Results = append(m.Results, r)
	}
	return m
}

// letters adds messages that were sent to the running turn.
func (d *drive) letters(p *plan, letters []*letter) error {
	for _, l := range letters {
		if err := d.add(p, l.message, history.Message{Turn: d.turn.N}, nil); err != nil {
			return err
		}
	}
	return nil
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
	if len(settled.Waiting) > 0 {
		return true, d.pause(settled)
	}
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
	case settled.Loop != "":
		return true, d.end(d.replay.begin(), "loop: "+clip(settled.Loop, 200))
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
