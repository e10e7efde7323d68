package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

const (
	// walSoft is how much the log may hold before it is moved into the database in the background.
	walSoft = 4 << 20
	// walHard is the size of the log's file at which the writer stops for it. The room up to 64 MB is
	// for the transaction that is under way.
	walHard = 48 << 20
	// walIdle is how long nothing is written before the log is emptied.
	walIdle = 200 * time.Millisecond
	// walPace is the least time between two looks at the log.
	walPace = 20 * time.Millisecond
	// walRetry is how long the writer does not stop again after a reader kept the log from being emptied.
	walRetry = time.Second
	// walFrame is a page with its header in the log.
	walFrame = 4096 + 24
)

// checkpointer moves what was committed from the log into the database, on a connection of its own, so
// that no write has to wait for it.
type checkpointer struct {
	path string
	cfg  Config
	log  *slog.Logger

	wake  chan struct{}
	stop  chan struct{}
	ended chan struct{}

	mu     sync.Mutex // guards pool: the goroutine and the writer both use it
	pool   *sql.DB
	begun  bool
	paused time.Time // the writer's own: until then it does not stop for the log
}

func newCheckpointer(path string, cfg Config, log *slog.Logger) *checkpointer {
	return &checkpointer{
		path: path, cfg: cfg, log: log,
		wake: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
}

// wrote is called by the writer after each transaction. It returns at once unless the log is too large.
func (c *checkpointer) wrote() {
	if !c.begun {
		c.begun = true
		go c.loop()
	}
	info, err := os.Stat(c.path + "-wal")
	if err == nil && info.Size() > walHard && time.Now().After(c.paused) {
		if done, err := c.run("TRUNCATE"); err != nil || !done {
			c.paused = time.Now().Add(walRetry)
			c.log.Warn("the write-ahead log could not be emptied: a reader has not ended", "bytes", info.Size(), "error", err)
		}
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// loop looks at the log after writes, at most every walPace, and empties it when nothing is written.
func (c *checkpointer) loop() {
	defer close(c.ended)
	idle := time.NewTimer(walIdle)
	defer idle.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-idle.C:
			if _, err := c.run("PASSIVE"); err != nil {
				c.log.Warn("checkpoint", "error", err)
			}
		case <-c.wake:
			if err := c.look(); err != nil {
				c.log.Warn("checkpoint", "error", err)
			}
			idle.Reset(walIdle)
			select {
			case <-c.stop:
				return
			case <-time.After(walPace):
			}
		}
	}
}

// look empties the log when it holds much.
func (c *checkpointer) look() error {
	if info, err := os.Stat(c.path + "-wal"); err != nil || info.Size() <= walSoft {
		return nil // the file is never smaller than what it holds
	}
	_, log, moved, err := c.pragma("NOOP")
	if err == nil && (log-moved)*walFrame > walSoft {
		_, err = c.run("PASSIVE")
	}
	return err
}

// run does one checkpoint and says whether all of the log was moved.
func (c *checkpointer) run(mode string) (bool, error) {
	busy, log, moved, err := c.pragma(mode)
	return busy == 0 && log == moved, err
}

func (c *checkpointer) pragma(mode string) (busy, log, moved int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool == nil {
		if c.pool, err = c.cfg.checkpointing().open(c.path, 1); err != nil {
			return 0, 0, 0, err
		}
	}
	row := c.pool.QueryRowContext(context.Background(), "PRAGMA wal_checkpoint("+mode+")")
	if err := row.Scan(&busy, &log, &moved); err != nil {
		return 0, 0, 0, fmt.Errorf("checkpoint %s: %w", mode, err)
	}
	return busy, log, moved, nil
}

// close empties the log if something was written, and ends. The writer has ended before.
func (c *checkpointer) close() error {
	if !c.begun {
		return nil
	}
	close(c.stop)
	<-c.ended
	if _, err := c.run("TRUNCATE"); err != nil && !busy(err) {
		c.log.Warn("checkpoint", "error", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pool == nil {
		return nil
	}
	return c.pool.Close()
}
