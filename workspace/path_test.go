package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-run/weir/workspace"
)

// TestPaths: a path that leads anywhere else is refused, with an error that names it as it was written
// and never where the mount lies.
func TestPaths(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"ok": "1\n", "sub/in": "2\n", "to-in -> sub/in": "", "to-sub -> sub": "", "link.txt -> ../outside.txt": "",
		"up -> ..": "", "abs -> /etc/passwd": "", "loop -> loop": "", "zero -> /dev/zero": "",
	})
	parent := filepath.Dir(dir)
	if err := errors.Join(
		os.WriteFile(filepath.Join(parent, "outside.txt"), []byte("SECRET\n"), 0o600),
		os.Mkdir(filepath.Join(parent, "root-evil"), 0o700),
		os.WriteFile(filepath.Join(parent, "root-evil", "x"), []byte("SECRET\n"), 0o600),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	w := open(t, workspace.Config{Mounts: []workspace.Mount{{Name: "root", Dir: dir}, {Name: "other", Dir: dir}}})
	for _, tt := range []struct{ path, want string }{
		{"root/ok", ""},
		{"root/./ok", ""},
		{"root//ok", ""},
		{"root/to-in", ""},
		{"root/to-sub/in", ""},
		{"", "a path is needed: mount/relative/path; the mounts: other/, root/"},
		{"ok", `there is no mount "ok"; the mounts: other/, root/`},
		{"root-evil/x", `there is no mount "root-evil"`},
		{"root/../root-evil/x", "it contains .."},
		{"root/../../etc/hosts", "it contains .."},
		{"../root/ok", "it contains .."},
		{"root/sub/..", "it contains .."},
		{"..", "it contains .."},
		{"/etc/passwd", "it is absolute"},
		{"/root/ok", "it is absolute"},
		{`root\ok`, "it contains a backslash"},
		{`root/..\..\x`, "it contains a backslash"},
		{"root/o\x00k", "it contains a NUL byte"},
		{"root/" + strings.Repeat("a", 5000), "at most 4096 are allowed"},
		{"root/" + strings.Repeat("a", 300), "file name too long"},
		{"root/link.txt", "leads outside of its mount"},
		{"root/up/outside.txt", "leads outside of its mount"},
		{"root/up/root-evil/x", "leads outside of its mount"},
		{"root/abs", "leads outside of its mount"},
		{"root/zero", "leads outside of its mount"},
		{"root/pipe", "only regular files are read"},
		{"root/loop", "too many levels of symbolic links"},
		{"root/none", "no such file or folder"},
		{"root/ok/x", "is no folder"},
		{"root/sub", "is a folder"},
		{"root", "is a folder"},
		{"root/", "is a folder"},
		{"tool-results/r1-1", `there is no mount "tool-results"`},
	} {
		_, err := w.Read(t.Context(), workspace.ReadRequest{Path: tt.path})
		if tt.want == "" {
			if err != nil {
				t.Errorf("%q: %v", tt.path, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.60q: error %v, want …%s…", tt.path, err, tt.want)
			continue
		}
		if strings.Contains(err.Error(), parent) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q: the error tells where the mount lies: %v", tt.path, err)
		}
	}
	hits, _ := grep(t, w, workspace.GrepRequest{Pattern: "SECRET"})
	if hits != nil {
		t.Errorf("grep read outside of the mount: %q", hits)
	}
	for _, path := range []string{"root/link.txt", "root/up", "root/up/root-evil"} {
		if _, err := w.Grep(t.Context(), workspace.GrepRequest{Pattern: "SECRET", Path: path}); err == nil || !strings.Contains(err.Error(), "leads outside") {
			t.Errorf("grep %s: %v", path, err)
		}
		if _, err := w.List(t.Context(), workspace.ListRequest{Path: path}); err == nil {
			t.Errorf("list %s: no error", path)
		}
		if _, err := w.Glob(t.Context(), workspace.GlobRequest{Pattern: "**", Path: path}); err == nil {
			t.Errorf("glob %s: no error", path)
		}
	}
}

// TestNew: a mount that cannot be served is one clear line.
func TestNew(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"file": "x"})
	for _, tt := range []struct {
		mounts []workspace.Mount
		want   string
	}{
		{[]workspace.Mount{{Name: "p", Dir: filepath.Join(dir, "none")}}, "mount p: there is no folder " + filepath.Join(dir, "none")},
		{[]workspace.Mount{{Name: "p", Dir: filepath.Join(dir, "file")}}, "mount p: " + filepath.Join(dir, "file") + ": is no folder"},
		{[]workspace.Mount{{Name: "p", Dir: dir}, {Name: "p", Dir: dir}}, "mount p: the name is given twice"},
		{[]workspace.Mount{{Name: "", Dir: dir}}, "a mount needs a name"},
		{[]workspace.Mount{{Name: "a/b", Dir: dir}}, "only A-Z a-z 0-9 . _ - are allowed"},
		{[]workspace.Mount{{Name: ".git", Dir: dir}}, "cannot start with a dot"},
		{[]workspace.Mount{{Name: "tool-results", Dir: dir}}, "kept for stored results"},
	} {
		w, err := workspace.New(workspace.Config{Mounts: tt.mounts})
		if w != nil || err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v, want …%s…", tt.mounts, err, tt.want)
		}
	}
	w := open(t, workspace.Config{})
	if _, err := w.Read(t.Context(), workspace.ReadRequest{Path: "p/x"}); err == nil || !strings.Contains(err.Error(), "there are none") {
		t.Errorf("an empty workspace: %v", err)
	}
}

// TestSymlinkLoop: a walk through links that lead up ends, and every file is met once.
func TestSymlinkLoop(t *testing.T) {
	t.Parallel()
	w := serve(t, map[string]string{"a/f.go": "x\n", "a/root -> ../..": "", "loop -> .": ""})
	found, err := w.Glob(t.Context(), workspace.GlobRequest{Pattern: "**/*.go"})
	if err != nil || len(found.Paths) != 1 || found.Paths[0] != "project/a/f.go" {
		t.Errorf("%v, %v", found.Paths, err)
	}
}
