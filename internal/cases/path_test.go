package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane/scripted"
)

// pathCases are links and paths that lead out: topics symlink-loop and path-traversal.
func pathCases() map[string]runner {
	return map[string]runner{"C121": linkLoop, "C122": outsidePaths, "C123": outsideLink}
}

func linkLoop(t *testing.T, c field) {
	in := inputOf[tree](t, c)
	w := newWorld(t)
	plant(t, w.project, in.Entries)
	a := w.call("workspace--glob", fmt.Sprintf(`{"pattern":%q,"path":"project"}`, in.Op.Pattern))
	const left = ": 1 symbolic links, which are not followed: project/a/root\n"
	if d := cmp.Diff("1 file matches (1 file looked at); all are shown\nnot looked at"+left+"project/a/f.go\n", a.text); d != "" {
		t.Errorf("glob (-want +got):\n%s", d)
	}
	found := w.call("workspace--grep", `{"pattern":"x","path":"project"}`)
	if d := cmp.Diff("1 match in 1 file (1 file searched); all are shown\nnot searched"+left+"project/a/f.go:1:x\n", found.text); d != "" {
		t.Errorf("grep (-want +got):\n%s", d)
	}
}

func outsidePaths(t *testing.T, c field) {
	in := inputOf[tree](t, c)
	w := newWorld(t)
	outer := w.project
	plant(t, outer, in.Entries)
	w.project = filepath.Join(outer, in.Op.Root)
	// A link within the root that leads to the sibling, beside the paths of the case.
	if err := os.Symlink("../root-evil/x", filepath.Join(w.project, "way-out")); err != nil {
		t.Fatal(err)
	}
	paths := append(in.Op.Paths, "root/./../root-evil/x", "root-evil/x", "root/way-out", "/etc/hosts", filepath.Join(outer, "root-evil/x"), `root\..\root-evil\x`)
	var calls []scripted.Call
	for name, args := range map[string]string{
		"workspace--read": `{"path":%q}`, "workspace--grep": `{"pattern":"2|localhost","path":%q}`,
		"workspace--list": `{"path":%q}`, "workspace--glob": `{"pattern":"**","path":%q}`,
	} {
		for _, path := range paths {
			calls = append(calls, asks("", name, fmt.Sprintf(args, path)))
		}
	}
	for _, a := range w.round(calls...) {
		if !a.isError || strings.Contains(a.text, "\n") {
			t.Errorf("%s %s is not refused in one line: %q", a.call.Tool, a.call.Args, a.text)
		}
		// Not a word of what lies outside, nor of where the mount lies, that the call did not say itself.
		for _, secret := range []string{"localhost", outer} {
			if strings.Contains(a.text, secret) && !strings.Contains(string(a.call.Args), secret) {
				t.Errorf("%s %s tells what lies outside: %q", a.call.Tool, a.call.Args, a.text)
			}
		}
	}
	if _, body := pageOf(t, w.call("workspace--read", `{"path":"root/ok"}`)); body != "1\t1\n" {
		t.Errorf("within the root: %q", body)
	}
}

func outsideLink(t *testing.T, c field) {
	in := inputOf[tree](t, c)
	w := newWorld(t)
	outer := w.project
	plant(t, outer, in.Entries)
	w.project = filepath.Join(outer, in.Op.Root)
	a := w.call("workspace--grep", fmt.Sprintf(`{"pattern":%q,"path":"root"}`, in.Op.Pattern))
	want := "0 matches in 0 files (0 files searched)\nnot searched: 1 symbolic links, which are not followed: root/link.txt\n"
	if d := cmp.Diff(want, a.text); d != "" {
		t.Errorf("the folder (-want +got):\n%s", d)
	}
	for name, args := range map[string]string{
		"workspace--grep": fmt.Sprintf(`{"pattern":%q,"path":"root/link.txt"}`, in.Op.Pattern), "workspace--read": `{"path":"root/link.txt"}`,
	} {
		if a := w.call(name, args); !a.isError || strings.Contains(a.text, in.Op.Pattern+"\n") || strings.Contains(a.text, outer) {
			t.Errorf("%s of the link itself: %q, error %v", name, a.text, a.isError)
		}
	}
}
