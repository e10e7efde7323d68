package workspace_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/workspace"
)

// desk is a workspace with a folder that may be written, project, and one that may not, other.
func desk(t *testing.T, files map[string]string) (*workspace.Workspace, string) {
	t.Helper()
	dir := tree(t, files)
	return open(t, workspace.Config{Mounts: []workspace.Mount{
		{Name: "project", Dir: dir, Write: true}, {Name: "other", Dir: tree(t, map[string]string{"a.txt": "a\n"})},
	}}), dir
}

func contents(t testing.TB, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// change stands for a text that somebody else writes, a moment later than the last one.
func change(t testing.TB, name, text string) {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	later := info.ModTime().Add(time.Second)
	if err := errors.Join(os.WriteFile(name, []byte(text), 0o600), os.Chtimes(name, later, later)); err != nil {
		t.Fatal(err)
	}
}

func answer(t testing.TB, w *workspace.Workspace, name, args string) string {
	t.Helper()
	r := call(t, w, 0, name, args)
	if r.IsError {
		return "ERROR " + r.Error
	}
	return r.Data.(string)
}

func TestWrite(t *testing.T) {
	t.Parallel()
	w, dir := desk(t, map[string]string{"old.txt": "old\n"})
	name := filepath.Join(dir, "sub", "deep", "new.txt")
	for _, tt := range []struct{ args, want string }{
		{`{"path":"project/sub/deep/new.txt","content":"a\nb"}`, "project/sub/deep/new.txt: written, a new file of 3 bytes in 2 lines\n"},
		{`{"path":"project/empty","content":""}`, "project/empty: written, a new file of 0 bytes in 0 lines\n"},
		{
			`{"path":"project/sub/deep/new.txt","content":"\u001b[1mé\u001b[0m\r\n\u0000"}`,
			"project/sub/deep/new.txt: written, 13 bytes in 2 lines in place of 3 bytes; 3 control characters were kept: U+0000, U+001B\n",
		},
	} {
		if diff := cmp.Diff(tt.want, answer(t, w, "workspace--write", tt.args)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
	if diff := cmp.Diff("\x1b[1mé\x1b[0m\r\n\x00", contents(t, name)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := os.Chmod(name, 0o751); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(t.Context(), workspace.WriteRequest{Path: "project/sub/deep/new.txt", Text: "x"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 1 {
		t.Errorf("beside the file there are %v, %v", left, err)
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	encoded := func(text string) string {
		out := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(text)) {
			out = append(out, byte(u), byte(u>>8))
		}
		return string(out)
	}
	for _, tt := range []struct {
		name, text, old, new string
		all                  bool
		want, err            string
	}{
		{"once", "one\ntwo\n", "two", "2", false, "one\n2\n", ""},
		{"delete", "one\ntwo\n", "one\n", "", false, "two\n", ""},
		{"nothing in new is a pattern", "a\n", "a", "$& $1 \\1 %s", false, "$& $1 \\1 %s\n", ""},
		{"nothing in old is a pattern", "a.c abc\n", "a.c", "x", false, "x abc\n", ""},
		{"all", "aXaXa", "a", "b", true, "bXbXb", ""},
		{"all apart", "aaaaa", "aa", "b", true, "bba", ""},
		{"mark stays", "\xef\xbb\xbfone\n", "one", "1", false, "\xef\xbb\xbf1\n", ""},
		{"CRLF stays", "a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", ""},
		{"CRLF in old", "a\r\nb\r\n", "a\r\nb", "x\r\ny", false, "x\r\ny\r\n", ""},
		{"CRLF file, one line", "a\r\nb\r\n", "b", "x\ny", false, "a\r\nx\r\ny\r\n", ""},
		{"CRLF ending deleted whole", "a\r\nb\r\n", "a\n", "", false, "b\r\n", ""},
		{"CRLF from new in a file of LF", "a\nb\n", "a", "x\r\ny", false, "x\ny\nb\n", ""},
		{"mixed endings", "a\r\nb\nc\r\n", "b\nc", "x\ny", false, "a\r\nx\ny\r\n", ""},
		{"lone CR is text", "a\rb\n", "a\rb", "x\ry", false, "x\ry\n", ""},
		{"no final newline", "a\nb", "b", "c", false, "a\nc", ""},
		{"invalid bytes stay", "\xff a \xfe\n", "a", "b", false, "\xff b \xfe\n", ""},
		{"UTF-16", encoded("größe\r\n😀 b\r\n"), "😀 b", "x\ny", false, encoded("größe\r\nx\r\ny\r\n"), ""},
		{"twice", "x\ny\nx\n", "x", "z", false, "", "old stands there 2 times, in lines 1, 3: add lines around it until it is unique, or set replace_all"},
		{"overlapping", "aaa", "aa", "b", false, "", "old stands there 2 times, in lines 1, 1"},
		{"many", strings.Repeat("x\n", 20), "x", "y", false, "", "in lines 1, 2, 3, 4, 5, 6, 7, 8 and 12 more"},
		{"too many", strings.Repeat("x", 100_002), "x", "y", true, "", "more than 100000 times"},
		{"not there", "a\n", "b", "c", false, "", "read the place again and copy it exactly"},
		{"not there, all", "a\n", "b", "c", true, "", "read the place again and copy it exactly"},
		{"line numbers", "a\nb\n", "1\ta\n2\tb", "c", false, "", "leave them out"},
		{"blanks", "a b\n", "a b ", "c", false, "", "check them"},
		{"shown as U+FFFD", "a\xff\n", "a\ufffd", "c", false, "", "not valid UTF-8"},
		{"empty old", "a\n", "", "b", false, "", "old is empty"},
		{"empty old, all", "a\n", "", "b", true, "", "old is empty"},
		{"the same", "a\n", "a", "a", false, "", "nothing to change"},
		{"binary", "a\x00\n", "a", "b", false, "", "binary file of 3 bytes"},
		{"broken UTF-16", "\xff\xfea\x00\x3d\xd8", "a", "b", false, "", "it is not valid UTF-16LE"},
		{"too large", strings.Repeat("x\n", workspace.MaxWrite/2) + "y", "y", "z", false, "", "at most 16777216 are edited"},
		{"too large then", strings.Repeat("x\n", workspace.MaxWrite/2-1) + "y", "y", "long", false, "", "the file would have 16777218 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w, dir := desk(t, map[string]string{"f": tt.text})
			if err := os.Chmod(filepath.Join(dir, "f"), 0o640); err != nil {
				t.Fatal(err)
			}
			_, err := w.Edit(t.Context(), workspace.EditRequest{Path: "project/f", Old: tt.old, New: tt.new, All: tt.all})
			want := tt.want
			if tt.err != "" {
				want = tt.text
				if err == nil || !strings.Contains(err.Error(), tt.err) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v, want …%s…", err, tt.err)
				}
			} else if err != nil {
				t.Error(err)
			}
			if got := contents(t, dir, "f"); got != want {
				t.Errorf("%.200q, want %.200q", got, want)
			}
			if info, err := os.Stat(filepath.Join(dir, "f")); err != nil || info.Mode().Perm() != 0o640 {
				t.Errorf("the mode is %v, %v", info.Mode(), err)
			}
		})
	}
}

// TestEditAnswer: an answer tells where it was, and what is there now.
func TestEditAnswer(t *testing.T) {
	t.Parallel()
	w, _ := desk(t, map[string]string{"f": "a\nb\na\n"})
	for _, tt := range []struct{ args, want string }{
		{`{"path":"project/f","old":"b","new":"\u0007b\nc"}`, "project/f: replaced at 1 place, line 2; the file has 9 bytes in 4 lines now; 1 control character was kept: U+0007\n"},
		{`{"path":"project/f","old":"a","new":"","replace_all":true}`, "project/f: replaced at 2 places, lines 1, 4; the file has 7 bytes in 4 lines now\n"},
	} {
		if diff := cmp.Diff(tt.want, answer(t, w, "workspace--edit", tt.args)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.args, diff)
		}
	}
}

// TestEditStale: a file that changed since the conversation read it is left alone until it is read again.
func TestEditStale(t *testing.T) {
	t.Parallel()
	w, dir := desk(t, map[string]string{"f": "one\n"})
	name := filepath.Join(dir, "f")
	const edit, read = `{"path":"project/f","old":"one","new":"1"}`, `{"path":"project/f"}`
	answer(t, w, "workspace--read", read)
	change(t, name, "one\ntwo\n")
	for tool, args := range map[string]string{"workspace--edit": edit, "workspace--write": `{"path":"project/f","content":"x"}`} {
		got := answer(t, w, tool, args)
		if !strings.HasPrefix(got, "ERROR") || !strings.Contains(got, "it changed on the disk since this conversation last read it: read it again first") {
			t.Errorf("%s: %s", tool, got)
		}
	}
	if got := contents(t, name); got != "one\ntwo\n" {
		t.Errorf("a refused call changed the file: %q", got)
	}
	// Another conversation has read nothing.
	if _, err := w.Edit(t.Context(), workspace.EditRequest{Conversation: "c2", Path: "project/f", Old: "two", New: "2"}); err != nil {
		t.Errorf("another conversation: %v", err)
	}
	answer(t, w, "workspace--read", read)
	for _, args := range []string{edit, `{"path":"project/f","old":"1","new":"one"}`} {
		if got := answer(t, w, "workspace--edit", args); strings.HasPrefix(got, "ERROR") {
			t.Errorf("after reading it again, and after an edit of its own: %s", got)
		}
	}
}

// TestWritesStayInTheirMount: nothing is written outside of a mount that may be written.
func TestWritesStayInTheirMount(t *testing.T) {
	t.Parallel()
	w, dir := desk(t, map[string]string{"a.txt": "a\n", "sub/": ""})
	outside := filepath.Join(t.TempDir(), "outside.txt")
	if err := errors.Join(
		os.Symlink(outside, filepath.Join(dir, "link")),
		os.Symlink(filepath.Dir(outside), filepath.Join(dir, "folder")),
		os.Symlink("a.txt", filepath.Join(dir, "inside")),
	); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"project/link": "", "project/folder/x.txt": "leads outside of its mount", "project/folder/new/x.txt": "leads outside of its mount",
		"project/inside": "is a symbolic link; name the file that it leads to", "project/sub": "is a folder", "project/a.txt/x": "is no folder",
		"project/../x": "contains ..", "/etc/x": "absolute", "other/b.txt": "the mount other is read-only", "other/a.txt": "read-only",
		"tool-results/r1-1": "there is no mount", "project": "names the mount", "nowhere/x": "there is no mount", "project/a\x00b": "NUL",
	} {
		raw, err := json.Marshal(path)
		if err != nil {
			t.Fatal(err)
		}
		got := answer(t, w, "workspace--write", fmt.Sprintf(`{"path":%s,"content":"x"}`, raw))
		if !strings.HasPrefix(got, "ERROR workspace--write: ") || !strings.Contains(got, want) || strings.Contains(got, dir) {
			t.Errorf("%q: %s, want …%s…", path, got, want)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(outside)); err != nil || len(left) > 0 {
		t.Errorf("outside of the mount there are %v, %v", left, err)
	}
	if got := contents(t, dir, "a.txt"); got != "a\n" {
		t.Errorf("a file was written through a link: %q", got)
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	w, _ := desk(t, map[string]string{"a.txt": "x\n"})
	for _, tt := range []struct{ name, args, want string }{
		{"workspace--write", `{"path":"project/a.txt"}`, `content is missing; an empty one makes an empty file. Example: {"path":"project/a.txt","content":"# Notes\n"}`},
		{"workspace--write", `{"content":"x"}`, "path is missing"},
		{"workspace--write", `{"path":"project/a.txt","content":7}`, "content must be a string; got 7"},
		{"workspace--write", `{"path":"project/a.txt","content":"x","mode":"w"}`, `there is no argument "mode"; there are: path, content`},
		{"workspace--write", `{"path":"project/big","content":"` + strings.Repeat("x", workspace.MaxWrite+1) + `"}`, "at most 16777216 are written"},
		{"workspace--edit", `{"path":"project/a.txt","new":"y"}`, "old is missing"},
		{"workspace--edit", `{"path":"project/a.txt","old":"x"}`, "new is missing; an empty one deletes old"},
		{"workspace--edit", `{"path":"project/none","old":"z","new":"y"}`, "no such file"},
		{"workspace--edit", `{"path":"project/a.txt","old":"x","new":"y","replace_all":"yes"}`, "replace_all must be true or false"},
	} {
		got := answer(t, w, tt.name, tt.args)
		if !strings.HasPrefix(got, "ERROR "+tt.name+": ") || !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
			t.Errorf("%s %.80s: %s, want …%s…", tt.name, tt.args, got, tt.want)
		}
	}
	// Without a mount that may be written there are no such tools.
	tools, err := serve(t, nil).Tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tools {
		if !x.ReadOnly {
			t.Errorf("a read-only workspace offers %s", x.Name)
		}
	}
}

// TestEditTogether: edits that come at once are all there afterwards, and nobody ever reads half a file.
func TestEditTogether(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "line %d end\n", i)
	}
	w, dir := desk(t, map[string]string{"f": text.String()})
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			old, now := fmt.Sprintf("line %d end", i), fmt.Sprintf("LINE %d end", i)
			if _, err := w.Edit(t.Context(), workspace.EditRequest{Path: "project/f", Old: old, New: now}); err != nil {
				t.Error(err)
			}
			if got := contents(t, dir, "f"); len(got) != text.Len() {
				t.Errorf("%d bytes, want %d", len(got), text.Len())
			}
		})
	}
	all.Wait()
	if got := contents(t, dir, "f"); strings.Contains(got, "line") {
		t.Errorf("an edit was lost:\n%s", got)
	}
}
