package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
)

// load is the bytes of one round: four results of 16 KB together, each on the wire once more.
type load struct {
	message, fragment []byte
	results           [4][]byte
	wire              []byte
}

func newLoad() load {
	l := load{message: bytes.Repeat([]byte("m"), 400), fragment: bytes.Repeat([]byte("f"), 500)}
	for i, size := range []int{700, 2_300, 4_200, 9_000} {
		l.results[i] = bytes.Repeat([]byte("a line of the result\n"), size/21+1)[:size]
		l.wire = append(l.wire, l.results[i]...)
	}
	return l
}

// driver runs rounds through the history API.
type driver struct {
	s     history.Store
	l     history.Lease
	n     int
	sent  int64
	load  load
	tools [4]string
}

func newDriver(tb testing.TB, s history.Store, id string) *driver {
	tb.Helper()
	ctx := context.Background()
	l, err := s.TakeLease(ctx, history.Take{Conversation: id, Create: &history.Conversation{ID: id}, Run: "bench", Now: time.Now()})
	if err != nil {
		tb.Fatal(err)
	}
	d := &driver{s: s, l: l, sent: 500, load: newLoad(), tools: [4]string{"workspace--grep", "workspace--read", "shell--run", "workspace--list"}}
	_, err = s.BeginTurn(ctx, l, history.Begin{Turn: 1, Append: history.Append{
		Messages:  []history.Message{{Seq: 1, Turn: 1, Role: "user", Codec: "weir/1", Body: d.load.message}},
		Epoch:     &history.Epoch{N: 1, Dialect: "bench", Reason: "start", Head: []byte(`{"messages":[`), Tail: []byte("]}")},
		Fragments: []history.Fragment{{Epoch: 1, Pos: 1, Seq: 1, Bytes: d.load.fragment}},
		Intent:    &history.Request{N: 1, Epoch: 1, LastPos: 1, MessageBytes: 500, TotalBytes: 515},
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func (d *driver) round(ctx context.Context) error {
	d.n++
	d.sent += int64(len(d.load.fragment) + len(d.load.wire) + 2)
	n, seq := d.n, int64(2*d.n)
	pos := int(seq)
	o := history.Opening{Round: n, Turn: 1, Append: history.Append{
		Now:       time.Now(),
		Outcomes:  []history.Outcomes{{N: n, Outcome: "ok", Usage: history.Usage{In: 1000, Out: 100}}},
		Messages:  []history.Message{{Seq: seq, Turn: 1, Role: "assistant", Codec: "weir/1", Body: d.load.message, Round: n}},
		Fragments: []history.Fragment{{Epoch: 1, Pos: pos, Seq: seq, Encoder: "1", Bytes: d.load.fragment}},
	}}
	cl := history.Closing{Round: n, Append: history.Append{
		Now:       time.Now(),
		Messages:  []history.Message{{Seq: seq + 1, Turn: 1, Role: "results", Codec: "weir/1", Round: n}},
		Fragments: []history.Fragment{{Epoch: 1, Pos: pos + 1, Seq: seq + 1, Encoder: "1", Bytes: d.load.wire}},
		Intent:    &history.Request{N: n + 1, Epoch: 1, LastPos: pos + 1, MessageBytes: d.sent, TotalBytes: d.sent + 15},
	}}
	for i, tool := range d.tools {
		id := history.CallID{Round: n, Index: i + 1}
		o.Calls = append(o.Calls, history.Call{ID: id, ProviderID: "toolu_0123456789", Tool: tool, Args: []byte(`{"path":"src/a.go","pattern":"func"}`), State: history.CallPending})
		cl.Settled = append(cl.Settled, history.Settled{Result: history.Result{ID: id, Whole: d.load.results[i]}, Outcome: history.OutcomeDone, Now: time.Now()})
		cl.Shown = append(cl.Shown, history.Shown{ID: id, Same: true})
	}
	if _, err := d.s.OpenRound(ctx, d.l, o); err != nil {
		return err
	}
	_, err := d.s.CloseRound(ctx, d.l, cl)
	return err
}

// raw writes the same bytes in two transactions of prepared SQL, with nothing around them.
type raw struct {
	stmts map[string]*sql.Stmt
	n     int
	load  load
}

func newRaw(tb testing.TB, synchronous string) *raw {
	tb.Helper()
	ctx := context.Background()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(tb.TempDir(), "raw.db")+
		"?_txlock=immediate&_journal_mode=WAL&_synchronous="+synchronous+"&_busy_timeout=5000&_foreign_keys=1")
	if err != nil {
		tb.Fatal(err)
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close(); _ = pool.Close() })
	_, err = conn.ExecContext(ctx, `
		CREATE TABLE message (id INTEGER PRIMARY KEY, conv INTEGER NOT NULL, seq INTEGER NOT NULL, body BLOB NOT NULL, wire BLOB NOT NULL, UNIQUE (conv, seq)) STRICT;
		CREATE TABLE result (id INTEGER PRIMARY KEY, message INTEGER NOT NULL REFERENCES message (id), idx INTEGER NOT NULL, call TEXT NOT NULL, body BLOB NOT NULL, UNIQUE (message, idx)) STRICT;
		CREATE INDEX result_call ON result (call);`)
	if err != nil {
		tb.Fatal(err)
	}
	r := &raw{stmts: map[string]*sql.Stmt{}, load: newLoad()}
	for name, text := range map[string]string{
		"begin": "BEGIN IMMEDIATE", "commit": "COMMIT",
		"message": "INSERT INTO message VALUES (?, 1, ?, ?, ?)", "result": "INSERT INTO result (message, idx, call, body) VALUES (?, ?, ?, ?)",
	} {
		stmt, err := conn.PrepareContext(ctx, text)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { _ = stmt.Close() })
		r.stmts[name] = stmt
	}
	return r
}

func (r *raw) round(ctx context.Context) error {
	r.n++
	do := func(name string, args ...any) error { _, err := r.stmts[name].ExecContext(ctx, args...); return err }
	steps := []func() error{
		func() error { return do("begin") },
		func() error { return do("message", 2*r.n, 2*r.n, r.load.message, r.load.fragment) },
		func() error { return do("commit") },
		func() error { return do("begin") },
		func() error { return do("message", 2*r.n+1, 2*r.n+1, []byte{}, r.load.wire) },
	}
	for i, body := range r.load.results {
		steps = append(steps, func() error { return do("result", 2*r.n+1, i, fmt.Sprintf("toolu_%d_%d", r.n, i), body) })
	}
	steps = append(steps, func() error { return do("commit") })
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkRound is one round (open, 4 results, close: 33 KB with its fragments) beside the same bytes in
// two transactions of raw SQL, and, for FULL, two appends to a file with fdatasync.
func BenchmarkRound(b *testing.B) {
	ctx := context.Background()
	for _, mode := range []struct {
		name  string
		level sqlite.Synchronous
	}{{"NORMAL", sqlite.Normal}, {"FULL", sqlite.Full}} {
		b.Run(mode.name+"/history", func(b *testing.B) {
			s, err := sqlite.Open(ctx, b.TempDir(), sqlite.Config{Synchronous: mode.level})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			d := newDriver(b, s, "c1")
			before := s.Commits()
			for b.Loop() {
				if err := d.round(ctx); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(s.Commits()-before)/float64(b.N), "commits/op")
		})
		b.Run(mode.name+"/raw", func(b *testing.B) {
			r := newRaw(b, mode.name)
			for b.Loop() {
				if err := r.round(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("FULL/file", func(b *testing.B) {
		f, err := os.Create(filepath.Join(b.TempDir(), "file"))
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		l := newLoad()
		open := bytes.Repeat([]byte("o"), len(l.message)+len(l.fragment))
		closing := append(bytes.Join(l.results[:], nil), l.wire...)
		for b.Loop() {
			for _, part := range [][]byte{open, closing} {
				if _, err := f.Write(part); err != nil {
					b.Fatal(err)
				}
				if err := datasync(f); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkRoundsAtOnce is one round of 16 conversations that run at once.
func BenchmarkRoundsAtOnce(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{1, 16} {
		b.Run(fmt.Sprintf("FULL/%d", n), func(b *testing.B) {
			s, err := sqlite.Open(ctx, b.TempDir(), sqlite.Config{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			drivers := make([]*driver, n)
			for i := range drivers {
				drivers[i] = newDriver(b, s, fmt.Sprintf("c%d", i))
			}
			before := s.Commits()
			b.ResetTimer()
			var wg sync.WaitGroup
			var left atomic.Int64
			left.Store(int64(b.N))
			for _, d := range drivers {
				wg.Go(func() {
					for left.Add(-1) >= 0 {
						if err := d.round(ctx); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(s.Commits()-before)/float64(b.N), "commits/op")
		})
	}
}

// BenchmarkSeen is what a read of a file costs more since it is kept what was seen of it: one look and one
// write, alone.
func BenchmarkSeen(b *testing.B) {
	for name, sync := range map[string]sqlite.Synchronous{"full": sqlite.Full, "normal": sqlite.Normal} {
		b.Run(name, func(b *testing.B) {
			s, err := sqlite.Open(context.Background(), b.TempDir(), sqlite.Config{Synchronous: sync})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			newDriver(b, s, "c")
			n := 0
			for b.Loop() {
				n++
				seen := history.Seen{Path: fmt.Sprintf("project/%d.go", n%100), Size: int64(n), Changed: time.Unix(int64(n), 0), By: history.CallID{Round: n, Index: 1}}
				if _, err := s.SeenOf(context.Background(), "c", seen.Path); n > 100 && err != nil {
					b.Fatal(err)
				}
				if err := s.PutSeen(context.Background(), "c", seen); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
