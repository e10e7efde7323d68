package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// edgeTexts are the edge cases of the way from data to text.
func edgeTexts() map[string]item {
	return map[string]item{
		"01": halfInAString, "02": halfInABlock, "03": halfBesideAnImage, "04": halfInsideJSON,
		"05": errorBesideNothing, "06": noDataAtAll, "07": nullAbsentEmpty, "08": errorWithoutText,
		"09": exactlyAtTheCap, "10": measuredAsText, "11": cutBetweenCharacters, "12": imagePastTheCut, "13": quotedImage,
		"54": largeStructured, "55": noValue, "60": labelledByItsBytes, "62": oneFunction, "63": falsyStructured,
		"64": markedAsAFailure, "65": payloadThatIsNotKept,
	}
}

// half is half of a surrogate pair, as a Go string can hold it.
const half = "\xed\xa0\xbd"

// pngBytes is how a PNG begins.
const pngBytes = "\x89PNG\r\n\x1a\n"

func textOf(s string) tool.Content { return tool.Content{Type: "text", Text: s} }

func imageOf(mime, data string) tool.Content {
	return tool.Content{Type: "image", MIMEType: mime, Data: []byte(data)}
}

// cleaned holds short and long results of one lane, made by in, to their clean text: in the request, in the
// row and in the file; and once more in a process that comes later.
func cleaned(t *testing.T, in func(string) tool.Result) {
	t.Helper()
	short, long := "a"+half+"b", strings.Repeat("row "+half+"\n", 2000)
	w := quick(t, gives("short", in(short)), gives("long", in(long), limit(1000)))
	got := w.round(asks("", "short", "{}"), asks("", "long", "{}"))
	if got[0].text != "a\ufffdb" || got[0].whole != "a\ufffdb" {
		t.Errorf("shown %q, kept %q", got[0].text, got[0].whole)
	}
	if want := strings.ReplaceAll(long, half, "\ufffd"); got[1].whole != want || got[1].file == "" {
		t.Errorf("the long one is kept as %.60q…, want %.60q…, in file %q", got[1].whole, want, got[1].file)
	}
	w.turn("More.", scripted.Step{Text: "Fine."})
	if again := w.answer(resultOf(t, "r1-1")); again.text != "a\ufffdb" {
		t.Errorf("replayed as %q", again.text)
	}
}

func halfInAString(t *testing.T) { cleaned(t, tool.Text) }

func halfInABlock(t *testing.T) {
	cleaned(t, func(s string) tool.Result { return tool.Blocks(textOf(s)) })
}

func halfBesideAnImage(t *testing.T) {
	w := quick(t, gives("shot", tool.Blocks(textOf("a"+half), imageOf("image/png", pngBytes), textOf(half+"b"))))
	a := w.call("shot", "{}")
	if want := "a\ufffd\n[image: image/png, 8B, tool-results/r1-1-shot.png]\n\ufffdb"; a.text != want || a.whole != want {
		t.Errorf("shown %q, kept %q", a.text, a.whole)
	}
	if images := w.shown()[0].Images; len(images) != 1 || string(images[0].Data) != pngBytes {
		t.Errorf("the native form has the images %v", images)
	}
}

func halfInsideJSON(t *testing.T) {
	value := map[string]any{"k": "a" + half, "in": []string{half + "z"}}
	w := quick(t, gives("value", tool.Value(value)), gives("raw", tool.JSON(json.RawMessage(`{"k":"a\ud83d","p":"\ud83d\ude00"}`))))
	got := w.round(asks("", "value", `{"x":"\ud83d!"}`), asks("", "raw", "{}"))
	for i, want := range []string{`{"in":["` + "\ufffd" + `z"],"k":"a` + "\ufffd" + `"}`, `{"k":"a\ufffd","p":"\ud83d\ude00"}`} {
		if got[i].text != want || got[i].whole != want {
			t.Errorf("%s: shown %q, kept %q, want %q", got[i].call.Tool, got[i].text, got[i].whole, want)
		}
	}
	if args := string(argsOf(t, w.last(), "value")[0]); args != `{"x":"\ufffd!"}` {
		t.Errorf("the arguments stand on the wire as %s", args)
	}
}

// together holds that every one of the results, all of one round, is shown and kept as this text.
func together(t *testing.T, wants []string, results []tool.Result) {
	t.Helper()
	w := quick(t)
	for i, r := range results {
		w.tools = append(w.tools, gives(fmt.Sprint("t", i), r))
	}
	for i, a := range w.all() {
		if want := wants[i*len(wants)/len(results)]; a.text != want || a.whole != want || a.file != "" {
			t.Errorf("result %d: shown %q, kept %q, want %q", i+1, a.text, a.whole, want)
		}
	}
}

func errorBesideNothing(t *testing.T) {
	var results []tool.Result
	for _, data := range []any{"", nil, []tool.Content{}, json.RawMessage(`""`), []byte{}} {
		results = append(results, tool.Result{Data: data, Error: "boom"})
	}
	together(t, []string{"boom"}, results)
	together(t, []string{"text"}, []tool.Result{{Data: "text", Error: "boom"}})
}

func noDataAtAll(t *testing.T) {
	w := quick(t, gives("nothing", tool.Result{}), gives("blocks", tool.Blocks()), gives("block", tool.Blocks(tool.Content{})))
	got := w.round(asks("", "nothing", "{}"), asks("", "blocks", "{}"), asks("", "block", "{}"))
	for i, a := range got {
		if a.isError || a.call.Outcome != history.OutcomeDone || i < 2 && a.text != "" {
			t.Errorf("%s: %q, error %v, %s", a.call.Tool, a.text, a.isError, a.call.Outcome)
		}
	}
	if out := w.turn("And now?", scripted.Step{Text: "Fine."}); out.Text != "Fine." {
		t.Errorf("the next turn ended as %q", out.Text)
	}
}

func nullAbsentEmpty(t *testing.T) {
	null := tool.JSON(json.RawMessage("null"))
	null.Structured = json.RawMessage("null")
	w := quick(t, gives("null", null), gives("absent", tool.Value(nil)), gives("empty", tool.Text("")))
	got := w.round(asks("", "null", "{}"), asks("", "absent", "{}"), asks("", "empty", "{}"))
	for i, want := range []string{"null", "", ""} {
		if a := got[i]; a.text != want || a.whole != want || a.isError || a.row.Whole == nil {
			t.Errorf("%s: shown %q, stored %q (row %v), want %q", a.call.Tool, a.text, a.whole, a.row.Whole, want)
		}
	}
	if string(got[0].row.Structured) != "null" || got[1].row.Structured != nil || got[2].row.Structured != nil {
		t.Errorf("structured: %q, %q, %q; want null and two that are absent", got[0].row.Structured, got[1].row.Structured, got[2].row.Structured)
	}
}

func errorWithoutText(t *testing.T) {
	for _, data := range []any{nil, "", []tool.Content{}} {
		w := quick(t, gives("t", tool.Result{Data: data, IsError: true}))
		if a := w.call("t", "{}"); a.text != "unknown error" || !a.isError || a.call.Outcome != history.OutcomeFailed {
			t.Errorf("%#v: %q, error %v, %s", data, a.text, a.isError, a.call.Outcome)
		}
	}
}

func exactlyAtTheCap(t *testing.T) {
	const status = len("[exit 0]")
	at, over := strings.Repeat("─", 1000), strings.Repeat("─", 1001)
	w := quick(t,
		gives("text", tool.Text(at), limit(1000)), gives("text1", tool.Text(over), limit(1000)),
		gives("bytes", tool.Result{Data: []byte(at)}, limit(1000)), gives("bytes1", tool.Result{Data: []byte(over)}, limit(1000)),
		prints("sh", inPieces(at[:3*(1000-status)], 7), 0, limit(1000)), prints("sh1", inPieces(at[:3*(1001-status)], 7), 0, limit(1000)))
	var calls []scripted.Call
	for _, x := range w.tools {
		calls = append(calls, asks("", x.Name, "{}"))
	}
	for i, a := range w.round(calls...) {
		if i%2 == 0 {
			if n := utf8.RuneCountInString(a.text); n != 1000 || a.text != a.whole || a.file != "" || strings.Contains(a.text, "[Excerpt") {
				t.Errorf("%s at the cap: %d characters, file %q", a.call.Tool, n, a.file)
			}
			continue
		}
		if n := excerpt(t, a, 1000); n.size[1] != 1001 || a.file == "" {
			t.Errorf("%s over the cap: the notice says %v, file %q", a.call.Tool, n.size, a.file)
		}
	}
}

func measuredAsText(t *testing.T) {
	text := strings.Repeat("\"\\\n", 333) // 999 characters, 1,998 and two quotes as JSON
	w := quick(t, gives("text", tool.Text(text), limit(1000)), gives("value", tool.Value(&text), limit(1000)),
		gives("json", tool.JSON(quoted(t, text)), limit(1000)), gives("block", tool.Blocks(textOf(text)), limit(1000)))
	for _, a := range w.round(asks("", "text", "{}"), asks("", "value", "{}"), asks("", "json", "{}"), asks("", "block", "{}")) {
		if a.text != text || a.file != "" || a.row.Chars != 999 {
			t.Errorf("%s: %d characters are shown, %d counted, file %q", a.call.Tool, len(a.text), a.row.Chars, a.file)
		}
	}
}

func cutBetweenCharacters(t *testing.T) {
	var tools []tool.Tool
	var calls []scripted.Call
	for shift := range 4 {
		body := strings.Repeat("a", shift) + strings.Repeat("\U0001F600", 3000)
		tools = append(tools, gives(fmt.Sprint("text", shift), tool.Text(body), limit(1000)),
			prints(fmt.Sprint("stream", shift), inPieces(body, 1021), 0, limit(1000)))
	}
	for _, x := range tools {
		calls = append(calls, asks("", x.Name, "{}"))
	}
	w := quick(t, tools...)
	for _, a := range w.round(calls...) {
		if n := excerpt(t, a, 1000); strings.ContainsRune(n.head+n.tail, utf8.RuneError) {
			t.Errorf("%s: half a character is shown", a.call.Tool)
		}
	}
}

func imagePastTheCut(t *testing.T) {
	row := strings.Repeat("a row of text\n", 200)
	w := quick(t, gives("shot", tool.Blocks(textOf(row), imageOf("image/png", pngBytes), textOf(row)), limit(1000)))
	a := w.call("shot", "{}")
	const place = "[image: image/png, 8B, tool-results/r1-1-shot.png]"
	before, after, ok := strings.Cut(a.text, "listed next.")
	if !ok || strings.Contains(before, place) || strings.Count(after, place) != 1 || utf8.RuneCountInString(a.text) > 1000 {
		t.Errorf("the image that is left out is not listed once behind the notice: %q", a.text)
	}
	if strings.Count(a.whole, place) != 1 || w.kept("tool-results/r1-1-shot.png") != pngBytes {
		t.Error("the whole, or the image, is not kept")
	}
	if images := w.shown()[0].Images; len(images) != 1 || string(images[0].Data) != pngBytes {
		t.Errorf("the image is not sent as it is: %v", images)
	}
}

func quotedImage(t *testing.T) {
	const place = "[image: image/png, 8B, tool-results/r1-1-shot.png]"
	row := strings.Repeat("a row of text\n", 200)
	w := quick(t, gives("shot", tool.Blocks(imageOf("image/png", pngBytes))), gives("says", tool.Text(row+place+"\n"+row), limit(1000)))
	got := w.round(asks("", "shot", "{}"), asks("", "says", "{}"))
	if strings.Contains(got[1].text, place) || strings.Contains(got[1].text, "payload") {
		t.Errorf("what only quotes a placeholder is told to be an image of this result: %q", got[1].text)
	}
	if all := w.shown(); len(all[0].Images) != 1 || len(all[1].Images) != 0 {
		t.Errorf("images on the wire: %d and %d, want 1 and 0", len(all[0].Images), len(all[1].Images))
	}
}

func largeStructured(t *testing.T) {
	for _, size := range []int{5_000_000, 5_000_001} {
		raw := json.RawMessage(`"` + strings.Repeat("x", size-2) + `"`)
		w := quick(t, gives("t", tool.Result{Data: "small", Structured: raw}))
		if a := w.call("t", "{}"); a.text != "small" || !bytes.Equal(a.row.Structured, raw) {
			t.Errorf("shown %.40q, %d of %d structured characters are stored", a.text, len(a.row.Structured), size)
		}
	}
}

// unmarshallable does not marshal, in its own way.
type unmarshallable struct{}

func (unmarshallable) MarshalJSON() ([]byte, error) { panic("no way") }

func noValue(t *testing.T) {
	ring := map[string]any{}
	ring["ring"] = ring
	var results []tool.Result
	for _, v := range []any{ring, math.NaN(), math.Inf(-1), make(chan int), unmarshallable{}} {
		results = append(results, tool.Value(v), tool.Result{Data: v})
	}
	w := quick(t, inTurn("t", results, tool.Traits{Serial: true}))
	var calls []scripted.Call
	for range results {
		calls = append(calls, asks("", "t", "{}"))
	}
	for _, a := range w.round(calls...) {
		if !a.isError || !strings.HasPrefix(a.text, "the tool ran, but its result could not be converted: ") || len(a.text) > 1000 {
			t.Errorf("%s: %q, error %v", a.row.ID, a.text, a.isError)
		}
	}
}

func labelledByItsBytes(t *testing.T) {
	w := quick(t,
		gives("svg", tool.Blocks(imageOf("image/png", `<svg xmlns="http://www.w3.org/2000/svg"/>`))),
		gives("tiff", tool.Blocks(imageOf("image/png", "II*\x00data"))))
	w.round(asks("", "svg", "{}"), asks("", "tiff", "{}"))
	for i, want := range []string{"image/svg+xml", "image/tiff"} {
		b := w.shown()[i]
		if !strings.HasPrefix(*b.Text, "[image: "+want+", ") {
			t.Errorf("shown %q", *b.Text)
		}
		for _, image := range b.Images {
			if image.MIME != want {
				t.Errorf("an image of type %s is sent as %s", want, image.MIME)
			}
		}
	}
	// What is stored once is in every later request, and none of them is refused.
	if out := w.turn("More.", scripted.Step{Text: "Fine."}); out.Text != "Fine." {
		t.Errorf("the next turn ended as %q", out.Text)
	}
}

func oneFunction(t *testing.T) {
	results := map[string]tool.Result{
		"text": tool.Text("a <b> & \"c\"\n\u2028" + half), "value": tool.Value(map[string]any{"b": "<&>", "a": 9007199254740993}),
		"raw": tool.JSON(json.RawMessage(`{"b":1.0, "a":1}`)), "quoted": tool.JSON(json.RawMessage(`"a\nb"`)),
		"blocks": tool.Blocks(textOf("one"), textOf("two")), "bytes": {Data: []byte("\xff\xfeh\x00i\x00")}, "error": tool.Error("bad <thing>\n"),
		"nothing": {}, "unflagged": {Error: "hidden?"},
	}
	w := quick(t)
	want := map[string]string{}
	for name, r := range results {
		full, err := tool.Func(name+"-full", "", func(context.Context, struct{}) (tool.Result, error) { return r, nil })
		if err != nil {
			t.Fatal(err)
		}
		w.tools = append(w.tools, gives(name, r), full)
		want[name], want[full.Name] = result.Text(r), result.Text(r)
	}
	var calls []tool.Call
	for _, a := range w.all() {
		if text := want[a.call.Tool]; a.whole != text || a.text != text {
			t.Errorf("%s under the agent: shown %q, kept %q, want %q", a.call.Tool, a.text, a.whole, text)
		}
		calls = append(calls, tool.Call{ID: a.row.ID.String(), Name: a.call.Tool})
	}
	// The layer for other loops.
	w.process(func(_ *agent.Agent, s *sqlite.Store) {
		settled, err := round.Settle(t.Context(), s, round.Request{Conversation: "other", Calls: calls}, round.Config{Tools: w.tools})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range settled.Results {
			if x.Text != want[x.Call.Name] {
				t.Errorf("%s under another loop: %q, want %q", x.Call.Name, x.Text, want[x.Call.Name])
			}
		}
	})
}

func falsyStructured(t *testing.T) {
	var tools []tool.Tool
	var calls []scripted.Call
	want := []string{"0", "false", "null", `""`, "[]", "{}"}
	for i, raw := range want {
		name := fmt.Sprint("t", i)
		tools = append(tools, gives(name, tool.Result{Data: "text", Structured: json.RawMessage(raw)}))
		calls = append(calls, asks("", name, "{}"))
	}
	w := quick(t, append(tools, gives("none", tool.Text("text")))...)
	var got []string
	for _, a := range w.round(append(calls, asks("", "none", "{}"))...) {
		got = append(got, string(a.row.Structured))
		if a.text != "text" || (a.row.Structured == nil) != (a.call.Tool == "none") {
			t.Errorf("%s: shown %q, structured %v", a.call.Tool, a.text, a.row.Structured)
		}
	}
	if d := cmp.Diff(append(want, ""), got); d != "" {
		t.Errorf("structured (-want +got):\n%s", d)
	}
}

func markedAsAFailure(t *testing.T) {
	w := quick(t, gives("t", tool.Result{Data: []tool.Content{textOf("one"), textOf("two")}, Structured: json.RawMessage(`{"code":7}`), IsError: true}))
	a := w.call("t", "{}")
	if !a.isError || a.call.Outcome != history.OutcomeFailed || a.text != "one\ntwo" || string(a.row.Structured) != `{"code":7}` {
		t.Errorf("shown %q, error %v, %s, structured %s", a.text, a.isError, a.call.Outcome, a.row.Structured)
	}
}

func payloadThatIsNotKept(t *testing.T) {
	w := quick(t, gives("shot", tool.Blocks(textOf("before"), imageOf("image/png", pngBytes), textOf("after"))))
	w.store.Spill.Wrap = failing("link")
	out := w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks("", "shot", "{}")}}, scripted.Step{Text: "Done."})
	text := *w.shown()[0].Text
	if !strings.HasPrefix(text, "before\n[image: image/png, 8B") || strings.Contains(text, "tool-results/") {
		t.Errorf("shown %q: it must name the image, and no file", text)
	}
	if !strings.Contains(strings.ToLower(text), "not kept") || !strings.Contains(text, "input/output error") {
		t.Errorf("shown %q: it does not say that the image was not kept, and why", text)
	}
	if n := kinds(out)["result_not_kept"]; n != 1 {
		t.Errorf("%d events say that it was not kept, want 1", n)
	}
}
