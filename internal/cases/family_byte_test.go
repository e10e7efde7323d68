package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// familyBytes are the items of family E: encodings and JSON. That every body is valid UTF-8 and JSON
// without half of a pair, the world holds by itself.
func familyBytes() map[string]item {
	return map[string]item{
		"E01": emojiAtTheCut, "E02": cleanOnEveryWay, "E03": everyUnit, "E04": rawBesideTheText, "E05": bytesAcrossAKill, "E06": halfAnEdit,
		"E07": utf16Output, "E08": nulStored, "E09": literalEscapes, "E10": noHTML, "E11": errorInJSON,
	}
}

func emojiAtTheCut(t *testing.T) {
	const family = "\U0001F468\u200D\U0001F469\u200D\U0001F467" // one thing to see, five code points
	var tools []tool.Tool
	for shift := range 5 {
		tools = append(tools, gives(fmt.Sprint("t", shift), tool.Error(strings.Repeat("a", shift)+strings.Repeat(family, 900)), limit(1000)))
	}
	w := quick(t, tools...)
	for i, a := range w.all() {
		n := excerpt(t, a, 1000)
		if rest := strings.TrimPrefix(n.head, strings.Repeat("a", i)); len(rest)%len(family) != 0 || len(n.tail)%len(family) != 0 || strings.ContainsRune(a.text, utf8.RuneError) {
			t.Errorf("%s: an emoji is cut: the head ends in %q, the tail begins with %.12q", a.call.Tool, n.head[len(n.head)-8:], n.tail)
		}
	}
	w.turn("More.", scripted.Step{Text: "Fine."})
}

func cleanOnEveryWay(t *testing.T) {
	w := quick(t, gives("text", tool.Text("t"+half)), gives("raw", tool.JSON(json.RawMessage(`{"r":"\udc00"}`))), gives("bad", tool.Error("e"+half+"\xff")))
	w.config.System = "s" + half
	w.steps = []scripted.Step{{Text: "a" + half, Calls: []scripted.Call{asks("", "text", `{"x":"\ud800"}`), asks("", "raw", "{}"), asks("", "bad", "{}")}}, {Text: "Done."}}
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "u" + half, Context: "c\xff"}).Collect(); err != nil {
			t.Fatal(err)
		}
	})
	live := split(t, w.last()).Messages
	w.turn("More.", scripted.Step{Text: "Fine."})
	if replayed := split(t, w.last()).Messages; !bytes.HasPrefix(replayed, live) {
		t.Errorf("replayed are other bytes:\n%s", cmp.Diff(string(live), string(replayed)))
	}
	want := []string{"t\ufffd", `{"r":"\ufffd"}`, "e\ufffd\ufffd"}
	for i, b := range w.shown() {
		if *b.Text != want[i] {
			t.Errorf("%s: %q, want %q", b.Tool, *b.Text, want[i])
		}
	}
	if outline := parseBody(t, w.last()).outline(); outline[0] != `user "c`+"\ufffd"+`" "u`+"\ufffd"+`"` {
		t.Errorf("what the user said: %s", outline[0])
	}
}

func everyUnit(t *testing.T) {
	// All 65,536 code units, each alone, as a Go string can hold them, and as an escape in raw JSON.
	var units, want, escaped strings.Builder
	escaped.WriteByte('"')
	for u := range 1 << 16 {
		fmt.Fprintf(&escaped, `\u%04x `, u)
		switch r := rune(u); {
		case utf16.IsSurrogate(r):
			units.Write([]byte{0xe0 | byte(u>>12), 0x80 | byte(u>>6)&0x3f, 0x80 | byte(u)&0x3f, ' '})
			want.WriteString("\ufffd ")
		case r == 0:
			units.WriteString("\x00 ")
			want.WriteString("\u2400 ")
		default:
			units.WriteString(string(r) + " ")
			want.WriteString(string(r) + " ")
		}
	}
	escaped.WriteByte('"')
	w := quick(t, gives("text", tool.Text(units.String())), gives("raw", tool.JSON(json.RawMessage(escaped.String()))))
	w.config.Calls.MaxChars, w.config.Calls.RoundChars = 200_000, 400_000
	for _, a := range w.all() {
		if a.text != want.String() {
			n := common(a.text, want.String())
			t.Errorf("%s: from byte %d on it is %.20q, want %.20q", a.call.Tool, n, a.text[n:], want.String()[n:])
		}
	}
	w.turn("More.", scripted.Step{Text: "Fine."})
}

func rawBesideTheText(t *testing.T) {
	gbk := "\xb3\xc9\xb9\xa6: PID 123\r\n" // two characters of another encoding
	w := quick(t, gives("bytes", tool.Result{Data: []byte(gbk)}), prints("sh", inPieces(gbk, 1), 0))
	for i, a := range w.all() {
		name := []string{"r1-1-bytes", "r1-2-sh"}[i]
		if !strings.HasSuffix(a.text, "[2 characters could not be decoded and stand as U+FFFD; the bytes as they came: tool-results/"+name+".raw]") {
			t.Errorf("%s: %q", a.call.Tool, a.text)
		}
		if got := w.kept("tool-results/" + name + ".raw"); got != gbk {
			t.Errorf("%s: the bytes as they came: %q", a.call.Tool, got)
		}
	}
}

func bytesAcrossAKill(t *testing.T) {
	raw := []byte("a\xff\xfeb\x00\x80" + strings.Repeat("row \xe4\xbd\n", 2000))
	w := quick(t, gives("t", tool.Text("ran again")), gives("hangs", tool.Text("ran again")))
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "t", "{}"), asks("", "hangs", "{}")}}, {Text: "Done."}}
	p := w.child(job{Text: "Go on.", Tools: []jobTool{{Name: "t", Data: raw}, {Name: "hangs", Hang: true}}})
	p.until("settled r1-1")
	p.kill()
	before := w.files()
	resumed(t, w)
	if got := w.kept("tool-results/r1-1-t.raw"); got != string(raw) {
		t.Errorf("the bytes as they came are %d, want %d", len(got), len(raw))
	}
	if a := w.answer(resultOf(t, "r1-1")); !strings.HasPrefix(a.whole, "a\ufffd\ufffdb\x00\ufffdrow \ufffd") || !strings.Contains(a.text, "r1-1-t.raw") {
		t.Errorf("the text is %.60q, the end that is shown %q", a.whole, a.text[len(a.text)-100:])
	}
	if after := w.files(); len(after) != len(before) {
		t.Errorf("files before %v, after %v", before, after)
	}
}

func halfAnEdit(t *testing.T) {
	w := quick(t)
	const text = "a\U0001F600b\n"
	dir := w.desk(map[string]string{"f.txt": text})
	for _, args := range []string{`"old":"a\ud83d","new":"x"`, `"old":"\ude00b","new":"x"`} {
		if a := w.call("workspace--edit", `{"path":"desk/f.txt",`+args+`}`); !a.isError {
			t.Errorf("%s: %q", args, a.text)
		}
	}
	raw, err := os.ReadFile(filepath.Join(dir, "f.txt"))
	if err != nil || string(raw) != text {
		t.Errorf("the file is %q, %v", raw, err)
	}
}

func utf16Output(t *testing.T) {
	var le, be []byte
	for _, u := range utf16.Encode([]rune("Zeile 1\r\nÄ \U0001F600\r\n")) {
		le, be = append(le, byte(u), byte(u>>8)), append(be, byte(u>>8), byte(u))
	}
	le, be = append([]byte{0xff, 0xfe}, le...), append([]byte{0xfe, 0xff}, be...)
	const want = "Zeile 1\r\nÄ \U0001F600\r\n"
	w := quick(t, gives("le", tool.Result{Data: le}), gives("be", tool.Result{Data: be}), prints("lesh", inPieces(string(le), 1), 0), prints("besh", inPieces(string(be), 3), 0))
	for i, a := range w.all() {
		if got := strings.TrimSuffix(a.text, "[exit 0]"); got != want {
			t.Errorf("%s: %q, want %q", a.call.Tool, got, want)
		}
		if raw := w.kept(fmt.Sprintf("tool-results/r1-%d-%s.raw", i+1, a.call.Tool)); raw != string(le) && raw != string(be) {
			t.Errorf("%s: the bytes as they came: %q", a.call.Tool, raw)
		}
	}
	// Without a mark it is bytes with a NUL in every second place: nothing is guessed, and nothing is lost.
	w = quick(t, gives("bare", tool.Result{Data: []byte("a\x00b\x00")}))
	if a := w.call("bare", "{}"); a.text != "a\u2400b\u2400" || a.whole != "a\x00b\x00" {
		t.Errorf("without a mark: shown %q, kept %q", a.text, a.whole)
	}
}

func nulStored(t *testing.T) {
	const text = "a\x00b\x00"
	w := quick(t, gives("t", tool.Text(text)), gives("s", tool.Result{Data: "x", Structured: json.RawMessage(`{"n":"\u0000"}`)}))
	got := w.round(asks("", "t", `{"a":"\u0000"}`), asks("", "s", "{}"))
	if got[0].text != "a\u2400b\u2400" || got[0].whole != text || string(got[0].call.Args) != `{"a":"\u0000"}` || string(got[1].row.Structured) != `{"n":"\u0000"}` {
		t.Errorf("shown %q, kept %q, arguments %q, structured %q", got[0].text, got[0].whole, got[0].call.Args, got[1].row.Structured)
	}
	if d := cmp.Diff(got[0].row, w.answer(resultOf(t, "r1-1")).row); d != "" {
		t.Errorf("read again:\n%s", d)
	}
}

func literalEscapes(t *testing.T) {
	texts := []string{`a \u0000 b`, `\\u0000`, `\ud83d`, `"\u003c"`, `C:\users\u0041`}
	var results []tool.Result
	for _, text := range texts {
		results = append(results, tool.Text(text), tool.Value(text), tool.Blocks(textOf(text)), tool.Result{Data: []byte(text)})
	}
	together(t, texts, results)
	raws := []string{`{"a":"\\u0000"}`, `{"a":"\\\\ud800"}`}
	together(t, raws, []tool.Result{tool.JSON(json.RawMessage(raws[0])), tool.JSON(json.RawMessage(raws[1]))})
}

func noHTML(t *testing.T) {
	const want = `{"code":"if (a < b && c > d) { x = \"<tag>\"; }"}`
	value := map[string]string{"code": `if (a < b && c > d) { x = "<tag>"; }`}
	type inner struct{ Code nested }
	body := sameText(t, want, tool.Value(value), tool.Value(nested{value}), tool.JSON(json.RawMessage(want)))
	if bytes.Contains(body, []byte(`\u003c`)) || bytes.Contains(body, []byte(`\u0026`)) {
		t.Errorf("the body has escapes of HTML: %s", body)
	}
	sameText(t, `{"Code":`+want+`}`, tool.Value(inner{nested{value}}), tool.Value(&inner{nested{value}}))
}

func errorInJSON(t *testing.T) {
	const text = "open \"C:\\new\"\n\t{\"error\": 'x'}\u2028 </script> \x07"
	w := quick(t, gives("t", tool.Error(text)), gives("u", tool.Result{Error: text}))
	for _, a := range w.all() {
		if a.text != text || a.whole != text {
			t.Errorf("%s: shown %q, kept %q", a.call.Tool, a.text, a.whole)
		}
	}
	w.look(func(s *sqlite.Store) {
		events, err := s.Events(t.Context(), talk, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if !json.Valid(e.Data) {
				t.Errorf("the event %s is no JSON: %s", e.Kind, e.Data)
			}
		}
	})
	if raw, err := os.ReadFile(filepath.Join(w.bodies, "002.json")); err != nil || !json.Valid(raw) {
		t.Errorf("the body: %v", err)
	}
}
