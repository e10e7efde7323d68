package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/spill"
)

// eventLate is the kind of the event that reports a late result.
const eventLate = "late_result"

// SettleCalls stores whole results as they arrive. One with OutcomeLate changes nothing: an event of kind
// "late_result" is stored for it, also for a driver that was taken over.
func (s *Store) SettleCalls(ctx context.Context, l history.Lease, settled []history.Settled, events []history.Event) (history.Receipt, error) {
	const act = "settle calls"
	settled, bytes, err := checked(settled)
	if err != nil {
		return history.Receipt{}, fmt.Errorf("%s of conversation %s: %w", act, l.Conversation, err)
	}
	late := 0
	for _, c := range settled {
		if c.Outcome == history.OutcomeLate {
			late++
		}
	}
	if late > 0 && late == len(settled) && len(events) == 0 {
		return s.settleLate(ctx, l, settled)
	}
	return s.write(ctx, l, act, bytes, func(ctx context.Context, st *step) error {
		for _, c := range settled {
			if c.Outcome == history.OutcomeLate {
				if err := st.late(ctx, c); err != nil {
					return err
				}
				continue
			}
			tip, err := st.unsettled(c.Result.ID)
			if err != nil {
				return err
			}
			if err := st.settle(ctx, c, tip, nil); err != nil {
				return err
			}
		}
		return st.events(ctx, events)
	})
}

// settleLate stores late results only: the lease may be an older one, but not one that never was.
func (s *Store) settleLate(ctx context.Context, l history.Lease, settled []history.Settled) (history.Receipt, error) {
	return s.writeAs(ctx, l, "settle late calls", 0, func(ctx context.Context, w *writer) (*tip, error) {
		row, err := w.q.LeaseOf(ctx, l.Conversation)
		if errors.Is(err, sql.ErrNoRows) || err == nil && (l.Fence < 1 || l.Fence > row.Fence) {
			return nil, fmt.Errorf("fence %d, and %d is the newest: %w", l.Fence, row.Fence, history.ErrStale)
		}
		return &tip{}, err // late does not look at it
	}, func(ctx context.Context, st *step) error {
		for _, c := range settled {
			if err := st.late(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// late records a result that came after its call had got another one.
func (st *step) late(ctx context.Context, c history.Settled) error {
	id := c.Result.ID
	state, err := st.q.CallState(ctx, db.CallStateParams{
		Conversation: st.l.Conversation, Round: int64(id.Round), Idx: int64(id.Index), Sub: int64(id.Sub),
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return refuse("there is no call %s", id)
	case err != nil:
		return err
	case state != string(history.CallSettled) && state != string(history.CallAnswered):
		return refuse("call %s is %s: its result is not late", id, state)
	}
	data, err := json.Marshal(map[string]any{ // in the order of the keys: encoding/json sorts them
		"id": id.String(), "is_error": c.Result.IsError, "bytes": c.Result.Bytes, "sha256": hex.EncodeToString(c.Result.SHA256[:]),
	})
	if err != nil {
		return err
	}
	return st.events(ctx, []history.Event{{Kind: eventLate, Data: data}})
}

// shown is what the model is shown for one call, with the hash of its text where that must be the whole.
type shown struct {
	history.Shown
	sum [32]byte
}

// settle stores one result. With show it is answered in the same step.
func (st *step) settle(ctx context.Context, c history.Settled, tip *callTip, show *shown) error {
	r := c.Result
	switch c.Outcome {
	case history.OutcomeDone, history.OutcomeFailed, history.OutcomeCancelled, history.OutcomeNotStarted, history.OutcomeUnknown:
	default:
		return refuse("call %s cannot end as %q", r.ID, c.Outcome)
	}
	tip.state, tip.inline, tip.spilled, tip.sum = history.CallSettled, r.Whole != nil, r.Spill != nil, r.SHA256
	p := db.AddResultParams{
		Conversation: st.l.Conversation, Round: int64(r.ID.Round), Idx: int64(r.ID.Index), Sub: int64(r.ID.Sub),
		IsError: flag(r.IsError), Bytes: r.Bytes, Lines: r.Lines, Chars: r.Chars, Sha256: r.SHA256[:], Tokens: r.Tokens,
		DurationNs: int64(r.Duration), Notes: r.Notes, Structured: r.Structured, Whole: r.Whole,
	}
	if r.Spill != nil {
		if err := st.spill(ctx, *r.Spill); err != nil {
			return err
		}
		p.Spill = text(r.Spill.Name)
	}
	for _, ref := range c.Payloads {
		if err := st.spill(ctx, ref); err != nil {
			return err
		}
	}
	if show != nil {
		if err := st.show(ctx, *show, tip, &p); err != nil {
			return err
		}
		tip.state = history.CallAnswered
	}
	if err := st.q.AddResult(ctx, p); err != nil {
		return err
	}
	return st.q.EndCall(ctx, db.EndCallParams{
		State: string(tip.state), Outcome: string(c.Outcome), Fence: st.l.Fence, SettledAt: ms(c.Now),
		Conversation: st.l.Conversation, Round: p.Round, Idx: p.Idx, Sub: p.Sub,
	})
}

// show fills in what the model is shown for a call.
func (st *step) show(ctx context.Context, s shown, tip *callTip, p *db.AddResultParams) error {
	switch {
	case !s.Same:
		p.Shown = full(s.Text)
		sum := sha256.Sum256(p.Shown)
		p.ShownSha256 = sum[:]
	case !tip.inline:
		return refuse("call %s cannot be shown the whole, which is a file only", s.ID)
	case s.Text != nil && s.sum != tip.sum:
		return refuse("call %s is said to be shown the whole, and its text is another", s.ID)
	}
	if s.Spill != nil {
		if tip.spilled {
			return refuse("call %s has its file", s.ID)
		}
		if s.Spill.Complete && s.Spill.SHA256 != tip.sum {
			return refuse("the file %s is not the whole text of call %s", s.Spill.Name, s.ID)
		}
		if err := st.spill(ctx, *s.Spill); err != nil {
			return err
		}
		tip.spilled, p.Spill = true, text(s.Spill.Name)
	}
	return nil
}

func (st *step) spill(ctx context.Context, r spill.Ref) error {
	newlines, err := r.Index.Counts.MarshalBinary()
	if err != nil {
		return err
	}
	return st.q.AddSpill(ctx, db.AddSpillParams{
		Conversation: st.l.Conversation, Name: r.Name, File: r.File, Bytes: r.Index.Bytes, Lines: r.Index.Lines,
		Chars: r.Index.Chars, Sha256: r.SHA256[:], Complete: flag(r.Complete), Newlines: full(newlines),
	})
}

// CloseRound stores what the model is shown for each call, together with results that came last.
func (s *Store) CloseRound(ctx context.Context, l history.Lease, c history.Closing) (history.Receipt, error) {
	act := fmt.Sprintf("close round %d", c.Round)
	settled, bytes, err := checked(c.Settled)
	if err != nil {
		return history.Receipt{}, fmt.Errorf("%s of conversation %s: %w", act, l.Conversation, err)
	}
	shows := make([]shown, len(c.Shown))
	for i, sh := range c.Shown {
		shows[i].Shown = sh
		if sh.Same && sh.Text != nil {
			shows[i].sum = sha256.Sum256(sh.Text)
		}
		bytes += len(sh.Text)
	}
	c.Settled = settled
	return s.write(ctx, l, act, bytes+size(c.Append), func(ctx context.Context, st *step) error {
		return st.closeRound(ctx, c, shows)
	})
}

func (st *step) closeRound(ctx context.Context, c history.Closing, shows []shown) error {
	open := st.t.open[c.Round]
	if open == nil {
		if c.Round > 0 && c.Round <= st.t.round {
			return refuse("it is closed already")
		}
		return refuse("it is not open")
	}
	if len(shows) != open.calls {
		return refuse("it has %d calls, %d are shown", open.calls, len(shows))
	}
	for i, sh := range shows {
		if want := (history.CallID{Round: c.Round, Index: i + 1}); sh.ID != want {
			return refuse("expected what is shown for call %s, got %s", want, sh.ID)
		}
	}
	for _, last := range c.Settled {
		tip, err := st.unsettled(last.Result.ID)
		if err != nil {
			return err
		}
		var show *shown
		if last.Result.ID.Sub == 0 {
			show = &shows[last.Result.ID.Index-1]
		}
		if err := st.settle(ctx, last, tip, show); err != nil {
			return err
		}
	}
	if err := st.answer(ctx, c.Round, shows); err != nil {
		return err
	}
	seq := messageOf(c.Append, c.Round)
	if seq == 0 && open.seq != 0 {
		return refuse("message %d opened it: a results message must close it", open.seq)
	}
	if err := st.append(ctx, withoutEvents(c.Append)); err != nil {
		return err
	}
	delete(st.t.open, c.Round)
	if err := st.q.CloseRound(ctx, db.CloseRoundParams{ResultsSeq: seq, Conversation: st.l.Conversation, N: int64(c.Round)}); err != nil {
		return err
	}
	return st.events(ctx, c.Append.Events)
}

// answer marks every settled call as answered, and stores what is shown for those that were settled in an
// earlier step.
func (st *step) answer(ctx context.Context, round int, shows []shown) error {
	for _, sh := range shows {
		tip := st.t.open[round].state[sh.ID]
		switch tip.state {
		case history.CallAnswered:
			continue
		case history.CallSettled:
		default:
			return refuse("call %s has no result: it is %s", sh.ID, tip.state)
		}
		var p db.AddResultParams
		if err := st.show(ctx, sh, tip, &p); err != nil {
			return err
		}
		if p.Shown == nil && p.Spill == nil {
			continue
		}
		err := st.q.ShowResult(ctx, db.ShowResultParams{
			Shown: p.Shown, ShownSha256: p.ShownSha256, Spill: p.Spill, Conversation: st.l.Conversation,
			Round: int64(sh.ID.Round), Idx: int64(sh.ID.Index), Sub: int64(sh.ID.Sub),
		})
		if err != nil {
			return err
		}
	}
	for _, tip := range st.t.open[round].state {
		if tip.state == history.CallSettled {
			return st.q.AnswerCalls(ctx, db.AnswerCallsParams{Fence: st.l.Fence, Conversation: st.l.Conversation, Round: int64(round)})
		}
	}
	return nil
}

// checked computes what a result says of its whole text, or holds what it says against the text. The
// caller does it, not the goroutine that writes.
func checked(settled []history.Settled) ([]history.Settled, int, error) {
	out := make([]history.Settled, len(settled))
	bytes := 0
	for i, c := range settled {
		if err := check(&c.Result); err != nil {
			return nil, 0, fmt.Errorf("result %s: %w", c.Result.ID, err)
		}
		bytes += len(c.Result.Whole) + len(c.Result.Structured) + len(c.Result.Notes)
		out[i] = c
	}
	return out, bytes, nil
}

func check(r *history.Result) error {
	var is lines.Index
	var sum [32]byte
	switch {
	case r.Whole != nil:
		is, sum = lines.Of(r.Whole), sha256.Sum256(r.Whole)
		if r.Spill != nil && r.Spill.Complete && sum != r.Spill.SHA256 {
			return refuse("its file %s is not its whole text", r.Spill.Name)
		}
	case r.Spill == nil:
		return refuse("it has neither its whole text nor a file")
	case !r.Spill.Complete:
		return nil // a part was kept: only who saw the text knows its figures
	default:
		is, sum = r.Spill.Index, r.Spill.SHA256
	}
	for _, c := range []struct {
		name string
		said *int64
		is   int64
	}{{"bytes", &r.Bytes, is.Bytes}, {"lines", &r.Lines, is.Lines}, {"characters", &r.Chars, is.Chars}} {
		if *c.said == 0 {
			*c.said = c.is
		}
		if *c.said != c.is {
			return refuse("it has %d %s, and is said to have %d", c.is, c.name, *c.said)
		}
	}
	if r.SHA256 == [32]byte{} {
		r.SHA256 = sum
	}
	if r.SHA256 != sum {
		return refuse("its hash is not that of its text")
	}
	return nil
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
