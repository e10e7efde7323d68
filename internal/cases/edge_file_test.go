package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/shell"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

// edgeFiles are the edge cases of files, of what is read and found in them, and of commands.
func edgeFiles() map[string]item {
	return map[string]item{
		"39": badWindows, "40": kindsOfFiles, "41": charOffsets, "42": grepOfAFile, "43": hardPatterns,
		"44": grepOfALongLine, "45": literalEdits, "46": waysOut, "47": backslashes, "51": endlessCommand, "66": openBrace, "67": topLevel,
	}
}

// reads gives the answers to calls of one tool, all in one round.
func (w *world) reads(name string, args ...string) []answer {
	w.t.Helper()
	var calls []scripted.Call
	for _, a := range args {
		calls = append(calls, asks("", name, a))
	}
	return w.round(calls...)
}

func badWindows(t *testing.T) {
	w := quick(t, gives("t", tool.Text("one\ntwo\nthree\n")))
	w.put("f.txt", "one\ntwo\nthree\n")
	w.call("t", "{}")
	windows := map[string]string{ // empty: a page
		`"offset":0`: "the first line is 1", `"offset":4`: "valid are 1 to 3", `"offset":-4`: "3 lines",
		`"offset":1.5`: "offset", `"offset":"x"`: "offset", `"offset":"1.5"`: "offset", `"limit":0`: "limit", `"limit":-1`: "limit",
		`"limit":2.5`: "limit", `"char_offset":-1`: "char_offset", `"char_offset":99`: "14", `"char_limit":0`: "char_limit",
		`"offset":1,"char_offset":0`: "two kinds of window", `"limit":1,"char_limit":1`: "two kinds of window", `"offset":null`: "offset", `"lines":3`: "lines",
		`"offset":-1`: "", `"offset":"2","limit":"1"`: "", `"limit":99`: "",
	}
	for _, path := range []string{"project/f.txt", "tool-results/r1-1-t.txt"} {
		var args, wants []string
		for window, want := range windows {
			args, wants = append(args, fmt.Sprintf(`{"path":%q,%s}`, path, window)), append(wants, want)
		}
		for i, a := range w.reads("workspace--read", args...) {
			if want := wants[i]; (want != "") != a.isError || !strings.Contains(a.text, want) {
				t.Errorf("%s: error %v, %q; want %q in it", args[i], a.isError, a.text, want)
			}
		}
	}
}

func kindsOfFiles(t *testing.T) {
	w := quick(t)
	files := []struct{ name, text, header, body string }{
		{"open.txt", "a\nb", "lines 1–2 of 2", "1\ta\n2\tb\n"},
		{"crlf.txt", "a\r\nb\r\n", "lines 1–2 of 2, CRLF", "1\ta\n2\tb\n"},
		{"cr.txt", "a\rb\rc", "lines 1–1 of 1", "1\ta\rb\rc\n"},
		{"bom.txt", "\ufeffa\nb\n", "lines 1–2 of 2, UTF-8 byte order mark", "1\ta\n2\tb\n"},
		{"bad.txt", "a\xff\xfeb\n", "lines 1–1 of 1", "1\ta\ufffd\ufffdb\n"},
		{"blank.txt", "\n\n", "lines 1–2 of 2", "1\t\n2\t\n"},
	}
	var args []string
	for _, f := range files {
		w.put(f.name, f.text)
		args = append(args, `{"path":"project/`+f.name+`"}`)
	}
	w.put("empty.txt", "")
	for i, a := range w.reads("workspace--read", append(args, `{"path":"project/empty.txt"}`)...) {
		if i == len(files) {
			if a.isError || !strings.Contains(a.text, "empty") && !strings.Contains(a.text, "0 lines") {
				t.Errorf("an empty file: %q, error %v", a.text, a.isError)
			}
			continue
		}
		h, body := pageOf(t, a)
		if want := "project/" + files[i].name + ": " + files[i].header; h.first != want || body != files[i].body {
			t.Errorf("%s: %q %q, want %q %q", files[i].name, h.first, body, want, files[i].body)
		}
	}
}

func charOffsets(t *testing.T) {
	w := quick(t)
	w.put("f.txt", "a\U0001F600b")
	var args []string
	for n := range 3 {
		args = append(args, fmt.Sprintf(`{"path":"project/f.txt","char_offset":%d,"char_limit":1}`, n))
	}
	got := w.reads("workspace--read", append(args, `{"path":"project/f.txt","char_offset":3}`)...)
	for i, want := range []string{"a", "\U0001F600", "b"} {
		if h, body := pageOf(t, got[i]); strings.TrimSuffix(body, "\n") != want || !utf8.ValidString(body) || (h.next == "") != (i == 2) {
			t.Errorf("character %d: %+v %q, want %q", i, h, body, want)
		}
	}
	if a := got[3]; !a.isError || !strings.Contains(a.text, "3 characters") || !strings.Contains(a.text, "0 to 2") {
		t.Errorf("past the end: %q, error %v", a.text, a.isError)
	}
}

func grepOfAFile(t *testing.T) {
	w := quick(t, gives("t", tool.Text("a needle here\n")))
	w.put("in/f.txt", "x\na needle\n")
	w.put("in/g.txt", "a needle too\n")
	w.call("t", "{}")
	got := w.reads("workspace--grep", `{"pattern":"needle","path":"project/in/f.txt"}`, `{"pattern":"needle","path":"tool-results/r1-1-t.txt"}`)
	for i, want := range []string{"project/in/f.txt:2:a needle\n", "tool-results/r1-1-t.txt:1:a needle here\n"} {
		if full := "1 match in 1 file (1 file searched); all are shown\n" + want; got[i].text != full {
			t.Errorf("%q, want %q", got[i].text, full)
		}
	}
}

func hardPatterns(t *testing.T) {
	w := quick(t)
	w.put("f.txt", strings.Repeat("a", 100_000)+"!\n")
	began := time.Now()
	bad := []string{`(?=a)a`, `(?<!x)a`, `(a)\1`, `a{1001}`, `(`, `[`, `a**`}
	good := []string{`^(a+)+$`, `(a*)*b`, `(a|aa)+$`, `(.*)(.*)(.*)(.*)(.*)x`}
	var args []string
	for _, p := range append(append([]string{}, bad...), good...) {
		args = append(args, fmt.Sprintf(`{"pattern":%s,"path":"project"}`, quoted(t, p)))
	}
	for i, a := range w.reads("workspace--grep", args...) {
		switch {
		case i < len(bad) && (!a.isError || !strings.Contains(a.text, `"literal":true`)):
			t.Errorf("%s: error %v, %q", bad[i], a.isError, a.text)
		case i >= len(bad) && (a.isError || !strings.HasPrefix(a.text, "0 matches in 0 files (1 file searched)")):
			t.Errorf("%s: error %v, %.200q", good[i-len(bad)], a.isError, a.text)
		}
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it took %s", took)
	}
}

func grepOfALongLine(t *testing.T) {
	line := strings.Repeat("x", 300_000) + "needle" + strings.Repeat("y", 300_000)
	w := quick(t, gives("t", tool.Text(line)), gives("many", tool.Text(strings.Repeat("a needle in a row\n", 1200))))
	w.round(asks("", "t", "{}"), asks("", "many", "{}"))
	a := w.call("workspace--grep", `{"pattern":"needle","path":"tool-results/r1-1-t.txt"}`)
	if n := utf8.RuneCountInString(a.text); n > 20_000 || !strings.Contains(a.text, "xneedley") || !strings.Contains(a.text, "600006") || !strings.Contains(a.text, "300001") {
		t.Errorf("%d characters: %.400q; want the match, its column and the length of the line", n, a.text)
	}
	// Thousands of matches come page by page, each once.
	seen, args := map[string]bool{}, `{"pattern":"needle","path":"tool-results/r1-2-many.txt","max_matches":1000}`
	for pages := 0; args != ""; pages++ {
		if pages == 40 {
			t.Fatalf("no end after %d pages with %d matches", pages, len(seen))
		}
		page := w.call("workspace--grep", args)
		args = ""
		if !strings.HasPrefix(page.text, "1200 matches in 1 file") || utf8.RuneCountInString(page.text) > 20_000 {
			t.Fatalf("a page: %.200q", page.text)
		}
		for l := range strings.Lines(page.text) {
			if after, ok := strings.CutPrefix(l, "next: workspace--grep "); ok {
				args = strings.TrimSpace(after)
			} else if strings.HasPrefix(l, "tool-results/") {
				if seen[l] {
					t.Fatalf("a match is shown twice: %q", l)
				}
				seen[l] = true
			}
		}
	}
	if len(seen) != 1200 {
		t.Errorf("%d of 1200 matches are shown", len(seen))
	}
}

// desk adds a folder to the world that the model may write to, as the mount desk, with these files.
func (w *world) desk(files map[string]string) (dir string) {
	w.t.Helper()
	dir = filepath.Join(filepath.Dir(w.bodies), "desk")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	w.config.Mounts = append(w.config.Mounts, workspace.Mount{Name: "desk", Dir: dir, Write: true})
	return dir
}

func literalEdits(t *testing.T) {
	w := quick(t)
	dir := w.desk(map[string]string{"a.txt": "say hello\n", "b.txt": "x y x\n", "c.txt": "text\n", "d.txt": "text\n"})
	for _, c := range []struct{ name, args, text, says string }{
		{"a.txt", `"old":"hello","new":"$& $1 \\1 $$ ${x} %s"`, "say $& $1 \\1 $$ ${x} %s\n", "replaced at 1 place"},
		{"b.txt", `"old":"z","new":"q","replace_all":true`, "x y x\n", "!copy it exactly"},
		{"b.txt", `"old":"x","new":"q"`, "x y x\n", "!stands there 2 times"},
		{"c.txt", `"old":"","new":"q"`, "text\n", "!old is empty"},
		{"d.txt", `"old":"","new":"q","replace_all":true`, "text\n", "!old is empty"},
	} {
		a := w.call("workspace--edit", `{"path":"desk/`+c.name+`",`+c.args+`}`)
		raw, err := os.ReadFile(filepath.Join(dir, c.name))
		says, refused := strings.CutPrefix(c.says, "!")
		if err != nil || string(raw) != c.text || a.isError != refused || !strings.Contains(a.text, says) {
			t.Errorf("%s %s: the file is %q, %v; answered %q, error %v", c.name, c.args, raw, err, a.text, a.isError)
		}
	}
}

func waysOut(t *testing.T) {
	w := quick(t)
	outer := w.project
	w.put("root/ok.txt", "inside\n")
	w.put("root-evil/x.txt", "OUTSIDE\n")
	w.put("other/in/x.txt", "OUTSIDE\n")
	w.project = filepath.Join(outer, "root")
	for name, to := range map[string]string{"file": "../root-evil/x.txt", "folder": "../other", "self": ".", "abs": filepath.Join(outer, "other/in/x.txt")} {
		if err := os.Symlink(to, filepath.Join(w.project, name)); err != nil {
			t.Skip("no symbolic links here: " + err.Error())
		}
	}
	var args []string
	for _, path := range []string{"root/file", "root/folder/in/x.txt", "root/abs", "root-evil/x.txt", "root/../root-evil/x.txt", "root/self/../../root-evil/x.txt", "root/folder"} {
		args = append(args, fmt.Sprintf(`{"path":%q}`, path))
	}
	for i, a := range w.reads("workspace--read", args...) {
		if !a.isError || strings.Contains(a.text, "OUTSIDE") || strings.Contains(a.text, outer) || strings.Contains(a.text, "\n") {
			t.Errorf("%s: error %v, %q", args[i], a.isError, a.text)
		}
	}
	for _, a := range append(w.reads("workspace--grep", `{"pattern":"OUTSIDE|inside","path":"root"}`), w.reads("workspace--glob", `{"pattern":"**/x.txt","path":"root"}`)...) {
		if a.isError || strings.Contains(a.text, "OUTSIDE") || strings.Contains(a.text, "in/x.txt") || !strings.Contains(a.text, "symbolic links") {
			t.Errorf("error %v, %q", a.isError, a.text)
		}
	}
}

func backslashes(t *testing.T) {
	w := quick(t)
	w.put("in/f.txt", "inside\n")
	w.put("../secret.txt", "OUTSIDE\n")
	paths := []string{`project\in\f.txt`, `project/..\secret.txt`, `project\..\..\secret.txt`, `..\secret.txt`, `C:\secret.txt`, `\\server\share`, `project/in\..\..\..\secret.txt`, "project/in/f.txt:stream"}
	var args []string
	for _, p := range paths {
		args = append(args, fmt.Sprintf(`{"path":%s}`, quoted(t, p)))
	}
	for i, a := range w.reads("workspace--read", args...) {
		if !a.isError || strings.Contains(a.text, "OUTSIDE") || strings.Contains(a.text, filepath.Dir(w.project)) {
			t.Errorf("%s: error %v, %q", paths[i], a.isError, a.text)
		}
	}
	for i, a := range w.reads("workspace--list", args...) {
		if !a.isError || strings.Contains(a.text, "secret.txt\t") {
			t.Errorf("%s: error %v, %q", paths[i], a.isError, a.text)
		}
	}
}

func endlessCommand(t *testing.T) {
	w := withShell(t)
	w.store.Spill.NoSync = true
	began := time.Now()
	a := w.call(shell.Name, `{"command":"echo so far; while :; do :; done","timeout_ms":300}`)
	if !a.isError || !strings.HasPrefix(a.text, "so far\n[stopped: it ran longer than its limit of 300ms]") || time.Since(began) > soon {
		t.Errorf("after %s: %q, error %v", time.Since(began), a.text, a.isError)
	}
}

func openBrace(t *testing.T) {
	w := quick(t)
	w.put("{a.txt", "x")
	w.put("b.txt", "x")
	began := time.Now()
	for i, a := range w.reads("workspace--glob", `{"pattern":"{a","path":"project"}`, `{"pattern":"{a,b*","path":"project"}`, `{"pattern":"[a","path":"project"}`, `{"pattern":"{{{{{{,","path":"project"}`, `{"pattern":"a\\","path":"project"}`) {
		if !a.isError || strings.Contains(a.text, "\n") || !strings.Contains(a.text, "pattern") {
			t.Errorf("%d: error %v, %q", i, a.isError, a.text)
		}
	}
	if a := w.call("workspace--grep", `{"pattern":"x","path":"project","glob":"{a"}`); !a.isError {
		t.Errorf("as the glob of a search: %q", a.text)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it took %s", took)
	}
}

func topLevel(t *testing.T) {
	w := quick(t)
	for _, name := range []string{"top.ts", "a/mid.ts", "a/b/low.ts", "a/not.tsx"} {
		w.put(name, "x\n")
	}
	a := w.call("workspace--glob", `{"pattern":"**/*.ts","path":"project"}`)
	if d := cmp.Diff("3 files match (4 files looked at); all are shown\nproject/a/b/low.ts\nproject/a/mid.ts\nproject/top.ts\n", a.text); d != "" {
		t.Errorf("glob (-want +got):\n%s", d)
	}
	found := w.call("workspace--grep", `{"pattern":"x","path":"project","glob":"**/*.ts"}`)
	if !strings.Contains(found.text, "project/top.ts:1:x") || !strings.HasPrefix(found.text, "3 matches in 3 files") {
		t.Errorf("grep: %q", found.text)
	}
}
