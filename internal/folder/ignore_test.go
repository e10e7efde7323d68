package folder_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// git runs git without anybody's settings.
func git(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return out
}

// listedByGit asks git which files are not ignored.
func listedByGit(t *testing.T, dir string) []string {
	t.Helper()
	names := []string{}
	for name := range bytes.SplitSeq(git(t, dir, "ls-files", "-z", "--others", "--exclude-standard"), []byte{0}) {
		if len(name) > 0 {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return names
}

// TestIgnoreAgreesWithGit holds the rules to the real program.
func TestIgnoreAgreesWithGit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	files := map[string]string{}
	for _, dir := range []string{"", "a/", "a/b/", "scripts/", "build/", "src/build/", "x.d/", "a/b/c/"} {
		for _, name := range []string{
			"w.py", "x.log", "keep.log", "build.txt", "a{b}", "{a,b}", "#c", "!n", "sp ", "foo1", "fooA", "fooa", "Foo",
			"foo-", "main.go", "a b", "star*", "q?x", "é.txt", "cc", "foo]", "x,y", "tail\\",
		} {
			files[dir+name] = "x\n"
		}
	}
	files[".gitignore"] = ""
	files["a/.gitignore"] = "*.py\n!w.py\n/c\n"
	files["a/b/.gitignore"] = "!x.log\nmain.go\n"
	dir := tree(t, files)
	git(t, dir, "init", "-q")
	f := open(t, dir)
	for _, rules := range []string{
		"", "*.log\n", "*.log\n!keep.log\n", "scripts/*\n", "scripts/\n", "build\n", "build/\n", "/build\n", "build/**\n",
		"/build/\n", "**/build\n", "a/**/c\n", "a/b\n", "/a/*\n!/a/b\n", "a/**\n!a/b/\n", "**/c\n", "a/**/w.py\n",
		"#c\n", "\\#c\n", "!n\n", "\\!n\n", "sp \n", "sp\\ \n", "{a,b}\n", "a{b}\n", "foo[0-9]\n", "foo[!0-9]\n",
		"foo[^a-z]\n", "foo[[:digit:]]\n", "foo[[:upper:]a]\n", "foo[\n", "foo]\n", "foo?\n", "q\\?x\n", "star\\*\n",
		"*\n", "*\n!*/\n!*.go\n", "/*\n!/a\n", "**\n", "/**\n", "x.d\r\n*.log\r\n", "\ufeff*.log\n", "é.txt\n", "*.txt\n!é.*\n",
		"a/*/w.py\n", "**/b/w.py\n", "a**b\n", "fo**1\n", "tail\\\\\n", "tail\\\n", "x,y\n", "src/build/w.py\n", "c/\n", "\n\n  \n",
		"!*.log\n", "a/b/\n!a/b/w.py\n", "*.d/\n", "/scripts/w.py\n", "scripts/**/x.log\n", "foo[a\\]]\n", "foo[]-]\n", "foo[!]-]\n", "foo[]{]\n", "foo[a-\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(rules), 0o600); err != nil {
			t.Fatal(err)
		}
		want := listedByGit(t, dir)
		got := walk(t, f, ".", true)
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasSuffix(s, " ignored") })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-git +walk):\n%s", rules, diff)
		}
	}
}

// TestIgnoreCounts: what the rules leave out is told, a folder once.
func TestIgnoreCounts(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".gitignore": "scripts/*\nnode_modules/\n", "scripts/w.py": "MARK\n", "node_modules/m/i.js": "", ".git/HEAD": "",
		"main.go": "",
	})
	want := []string{".git/ ignored", ".gitignore", "main.go", "node_modules/ ignored", "scripts/w.py ignored"}
	if diff := cmp.Diff(want, walk(t, open(t, dir), ".", true)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all := []string{".git/HEAD", ".gitignore", "main.go", "node_modules/m/i.js", "scripts/w.py"}
	if diff := cmp.Diff(all, walk(t, open(t, dir), ".", false)); diff != "" {
		t.Errorf("without the rules (-want +got):\n%s", diff)
	}
}

// TestIgnoreStart: rules from above hold below, but a folder that is named is looked into.
func TestIgnoreStart(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".gitignore": "*.log\nout/\n", "src/a.go": "", "src/a.log": "", "out/a.go": "", "out/a.log": "", "out/in/b.log": "",
	})
	f := open(t, dir)
	for start, want := range map[string][]string{
		"src":    {"src/a.go", "src/a.log ignored"},
		"out":    {"out/a.go", "out/a.log", "out/in/b.log"},
		"out/in": {"out/in/b.log"},
	} {
		if diff := cmp.Diff(want, walk(t, f, start, true)); diff != "" {
			t.Errorf("from %s (-want +got):\n%s", start, diff)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		t.Error("a repository was made")
	}
}
