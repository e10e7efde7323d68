package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/spill"
)

// The test binary is also the other process: childMode names what it does, childDir on which folder.
const (
	childMode = "WEIR_TEST_CHILD"
	childDir  = "WEIR_TEST_DIR"
)

func TestMain(m *testing.M) {
	mode := os.Getenv(childMode)
	if mode == "" {
		os.Exit(m.Run())
	}
	if err := child(mode, os.Getenv(childDir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child says "ready", waits for a line, does its work and says what came of it.
func child(mode, dir string) error {
	ctx := context.Background()
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	s, err := sqlite.Open(ctx, dir, sqlite.Config{ReadOnly: mode == "read"})
	if err != nil {
		return err
	}
	switch mode {
	case "open":
	case "read":
		err = childRead(ctx, s)
	case "lease":
		l, err := s.TakeLease(ctx, history.Take{Conversation: "c1", Create: &history.Conversation{ID: "c1"}, Run: "child", Now: time.Now()})
		if err != nil {
			return err
		}
		fmt.Println("fence", l.Fence)
		_, _ = in.ReadString('\n') // a line, or the end: leave politely
	case "append":
		err = childAppend(ctx, s)
	case "rounds":
		err = childRounds(ctx, s)
	default:
		err = fmt.Errorf("there is no mode %s", mode)
	}
	return errors.Join(err, s.Close())
}

func childRead(ctx context.Context, s *sqlite.Store) error {
	list, err := s.Conversations(ctx, 0)
	if err != nil {
		return err
	}
	for _, c := range list {
		problems, err := history.Verify(ctx, s, c.ID)
		if err != nil || len(problems) > 0 {
			return fmt.Errorf("%v %w", problems, err)
		}
	}
	fmt.Println("conversations", len(list))
	_, err = s.TakeLease(ctx, history.Take{Conversation: "c1", Now: time.Now()})
	if !errors.Is(err, sqlite.ErrReadOnly) {
		return fmt.Errorf("a lease of a store opened for reading: %w", err)
	}
	return nil
}

// childAppend makes many small commits in a conversation of its own.
func childAppend(ctx context.Context, s *sqlite.Store) error {
	id := "c" + strconv.Itoa(os.Getpid())
	l, err := s.TakeLease(ctx, history.Take{Conversation: id, Create: &history.Conversation{ID: id}, Run: "child", Now: time.Now()})
	if err != nil {
		return err
	}
	for range 60 {
		if _, err := s.Append(ctx, l, history.Append{Events: []history.Event{{Kind: "k"}}}); err != nil {
			return err
		}
	}
	return nil
}

// childRounds runs rounds, each with a spilled result, and says which are stored, until it is killed.
func childRounds(ctx context.Context, s *sqlite.Store) error {
	l, err := s.TakeLease(ctx, history.Take{Conversation: "c1", Create: &history.Conversation{ID: "c1"}, Run: "child", Now: time.Now()})
	if err != nil {
		return err
	}
	latest, err := s.FindRound(ctx, "c1", "")
	if err != nil && !errors.Is(err, history.ErrNotFound) {
		return err
	}
	n := latest.N
	if latest.N > 0 && !latest.Closed {
		n-- // go on with the round that was open when the one before was killed
	}
	text := strings.Repeat("a line of a result that is kept as a file\n", 2_000)
	for {
		n++
		id := func(i int) history.CallID { return history.CallID{Round: n, Index: i} }
		if n > latest.N {
			_, err := s.OpenRound(ctx, l, history.Opening{Round: n, Key: fmt.Sprint("m", n), Calls: []history.Call{
				{ID: id(1), Tool: "spilled", State: history.CallPending}, {ID: id(2), Tool: "inline", State: history.CallPending},
			}})
			if err != nil {
				return err
			}
		}
		w, err := s.Spills().Create(ctx, spill.Name{Conversation: "c1", Result: id(1).String(), Tool: "spilled", Fence: l.Fence})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		ref, err := w.Commit()
		if err != nil {
			return err
		}
		settled := []history.Settled{
			{Result: history.Result{ID: id(1), Spill: &ref}, Outcome: history.OutcomeDone},
			{Result: history.Result{ID: id(2), Whole: []byte(fmt.Sprint("result ", n))}, Outcome: history.OutcomeDone},
		}
		if calls, err := s.CallsOf(ctx, "c1", n); err != nil || calls[0].State == history.CallSettled {
			if err != nil {
				return err
			}
			settled = settled[1:]
		}
		if len(settled) == 2 && n%2 == 0 {
			if _, err := s.SettleCalls(ctx, l, settled[:1], nil); err != nil {
				return err
			}
			settled = settled[1:]
		}
		_, err = s.CloseRound(ctx, l, history.Closing{Round: n, Settled: settled, Shown: []history.Shown{
			{ID: id(1), Text: []byte("a preview")}, {ID: id(2), Same: true},
		}})
		if err != nil {
			return err
		}
		fmt.Println("stored", n)
	}
}

// process is a child of the test.
type process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	errs strings.Builder
}

// spawn starts a child that waits to be told to go.
func spawn(t *testing.T, mode, dir string) *process {
	t.Helper()
	return spawnBinary(t, os.Args[0], mode, dir, nil)
}

func spawnBinary(t *testing.T, binary, mode, dir string, prepare func(*exec.Cmd)) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), binary, "-test.run=^$")}
	p.cmd.Env = append(os.Environ(), childMode+"="+mode, childDir+"="+dir)
	p.cmd.Stderr = &p.errs
	if prepare != nil {
		prepare(p.cmd)
	}
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill(t) })
	if line := p.line(t); line != "ready" {
		t.Fatalf("a child says %q, want ready: %s", line, p.errs.String())
	}
	return p
}

// line reads what the child says next, "" at the end.
func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (p *process) tell(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(p.in, "\n"); err != nil {
		t.Fatal(err)
	}
}

// end waits for the child and returns its error with what it said about it.
func (p *process) end() error {
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(p.errs.String()))
	}
	return nil
}

// kill ends the child as a crash would.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

func TestProcessesOpenANewStoreAtOnce(t *testing.T) {
	t.Parallel()
	const tries, processes = 4, 8
	for range tries {
		dir := filepath.Join(t.TempDir(), "new", "store")
		var children []*process
		for range processes {
			children = append(children, spawn(t, "open", dir))
		}
		for _, c := range children {
			c.tell(t)
		}
		for _, c := range children {
			if err := c.end(); err != nil {
				t.Error(err)
			}
		}
		if t.Failed() {
			return
		}
		s := open(t, dir, sqlite.Config{})
		if _, err := s.Conversations(t.Context(), 0); err != nil {
			t.Error(err)
		}
	}
}

func TestProcessesWriteAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, sqlite.Config{})
	var children []*process
	for range 4 {
		children = append(children, spawn(t, "append", dir))
	}
	for _, c := range children {
		c.tell(t)
	}
	for _, c := range children {
		if err := c.end(); err != nil {
			t.Error(err)
		}
	}
	list, err := s.Conversations(t.Context(), 0)
	if err != nil || len(list) != 4 {
		t.Fatalf("%d conversations, %v, want 4", len(list), err)
	}
	for _, c := range list {
		events, err := s.Events(t.Context(), c.ID, 0)
		if err != nil || len(events) != 60 {
			t.Errorf("%s has %d events, %v, want 60", c.ID, len(events), err)
		}
	}
	intact(t, s)
}

// take is what a second run asks for.
func take(s *sqlite.Store) (history.Lease, error) {
	return s.TakeLease(context.Background(), history.Take{Conversation: "c1", Run: "parent", Now: time.Now()})
}

func TestLeaseOfAnotherProcess(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*testing.T, *process){
		"killed": func(t *testing.T, p *process) { p.kill(t) },
		"closed": func(t *testing.T, p *process) {
			p.tell(t)
			if err := p.end(); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := spawn(t, "lease", dir)
			p.tell(t)
			if line := p.line(t); line != "fence 1" {
				t.Fatalf("the child says %q, want fence 1: %s", line, p.errs.String())
			}
			s := open(t, dir, sqlite.Config{})
			var busy *history.BusyError
			if _, err := take(s); !errors.As(err, &busy) || busy.Here || busy.Holder == "" {
				t.Fatalf("while the other process lives: %v, want a *BusyError of elsewhere", err)
			}
			leave(t, p)
			l, err := take(s)
			if err != nil || l.Fence != 2 {
				t.Fatalf("after the other process: fence %d, %v, want 2 at once", l.Fence, err)
			}
			entries, err := os.ReadDir(filepath.Join(dir, "holders"))
			if err != nil || len(entries) != 1 || entries[0].Name() != s.Holder() {
				t.Errorf("holders/ has %v, %v, want only the file of this handle", entries, err)
			}
		})
	}
}

// A process that is killed at any moment leaves nothing broken: every round that it said was stored is
// there, and every row's file.
func TestKilledWriter(t *testing.T) {
	t.Parallel()
	kills := 12
	if testing.Short() {
		kills = 3
	}
	dir := t.TempDir()
	last := 0
	for k := range kills {
		p := spawn(t, "rounds", dir)
		p.tell(t)
		var mu sync.Mutex
		stored := last
		said := make(chan struct{})
		go func() {
			defer close(said)
			for {
				line, err := p.out.ReadString('\n')
				if err != nil {
					return
				}
				if n, ok := strings.CutPrefix(strings.TrimSpace(line), "stored "); ok {
					mu.Lock()
					stored, _ = strconv.Atoi(n)
					mu.Unlock()
				}
			}
		}()
		time.Sleep(60*time.Millisecond + time.Duration(rand.IntN(120))*time.Millisecond)
		_ = p.cmd.Process.Kill()
		<-said
		_ = p.cmd.Wait()
		if p.errs.Len() > 0 {
			t.Fatalf("kill %d: the child says %s", k, p.errs.String())
		}
		s, err := sqlite.Open(t.Context(), dir, sqlite.Config{})
		if err != nil {
			t.Fatalf("kill %d: %v", k, err)
		}
		intact(t, s)
		if latest, err := s.FindRound(t.Context(), "c1", ""); err == nil {
			closed := latest.N
			if !latest.Closed {
				closed--
			}
			if closed < stored {
				t.Fatalf("kill %d: round %d is the last, and the child said that %d was stored", k, closed, stored)
			}
			last = closed
			problems, err := history.Verify(t.Context(), s, "c1")
			if err != nil || len(problems) > 0 {
				t.Fatalf("kill %d: %v, %v", k, problems, err)
			}
		} else if !errors.Is(err, history.ErrNotFound) || stored > 0 {
			t.Fatalf("kill %d: %v, and the child said that %d was stored", k, err, stored)
		}
		if err := s.Close(); err != nil {
			t.Fatalf("kill %d: %v", k, err)
		}
	}
	if last == 0 {
		t.Errorf("no round was stored in %d tries", kills)
	}
}

// intact runs SQLite's own check.
func intact(t *testing.T, s *sqlite.Store) {
	t.Helper()
	for _, check := range []string{"PRAGMA integrity_check", "SELECT count(*) FROM pragma_foreign_key_check"} {
		got, err := s.OnReaders(t.Context(), check)
		if err != nil || got[0] != "ok" && got[0] != "0" {
			t.Fatalf("%s: %v, %v", check, got, err)
		}
	}
}
