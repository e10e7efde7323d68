package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

// seenRows is a table of what was seen, which refuses when it is told to.
type seenRows struct {
	mu   sync.Mutex
	rows map[[2]string]history.Seen
	err  error
}

func (r *seenRows) PutSeen(_ context.Context, conversation string, s history.Seen) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.rows[[2]string{conversation, s.Path}] = s
	}
	return r.err
}

func (r *seenRows) SeenOf(_ context.Context, conversation, path string) (history.Seen, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.rows[[2]string{conversation, path}]
	if !ok {
		return s, history.ErrNotFound
	}
	return s, nil
}

// as makes a call as a round does: with the id of its result.
func as(t testing.TB, w *workspace.Workspace, result string, room int, name, args string) string {
	t.Helper()
	ctx := tool.WithCall(t.Context(), tool.Running{Conversation: "c1", Result: result, Room: room})
	tools, err := w.Tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		if tl.Name != name {
			continue
		}
		r, err := tl.Run(ctx, tool.Call{Name: name, Args: []byte(args)})
		switch {
		case err != nil:
			t.Fatal(err)
		case r.IsError:
			return "ERROR " + r.Error
		}
		return r.Data.(string)
	}
	t.Fatalf("there is no tool %s", name)
	return ""
}

// header is the first line of a page, without the path.
func header(page string) string {
	line, _, _ := strings.Cut(page, "\n")
	_, line, _ = strings.Cut(line, ": ")
	return line
}

// TestChangedSince holds that a page says when the file is not what the conversation last saw of it, and
// names the result that showed it; the content decides, not the clock.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	rows := &seenRows{rows: map[[2]string]history.Seen{}}
	dir := tree(t, map[string]string{"f": "one\n"})
	name := filepath.Join(dir, "f")
	// Each step is in a process of its own.
	read := func(result, args string) string {
		t.Helper()
		w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir}}, Reads: workspace.Sights(rows)})
		return header(as(t, w, result, 0, "workspace--read", args))
	}
	const whole, chars = `{"path":"project/f"}`, `{"path":"project/f","char_offset":0}`
	later := time.Now().Add(time.Minute)
	for i, step := range []struct {
		do                 func()
		result, args, want string
	}{
		{nil, "r1-1", whole, "lines 1–1 of 1"},
		{nil, "r2-1", whole, "lines 1–1 of 1"},
		{func() { change(t, name, "one\ntwo\n") }, "r3-1", whole, "lines 1–2 of 2; changed since r2-1"},
		{nil, "r4-1", chars, "characters 0–7 of 8"},
		{func() { change(t, name, "uno\ndue\n") }, "r5-1", chars, "characters 0–7 of 8; changed since r4-1"},
		{func() { _ = os.Chtimes(name, later, later) }, "r6-1", whole, "lines 1–2 of 2"}, // touched only
		{func() { change(t, name, "") }, "r7-1", whole, "the file is empty, 0 lines; changed since r6-1"},
		{func() { change(t, name, "\xff\xfea\x00") }, "r8-1.2", whole, "lines 1–1 of 1, UTF-16LE; changed since r7-1"},
		{func() { change(t, name, "\xef\xbb\xbfa") }, "", whole, "lines 1–1 of 1, UTF-8 byte order mark; changed since r8-1.2"},
		{func() { change(t, name, "b") }, "r9-1", whole, "lines 1–1 of 1; changed since it was last read"},
		// One that was moved here with the time and the length of the old one.
		{func() {
			info, _ := os.Stat(name)
			change(t, name, "c")
			_ = os.Chtimes(name, info.ModTime(), info.ModTime())
		}, "r10-1", whole, "lines 1–1 of 1; changed since r9-1"},
	} {
		if step.do != nil {
			step.do()
		}
		if d := cmp.Diff(step.want, read(step.result, step.args)); d != "" {
			t.Errorf("step %d, %s (-want +got):\n%s", i+1, step.result, d)
		}
	}
}

// TestChangedInARound holds that the calls of a round, which run side by side, say the same whichever comes
// first, and that what the conversation writes itself is not told to have changed.
func TestChangedInARound(t *testing.T) {
	t.Parallel()
	w, dir := desk(t, map[string]string{"f": "one\n"})
	name := filepath.Join(dir, "f")
	const read = `{"path":"project/f"}`
	as(t, w, "r1-1", 0, "workspace--read", read)
	change(t, name, "one\ntwo\n")
	for _, result := range []string{"r2-3", "r2-1", "r2-2"} {
		if got := header(as(t, w, result, 0, "workspace--read", read)); got != "lines 1–2 of 2; changed since r1-1" {
			t.Errorf("%s: %s", result, got)
		}
	}
	as(t, w, "r3-1", 0, "workspace--edit", `{"path":"project/f","old":"one","new":"1"}`)
	for _, result := range []string{"r3-2", "r4-1"} {
		if got := header(as(t, w, result, 0, "workspace--read", read)); got != "lines 1–2 of 2" {
			t.Errorf("%s, after an edit of its own: %s", result, got)
		}
	}
}

// TestEditAfterARestart holds that a file that changed between two processes is not written over.
func TestEditAfterARestart(t *testing.T) {
	t.Parallel()
	rows := &seenRows{rows: map[[2]string]history.Seen{}}
	dir := tree(t, map[string]string{"f": "one\n"})
	process := func() *workspace.Workspace {
		mounts := []workspace.Mount{{Name: "project", Dir: dir, Write: true}}
		return open(t, workspace.Config{Mounts: mounts, Reads: workspace.Sights(rows)})
	}
	as(t, process(), "r1-1", 0, "workspace--read", `{"path":"project/f"}`)
	change(t, filepath.Join(dir, "f"), "two\n")
	for name, args := range map[string]string{
		"workspace--edit": `{"path":"project/f","old":"two","new":"x"}`, "workspace--write": `{"path":"project/f","content":"x"}`,
	} {
		if got := as(t, process(), "r2-1", 0, name, args); !strings.HasPrefix(got, "ERROR") || !strings.Contains(got, "it changed on the disk since") {
			t.Errorf("%s: %s", name, got)
		}
	}
	as(t, process(), "r3-1", 0, "workspace--read", `{"path":"project/f"}`)
	if got := as(t, process(), "r4-1", 0, "workspace--write", `{"path":"project/f","content":"x"}`); strings.HasPrefix(got, "ERROR") {
		t.Error(got)
	}
	// What it wrote itself, it has seen.
	if got := as(t, process(), "r5-1", 0, "workspace--edit", `{"path":"project/f","old":"x","new":"y"}`); strings.HasPrefix(got, "ERROR") {
		t.Error(got)
	}
}

// TestSightsRefused holds that a store that refuses costs no read, and that the guard works on without it.
func TestSightsRefused(t *testing.T) {
	t.Parallel()
	rows := &seenRows{rows: map[[2]string]history.Seen{}}
	dir := tree(t, map[string]string{"f": "one\n"})
	name := filepath.Join(dir, "f")
	w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir, Write: true}}, Reads: workspace.Sights(rows)})
	read := func(result string) string {
		t.Helper()
		return header(as(t, w, result, 0, "workspace--read", `{"path":"project/f"}`))
	}
	read("r1-1")
	rows.err = errors.New("the disk is full")
	change(t, name, "two\n")
	if got := read("r2-1"); got != "lines 1–1 of 1; changed since r1-1" {
		t.Error(got)
	}
	if got := read("r3-1"); got != "lines 1–1 of 1" {
		t.Errorf("the read that could not be kept is forgotten: %s", got)
	}
	if got := as(t, w, "r4-1", 0, "workspace--write", `{"path":"project/f","content":"x"}`); strings.HasPrefix(got, "ERROR") {
		t.Error(got)
	}
	rows.err = nil
	read("r5-1")
	change(t, name, "three\n")
	if got := read("r6-1"); got != "lines 1–1 of 1; changed since r5-1" {
		t.Errorf("after the store took it again: %s", got)
	}
}

// TestLaw06ChangedPages holds that a page with the longest header stays within its room.
func TestLaw06ChangedPages(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("p", 40) + ".txt"
	w, dir := desk(t, map[string]string{long: strings.Repeat("a line of text\n", 5000)})
	last := "r100000-100.100000"
	for i, room := range []int{workspace.MinPage, 501, 777, 4000, workspace.MaxPage} {
		for j, args := range []string{`"offset":1`, `"offset":4900,"limit":50`, `"char_offset":7,"char_limit":60000`} {
			change(t, filepath.Join(dir, long), strings.Repeat(fmt.Sprintf("line %d %d\n", i, j), 5000)+strings.Repeat("x", 30_000))
			now := fmt.Sprintf("r%d-1", 200_000+10*i+j)
			page := as(t, w, now, room, "workspace--read", fmt.Sprintf(`{"path":"project/%s",%s}`, long, args))
			if n := utf8.RuneCountInString(page); n > room || i+j > 0 && !strings.Contains(header(page)+page, "changed since "+last) {
				t.Errorf("room %d, %s: %d characters, %q", room, args, n, header(page))
			}
			last = now
		}
	}
}
