package sqlite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
)

// step is one write of the holder of a lease, while it runs.
type step struct {
	w *writer
	q *db.Queries
	l history.Lease
	t *tip
	// receipt is what the caller gets.
	receipt history.Receipt
	// rounds and tokens are added to what the turn has used.
	rounds, tokens int64
}

// write runs f for the holder of a lease, in a transaction that checks the lease first.
func (s *Store) write(ctx context.Context, l history.Lease, act string, bytes int, f func(context.Context, *step) error) (history.Receipt, error) {
	return s.writeAs(ctx, l, act, bytes, func(ctx context.Context, w *writer) (*tip, error) { return w.tip(ctx, l) }, f)
}

// writeAs runs f after allow, in one transaction. The errors of both are wrapped with the act.
func (s *Store) writeAs(
	ctx context.Context, l history.Lease, act string, bytes int,
	allow func(context.Context, *writer) (*tip, error), f func(context.Context, *step) error,
) (history.Receipt, error) {
	if s.writer == nil {
		return history.Receipt{}, fmt.Errorf("%s of conversation %s: %w", act, l.Conversation, ErrReadOnly)
	}
	var receipt history.Receipt
	err := s.writer.do(ctx, task{conversation: l.Conversation, bytes: bytes, run: func(ctx context.Context, w *writer) error {
		t, err := allow(ctx, w)
		if err != nil {
			return err
		}
		st := &step{w: w, q: w.q, l: l, t: t}
		if err := f(ctx, st); err != nil {
			return err
		}
		if err := st.use(ctx); err != nil {
			return err
		}
		receipt = st.receipt
		return nil
	}})
	if err != nil {
		return history.Receipt{}, fmt.Errorf("%s of conversation %s: %w", act, l.Conversation, err)
	}
	return receipt, nil
}

// use adds what the step used of the turn's limits.
func (st *step) use(ctx context.Context) error {
	if st.t.turn == 0 || st.rounds == 0 && st.tokens == 0 {
		return nil
	}
	return st.q.UseTurn(ctx, db.UseTurnParams{Rounds: st.rounds, Tokens: st.tokens, Conversation: st.l.Conversation, N: int64(st.t.turn)})
}

// append stores what a step adds beside its own rows.
func (st *step) append(ctx context.Context, a history.Append) error {
	if err := st.end(ctx, a.Outcomes); err != nil {
		return err
	}
	for _, m := range a.Messages {
		if m.Seq != st.t.seq+1 {
			return refuse("expected message %d, got %d", st.t.seq+1, m.Seq)
		}
		if m.Turn < 0 || m.Turn > st.t.turn {
			return refuse("message %d is of turn %d, and the last is %d", m.Seq, m.Turn, st.t.turn)
		}
		st.t.seq++
		sum := sha256.Sum256(m.Body)
		err := st.q.AddMessage(ctx, db.AddMessageParams{
			Conversation: st.l.Conversation, Seq: m.Seq, Turn: int64(m.Turn), Round: int64(m.Round),
			Role: m.Role, Codec: m.Codec, Sha256: sum[:], Body: full(m.Body),
		})
		if err != nil {
			return err
		}
	}
	if a.Epoch != nil {
		if err := st.epoch(ctx, *a.Epoch); err != nil {
			return err
		}
	}
	for _, f := range a.Fragments {
		if err := st.fragment(ctx, f); err != nil {
			return err
		}
	}
	if a.Intent != nil {
		if err := st.request(ctx, *a.Intent); err != nil {
			return err
		}
	}
	return st.events(ctx, a.Events)
}

// end stores how requests ended.
func (st *step) end(ctx context.Context, outcomes []history.Outcomes) error {
	for _, o := range outcomes {
		if o.Outcome == "" {
			return refuse("request %d: an outcome has a name", o.N)
		}
		n, err := st.q.EndRequest(ctx, db.EndRequestParams{
			Outcome: o.Outcome, UsageIn: o.Usage.In, UsageOut: o.Usage.Out, CacheRead: o.Usage.CacheRead,
			CacheWrite: o.Usage.CacheWrite, LatencyNs: int64(o.Latency), Conversation: st.l.Conversation, N: int64(o.N),
		})
		if err != nil {
			return err
		}
		if n == 0 {
			if o.N < 1 || o.N > st.t.request {
				return refuse("there is no request %d, the last is %d", o.N, st.t.request)
			}
			return refuse("request %d has its outcome", o.N)
		}
		st.tokens += o.Usage.Out
	}
	return nil
}

func (st *step) epoch(ctx context.Context, e history.Epoch) error {
	t := st.t
	if e.N != t.epoch.n+1 {
		return refuse("expected epoch %d, got %d", t.epoch.n+1, e.N)
	}
	if e.Base < 0 || e.Base >= e.N || e.BaseCount < 0 || e.Base == 0 && e.BaseCount > 0 {
		return refuse("epoch %d cannot begin with %d fragments of epoch %d", e.N, e.BaseCount, e.Base)
	}
	next := epochTip{n: e.N, pos: e.BaseCount, head: sha256.Sum256(e.Head)}
	if e.HeadSHA != [32]byte{} && e.HeadSHA != next.head {
		return refuse("epoch %d: the head is not the one that its hash names", e.N)
	}
	if e.Base > 0 {
		base := t.epoch
		if e.Base != base.n {
			var err error
			if base, err = st.w.endOf(ctx, st.l.Conversation, e.Base); err != nil {
				return err
			}
		}
		if e.BaseCount > base.pos {
			return refuse("epoch %d has %d fragments, %d are to be shared", e.Base, base.pos, e.BaseCount)
		}
		var err error
		if next.chain = base.chain; e.BaseCount < base.pos {
			next.chain, err = st.w.chainAt(ctx, st.l.Conversation, e.Base, e.BaseCount)
		}
		if err != nil {
			return err
		}
	}
	t.epoch = next
	return st.q.AddEpoch(ctx, db.AddEpochParams{
		Conversation: st.l.Conversation, N: int64(e.N), Dialect: e.Dialect, Reason: e.Reason, Base: int64(e.Base),
		BaseCount: int64(e.BaseCount), HeadSha256: next.head[:], Fingerprint: full(e.Fingerprint), Head: full(e.Head), Tail: full(e.Tail),
	})
}

func (st *step) fragment(ctx context.Context, f history.Fragment) error {
	end := &st.t.epoch
	if f.Epoch != end.n {
		other, err := st.w.endOf(ctx, st.l.Conversation, f.Epoch)
		if err != nil {
			return err
		}
		end = &other
	}
	if f.Pos != end.pos+1 {
		return refuse("expected fragment %d of epoch %d, got %d", end.pos+1, f.Epoch, f.Pos)
	}
	if f.Seq < 1 || f.Seq > st.t.seq {
		return refuse("fragment %d of epoch %d encodes message %d, and the last is %d", f.Pos, f.Epoch, f.Seq, st.t.seq)
	}
	chain := history.Chain(end.chain, f.Bytes)
	if f.Chain != [32]byte{} && f.Chain != chain {
		return refuse("fragment %d of epoch %d: the chain does not follow", f.Pos, f.Epoch)
	}
	end.pos, end.chain = f.Pos, chain
	return st.q.AddFragment(ctx, db.AddFragmentParams{
		Conversation: st.l.Conversation, Epoch: int64(f.Epoch), Pos: int64(f.Pos), Seq: f.Seq,
		Encoder: f.Encoder, Chain: chain[:], Bytes: full(f.Bytes),
	})
}

func (st *step) request(ctx context.Context, r history.Request) error {
	t := st.t
	if r.N != t.request+1 {
		return refuse("expected request %d, got %d", t.request+1, r.N)
	}
	end := t.epoch
	if r.Epoch != end.n {
		var err error
		if end, err = st.w.endOf(ctx, st.l.Conversation, r.Epoch); err != nil {
			return err
		}
	}
	if r.LastPos < 0 || r.LastPos > end.pos {
		return refuse("request %d ends at fragment %d, and epoch %d has %d", r.N, r.LastPos, r.Epoch, end.pos)
	}
	if r.LastPos < end.pos {
		var err error
		if end.chain, err = st.w.chainAt(ctx, st.l.Conversation, r.Epoch, r.LastPos); err != nil {
			return err
		}
	}
	if r.HeadSHA != [32]byte{} && r.HeadSHA != end.head || r.Chain != [32]byte{} && r.Chain != end.chain {
		return refuse("request %d was not made of the stored head and fragments", r.N)
	}
	t.request++
	st.tokens += r.Usage.Out
	return st.q.AddRequest(ctx, db.AddRequestParams{
		Conversation: st.l.Conversation, N: int64(r.N), Epoch: int64(r.Epoch), LastPos: int64(r.LastPos),
		HeadSha256: end.head[:], Chain: end.chain[:], MessageBytes: r.MessageBytes, TotalBytes: r.TotalBytes,
		UsageIn: r.Usage.In, UsageOut: r.Usage.Out, CacheRead: r.Usage.CacheRead, CacheWrite: r.Usage.CacheWrite,
		LatencyNs: int64(r.Latency), Outcome: r.Outcome,
	})
}

func (st *step) events(ctx context.Context, events []history.Event) error {
	if len(events) == 0 {
		return nil
	}
	last, err := st.q.LastEvent(ctx, st.l.Conversation)
	if err != nil {
		return err
	}
	for _, e := range events {
		last++
		e.Seq = last
		err := st.q.AddEvent(ctx, db.AddEventParams{Conversation: st.l.Conversation, Seq: e.Seq, Kind: e.Kind, Data: full(e.Data)})
		if err != nil {
			return err
		}
		st.receipt.Events = append(st.receipt.Events, e)
	}
	return nil
}

// size is about how many bytes an append writes.
func size(a history.Append) int {
	n := 0
	for _, m := range a.Messages {
		n += len(m.Body)
	}
	for _, f := range a.Fragments {
		n += len(f.Bytes)
	}
	for _, e := range a.Events {
		n += len(e.Data)
	}
	if a.Epoch != nil {
		n += len(a.Epoch.Head) + len(a.Epoch.Tail)
	}
	return n
}

// full binds bytes that are never NULL: a nil slice would be.
func full(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// text binds a text that is NULL when empty.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ms is a time as it is stored, 0 for none.
func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMS(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
