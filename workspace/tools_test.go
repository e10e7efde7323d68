package workspace_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

// call calls a tool as a running call of the conversation.
func call(t testing.TB, w *workspace.Workspace, room int, name, args string) tool.Result {
	t.Helper()
	tools, err := w.Tools()
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range tools {
		if x.Name != name {
			continue
		}
		c := tool.Call{Name: name, Args: json.RawMessage(args)}
		ctx := tool.WithCall(t.Context(), tool.Running{Conversation: conversation, Room: room, Call: c})
		r, err := x.Run(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	t.Fatalf("there is no tool %s", name)
	return tool.Result{}
}

// page calls a tool and returns its page.
func page(t testing.TB, w *workspace.Workspace, room int, name, args string) string {
	t.Helper()
	r := call(t, w, room, name, args)
	text, ok := r.Data.(string)
	if r.IsError || !ok || !r.IsPage() {
		t.Fatalf("%s %s: no page but %+v", name, args, r)
	}
	return text
}

func TestTools(t *testing.T) {
	t.Parallel()
	rows := newRows(t)
	rows.add(t, "r1-1", "shell", "hello\nworld\n", false)
	rows.add(t, "r10-2", "dump", strings.Repeat("row\n", 9000), true)
	rows.keep(t, spill.Name{Conversation: conversation, Result: "r1-1", Tool: "shell", Ext: ".png"}, "\x89PNG\x00world")
	rows.results[0].IsError = true
	w := open(t, workspace.Config{
		Mounts: []workspace.Mount{{Name: "project", Dir: tree(t, map[string]string{
			"a.go": "package a\n\nfunc F() {}\nfunc G() {}\n", "b/c.go": "package c\n", "b/d.md": "# D\n", ".gitignore": "*.log\n", "x.log": "func\n",
		})}},
		Stored: rows.stored(),
	})
	for _, tt := range []struct{ name, args, want string }{
		{"workspace--read", `{"path":"project/a.go","offset":"3","limit":1}`, "project/a.go: lines 3–3 of 4\n" +
			"next: workspace--read {\"path\":\"project/a.go\",\"offset\":4,\"limit\":1}\n3\tfunc F() {}\n"},
		{"workspace--read", `{"path":"project/a.go","char_offset":8,"char_limit":1}`, "project/a.go: characters 8–8 of 35\n" +
			"next: workspace--read {\"path\":\"project/a.go\",\"char_offset\":9,\"char_limit\":1}\na"},
		{"workspace--read", `{"path":"tool-results/r1-1"}`, "tool-results/r1-1-shell.txt: lines 1–2 of 2\n1\thello\n2\tworld\n"},
		{"workspace--read", `{"path":"tool-results/r10-2-dump.txt","offset":-1}`, "tool-results/r10-2-dump.txt: lines 9000–9000 of 9000\n9000\trow\n"},
		{"workspace--grep", `{"pattern":"^func","path":"project","before":1,"after":1}`, "2 matches in 1 file (4 files searched); all are shown\n" +
			"not searched: 1 ignored by .gitignore: project/x.log\n" +
			"project/a.go-2-\nproject/a.go:3:func F() {}\nproject/a.go:4:func G() {}\n"},
		{
			"workspace--grep", `{"pattern":"^(package|#)","before":0,"after":1,"path":"project","glob":"*.{go,md}"}`,
			"3 matches in 3 files (3 files searched, 1 left out by the glob); all are shown\n" +
				"not searched: 1 ignored by .gitignore: project/x.log\n" +
				"project/a.go:1:package a\nproject/a.go-2-\n--\nproject/b/c.go:1:package c\n--\nproject/b/d.md:1:# D\n",
		},
		{"workspace--grep", `{"pattern":"row","max_matches":2,"offset":"8998"}`, "9000 matches in 1 file (6 files searched); shown: 8999–9000\n" +
			"not searched: 1 binary: tool-results/r1-1-shell.png (10 bytes); 1 ignored by .gitignore: project/x.log\n" +
			"tool-results/r10-2-dump.txt:8999:row\ntool-results/r10-2-dump.txt:9000:row\n"},
		{"workspace--grep", `{"pattern":"row","max_matches":1,"path":"tool-results/r10-2"}`, "9000 matches in 1 file (1 file searched); shown: 1–1\n" +
			"next: workspace--grep {\"pattern\":\"row\",\"path\":\"tool-results/r10-2\",\"max_matches\":1,\"offset\":1}\n" +
			"tool-results/r10-2-dump.txt:1:row\n"},
		{"workspace--grep", `{"pattern":"nothing","path":"project/b"}`, "0 matches in 0 files (2 files searched)\n"},
		{"workspace--glob", `{"pattern":"**/*.go"}`, "2 files match (7 files looked at); all are shown\n" +
			"not looked at: 1 ignored by .gitignore: project/x.log\nproject/a.go\nproject/b/c.go\n"},
		{"workspace--glob", `{"pattern":"*.go","path":"project/b"}`, "1 file matches (2 files looked at); all are shown\nproject/b/c.go\n"},
		{"workspace--glob", `{"pattern":"project/*.go"}`, "1 file matches (7 files looked at); all are shown\n" +
			"not looked at: 1 ignored by .gitignore: project/x.log\nproject/a.go\n"},
		{"workspace--glob", `{"pattern":"*.{png,txt}","offset":2}`, "3 files match (7 files looked at); shown: 3–3\n" +
			"not looked at: 1 ignored by .gitignore: project/x.log\ntool-results/r10-2-dump.txt\n"},
		{"workspace--list", `{}`, "2 entries; all are shown\nproject/\ntool-results/\n"},
		{"workspace--list", ``, "2 entries; all are shown\nproject/\ntool-results/\n"},
		{"workspace--list", `{"path":"tool-results"}`, "tool-results: 3 entries; all are shown\n" +
			"r1-1-shell.txt\t12 bytes\t2 lines\tshell\t2025-11-24T16:00:00Z\n" +
			"r1-1-shell.png\t10 bytes\tshell\t2025-11-24T16:00:00Z\n" +
			"r10-2-dump.txt\t36000 bytes\t9000 lines\tdump\t2025-11-24T16:00:00Z\n"},
		{"results--list", `{}`, "tool-results: 3 stored results; all are shown\n" +
			"r1-1\tshell\t12 bytes\t2 lines\ttool-results/r1-1-shell.txt\terror\n" +
			"r1-1\tshell\t10 bytes\ttool-results/r1-1-shell.png\n" +
			"r10-2\tdump\t36000 bytes\t9000 lines\ttool-results/r10-2-dump.txt\n"},
	} {
		if diff := cmp.Diff(tt.want, page(t, w, 0, tt.name, tt.args)); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", tt.name, tt.args, diff)
		}
	}
	got := page(t, w, 0, "workspace--list", `{"path":"project/b/"}`)
	if !regexp.MustCompile(`^project/b: 2 entries; all are shown\nc\.go\t10 bytes\t20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\nd\.md\t4 bytes\t20.*Z\n$`).MatchString(got) {
		t.Errorf("list of a folder:\n%s", got)
	}
}

// TestToolErrors: every wrong argument is told in one line, with what is valid and a right call.
func TestToolErrors(t *testing.T) {
	t.Parallel()
	w := open(t, workspace.Config{
		Mounts: []workspace.Mount{{Name: "project", Dir: tree(t, map[string]string{"f": "a\nb\nc\n"})}},
		Stored: newRows(t).stored(),
	})
	for _, tt := range []struct{ name, args, want string }{
		{"workspace--read", `{}`, `path is missing. Example: {"path":"project/main.go","offset":1,"limit":200}`},
		{"workspace--read", `[1]`, `the arguments are not a JSON object`},
		{"workspace--read", `nonsense`, `the arguments are not a JSON object`},
		{"workspace--read", `{"path":"project/f"} {}`, `something follows the JSON object`},
		{"workspace--read", `{"path":7}`, `path must be a string; got 7`},
		{"workspace--read", `{"path":null}`, `path must be a string; got null: leave it out instead`},
		{"workspace--read", `{"path":""}`, `path is empty`},
		{"workspace--read", `{"path":"project/f","line":3}`, `there is no argument "line"; there are: path, offset, limit, char_offset, char_limit`},
		{"workspace--read", `{"path":"project/f","offset":0}`, `the first line is 1, the last -1; got 0. Example: {"path":"project/f","offset":1,"limit":200}`},
		{"workspace--read", `{"path":"project/f","offset":"0"}`, `the first line is 1, the last -1; got 0`},
		{"workspace--read", `{"path":"project/f","offset":1.5}`, `offset must be a whole number, the first line is 1, the last -1; got 1.5`},
		{"workspace--read", `{"path":"project/f","offset":"two"}`, `offset must be a whole number`},
		{"workspace--read", `{"path":"project/f","offset":"1.0"}`, `offset must be a whole number`},
		{"workspace--read", `{"path":"project/f","offset":true}`, `offset must be a whole number`},
		{"workspace--read", `{"path":"project/f","offset":1e400}`, `offset must be a whole number`},
		{"workspace--read", `{"path":"project/f","limit":0}`, `limit must be a whole number, 1 or more; got 0`},
		{"workspace--read", `{"path":"project/f","limit":-1}`, `limit must be a whole number, 1 or more; got -1`},
		{"workspace--read", `{"path":"project/f","offset":4}`, `the file has 3 lines, valid are 1 to 3, or -1 to -3 from its end. Example: {"path":"project/f"`},
		{"workspace--read", `{"path":"project/f","offset":1,"char_offset":0}`, `two kinds of window`},
		{"workspace--read", `{"path":"project/f","char_offset":-1}`, `char_offset must be a whole number, 0 or more; got -1. Example: {"path":"project/f","char_offset":0`},
		{"workspace--read", `{"path":"project/f","char_offset":6}`, `valid are 0 to 5`},
		{"workspace--read", `{"path":"project/none"}`, `path "project/none": no such file or folder`},
		{"workspace--read", `{"path":"tool-results/r9-9-x.txt"}`, `there is no such stored result; results--list shows which there are`},
		{"workspace--read", `{"path":"tool-results"}`, `is a folder`},
		{"workspace--grep", `{}`, `pattern is missing`},
		{"workspace--grep", `{"pattern":""}`, `pattern is empty`},
		{"workspace--grep", `{"pattern":"("}`, `missing closing ) "("; or search for the characters themselves with "literal":true. Example: {"pattern":"(","literal":true}`},
		{"workspace--grep", `{"pattern":"a(?!b)"}`, `negative look-ahead is not part of RE2 syntax (Go regexp); or search`},
		{"workspace--grep", `{"pattern":"(a)\\1"}`, `back-reference is not part of RE2`},
		{"workspace--grep", `{"pattern":"x","literal":"yes"}`, `literal must be true or false`},
		{"workspace--grep", `{"pattern":"x","before":101}`, `before must be a whole number, 0 or more, at most 100; got 101`},
		{"workspace--grep", `{"pattern":"x","max_matches":0}`, `max_matches must be a whole number, 1 to 1000; got 0`},
		{"workspace--grep", `{"pattern":"a","offset":1}`, `offset 1 is out of range: there are 1 matches, valid are 0 to 0`},
		{"workspace--grep", `{"pattern":"nothing","offset":1}`, `offset 1 is out of range: there are no matches`},
		{"workspace--grep", `{"pattern":"a","glob":"*.{go"}`, `a { is never closed by }`},
		{"workspace--glob", `{"pattern":"*.{go"}`, `a { is never closed by }. Example: {"pattern":"**/*.{go,md}","path":"project"}`},
		{"workspace--glob", `{"pattern":"[a"}`, `a [ is never closed by ]`},
		{"workspace--glob", `{"pattern":"a\\"}`, `it ends in a backslash`},
		{"workspace--glob", `{"pattern":"**","path":"project/none"}`, `no such file or folder`},
		{"workspace--list", `{"path":"project/f"}`, `is no folder`},
		{"workspace--list", `{"path":"project","offset":1}`, `offset 1 is out of range: there are 1 entries, valid are 0 to 0`},
		{"results--list", `{"offset":1}`, `offset 1 is out of range: there are no stored results`},
		{"results--list", `{"path":"x"}`, `there is no argument "path"; there are: offset`},
	} {
		r := call(t, w, 0, tt.name, tt.args)
		if !r.IsError || !strings.HasPrefix(r.Error, tt.name+": ") || !strings.Contains(r.Error, tt.want) || strings.Contains(r.Error, "\n") {
			t.Errorf("%s %s: %q, want …%s…", tt.name, tt.args, r.Error, tt.want)
		}
	}
	if r := call(t, w, 100, "workspace--list", `{}`); !r.IsError || !strings.Contains(r.Error, "make fewer calls at once") {
		t.Errorf("no room: %+v", r)
	}
}

// TestLaw06Pages: no page of any tool is larger than its room, each shows something, and following the
// next call goes through everything once.
func TestLaw06Pages(t *testing.T) {
	t.Parallel()
	files := map[string]string{".gitignore": "ignored*\n"}
	deep := strings.Repeat("a-rather-long-folder-name/", 12)
	for i := range 60 {
		files[fmt.Sprintf("%s%d/file-%d.txt", deep[:26*(i%12)], i, i)] = strings.Repeat("hit\n"+strings.Repeat("wide 日本語 ", i*7)+"hit\n\n", 9)
		files[fmt.Sprintf("ignored-%d-%s", i, strings.Repeat("x", 150))] = ""
		files[fmt.Sprintf("\x01ctl\nname %d", i)] = "hit\x00"
	}
	w := serve(t, files)
	pattern := strings.Repeat("(hit|", 300) + "x" + strings.Repeat(")", 300)
	for _, room := range []int{workspace.MinPage, 1000, 20000} {
		for _, tt := range []struct{ name, args string }{
			{"workspace--grep", `{"pattern":"hit"`},
			{"workspace--grep", `{"pattern":"hit","before":5,"after":100,"max_matches":30`},
			{"workspace--grep", `{"pattern":"` + pattern + `"`},
			{"workspace--glob", `{"pattern":"**"`},
			{"workspace--list", `{"path":"project"`},
		} {
			t.Run(fmt.Sprint(room, tt.name, len(tt.args)), func(t *testing.T) {
				t.Parallel()
				offset, total := 0, -1
				for pages := 0; pages < 20; pages++ {
					text := page(t, w, room, tt.name, fmt.Sprintf(`%s,"offset":%d}`, tt.args, offset))
					if n := utf8.RuneCountInString(text); n > room {
						t.Fatalf("a page of %d characters in room for %d:\n%s", n, room, text)
					}
					if !utf8.ValidString(text) {
						t.Fatalf("not valid UTF-8: %q", text)
					}
					head, _, _ := strings.Cut(text, "\n")
					n, from, to := figures(t, head)
					if total >= 0 && n != total || from != offset+1 || to < from {
						t.Fatalf("after %d of %d: %s", offset, total, head)
					}
					offset, total = to, n
					if (offset < total) != strings.Contains(text, "\nnext: ") {
						t.Fatalf("the next call is not where more follows:\n%s", text)
					}
					if offset == total {
						return
					}
				}
			})
		}
	}
}

var (
	total = regexp.MustCompile(`^(?:project: )?(\d+) `)
	shown = regexp.MustCompile(`shown: (\d+)–(\d+)$`)
)

// figures reads the first line of a page.
func figures(t *testing.T, head string) (n, from, to int) {
	t.Helper()
	if m := total.FindStringSubmatch(head); m != nil {
		_, _ = fmt.Sscan(m[1], &n)
	}
	if strings.HasSuffix(head, "; all are shown") {
		return n, 1, n
	}
	m := shown.FindStringSubmatch(head)
	if m == nil {
		t.Fatalf("no figures in %q", head)
	}
	_, _ = fmt.Sscan(m[1], &from)
	_, _ = fmt.Sscan(m[2], &to)
	return n, from, to
}

// TestToolsNotices: a search that is not complete never reads as a plain "no match".
func TestToolsNotices(t *testing.T) {
	t.Parallel()
	w := serve(t, map[string]string{".gitignore": "scripts/*\n", "scripts/w.py": "MARK\n"})
	got := page(t, w, 0, "workspace--grep", `{"pattern":"MARK"}`)
	want := "0 matches in 0 files (1 file searched)\nnot searched: 1 ignored by .gitignore: project/scripts/w.py\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	slow := open(t, workspace.Config{Stored: slowStored{3e6}, Deadline: 20e6})
	got = page(t, slow, 0, "workspace--grep", `{"pattern":"nothing"}`)
	if !strings.Contains(got, "the search ended at its limit of 20ms: there may be more") {
		t.Errorf("a search that timed out:\n%s", got)
	}
	long := serve(t, map[string]string{"f": "s\n" + strings.Repeat("k", 4990) + "NEEDLE\ne\n"})
	got = page(t, long, 0, "workspace--grep", `{"pattern":"NEEDLE","before":1,"after":1}`)
	want = "1 match in 1 file (1 file searched); all are shown\nproject/f-1-s\nproject/f:2:…" + strings.Repeat("k", 394) +
		"NEEDLE [match at column 4991, the line has 4996 characters]\nproject/f-3-e\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
