package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/spill"
)

func begin(t *testing.T, s *sqlite.Store, id string) history.Lease {
	t.Helper()
	l, err := s.TakeLease(t.Context(), history.Take{Conversation: id, Create: &history.Conversation{ID: id}, Run: "run", Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func event(kind string) history.Append {
	return history.Append{Events: []history.Event{{Kind: kind}}}
}

func TestTwoHandlesOfOneProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := open(t, dir, sqlite.Config{}), open(t, dir, sqlite.Config{})
	l := begin(t, a, "c1")
	var busy *history.BusyError
	if _, err := take(b); !errors.As(err, &busy) || !busy.Here || busy.Holder != a.Holder() {
		t.Fatalf("the other handle: %v, want a *BusyError of this process", err)
	}
	if _, err := b.Append(t.Context(), history.Lease{Conversation: "c1", Holder: "x", Run: "run", Fence: l.Fence}, event("k")); !errors.Is(err, history.ErrStale) {
		t.Errorf("a lease that the other handle does not hold: %v, want ErrStale", err)
	}
	if err := a.ReleaseLease(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	second, err := take(b)
	if err != nil || second.Fence != 2 {
		t.Fatalf("after the release: %+v, %v, want fence 2", second, err)
	}
	// What one handle has written the other follows.
	if _, err := b.Append(t.Context(), second, event("k")); err != nil {
		t.Fatal(err)
	}
	if err := b.ReleaseLease(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	third := begin(t, a, "c1")
	r, err := a.Append(t.Context(), third, event("k"))
	if err != nil || third.Fence != 3 || r.Events[0].Seq != 2 {
		t.Errorf("back at the first handle: fence %d, %+v, %v, want fence 3 and event 2", third.Fence, r, err)
	}
}

// Of many that ask at once one gets the conversation.
func TestOneOfManyTakes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	handles := []*sqlite.Store{open(t, dir, sqlite.Config{}), open(t, dir, sqlite.Config{})}
	if err := handles[0].ReleaseLease(t.Context(), begin(t, handles[0], "c1")); err != nil {
		t.Fatal(err)
	}
	for fence := int64(2); fence < 12; fence++ {
		var mu sync.Mutex
		var got []history.Lease
		var by *sqlite.Store
		var wg sync.WaitGroup
		for n := range 8 {
			wg.Go(func() {
				s := handles[n%2]
				l, err := s.TakeLease(context.Background(), history.Take{Conversation: "c1", Run: fmt.Sprint(n), Now: time.Now()})
				var busy *history.BusyError
				if err != nil && !errors.As(err, &busy) {
					t.Error(err)
				}
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					got, by = append(got, l), s
				}
			})
		}
		wg.Wait()
		if len(got) != 1 || got[0].Fence != fence {
			t.Fatalf("leases %+v, want one of fence %d", got, fence)
		}
		if err := by.ReleaseLease(t.Context(), got[0]); err != nil {
			t.Fatal(err)
		}
	}
}

func TestCommitsOfARound(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), sqlite.Config{})
	d := newDriver(t, s, "c1")
	before := s.Commits()
	for range 5 {
		if err := d.round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Commits() - before; n != 10 {
		t.Errorf("5 rounds whose results come together took %d commits, want 2 each", n)
	}
	before = s.Commits()
	if _, err := s.Append(t.Context(), history.Lease{Conversation: "c1"}, event("k")); !errors.Is(err, history.ErrStale) {
		t.Fatal(err)
	}
	if n := s.Commits() - before; n != 0 {
		t.Errorf("a refused write took %d commits, want none", n)
	}
}

// block keeps the database locked, as another process that writes does.
func block(t *testing.T, dir string) (release func()) {
	t.Helper()
	pool := scratch(t, dir)
	exec1(t, pool, "BEGIN IMMEDIATE")
	return func() { exec1(t, pool, "ROLLBACK") }
}

// Writes that wait go into one transaction; the one that is refused, and the one whose caller left, leave
// the others alone.
func TestGroupCommit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, sqlite.Config{BusyTimeout: time.Minute})
	const n = 12
	leases := make([]history.Lease, n)
	for i := range leases {
		leases[i] = begin(t, s, fmt.Sprintf("c%d", i))
	}
	release := block(t, dir)
	before := s.Commits()
	left, leave := context.WithCancel(t.Context())
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			switch i {
			case 0: // the first is taken alone, and waits for the lock
				_, errs[i] = s.Append(t.Context(), leases[i], event("k"))
			case 5:
				_, errs[i] = s.Append(t.Context(), leases[i], history.Append{ // the first message fits, the second does not
					Events: event("k").Events, Messages: []history.Message{{Seq: 1}, {Seq: 7}},
				})
			case 6:
				_, errs[i] = s.Append(left, leases[i], event("k"))
			default:
				_, errs[i] = s.Append(t.Context(), leases[i], event("k"))
			}
		})
		if i == 0 {
			time.Sleep(50 * time.Millisecond)
		}
	}
	time.Sleep(100 * time.Millisecond)
	leave()
	time.Sleep(20 * time.Millisecond)
	release()
	wg.Wait()
	for i, err := range errs {
		events, rerr := s.Events(t.Context(), leases[i].Conversation, 0)
		if rerr != nil {
			t.Fatal(rerr)
		}
		messages, rerr := s.Messages(t.Context(), leases[i].Conversation, 0)
		if rerr != nil {
			t.Fatal(rerr)
		}
		switch {
		case i == 5 && (!errors.Is(err, history.ErrConflict) || len(events)+len(messages) != 0):
			t.Errorf("the refused write: %v, %d events, %d messages, want ErrConflict and none", err, len(events), len(messages))
		case i == 6 && (!errors.Is(err, context.Canceled) || len(events) != 0):
			t.Errorf("the write of a caller that left: %v, %d events, want context.Canceled and none", err, len(events))
		case i != 5 && i != 6 && (err != nil || len(events) != 1):
			t.Errorf("write %d: %v, %d events, want no error and 1", i, err, len(events))
		}
	}
	if n := s.Commits() - before; n != 2 {
		t.Errorf("%d commits, want 2: the first write alone, then all the others", n)
	}
	if _, err := s.Append(t.Context(), leases[5], event("k")); err != nil {
		t.Errorf("after the refused write: %v", err)
	}
}

// A database that stays locked is an error that says so, after a bounded time, and then all is well again.
func TestLockedDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, sqlite.Config{BusyTimeout: 10 * time.Millisecond})
	l := begin(t, s, "c1")
	release := block(t, dir)
	start := time.Now()
	_, err := s.Append(t.Context(), l, event("k"))
	if err == nil || !strings.Contains(err.Error(), "locked") {
		t.Errorf("a locked database: %v, want an error that says so", err)
	}
	if took := time.Since(start); took < sqlite.MaxTries*10*time.Millisecond {
		t.Errorf("it took %s, want %d tries of 10 ms", took, sqlite.MaxTries)
	}
	release()
	r, err := s.Append(t.Context(), l, event("k"))
	if err != nil || r.Events[0].Seq != 1 {
		t.Errorf("after the lock: %+v, %v", r, err)
	}
}

// One write that the disk has no room for fails; those beside it in the transaction do not.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, sqlite.Config{BusyTimeout: time.Minute})
	big, small := begin(t, s, "big"), begin(t, s, "small")
	if _, err := s.OnWriter(t.Context(), "PRAGMA max_page_count = 200"); err != nil {
		t.Fatal(err)
	}
	release := block(t, dir)
	var wg sync.WaitGroup
	var errBig, errSmall error
	wg.Go(func() { _, _ = s.Append(t.Context(), small, event("first")) })
	time.Sleep(50 * time.Millisecond)
	wg.Go(func() {
		a := event("k")
		a.Messages = []history.Message{{Seq: 1, Body: make([]byte, 2<<20)}}
		_, errBig = s.Append(t.Context(), big, a)
	})
	wg.Go(func() { _, errSmall = s.Append(t.Context(), small, event("second")) })
	time.Sleep(100 * time.Millisecond)
	release()
	wg.Wait()
	if errBig == nil || !strings.Contains(errBig.Error(), "full") {
		t.Errorf("the large write: %v, want an error that says that the disk is full", errBig)
	}
	if events, err := s.Events(t.Context(), "small", 0); errSmall != nil || err != nil || len(events) != 2 {
		t.Errorf("the small write: %v, and %d events, %v, want 2", errSmall, len(events), err)
	}
	if all, err := s.Messages(t.Context(), "big", 0); err != nil || len(all) != 0 {
		t.Errorf("the large write left %d messages, %v", len(all), err)
	}
	if r, err := s.Append(t.Context(), big, event("k")); err != nil || r.Events[0].Seq != 1 {
		t.Errorf("a later write: %+v, %v", r, err)
	}
	intact(t, s)
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]struct {
		level sqlite.Synchronous
		want  string
	}{"full": {sqlite.Full, "2"}, "normal": {sqlite.Normal, "1"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, t.TempDir(), sqlite.Config{Synchronous: mode.level, Readers: 3, BusyTimeout: 1234 * time.Millisecond})
			begin(t, s, "c1")
			if err := s.DropReader(t.Context()); err != nil && err.Error() != "driver: bad connection" {
				t.Fatal(err)
			}
			for text, want := range map[string]string{
				"journal_mode": "wal", "synchronous": mode.want, "foreign_keys": "1", "busy_timeout": "1234", "wal_autocheckpoint": "0",
				"recursive_triggers": "1", "query_only": "0", "trusted_schema": "0", "page_size": "4096",
			} {
				if got, err := s.OnWriter(t.Context(), "PRAGMA "+text); err != nil || got != want {
					t.Errorf("%s of the writer is %s, %v, want %s", text, got, err, want)
				}
			}
			for text, want := range map[string]string{
				"query_only": "1", "busy_timeout": "1234", "mmap_size": strconv.Itoa(sqlite.MmapSize), "journal_mode": "wal", "trusted_schema": "0",
			} {
				got, err := s.OnReaders(t.Context(), "PRAGMA "+text)
				if diff := cmp.Diff([]string{want, want, want}, got); err != nil || diff != "" {
					t.Errorf("%s of the readers, %v (-want +got):\n%s", text, err, diff)
				}
			}
			for text, want := range map[string]string{"journal_mode": "wal", "synchronous": mode.want, "wal_autocheckpoint": "0"} {
				if got, err := s.OnCheckpointer(t.Context(), "PRAGMA "+text); err != nil || got != want {
					t.Errorf("%s of the checkpointer is %s, %v, want %s", text, got, err, want)
				}
			}
		})
	}
}

// A connection on which a setting does not hold is not used.
func TestSettingsAreReadBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filled(t, dir)
	path := filepath.Join(dir, "weir.db")
	if err := sqlite.OpenWith(t.Context(), path, "busy_timeout", "5000"); err != nil {
		t.Errorf("a setting that holds: %v", err)
	}
	for name, value := range map[string]string{"busy_timeout": "4999", "foreign_keys": "1", "no_such_setting": "1"} {
		if err := sqlite.OpenWith(t.Context(), path, name, value); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s %s: %v, want an error that names it", name, value, err)
		}
	}
}

// Two races were fixed in SQLite 3.51.3; an older engine must not come in by a downgrade.
func TestEngine(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir(), sqlite.Config{})
	got, err := s.OnReaders(t.Context(), "SELECT sqlite_version()")
	if err != nil {
		t.Fatal(err)
	}
	var version [3]int
	for i, part := range strings.SplitN(got[0], ".", 3) {
		if version[i], err = strconv.Atoi(part); err != nil {
			t.Fatal(err)
		}
	}
	if n := version[0]*1_000_000 + version[1]*1_000 + version[2]; n < 3_051_003 {
		t.Errorf("SQLite %s is embedded, want 3.51.3 or newer", got[0])
	}
}

// The engine is C that was made into Go against one version of its C library, and runs on no other: the
// pair below comes from the engine's own go.mod. Another module that asks for a newer library raises it.
func TestEngineAndItsLibrary(t *testing.T) {
	t.Parallel()
	const engine, library = "v1.62.0", "v1.80.1"
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for module, want := range map[string]string{"modernc.org/sqlite": engine, "modernc.org/libc": library} {
		_, after, ok := strings.Cut(string(mod), module+" ")
		if got := strings.Fields(after + " none"); !ok || got[0] != want {
			t.Errorf("%s is %s, want %s: take both from the engine's go.mod", module, got[0], want)
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l := begin(t, s, "c1")
	var wg sync.WaitGroup
	for range 20 { // what waits is finished
		wg.Go(func() {
			if _, err := s.Append(t.Context(), l, event("k")); err != nil && !errors.Is(err, sqlite.ErrClosed) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Append(t.Context(), l, event("k")); !errors.Is(err, sqlite.ErrClosed) {
		t.Errorf("a write after Close: %v, want ErrClosed", err)
	}
	if _, err := take(s); !errors.Is(err, sqlite.ErrClosed) {
		t.Errorf("a lease after Close: %v, want ErrClosed", err)
	}
	if _, err := s.Events(t.Context(), "c1", 0); err == nil {
		t.Error("a read after Close works")
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "holders")); err != nil || len(entries) != 0 {
		t.Errorf("holders/ has %v, %v, want nothing", entries, err)
	}
	for _, name := range []string{"weir.db-wal", "weir.db-shm"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there", name)
		}
	}
	s = open(t, dir, sqlite.Config{})
	if l, err := take(s); err != nil || l.Fence != 2 {
		t.Errorf("the next lease: %+v, %v, want fence 2", l, err)
	}
	if events, err := s.Events(t.Context(), "c1", 0); err != nil || len(events) != 20 {
		t.Errorf("%d events, %v, want 20", len(events), err)
	}
}

// The handle that closes empties the log, also when others go on.
func TestCloseEmptiesTheLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stays := open(t, dir, sqlite.Config{})
	if _, err := stays.Conversations(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	filled(t, dir)
	if info, err := os.Stat(filepath.Join(dir, "weir.db-wal")); err != nil || info.Size() != 0 {
		t.Errorf("the log after Close: %d bytes, %v, want an empty one", info.Size(), err)
	}
	if rounds, err := stays.RoundsOf(t.Context(), "c1"); err != nil || len(rounds) != 3 {
		t.Errorf("%d rounds, %v, want 3", len(rounds), err)
	}
}

// The log stays small under a writer that never rests, and shrinks again after a reader that kept it.
func TestLogStaysSmall(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, sqlite.Config{Synchronous: sqlite.Normal})
	l := begin(t, s, "c1")
	body := make([]byte, 1<<20)
	most, seq := int64(0), int64(0)
	write := func(n int) {
		t.Helper()
		for range n {
			seq++
			if _, err := s.Append(t.Context(), l, history.Append{Messages: []history.Message{{Seq: seq, Body: body}}}); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(filepath.Join(dir, "weir.db-wal")); err == nil {
				most = max(most, info.Size())
			}
		}
	}
	write(80)
	if most > 64<<20 {
		t.Errorf("the log grew to %d MB, want at most 64", most>>20)
	}
	// A reader in the middle keeps it; the writer goes on all the same.
	pool := scratch(t, dir)
	exec1(t, pool, "BEGIN; SELECT count(*) FROM events")
	write(60)
	exec1(t, pool, "COMMIT")
	deadline := time.Now().Add(20 * time.Second)
	for {
		write(1)
		info, err := os.Stat(filepath.Join(dir, "weir.db-wal"))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() < sqlite.WalHard {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the log has %d MB after its reader ended", info.Size()>>20)
		}
		time.Sleep(50 * time.Millisecond)
	}
	intact(t, s)
}

// What was stored cannot be changed or taken out, whoever connects; it goes with its conversation.
func TestRowsAreFixed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, sqlite.Config{})
	d := newDriver(t, s, "c1")
	if err := d.round(t.Context()); err != nil {
		t.Fatal(err)
	}
	w, err := s.Spills().Create(t.Context(), spill.Name{Conversation: "c1", Result: "r2-1", Tool: "t", Fence: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, "spilled"); err != nil {
		t.Fatal(err)
	}
	ref, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	id := history.CallID{Round: 2, Index: 1}
	if _, err := s.OpenRound(t.Context(), d.l, history.Opening{Round: 2, Turn: 1, Calls: []history.Call{{ID: id, State: history.CallRunning}}}); err != nil {
		t.Fatal(err)
	}
	settled := history.Settled{Result: history.Result{ID: id, Spill: &ref, Notes: []byte("n"), Structured: []byte("s")}, Outcome: history.OutcomeDone}
	if _, err := s.SettleCalls(t.Context(), d.l, []history.Settled{settled}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	pool := scratch(t, dir)
	exec1(t, pool, "PRAGMA recursive_triggers = 1")
	for _, text := range []string{
		"UPDATE fragments SET bytes = x'00'", "UPDATE fragments SET seq = seq", "DELETE FROM fragments",
		"REPLACE INTO fragments SELECT conversation, epoch, pos, seq, encoder, chain, x'00' FROM fragments",
		"UPDATE messages SET body = x'00'", "DELETE FROM messages", "UPDATE epochs SET head = x'00'", "DELETE FROM epochs",
		"UPDATE requests SET chain = zeroblob(32)", "UPDATE calls SET args = x'00'", "UPDATE spills SET complete = 0",
		"UPDATE results SET whole = x'00'", "UPDATE results SET whole = NULL", "UPDATE results SET notes = x'00' WHERE notes IS NOT NULL",
		"UPDATE results SET structured = NULL WHERE structured IS NOT NULL", "UPDATE results SET spill = NULL WHERE spill IS NOT NULL",
		"UPDATE results SET bytes = 1", "UPDATE results SET is_error = 1", "DELETE FROM results",
		"UPDATE results SET shown = x'00' WHERE round = 1", // answered: NULL says that it was the whole
		"INSERT INTO fragments SELECT conversation, epoch, pos + 100, seq, encoder, 'text', bytes FROM fragments",
		"INSERT INTO fragments SELECT conversation, 9, pos, seq, encoder, chain, bytes FROM fragments", // no such epoch
	} {
		if _, err := pool.ExecContext(t.Context(), text); err == nil {
			t.Errorf("%s: allowed", text)
		}
	}
	exec1(t, pool, "UPDATE results SET shown = x'01' WHERE round = 2")
	if _, err := pool.ExecContext(t.Context(), "UPDATE results SET shown = x'02' WHERE round = 2"); err == nil {
		t.Error("what was shown can be changed")
	}
	exec1(t, pool, "DELETE FROM conversations WHERE id = 'c1'")
	left := ""
	for _, table := range tables(t, pool) {
		var n int
		if err := pool.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			left += " " + table
		}
	}
	if left != " goose_db_version sqlite_sequence" {
		t.Errorf("after the conversation is deleted these tables have rows:%s", left)
	}
}

func tables(t *testing.T, pool *sql.DB) []string {
	t.Helper()
	rows, err := pool.QueryContext(t.Context(), "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		out = append(out, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every table of the design is there with its columns: later versions add, they never change.
func TestSchema(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filled(t, dir)
	pool := scratch(t, dir)
	var got []string
	for _, table := range tables(t, pool) {
		var strict int
		if err := pool.QueryRowContext(t.Context(), "SELECT strict FROM pragma_table_list WHERE name = ?", table).Scan(&strict); err != nil {
			t.Fatal(err)
		}
		if strict == 1 {
			got = append(got, table)
		}
	}
	want := strings.Fields("approvals calls conversations epochs events fragments jobs leases messages reads requests results rounds spills turns")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("strict tables (-want +got):\n%s", diff)
	}
	var dates int
	err := pool.QueryRowContext(t.Context(), `SELECT count(*) FROM sqlite_schema s, pragma_table_info(s.name) c
		WHERE s.type = 'table' AND s.name NOT LIKE 'goose%' AND c.type NOT IN ('TEXT', 'INTEGER', 'BLOB', '')`).Scan(&dates)
	if err != nil || dates != 0 {
		t.Errorf("%d columns are no TEXT, INTEGER or BLOB, %v", dates, err)
	}
}

// The first run of a handle clears away what crashes left in tool-results/, and nothing else.
func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l := begin(t, s, "c1")
	keep := func(result string) spill.Ref {
		t.Helper()
		w, err := s.Spills().Create(t.Context(), spill.Name{Conversation: "c1", Result: result, Tool: "t", Fence: 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, "text of "+result); err != nil {
			t.Fatal(err)
		}
		ref, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
	stored, orphan, young := keep("r1-1"), keep("r1-2"), keep("r1-3")
	id := history.CallID{Round: 1, Index: 1}
	if _, err := s.OpenRound(t.Context(), l, history.Opening{Round: 1, Calls: []history.Call{{ID: id, State: history.CallPending}}}); err != nil {
		t.Fatal(err)
	}
	settled := history.Settled{Result: history.Result{ID: id, Spill: &stored}, Outcome: history.OutcomeDone}
	if _, err := s.SettleCalls(t.Context(), l, []history.Settled{settled}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * time.Hour)
	for _, ref := range []spill.Ref{stored, orphan} {
		if err := os.Chtimes(filepath.Join(dir, "tool-results", ref.File), old, old); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir, sqlite.Config{})
	there := func(ref spill.Ref) bool {
		_, err := os.Stat(filepath.Join(dir, "tool-results", ref.File))
		return err == nil
	}
	if !there(orphan) {
		t.Error("opening alone swept")
	}
	begin(t, s, "c1")
	for deadline := time.Now().Add(10 * time.Second); there(orphan) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if there(orphan) || !there(stored) || !there(young) {
		t.Errorf("after the sweep: orphan %t, stored %t, young %t, want only the orphan gone", there(orphan), there(stored), there(young))
	}
}
