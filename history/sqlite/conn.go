package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/weir-run/weir/history/sqlite/internal/db"

	engine "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"github.com/weir-run/weir/history"
)

// mmapSize is how much of the database a reading connection maps: one page read in four costs a system
// call less, which halves the time of reading a conversation back.
const mmapSize = 256 << 20

// settings are what a connection is opened with. They stand in its name only: a PRAGMA that is run later
// reaches one connection of a pool.
type settings struct {
	// params are the driver's own, and mode (rwc, rw, ro) and immutable as SQLite's file names have them.
	params url.Values
	// want is read back on every connection that is opened.
	want []setting
}

type setting struct{ name, value string }

func (c Config) busy() string { return strconv.FormatInt(c.BusyTimeout.Milliseconds(), 10) }

// writing is the settings of the one connection that writes, and of the one that migrates.
func (c Config) writing() settings {
	level, word := "2", "FULL"
	if c.Synchronous == Normal {
		level, word = "1", "NORMAL"
	}
	return settings{
		params: url.Values{
			"mode":    {"rwc"},
			"_txlock": {"immediate"}, "_journal_mode": {"WAL"}, "_synchronous": {word},
			"_busy_timeout": {c.busy()}, "_foreign_keys": {"1"}, "_defensive": {"1"}, "_dqs": {"0"},
			"_pragma": {"wal_autocheckpoint(0)", "recursive_triggers(1)", "trusted_schema(0)"},
		},
		want: []setting{
			{"journal_mode", "wal"},
			{"synchronous", level},
			{"foreign_keys", "1"},
			{"busy_timeout", c.busy()},
			{"wal_autocheckpoint", "0"},
			{"recursive_triggers", "1"},
		},
	}
}

// checkpointing is the settings of the connection that empties the log. It waits only a little for
// readers: what it cannot move now it moves later.
func (c Config) checkpointing() settings {
	s := c.writing()
	s.params.Set("mode", "rw")
	s.params.Set("_busy_timeout", "200")
	s.want = []setting{{"journal_mode", "wal"}, {"synchronous", s.want[1].value}, {"wal_autocheckpoint", "0"}}
	return s
}

// reading is the settings of the connections that read.
func (c Config) reading() settings {
	s := settings{
		params: url.Values{
			"mode":    {"rw"},
			"_txlock": {"deferred"}, "_busy_timeout": {c.busy()}, "_query_only": {"1"},
			"_defensive": {"1"}, "_dqs": {"0"},
			"_pragma": {"mmap_size(" + strconv.Itoa(mmapSize) + ")", "trusted_schema(0)"},
		},
		want: []setting{{"query_only", "1"}, {"busy_timeout", c.busy()}},
	}
	return s
}

// name is the name under which the driver opens a file with these settings.
func (s settings) name(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	q := url.Values{"_error_rc": {"1"}}
	for k, v := range s.params {
		q[k] = v
	}
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

// open makes a pool of at most n connections. No connection is opened yet.
func (s settings) open(path string, n int) (*sql.DB, error) {
	base, err := engine.NewConnector(s.name(path))
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector{base, s.want})
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)
	return pool, nil
}

// connector checks every connection that it opens.
type connector struct {
	driver.Connector
	want []setting
}

// Connect opens a connection and reads its settings back.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	for _, w := range c.want {
		got, err := pragma(ctx, conn, w.name)
		if err == nil && got != w.value {
			err = fmt.Errorf("setting %s is %s instead of %s", w.name, got, w.value)
		}
		if err != nil {
			return nil, one(err, conn.Close())
		}
	}
	return conn, nil
}

func pragma(ctx context.Context, conn driver.Conn, name string) (string, error) {
	q, ok := conn.(driver.QueryerContext)
	if !ok {
		return "", errors.New("the driver cannot read settings back")
	}
	rows, err := q.QueryContext(ctx, "PRAGMA "+name, nil)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	row := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(row); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if len(row) == 0 {
		return "", nil
	}
	return fmt.Sprint(row[0]), nil
}

// code is the primary result code of an error of the engine, 0 for any other.
func code(err error) int {
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// refusal says that an error concerns one write only; after any other the transaction cannot go on.
func refusal(err error) bool {
	switch code(err) {
	case 0:
		return !errors.Is(err, driver.ErrBadConn) && !errors.Is(err, sql.ErrConnDone) && !errors.Is(err, sql.ErrTxDone)
	case codes.SQLITE_CONSTRAINT, codes.SQLITE_MISMATCH, codes.SQLITE_TOOBIG:
		return true
	}
	return false
}

// one joins errors on one line; nil when there is none.
func one(errs ...error) (all error) {
	for _, err := range errs {
		switch {
		case err == nil:
		case all == nil:
			all = err
		default:
			all = fmt.Errorf("%w; %w", all, err)
		}
	}
	return all
}

// plain gives an error of the engine the words of the contract: what is wrong and what to do.
func plain(err error) error {
	switch code(err) {
	case codes.SQLITE_CONSTRAINT, codes.SQLITE_MISMATCH, codes.SQLITE_TOOBIG:
		return fmt.Errorf("%w (%w)", history.ErrConflict, err)
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return fmt.Errorf("%w (%w): keep a copy, then restore %s from a backup or use another folder", history.ErrCorrupt, err, dbName)
	case codes.SQLITE_FULL:
		return fmt.Errorf("the disk is full (%w): make room and try again", err)
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return fmt.Errorf("another process keeps the store locked (%w): stop it, or try again later", err)
	case codes.SQLITE_READONLY, codes.SQLITE_CANTOPEN, codes.SQLITE_PERM:
		return fmt.Errorf("the folder or %s cannot be written (%w): give this user the right to write there, choose another folder, or open it for reading only", dbName, err)
	}
	return err
}

// prepared keeps each query of the readers prepared from its first use on: parsing it again was half of what
// reading one result cost. Opening a store prepares nothing, since most programs use few of the queries.
type prepared struct {
	*sql.DB
	mu    sync.RWMutex
	stmts map[string]*sql.Stmt
}

var _ db.DBTX = (*prepared)(nil)

func newPrepared(pool *sql.DB) *prepared {
	return &prepared{DB: pool, stmts: map[string]*sql.Stmt{}}
}

// QueryContext runs a query.
func (p *prepared) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := p.stmt(ctx, query); stmt != nil { //nolint:sqlclosecheck // it is kept, and closed with the pool
		return stmt.QueryContext(ctx, args...)
	}
	return p.DB.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a query of one row.
func (p *prepared) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt := p.stmt(ctx, query); stmt != nil { //nolint:sqlclosecheck // it is kept, and closed with the pool
		return stmt.QueryRowContext(ctx, args...)
	}
	return p.DB.QueryRowContext(ctx, query, args...)
}

// stmt gives the prepared form of a query; nil when it cannot be had now, and the plain query then says why.
func (p *prepared) stmt(ctx context.Context, query string) *sql.Stmt {
	p.mu.RLock()
	stmt := p.stmts[query]
	p.mu.RUnlock()
	if stmt != nil {
		return stmt
	}
	made, err := p.DB.PrepareContext(ctx, query)
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if stmt = p.stmts[query]; stmt != nil { // somebody was quicker
		_ = made.Close() //nolint:sqlclosecheck // the other one is kept
		return stmt
	}
	p.stmts[query] = made // closed with the pool
	return made
}
