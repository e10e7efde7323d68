package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/workspace"
)

// grep searches and writes each match as grep -Hn does.
func grep(t testing.TB, w *workspace.Workspace, req workspace.GrepRequest) (hits []string, found workspace.GrepResult) {
	t.Helper()
	found, err := w.Grep(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found.List {
		hits = append(hits, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text))
	}
	return hits, found
}

func TestGrep(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, text string
		req        workspace.GrepRequest
		want       []string
	}{
		{"CRLF is not in the line", "a\r\nb\r\nc\r\n", workspace.GrepRequest{Pattern: "^b$"}, []string{"project/f:2:b"}},
		{"the mark is before line 1", "\xef\xbb\xbfparam($x)\r\nend\r\n", workspace.GrepRequest{Pattern: "^param"}, []string{"project/f:1:param($x)"}},
		{"only LF ends a line", "alpha\nbeta\rmid\u2028x\u0085y\vz\fw\ngamma NEEDLE\n", workspace.GrepRequest{Pattern: "NEEDLE"}, []string{"project/f:3:gamma NEEDLE"}},
		{"last line", "x\nb", workspace.GrepRequest{Pattern: "b"}, []string{"project/f:2:b"}},
		{"literal", "a.b\naxb\n", workspace.GrepRequest{Pattern: "a.b", Literal: true}, []string{"project/f:1:a.b"}},
		{"ignore case", "Abc\nABC\nx\n", workspace.GrepRequest{Pattern: "aBC", IgnoreCase: true}, []string{"project/f:1:Abc", "project/f:2:ABC"}},
		{"every line", "\n\n", workspace.GrepRequest{Pattern: ""}, []string{"project/f:1:", "project/f:2:"}},
		{"nothing", "abc\n", workspace.GrepRequest{Pattern: "x"}, nil},
		{"offset and max", "1\n2\n3\n4\n", workspace.GrepRequest{Pattern: ".", Offset: 1, Max: 2}, []string{"project/f:2:2", "project/f:3:3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			hits, _ := grep(t, serve(t, map[string]string{"f": tt.text}), tt.req)
			if diff := cmp.Diff(tt.want, hits); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestGrepAgreesWithGrep: the same lines as the real program, in every file.
func TestGrepAgreesWithGrep(t *testing.T) {
	t.Parallel()
	dir := tree(t, corpus())
	w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir}}})
	for _, pattern := range []string{"INFO", "first", "request 77", "\xc3", "ms", "no such text"} {
		if pattern == "\xc3" {
			continue // not valid UTF-8: refused
		}
		for _, name := range strings.Fields(run(t, dir, "ls")) {
			if name == "binary.bin" {
				continue
			}
			want := run(t, dir, "grep", "-naF", pattern, name)
			var got strings.Builder
			_, err := w.Search(t.Context(), workspace.GrepRequest{Path: "project/" + name, Pattern: pattern, Literal: true},
				func(m workspace.Match) error {
					_, err := fmt.Fprintf(&got, "%d:%s\n", m.Line, m.Text)
					return err
				})
			if err != nil {
				t.Fatal(err)
			}
			// grep shows the \r of an ending and the mark at the start of the file.
			want = strings.ReplaceAll(strings.ReplaceAll(want, "\r\n", "\n"), "\xef\xbb\xbf", "")
			if diff := cmp.Diff(want, got.String()); diff != "" {
				t.Errorf("%s in %s (-grep +Search):\n%.2000s", pattern, name, diff)
			}
		}
	}
}

// TestGrepAgreesWithFind: everything that find finds is searched, in the order of sort.
func TestGrepAgreesWithFind(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"b": "x\n", "a/z": "x\n", "a.txt": "x\n", "a-b/x": "x\n", "a/b/c/d": "x\n", "a0": "x\n", ".hidden/f": "x\n", "e/": "",
		"link -> a": "", "sp ace": "x\n",
	})
	w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "p", Dir: dir}}})
	var want []string
	for line := range strings.Lines(run(t, dir, "find", ".", "-type", "f")) {
		want = append(want, "p"+strings.TrimPrefix(strings.TrimSpace(line), "."))
	}
	slices.Sort(want)
	found, err := w.Grep(t.Context(), workspace.GrepRequest{Pattern: "x"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range found.List {
		got = append(got, m.Path)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("grep (-find +got):\n%s", diff)
	}
	paths, err := w.Glob(t.Context(), workspace.GlobRequest{Pattern: "**"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, paths.Paths); diff != "" {
		t.Errorf("glob (-find +got):\n%s", diff)
	}
}

// TestGrepMatch: where a match is.
func TestGrepMatch(t *testing.T) {
	t.Parallel()
	w := serve(t, map[string]string{"f": "s\n" + strings.Repeat("é", 4990) + "NEEDLE tail\ne\n"})
	found, err := w.Grep(t.Context(), workspace.GrepRequest{Pattern: "NEEDLE", Before: 1, After: 1, Width: 100})
	if err != nil || len(found.List) != 1 {
		t.Fatal(found, err)
	}
	m := found.List[0]
	if got := string(m.Text[m.Start:m.End]); got != "NEEDLE" || utf8.RuneCount(m.Text) != 100 || !m.Cut {
		t.Errorf("excerpt %q, match %q, cut %v", m.Text, got, m.Cut)
	}
	want := workspace.Match{
		Path: "project/f", Line: 2, Column: 4991, Offset: 2, Text: m.Text, Start: m.Start, End: m.End, Cut: true, Chars: 5001,
		Before: []workspace.ContextLine{{Line: 1, Text: []byte("s")}},
		After:  []workspace.ContextLine{{Line: 3, Text: []byte("e")}},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestGrepContext holds the lines around matches to those of grep -C, wherever they lie.
func TestGrepContext(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, "%d %s\n", i, strings.Repeat("x", i%700))
	}
	dir := tree(t, map[string]string{"f": b.String()})
	w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir}}})
	for _, pattern := range []string{"^0 ", "^1 ", "^1500 ", "^2999 ", "^2998 "} {
		found, err := w.Grep(t.Context(), workspace.GrepRequest{Pattern: pattern, Before: 30, After: 40})
		if err != nil || len(found.List) != 1 {
			t.Fatal(pattern, err)
		}
		var got strings.Builder
		m := found.List[0]
		for _, c := range m.Before {
			fmt.Fprintf(&got, "%d-%s\n", c.Line, c.Text)
		}
		fmt.Fprintf(&got, "%d:%s\n", m.Line, m.Text)
		for _, c := range m.After {
			fmt.Fprintf(&got, "%d-%s\n", c.Line, c.Text)
		}
		if diff := cmp.Diff(run(t, dir, "grep", "-n", "-B30", "-A40", pattern, "f"), got.String()); diff != "" {
			t.Errorf("%s (-grep +got):\n%.1000s", pattern, diff)
		}
	}
}

// TestGrepNeverBlind: what was not searched is told, with its reason and its name.
func TestGrepNeverBlind(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".gitignore": "scripts/*\nnode_modules/\n", "scripts/w.py": "MARK\n", "node_modules/a.js": "MARK\n",
		"logo.png": "\x89PNG\x00MARK", "link -> logo.png": "", "ok.txt": "x\n", "out -> ../outside.txt": "",
	})
	if err := os.WriteFile(filepath.Join(filepath.Dir(dir), "outside.txt"), []byte("MARK\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	big, err := os.Create(filepath.Join(dir, "big.log"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(big.Truncate(workspace.MaxFile+1), writeAt(big, "MARK\n"+strings.Repeat("x", 9000)), big.Close()); err != nil {
		t.Fatal(err)
	}
	long := append(append([]byte("short MARKx\n"), []byte(strings.Repeat("y", 16<<20+1))...), "MARK\n"...)
	if err := os.WriteFile(filepath.Join(dir, "long.json"), long, 0o600); err != nil {
		t.Fatal(err)
	}
	w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir}}})
	hits, found := grep(t, w, workspace.GrepRequest{Pattern: "MARK$"})
	if hits != nil {
		t.Errorf("hits %q", hits)
	}
	want := []workspace.Skipped{
		{Reason: "binary", Count: 1, Names: []string{"project/logo.png (9 bytes)"}},
		{Reason: "over 1073741824 bytes", Count: 1, Names: []string{"project/big.log (1073741825 bytes)"}},
		{Reason: "with lines too long to search", Count: 1, Names: []string{"project/long.json (line 2)"}},
		{Reason: "ignored by .gitignore", Count: 2, Names: []string{"project/node_modules/", "project/scripts/w.py"}},
		{Reason: "symbolic links, which are not followed", Count: 2, Names: []string{"project/link", "project/out"}},
	}
	if diff := cmp.Diff(want, found.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if found.Searched != 3 {
		t.Errorf("%d files searched, want 3", found.Searched)
	}
	// What is named is searched, whatever the rules say.
	if hits, _ := grep(t, w, workspace.GrepRequest{Pattern: "MARK", Path: "project/scripts/w.py"}); len(hits) != 1 {
		t.Errorf("named file: %q", hits)
	}
	if hits, _ := grep(t, w, workspace.GrepRequest{Pattern: "MARK", Path: "project/node_modules"}); len(hits) != 1 {
		t.Errorf("named folder: %q", hits)
	}
	if hits, found := grep(t, w, workspace.GrepRequest{Pattern: "MARK", All: true, Glob: "*.{py,js}"}); len(hits) != 2 || found.Unmatched == 0 {
		t.Errorf("all: %q, %d left out by the glob", hits, found.Unmatched)
	}
	// A binary file that is named is told too.
	if _, found := grep(t, w, workspace.GrepRequest{Pattern: "MARK", Path: "project/logo.png"}); len(found.Skipped) != 1 || found.Searched != 0 {
		t.Errorf("named binary file: %+v", found)
	}
}

// TestSkippedNames: of many that were left out the first are named, and the rest counted.
func TestSkippedNames(t *testing.T) {
	t.Parallel()
	files := map[string]string{".gitignore": "*.log\n"}
	for i := range 40 {
		files[fmt.Sprintf("%02d.log", i)] = ""
		files[fmt.Sprintf("%02d.bin", i)] = "\x00"
	}
	w := serve(t, files)
	_, found := grep(t, w, workspace.GrepRequest{Pattern: "x"})
	want := []workspace.Skipped{{Reason: "binary", Count: 40}, {Reason: "ignored by .gitignore", Count: 40}}
	for i := range workspace.MaxSkipped {
		want[0].Names = append(want[0].Names, fmt.Sprintf("project/%02d.bin (1 byte)", i))
		want[1].Names = append(want[1].Names, fmt.Sprintf("project/%02d.log", i))
	}
	if diff := cmp.Diff(want, found.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if text := page(t, w, 0, "workspace--grep", `{"pattern":"x"}`); !strings.Contains(text, "project/04.log and 35 more\n") {
		t.Errorf("the page does not count the rest:\n%s", text)
	}
}

func writeAt(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// TestGrepOrder: pages tile, in the order of the paths, and come again byte for byte.
func TestGrepOrder(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 120 {
		files[fmt.Sprintf("d%d/%c.txt", i%7, 'a'+i%26)+fmt.Sprint(i)] = strings.Repeat("hit\nmiss\n", i%97)
	}
	w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: tree(t, files)}}, Workers: 4})
	var want []string
	_, err := w.Search(t.Context(), workspace.GrepRequest{Pattern: "hit"}, func(m workspace.Match) error {
		want = append(want, fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{3, 397, 1000} {
		for range 2 {
			var got []string
			for {
				hits, found := grep(t, w, workspace.GrepRequest{Pattern: "hit", Max: size, Offset: int64(len(got))})
				if found.Matches != int64(len(want)) {
					t.Fatalf("%d matches, want %d", found.Matches, len(want))
				}
				if len(hits) == 0 {
					break
				}
				got = append(got, hits...)
				if size == 3 && len(got) >= 60 {
					break
				}
			}
			if diff := cmp.Diff(want[:len(got)], got); diff != "" || size > 3 && len(got) != len(want) {
				t.Fatalf("pages of %d (-want +got):\n%.500s", size, diff)
			}
		}
	}
	paths := make([]string, len(want))
	for i, hit := range want {
		paths[i], _, _ = strings.Cut(hit, ":")
	}
	if !slices.IsSorted(paths) {
		t.Error("the files are not in the order of their paths")
	}
}

// slowStored has one result whose text takes its time.
type slowStored struct{ delay time.Duration }

func (s slowStored) List(context.Context, string) ([]workspace.StoredEntry, error) {
	return []workspace.StoredEntry{{Name: "r1-1-a.txt"}, {Name: "r1-2-slow.txt"}}, nil
}

func (s slowStored) Open(_ context.Context, _, name string) (*workspace.StoredFile, error) {
	f := &workspace.StoredFile{StoredEntry: workspace.StoredEntry{Name: name, Bytes: 8}, ReaderAt: strings.NewReader("hit hit\n"), Closer: io.NopCloser(nil)}
	if name == "r1-2-slow.txt" {
		f.Bytes, f.ReaderAt = 100<<20, slowText(s)
	}
	return f, nil
}

// slowText is text without an end, read slowly.
type slowText struct{ delay time.Duration }

func (s slowText) ReadAt(p []byte, _ int64) (int, error) {
	time.Sleep(s.delay)
	for i := range p {
		p[i] = "hit\n"[i%4]
	}
	return len(p), nil
}

// TestGrepDeadline: a search that takes too long gives what it found and says so; one that is cancelled
// is an error.
func TestGrepDeadline(t *testing.T) {
	t.Parallel()
	w := open(t, workspace.Config{Stored: slowStored{5 * time.Millisecond}, Deadline: 30 * time.Millisecond})
	hits, found := grep(t, w, workspace.GrepRequest{Pattern: "hit hit"})
	if !found.TimedOut || len(hits) != 1 {
		t.Errorf("timed out %v, hits %q", found.TimedOut, hits)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := w.Grep(ctx, workspace.GrepRequest{Pattern: "hit hit"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestGrepErrors: the pattern, the glob and the path are told apart; nothing else is an error.
func TestGrepErrors(t *testing.T) {
	t.Parallel()
	w := serve(t, map[string]string{"f": "f(x)\n"})
	for _, tt := range []struct {
		req  workspace.GrepRequest
		want string
	}{
		{workspace.GrepRequest{Pattern: "("}, "missing closing )"},
		{workspace.GrepRequest{Pattern: "a(?=b)"}, "look-ahead is not part of RE2"},
		{workspace.GrepRequest{Pattern: "x", Glob: "{a,b"}, "a { is never closed by }"},
		{workspace.GrepRequest{Pattern: "x", Glob: "[a"}, "a [ is never closed by ]"},
		{workspace.GrepRequest{Pattern: "x", Glob: strings.Repeat("{a,b}", 20)}, "braces stand for more than 1000 texts"},
		{workspace.GrepRequest{Pattern: "x", Path: "project/none"}, "no such file or folder"},
		{workspace.GrepRequest{Pattern: "x", Path: "other/f"}, "there is no mount"},
		{workspace.GrepRequest{Pattern: "x", Max: -1}, "valid are 1 to 1000"},
		{workspace.GrepRequest{Pattern: "x", Before: 101}, "valid are 0 to 100"},
	} {
		_, err := w.Grep(t.Context(), tt.req)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v, want …%s…", tt.req, err, tt.want)
		}
	}
	stop := errors.New("stop")
	if _, err := w.Search(t.Context(), workspace.GrepRequest{Pattern: "x"}, func(workspace.Match) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("error of yield: %v", err)
	}
}

// brokenStored has a result whose file cannot be read.
type brokenStored struct{ slowStored }

func (brokenStored) Open(_ context.Context, _, name string) (*workspace.StoredFile, error) {
	if name == "r1-1-a.txt" {
		return nil, &fs.PathError{Op: "open", Path: "/machine/path", Err: errors.New("input/output error")}
	}
	return &workspace.StoredFile{StoredEntry: workspace.StoredEntry{Name: name, Bytes: 4}, ReaderAt: strings.NewReader("hit\n"), Closer: io.NopCloser(nil)}, nil
}

// TestGrepIncomplete: a file that cannot be read does not end the search; it is named, with the reason
// and without the machine's path.
func TestGrepIncomplete(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("d/", 201)
	w := open(t, workspace.Config{
		Stored: brokenStored{},
		Mounts: []workspace.Mount{{Name: "project", Dir: tree(t, map[string]string{deep + "f": "hit\n"})}},
	})
	hits, found := grep(t, w, workspace.GrepRequest{Pattern: "hit"})
	if diff := cmp.Diff([]string{"tool-results/r1-2-slow.txt:1:hit"}, hits); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	want := []workspace.Skipped{{Reason: "unreadable", Count: 2, Names: []string{
		"project/" + deep + " (too many folders deep)", "tool-results/r1-1-a.txt (input/output error)",
	}}}
	if diff := cmp.Diff(want, found.Skipped); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
