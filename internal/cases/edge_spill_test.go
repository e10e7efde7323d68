package cases

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tool"
)

// edgeSpills are the edge cases of what is kept, and of what is read of it.
func edgeSpills() map[string]item {
	return map[string]item{
		"14": nulsInAFile, "15": idsAlike, "16": idTwiceADay, "17": idsWithPaths, "18": pagesAtTheSmallestCap,
		"19": oneCharacterAtATime, "20": quotaCountsBytes, "21": oneTraceOfARefusal, "22": rowWithoutItsFile,
		"23": readOnlyMountFirst, "24": oldFormsReplay, "25": giantError, "26": boundOfARound,
		"53": capInsideACharacter, "69": capAfterARestart,
	}
}

// brokenFolder fails at one step.
type brokenFolder struct {
	spill.Folder
	step string
}

func (f brokenFolder) Create(name string) (spill.Handle, error) {
	if f.step == "create" {
		return nil, syscall.EIO
	}
	return f.Folder.Create(name)
}

func (f brokenFolder) Link(from, to string) error {
	if f.step == "link" {
		return syscall.EIO
	}
	return f.Folder.Link(from, to)
}

// failing makes the folders of spilled results fail at a step: create or link.
func failing(step string) func(spill.Folder) (spill.Folder, error) {
	return func(f spill.Folder) (spill.Folder, error) { return brokenFolder{f, step}, nil }
}

// kinds counts the record events of a run by their kind, as they are stored.
func kinds(out agent.Outcome) map[string]int {
	all := map[string]int{}
	for _, e := range out.Events {
		switch e := e.(type) {
		case agent.Trouble:
			all[e.Kind]++
		case agent.RequestFailed:
			all["request_failed"]++
		case agent.EpochOpened:
			all["epoch "+e.Reason]++
		case agent.CallSettled:
			all["call_settled"]++
		}
	}
	return all
}

// files are the files below tool-results/ on the disk, without those that are being written.
func (w *world) files() (all []string) {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.dir, "tool-results", "*", "*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range found {
		all = append(all, filepath.Base(f))
	}
	return all
}

func nulsInAFile(t *testing.T) {
	raw := strings.Repeat("a\x00row\n", 500) + "the needle\x00\n" + strings.Repeat("a\x00row\n", 500)
	w := quick(t, gives("sh", tool.Text(raw), limit(1000)))
	if a := w.call("sh", "{}"); a.whole != raw || strings.ContainsRune(a.text, 0) {
		t.Errorf("kept %d bytes, want %d; a NUL is shown: %v", len(a.whole), len(raw), strings.ContainsRune(a.text, 0))
	}
	const path = "tool-results/r1-1-sh.txt"
	found := w.call("workspace--grep", `{"pattern":"needle","path":"`+path+`"}`)
	if want := "1 match in 1 file (1 file searched); all are shown\n" + path + ":501:the needle\u2400\n"; found.text != want {
		t.Errorf("searched: %q, want %q", found.text, want)
	}
	page := w.call("workspace--read", `{"path":"`+path+`","offset":501,"limit":1}`)
	if h, body := pageOf(t, page); body != "501\tthe needle\u2400\n" || !strings.Contains(h.first, "lines 501–501 of 1001") {
		t.Errorf("read: %q", page.text)
	}
}

// ownFiles runs one round of calls with these ids, then the same again, and holds that each result lies in
// a file of its own, with its own text and under a name that the ids have no part in.
func ownFiles(t *testing.T, ids ...string) {
	t.Helper()
	w := quick(t, handler("t", func(_ context.Context, c tool.Call) (tool.Result, error) {
		return tool.Text(string(c.Args) + "\n" + strings.Repeat("row\n", 1000)), nil
	}, limit(1000)))
	files := map[string]bool{}
	for turn := range 2 {
		var calls []scripted.Call
		for i, id := range ids {
			calls = append(calls, asks(id, "t", fmt.Sprintf(`{"turn":%d,"n":%d}`, turn, i)))
		}
		for i, a := range w.round(calls...) {
			if want := string(calls[i].Args) + "\n"; !strings.HasPrefix(a.whole, want) || a.file == "" || files[a.file] {
				t.Errorf("the result of call %q is kept as %.40q in %q", ids[i], a.whole, a.file)
			}
			files[a.file] = true
			want := fmt.Sprintf("r%d-%d-t.txt", turn+1, i+1)
			if a.row.Spill.Name != want || filepath.Dir(a.file) != filepath.Join(w.dir, "tool-results", talk) {
				t.Errorf("the result of call %q is named %s and lies in %s", ids[i], a.row.Spill.Name, a.file)
			}
		}
	}
	if n := len(w.files()); n != 2*len(ids) || n != len(files) {
		t.Errorf("%d files lie below tool-results, want %d", n, 2*len(ids))
	}
	// The first ones are as they were.
	for i := range ids {
		if a := w.answerOf(history.CallID{Round: 1, Index: i + 1}); !strings.HasPrefix(a, fmt.Sprintf(`{"turn":0,"n":%d}`, i)) {
			t.Errorf("the first result of %q is now %.40q", ids[i], a)
		}
	}
}

// answerOf reads the whole of a result of any round.
func (w *world) answerOf(id history.CallID) string {
	w.t.Helper()
	text := ""
	w.look(func(s *sqlite.Store) {
		r, err := s.ResultOf(w.t.Context(), talk, id)
		if err != nil {
			w.t.Fatal(err)
		}
		if text = string(r.Whole); r.Spill != nil {
			raw, err := os.ReadFile(filepath.Join(w.dir, "tool-results", r.Spill.File))
			if err != nil {
				w.t.Fatal(err)
			}
			text = string(raw)
		}
	})
	return text
}

func idsAlike(t *testing.T) {
	long := strings.Repeat("x", 80)
	ownFiles(t, long+"1", long+"2", "a/b", "a:b", "a b", "a_b")
}

func idTwiceADay(t *testing.T) { ownFiles(t, "same", "same", "same") }

func idsWithPaths(t *testing.T) {
	ownFiles(t, "../../../etc/passwd", "/abs", `..\..\x`, "𝄞/ü", "..", ".", "a\x00b", "CON", strings.Repeat("é", 200), strings.Repeat("q", 10_000), strings.Repeat("q", 10_000))
}

func pagesAtTheSmallestCap(t *testing.T) {
	text := strings.Repeat("\x01\x02\x1f\"\\", 700) + "\n" + strings.Repeat("\x01\n", 200)
	w := quick(t, gives("sh", tool.Text(text)))
	w.config.Calls.MaxChars = 1000
	a := w.call("sh", "{}")
	excerpt(t, a, 1000)
	// From the first character on, by the calls that the pages name; pageOf holds that no page is kept.
	pages, texts := w.follow(`{"path":"tool-results/r1-1-sh.txt","char_offset":0}`, 20)
	if got := strings.TrimSuffix(strings.Join(texts, ""), "\n"); got != strings.TrimSuffix(text, "\n") {
		t.Errorf("%d pages give %d characters, want %d", len(pages), len(got), len(text))
	}
	for i, p := range pages {
		if n := utf8.RuneCountInString(p.text); n > 1000 || i < len(pages)-1 && n < 700 {
			t.Errorf("page %d of %d has %d characters", i+1, len(pages), n)
		}
	}
	if n := len(w.files()); n != 1 {
		t.Errorf("%d files are kept, want that of the result", n)
	}
}

func oneCharacterAtATime(t *testing.T) {
	const text = "a─𝄞\nb"
	w := quick(t)
	w.config.Calls.MaxChars, w.config.Calls.RoundChars = 1000, 1000 // eight calls of a round: 125 characters each, but never below 1,000
	w.put("f.txt", text)
	_, texts := w.follow(`{"path":"project/f.txt","char_offset":0,"char_limit":1}`, 6)
	if len(texts) != 5 {
		t.Errorf("%d pages of one character: %q", len(texts), texts)
	}
	_, texts = w.follow(`{"path":"project/f.txt","offset":1,"limit":1}`, 3)
	if got := strings.Join(texts, ""); len(texts) != 2 || strings.TrimSuffix(got, "\n") != text {
		t.Errorf("%d pages of one line: %q", len(texts), texts)
	}
}

func quotaCountsBytes(t *testing.T) {
	text := strings.Repeat("漢字\n", 40_000) // 120,000 characters, 280,000 bytes
	for quota, kept := range map[int64]bool{280_000: true, 279_999: false, 200_000: false} {
		w := quick(t, gives("t", tool.Text(text), limit(1000)))
		w.store.Spill.Quota = quota
		out := w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}}, scripted.Step{Text: "Done."})
		shown := *w.shown()[0].Text
		if got := strings.Contains(shown, "The whole is kept at tool-results/r1-1-t.txt"); got != kept || len(w.files()) > 0 != kept {
			t.Errorf("quota %d: kept %v, files %v: %.300q", quota, got, w.files(), shown)
		}
		if refused := strings.Contains(shown, "NOT kept: the quota"); refused == kept || (kinds(out)["result_not_kept"] == 1) == kept {
			t.Errorf("quota %d: told %v, events %v", quota, refused, kinds(out))
		}
	}
}

func oneTraceOfARefusal(t *testing.T) {
	for _, step := range []string{"create", "link"} {
		var log warnings
		text := strings.Repeat("row\n", 1000)
		w := quick(t, gives("t", tool.Text(text), limit(1000)), prints("sh", inPieces(text, 999), 0, limit(1000)))
		w.store.Spill.Wrap = failing(step)
		w.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
		out := w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "t", "{}"), asks("", "sh", "{}")}}, scripted.Step{Text: "Done."})
		for i, b := range w.shown() {
			size := []string{"1000 lines, 4000 characters, 4000 bytes", "1001 lines, 4008 characters, 4008 bytes"}[i]
			for _, want := range []string{"The rest was NOT kept: input/output error.", "The whole had " + size, "left out here"} {
				if !strings.Contains(*b.Text, want) {
					t.Errorf("%s, %s: shown %q, want %q in it", step, b.Tool, *b.Text, want)
				}
			}
			if strings.Contains(*b.Text, "tool-results") || strings.Contains(*b.Text, "workspace--") || strings.Count(*b.Text, "[Excerpt: ") != 1 {
				t.Errorf("%s, %s: it names a file that is not there: %q", step, b.Tool, *b.Text)
			}
		}
		if n := kinds(out)["result_not_kept"]; n != 2 || out.Text != "Done." {
			t.Errorf("%s: %d events for 2 results, ended as %q", step, n, out.Text)
		}
		if n := strings.Count(log.String(), "a result was not kept whole"); n != 2 || strings.Count(log.String(), "result=r1-1 ") != 1 {
			t.Errorf("%s: %d lines for 2 results:\n%s", step, n, log.String())
		}
	}
}

func rowWithoutItsFile(t *testing.T) {
	text := strings.Repeat("row\n", 1000)
	w := quick(t, gives("t", tool.Text(text), limit(1000)))
	w.store.Spill.Wrap = failing("link")
	w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}}, scripted.Step{Text: "Done."})
	if n := len(w.files()); n != 0 {
		t.Errorf("%d files lie there", n)
	}
	// What the row has is served, when the disk works again; nothing points at a file.
	w.store.Spill.Wrap = nil
	w.look(func(s *sqlite.Store) {
		r, err := s.ResultOf(t.Context(), talk, resultOf(t, "r1-1"))
		if err != nil || r.Spill != nil || r.Chars != 4000 {
			t.Errorf("the row: file %v, %d characters, %v", r.Spill, r.Chars, err)
		}
	})
	if pages, texts := w.follow(`{"path":"tool-results/r1-1-t.txt"}`, 3); strings.Join(texts, "") != text {
		t.Errorf("%d pages give %d characters of the row", len(pages), len(strings.Join(texts, "")))
	}
}

func readOnlyMountFirst(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permissions of folders are those of Unix")
	}
	text := strings.Repeat("row\n", 1000)
	w := quick(t, gives("t", tool.Text(text), limit(1000)))
	w.put("f.txt", "a file\n")
	chmod(t, w.project, 0o555)
	t.Cleanup(func() { chmod(t, w.project, 0o755) })
	a := w.call("t", "{}")
	if n := excerpt(t, a, 1000); n.path != "tool-results/r1-1-t.txt" || a.whole != text || !strings.HasPrefix(a.file, w.dir) {
		t.Errorf("kept at %s in %s", n.path, a.file)
	}
	if found, err := os.ReadDir(w.project); err != nil || len(found) != 1 {
		t.Errorf("in the mount lie %v, %v", found, err)
	}
}

// otherModel is a scripted model of which one thing is otherwise.
type otherModel struct {
	*scripted.Model
	encode func(membrane.Message) ([]byte, error)
	stream func(context.Context, membrane.Request) stream
}

type stream = func(yield func(membrane.Event, error) bool)

func (m otherModel) EncodeMessage(x membrane.Message) ([]byte, error) {
	if m.encode != nil {
		return m.encode(x)
	}
	return m.Model.EncodeMessage(x)
}

// with runs a process whose model is made of the scripted one.
func (w *world) with(change func(*scripted.Model) membrane.Model, f func(a *agent.Agent, s *sqlite.Store)) {
	w.t.Helper()
	script, err := scripted.New(scripted.Script{Steps: w.steps}, scripted.Config{Bodies: w.bodies})
	if err != nil {
		w.t.Fatal(err)
	}
	s := w.open()
	defer func() {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	}()
	cfg := w.config
	cfg.Tools = w.tools
	a, err := agent.New(s, change(script), cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	f(a, s)
}

func oldFormsReplay(t *testing.T) {
	// An older program wrote results as JSON strings, and put white space between the parts of a message.
	old := func(m *scripted.Model) membrane.Model {
		return otherModel{Model: m, encode: func(x membrane.Message) ([]byte, error) {
			raw, err := m.EncodeMessage(x)
			return []byte(strings.Replace(string(raw), `{"role":`, `{ "role" : `, 1)), err
		}}
	}
	const form = `"line one\nline \"two\""`
	w := quick(t, gives("t", tool.Text(form)))
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "t", "{}")}}, {Text: "Fine."}}
	w.with(old, func(a *agent.Agent, _ *sqlite.Store) {
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect(); err != nil {
			t.Fatal(err)
		}
	})
	before := split(t, w.last()).Messages
	if !strings.Contains(string(before), `{ "role" : "results"`) {
		t.Fatalf("the old program sent %s", before)
	}
	w.tools = []tool.Tool{gives("t", tool.Text("line one\nline \"two\""))}
	out := w.turn("Again.", scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}}, scripted.Step{Text: "Done."})
	if reasons, _ := opened(out); reasons != nil || !strings.HasPrefix(string(split(t, w.last()).Messages), string(before)) {
		t.Errorf("the old bytes are not replayed: epochs %v", reasons)
	}
	if a := w.answer(resultOf(t, "r1-1")); a.text != form || a.whole != form {
		t.Errorf("the old result is %q, stored %q", a.text, a.whole)
	}
	if a := w.answer(resultOf(t, "r2-1")); a.text != "line one\nline \"two\"" {
		t.Errorf("the new result is %q", a.text)
	}
}

func giantError(t *testing.T) {
	text := strings.Repeat("a stack frame\n", 5000)
	w := quick(t, gives("t", tool.Error(text)), handler("go", func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, fmt.Errorf("%s", text)
	}))
	for _, a := range w.round(asks("", "t", "{}"), asks("", "go", "{}")) {
		if n := excerpt(t, a, 24_000); !a.isError || a.whole != text || n.lines != 5000 || a.call.Outcome != history.OutcomeFailed {
			t.Errorf("%s: error %v, %d lines, %s", a.call.Tool, a.isError, n.lines, a.call.Outcome)
		}
	}
}

func boundOfARound(t *testing.T) {
	text := strings.Repeat("0123456789\n", 2000) // 22,000 characters, under the cap of 24,000
	w := quick(t, gives("t", tool.Text(text)), gives("small", tool.Text("small")), gives("bad", tool.Error(text)))
	calls := []scripted.Call{asks("", "small", "{}"), asks("", "bad", "{}")}
	for range 8 {
		calls = append(calls, asks("", "t", "{}"))
	}
	sum, inline := 0, 0
	for i, a := range w.round(calls...) {
		sum += utf8.RuneCountInString(a.text)
		switch {
		case i == 0 && a.text != "small" || (i == 1) != a.isError:
			t.Errorf("%s: %.40q, error %v", a.row.ID, a.text, a.isError)
		case i > 0 && a.text == text:
			inline++
		case i > 0:
			if excerpt(t, a, 24_000); a.whole != text {
				t.Errorf("%s is not kept whole", a.row.ID)
			}
		}
	}
	if sum > 120_000 || sum < 100_000 || inline < 1 {
		t.Errorf("%d characters are shown of a bound of 120,000, %d results whole", sum, inline)
	}
}

func capInsideACharacter(t *testing.T) {
	for _, pieces := range [][][]byte{
		{[]byte(strings.Repeat("𝄞", 300_000))},                          // one write of 1.2 MB
		inPieces(strings.Repeat("a", 991)+strings.Repeat("𝄞─", 400), 1), // the cap falls into a character, byte by byte
	} {
		text := ""
		for _, p := range pieces {
			text += string(p)
		}
		w := quick(t, prints("sh", pieces, 0, limit(1000)))
		a := w.call("sh", "{}")
		n := excerpt(t, a, 1000)
		if a.whole != text+"[exit 0]" || strings.ContainsRune(a.text, utf8.RuneError) || !strings.HasSuffix(n.tail, "[exit 0]") {
			t.Errorf("kept %d bytes of %d, half a character: %v", len(a.whole), len(text), strings.ContainsRune(a.text, utf8.RuneError))
		}
	}
}

func capAfterARestart(t *testing.T) {
	// One result is in, the other call is killed: what closes the round afterwards has the same cap, for the
	// stored result as for the one that is made up.
	text := strings.Repeat("a row of the result\n", 5000)
	w := quick(t, gives("t", tool.Text(text)), gives("hangs", tool.Text("ran again")))
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "t", "{}"), asks("", "hangs", "{}")}}, {Text: "Done."}}
	p := w.child(job{Text: "Go on.", Tools: []jobTool{{Name: "t", Text: text}, {Name: "hangs", Hang: true}}})
	p.until("settled r1-1")
	p.kill()
	resumed(t, w)
	if a := w.answer(resultOf(t, "r1-1")); a.whole != text {
		t.Errorf("the result that was in has %d bytes, want %d", len(a.whole), len(text))
	} else {
		excerpt(t, a, 24_000)
	}
}

// resumed goes on with the open turn, in a process of its own, to its end.
func resumed(t *testing.T, w *world, answers ...agent.Answer) (out agent.Outcome) {
	t.Helper()
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		var err error
		if out, err = a.Resume(t.Context(), talk, answers...).Collect(); err != nil {
			t.Fatal(err)
		}
	})
	return out
}

// soon is how long a wait may take that ends by itself.
const soon = 20 * time.Second
