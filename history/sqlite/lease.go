package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
	"github.com/weir-run/weir/history/sqlite/internal/holder"
	"github.com/weir-run/weir/spill"
)

// errRaced says that somebody took the lease between the look at its holder and the write.
var errRaced = errors.New("another run took the conversation meanwhile")

// TakeLease takes the conversation for one run. A holder that lives keeps it; see package history.
func (s *Store) TakeLease(ctx context.Context, t history.Take) (history.Lease, error) {
	l, err := s.takeLease(ctx, t)
	if err != nil {
		return history.Lease{}, fmt.Errorf("take conversation %.100q: %w", t.Conversation, err)
	}
	s.sweep.once(s.clean)
	return l, nil
}

func (s *Store) takeLease(ctx context.Context, t history.Take) (history.Lease, error) {
	if s.writer == nil {
		return history.Lease{}, ErrReadOnly
	}
	if t.Create != nil {
		if err := checkNew(t); err != nil {
			return history.Lease{}, err
		}
	}
	id, err := s.holder.Ensure()
	switch {
	case errors.Is(err, holder.ErrReleased):
		return history.Lease{}, ErrClosed
	case err != nil:
		return history.Lease{}, unwritable(err)
	}
	for range 16 {
		row, err := s.read.LeaseOf(ctx, t.Conversation)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return history.Lease{}, plain(err)
		}
		if row.Holder != "" {
			live, ours, err := s.holder.Alive(row.Holder)
			if err != nil {
				return history.Lease{}, err
			}
			if live && (!t.TakeOver || row.ExpiresAt > ms(t.Now)) {
				return history.Lease{}, &history.BusyError{
					Conversation: t.Conversation, Holder: row.Holder, Until: fromMS(row.ExpiresAt), Here: ours,
				}
			}
		}
		l, err := s.claim(ctx, t, id, row)
		if !errors.Is(err, errRaced) {
			return l, err
		}
	}
	return history.Lease{}, errRaced
}

// claim writes the lease if its row is still as it was seen.
func (s *Store) claim(ctx context.Context, t history.Take, id string, seen db.LeaseOfRow) (history.Lease, error) {
	l := history.Lease{
		Conversation: t.Conversation, Holder: id, Run: t.Run,
		Fence: seen.Fence + 1, Expires: fromMS(ms(t.Now.Add(history.LeaseTime))),
	}
	// A caller that left could not give the lease back: it waits until the write is done or left out.
	err := s.writer.do(ctx, task{conversation: t.Conversation, stays: true, run: func(ctx context.Context, w *writer) error {
		row, err := w.q.LeaseOf(ctx, t.Conversation)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if row != seen {
			return errRaced
		}
		if err := w.create(ctx, t); err != nil {
			return err
		}
		delete(w.tips, t.Conversation)
		return w.q.PutLease(ctx, db.PutLeaseParams{
			Conversation: l.Conversation, Holder: l.Holder, Run: l.Run, Fence: l.Fence, ExpiresAt: ms(l.Expires),
		})
	}})
	return l, err
}

// create stores a new conversation where there is none.
func (w *writer) create(ctx context.Context, t history.Take) error {
	there, err := w.q.HasConversation(ctx, t.Conversation)
	if err != nil || there {
		return err
	}
	c := t.Create
	if c == nil {
		return fmt.Errorf("there is no such conversation: %w", history.ErrNotFound)
	}
	return w.q.AddConversation(ctx, db.AddConversationParams{
		ID: c.ID, Title: c.Title, CreatedAt: ms(c.CreatedAt), Parent: c.Parent, ForkRound: int64(c.ForkRound), Settings: c.Settings,
	})
}

// checkNew holds a new conversation's id to what can name a folder.
func checkNew(t history.Take) error {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	id := t.Create.ID
	switch {
	case id != t.Conversation:
		return refuse("conversation %.100q is to be created as %.100q", t.Conversation, id)
	case id == "" || len(id) > 100 || id[0] == '.' || strings.Trim(id, letters) != "":
		return refuse("an id has 1 to 100 of A-Z a-z 0-9 . _ - and does not begin with a dot")
	}
	return nil
}

// RenewLease moves the end of the lease to [history.LeaseTime] after now.
func (s *Store) RenewLease(ctx context.Context, l history.Lease, now time.Time) (history.Lease, error) {
	l.Expires = fromMS(ms(now.Add(history.LeaseTime)))
	_, err := s.write(ctx, l, "renew the lease", 0, func(ctx context.Context, st *step) error {
		return st.q.RenewLease(ctx, db.RenewLeaseParams{ExpiresAt: ms(l.Expires), Conversation: l.Conversation})
	})
	if err != nil {
		return history.Lease{}, err
	}
	return l, nil
}

// ReleaseLease gives the conversation back; the fence stays, so that the next lease has a newer one.
func (s *Store) ReleaseLease(ctx context.Context, l history.Lease) error {
	if s.writer == nil {
		return fmt.Errorf("release conversation %s: %w", l.Conversation, ErrReadOnly)
	}
	err := s.writer.do(ctx, task{conversation: l.Conversation, run: func(ctx context.Context, w *writer) error {
		if t := w.tips[l.Conversation]; t != nil && same(t.lease, l) {
			delete(w.tips, l.Conversation)
		}
		return w.q.FreeLease(ctx, db.FreeLeaseParams{Conversation: l.Conversation, Holder: l.Holder, Run: l.Run, Fence: l.Fence})
	}})
	if err != nil {
		return fmt.Errorf("release conversation %s: %w", l.Conversation, err)
	}
	return nil
}

// sweepAge is how old a file without a row must be before it is removed: its row may be on its way.
const sweepAge = time.Hour

// sweep runs the cleaning of the spilled files once, beside the first run of a handle.
type sweep struct {
	mu     sync.Mutex
	begun  bool
	cancel context.CancelFunc
	ended  chan struct{}
}

func (w *sweep) once(clean func(context.Context)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun {
		return
	}
	w.begun = true
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel, w.ended = cancel, make(chan struct{})
	go func() {
		defer close(w.ended)
		clean(ctx)
	}()
}

// stop ends the cleaning and keeps it from beginning.
func (w *sweep) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun = true
	if w.cancel != nil {
		w.cancel()
		<-w.ended
	}
}

// clean removes what crashes left in tool-results/: temporary files, and files that no row names.
func (s *Store) clean(ctx context.Context) {
	_, err := s.spills.Sweep(ctx, time.Now().Add(-sweepAge), s.keeps(ctx))
	if err != nil && ctx.Err() == nil {
		s.log.Warn("sweep spilled results", "folder", s.dir+"/"+spill.Mount, "error", err)
	}
}

// keeps reports whether a row names a file; when that cannot be told it is kept.
func (s *Store) keeps(ctx context.Context) func(file string) bool {
	return func(file string) bool {
		conversation, _, _ := strings.Cut(file, "/")
		there, err := s.read.KeepsFile(ctx, db.KeepsFileParams{Conversation: conversation, File: file})
		return there || err != nil
	}
}

// maxSeenPath is the longest path in bytes of a file that was seen.
const maxSeenPath = 4096

// PutSeen keeps what a conversation has just seen of a file. Whoever reads files holds no lease of its own,
// so it is the handle that must hold one: one that was taken over writes nothing.
func (s *Store) PutSeen(ctx context.Context, conversation string, seen history.Seen) error {
	fail := func(err error) error {
		return fmt.Errorf("put what conversation %.100q saw of %.100q: %w", conversation, seen.Path, plain(err))
	}
	if s.writer == nil {
		return fail(ErrReadOnly)
	}
	if seen.Path == "" || len(seen.Path) > maxSeenPath || seen.Size < 0 {
		return fail(refuse("a path has 1 to %d bytes, and a size is not below 0", maxSeenPath))
	}
	us, err := s.holder.Ensure()
	if err != nil {
		return fail(unwritable(err))
	}
	err = s.writer.do(ctx, task{conversation: conversation, bytes: len(seen.Path), run: func(ctx context.Context, w *writer) error {
		row, err := w.q.LeaseOf(ctx, conversation)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return history.ErrNotFound
		case err != nil:
			return err
		case row.Holder != us:
			return history.ErrStale
		}
		return w.q.PutRead(ctx, db.PutReadParams{
			Conversation: conversation, Path: seen.Path, Size: seen.Size, MtimeNs: nanos(seen.Changed), Sha256: seen.SHA256[:],
			Round: int64(seen.By.Round), Idx: int64(seen.By.Index), Sub: int64(seen.By.Sub),
		})
	}})
	if err != nil {
		return fail(err)
	}
	return nil
}

// SeenOf reads what a conversation last saw of a file.
func (s *Store) SeenOf(ctx context.Context, conversation, path string) (history.Seen, error) {
	row, err := s.read.ReadOf(ctx, db.ReadOfParams{Conversation: conversation, Path: path})
	if errors.Is(err, sql.ErrNoRows) {
		err = history.ErrNotFound
	}
	if err != nil {
		return history.Seen{}, fmt.Errorf("read what conversation %.100q saw of %.100q: %w", conversation, path, plain(err))
	}
	seen := history.Seen{
		Path: path, Size: row.Size, SHA256: hash(row.Sha256),
		By: history.CallID{Round: int(row.Round), Index: int(row.Idx), Sub: int(row.Sub)},
	}
	if row.MtimeNs != 0 {
		seen.Changed = time.Unix(0, row.MtimeNs).UTC()
	}
	return seen, nil
}

// nanos is a time as it is stored where milliseconds are too coarse; 0 for none.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
