package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
)

// tip is what the next write of a conversation has to follow. Whoever holds the lease is the only one who
// writes, so it is read once for each lease and then kept: it is true while the lease's row is ours. Only
// events are not in it: those that a driver which was taken over may still add count as well.
type tip struct {
	lease history.Lease

	seq     int64
	turn    int
	state   history.TurnState // of the turn, empty when there is none
	round   int
	open    map[int]*openRound // by number; empty when every round is closed
	epoch   epochTip           // the last one; n is 0 when there is none
	request int
}

// epochTip is the end of an epoch.
type epochTip struct {
	n, pos int
	chain  [32]byte
	head   [32]byte
}

// openRound is a round that is not closed yet. There is one, the last, unless they stand beside each other.
type openRound struct {
	turn  int
	seq   int64
	calls int // that the model made
	state map[history.CallID]*callTip
	// subs is the last inner call below each of the model's calls, by index.
	subs map[int]int
}

// callTip is one call of the open round.
type callTip struct {
	state   history.CallState
	attempt int
	// inline and spilled say where its whole result is.
	inline, spilled bool
	// sum is the hash of the whole.
	sum [32]byte
}

// beside reports whether other rounds may be open at the same time: it belongs to no turn and no message.
func (r *openRound) beside() bool { return r.turn == 0 && r.seq == 0 }

// anyOpen gives the number of an open round, the lowest; 0 when there is none.
func (t *tip) anyOpen() int {
	lowest := 0
	for n := range t.open {
		if lowest == 0 || n < lowest {
			lowest = n
		}
	}
	return lowest
}

func (r *openRound) add(id history.CallID, c *callTip) {
	r.state[id] = c
	if id.Sub > 0 {
		r.subs[id.Index] = max(r.subs[id.Index], id.Sub)
	}
}

// tip checks the lease and returns what its conversation stands at.
func (w *writer) tip(ctx context.Context, l history.Lease) (*tip, error) {
	row, err := w.q.LeaseOf(ctx, l.Conversation)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (row.Fence != l.Fence || row.Holder != l.Holder || row.Run != l.Run) {
		return nil, fmt.Errorf("fence %d, and %d is the newest: %w", l.Fence, row.Fence, history.ErrStale)
	}
	if err != nil {
		return nil, err
	}
	if t := w.tips[l.Conversation]; t != nil && same(t.lease, l) {
		return t, nil
	}
	t, err := w.load(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("read where the conversation stands: %w", err)
	}
	w.tips[l.Conversation] = t
	return t, nil
}

func same(a, b history.Lease) bool {
	return a.Fence == b.Fence && a.Holder == b.Holder && a.Run == b.Run
}

func (w *writer) load(ctx context.Context, l history.Lease) (t *tip, err error) {
	t = &tip{lease: l, open: map[int]*openRound{}}
	if t.seq, err = w.q.LastMessage(ctx, l.Conversation); err != nil {
		return nil, err
	}
	request, err := w.q.LastRequest(ctx, l.Conversation)
	if err != nil {
		return nil, err
	}
	t.request = int(request)
	turn, err := w.q.LastTurn(ctx, l.Conversation)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	t.turn, t.state = int(turn.N), history.TurnState(turn.State)
	if err := w.loadRound(ctx, l, t); err != nil {
		return nil, err
	}
	n, err := w.q.LastEpoch(ctx, l.Conversation)
	if errors.Is(err, sql.ErrNoRows) {
		return t, nil
	}
	if err != nil {
		return nil, err
	}
	t.epoch, err = w.endOf(ctx, l.Conversation, int(n))
	return t, err
}

func (w *writer) loadRound(ctx context.Context, l history.Lease, t *tip) error {
	round, err := w.q.LastRound(ctx, l.Conversation)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	t.round = int(round)
	open, err := w.q.OpenRounds(ctx, l.Conversation)
	if err != nil {
		return err
	}
	for _, r := range open {
		if err := w.loadOpen(ctx, l, t, r); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) loadOpen(ctx context.Context, l history.Lease, t *tip, round db.OpenRoundsRow) error {
	n := int(round.N)
	t.open[n] = newOpenRound(int(round.Turn), round.Seq, int(round.Calls))
	calls, err := w.q.OpenCalls(ctx, db.OpenCallsParams{Conversation: l.Conversation, Round: round.N})
	if err != nil {
		return err
	}
	for _, c := range calls {
		t.open[n].add(history.CallID{Round: n, Index: int(c.Idx), Sub: int(c.Sub)}, &callTip{
			state: history.CallState(c.State), attempt: int(c.Attempt), inline: c.Inline != 0, spilled: c.Spilled != 0,
			sum: hash(c.Sha256),
		})
	}
	return nil
}

func newOpenRound(turn int, seq int64, calls int) *openRound {
	return &openRound{turn: turn, seq: seq, calls: calls, state: map[history.CallID]*callTip{}, subs: map[int]int{}}
}

// endOf reads the end of an epoch, which lies in its base while it has no fragment of its own.
func (w *writer) endOf(ctx context.Context, conversation string, n int) (epochTip, error) {
	base, err := w.q.EpochBase(ctx, db.EpochBaseParams{Conversation: conversation, N: int64(n)})
	if errors.Is(err, sql.ErrNoRows) {
		return epochTip{}, refuse("there is no epoch %d", n)
	}
	if err != nil {
		return epochTip{}, err
	}
	end := epochTip{n: n, pos: int(base.BaseCount), head: hash(base.HeadSha256)}
	last, err := w.q.LastFragment(ctx, db.LastFragmentParams{Conversation: conversation, Epoch: int64(n)})
	switch {
	case err == nil:
		end.pos, end.chain = int(last.Pos), hash(last.Chain)
	case errors.Is(err, sql.ErrNoRows):
		end.chain, err = w.chainAt(ctx, conversation, n, end.pos)
	}
	return end, err
}

// chainAt reads the chain at a position of an epoch, through its bases.
func (w *writer) chainAt(ctx context.Context, conversation string, n, pos int) ([32]byte, error) {
	for pos > 0 && n > 0 {
		base, err := w.q.EpochBase(ctx, db.EpochBaseParams{Conversation: conversation, N: int64(n)})
		if err != nil {
			return [32]byte{}, err
		}
		if int64(pos) <= base.BaseCount && base.Base < int64(n) {
			n = int(base.Base)
			continue
		}
		chain, err := w.q.ChainAt(ctx, db.ChainAtParams{Conversation: conversation, Epoch: int64(n), Pos: int64(pos)})
		if errors.Is(err, sql.ErrNoRows) {
			return [32]byte{}, refuse("epoch %d has no fragment %d", n, pos)
		}
		return hash(chain), err
	}
	return [32]byte{}, nil
}

// hash reads a stored hash. The schema holds its length to 32.
func hash(b []byte) [32]byte {
	var h [32]byte
	copy(h[:], b)
	return h
}

// refuse is a write that does not fit what is stored.
func refuse(format string, args ...any) error {
	return fmt.Errorf(format+": %w", append(args, history.ErrConflict)...)
}
