package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// excerptCases are what is shown of a text that is too long: topics truncation-*, truncated-json, spill-*,
// single-line where it is the spill's, and base64-image where it is text.
func excerptCases() map[string]runner {
	return map[string]runner{
		"C001": cutAtCharacter,
		"C002": statedBytes,
		"C017": trueTotals,
		"C018": marksTheGap,
		"C022": ownFile,
		"C026": overlongElement,
		"C027": noJSON,
		"C043": realNewlines,
		"C053": encodedBinary,
	}
}

// capped is an output with the cap that the report had.
type capped struct {
	output
	CapBytes     int    `json:"cap_bytes"`
	CapChars     int    `json:"cap_chars"`
	CapLines     int    `json:"cap_lines"`
	CaptureBytes int    `json:"capture_cap_bytes"`
	ModelBytes   int    `json:"model_cap_bytes"`
	Stream       string `json:"stream"`
	Exit         int    `json:"exit"`
}

// limit is a tool's inline cap in characters, and nothing else.
func limit(chars int) tool.Traits { return tool.Traits{MaxChars: chars} }

// inPieces cuts a text as a command writes it, without regard to characters.
func inPieces(text string, size int) (pieces [][]byte) {
	for p := []byte(text); len(p) > 0; p = p[min(size, len(p)):] {
		pieces = append(pieces, p[:min(size, len(p))])
	}
	return pieces
}

func cutAtCharacter(t *testing.T, c field) {
	in := inputOf[capped](t, c)
	text := in.build(t)
	// The law first: no cap is below 1,000 characters and bytes are not what is counted, so 250 characters
	// are shown whole whatever the tool asks for.
	if _, err := round.New(nil, round.Config{Tools: []tool.Tool{gives("t", tool.Text(text), limit(in.CapBytes))}}); err == nil {
		t.Errorf("a cap of %d is accepted", in.CapBytes)
	}
	sameText(t, text, tool.Text(text))
	// What the report is about: a cut that falls on any byte of a character, at both ends of the gap.
	var tools []tool.Tool
	for shift := range 8 {
		body := strings.Repeat("a", 990+shift) + strings.Repeat("─", 600) + strings.Repeat("b", shift) + strings.Repeat("𝄞", 600)
		tools = append(tools,
			gives(fmt.Sprint("text", shift), tool.Text(body), limit(1000)),
			prints(fmt.Sprint("stream", shift), inPieces(body, 7), 0, limit(1000)))
	}
	var calls []scripted.Call
	for _, x := range tools {
		calls = append(calls, asks("", x.Name, "{}"))
	}
	for _, a := range newWorld(t, tools...).round(calls...) {
		excerpt(t, a, 1000)
		if strings.ContainsRune(a.text, utf8.RuneError) {
			t.Errorf("%s: a character was cut", a.call.Tool)
		}
	}
}

func statedBytes(t *testing.T, c field) {
	in := inputOf[capped](t, c)
	text := in.build(t)
	if in.Stream != "stdout" {
		t.Fatalf("stream %q", in.Stream)
	}
	w := newWorld(t, gives("text", tool.Text(text), limit(in.CapBytes)), prints("sh", inPieces(text, 1000), 0, limit(in.CapBytes)))
	for _, a := range w.round(asks("", "text", "{}"), asks("", "sh", "{}")) {
		n := excerpt(t, a, in.CapBytes) // which holds the stated bytes to those of the file
		if n.size[2] != int64(len(a.whole)) || n.size[2] < int64(in.Total) {
			t.Errorf("%s: %d bytes are stated, the output had %d", a.call.Tool, n.size[2], in.Total)
		}
	}
}

func trueTotals(t *testing.T, c field) {
	in := inputOf[capped](t, c)
	text := in.build(t)
	// There is one stage: the spool keeps all that was captured, whatever another system's cap was.
	if in.CaptureBytes >= len(text) {
		t.Fatal("the output is not over the capture's cap")
	}
	w := newWorld(t, prints("sh", inPieces(text, 32<<10), 0, limit(in.ModelBytes)), gives("text", tool.Text(text), limit(in.ModelBytes)))
	got := w.round(asks("", "sh", "{}"), asks("", "text", "{}"))
	if got[0].whole != text+"[exit 0]" || got[1].whole != text {
		t.Error("the file has not the whole output")
	}
	for i, size := range [][3]int64{{196609, 3145736, 3145736}, {196608, 3145728, 3145728}} {
		if d := cmp.Diff(size, excerpt(t, got[i], in.ModelBytes).size); d != "" {
			t.Errorf("lines, characters, bytes as stated (-want +got):\n%s", d)
		}
	}
}

func marksTheGap(t *testing.T, c field) {
	in := inputOf[capped](t, c)
	text := in.build(t)
	// There are no caps in lines; 500 of these lines are 3,500 characters.
	max := in.CapLines * len("filler\n")
	w := newWorld(t, gives("sh", tool.Text(text), limit(max)))
	a := w.call("sh", "{}")
	n := excerpt(t, a, max)
	if !strings.HasPrefix(a.text, "line 1\nline 2\nline 3\nfiller\n") || !strings.HasSuffix(a.text, "filler\nlast line\n") {
		t.Errorf("both ends are not shown: %q", a.text)
	}
	if n.lines != 2900 || n.path != "tool-results/r1-1-sh.txt" {
		t.Errorf("the notice says %d lines at %s", n.lines, n.path)
	}
	// The calls that stand ready give what is left out, from its first line on, and nothing twice.
	_, texts := w.follow(n.read, 20)
	rest := strings.Join(texts, "")
	if want := strings.TrimPrefix(text, n.head); rest != want {
		t.Errorf("reading on gives %d characters, want the %d after the head", len(rest), len(want))
	}
	var grep struct{ Path, Pattern string }
	if err := json.Unmarshal([]byte(n.grep), &grep); err != nil || grep.Path != n.path {
		t.Fatalf("the ready search: %s %v", n.grep, err)
	}
	found := w.call("workspace--grep", `{"path":"`+grep.Path+`","pattern":"^l(ine|ast)"}`)
	for _, want := range []string{"4 matches in 1 file ", n.path + ":3:line 3\n", n.path + ":2900:last line\n"} {
		if !strings.Contains(found.text, want) {
			t.Errorf("the search does not say %q: %s", want, found.text)
		}
	}
}

func ownFile(t *testing.T, c field) {
	events := story(t, c, "call", "result", "call", "result_gen")
	dump := join(events[3].Parts)
	results := []tool.Result{tool.Text(events[1].Text), tool.Text(dump)}
	// One round after the other, and both calls in one round.
	w := newWorld(t, inTurn("sh", results))
	first, second := w.call("sh", string(events[0].Args)), w.call("sh", string(events[2].Args))
	w = newWorld(t, gives("ls", results[0]), gives("dump", results[1]))
	both := w.round(asks("c1", "ls", "{}"), asks("c2", "dump", "{}"))
	for i, pair := range [][2]answer{{first, second}, {both[0], both[1]}} {
		if pair[0].text != "a.txt\n" || pair[0].file != "" {
			t.Errorf("%d: the listing is shown as %q, kept as %q", i, pair[0].text, pair[0].file)
		}
		n := excerpt(t, pair[1], 24_000) // the head is the beginning of the file of this very call
		if pair[1].whole != dump || strings.Contains(n.head, "a.txt") {
			t.Errorf("%d: the dump's file has %d bytes, want %d", i, len(pair[1].whole), len(dump))
		}
	}
}

func overlongElement(t *testing.T, c field) {
	in := inputOf[capped](t, c)
	text := in.build(t)
	w := newWorld(t, gives("text", tool.Text(text)), gives("json", tool.JSON(json.RawMessage(text))))
	w.config.Calls.MaxChars = in.CapBytes
	for _, a := range w.round(asks("", "text", "{}"), asks("", "json", "{}")) {
		n := excerpt(t, a, in.CapBytes)
		// The law: whole or labelled. A part of JSON is no JSON, it is an excerpt that says what it is of.
		if json.Valid([]byte(a.text)) || !strings.HasPrefix(n.json, "an array") {
			t.Errorf("%s: the excerpt is JSON: %v, of the whole it says %q", a.call.Tool, json.Valid([]byte(a.text)), n.json)
		}
		if !strings.HasPrefix(a.text, `[{"notes":"nnn`) || !strings.HasSuffix(a.text, `nnn"}]`) || !json.Valid([]byte(a.whole)) {
			t.Errorf("%s: both ends are not shown, or the whole is not kept", a.call.Tool)
		}
	}
}

func noJSON(t *testing.T, c field) {
	in := inputOf[capped](t, c)
	text := in.build(t)
	w := newWorld(t, gives("text", tool.Text(text), limit(in.CapChars)), gives("json", tool.JSON(json.RawMessage(text)), limit(in.CapChars)))
	for _, a := range w.round(asks("", "text", "{}"), asks("", "json", "{}")) {
		n := excerpt(t, a, in.CapChars)
		// Nobody who begins to read it as JSON comes to the end of a value, in the whole or in a part.
		for _, part := range []string{a.text, n.head, n.tail} {
			var v any
			if err := json.NewDecoder(strings.NewReader(part)).Decode(&v); err == nil {
				t.Errorf("%s: a part of the preview is taken for JSON: %.60s", a.call.Tool, part)
			}
		}
		if !strings.HasPrefix(n.json, "an object") {
			t.Errorf("%s: of the whole the notice says %q", a.call.Tool, n.json)
		}
	}
}

func realNewlines(t *testing.T, c field) {
	in := inputOf[capped](t, c)
	text := in.build(t)
	w := newWorld(t, gives("text", tool.Text(text)), gives("value", tool.Value(text)), gives("json", tool.JSON(quoted(t, text))))
	w.config.Calls.MaxChars = in.CapBytes
	for _, a := range w.round(asks("", "text", "{}"), asks("", "value", "{}"), asks("", "json", "{}")) {
		n := excerpt(t, a, in.CapBytes)
		if a.whole != text || n.lines != 20_000 || a.row.Lines != 20_000 {
			t.Errorf("%s: the file has %d bytes, the notice says %d lines, the row %d", a.call.Tool, len(a.whole), n.lines, a.row.Lines)
		}
	}
	page := w.call("workspace--read", `{"path":"tool-results/r1-1-text.txt","offset":-1}`)
	if h, body := pageOf(t, page); !strings.Contains(h.first, "lines 20000–20000 of 20000") || body != "20000\trow\n" {
		t.Errorf("the last line: %q", page.text)
	}
}

func quoted(t *testing.T, s string) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func encodedBinary(t *testing.T, c field) {
	text := inputOf[output](t, c).build(t)
	w := newWorld(t, gives("json", tool.JSON(json.RawMessage(text))), gives("text", tool.Text(text)))
	got := w.round(asks("", "json", "{}"), asks("", "text", "{}"))
	// JSON: the run stands as what it is, with its type and its size, and is kept as the file that it is.
	const want = `{"type":"image","format":"png","data":"[base64: image/png, ~1.4MB, tool-results/r1-1-json.png]"}`
	if got[0].text != want || got[0].whole != text {
		t.Errorf("shown %q, %d bytes kept", got[0].text, len(got[0].whole))
	}
	if data := w.kept("tool-results/r1-1-json.png"); !strings.HasPrefix(data, "\x89PNG\r\n\x1a\n") || len(data) != 1500008 {
		t.Errorf("the image is kept as %d bytes, %.10q", len(data), data)
	}
	// A string is left alone (law 1): it is kept whole, but its preview shows no such run and says its size.
	if !strings.Contains(got[1].text, "[base64: 2000011 characters, not shown]") || got[1].whole != text {
		t.Errorf("shown %.300q, %d bytes kept", got[1].text, len(got[1].whole))
	}
	for _, a := range got {
		if bytes.Contains([]byte(a.text), bytes.Repeat([]byte("A"), 64)) {
			t.Errorf("%s: a run of base64 is shown", a.call.Tool)
		}
	}
}
