package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
)

// Messages lists the messages with a sequence number above after, in order.
func (s *Store) Messages(ctx context.Context, conversation string, after int64) ([]history.Message, error) {
	rows, err := s.read.Messages(ctx, db.MessagesParams{Conversation: conversation, After: after})
	if err != nil {
		return nil, fmt.Errorf("list messages of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Message, 0, len(rows))
	for _, r := range rows {
		out = append(out, history.Message{
			Seq: r.Seq, Turn: int(r.Turn), Round: int(r.Round), Role: r.Role, Codec: r.Codec, Body: full(r.Body),
		})
	}
	return out, nil
}

// Epochs lists the epochs of a conversation in order.
func (s *Store) Epochs(ctx context.Context, conversation string) ([]history.Epoch, error) {
	rows, err := s.read.Epochs(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("list epochs of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Epoch, 0, len(rows))
	for _, r := range rows {
		out = append(out, history.Epoch{
			N: int(r.N), Dialect: r.Dialect, Reason: r.Reason, Head: full(r.Head), Tail: full(r.Tail), HeadSHA: hash(r.HeadSha256),
			Fingerprint: full(r.Fingerprint), Base: int(r.Base), BaseCount: int(r.BaseCount),
		})
	}
	return out, nil
}

// fragmentRows reads a stretch of one epoch's own fragments. It is written by hand because its bytes are
// passed on as they lie in the driver's buffer, not copied once more.
const fragmentRows = `SELECT pos, seq, encoder, chain, bytes FROM fragments
WHERE conversation = ? AND epoch = ? AND pos > ? AND pos <= ? ORDER BY pos`

// Fragments calls yield for the fragments of an epoch with a position above after, in order, through its
// base epochs. The bytes are valid only during the call, and yield must not call the store.
func (s *Store) Fragments(ctx context.Context, conversation string, epoch, after int, yield func(history.Fragment) error) error {
	err := s.fragments(ctx, conversation, epoch, after, yield)
	if err != nil {
		return fmt.Errorf("read fragments of epoch %d of conversation %.100q: %w", epoch, conversation, missing(err))
	}
	return nil
}

// stretch is a part of an epoch that lies in one epoch's own rows.
type stretch struct{ epoch, after, last int64 }

func (s *Store) fragments(ctx context.Context, conversation string, epoch, after int, yield func(history.Fragment) error) error {
	var stretches []stretch // from the end of the epoch to its beginning
	last := int64(math.MaxInt64)
	for n := int64(epoch); ; {
		base, err := s.read.EpochBase(ctx, db.EpochBaseParams{Conversation: conversation, N: n})
		if err != nil {
			return err
		}
		stretches = append(stretches, stretch{epoch: n, after: max(base.BaseCount, int64(after)), last: last})
		last = min(last, base.BaseCount)
		if last <= int64(after) || base.Base == 0 {
			break
		}
		if base.Base >= n {
			return fmt.Errorf("%w: epoch %d has epoch %d as its base", history.ErrCorrupt, n, base.Base)
		}
		n = base.Base
	}
	stmt, err := s.stream()
	if err != nil {
		return err
	}
	for i := len(stretches) - 1; i >= 0; i-- {
		if err := scan(ctx, stmt, conversation, stretches[i], epoch, yield); err != nil {
			return err
		}
	}
	return nil
}

func scan(ctx context.Context, stmt *sql.Stmt, conversation string, s stretch, epoch int, yield func(history.Fragment) error) (err error) {
	if s.after >= s.last {
		return nil
	}
	rows, err := stmt.QueryContext(ctx, conversation, s.epoch, s.after, s.last)
	if err != nil {
		return err
	}
	defer func() { err = one(err, rows.Close()) }()
	var encoder, chain, bytes sql.RawBytes
	f := history.Fragment{Epoch: epoch}
	for rows.Next() {
		if err := rows.Scan(&f.Pos, &f.Seq, &encoder, &chain, &bytes); err != nil {
			return err
		}
		if string(encoder) != f.Encoder {
			f.Encoder = string(encoder)
		}
		f.Chain, f.Bytes = hash(chain), full(bytes)
		if err := yield(f); err != nil {
			return err
		}
	}
	return rows.Err()
}

// Requests lists the requests of a conversation in order.
func (s *Store) Requests(ctx context.Context, conversation string) ([]history.Request, error) {
	rows, err := s.read.Requests(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("list requests of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Request, 0, len(rows))
	for _, r := range rows {
		out = append(out, history.Request{
			N: int(r.N), Epoch: int(r.Epoch), LastPos: int(r.LastPos), HeadSHA: hash(r.HeadSha256), Chain: hash(r.Chain),
			MessageBytes: r.MessageBytes, TotalBytes: r.TotalBytes, Outcome: r.Outcome, Latency: time.Duration(r.LatencyNs),
			Usage: history.Usage{In: r.UsageIn, Out: r.UsageOut, CacheRead: r.CacheRead, CacheWrite: r.CacheWrite},
		})
	}
	return out, nil
}

// Events lists the record events with a sequence number above after, in order.
func (s *Store) Events(ctx context.Context, conversation string, after int64) ([]history.Event, error) {
	rows, err := s.read.Events(ctx, db.EventsParams{Conversation: conversation, After: after})
	if err != nil {
		return nil, fmt.Errorf("list events of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Event, 0, len(rows))
	for _, r := range rows {
		out = append(out, history.Event{Seq: r.Seq, Kind: r.Kind, Data: full(r.Data)})
	}
	return out, nil
}
