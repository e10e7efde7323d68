package cases

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver that the store has: these cases work on its file from outside
)

// database opens the file of the store from outside, as another program would.
func (w *world) database() *sql.DB {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.dir, "weir.db")+"?_pragma=busy_timeout(5000)")
	if err != nil {
		w.t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// sql runs statements on the store's file, from outside.
func (w *world) sql(statements ...string) {
	w.t.Helper()
	db := w.database()
	defer func() {
		if err := db.Close(); err != nil {
			w.t.Error(err)
		}
	}()
	for _, s := range statements {
		if _, err := db.ExecContext(w.t.Context(), s); err != nil {
			w.t.Fatalf("%s: %v", s, err)
		}
	}
}

// value reads one value from the store's file, from outside.
func (w *world) value(query string, args ...any) (v string) {
	w.t.Helper()
	db := w.database()
	defer func() { _ = db.Close() }()
	if err := db.QueryRowContext(w.t.Context(), query, args...).Scan(&v); err != nil {
		w.t.Fatalf("%s: %v", query, err)
	}
	return v
}

// dump writes out every row of some tables, each in the order of its first columns.
func (w *world) dump(tables []string) string {
	w.t.Helper()
	db := w.database()
	defer func() { _ = db.Close() }()
	var b strings.Builder
	for _, table := range tables {
		if err := w.dumpTable(&b, db, table); err != nil {
			w.t.Fatalf("dump %s: %v", table, err)
		}
	}
	return b.String()
}

func (w *world) dumpTable(b *strings.Builder, db *sql.DB, table string) error {
	rows, err := db.QueryContext(w.t.Context(), "SELECT * FROM "+table+" ORDER BY 1, 2, 3, 4")
	if err != nil {
		return err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return err
	}
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		b.WriteString(table)
		for i, v := range values {
			fmt.Fprintf(b, " %s=%q", names[i], fmt.Sprint(v))
			if raw, ok := v.([]byte); ok {
				fmt.Fprintf(b, "(%q)", raw)
			}
		}
		b.WriteByte('\n')
	}
	return rows.Err()
}
