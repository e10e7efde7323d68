package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// sound reports an error unless a conversation verifies.
func sound(t *testing.T, s *sqlite.Store, id string) {
	t.Helper()
	problems, err := history.Verify(t.Context(), s, id)
	if err != nil || len(problems) > 0 {
		t.Errorf("verify %s: %v %v", id, problems, err)
	}
}

// A fork at any closed round is complete on its own: it verifies, goes on, reads the files of its own,
// and outlives its parent.
func TestAForkIsCompleteOnItsOwn(t *testing.T) {
	long := strings.Repeat("a row of the result\n", 4000)
	w := newWorld(t, scripted.Step{Play: func(s scripted.Seen) (scripted.Step, error) {
		said := ""
		for _, m := range s.Messages {
			if text := m.PlainText(); m.Role == membrane.User && text != "" {
				said = text
			}
		}
		switch {
		case said == "read it" && s.Messages[len(s.Messages)-1].Role == membrane.User:
			return scripted.Step{Calls: []scripted.Call{call("workspace--read", `{"path":"tool-results/r1-1-long.txt","offset":3999,"limit":1}`)}}, nil
		case said == "go" && s.Step <= 4:
			return scripted.Step{Calls: []scripted.Call{call("long", `{}`), call("short", fmt.Sprintf(`{"n":%d}`, s.Step))}}, nil
		}
		return scripted.Step{Text: s.Text()}, nil
	}})
	w.script.AfterEnd = scripted.Repeat
	w.tools = []tool.Tool{says("long", long), says("short", "x")}
	w.run("go")
	w.with(func(a *agent.Agent, s *sqlite.Store) {
		for round := range 5 {
			id := fmt.Sprintf("fork-%d", round)
			if err := s.Fork(t.Context(), "c", round, history.Conversation{ID: id, Title: "a fork", CreatedAt: time.Now()}); err != nil {
				t.Fatalf("fork at %d: %v", round, err)
			}
			sound(t, s, id)
			c, err := s.Conversation(t.Context(), id)
			if want := max(round, 1); err != nil || c.Parent != "c" || (round > 0 && c.ForkRound != want) {
				t.Errorf("fork %d: %+v, %v", round, c, err)
			}
		}
		if err := s.Delete(t.Context(), "c"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Conversation(t.Context(), "c"); !errors.Is(err, history.ErrNotFound) {
			t.Errorf("the parent is still there: %v", err)
		}
		if _, err := os.Stat(filepath.Join(w.dir, "tool-results", "c")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the parent's files are still there: %v", err)
		}
		for round := range 5 {
			id := fmt.Sprintf("fork-%d", round)
			out, err := a.Run(t.Context(), agent.Turn{Conversation: id, Text: "read it"}).Collect()
			if err != nil || out.Reason != "done" || !strings.Contains(out.Text, "3999\ta row of the result") {
				t.Errorf("fork %d went on to %q, %v", round, out.Text, err)
			}
			sound(t, s, id)
		}
	})
}

func TestForksAndRemovalsThatCannotBe(t *testing.T) {
	w := newWorld(t, scripted.Step{Calls: []scripted.Call{call("t", `{}`)}}, scripted.Step{Text: "slow", Delay: 200 * time.Millisecond})
	w.tools = []tool.Tool{says("t", "x")}
	w.with(func(a *agent.Agent, s *sqlite.Store) {
		for e, err := range a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.(agent.RoundClosed); !ok {
				continue
			}
			var busy *history.BusyError
			if err := s.Delete(t.Context(), "c"); !errors.As(err, &busy) {
				t.Errorf("delete of a conversation that is driven: %v", err)
			}
			// A closed round can be forked while the conversation goes on.
			if err := s.Fork(t.Context(), "c", 1, history.Conversation{ID: "beside", CreatedAt: time.Now()}); err != nil {
				t.Errorf("fork beside a run: %v", err)
			}
		}
		sound(t, s, "beside")
		for name, c := range map[string]struct {
			from  string
			round int
			child string
			want  error
		}{
			"no conversation": {"nobody", 1, "x1", history.ErrNotFound},
			"no round":        {"c", 9, "x2", history.ErrNotFound},
			"child exists":    {"c", 1, "beside", history.ErrConflict},
			"bad id":          {"c", 1, "../x", history.ErrConflict},
		} {
			if err := s.Fork(t.Context(), c.from, c.round, history.Conversation{ID: c.child, CreatedAt: time.Now()}); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		if err := s.Delete(t.Context(), "nobody"); !errors.Is(err, history.ErrNotFound) {
			t.Errorf("delete of nobody: %v", err)
		}
	})
}

// Files that no row names are swept, and only those; a backup is a store of its own.
func TestSweepAndBackup(t *testing.T) {
	w := newWorld(t, scripted.Step{Calls: []scripted.Call{call("t", `{}`)}}, scripted.Step{Text: "done"})
	w.tools = []tool.Tool{says("t", strings.Repeat("row\n", 10000))}
	w.run("go")
	folder := filepath.Join(w.dir, "tool-results", "c")
	for _, name := range []string{"r9-9-lost.f1.txt", "not-ours.txt"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.with(func(_ *agent.Agent, s *sqlite.Store) {
		if n, err := s.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || n != 1 {
			t.Errorf("swept %d, %v", n, err)
		}
		sound(t, s, "c")
		if _, err := os.Stat(filepath.Join(folder, "not-ours.txt")); err != nil {
			t.Errorf("a file of somebody else's was removed: %v", err)
		}
		if err := s.Compact(t.Context()); err != nil {
			t.Errorf("compact: %v", err)
		}
		copied := filepath.Join(t.TempDir(), "weir.db")
		if err := s.Backup(t.Context(), copied); err != nil {
			t.Errorf("backup: %v", err)
		}
		if err := s.Backup(t.Context(), copied); err == nil {
			t.Error("a backup replaced a file")
		}
		b, err := sqlite.Open(t.Context(), filepath.Dir(copied), sqlite.Config{ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = b.Close() }()
		if all, err := b.Conversations(t.Context(), 0); err != nil || len(all) != 1 {
			t.Errorf("the backup has %d conversations, %v", len(all), err)
		}
	})
}
