package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/workspace"
)

// What a conversation saw of a file outlives the process and goes with a fork: the next read says that the
// file has changed since which result, an edit of what was not seen is refused.
func TestAFileThatChangedBetweenTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.txt")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := scripted.Step{Calls: []scripted.Call{call("workspace--read", `{"path":"project/a.txt"}`)}}
	edit := scripted.Step{Calls: []scripted.Call{call("workspace--edit", `{"path":"project/a.txt","old":"three","new":"3"}`)}}
	end := scripted.Step{Text: "Done."}
	w := newWorld(t, read, end, read, end, edit, end, read, end)
	w.config.Mounts = []workspace.Mount{{Name: "project", Dir: dir, Write: true}}
	results := func(id string, n int) (lines []string) {
		s := w.store()
		defer func() { _ = s.Close() }()
		for round := 1; round <= n; round++ {
			r, err := s.ResultOf(t.Context(), id, history.CallID{Round: round, Index: 1})
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(r.Shown), "\n")
			lines = append(lines, first)
		}
		return lines
	}
	for i, text := range []string{"one\n", "one\ntwo\n", "three\n"} {
		put(text)
		w.run("Go on.")
		if i > 0 {
			continue
		}
		w.with(func(_ *agent.Agent, s *sqlite.Store) {
			if err := s.Fork(t.Context(), "c", 1, history.Conversation{ID: "fork", CreatedAt: time.Now()}); err != nil {
				t.Fatal(err)
			}
		})
	}
	got := results("c", 3)
	if !strings.Contains(got[2], "it changed on the disk since this conversation last read it") {
		t.Errorf("the edit: %s", got[2])
	}
	want := []string{"project/a.txt: lines 1–1 of 1", "project/a.txt: lines 1–2 of 2; changed since r1-1"}
	if d := cmp.Diff(want, got[:2]); d != "" {
		t.Errorf("the pages (-want +got):\n%s", d)
	}
	w.script = scripted.Script{Steps: []scripted.Step{read, read, end}} // the fork was cut before the first end
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		if _, err := a.Run(context.Background(), agent.Turn{Conversation: "fork", Text: "Go on."}).Collect(); err != nil {
			t.Fatal(err)
		}
	})
	if got := results("fork", 2)[1]; got != "project/a.txt: lines 1–1 of 1; changed since r1-1" {
		t.Errorf("the fork: %s", got)
	}
}
