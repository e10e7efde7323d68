package bench

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/mattn/go-sqlite3" // the driver "sqlite3"
)

// raw writes the bytes of a load in two transactions of prepared SQL on mattn/go-sqlite3, SQLite's own C
// code, with nothing around them: the least that a program would store of a round.
type raw struct {
	stmts map[string]*sql.Stmt
	load  load
	path  string
	n     int
}

func newRaw(b *testing.B, synchronous string, l load) *raw {
	b.Helper()
	ctx := context.Background()
	path := filepath.Join(b.TempDir(), "raw.db")
	pool, err := sql.Open("sqlite3", "file:"+path+"?_journal_mode=WAL&_synchronous="+synchronous+"&_busy_timeout=5000&_foreign_keys=1")
	if err != nil {
		b.Fatal(err)
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(); _ = pool.Close() })
	_, err = conn.ExecContext(ctx, `
		CREATE TABLE message (id INTEGER PRIMARY KEY, conv INTEGER NOT NULL, seq INTEGER NOT NULL,
			body BLOB NOT NULL, wire BLOB NOT NULL, UNIQUE (conv, seq)) STRICT;
		CREATE TABLE result (id INTEGER PRIMARY KEY, message INTEGER NOT NULL REFERENCES message (id),
			idx INTEGER NOT NULL, call TEXT NOT NULL, body BLOB NOT NULL, UNIQUE (message, idx)) STRICT;
		CREATE INDEX result_call ON result (call);`)
	if err != nil {
		b.Fatal(err)
	}
	r := &raw{stmts: map[string]*sql.Stmt{}, load: l, path: path}
	for name, text := range map[string]string{
		"begin": "BEGIN IMMEDIATE", "commit": "COMMIT",
		"message": "INSERT INTO message VALUES (?, 1, ?, ?, ?)",
		"result":  "INSERT INTO result (message, idx, call, body) VALUES (?, ?, ?, ?)",
	} {
		stmt, err := conn.PrepareContext(ctx, text)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = stmt.Close() })
		r.stmts[name] = stmt
	}
	return r
}

// round stores one round.
func (r *raw) round() error {
	ctx := context.Background()
	r.n++
	do := func(name string, args ...any) error {
		_, err := r.stmts[name].ExecContext(ctx, args...)
		return err
	}
	full := func(blob []byte) []byte { return append([]byte{}, blob...) } // an empty blob is not NULL
	steps := []func() error{
		func() error { return do("begin") },
		func() error { return do("message", 2*r.n, 2*r.n, r.load.message, full(r.load.fragment)) },
		func() error { return do("commit") },
		func() error { return do("begin") },
		func() error { return do("message", 2*r.n+1, 2*r.n+1, []byte{}, full(r.load.wire)) },
	}
	for i, body := range r.load.results {
		steps = append(steps, func() error {
			return do("result", 2*r.n+1, i, fmt.Sprintf("toolu_%d_%d", r.n, i), body)
		})
	}
	for _, step := range append(steps, func() error { return do("commit") }) {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
