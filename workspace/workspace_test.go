package workspace_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/workspace"
)

// tree writes files below a new folder. A name that ends in a slash is a folder, "a -> b" a link.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		link, target, isLink := strings.Cut(name, " -> ")
		full := filepath.Join(dir, link)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		switch {
		case err != nil:
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		case isLink:
			err = os.Symlink(target, full)
		default:
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// serve makes a workspace with the files as the mount project.
func serve(t testing.TB, files map[string]string) *workspace.Workspace {
	t.Helper()
	return open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: tree(t, files)}}})
}

func open(t testing.TB, cfg workspace.Config) *workspace.Workspace {
	t.Helper()
	w, err := workspace.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

// conversation is the one whose results the tests store.
const conversation = "c1"

// rows are the results of one conversation, as a history has them.
type rows struct {
	results []history.Result
	spills  []spill.Ref
	files   *spill.Dir
}

// newRows keeps spilled texts in a folder of the test.
func newRows(t testing.TB) *rows {
	t.Helper()
	files, err := spill.NewDir(filepath.Join(t.TempDir(), "tool-results"), spill.Config{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	return &rows{files: files}
}

func (r *rows) stored() workspace.Stored { return workspace.Results(r, r.files) }

// add stores a result's text, in the row or in a file.
func (r *rows) add(t testing.TB, id, tool, text string, spilled bool) {
	t.Helper()
	call, err := history.ParseCallID(id)
	if err != nil {
		t.Fatal(err)
	}
	ix := lines.Of([]byte(text))
	res := history.Result{ID: call, Tool: tool, Bytes: ix.Bytes, Lines: ix.Lines, Chars: ix.Chars}
	if spilled {
		ref := r.keep(t, spill.Name{Conversation: conversation, Result: id, Tool: tool, Fence: 7}, text)
		res.Spill = &ref
	} else {
		res.Whole = []byte(text)
	}
	r.results = append(r.results, res)
	slices.SortFunc(r.results, func(a, b history.Result) int {
		return cmp.Or(cmp.Compare(a.ID.Round, b.ID.Round), cmp.Compare(a.ID.Index, b.ID.Index), cmp.Compare(a.ID.Sub, b.ID.Sub))
	})
}

// keep writes a file of the store, a spilled text or a payload.
func (r *rows) keep(t testing.TB, name spill.Name, text string) spill.Ref {
	t.Helper()
	w, err := r.files.Create(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	ref, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	r.spills = append(r.spills, ref)
	return ref
}

func (r *rows) CallsOf(context.Context, string, int) ([]history.Call, error) {
	var calls []history.Call
	for _, res := range r.results {
		calls = append(calls, history.Call{ID: res.ID, Tool: res.Tool, Settled: time.UnixMilli(1_764_000_000_000)})
	}
	return calls, nil
}

func (r *rows) ResultsOf(_ context.Context, c string, _ int) ([]history.Result, error) {
	if c != conversation {
		return nil, fmt.Errorf("results of %s: %w", c, history.ErrNotFound)
	}
	out := slices.Clone(r.results)
	for i := range out {
		out[i].Whole = nil
	}
	return out, nil
}

func (r *rows) ResultOf(_ context.Context, c string, id history.CallID) (history.Result, error) {
	for _, res := range r.results {
		if c == conversation && res.ID == id {
			return res, nil
		}
	}
	return history.Result{}, fmt.Errorf("result %s of %s: %w", id, c, history.ErrNotFound)
}

func (r *rows) SpillsOf(_ context.Context, c string) ([]spill.Ref, error) {
	if c != conversation {
		return nil, nil
	}
	return r.spills, nil
}
