package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
)

// Bounds that tests name.
const (
	MaxBatch = maxBatch
	MaxTries = maxTries
	WalHard  = walHard
	MmapSize = mmapSize
)

// Commits is how many transactions of this handle wrote something.
func (s *Store) Commits() int64 { return s.writer.commits.Load() }

// Holder is the name of this handle's file in holders/, empty before its first lease.
func (s *Store) Holder() string { return s.holder.ID() }

// OnWriter runs SQL on the connection that writes, between two transactions of others.
func (s *Store) OnWriter(ctx context.Context, text string) (string, error) {
	out := ""
	err := s.writer.do(ctx, task{stays: true, run: func(ctx context.Context, w *writer) error {
		row := w.conn.QueryRowContext(ctx, text)
		var v any
		err := row.Scan(&v)
		out = fmt.Sprint(v)
		return err
	}})
	return out, err
}

// OnCheckpointer reads a pragma on the connection that empties the log.
func (s *Store) OnCheckpointer(ctx context.Context, text string) (string, error) {
	c := s.writer.checkpoint
	if _, err := c.run("NOOP"); err != nil {
		return "", err
	}
	var v any
	err := c.pool.QueryRowContext(ctx, text).Scan(&v)
	return fmt.Sprint(v), err
}

// OnReaders reads a pragma on every connection that reads, at once.
func (s *Store) OnReaders(ctx context.Context, text string) ([]string, error) {
	var out []string
	for range s.cfg.Readers {
		conn, err := s.reader.Conn(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		var v any
		if err := conn.QueryRowContext(ctx, text).Scan(&v); err != nil {
			return nil, err
		}
		out = append(out, fmt.Sprint(v))
	}
	return out, nil
}

// DropReader makes the pool open a new connection for the next read.
func (s *Store) DropReader(ctx context.Context) error {
	conn, err := s.reader.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return conn.Raw(func(any) error { return driver.ErrBadConn })
}

// OpenWith opens a connection with a setting that does not hold.
func OpenWith(ctx context.Context, path, name, value string) error {
	s := Config{}.reading()
	s.params.Set("_busy_timeout", "5000")
	s.want = []setting{{"query_only", "1"}, {name, value}}
	pool, err := s.open(path, 1)
	if err != nil {
		return err
	}
	defer pool.Close()
	return pool.PingContext(ctx)
}
