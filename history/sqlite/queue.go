package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"

	codes "modernc.org/sqlite/lib"

	"github.com/weir-run/weir/history/sqlite/internal/db"
)

// Bounds of one transaction and of the queue before it.
const (
	maxBatch      = 64
	maxBatchBytes = 8 << 20
	maxQueue      = 256
	// maxTries bounds how often a transaction is tried while other processes hold the database.
	maxTries = 6
)

// task is one write. It may run more than once, each time in a new transaction in which nothing of the
// earlier try is left.
type task struct {
	// conversation is the one whose tip is dropped when the task is refused.
	conversation string
	// bytes is about how much it writes.
	bytes int
	// stays makes the caller wait for the end even when its context ends first.
	stays bool
	run   func(ctx context.Context, w *writer) error

	ctx  context.Context
	done chan error
}

// writer owns the one connection that writes. Everything below the line is its goroutine's own.
type writer struct {
	path       string
	cfg        Config
	log        *slog.Logger
	checkpoint *checkpointer

	mu     sync.RWMutex // guards closed and the sending side of queue
	closed bool
	queue  chan task
	ended  chan struct{}

	// commits counts transactions that wrote something.
	commits atomic.Int64

	// ---
	pool  *sql.DB
	conn  *sql.Conn
	q     *db.Queries
	verbs map[string]*sql.Stmt
	tips  map[string]*tip
}

func newWriter(dir string, cfg Config, log *slog.Logger) *writer {
	path := filepath.Join(dir, dbName)
	w := &writer{
		path: path, cfg: cfg, log: log,
		checkpoint: newCheckpointer(path, cfg, log),
		queue:      make(chan task, maxQueue),
		ended:      make(chan struct{}),
		tips:       map[string]*tip{},
	}
	go w.loop()
	return w
}

// do hands a task to the writer and waits for its commit. When ctx ends first it returns at once: a task
// that was not begun is then left out, one that was is finished.
func (w *writer) do(ctx context.Context, t task) error {
	t.ctx, t.done = ctx, make(chan error, 1)
	if err := w.send(ctx, t); err != nil {
		return err
	}
	if t.stays {
		return <-t.done
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *writer) send(ctx context.Context, t task) error {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.closed {
		return ErrClosed
	}
	select {
	case w.queue <- t:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close finishes what waits and closes the connections.
func (w *writer) close() error {
	w.mu.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.mu.Unlock()
	<-w.ended
	return one(w.disconnect(), w.checkpoint.close())
}

func (w *writer) loop() {
	defer close(w.ended)
	for first := range w.queue {
		w.serve(w.gather(first))
		w.checkpoint.wrote()
	}
}

// gather takes what waits behind the first task, without waiting for more.
func (w *writer) gather(first task) []task {
	batch, size := []task{first}, first.bytes
	for len(batch) < maxBatch && size < maxBatchBytes {
		select {
		case t, ok := <-w.queue:
			if !ok {
				return batch
			}
			batch = append(batch, t)
			size += t.bytes
		default:
			return batch
		}
	}
	return batch
}

// serve commits a batch and tells every caller how its task ended.
func (w *writer) serve(batch []task) {
	results, err := w.commit(batch)
	if err != nil && len(batch) > 1 && !busy(err) {
		// One of them may have caused it (a full disk, a text that is too large): each alone.
		for _, t := range batch {
			w.serve([]task{t})
		}
		return
	}
	for i, t := range batch {
		if err != nil {
			t.done <- plain(err)
			continue
		}
		t.done <- results[i]
	}
}

func busy(err error) bool {
	c := code(err)
	return c == codes.SQLITE_BUSY || c == codes.SQLITE_LOCKED
}

// commit runs a batch in one transaction. The error is that of the transaction; then nothing is stored.
func (w *writer) commit(batch []task) (results []error, err error) {
	ctx := context.Background()
	for range maxTries {
		if results, err = w.try(ctx, batch); err == nil {
			return results, nil
		}
		clear(w.tips)
		if code(err) == codes.SQLITE_FULL {
			return nil, err // rolled back, and the connection is as good as before
		}
		if !busy(err) {
			// The connection may be in any state: the next transaction gets a new one.
			if cerr := w.disconnect(); cerr != nil {
				w.log.Warn("close the writing connection", "error", cerr)
			}
			return nil, err
		}
	}
	return nil, err
}

func (w *writer) try(ctx context.Context, batch []task) ([]error, error) {
	if err := w.connect(ctx); err != nil {
		return nil, err
	}
	if err := w.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	results := make([]error, len(batch))
	wrote := false
	for i, t := range batch {
		if results[i] = t.ctx.Err(); results[i] != nil {
			continue
		}
		var stored bool
		var err error
		if stored, results[i], err = w.runOne(ctx, t, len(batch) == 1); err != nil {
			return nil, one(err, w.rollback(ctx))
		}
		wrote = wrote || stored
	}
	if !wrote {
		return results, w.rollback(ctx)
	}
	if err := w.exec(ctx, "COMMIT"); err != nil {
		return nil, one(err, w.rollback(ctx))
	}
	w.commits.Add(1)
	return results, nil
}

// runOne runs a task in a savepoint; alone in its transaction it needs none. It returns how the task
// ended and, apart from that, the error of a transaction that cannot go on.
func (w *writer) runOne(ctx context.Context, t task, alone bool) (stored bool, result, fatal error) {
	if !alone {
		if err := w.exec(ctx, "SAVEPOINT one"); err != nil {
			return false, nil, err
		}
	}
	err := t.run(ctx, w)
	switch {
	case err == nil:
		stored = true
	case refusal(err):
		delete(w.tips, t.conversation)
		err = plain(err)
	default:
		return false, nil, err
	}
	if alone {
		return stored, err, nil
	}
	if !stored {
		if rerr := w.exec(ctx, "ROLLBACK TO one"); rerr != nil {
			return false, nil, rerr
		}
	}
	return stored, err, w.exec(ctx, "RELEASE one")
}

// rollback ends a transaction, which an error may have ended already.
func (w *writer) rollback(ctx context.Context) error {
	err := w.exec(ctx, "ROLLBACK")
	if code(err) == codes.SQLITE_ERROR {
		return nil // no transaction is active
	}
	return err
}

// connect opens the connection and prepares every statement, for the connection's life.
func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn != nil {
		return nil
	}
	if w.pool == nil {
		s := w.cfg.writing()
		s.params.Set("mode", "rw") // the file is there; one that was deleted is not made anew
		if w.pool, err = s.open(w.path, 1); err != nil {
			return err
		}
	}
	conn, err := w.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = one(err, conn.Close())
		}
	}()
	q, err := db.Prepare(ctx, conn)
	if err != nil {
		return fmt.Errorf("prepare statements: %w", err)
	}
	verbs := map[string]*sql.Stmt{}
	for _, v := range []string{"BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", "SAVEPOINT one", "ROLLBACK TO one", "RELEASE one"} {
		stmt, err := conn.PrepareContext(ctx, v) //nolint:sqlclosecheck // disconnect closes it
		if err != nil {
			return fmt.Errorf("prepare %s: %w", v, err)
		}
		verbs[v] = stmt
	}
	w.conn, w.q, w.verbs = conn, q, verbs
	return nil
}

func (w *writer) exec(ctx context.Context, verb string) error {
	_, err := w.verbs[verb].ExecContext(ctx)
	return err
}

// disconnect closes the connection with all that belongs to it.
func (w *writer) disconnect() error {
	if w.pool == nil {
		return nil
	}
	var errs []error
	if w.conn != nil {
		for _, stmt := range w.verbs {
			errs = append(errs, stmt.Close())
		}
		errs = append(errs, w.q.Close(), w.conn.Close())
	}
	errs = append(errs, w.pool.Close())
	w.pool, w.conn, w.q, w.verbs = nil, nil, nil, nil
	clear(w.tips)
	return one(errs...)
}
