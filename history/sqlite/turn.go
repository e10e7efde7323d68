package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
)

// Append stores what belongs to no round.
func (s *Store) Append(ctx context.Context, l history.Lease, a history.Append) (history.Receipt, error) {
	return s.write(ctx, l, "append to the end", size(a), func(ctx context.Context, st *step) error {
		return st.append(ctx, a)
	})
}

// BeginTurn opens a turn and stores its first message.
func (s *Store) BeginTurn(ctx context.Context, l history.Lease, b history.Begin) (history.Receipt, error) {
	return s.write(ctx, l, fmt.Sprintf("begin turn %d", b.Turn), size(b.Append), func(ctx context.Context, st *step) error {
		t := st.t
		if b.Key != "" {
			n, err := st.q.TurnByKey(ctx, db.TurnByKeyParams{Conversation: l.Conversation, Key: text(b.Key)})
			if err == nil {
				return fmt.Errorf("turn %d has the key %.100q: %w", n, b.Key, history.ErrTurnExists)
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		switch {
		case t.state != "" && t.state != history.TurnEnded:
			return refuse("turn %d is %s", t.turn, t.state)
		case t.open != nil:
			return refuse("round %d is open", t.round)
		case b.Turn != t.turn+1:
			return refuse("expected turn %d, got %d", t.turn+1, b.Turn)
		}
		first := t.seq + 1
		if err := st.end(ctx, b.Append.Outcomes); err != nil {
			return err
		}
		if err := st.use(ctx); err != nil { // what ended before the turn is not its own
			return err
		}
		st.rounds, st.tokens = 0, 0
		err := st.q.AddTurn(ctx, db.AddTurnParams{
			Conversation: l.Conversation, N: int64(b.Turn), Key: text(b.Key), FirstSeq: first, StartedAt: ms(b.Append.Now),
		})
		if err != nil {
			return err
		}
		t.turn, t.state, st.receipt.Turn = b.Turn, history.TurnOpen, b.Turn
		b.Append.Outcomes = nil
		return st.append(ctx, b.Append)
	})
}

// SetTurn changes the state of the open turn.
func (s *Store) SetTurn(ctx context.Context, l history.Lease, c history.TurnChange) (history.Receipt, error) {
	return s.write(ctx, l, fmt.Sprintf("set turn %d", c.Turn), size(c.Append), func(ctx context.Context, st *step) error {
		t := st.t
		switch {
		case c.Turn != t.turn || t.turn == 0:
			return refuse("expected turn %d, the last one, got %d", t.turn, c.Turn)
		case t.state == history.TurnEnded:
			return refuse("turn %d has ended", t.turn)
		case c.State == history.TurnEnded && t.open != nil:
			return refuse("round %d is open", t.round)
		case t.state == history.TurnCancelling && c.State != history.TurnCancelling && c.State != history.TurnEnded:
			return refuse("turn %d is cancelling and can only end, not be %s", t.turn, c.State)
		}
		if err := st.append(ctx, c.Append); err != nil {
			return err
		}
		t.state, st.receipt.Turn = c.State, c.Turn
		return st.q.SetTurn(ctx, db.SetTurnParams{State: string(c.State), Reason: c.Reason, Conversation: l.Conversation, N: int64(c.Turn)})
	})
}
