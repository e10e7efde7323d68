// Package sqlite is SQLite behind the contract of package history.
//
// One folder holds everything: weir.db, the rows; tool-results/, the spilled texts; holders/ and lock,
// with which processes tell each other apart. Several processes may use it at once.
//
// Writes go through one goroutine and one connection. It takes what waits, at most [maxBatch] writes,
// into one transaction, so that many conversations share the cost of making a commit durable; each
// write stands in a savepoint of its own, and one that is refused leaves the others alone. Reads use a
// pool of connections that cannot write. A third connection moves what was committed from the write-ahead
// log into the database while nobody waits for it.
//
// What a write was given belongs to the store: a caller must not change it afterwards, not even when its
// context ended early.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
	"github.com/weir-run/weir/history/sqlite/internal/holder"
	"github.com/weir-run/weir/spill"
)

// Names in the folder of a store.
const (
	dbName      = "weir.db"
	lockName    = "lock"
	holdersName = "holders"
	spillsName  = spill.Mount
)

// Errors that callers branch on, beside those of package history.
var (
	// ErrReadOnly says that the store was opened for reading only.
	ErrReadOnly = errors.New("the store was opened for reading only")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrNoStore says that there is no store in the folder; only opening for reading returns it.
	ErrNoStore = errors.New("there is no store in this folder")
)

// Synchronous says when a commit is on the disk.
type Synchronous int

const (
	// Full makes every commit durable before the write returns.
	Full Synchronous = iota
	// Normal may lose the last commits when the machine loses power; it never damages the store, and
	// loses nothing when only the process dies.
	Normal
)

// Config is how a store is opened. The zero value works.
type Config struct {
	// Synchronous is [Full] by default.
	Synchronous Synchronous
	// ReadOnly opens for reading only, also in a folder that cannot be written. Nothing is made,
	// migrated or locked, and every write fails with [ErrReadOnly].
	ReadOnly bool
	// Readers is the number of connections that read, 1 to 64; 0 means 4.
	Readers int
	// BusyTimeout is how long one try waits for another process that writes; 0 means 5 s. A write is
	// tried 6 times before it fails.
	BusyTimeout time.Duration
	// Spill is how spilled texts are kept.
	Spill spill.Config
	// Logger is told what no caller is; nil is silent.
	Logger *slog.Logger
}

// Store is a [history.Store] in a folder. It is safe for concurrent use.
type Store struct {
	dir    string
	cfg    Config
	log    *slog.Logger
	spills *spill.Dir
	holder *holder.Holder

	reader *sql.DB
	read   *db.Queries
	// stream reads fragments; it is prepared once, on the first use.
	stream func() (*sql.Stmt, error)

	writer *writer
	sweep  *sweep

	closing sync.Once
	closed  error
}

var _ history.Store = (*Store)(nil)

// Open opens the store in a folder, which is made when it is not there (mode 0700, with a .gitignore of
// its own that ignores everything). A database of an older version is brought up to date; one of a newer
// version is refused with [history.ErrNewer], one that cannot be read with [history.ErrCorrupt]. An
// up-to-date store is opened without writing anything.
func Open(ctx context.Context, dir string, cfg Config) (*Store, error) {
	if err := cfg.check(); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	abs, err := filepath.Abs(dir)
	if err != nil || dir == "" {
		return nil, errors.New("open store: the folder has no name")
	}
	s := &Store{dir: abs, cfg: cfg, log: cfg.Logger}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if s.spills, err = spill.NewDir(filepath.Join(abs, spillsName), cfg.Spill); err != nil {
		return nil, fmt.Errorf("open store %s: %w", abs, err)
	}
	if cfg.ReadOnly {
		s.reader, err = openToRead(ctx, abs, cfg)
	} else {
		s.reader, err = openUpToDate(ctx, abs, cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", abs, err)
	}
	s.read = db.New(newPrepared(s.reader))
	s.stream = sync.OnceValues(func() (*sql.Stmt, error) {
		return s.reader.PrepareContext(context.Background(), fragmentRows)
	})
	if !cfg.ReadOnly {
		s.holder = holder.New(filepath.Join(abs, holdersName))
		s.writer = newWriter(abs, cfg, s.log)
		s.sweep = &sweep{}
	}
	return s, nil
}

func (c *Config) check() error {
	if c.Readers == 0 {
		c.Readers = 4
	}
	if c.BusyTimeout == 0 {
		c.BusyTimeout = 5 * time.Second
	}
	switch {
	case c.Readers < 1 || c.Readers > 64:
		return fmt.Errorf("%d readers: choose 1 to 64, or 0 for 4", c.Readers)
	case c.BusyTimeout < time.Millisecond || c.BusyTimeout > time.Hour:
		return fmt.Errorf("busy timeout %s: choose 1 ms to 1 h, or 0 for 5 s", c.BusyTimeout)
	case c.Synchronous != Full && c.Synchronous != Normal:
		return fmt.Errorf("synchronous %d: choose Full or Normal", c.Synchronous)
	}
	return nil
}

// Dir is the folder of the store, absolute.
func (s *Store) Dir() string { return s.dir }

// Spills is where whole results over the cap are kept, in the same folder.
func (s *Store) Spills() spill.Store { return s.spills }

// Close finishes the writes that wait, gives the leases of this handle back and empties the write-ahead
// log into the database. Later calls return what the first one did.
func (s *Store) Close() error {
	s.closing.Do(func() { s.closed = s.close() })
	return s.closed
}

func (s *Store) close() error {
	var errs []error
	if s.writer != nil {
		s.sweep.stop()
		if id := s.holder.ID(); id != "" {
			errs = append(errs, s.writer.do(context.Background(), task{run: func(ctx context.Context, w *writer) error {
				return w.q.FreeLeasesOf(ctx, id)
			}}))
		}
		errs = append(errs, s.writer.close())
	}
	errs = append(errs, s.reader.Close())
	if s.holder != nil {
		errs = append(errs, s.holder.Release())
	}
	if err := one(errs...); err != nil {
		return fmt.Errorf("close store %s: %w", s.dir, plain(err))
	}
	return nil
}
