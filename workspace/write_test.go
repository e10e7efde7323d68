package workspace_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

// desk is a workspace over one folder that may be written and one that may not.
func desk(t *testing.T) (dir string, call func(name, args string) string) {
	t.Helper()
	dir = t.TempDir()
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "a.txt"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w, err := workspace.New(workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: dir, Write: true}, {Name: "other", Dir: other}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	tools, err := w.Tools()
	if err != nil {
		t.Fatal(err)
	}
	ctx := tool.WithCall(context.Background(), tool.Running{Conversation: "c"})
	return dir, func(name, args string) string {
		for _, one := range tools {
			if one.Name == name {
				r, err := one.Run(ctx, tool.Call{Name: name, Args: []byte(args)})
				if err != nil {
					t.Fatal(err)
				}
				if r.IsError {
					return "ERROR " + result.Text(r)
				}
				return result.Text(r)
			}
		}
		t.Fatalf("there is no tool %s", name)
		return ""
	}
}

func file(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWriteMakesAndReplacesWholeFiles(t *testing.T) {
	dir, call := desk(t)
	path := filepath.Join(dir, "sub", "deep", "new.txt")
	if got, want := call("workspace--write", `{"path":"project/sub/deep/new.txt","content":"a\nb"}`),
		"project/sub/deep/new.txt: new file, 3 bytes, 3 characters, 2 lines"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	got := call("workspace--write", `{"path":"project/sub/deep/new.txt","content":"\u001b[1mé\u001b[0m\n"}`)
	if want := "project/sub/deep/new.txt: replaced, 11 bytes, 10 characters, 1 line; it holds control characters: ESC ×2"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if d := cmp.Diff("\x1b[1mé\x1b[0m\n", file(t, path)); d != "" {
		t.Errorf("content (-want +got):\n%s", d)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left beside it, %v", len(left)-1, err)
	}
	if got := call("workspace--write", `{"path":"project/empty","content":""}`); !strings.Contains(got, "new file, 0 bytes, 0 characters, 0 lines") {
		t.Errorf("an empty file: %q", got)
	}
}

func TestEditReplacesExactText(t *testing.T) {
	dir, call := desk(t)
	path := filepath.Join(dir, "a.go")
	if err := os.WriteFile(path, []byte("\ufeffone\r\ntwo\r\nthree\r\ntwo\r\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	if got := call("workspace--edit", `{"path":"project/a.go","old":"one\ntwo","new":"$&\nTWO"}`); !strings.Contains(got, "1 place replaced, the first at line 1") {
		t.Errorf("got %q", got)
	}
	if d := cmp.Diff("\ufeff$&\r\nTWO\r\nthree\r\ntwo\r\n", file(t, path)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := call("workspace--edit", `{"path":"project/a.go","old":"t","new":"T","replace_all":true}`); !strings.Contains(got, "2 places replaced, the first at line 3") {
		t.Errorf("got %q", got)
	}
}

// An edit against a file that changed since it was last read here is refused; reading it again helps.
func TestEditOfAChangedFileIsRefused(t *testing.T) {
	dir, call := desk(t)
	path := filepath.Join(dir, "a.txt")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		later := time.Now().Add(time.Second)
		if err := os.Chtimes(path, later, later); err != nil {
			t.Fatal(err)
		}
	}
	write("one\n")
	call("workspace--read", `{"path":"project/a.txt"}`)
	write("one\ntwo\n")
	const change = `{"path":"project/a.txt","old":"one","new":"1"}`
	if got := call("workspace--edit", change); !strings.Contains(got, "changed on disk since it was last read") {
		t.Errorf("got %q", got)
	}
	call("workspace--read", `{"path":"project/a.txt"}`)
	if got := call("workspace--edit", change); strings.HasPrefix(got, "ERROR") {
		t.Errorf("after it was read again: %q", got)
	}
	if got := call("workspace--edit", `{"path":"project/a.txt","old":"1","new":"2"}`); strings.HasPrefix(got, "ERROR") {
		t.Errorf("after an edit of its own: %q", got)
	}
}

// Nothing is written outside of a mount that may be written, whatever the path.
func TestWritesStayInTheirMount(t *testing.T) {
	dir, call := desk(t)
	outside := filepath.Join(t.TempDir(), "outside.txt")
	for _, link := range []struct{ to, name string }{{outside, "link"}, {filepath.Dir(outside), "folder"}, {"a.txt", "inside"}} {
		if err := os.Symlink(link.to, filepath.Join(dir, link.name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"project/link":         "symbolic link",
		"project/folder/x.txt": "outside of its mount",
		"project/inside":       "symbolic link",
		"project/../x":         "contains ..",
		"/etc/x":               "absolute",
		"other/b.txt":          "read-only",
		"tool-results/r1-1":    "there is no mount",
		"project":              "names the mount",
		"nowhere/x":            "there is no mount",
		"project/a\\u0000b":    "NUL",
	} {
		got := call("workspace--write", fmt.Sprintf(`{"path":"%s","content":"x"}`, path))
		if !strings.HasPrefix(got, "ERROR") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a file was written outside")
	}
}

func TestWritingToolsSayWhatIsWrong(t *testing.T) {
	dir, call := desk(t)
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("x\nx\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin"), []byte("x\x00y"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, args, want string }{
		{"workspace--write", `{"path":"project/a.txt"}`, "content is missing"},
		{"workspace--write", `{"content":"x"}`, "path is missing"},
		{"workspace--write", `{"path":"project/a.txt","content":7}`, "content must be a string"},
		{"workspace--write", `{"path":"project/a.txt","content":"x","mode":"w"}`, "there is no argument"},
		{"workspace--edit", `{"path":"project/a.txt","new":"y"}`, "old is missing"},
		{"workspace--edit", `{"path":"project/a.txt","old":"x"}`, "new is missing"},
		{"workspace--edit", `{"path":"project/a.txt","old":"","new":"y"}`, "old is empty"},
		{"workspace--edit", `{"path":"project/a.txt","old":"x","new":"x"}`, "nothing would change"},
		{"workspace--edit", `{"path":"project/a.txt","old":"x","new":"y"}`, "found 2 times (at lines 1, 2)"},
		{"workspace--edit", `{"path":"project/a.txt","old":"z","new":"y","replace_all":true}`, "must match exactly"},
		{"workspace--edit", `{"path":"project/none","old":"z","new":"y"}`, "no such file"},
		{"workspace--edit", `{"path":"project/bin","old":"x","new":"y"}`, "not UTF-8 text"},
	} {
		got := call(c.name, c.args)
		if !strings.HasPrefix(got, "ERROR "+c.name) || !strings.Contains(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.name, c.args, got, c.want)
		}
	}
	if got := file(t, filepath.Join(dir, "a.txt")); got != "x\nx\n" {
		t.Errorf("a refused call changed the file: %q", got)
	}
}

// Without a mount that may be written the tools are not offered.
func TestWritingToolsAreOptIn(t *testing.T) {
	w, err := workspace.New(workspace.Config{Mounts: []workspace.Mount{{Name: "project", Dir: t.TempDir()}}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	tools, err := w.Tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range tools {
		if one.Name == "workspace--write" || one.Name == "workspace--edit" {
			t.Errorf("%s is offered", one.Name)
		}
	}
}
