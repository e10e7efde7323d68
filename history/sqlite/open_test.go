package sqlite_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
)

func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	lease, err := store.TakeLease(ctx, history.Take{
		Conversation: "c1", Create: &history.Conversation{ID: "c1", Title: "weather"}, Run: "r1", Now: time.Now(),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	id := history.CallID{Round: 1, Index: 1}
	_, err = store.OpenRound(ctx, lease, history.Opening{Round: 1, Calls: []history.Call{
		{ID: id, Tool: "weather", Args: []byte(`{"city":"Oslo"}`), State: history.CallPending},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = store.CloseRound(ctx, lease, history.Closing{
		Round:   1,
		Settled: []history.Settled{{Result: history.Result{ID: id, Whole: []byte("rain, 4 °C")}, Outcome: history.OutcomeDone}},
		Shown:   []history.Shown{{ID: id, Same: true}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := store.ResultOf(ctx, "c1", id)
	fmt.Println(result.ID, result.Tool, string(result.Shown), result.Chars, err)
	// Output: r1-1 weather rain, 4 °C 10 <nil>
}

// scratch opens the database of a closed store without any of the store's own settings.
func scratch(t *testing.T, dir string) *sql.DB {
	t.Helper()
	pool, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "weir.db")+"?_foreign_keys=1")
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

func exec1(t *testing.T, pool *sql.DB, text string) {
	t.Helper()
	if _, err := pool.ExecContext(t.Context(), text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// filled makes a closed store with one conversation in it.
func filled(t *testing.T, dir string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	d := newDriver(t, s, "c1")
	for range 3 {
		if err := d.round(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// files describes everything below a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		sum := sha256.New()
		if _, err := io.Copy(sum, f); err != nil {
			return err
		}
		out[path] = fmt.Sprintf("%s %d %x", info.ModTime(), info.Size(), sum.Sum(nil))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOpenMakesTheFolder(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]string{"new": "", "odd": "a b?c#d%41&mode=ro;x='ü'"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "deep", at, "state")
			filled(t, dir)
			info, err := os.Stat(dir)
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the folder has mode %v, %v, want 0700", info.Mode(), err)
			}
			ignore, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
			if err != nil || string(ignore) != "*\n" {
				t.Errorf(".gitignore has %q, %v", ignore, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "weir.db")); err != nil {
				t.Error(err)
			}
			s := open(t, dir, sqlite.Config{})
			if rounds, err := s.RoundsOf(t.Context(), "c1"); err != nil || len(rounds) != 3 {
				t.Errorf("opened again: %d rounds, %v, want 3", len(rounds), err)
			}
			if s.Dir() != dir {
				t.Errorf("Dir = %s, want %s", s.Dir(), dir)
			}
		})
	}
}

// A folder that holds somebody's work gets no .gitignore that hides it.
func TestOpenHidesNobodysWork(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	filled(t, dir)
	if _, err := os.Stat(filepath.Join(dir, ".gitignore")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf(".gitignore in a folder of somebody else: %v, want none", err)
	}
}

func TestOpenUpToDateWritesNothing(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]sqlite.Config{"to write": {}, "to read": {ReadOnly: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			filled(t, dir)
			before := files(t, dir)
			s, err := sqlite.Open(t.Context(), dir, cfg)
			if err != nil {
				t.Fatal(err)
			}
			if rounds, err := s.RoundsOf(t.Context(), "c1"); err != nil || len(rounds) != 3 {
				t.Errorf("%d rounds, %v, want 3", len(rounds), err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, files(t, dir)); diff != "" {
				t.Errorf("the folder after reading (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	write := func(content string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "weir.db"), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	change := func(text string) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			filled(t, dir)
			exec1(t, scratch(t, dir), text)
		}
	}
	truncate := func(size int64) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			filled(t, dir)
			if err := os.Truncate(filepath.Join(dir, "weir.db"), size); err != nil {
				t.Fatal(err)
			}
		}
	}
	tests := []struct {
		name    string
		prepare func(*testing.T, string)
		want    error  // nil: any
		says    string // in one line
	}{
		{"garbage", write(strings.Repeat("this is no database. ", 1000)), history.ErrCorrupt, "weir.db"},
		{"a short text", write("hello"), history.ErrCorrupt, "weir.db"},
		{"cut off", truncate(12_288), history.ErrCorrupt, "restore"},
		{"cut in the header", truncate(50), history.ErrCorrupt, "restore"},
		{"newer", change("INSERT INTO goose_db_version (version_id, is_applied) VALUES (999, 1)"), history.ErrNewer, "schema 999"},
		{"another program's", func(t *testing.T, dir string) {
			exec1(t, scratch(t, dir), "CREATE TABLE notes (id INTEGER PRIMARY KEY)")
		}, nil, "another program"},
		{"another program's with versions", func(t *testing.T, dir string) {
			filled(t, dir)
			exec1(t, scratch(t, dir), "PRAGMA application_id = 7")
		}, nil, "another program"},
		{"a folder", func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "weir.db"), 0o700); err != nil {
				t.Fatal(err)
			}
		}, nil, "not a file"},
	}
	for _, tt := range tests {
		for mode, cfg := range map[string]sqlite.Config{"to write": {}, "to read": {ReadOnly: true}} {
			t.Run(tt.name+"/"+mode, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				tt.prepare(t, dir)
				_, err := sqlite.Open(t.Context(), dir, cfg)
				refuses(t, err, tt.want, dir, tt.says)
			})
		}
	}
}

// refuses holds an error to one clear line that names the folder.
func refuses(t *testing.T, err, want error, dir, says string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	if want != nil && !errors.Is(err, want) {
		t.Errorf("%v, want %v", err, want)
	}
	for _, part := range []string{dir, says} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is more than a line: %q", err)
	}
}

func TestOpenRefusesFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), file, sqlite.Config{})
	refuses(t, err, nil, file, "choose another folder")
	_, err = sqlite.Open(t.Context(), filepath.Join(file, "below"), sqlite.Config{})
	refuses(t, err, nil, file, "choose another folder")
	_, err = sqlite.Open(t.Context(), filepath.Join(dir, "none"), sqlite.Config{ReadOnly: true})
	refuses(t, err, sqlite.ErrNoStore, dir, "no store")
	if _, err := os.Stat(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("opening to read made the folder: %v", err)
	}
	for name, cfg := range map[string]sqlite.Config{
		"readers": {Readers: 65}, "fewer readers": {Readers: -1}, "timeout": {BusyTimeout: -1}, "synchronous": {Synchronous: 2},
	} {
		if _, err := sqlite.Open(t.Context(), filepath.Join(dir, "none"), cfg); err == nil {
			t.Errorf("a config with wrong %s is taken", name)
		}
	}
	if _, err := sqlite.Open(t.Context(), "", sqlite.Config{}); err == nil {
		t.Error("a folder without a name is taken")
	}
}

// Many that make the same store at once take turns; without that some would run a migration twice.
func TestOpenANewStoreAtOnce(t *testing.T) {
	t.Parallel()
	for range 3 {
		dir := filepath.Join(t.TempDir(), "new")
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				<-start
				s, err := sqlite.Open(context.Background(), dir, sqlite.Config{Readers: 1})
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		close(start)
		wg.Wait()
		if t.Failed() {
			return
		}
	}
}

// A store that was made and not written yet, or migrated half, is brought up to date.
func TestOpenGoesOn(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*testing.T, string){
		"an empty file": func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "weir.db"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"versions only": func(t *testing.T, dir string) {
			exec1(t, scratch(t, dir), `CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL,
				is_applied INTEGER NOT NULL, tstamp TIMESTAMP DEFAULT (datetime('now')));
				INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1)`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			prepare(t, dir)
			if _, err := sqlite.Open(t.Context(), dir, sqlite.Config{ReadOnly: true}); err == nil {
				t.Error("a store of an older version was opened for reading only")
			}
			filled(t, dir)
		})
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	filled(t, dir)
	s := open(t, dir, sqlite.Config{ReadOnly: true})
	l := history.Lease{Conversation: "c1"}
	_, lease := s.TakeLease(t.Context(), history.Take{Conversation: "c1"})
	_, renew := s.RenewLease(t.Context(), l, time.Now())
	_, add := s.Append(t.Context(), l, history.Append{})
	_, begin := s.BeginTurn(t.Context(), l, history.Begin{})
	_, set := s.SetTurn(t.Context(), l, history.TurnChange{})
	_, opening := s.OpenRound(t.Context(), l, history.Opening{})
	_, settle := s.SettleCalls(t.Context(), l, nil, nil)
	_, closing := s.CloseRound(t.Context(), l, history.Closing{})
	for name, err := range map[string]error{
		"TakeLease": lease, "RenewLease": renew, "ReleaseLease": s.ReleaseLease(t.Context(), l), "Append": add, "BeginTurn": begin,
		"SetTurn": set, "OpenRound": opening, "StartCalls": s.StartCalls(t.Context(), l, nil), "SettleCalls": settle, "CloseRound": closing,
	} {
		if !errors.Is(err, sqlite.ErrReadOnly) {
			t.Errorf("%s: %v, want ErrReadOnly", name, err)
		}
	}
	// It sees what another handle writes meanwhile.
	w := open(t, dir, sqlite.Config{})
	newDriver(t, w, "c2")
	if list, err := s.Conversations(t.Context(), 0); err != nil || len(list) != 2 {
		t.Errorf("%d conversations, %v, want 2", len(list), err)
	}
}

// unwritable is a folder with a closed or a killed store that a child which is nobody can only read.
func unwritable(t *testing.T, prepare func(*testing.T, string)) (dir string, child func(mode string) (string, error)) {
	t.Helper()
	if os.PathSeparator != '/' {
		t.Skip("the modes of folders do not keep anybody from writing here")
	}
	base, err := os.MkdirTemp("", "weir-unwritable")
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(base, "state")
	t.Cleanup(func() {
		_ = os.Chmod(dir, 0o700)
		_ = os.RemoveAll(base)
	})
	prepare(t, dir)
	// The child may be nobody: the binary and the folders on the way must be open to it.
	binary := filepath.Join(base, "child")
	content, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(binary, content, 0o600); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			return os.Chmod(path, 0o555)
		}
		return os.Chmod(path, 0o444)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{base, binary} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir, func(mode string) (string, error) {
		p := spawnBinary(t, binary, mode, dir, func(cmd *exec.Cmd) { cmd.Dir = base; nobody(cmd) })
		p.tell(t)
		said := p.line(t)
		return said, p.end()
	}
}

// Another user's process reads a folder that it cannot write, and is told so when it wants to write.
func TestFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir, child := unwritable(t, filled)
	before := files(t, dir)
	if said, err := child("read"); err != nil || said != "conversations 1" {
		t.Errorf("read: %q, %v", said, err)
	}
	for _, mode := range []string{"open", "lease"} {
		_, err := child(mode)
		refuses(t, err, nil, dir, "cannot be written")
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
}

// A killed process left a log that was not emptied: it is read as well, or the reader is told why not.
func TestKilledStoreInAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	killed := func(t *testing.T, dir string) {
		p := spawn(t, "lease", dir)
		p.tell(t)
		if line := p.line(t); line != "fence 1" {
			t.Fatalf("the child says %q: %s", line, p.errs.String())
		}
		p.kill(t)
		if info, err := os.Stat(filepath.Join(dir, "weir.db-wal")); err != nil || info.Size() == 0 {
			t.Fatalf("the log of a killed process: %v, %v, want one with contents", info, err)
		}
	}
	dir, child := unwritable(t, killed)
	before := files(t, dir)
	if said, err := child("read"); err != nil || said != "conversations 1" {
		t.Errorf("read: %q, %v", said, err)
	}
	if diff := cmp.Diff(before, files(t, dir)); diff != "" {
		t.Errorf("the folder (-want +got):\n%s", diff)
	}
	dir, child = unwritable(t, func(t *testing.T, dir string) {
		killed(t, dir)
		if err := os.Remove(filepath.Join(dir, "weir.db-shm")); err != nil {
			t.Fatal(err)
		}
	})
	_, err := child("read")
	refuses(t, err, nil, dir, "copy the folder")

	// Where it can write, a reader leaves the log as it is.
	dir = t.TempDir()
	killed(t, dir)
	before = files(t, dir)
	s, err := sqlite.Open(t.Context(), dir, sqlite.Config{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := s.Conversations(t.Context(), 0); err != nil || len(list) != 1 {
		t.Errorf("%d conversations, %v, want 1", len(list), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after := files(t, dir)
	for _, name := range []string{"weir.db", "weir.db-wal"} {
		path := filepath.Join(dir, name)
		if diff := cmp.Diff(before[path], after[path]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
