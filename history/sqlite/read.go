package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/spill"
)

// Conversations lists the newest first; limit 0 means all.
func (s *Store) Conversations(ctx context.Context, limit int) ([]history.Conversation, error) {
	n := int64(limit)
	if n <= 0 {
		n = -1
	}
	rows, err := s.read.Conversations(ctx, n)
	if err != nil {
		return nil, fmt.Errorf("list conversations: %w", plain(err))
	}
	out := make([]history.Conversation, 0, len(rows))
	for _, r := range rows {
		out = append(out, conversationOf(db.ConversationRow(r)))
	}
	return out, nil
}

// Conversation reads one; [history.ErrNotFound].
func (s *Store) Conversation(ctx context.Context, id string) (history.Conversation, error) {
	row, err := s.read.Conversation(ctx, id)
	if err != nil {
		return history.Conversation{}, fmt.Errorf("read conversation %.100q: %w", id, missing(err))
	}
	return conversationOf(row), nil
}

func conversationOf(r db.ConversationRow) history.Conversation {
	return history.Conversation{
		ID: r.ID, Title: r.Title, CreatedAt: fromMS(r.CreatedAt), Parent: r.Parent, ForkRound: int(r.ForkRound), Settings: r.Settings,
	}
}

// TurnsOf lists the turns of a conversation in order.
func (s *Store) TurnsOf(ctx context.Context, conversation string) ([]history.Turn, error) {
	rows, err := s.read.Turns(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("list turns of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Turn, 0, len(rows))
	for _, r := range rows {
		out = append(out, history.Turn{
			N: int(r.N), Key: deref(r.Key), FirstSeq: r.FirstSeq, State: history.TurnState(r.State), Reason: r.Reason,
			Rounds: int(r.Rounds), Tokens: r.Tokens, StartedAt: fromMS(r.StartedAt),
		})
	}
	return out, nil
}

// RoundsOf lists the rounds of a conversation in order.
func (s *Store) RoundsOf(ctx context.Context, conversation string) ([]history.Round, error) {
	rows, err := s.read.Rounds(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("list rounds of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Round, 0, len(rows))
	for _, r := range rows {
		out = append(out, roundOf(r))
	}
	return out, nil
}

// FindRound reads the round of a key, or the latest one when the key is empty; [history.ErrNotFound].
func (s *Store) FindRound(ctx context.Context, conversation, key string) (history.Round, error) {
	if key == "" {
		row, err := s.read.LatestRound(ctx, conversation)
		if err != nil {
			return history.Round{}, fmt.Errorf("read the latest round of conversation %.100q: %w", conversation, missing(err))
		}
		return roundOf(db.RoundsRow(row)), nil
	}
	row, err := s.read.RoundOfKey(ctx, db.RoundOfKeyParams{Conversation: conversation, Key: &key})
	if err != nil {
		return history.Round{}, fmt.Errorf("read round %.100q of conversation %.100q: %w", key, conversation, missing(err))
	}
	return roundOf(db.RoundsRow(row)), nil
}

func roundOf(r db.RoundsRow) history.Round {
	return history.Round{
		N: int(r.N), Turn: int(r.Turn), Key: deref(r.Key), Digest: hash(r.Digest), Seq: r.Seq, ResultsSeq: r.ResultsSeq,
		Closed: r.Closed != 0, Calls: int(r.Calls),
	}
}

// CallsOf lists the calls of one round in call order, inner calls after their parent; round 0 means all.
func (s *Store) CallsOf(ctx context.Context, conversation string, round int) ([]history.Call, error) {
	first, last := span(round)
	return s.calls(ctx, conversation, first, last)
}

// CallsAfter lists the calls of all rounds above one.
func (s *Store) CallsAfter(ctx context.Context, conversation string, after int) ([]history.Call, error) {
	return s.calls(ctx, conversation, int64(after)+1, math.MaxInt64)
}

func (s *Store) calls(ctx context.Context, conversation string, first, last int64) ([]history.Call, error) {
	rows, err := s.read.Calls(ctx, db.CallsParams{Conversation: conversation, First: first, Last: last})
	if err != nil {
		return nil, fmt.Errorf("list calls of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Call, 0, len(rows))
	for _, r := range rows {
		out = append(out, history.Call{
			ID: history.CallID{Round: int(r.Round), Index: int(r.Idx), Sub: int(r.Sub)}, ProviderID: r.ProviderID, Tool: r.Tool,
			Args: full(r.Args), ArgsSHA256: hash(r.ArgsSha256), State: history.CallState(r.State), Outcome: history.Outcome(r.Outcome), Attempt: int(r.Attempt),
			Fence: r.Fence, Created: fromMS(r.CreatedAt), Started: fromMS(r.StartedAt), Settled: fromMS(r.SettledAt),
		})
	}
	return out, nil
}

// ResultsOf lists the stored results without their bodies, in call order; round 0 means all rounds.
func (s *Store) ResultsOf(ctx context.Context, conversation string, round int) ([]history.Result, error) {
	first, last := span(round)
	rows, err := s.read.Results(ctx, db.ResultsParams{Conversation: conversation, First: first, Last: last})
	if err != nil {
		return nil, fmt.Errorf("list results of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Result, 0, len(rows))
	for _, r := range rows {
		ref, err := spillOf(r.Name, r.File, r.SpillBytes, r.SpillLines, r.SpillChars, r.SpillSha256, r.Complete, r.Newlines)
		id := history.CallID{Round: int(r.Round), Index: int(r.Idx), Sub: int(r.Sub)}
		if err != nil {
			return nil, fmt.Errorf("read result %s of conversation %.100q: %w", id, conversation, err)
		}
		out = append(out, history.Result{
			ID: id, Tool: r.Tool, Spill: ref, IsError: r.IsError != 0, Bytes: r.Bytes, Lines: r.Lines, Chars: r.Chars,
			SHA256: hash(r.Sha256), Tokens: r.Tokens, Duration: time.Duration(r.DurationNs),
			Same: r.HasShown == 0 && r.HasWhole != 0 && r.State == string(history.CallAnswered), ShownSHA256: hash(r.ShownSha256),
		})
	}
	return out, nil
}

// ResultOf reads one result with its bodies; [history.ErrNotFound].
func (s *Store) ResultOf(ctx context.Context, conversation string, id history.CallID) (history.Result, error) {
	r, err := s.read.Result(ctx, db.ResultParams{
		Conversation: conversation, Round: int64(id.Round), Idx: int64(id.Index), Sub: int64(id.Sub),
	})
	var ref *spill.Ref
	if err == nil {
		ref, err = spillOf(r.Name, r.File, r.SpillBytes, r.SpillLines, r.SpillChars, r.SpillSha256, r.Complete, r.Newlines)
	}
	if err != nil {
		return history.Result{}, fmt.Errorf("read result %s of conversation %.100q: %w", id, conversation, missing(err))
	}
	out := history.Result{
		ID: id, Tool: r.Tool, Whole: present(r.Whole, r.HasWhole), Spill: ref, Structured: present(r.Structured, r.HasStructured),
		IsError: r.IsError != 0, Notes: present(r.Notes, r.HasNotes), Bytes: r.Bytes, Lines: r.Lines, Chars: r.Chars,
		SHA256: hash(r.Sha256), Tokens: r.Tokens, Duration: time.Duration(r.DurationNs), Shown: present(r.Shown, r.HasShown),
		ShownSHA256: hash(r.ShownSha256),
	}
	if out.Shown == nil && out.Whole != nil && r.State == string(history.CallAnswered) {
		out.Shown, out.Same = out.Whole, true
	}
	return out, nil
}

// SpillsOf lists the files kept for a conversation, by name.
func (s *Store) SpillsOf(ctx context.Context, conversation string) ([]spill.Ref, error) {
	rows, err := s.read.Spills(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("list spills of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]spill.Ref, 0, len(rows))
	for _, r := range rows {
		ref, err := spillOf(&r.Name, &r.File, &r.Bytes, &r.Lines, &r.Chars, r.Sha256, &r.Complete, r.Newlines)
		if err != nil {
			return nil, fmt.Errorf("read spill %s of conversation %.100q: %w", r.Name, conversation, err)
		}
		out = append(out, *ref)
	}
	return out, nil
}

// Messages lists the messages with a sequence number above after, in order.
func (s *Store) Messages(ctx context.Context, conversation string, after int64) ([]history.Message, error) {
	rows, err := s.read.Messages(ctx, db.MessagesParams{Conversation: conversation, After: after})
	if err != nil {
		return nil, fmt.Errorf("list messages of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Message, 0, len(rows))
	for _, r := range rows {
		out = append(out, history.Message{
			Seq: r.Seq, Turn: int(r.Turn), Round: int(r.Round), Role: r.Role, Codec: r.Codec, Body: full(r.Body), SHA256: hash(r.Sha256),
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

// spillOf makes a reference from a row of spills, nil when there is none. An index that contradicts itself
// is given as it is stored: whoever uses it finds out, and Verify reports it.
func spillOf(name, file *string, bytes, count, chars *int64, sum []byte, complete *int64, newlines []byte) (*spill.Ref, error) {
	if name == nil || file == nil || bytes == nil || count == nil || chars == nil || complete == nil {
		return nil, nil
	}
	var counts lines.Counts
	if err := counts.UnmarshalBinary(newlines); err != nil {
		return nil, fmt.Errorf("%w: %w", history.ErrCorrupt, err)
	}
	index, err := lines.Restore(*bytes, *count, *chars, counts)
	if err != nil {
		index = lines.Index{Bytes: *bytes, Lines: *count, Chars: *chars, Counts: counts}
	}
	return &spill.Ref{Name: *name, File: *file, SHA256: hash(sum), Index: index, Complete: *complete != 0}, nil
}

// span is the range of rounds that a number means.
func span(round int) (first, last int64) {
	if round == 0 {
		return 0, math.MaxInt64
	}
	return int64(round), int64(round)
}

// missing gives the error of a query for one row the words of the contract.
func missing(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return history.ErrNotFound
	}
	return plain(err)
}

// present undoes what the driver does to an empty value, which it reads as nil.
func present(b []byte, has int64) []byte {
	if has == 0 {
		return nil
	}
	return full(b)
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
