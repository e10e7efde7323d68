package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/workspace"
)

// TestStored: every stored result is served by its row: inline, spilled, an inner call, under the names
// that a model may use; payloads and raw originals too.
func TestStored(t *testing.T) {
	t.Parallel()
	rows := newRows(t)
	rows.add(t, "r1-1", "shell", "inline\n", false)
	rows.add(t, "r1-2", "some/odd tool name!", "odd\n", false)
	rows.add(t, "r2-1", "dump", "spilled\x00text\nrow\n", true)
	rows.add(t, "r2-1.3", "inner", "inner\n", false)
	rows.add(t, "r3-1", "marked", "\xef\xbb\xbfmark\nrow\n", true)
	rows.add(t, "r4-1", "empty", "", false)
	rows.keep(t, spill.Name{Conversation: conversation, Result: "r2-1", Tool: "dump", Ext: ".raw"}, "raw\x00original\xff\n")
	rows.keep(t, spill.Name{Conversation: conversation, Result: "r1-1", Tool: "shell", Ext: ".png"}, "\x89PNG\x00")
	rows.keep(t, spill.Name{Conversation: conversation, Result: "r1-1", Tool: "shell", Ext: ".html"}, "<p>\n")
	w := open(t, workspace.Config{Stored: rows.stored()})
	for _, tt := range []struct{ path, want string }{
		{"tool-results/r1-1-shell.txt", "tool-results/r1-1-shell.txt: lines 1–1 of 1\n1\tinline\n"},
		{"tool-results/r1-1", "tool-results/r1-1-shell.txt: lines 1–1 of 1\n1\tinline\n"},
		{"tool-results/r1-1.txt", "tool-results/r1-1-shell.txt: lines 1–1 of 1\n1\tinline\n"},
		{"tool-results/r1-2-some_odd_tool_name_.txt", "tool-results/r1-2-some_odd_tool_name_.txt: lines 1–1 of 1\n1\todd\n"},
		{"tool-results/r2-1-dump.txt", "tool-results/r2-1-dump.txt: lines 1–2 of 2\n1\tspilled␀text\n2\trow\n"},
		{"tool-results/r2-1.3-inner.txt", "tool-results/r2-1.3-inner.txt: lines 1–1 of 1\n1\tinner\n"},
		{"tool-results/r2-1.3", "tool-results/r2-1.3-inner.txt: lines 1–1 of 1\n1\tinner\n"},
		{"tool-results/r3-1", "tool-results/r3-1-marked.txt: lines 1–2 of 2, UTF-8 byte order mark\n1\tmark\n2\trow\n"},
		{"tool-results/r4-1", "tool-results/r4-1-empty.txt: the file is empty, 0 lines\n"},
		{"tool-results/r2-1-dump.raw", "tool-results/r2-1-dump.raw: lines 1–1 of 1\n1\traw␀original\ufffd\n"},
		{"tool-results/r1-1-shell.html", "tool-results/r1-1-shell.html: lines 1–1 of 1\n1\t<p>\n"},
	} {
		page, err := w.Read(t.Context(), workspace.ReadRequest{Conversation: conversation, Path: tt.path})
		if err != nil {
			t.Errorf("%s: %v", tt.path, err)
			continue
		}
		if diff := cmp.Diff(tt.want, page.Text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.path, diff)
		}
	}
	for _, path := range []string{
		"tool-results/r1-1-other.txt", "tool-results/r9-1", "tool-results/r1-1/x", "tool-results/x", "tool-results/r2-1-dump.f7.txt",
		"tool-results/r1-1-shell", "tool-results/c1/r1-1-shell.txt",
	} {
		_, err := w.Read(t.Context(), workspace.ReadRequest{Conversation: conversation, Path: path})
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "results--list shows which there are") {
			t.Errorf("%s: %v", path, err)
		}
	}
	// The results of one conversation are no other's.
	_, err := w.Read(t.Context(), workspace.ReadRequest{Conversation: "c2", Path: "tool-results/r1-1"})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("another conversation: %v", err)
	}
	found, err := w.Grep(t.Context(), workspace.GrepRequest{Conversation: "c2", Pattern: "."})
	if err != nil || found.Matches != 0 {
		t.Errorf("another conversation: %d matches, %v", found.Matches, err)
	}
	_, err = w.Read(t.Context(), workspace.ReadRequest{Conversation: conversation, Path: "tool-results/r1-1-shell.png"})
	if !errors.Is(err, workspace.ErrBinary) {
		t.Errorf("an image: %v", err)
	}
}

// TestStoredGrep: numbers in a spilled text are those of grep -n on its file.
func TestStoredGrep(t *testing.T) {
	t.Parallel()
	rows := newRows(t)
	text := strings.Repeat("a\nb\x00\nneedle \xff\n", 3000)
	rows.add(t, "r1-1", "dump", text, true)
	w := open(t, workspace.Config{Stored: rows.stored()})
	var got strings.Builder
	_, err := w.Search(t.Context(), workspace.GrepRequest{Conversation: conversation, Pattern: "needle", Path: "tool-results"},
		func(m workspace.Match) error {
			got.WriteString(fmt.Sprintf("%d:%s\n", m.Line, m.Text))
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(run(t, rows.files.Path(), "grep", "-naF", "needle", rows.spills[0].File), got.String()); diff != "" {
		t.Errorf("(-grep +Search):\n%.500s", diff)
	}
	var raw bytes.Buffer
	if err := w.WriteLines(t.Context(), &raw, workspace.LineRange{Conversation: conversation, Path: "tool-results/r1-1", First: 2, Last: 3}); err != nil || raw.String() != "b\x00\nneedle \xff\n" {
		t.Errorf("%q, %v", &raw, err)
	}
}

// TestStoredGone: a row whose file is gone, or not what it was, says so.
func TestStoredGone(t *testing.T) {
	t.Parallel()
	rows := newRows(t)
	rows.add(t, "r1-1", "gone", "text\n", true)
	rows.add(t, "r1-2", "cut", "text\nmore\n", true)
	for name, do := range map[string]func(string) error{
		rows.spills[0].File: os.Remove,
		rows.spills[1].File: func(name string) error { return os.Truncate(name, 3) },
	} {
		if err := do(filepath.Join(rows.files.Path(), name)); err != nil {
			t.Fatal(err)
		}
	}
	w := open(t, workspace.Config{Stored: rows.stored()})
	for path, want := range map[string]string{
		"tool-results/r1-1": "the history has this result, but its file is gone from the disk",
		"tool-results/r1-2": "its file has 3 bytes, but 10 were stored: it was changed on the disk",
	} {
		_, err := w.Read(t.Context(), workspace.ReadRequest{Conversation: conversation, Path: path})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), rows.files.Path()) {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, found := grep(t, w, workspace.GrepRequest{Conversation: conversation, Pattern: "text"})
	if len(found.Skipped) != 1 || found.Skipped[0].Count != 2 || found.Skipped[0].Reason != "unreadable" {
		t.Errorf("grep: %+v", found.Skipped)
	}
}

// hugeRows is one result of a size that nobody wants to read, made as it is read.
type hugeRows struct {
	size int64
	read atomic.Int64
}

const hugeLine = "0123456789 a line of sixty-four bytes, so that blocks are alike\n"

func (h *hugeRows) ReadAt(p []byte, off int64) (int, error) {
	h.read.Add(int64(len(p)))
	n := 0
	for n < len(p) && off < h.size {
		c := copy(p[n:], hugeLine[off%64:])
		n += c
		off += int64(c)
	}
	if off >= h.size {
		return n, io.EOF
	}
	return n, nil
}

func (h *hugeRows) Close() error { return nil }

func (h *hugeRows) List(context.Context, string) ([]workspace.StoredEntry, error) { return nil, nil }

func (h *hugeRows) Open(context.Context, string, string) (*workspace.StoredFile, error) {
	ix := lines.Index{Bytes: h.size, Lines: h.size / 64, Chars: h.size, EndsNL: true}
	for range h.size / lines.BlockSize {
		ix.Counts = append(ix.Counts, lines.BlockSize/64)
	}
	return &workspace.StoredFile{
		StoredEntry: workspace.StoredEntry{Name: "r1-1-huge.txt", Bytes: h.size}, ReaderAt: h, Closer: h, Index: &ix,
	}, nil
}

// TestReadCost: a window in the middle of 1 GB costs what the window costs, in bytes read and in memory.
func TestReadCost(t *testing.T) { // not parallel: it looks at the memory of the whole process
	h := &hugeRows{size: 1 << 30}
	w := open(t, workspace.Config{Stored: h})
	reads := map[string]func() error{
		"lines": func() error {
			page, err := w.Read(t.Context(), workspace.ReadRequest{Path: "tool-results/r1-1", Offset: 8_000_000, Limit: 20})
			if err == nil && page.Last != 8_000_019 {
				err = errors.New(page.Text)
			}
			return err
		},
		"characters": func() error {
			_, err := w.Read(t.Context(), workspace.ReadRequest{Path: "tool-results/r1-1", Chars: true, CharOffset: 600_000_000})
			return err
		},
		"bytes": func() error {
			return w.WriteLines(t.Context(), io.Discard, workspace.LineRange{Path: "tool-results/r1-1", First: 8_000_000, Last: 8_000_019})
		},
	}
	for name, read := range reads {
		h.read.Store(0)
		if err := read(); err != nil {
			t.Fatal(name, err)
		}
		if n := h.read.Load(); n > 400_000 {
			t.Errorf("%s: %d bytes were read", name, n)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := read(); err != nil {
			t.Fatal(name, err)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: %d bytes were allocated", name, n)
		}
	}
}

// TestIndexKept: a file that has an index is not gone through again. That it is kept shows where the
// file has changed behind a size and a time that are the same.
func TestIndexKept(t *testing.T) {
	t.Parallel()
	dir := tree(t, nil)
	name := filepath.Join(dir, "f")
	old := time.Now().Add(-time.Hour)
	w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir}}})
	for range 2 {
		text := "a\nb\nc\n"
		if _, err := os.Stat(name); err == nil {
			text = "abcde\n"
		}
		if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, old, old)); err != nil {
			t.Fatal(err)
		}
		page, err := w.Read(t.Context(), workspace.ReadRequest{Path: "project/f", Limit: 1})
		if err != nil || page.Lines != 3 {
			t.Errorf("%d lines, %v", page.Lines, err)
		}
	}
}

var _ workspace.Rows = history.Store(nil)
