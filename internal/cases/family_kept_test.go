package cases

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tool"
)

// familyKept are the items of family C about reading back what was kept.
func familyKept() map[string]item {
	return map[string]item{
		"C01": func(t *testing.T) { readableByLine(t, everyKind(t, rows(2000), tool.Traits{})[:12]...) },
		"C02": func(t *testing.T) {
			readableByLine(t, gives("json", tool.JSON(quoted(t, rows(2000)))), gives("spaced", tool.JSON(json.RawMessage(" "+string(quoted(t, rows(2000)))+"\n"))))
		},
		"C03": windowsOfOneLine, "C04": bytesStay, "C05": schemaAndHintAgree, "C09": addressIsReadable, "C15": budgetOfPages, "C17": oneLineOfJSON,
	}
}

// readableByLine holds that the whole of each result has real lines, and that the advice of its notice
// works on it, to the end.
func readableByLine(t *testing.T, tools ...tool.Tool) {
	t.Helper()
	w := quick(t, tools...)
	for i, a := range w.all() {
		n := excerpt(t, a, 24_000)
		if n.lines < 2000 || !strings.HasPrefix(a.whole, "row 1 of the text\nrow 2 ") {
			t.Errorf("%s: %d lines are kept: %.60q", a.call.Tool, n.lines, a.whole)
		}
		if i > 0 {
			continue // the advice is the same
		}
		_, texts := w.follow(n.read, 10)
		if got := strings.TrimSuffix(strings.Join(texts, ""), "\n"); got != strings.TrimSuffix(strings.TrimPrefix(a.whole, n.head), "\n") {
			t.Errorf("%s: reading on gives %d characters", a.call.Tool, len(got))
		}
	}
}

func windowsOfOneLine(t *testing.T) {
	line := strings.Repeat("─x", 30_000)
	w := quick(t, gives("t", tool.Text(line)))
	w.call("t", "{}")
	a := w.call("workspace--read", `{"path":"tool-results/r1-1-t.txt","limit":1}`)
	if n := utf8.RuneCountInString(a.text); n > 20_000 {
		t.Errorf("one line of %d characters comes as a page of %d", 60_000, n)
	}
	pages, texts := w.follow(`{"path":"tool-results/r1-1-t.txt","char_offset":0}`, 15)
	if got := strings.Join(texts, ""); strings.TrimSuffix(got, "\n") != line {
		t.Errorf("%d pages give %d characters", len(pages), utf8.RuneCountInString(got))
	}
	if h, _ := pageOf(t, pages[len(pages)-1]); h.next != "" {
		t.Errorf("behind the last page comes %s", h.next)
	}
}

func bytesStay(t *testing.T) {
	item := `{"id":12345678901234567890123,"a":1.50,"a":2,"u":"\u00e9","n":null},` + "\n"
	raw := "[\n" + strings.Repeat(item, 1000) + `{"end":1E+2}]`
	w := quick(t, gives("t", tool.JSON(json.RawMessage(raw))))
	w.config.Calls.MaxChars = 2000
	a := w.call("t", "{}")
	if excerpt(t, a, 2000); a.whole != raw {
		t.Errorf("the file has %.200q…", a.whole)
	}
	page := w.call("workspace--read", `{"path":"tool-results/r1-1-t.txt","offset":500}`)
	if h, body := pageOf(t, page); !strings.HasPrefix(body, "500\t"+strings.TrimSuffix(item, "\n")+"\n501\t") || h.next == "" || utf8.RuneCountInString(page.text) > 2000 {
		t.Errorf("a page: %+v %.200q", h, body)
	}
	if n := len(w.files()); n != 1 {
		t.Errorf("%d files are kept", n)
	}
}

func schemaAndHintAgree(t *testing.T) {
	w := quick(t, gives("lines", tool.Text(rows(3000))), gives("line", tool.Text(strings.Repeat("x", 90_000))))
	got := w.all()
	properties := map[string][]string{}
	for _, x := range parseBody(t, w.last()).Tools {
		var schema struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if err := json.Unmarshal(x.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		for name := range schema.Properties {
			properties[x.Name] = append(properties[x.Name], name)
		}
	}
	for _, a := range got {
		n := excerpt(t, a, 24_000)
		page := w.call("workspace--read", n.read)
		h, _ := pageOf(t, page)
		for name, hints := range map[string][]string{"workspace--read": {n.read, h.next}, "workspace--grep": {n.grep}} {
			for _, hint := range hints {
				var args map[string]json.RawMessage
				if err := json.Unmarshal([]byte(hint), &args); err != nil {
					t.Fatalf("%s: %v", hint, err)
				}
				for arg := range args {
					if !slices.Contains(properties[name], arg) {
						t.Errorf("a hint has the argument %s, and %s has only %v", arg, name, properties[name])
					}
				}
			}
		}
	}
	if n := len(w.files()); n != 2 {
		t.Errorf("%d files are kept: a page was kept again", n)
	}
}

func addressIsReadable(t *testing.T) {
	text := rows(3000)
	w := quick(t, gives("t", tool.Text(text)))
	w.config.Bare = true
	w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}}, scripted.Step{Text: "Done."})
	// Nobody can read it through a tool here, so the address is that of the disk.
	bare := *w.shown()[0].Text
	m := keptAt.FindStringSubmatch(bare)
	if m == nil || strings.Contains(bare, "workspace--") {
		t.Fatalf("the notice: %.600q", bare)
	}
	if raw, err := os.ReadFile(filepath.Join(w.dir, filepath.FromSlash(m[1]))); err != nil || string(raw) != text {
		t.Errorf("the address %s has %d bytes, %v", m[1], len(raw), err)
	}
	// With the tools the address that is told is one that they take; it holds after a restart, too.
	w.config.Bare = false
	n := excerpt(t, w.call("t", "{}"), 24_000)
	for _, path := range []string{n.path, "tool-results/r1-1-t.txt", "tool-results/r2-1", "tool-results/r2-1.txt"} {
		if _, body := pageOf(t, w.call("workspace--read", fmt.Sprintf(`{"path":%q,"limit":1}`, path))); body != "1\trow 1 of the text\n" {
			t.Errorf("%s: %q", path, body)
		}
	}
}

func budgetOfPages(t *testing.T) {
	// Six times as long when it is escaped, and that is nobody's business.
	text := strings.Repeat("\x01\x02\"\\\x1f\x7f", 600)
	w := quick(t, gives("t", tool.Text(text)))
	w.config.Calls.MaxChars = 1000
	w.call("t", "{}")
	pages, texts := w.follow(`{"path":"tool-results/r1-1-t.txt","char_offset":0}`, 40)
	if got := strings.TrimSuffix(strings.Join(texts, ""), "\n"); got != text {
		t.Errorf("%d pages give %d characters of %d", len(pages), len(got), len(text))
	}
	for i, one := range texts[:len(texts)-1] {
		if n := utf8.RuneCountInString(one); n < 750 {
			t.Errorf("page %d has %d characters of the text, in a room of 1,000", i+1, n)
		}
	}
}

func oneLineOfJSON(t *testing.T) {
	raw := `{"rows":[` + strings.Repeat(`{"name":"a name","value":17},`, 3000) + `{}]}`
	w := quick(t, gives("t", tool.JSON(json.RawMessage(raw))))
	n := excerpt(t, w.call("t", "{}"), 24_000)
	if n.lines != 1 || !strings.Contains(n.read, "char_offset") || !strings.HasPrefix(n.json, "an object") {
		t.Errorf("%d lines, read on with %s, it is %q", n.lines, n.read, n.json)
	}
	_, texts := w.follow(n.read, 10)
	if got := strings.TrimSuffix(strings.Join(texts, ""), "\n"); got != raw[len(n.head):] {
		t.Errorf("reading on gives %d characters, want %d", len(got), len(raw)-len(n.head))
	}
}

// familyFiles are the items of family C about the files themselves.
func familyFiles() map[string]item {
	return map[string]item{
		"C06": admittedOrRefused, "C07": listedInPages, "C08": reservedFolder, "C10": ignoredByGit, "C11": goneNotUnknown,
		"C12": namesOfASession, "C13": storeOfTheSession, "C14": writtenOnce, "C16": quotaHolds,
	}
}

func admittedOrRefused(t *testing.T) {
	// There is room for one of the two that come at the same time.
	const quota = 500_000
	text := rows(20_000)
	w := quick(t, gives("a", tool.Text(text)), gives("b", tool.Text(text)), prints("c", inPieces(text, 9999), 0))
	w.store.Spill.Quota = quota
	w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "a", "{}"), asks("", "b", "{}"), asks("", "c", "{}")}}, scripted.Step{Text: "Done."})
	kept := 0
	for i, b := range w.shown() {
		name := fmt.Sprintf("r1-%d-%s", i+1, b.Tool)
		onDisk := slices.ContainsFunc(w.files(), func(f string) bool { return strings.HasPrefix(f, name) })
		told, refused := strings.Contains(*b.Text, "The whole is kept at tool-results/"+name), strings.Contains(*b.Text, "NOT kept: the quota")
		if told != onDisk || told == refused {
			t.Errorf("%s: told to be kept %v, refused %v, on the disk %v", name, told, refused, onDisk)
		}
		if onDisk {
			kept++
		}
	}
	if kept > 1 || onDisk(t, w) > quota {
		t.Errorf("%d results with %d bytes are kept, the quota is %d", kept, onDisk(t, w), quota)
	}
	w.look(func(s *sqlite.Store) {
		refs, err := s.SpillsOf(t.Context(), talk)
		if err != nil || len(refs) != kept || kept == 1 && (!refs[0].Complete || refs[0].Index.Bytes < int64(len(text))) {
			t.Errorf("the rows: %+v, %v", refs, err)
		}
	})
}

// onDisk is how many bytes lie below tool-results/.
func onDisk(t *testing.T, w *world) (n int64) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(w.dir, "tool-results", "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		n += info.Size()
	}
	return n
}

func listedInPages(t *testing.T) {
	w := quick(t, gives("t", tool.Text("x")))
	var calls []scripted.Call
	for range 64 {
		calls = append(calls, asks("", "t", "{}"))
	}
	w.round(calls...)
	w.config.Calls.MaxChars = 1000
	seen, args := map[string]bool{}, "{}"
	for pages := 0; args != ""; pages++ {
		a := w.call("results--list", args)
		args = ""
		for l := range strings.Lines(a.text) {
			if next, ok := strings.CutPrefix(l, "next: results--list "); ok {
				args = strings.TrimSpace(next)
			}
			if id, _, ok := strings.Cut(l, "\t"); ok && strings.HasPrefix(id, "r1-") {
				seen[id] = true
			}
		}
		if pages == 30 {
			t.Fatal("the list has no end")
		}
	}
	for i := range 64 {
		if id := fmt.Sprintf("r1-%d", i+1); !seen[id] {
			t.Errorf("%s is on no page", id)
		}
	}
}

func reservedFolder(t *testing.T) {
	w := quick(t, gives("t", tool.Text(rows(3000))))
	// The state folder lies within the project: none of it is served as a file of the project.
	w.dir = filepath.Join(w.project, ".weir")
	w.put("mine.txt", "row 1 of the text\n")
	a := w.call("t", "{}")
	for name, args := range map[string]string{
		"workspace--glob": `{"pattern":"**","path":"project"}`, "workspace--grep": `{"pattern":"row 1 of","path":"project"}`,
	} {
		found := w.call(name, args)
		if strings.Contains(found.text, "r1-1-t") || strings.Contains(found.text, "weir.db\n") || !strings.Contains(found.text, "project/mine.txt") {
			t.Errorf("%s: %q", name, found.text)
		}
	}
	// Nobody writes there, by any of its names.
	w.desk(nil)
	for _, path := range []string{"tool-results/r1-1-t.txt", "tool-results/new.txt", "desk/../tool-results/r1-1-t.txt"} {
		for name, args := range map[string]string{"workspace--write": `{"path":%q,"content":"lies"}`, "workspace--edit": `{"path":%q,"old":"row 7","new":"lies"}`} {
			if x := w.call(name, fmt.Sprintf(args, path)); !x.isError {
				t.Errorf("%s %s: %q", name, path, x.text)
			}
		}
	}
	// A file of the same length with other words in it is not served as what was stored.
	changed := strings.Replace(a.whole, "row 7 of the text", "row 7 of the lies", 1)
	if err := os.WriteFile(a.file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	page := w.call("workspace--read", `{"path":"tool-results/r1-1-t.txt","offset":7,"limit":1}`)
	if !page.isError && strings.Contains(page.text, "lies") && !strings.Contains(page.text, "changed") {
		t.Errorf("what was changed on the disk is served as what was stored: %q", page.text)
	}
	if err := os.WriteFile(a.file, []byte(a.whole), 0o600); err != nil {
		t.Fatal(err)
	}
}

func ignoredByGit(t *testing.T) {
	w := quick(t, gives("t", tool.Text(rows(3000))))
	a := w.call("t", "{}")
	if raw, err := os.ReadFile(filepath.Join(w.dir, ".gitignore")); err != nil || !slices.Contains(strings.Split(string(raw), "\n"), "*") {
		t.Errorf("the folder's .gitignore: %q, %v", raw, err)
	}
	// What is written can be read: by the program at once, and as a file of its owner alone.
	if _, body := pageOf(t, w.call("workspace--read", `{"path":"tool-results/r1-1-t.txt","limit":1}`)); body != "1\trow 1 of the text\n" {
		t.Errorf("read: %q", body)
	}
	if info, err := os.Stat(a.file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
}

func goneNotUnknown(t *testing.T) {
	w := quick(t, gives("t", tool.Text(rows(3000))))
	a := w.call("t", "{}")
	if err := os.Rename(a.file, a.file+"x"); err != nil {
		t.Fatal(err)
	}
	got := w.reads("workspace--read", `{"path":"tool-results/r1-1-t.txt"}`, `{"path":"tool-results/r9-9-t.txt"}`)
	if !got[0].isError || !strings.Contains(got[0].text, "the history has this result, but its file is gone from the disk") {
		t.Errorf("a file that is gone: %q", got[0].text)
	}
	if !got[1].isError || !strings.Contains(got[1].text, "there is no such stored result") {
		t.Errorf("a result that never was: %q", got[1].text)
	}
	found := w.call("workspace--grep", `{"pattern":"row 17 ","path":"tool-results"}`)
	if strings.HasPrefix(found.text, "0 matches in 0 files (") && !strings.Contains(found.text, "not searched") {
		t.Errorf("a search says nothing of what it could not search: %q", found.text)
	}
	if err := os.Rename(a.file+"x", a.file); err != nil {
		t.Fatal(err)
	}
}

// twoTalks runs the same round in two conversations of one store, and gives the whole of r1-1 of each.
func twoTalks(t *testing.T, w *world) (all map[string]history.Result) {
	t.Helper()
	all = map[string]history.Result{}
	w.tools = []tool.Tool{inTurn("t", []tool.Result{tool.Text("of the first\n" + rows(3000)), tool.Text("of the second\n" + rows(3000))})}
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "t", "{}")}}, {Text: "Done."}}
	w.process(func(a *agent.Agent, s *sqlite.Store) {
		for _, id := range []string{"one", "two"} {
			if _, err := a.Run(t.Context(), agent.Turn{Conversation: id, Text: "Go on."}).Collect(); err != nil {
				t.Fatal(err)
			}
			r, err := s.ResultOf(t.Context(), id, resultOf(t, "r1-1"))
			if err != nil || r.Spill == nil {
				t.Fatalf("%v, %v", r.Spill, err)
			}
			all[id] = r
		}
	})
	return all
}

// nameOf is the name that the file of a result was made with.
func nameOf(r history.Result, conversation string) spill.Name {
	fence := int64(0)
	_, after, _ := strings.Cut(r.Spill.File, ".f")
	for _, c := range strings.TrimSuffix(after, ".txt") {
		fence = fence*10 + int64(c-'0')
	}
	return spill.Name{Conversation: conversation, Result: r.ID.String(), Tool: r.Tool, Fence: fence}
}

// disk is the file of a result, or why it cannot be read.
func (w *world) disk(r history.Result) string {
	w.t.Helper()
	raw, err := os.ReadFile(filepath.Join(w.dir, "tool-results", r.Spill.File))
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func namesOfASession(t *testing.T) {
	w := quick(t)
	w.bodies = "" // there are two conversations, and then one
	all := twoTalks(t, w)
	one, two := all["one"], all["two"]
	if one.Spill.File == two.Spill.File || !strings.HasPrefix(w.disk(one), "of the first\n") || !strings.HasPrefix(w.disk(two), "of the second\n") {
		t.Errorf("%s and %s", one.Spill.File, two.Spill.File)
	}
	// One is removed with its rows and its files, and the other stays.
	w.process(func(_ *agent.Agent, s *sqlite.Store) {
		if err := s.Delete(t.Context(), "one"); err != nil {
			t.Error(err)
		}
	})
	if names := w.files(); len(names) != 1 || !strings.HasPrefix(w.disk(two), "of the second\n") {
		t.Errorf("the files that are left: %v", names)
	}
	for _, table := range everything[1:] {
		if n := w.value("SELECT count(*) FROM " + table + " WHERE conversation = 'one'"); n != "0" {
			t.Errorf("%s has %s rows of the conversation that was removed", table, n)
		}
	}
}

func storeOfTheSession(t *testing.T) {
	// Two stores in one process, at the same time; the disk of one is full.
	full, sound := quick(t, gives("t", tool.Text(rows(3000)))), quick(t, gives("t", tool.Text(rows(3000))))
	full.store.Spill.Wrap = failing("create")
	steps := []scripted.Step{{Calls: []scripted.Call{asks("", "t", "{}"), asks("", "t", "{}")}}, {Text: "Done."}}
	var out [2]agent.Outcome
	full.steps, sound.steps = steps, steps
	full.process(func(a *agent.Agent, _ *sqlite.Store) {
		sound.process(func(b *agent.Agent, _ *sqlite.Store) {
			done := make(chan error, 1)
			go func() {
				var err error
				out[0], err = a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect()
				done <- err
			}()
			var err error
			out[1], err = b.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect()
			if other := <-done; err != nil || other != nil {
				t.Fatal(err, other)
			}
		})
	})
	if n := len(full.files()); n != 0 || kinds(out[0])["result_not_kept"] != 2 {
		t.Errorf("%d files lie in the full store, events %v", n, kinds(out[0]))
	}
	if n := len(sound.files()); n != 2 || kinds(out[1])["result_not_kept"] != 0 {
		t.Errorf("%d files lie in the sound store, events %v", n, kinds(out[1]))
	}
}

func writtenOnce(t *testing.T) {
	w := quick(t)
	all := twoTalks(t, w)
	for id, r := range all {
		if want := id + "/r1-1-t.f"; !strings.HasPrefix(r.Spill.File, want) || r.Spill.Name != "r1-1-t.txt" {
			t.Errorf("%s is kept as %s in %s", id, r.Spill.Name, r.Spill.File)
		}
	}
	before := w.disk(all["one"])
	w.process(func(_ *agent.Agent, s *sqlite.Store) {
		name := nameOf(all["one"], "one")
		f, err := s.Spills().Create(t.Context(), name)
		if err == nil {
			_, _ = f.Write([]byte("another"))
			_, err = f.Commit()
		}
		if err == nil || !strings.Contains(err.Error(), "exists") {
			t.Errorf("a second file of that name: %v", err)
		}
	})
	if w.disk(all["one"]) != before {
		t.Error("the file was replaced")
	}
}

func quotaHolds(t *testing.T) {
	const quota = 200_000
	w := quick(t, gives("t", tool.Text(rows(3000))))
	w.store.Spill.Quota = quota
	refused := 0
	for range 5 {
		out := w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}}, scripted.Step{Text: "Done."})
		refused += kinds(out)["result_not_kept"]
		if n := onDisk(t, w); n > quota {
			t.Errorf("%d bytes are kept, the quota is %d", n, quota)
		}
	}
	if kept := len(w.files()); kept == 0 || kept+refused != 5 {
		t.Errorf("%d are kept and %d refused of 5", kept, refused)
	}
	// What has no row goes by its age; what is young, has a row, or is not the program's stays.
	folder := filepath.Join(w.dir, "tool-results", talk)
	old := time.Now().Add(-2 * time.Hour)
	planted := map[string]bool{"r9-1-t.f1.txt": false, ".tmp-r9-2-t.f1.txt-0123456789abcdef": false, "r9-3-t.f1.txt": true, "notes.txt": true}
	for name, stays := range planted {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
		if !stays || name == "notes.txt" {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	kept := len(w.files())
	w.process(func(_ *agent.Agent, s *sqlite.Store) {
		if n, err := s.Sweep(t.Context(), time.Now().Add(-time.Hour)); err != nil || n != 2 {
			t.Errorf("%d files were swept, %v", n, err)
		}
	})
	for name, stays := range planted {
		if _, err := os.Stat(filepath.Join(folder, name)); (err == nil) != stays {
			t.Errorf("%s is there: %v", name, err == nil)
		}
	}
	if n := len(w.files()); n != kept-2 {
		t.Errorf("%d files are left of %d", n, kept)
	}
}
