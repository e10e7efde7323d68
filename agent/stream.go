package agent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/round"
)

// errBroken is the cause when a consumer stops ranging over the stream.
var errBroken = errors.New("the consumer stopped listening")

// drive is one run of a conversation.
type drive struct {
	a            *Agent
	conversation string
	// ctx ends when the run is cancelled or its lease is lost; durable is for writes and does not.
	ctx, durable context.Context
	held         *round.Held
	offer        offer
	events       chan Event
	replay       *replay
	turn         history.Turn
	// request is the last one that was announced before this run.
	request history.Request
	counted counted
}

// stream runs a function in a goroutine of its own and yields what it emits: events come from bodies
// that run in parallel, while a range wants them one after the other.
func (a *Agent) stream(ctx context.Context, take history.Take, run func(*drive) error) Stream {
	return func(yield func(Event, error) bool) {
		running, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		events := make(chan Event, 64)
		done := make(chan error, 1)
		go func() {
			err := a.guarded(running, take, events, run)
			close(events)
			done <- err
		}()
		listening := true
		for e := range events {
			if listening && !yield(e, nil) {
				listening = false
				cancel(errBroken)
			}
		}
		if err := <-done; err != nil && listening {
			yield(nil, err)
		}
	}
}

// guarded turns a panic of the loop, or of a model's adapter, into the run's error: the conversation is
// left as a crash would leave it, and can be resumed.
func (a *Agent) guarded(ctx context.Context, take history.Take, events chan Event, run func(*drive) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			a.cfg.Logger.Error("the loop panicked", "conversation", take.Conversation, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			err = fmt.Errorf("run %s: the loop panicked: %.500s", take.Conversation, fmt.Sprint(v))
		}
	}()
	return a.drive(ctx, take, events, run)
}

// drive holds the conversation while run works on it.
func (a *Agent) drive(ctx context.Context, take history.Take, events chan Event, run func(*drive) error) error {
	conversation := take.Conversation
	held, driven, err := round.Hold(ctx, a.store, take, a.cfg.Now)
	if err != nil {
		return err
	}
	defer a.sent.open(conversation)()
	d := &drive{
		a: a, conversation: conversation, ctx: driven, durable: context.WithoutCancel(ctx), held: held, events: events,
	}
	defer func() { _ = held.Release(d.durable) }()
	if err := d.offerAtStart(driven); err != nil {
		return err
	}
	if err := d.requests(); err != nil {
		return err
	}
	if d.replay, err = load(ctx, a.store, conversation, d.request.MessageBytes); err != nil {
		return err
	}
	d.replay.request, d.replay.asked = d.request.N, d.request.N > 0 && d.request.Outcome == ""
	if d.turn, err = latestTurn(ctx, a.store, conversation); err != nil {
		return err
	}
	return d.traced(run)
}

// requests reads the last request that was announced.
func (d *drive) requests() error {
	all, err := d.a.store.Requests(d.durable, d.conversation)
	if err != nil {
		return fmt.Errorf("read the requests of %s: %w", d.conversation, err)
	}
	if len(all) > 0 {
		d.request = all[len(all)-1]
	}
	return nil
}

// notice passes on what a round tells. Progress may be lost when nobody keeps up with it.
func (d *drive) notice(n round.Notice) {
	switch {
	case n.Event != nil:
		d.events <- decode(*n.Event)
	case n.Progress.Started:
		d.live(CallStarted{Result: n.Progress.Call.String(), Tool: n.Progress.Tool})
	default:
		d.live(Progress{Result: n.Progress.Call.String(), Tool: n.Progress.Tool, Text: n.Progress.Text})
	}
}

func (d *drive) live(e Event) {
	select {
	case d.events <- e:
	default:
	}
}

// emit yields the events of a write that was committed.
func (d *drive) emit(r history.Receipt) {
	for _, e := range r.Events {
		d.events <- decode(e)
	}
}

// ended is the event of a turn's end.
func (d *drive) ended(reason string) history.Event {
	return event(kindTurnEnded, TurnEnded{Turn: d.turn.N, Reason: reason, Rounds: d.turn.Rounds})
}

// end ends the turn, with what the plan adds.
func (d *drive) end(p *plan, reason string) error {
	p.outcome("not_sent", history.Usage{}, 0)
	p.append.Now = d.a.cfg.Now()
	p.append.Events = append(p.append.Events, d.ended(reason))
	receipt, err := d.a.store.SetTurn(d.durable, d.held.Lease(), history.TurnChange{
		Turn: d.turn.N, State: history.TurnEnded, Reason: reason, Append: p.append,
	})
	if err != nil {
		return fmt.Errorf("end turn %d of %s: %w", d.turn.N, d.conversation, err)
	}
	d.replay.commit(p)
	d.turn.State, d.turn.Reason = history.TurnEnded, reason
	d.emit(receipt)
	return nil
}

// cancelled reports whether the run was told to stop, and by what: a lost lease is no cancel, since
// then nothing may be written any more.
func (d *drive) cancelled() (bool, error) {
	if d.ctx.Err() == nil {
		return false, nil
	}
	cause := context.Cause(d.ctx)
	if errors.Is(cause, history.ErrStale) {
		return false, cause
	}
	return true, nil
}

// usage converts what the provider counted.
func usage(u membrane.Usage) history.Usage {
	return history.Usage{In: u.In, Out: u.Out, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

// limit says which limit of the turn is reached; empty for none.
func (d *drive) limit() string {
	l := d.a.cfg.Limits
	switch {
	case d.turn.Rounds >= l.Rounds:
		return fmt.Sprintf("limit: %d rounds", l.Rounds)
	case d.turn.Tokens >= l.Tokens:
		return fmt.Sprintf("limit: %d output tokens", l.Tokens)
	case d.a.cfg.Now().Sub(d.turn.StartedAt) >= l.Wall:
		return "limit: " + l.Wall.Round(time.Second).String() + " of time"
	}
	return ""
}
