package cases

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// grepCases are searches: topics grep-*.
func grepCases() map[string]runner {
	return map[string]runner{
		"C113": badPattern,
		"C114": unreadableFolder,
		"C116": longMatch,
		"C117": binaryFile,
		"C119": ignoredFolder,
		"C120": pagesTile,
	}
}

// tree is the input of kind tree.
type tree struct {
	Kind    string    `json:"kind"`
	Entries []entry   `json:"entries"`
	Op      operation `json:"op"`
}

type entry struct {
	Path    string `json:"path"`
	Text    string `json:"text"`
	Symlink string `json:"symlink"`
	Mode    string `json:"mode"`
	Dir     bool   `json:"dir"`
}

// plant makes the entries of a case below a folder.
func plant(t *testing.T, root string, entries []entry) {
	t.Helper()
	for _, e := range entries {
		path := filepath.Join(root, filepath.FromSlash(e.Path))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case e.Dir:
			err = os.Mkdir(path, 0o755)
		case e.Symlink != "":
			err = os.Symlink(e.Symlink, path)
		default:
			err = os.WriteFile(path, []byte(e.Text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// resultOf reads the id of a result.
func resultOf(t *testing.T, s string) history.CallID {
	t.Helper()
	id, err := history.ParseCallID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func badPattern(t *testing.T, c field) {
	in := inputOf[document](t, c)
	w := newWorld(t)
	w.put("f.txt", in.text(t))
	a := w.call("workspace--grep", fmt.Sprintf(`{"pattern":%q}`, in.Op.Pattern))
	if !a.isError || a.call.Outcome != history.OutcomeFailed {
		t.Errorf("error %v, outcome %s", a.isError, a.call.Outcome)
	}
	// The reason, and the call that does what was meant.
	if strings.Contains(a.text, "\n") || !strings.Contains(a.text, "missing closing )") || !strings.Contains(a.text, `{"pattern":"(","literal":true}`) {
		t.Errorf("the error says: %q", a.text)
	}
	literal := w.call("workspace--grep", `{"pattern":"(","literal":true,"path":"project"}`)
	if want := "1 match in 1 file (1 file searched); all are shown\nproject/f.txt:1:f(x)\n"; literal.text != want {
		t.Errorf("as it proposes: %q, want %q", literal.text, want)
	}
}

// unreadableFolder runs as a user without rights: root can read what no mode allows.
func unreadableFolder(t *testing.T, c field) {
	in := inputOf[tree](t, c)
	base, err := os.MkdirTemp("", "weir-cases-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Chmod(filepath.Join(base, "project", "secret"), 0o755)
		_ = os.RemoveAll(base)
	})
	w := newWorld(t)
	w.dir, w.bodies, w.project = filepath.Join(base, "state"), filepath.Join(base, "bodies"), filepath.Join(base, "project")
	plant(t, w.project, in.Entries)
	secret := ""
	for _, e := range in.Entries {
		if e.Mode != "" {
			secret = e.Path
			plant(t, w.project, []entry{{Path: e.Path + "/hidden.txt", Text: "x\n"}})
			chmod(t, filepath.Join(w.project, e.Path), 0)
		}
	}
	binary := openTo(t, base)
	grep := func(pattern string) string {
		w.steps = append(w.steps, scripted.Step{Calls: []scripted.Call{asks("", "workspace--grep", fmt.Sprintf(`{"pattern":%q,"path":"project"}`, pattern))}}, scripted.Step{Text: "Done."})
		w.start(binary, job{Text: "Go on."}, func(cmd *exec.Cmd) { cmd.Dir = base; nobody(cmd) }).done()
		messages := parseBody(t, w.last()).Messages
		return *messages[len(messages)-1].Content[0].Text
	}
	left := "not searched: 1 unreadable: project/" + secret + "/ (permission denied)\n"
	want := "1 match in 1 file (1 file searched); all are shown\n" + left + "project/a.txt:1:x\n"
	if d := cmp.Diff(want, grep(in.Op.Pattern)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	// No match plus something that was not searched is no plain "no match".
	if d := cmp.Diff("0 matches in 0 files (1 file searched)\n"+left, grep("nowhere")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// openTo makes a folder, and a copy of the test's binary in it, open to every user.
func openTo(t *testing.T, base string) (binary string) {
	t.Helper()
	content, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(base, "child")
	if err := os.WriteFile(binary, content, 0o600); err != nil {
		t.Fatal(err)
	}
	chmod(t, binary, 0o755)
	chmod(t, base, 0o777)
	return binary
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func longMatch(t *testing.T, c field) {
	in := inputOf[document](t, c)
	text := in.text(t)
	w, paths := places(t, text, "")
	for _, path := range paths {
		a := w.call("workspace--grep", fmt.Sprintf(`{"path":%q,"pattern":%q,"before":%d,"after":%d}`, path, in.Op.Pattern, in.Op.Context, in.Op.Context))
		lines := strings.Split(a.text, "\n")
		if len(lines) != 5 || lines[1] != path+"-1-s" || lines[3] != path+"-3-e" || lines[4] != "" {
			t.Fatalf("searched: %q", a.text)
		}
		// 400 characters of 4,996, around the match, and how many there are.
		want := path + ":2:…" + strings.Repeat("k", 394) + "NEEDLE [match at column 4991, the line has 4996 characters]"
		if d := cmp.Diff(want, lines[2]); d != "" {
			t.Errorf("the long line (-want +got):\n%s", d)
		}
	}
}

func binaryFile(t *testing.T, c field) {
	in := inputOf[document](t, c)
	text := in.text(t)
	w := newWorld(t, gives("sh", tool.Text(text)))
	w.put("f.bin", text)
	w.call("sh", "{}")
	for _, args := range []string{`{"pattern":"TOKEN","path":"project"}`, `{"pattern":"TOKEN","path":"project/f.bin"}`, `{"pattern":"nowhere","path":"project"}`} {
		want := fmt.Sprintf("0 matches in 0 files (0 files searched)\nnot searched: 1 binary: project/f.bin (%d bytes)\n", len(text))
		if d := cmp.Diff(want, w.call("workspace--grep", args).text); d != "" {
			t.Errorf("%s (-want +got):\n%s", args, d)
		}
	}
	// A stored result is always text.
	want := "1 match in 1 file (1 file searched); all are shown\ntool-results/r1-1-sh.txt:1:hello TOKEN here\u2400more text\n"
	if d := cmp.Diff(want, w.call("workspace--grep", `{"pattern":"TOKEN","path":"tool-results/r1-1-sh.txt"}`).text); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func ignoredFolder(t *testing.T, c field) {
	in := inputOf[tree](t, c)
	w := newWorld(t, gives("inline", tool.Text("MARK\n")), gives("spilled", tool.Text(strings.Repeat("pad\n", 1000)+"MARK\n"), limit(1000)))
	plant(t, w.project, in.Entries)
	w.round(asks("", "inline", "{}"), asks("", "spilled", "{}"))
	left := "not searched: 1 ignored by .gitignore: project/scripts/w.py\n"
	for args, want := range map[string]string{
		`{"pattern":"MARK","path":"project"}`: "0 matches in 0 files (1 file searched)\n" + left,
		// A path that is named is searched, whatever is ignored.
		`{"pattern":"MARK","path":"project/scripts/w.py"}`: "1 match in 1 file (1 file searched); all are shown\nproject/scripts/w.py:1:MARK\n",
		// Stored results are never filtered, though their folder lies in one that ignores everything.
		`{"pattern":"^MARK","path":"tool-results","glob":"r1-*"}`: "2 matches in 2 files (2 files searched",
	} {
		got := w.call("workspace--grep", args).text
		if !strings.HasPrefix(got, want) || strings.HasSuffix(want, "\n") && got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
		if strings.Contains(args, "tool-results") && !strings.Contains(got, "\ntool-results/r1-1-inline.txt:1:MARK\ntool-results/r1-2-spilled.txt:1001:MARK\n") {
			t.Errorf("%s: %q", args, got)
		}
	}
	if rule, err := os.ReadFile(filepath.Join(w.dir, ".gitignore")); err != nil || !strings.Contains(string(rule), "*") {
		t.Errorf("the store's own .gitignore: %q %v", rule, err)
	}
}

func pagesTile(t *testing.T, c field) {
	in := inputOf[tree](t, c)
	w := newWorld(t)
	plant(t, w.project, in.Entries)
	var want strings.Builder
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		fmt.Fprintf(&want, "project/%s.txt:1:hit\n", name)
	}
	// Twice, each page in a process of its own: the bytes are equal.
	var runs [2][]string
	for run := range runs {
		all := ""
		args := fmt.Sprintf(`{"pattern":%q,"path":"project","max_matches":%d}`, in.Op.Pattern, in.Op.PageSize)
		for page := 1; args != ""; page++ {
			a := w.call("workspace--grep", args)
			runs[run] = append(runs[run], a.text)
			first, rest, _ := strings.Cut(a.text, "\n")
			from := (page-1)*in.Op.PageSize + 1
			if want := fmt.Sprintf("8 matches in 8 files (8 files searched); shown: %d–%d", from, min(from+in.Op.PageSize-1, 8)); first != want {
				t.Errorf("page %d says %q, want %q", page, first, want)
			}
			args = ""
			if line, after, ok := strings.Cut(rest, "\n"); ok && strings.HasPrefix(line, "next: workspace--grep ") {
				args, rest = strings.TrimPrefix(line, "next: workspace--grep "), after
				if !json.Valid([]byte(args)) || page > 3 {
					t.Fatalf("page %d goes on with %s", page, args)
				}
			}
			all += rest
		}
		if d := cmp.Diff(want.String(), all); d != "" {
			t.Errorf("the pages together (-want +got):\n%s", d)
		}
	}
	if d := cmp.Diff(runs[0], runs[1]); d != "" {
		t.Errorf("run again:\n%s", d)
	}
}
