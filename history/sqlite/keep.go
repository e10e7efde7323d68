package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
)

var _ history.Keeper = (*Store)(nil)

// cut is where a conversation is cut when it is forked.
type cut struct {
	round      int64
	seq        int64
	epoch, pos int64
	// whole keeps the requests and events behind the last round too.
	whole bool
	event int64
}

// Fork makes child a copy of a conversation up to a closed round; see package history. The files come
// first, as with everything that a row names.
func (s *Store) Fork(ctx context.Context, conversation string, round int, child history.Conversation) error {
	fail := func(err error) error {
		return fmt.Errorf("fork conversation %.100q as %.100q: %w", conversation, child.ID, plain(err))
	}
	if s.writer == nil {
		return fail(ErrReadOnly)
	}
	child.Parent, child.ForkRound = conversation, round
	if err := checkNew(history.Take{Conversation: child.ID, Create: &child}); err != nil {
		return fail(err)
	}
	there, err := s.read.HasConversation(ctx, child.ID)
	if err == nil && there {
		err = refuse("there is a conversation %.100q", child.ID)
	}
	if err != nil {
		return fail(err)
	}
	at, err := s.cutAt(ctx, conversation, round)
	if err != nil {
		return fail(err)
	}
	child.ForkRound = int(at.round)
	files, err := s.shareFiles(ctx, conversation, child.ID, at.round)
	if err == nil {
		err = s.writer.do(ctx, task{conversation: child.ID, stays: true, run: func(ctx context.Context, w *writer) error {
			return w.fork(ctx, conversation, child, at, files)
		}})
	}
	if err != nil {
		// Whatever was shared has no row; what cannot be removed now is swept later.
		if rerr := s.spills.Remove(context.WithoutCancel(ctx), child.ID); rerr != nil {
			s.log.Warn("remove the files of a fork that failed", "conversation", child.ID, "error", rerr)
		}
		return fail(err)
	}
	return nil
}

// cutAt finds where the round ends in everything that is copied.
func (s *Store) cutAt(ctx context.Context, conversation string, round int) (cut, error) {
	if _, err := s.Conversation(ctx, conversation); err != nil {
		return cut{}, err
	}
	if round == 0 {
		whole, err := s.wholeCut(ctx, conversation)
		if err != nil || whole.whole {
			return whole, err
		}
		round = int(whole.round)
	}
	at := cut{round: int64(round)}
	var err error
	at.seq, err = s.read.CutSeq(ctx, db.CutSeqParams{Conversation: conversation, N: at.round})
	if errors.Is(err, sql.ErrNoRows) {
		return at, fmt.Errorf("there is no closed round %d: %w", round, history.ErrNotFound)
	}
	if err != nil {
		return at, err
	}
	if at.seq > 0 {
		row, err := s.read.CutAt(ctx, db.CutAtParams{Conversation: conversation, Seq: at.seq})
		if err != nil {
			return at, err
		}
		at.epoch, at.pos = row.Epoch, row.Pos
	}
	at.event, err = s.closingEvent(ctx, conversation, at.round)
	return at, err
}

// wholeCut is the end of a conversation whose last turn has ended; else its last closed round.
func (s *Store) wholeCut(ctx context.Context, conversation string) (cut, error) {
	var at cut
	var err error
	if at.round, err = s.read.LastClosedRound(ctx, conversation); err != nil {
		return at, err
	}
	turn, err := s.read.LastTurn(ctx, conversation)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		if at.round == 0 {
			return at, fmt.Errorf("nothing was said in it: %w", history.ErrNotFound)
		}
		return at, nil
	case err != nil:
		return at, err
	case turn.State != string(history.TurnEnded):
		return at, nil
	}
	at.whole = true
	if at.seq, err = s.read.LastMessage(ctx, conversation); err != nil {
		return at, err
	}
	if at.event, err = s.read.LastEvent(ctx, conversation); err != nil {
		return at, err
	}
	at.epoch, err = s.read.LastEpoch(ctx, conversation)
	at.pos = 1 << 62 // all of it
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return at, err
}

// closingEvent finds the event that tells that a round was closed, 0 when none does.
func (s *Store) closingEvent(ctx context.Context, conversation string, round int64) (int64, error) {
	events, err := s.Events(ctx, conversation, 0)
	if err != nil {
		return 0, err
	}
	want := `"round":` + strconv.FormatInt(round, 10) + `,`
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Kind == "round_closed" && strings.Contains(string(events[i].Data), want) {
			return events[i].Seq, nil
		}
	}
	return 0, nil
}

// shareFiles keeps the files of the copied rounds for the child as well.
func (s *Store) shareFiles(ctx context.Context, conversation, child string, round int64) (map[string]string, error) {
	refs, err := s.SpillsOf(ctx, conversation)
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, ref := range refs {
		id, _, _ := strings.Cut(strings.TrimPrefix(ref.Name, "r"), "-")
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || n > round {
			continue
		}
		if files[ref.Name], err = s.spills.Share(ctx, ref.File, child); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// fork copies the rows.
func (w *writer) fork(ctx context.Context, parent string, child history.Conversation, at cut, files map[string]string) error {
	id := child.ID
	if err := w.create(ctx, history.Take{Conversation: id, Create: &child}); err != nil {
		return err
	}
	steps := []func() error{
		func() error { return w.q.ForkTurns(ctx, db.ForkTurnsParams{Child: id, Parent: parent, Seq: at.seq}) },
		func() error {
			return w.q.ForkMessages(ctx, db.ForkMessagesParams{Child: id, Parent: parent, Seq: at.seq})
		},
		func() error {
			return w.q.EndForkedTurns(ctx, db.EndForkedTurnsParams{Child: id, Parent: parent, Seq: at.seq})
		},
		func() error {
			return w.q.ForkEpochs(ctx, db.ForkEpochsParams{Child: id, Parent: parent, Epoch: at.epoch})
		},
		func() error {
			return w.q.ForkFragments(ctx, db.ForkFragmentsParams{Child: id, Parent: parent, Epoch: at.epoch, Pos: at.pos})
		},
		func() error {
			return w.q.ForkRounds(ctx, db.ForkRoundsParams{Child: id, Parent: parent, Round: at.round})
		},
		func() error {
			return w.q.ForkCalls(ctx, db.ForkCallsParams{Child: id, Parent: parent, Round: at.round})
		},
		func() error { return w.forkSpills(ctx, parent, id, files) },
		func() error {
			return w.q.ForkResults(ctx, db.ForkResultsParams{Child: id, Parent: parent, Round: at.round})
		},
		func() error {
			return w.q.ForkApprovals(ctx, db.ForkApprovalsParams{Child: id, Parent: parent, Round: at.round})
		},
		func() error {
			return w.q.ForkReads(ctx, db.ForkReadsParams{Child: id, Parent: parent, Round: at.round})
		},
		func() error {
			return w.q.ForkRequests(ctx, db.ForkRequestsParams{Child: id, Parent: parent, Epoch: at.epoch, Pos: at.pos})
		},
		func() error {
			return w.q.ForkEvents(ctx, db.ForkEventsParams{Child: id, Parent: parent, Seq: at.event})
		},
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) forkSpills(ctx context.Context, parent, child string, files map[string]string) error {
	for name, file := range files {
		if err := w.q.ForkSpill(ctx, db.ForkSpillParams{Child: child, File: file, Parent: parent, Name: name}); err != nil {
			return err
		}
	}
	return nil
}

// Delete removes a conversation, its rows first: files without a row are swept when a crash comes between.
func (s *Store) Delete(ctx context.Context, conversation string) error {
	fail := func(err error) error { return fmt.Errorf("delete conversation %.100q: %w", conversation, plain(err)) }
	if s.writer == nil {
		return fail(ErrReadOnly)
	}
	err := s.writer.do(ctx, task{conversation: conversation, stays: true, run: func(ctx context.Context, w *writer) error {
		row, err := w.q.LeaseOf(ctx, conversation)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if row.Holder != "" {
			live, ours, err := s.holder.Alive(row.Holder)
			if err != nil {
				return err
			}
			if live {
				return &history.BusyError{Conversation: conversation, Holder: row.Holder, Until: fromMS(row.ExpiresAt), Here: ours}
			}
		}
		delete(w.tips, conversation)
		n, err := w.q.DeleteConversation(ctx, conversation)
		if err == nil && n == 0 {
			err = fmt.Errorf("there is no such conversation: %w", history.ErrNotFound)
		}
		return err
	}})
	if err != nil {
		return fail(err)
	}
	if err := s.spills.Remove(ctx, conversation); err != nil {
		return fail(err)
	}
	return nil
}

// Sweep removes temporary files and files without a row that are older than olderThan.
func (s *Store) Sweep(ctx context.Context, olderThan time.Time) (int, error) {
	swept, err := s.spills.Sweep(ctx, olderThan, s.keeps(ctx))
	if err != nil {
		return swept.Temps + swept.Files, fmt.Errorf("sweep spilled results: %w", err)
	}
	return swept.Temps + swept.Files, nil
}

// Compact gives free space back to the file system.
func (s *Store) Compact(ctx context.Context) error {
	if s.writer == nil {
		return fmt.Errorf("compact the store: %w", ErrReadOnly)
	}
	if err := s.alone(ctx, "VACUUM"); err != nil {
		return fmt.Errorf("compact the store: %w", plain(err))
	}
	return nil
}

// Backup writes a consistent copy of the database to a new file; one that exists is refused.
func (s *Store) Backup(ctx context.Context, path string) error {
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("back up the store to %s: the file exists: choose another name", path)
	}
	if err := s.alone(ctx, "VACUUM INTO ?", path); err != nil {
		return fmt.Errorf("back up the store to %s: %w", path, plain(err))
	}
	return nil
}

// alone runs a statement that may not stand in a transaction, on a connection of its own.
func (s *Store) alone(ctx context.Context, statement string, args ...any) error {
	set := s.cfg.writing()
	set.params.Set("mode", "rw")
	pool, err := set.open(filepath.Join(s.dir, dbName), 1)
	if err != nil {
		return err
	}
	_, err = pool.ExecContext(ctx, statement, args...)
	return one(err, pool.Close())
}
