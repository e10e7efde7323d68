package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/shell"
	"github.com/weir-run/weir/tokens"
	"github.com/weir-run/weir/tool"
)

// familySizes are the items of family B: what is too long.
func familySizes() map[string]item {
	return map[string]item{
		"B01": oneCap, "B02": trueFigures, "B03": bothEnds, "B04": noSilentCut, "B05": onlyWhenTrue, "B06": oneMarker,
		"B07": whatToDoInstead, "B08": whatIsLeftOut, "B09": neverNothing, "B10": lineAndCharacter, "B11": longOutputOfAFailure,
		"B12": keptBeforeCut, "B13": withinTheWindow, "B14": boundedRows, "B15": markedOnce, "B16": errorsTheSameWay,
	}
}

// rows is a text of n numbered lines.
func rows(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "row %d of the text\n", i+1)
	}
	return b.String()
}

// everyKind makes tools that give the same long text, each in its own way.
func everyKind(t *testing.T, text string, traits tool.Traits) []tool.Tool {
	t.Helper()
	typed, err := tool.Func("typed", "", func(context.Context, struct{}) (string, error) { return text, nil })
	if err != nil {
		t.Fatal(err)
	}
	typed.Traits = traits
	bad := tool.Text(text)
	bad.IsError = true
	return []tool.Tool{
		typed, gives("text", tool.Text(text), traits), gives("bytes", tool.Result{Data: []byte(text)}, traits), gives("json", tool.JSON(quoted(t, text)), traits),
		gives("blocks", tool.Blocks(textOf(text)), traits), gives("value", tool.Value(&text), traits), gives("error", tool.Error(text), traits), gives("bad", bad, traits),
		gives("unflagged", tool.Result{Error: text}, traits), prints("sh", inPieces(text, 1000), 0, traits), prints("shbad", inPieces(text, 1000), 2, traits),
		handler("go", func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, errors.New(text) }, traits),
		gives("object", tool.Value(map[string]any{"text": text, "rows": strings.Split(text, "\n")}), traits),
	}
}

// all calls each tool of the world once, in one round.
func (w *world) all() []answer {
	w.t.Helper()
	var calls []scripted.Call
	for _, x := range w.tools {
		calls = append(calls, asks("", x.Name, "{}"))
	}
	return w.round(calls...)
}

func oneCap(t *testing.T) {
	text := rows(1500)
	w := quick(t, everyKind(t, text, limit(1000))...)
	for _, a := range w.all() {
		if excerpt(t, a, 1000); !strings.Contains(a.whole, "1500 of the text") || a.file == "" {
			t.Errorf("%s: %d bytes are kept", a.call.Tool, len(a.whole))
		}
	}
	// The agent's own cap where a tool has none; the smallest counts.
	w = quick(t, everyKind(t, text, limit(50_000))...)
	w.config.Calls.MaxChars = 2000
	for _, a := range w.all() {
		excerpt(t, a, 2000)
	}
}

func trueFigures(t *testing.T) {
	text := rows(20_000)
	w := withShell(t)
	w.store.Spill.NoSync = true
	run, err := shell.New(shell.Config{Dir: w.project, MaxOutput: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	w.tools = []tool.Tool{run, prints("sh", inPieces(text, 4096), 0)}
	got := w.round(asks("", "sh", "{}"), asks("", shell.Name, `{"command":"yes a row | head -c 1000000"}`))
	if n := excerpt(t, got[0], 24_000); got[0].whole != text+"[exit 0]" || n.lines != 20_001 {
		t.Errorf("%d lines are told, %d bytes kept", n.lines, len(got[0].whole))
	}
	// What the first stage did not take is told too, behind what it took.
	if n := excerpt(t, got[1], 24_000); !strings.HasSuffix(n.tail, "[stopped: it printed more than its limit of 100000 bytes]") || n.size[2] < 100_000 || n.size[2] > 101_000 || !got[1].isError {
		t.Errorf("%d bytes are told, the end is %.200q", n.size[2], n.tail)
	}
	// And what could not be kept: the figures are those of all that came.
	w = quick(t, prints("sh", inPieces(text, 4096), 0))
	w.store.Spill.Wrap = failing("link")
	w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "sh", "{}")}}, scripted.Step{Text: "Done."})
	size := sizeOf(text + "[exit 0]")
	want := fmt.Sprintf("The whole had %d lines, %d characters, %d bytes.", size[0], size[1], size[2])
	if shown := *w.shown()[0].Text; !strings.Contains(shown, want) || !strings.HasSuffix(shown, "[exit 0]") {
		t.Errorf("shown %.300q, want %q in it", shown, want)
	}
}

func bothEnds(t *testing.T) {
	text := "the first line\n" + rows(5000) + "FAIL: the verdict\n"
	w := quick(t, gives("text", tool.Text(text)), prints("sh", inPieces(text, 999), 1))
	for _, a := range w.all() {
		n := excerpt(t, a, 24_000)
		if !strings.HasPrefix(n.head, "the first line\n") || !strings.Contains(n.tail, "FAIL: the verdict\n") {
			t.Errorf("%s: the ends are %.40q and %.40q", a.call.Tool, n.head, n.tail)
		}
		// About 60 and 40 of 100 parts of the room.
		head, tail := utf8.RuneCountInString(n.head), utf8.RuneCountInString(n.tail)
		if share := head * 100 / (head + tail); share < 50 || share > 70 || head+tail < 18_000 {
			t.Errorf("%s: %d and %d characters of the ends are shown", a.call.Tool, head, tail)
		}
	}
}

// marked holds that a text that repeats one letter shows all of it, or says that something is left out.
func marked(t *testing.T, what, shown, letter string, n int) {
	t.Helper()
	if strings.Count(shown, letter) < n && !strings.Contains(shown, "…") && !strings.Contains(shown, "left out") && !strings.Contains(shown, "more") {
		t.Errorf("%s: %d of %d characters are shown, and nothing says so: %.300q", what, strings.Count(shown, letter), n, shown)
	}
}

func noSilentCut(t *testing.T) {
	long := strings.Repeat("Z", 3000)
	var many []tool.Tool
	for i := range 100 {
		many = append(many, gives(fmt.Sprintf("tool%03d", i), tool.Text("ran")))
	}
	strictly := gives("strictly", tool.Text("ran"))
	strictly.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`)
	w := quick(t, append(many, strictly, handler("panics", func(context.Context, tool.Call) (tool.Result, error) { panic(long) }))...)
	got := w.round(asks("", "panics", "{}"), asks("", long, "{}"), asks("", "strictly", `{"a":"`+long), asks("", "strictly", `{"`+long+`":1}`))
	for i, what := range []string{"a panic", "the name of no tool", "broken arguments", "an argument that there is not"} {
		if !got[i].isError {
			t.Errorf("%s is no error: %q", what, got[i].text)
		}
		marked(t, what, got[i].text, "Z", 3000)
	}
	name, _, _ := strings.Cut(got[1].text, " The tools are")
	marked(t, "the name of no tool", name, "Z", 3000)
	if !strings.Contains(got[1].text, "and 47 more") && strings.Count(got[1].text, "tool0") < 100 {
		t.Errorf("of the tools there are, some are left out without a word: %.2000q", got[1].text)
	}
}

func onlyWhenTrue(t *testing.T) {
	text := strings.Repeat("x", 1000)
	w := quick(t, everyKind(t, text[:900], limit(1000))[:9]...)
	w.tools = append(w.tools, gives("full", tool.Text(text), limit(1000)), gives("over", tool.Text(text+"y"), limit(1000)))
	got := w.all()
	for _, a := range got[:10] {
		if strings.Contains(a.text, "Excerpt") || strings.Contains(a.text, "left out") || a.file != "" {
			t.Errorf("%s: nothing is left out, and it says %.200q", a.call.Tool, a.text)
		}
	}
	if n := excerpt(t, got[10], 1000); n.chars < 1 || !strings.Contains(got[10].text, "left out here") {
		t.Errorf("what is left out is %d characters: %q", n.chars, got[10].text)
	}
}

func oneMarker(t *testing.T) {
	w := quick(t, everyKind(t, rows(1500), limit(1000))...)
	for _, a := range w.all() {
		noticeIn(t, a.text) // which is one form, at the start of a line, once
	}
	// Nor are there others where it could not be kept, or where the round is too long.
	w = quick(t, everyKind(t, rows(1500), limit(5000))...)
	w.config.Calls.RoundChars = 15_000
	w.store.Spill.Wrap = failing("create")
	w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "text", "{}"), asks("", "sh", "{}"), asks("", "error", "{}"), asks("", "json", "{}")}}, scripted.Step{Text: "Done."})
	for _, b := range w.shown() {
		if strings.Count(*b.Text, "\n[Excerpt: ") != 1 || strings.Count(*b.Text, "NOT kept") != 1 {
			t.Errorf("%s: %.400q", b.Tool, *b.Text)
		}
	}
}

func whatToDoInstead(t *testing.T) {
	text := rows(5000)
	w := quick(t, gives("t", tool.Text(text)))
	n := excerpt(t, w.call("t", "{}"), 24_000)
	_, texts := w.follow(n.read, 20)
	if got := strings.Join(texts, ""); got != strings.TrimPrefix(text, n.head) {
		t.Errorf("the ready call and those after it give %d characters", len(got))
	}
	var ready map[string]any
	if err := json.Unmarshal([]byte(n.grep), &ready); err != nil {
		t.Fatal(err)
	}
	ready["pattern"] = "^row 4711 "
	args, err := json.Marshal(ready)
	if err != nil {
		t.Fatal(err)
	}
	if a := w.call("workspace--grep", string(args)); !strings.HasSuffix(a.text, ":4711:row 4711 of the text\n") {
		t.Errorf("the ready search with a pattern: %q", a.text)
	}
}

func whatIsLeftOut(t *testing.T) {
	w := quick(t, gives("t", tool.Text(rows(500))))
	w.call("t", "{}")
	for i := range 1100 {
		if i%10 == 0 {
			w.put(fmt.Sprintf("f/%04d.txt", i), "x\n")
		}
	}
	a := w.call("workspace--grep", `{"pattern":"^row","path":"tool-results/r1-1-t.txt","max_matches":3}`)
	if !strings.HasPrefix(a.text, "500 matches in 1 file") || strings.Count(a.text, "txt:") != 3 || !strings.Contains(a.text, `"offset":3`) {
		t.Errorf("a search: %q", a.text)
	}
	w.config.Calls.MaxChars = 1000
	for name, args := range map[string]string{"workspace--glob": `{"pattern":"**","path":"project"}`, "workspace--list": `{"path":"project/f"}`} {
		a := w.call(name, args)
		shown := strings.Count(a.text, ".txt")
		if !strings.Contains(a.text, "110 ") || shown >= 110 || !strings.Contains(a.text, "\nnext: "+name) {
			t.Errorf("%s shows %d of 110: %.200q", name, shown, a.text)
		}
	}
}

func neverNothing(t *testing.T) {
	line := strings.Repeat("x", 1<<20) + "\n"
	w := quick(t, gives("text", tool.Text(line)), prints("sh", inPieces(line, 32<<10), 0), gives("bytes", tool.Result{Data: []byte(line)}))
	for i, a := range w.all() {
		n := excerpt(t, a, 24_000)
		want := "part of line 1 of 1 is left out here"
		if i == 1 {
			want = "part of line 1 of 2 is left out here"
		}
		if len(n.head)+len(n.tail) < 20_000 || n.first != 1 || n.last != 1 || !strings.Contains(a.text, want) {
			t.Errorf("%s: %d and %d characters are shown, lines %d to %d of %d", a.call.Tool, len(n.head), len(n.tail), n.first, n.last, n.lines)
		}
	}
}

func lineAndCharacter(t *testing.T) {
	for _, text := range []string{rows(3000), strings.Repeat("one line without an end; ", 3000), strings.Repeat(strings.Repeat("y", 9000)+"\n", 9)} {
		text = "BEGIN " + text + " END"
		w := quick(t, gives("text", tool.Text(text)), prints("sh", inPieces(text, 777), 0))
		for _, a := range w.all() {
			if n := excerpt(t, a, 24_000); !strings.HasPrefix(n.head, "BEGIN ") || !strings.Contains(n.tail, " END") {
				t.Errorf("%s: the ends are %.20q and %.20q", a.call.Tool, n.head, n.tail)
			}
		}
	}
}

func longOutputOfAFailure(t *testing.T) {
	row := strings.Repeat("a row of output that is 63 characters long without its newline.\n", 1024)[:64<<10]
	var pieces [][]byte
	for range 11 << 4 {
		pieces = append(pieces, []byte(row))
	}
	w := quick(t, prints("sh", pieces, 2))
	a := w.call("sh", "{}")
	n := excerpt(t, a, 24_000)
	if !a.isError || n.size[2] != 11<<20+8 || !strings.HasSuffix(a.text, "\n[exit 2]") || !strings.HasPrefix(a.text, "a row of output") || a.whole != strings.Repeat(row, 11<<4)+"[exit 2]" {
		t.Errorf("error %v, %d bytes, the end %q", a.isError, n.size[2], a.text[len(a.text)-40:])
	}
}

func keptBeforeCut(t *testing.T) {
	text := rows(2500)
	for _, max := range []int{1000, 30_000} {
		w := quick(t, everyKind(t, text, limit(max))[:12]...)
		for _, a := range w.all() {
			if whole := strings.TrimSuffix(strings.TrimSuffix(a.whole, "[exit 0]"), "[exit 2]"); whole != text || a.file == "" {
				t.Errorf("cap %d, %s: %d of %d bytes are kept in %q", max, a.call.Tool, len(whole), len(text), a.file)
			}
		}
	}
}

func withinTheWindow(t *testing.T) {
	// Each character of the result is a token or more, and there are three times as many as the model takes.
	const window = 8000
	w := quick(t, gives("t", tool.Text(strings.Repeat("語彙の選択\n", 4000))))
	w.config.Window = window
	out := w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}}, scripted.Step{Text: "Done."}, scripted.Step{Text: "Done."}, scripted.Step{Text: "Done."})
	for i, body := range w.received() {
		if n := tokens.Estimate(string(body)); n > window {
			t.Errorf("request %d has about %d tokens, the model takes %d", i+1, n, window)
		}
	}
	if out.Reason != "done" {
		t.Errorf("the turn ended as %q", out.Reason)
	}
}

func boundedRows(t *testing.T) {
	w := quick(t, gives("t", tool.Text(strings.Repeat("a row of text\n", 200_000))), prints("sh", inPieces(strings.Repeat("a row of text\n", 200_000), 64<<10), 0), gives("bad", tool.Error(rows(100_000))))
	w.all()
	for _, c := range [][2]string{
		{"results", "coalesce(length(whole), 0)"},
		{"results", "coalesce(length(shown), 0)"},
		{"results", "coalesce(length(notes), 0)"},
		{"fragments", "length(bytes)"},
		{"messages", "length(body)"},
		{"events", "length(data)"},
	} {
		if n := w.value("SELECT max(" + c[1] + ") FROM " + c[0]); len(n) > 5 {
			t.Errorf("the longest %s of %s has %s bytes", c[1], c[0], n)
		}
	}
	// A reference replaces what it stands for.
	w.turn("More.", scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}}, tooLong("row 50 of the text", scripted.Step{Text: "Done."}), scripted.Step{Text: "Done."})
	body := string(w.last())
	if strings.Count(body, "[Left out to save room: r1-3, ") != 1 || strings.Contains(body, "row 50 of the text") {
		t.Errorf("what was left out: %d references, the text itself: %v", strings.Count(body, "Left out to save room: r1-3"), strings.Contains(body, "row 50 of the text"))
	}
}

func markedOnce(t *testing.T) {
	text := rows(3000)
	size := sizeOf(text + "[exit 0]")
	// What could not be kept is a preview already when the round turns out to be too long.
	var tools []tool.Tool
	for i := range 8 {
		tools = append(tools, prints(fmt.Sprint("sh", i), inPieces(text, 999), 0))
	}
	w := quick(t, tools...)
	w.config.Calls.RoundChars = 16_000
	w.store.Spill.Wrap = failing("create")
	var calls []scripted.Call
	for _, x := range tools {
		calls = append(calls, asks("", x.Name, "{}"))
	}
	w.turn("Go on.", scripted.Step{Calls: calls}, scripted.Step{Text: "Done."})
	sum := 0
	for _, b := range w.shown() {
		sum += utf8.RuneCountInString(*b.Text)
		want := fmt.Sprintf("The whole had %d lines, %d characters, %d bytes.", size[0], size[1], size[2])
		if strings.Count(*b.Text, "[Excerpt: ") != 1 || !strings.Contains(*b.Text, want) || !strings.HasPrefix(*b.Text, "row 1 ") || !strings.HasSuffix(*b.Text, "[exit 0]") {
			_, notice, _ := strings.Cut(*b.Text, "[Excerpt: ")
			t.Errorf("%s: %d notices, want %q; it says %.250q", b.Tool, strings.Count(*b.Text, "[Excerpt: "), want, notice)
		}
	}
	if sum > 16_000 {
		t.Errorf("%d characters are shown of 16,000", sum)
	}
	// A page of a text that was marked by somebody else gets no mark of its own.
	w = quick(t, gives("t", tool.Text("[Excerpt: lines 2-3 of 9 are left out here.]\n")))
	w.call("t", "{}")
	if a := w.call("workspace--read", `{"path":"tool-results/r1-1-t.txt"}`); strings.Count(a.text, "[Excerpt: ") != 1 {
		t.Errorf("the page: %q", a.text)
	}
}

// toolName is where a result's own name stands in its notice.
var toolName = regexp.MustCompile(`r1-\d+-[a-z]+\.txt`)

func errorsTheSameWay(t *testing.T) {
	w := quick(t, everyKind(t, rows(1500), limit(1000))[:9]...)
	var first string
	for i, a := range w.all() {
		text := toolName.ReplaceAllString(a.text, "NAME")
		// Names have different lengths, which moves the cut; the figures and the words are one form.
		form := regexp.MustCompile(`\d+`).ReplaceAllString(text[strings.Index(text, "[Excerpt"):strings.Index(text, "]\n")], "N")
		if i == 0 {
			first = form
		}
		if d := cmp.Diff(first, form); d != "" {
			t.Errorf("%s (error %v):\n%s", a.call.Tool, a.isError, d)
		}
	}
}
