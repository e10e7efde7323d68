package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

// Law 1 and 2: a text reaches the client as it is, and what is stored is what was sent.
func TestLaw01VerbatimOverMCP(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"html": `<b>&amp; "quoted" \ back</b>`, "lines": "a\r\nb\tc\n", "separators": "x\u2028y\u2029z\u0085",
		"json": `{"b":1, "a":9007199254740993}`, "nan": `{"mean": NaN, "max": Infinity}`, "empty": "", "emoji": "👩‍👩‍👧 é",
		"escape": `\u003c\ud83d`,
	}
	var tools []tool.Tool
	for name, text := range texts {
		tools = append(tools, gives("t_"+name, tool.Text(text)))
	}
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{Tools: tools}), "2025-11-25")
	for name, text := range texts {
		a := w.call("t_"+name, `{}`)
		if d := cmp.Diff(text, a.text()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		if strings.Contains(a.raw, `\u003cb`) || strings.Contains(a.raw, `\u0026`) {
			t.Errorf("%s is escaped on the wire: %s", name, a.raw)
		}
		shown := stored(t, store, a.Result.Meta["weir/result"])
		if d := cmp.Diff(text, shown); d != "" {
			t.Errorf("%s is stored otherwise (-want +got):\n%s", name, d)
		}
	}
	w.leave()
	sound(t, store)
}

// What comes as text that no wire takes becomes U+FFFD or U+2400, once.
func TestTextIsAlwaysUTF8(t *testing.T) {
	t.Parallel()
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{
		gives("nul", tool.Text("a\x00b")), gives("invalid", tool.Text("a\xffb")), gives("lone", tool.JSON([]byte(`{"s":"\ud83d"}`))),
	}}), "2025-11-25")
	for name, want := range map[string]string{"nul": "a␀b", "invalid": "a\uFFFDb", "lone": `{"s":"\ufffd"}`} {
		if d := cmp.Diff(want, w.call(name, `{}`).text()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// Structured content stands on the wire byte for byte, and once more as text.
func TestStructuredContentIsExact(t *testing.T) {
	t.Parallel()
	exact := map[string]string{
		"order": `{"zeta":1,"alpha":2}`, "big": `{"n":9007199254740993,"m":-18446744073709551615}`,
		"digits": `{"a":1.0,"b":-0,"c":1e400,"d":1E+2}`, "html": `{"s":"<b>&</b> and \u003c"}`,
		"nothing": `{"a":null,"b":[],"c":{},"d":"","e":0,"f":false}`, "twice": `{"a":1,"a":2}`,
		"separators": "{\"s\":\"x\u2028y\"}",
	}
	var tools []tool.Tool
	for name, raw := range exact {
		tools = append(tools, gives("t_"+name, tool.Result{Structured: json.RawMessage(raw)}))
	}
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: tools}), "2025-11-25")
	for name, raw := range exact {
		a := w.call("t_"+name, `{}`)
		if !strings.Contains(a.raw, `"structuredContent":`+raw) {
			t.Errorf("%s: want %s on the wire, got %s", name, raw, a.raw)
		}
		if d := cmp.Diff(raw, a.text()); d != "" {
			t.Errorf("%s as text (-want +got):\n%s", name, d)
		}
	}
}

// Absent, null, scalar and array: only objects go to clients of the revisions that know only objects, and
// the text always has it.
func TestWhichStructuredContentIsSent(t *testing.T) {
	t.Parallel()
	both := tool.Text("three items")
	both.Structured = json.RawMessage("{ \"n\": 3 }")
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{
		gives("absent", tool.Text("x")), gives("null", tool.Result{Structured: []byte("null")}),
		gives("array", tool.Result{Structured: []byte("[1, 2]")}), gives("both", both),
		gives("failed", tool.Result{IsError: true, Error: "no", Structured: []byte(`{"code":7}`)}),
	}}), "2025-06-18")
	got := map[string]string{}
	for _, name := range []string{"absent", "null", "array", "both", "failed"} {
		a := w.call(name, `{}`)
		got[name] = fmt.Sprintf("%d %q %s %v", len(a.Result.Content), a.text(), a.Result.StructuredContent, a.Result.IsError)
	}
	want := map[string]string{
		"absent": `1 "x"  false`, "null": `1 "null"  false`, "array": `1 "[1,2]"  false`,
		"both": `2 "three items\n{\"n\":3}" {"n":3} false`, "failed": `1 "no" {"code":7} true`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What does not fit the tool's own schema is never sent as a success, says where, and is not lost.
func TestDriftIsAnError(t *testing.T) {
	t.Parallel()
	output := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"price":{"type":"number"},"in_stock":{"type":"boolean"}},` +
		`"required":["name","price","in_stock"]}`)
	declares := func(t tool.Tool) tool.Tool {
		t.Output = output
		return t
	}
	fits := `{"price":9.99,"in_stock":false,"name":"widget"}`
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{
		declares(gives("fits", tool.Result{Structured: []byte(fits)})),
		declares(gives("drifts", tool.Result{Structured: []byte(`{"price":"9.99","in_stock":"no"}`)})),
		declares(gives("misses", tool.Text("only text"))),
		declares(gives("fails", tool.Error("not found"))),
		gives("broken", tool.Result{Structured: []byte(`{"a":`)}),
	}}), "2025-11-25")
	if a := w.call("fits", `{}`); a.Result.IsError || string(a.Result.StructuredContent) != fits {
		t.Errorf("what fits came as %s", a.raw)
	}
	for name, words := range map[string][]string{
		"drifts": {"at /price: expected number, received string", "at /in_stock: expected boolean, received string", "name", `"9.99"`},
		"misses": {"no structured content", "only text"}, "fails": {"not found"}, "broken": {"no JSON", `{"a":`},
	} {
		a := w.call(name, `{}`)
		if !a.Result.IsError || a.Result.StructuredContent != nil {
			t.Errorf("%s came as %s", name, a.raw)
		}
		for _, word := range words {
			if !strings.Contains(a.text(), word) {
				t.Errorf("%s: %q does not say %q", name, a.text(), word)
			}
		}
	}
}

// A line planted in a result over the cap is found with the calls that its preview names.
func TestALongResultIsReadThroughTheSameServer(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for n := 1; n <= 20_000; n++ {
		if n == 12_345 {
			b.WriteString("the planted needle <&>\n")
			continue
		}
		fmt.Fprintf(&b, "line %d of many\n", n)
	}
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{Tools: []tool.Tool{gives("long", tool.Text(b.String()))}}), "2025-11-25")
	first := w.call("long", `{}`)
	path := "tool-results/r1-1-long.txt"
	if got := first.Result.Meta["weir/path"]; got != path {
		t.Errorf("path is %q", got)
	}
	for _, word := range []string{path, "workspace--read", "workspace--grep", "line 1 of many", "line 20000 of many"} {
		if !strings.Contains(first.text(), word) {
			t.Errorf("the preview does not say %q", word)
		}
	}
	if n := len([]rune(first.text())); n > 24_000 {
		t.Errorf("the preview has %d characters", n)
	}
	if got := w.call("workspace--grep", `{"pattern":"needle","path":"`+path+`"}`).text(); !strings.Contains(got, path+":12345:the planted needle <&>") {
		t.Errorf("grep gave %s", got)
	}
	if got := w.call("workspace--read", `{"path":"`+path+`","offset":12345,"limit":1}`).text(); !strings.Contains(got, "12345\tthe planted needle <&>") {
		t.Errorf("read gave %s", got)
	}
	if got := w.call("results--list", `{}`).text(); !strings.Contains(got, "r1-1") || !strings.Contains(got, "r3-1") {
		t.Errorf("the list is %s", got)
	}
	w.leave()
	sound(t, store)
}

// Structured content over the cap does not come past it.
func TestStructuredContentKeepsToTheCap(t *testing.T) {
	t.Parallel()
	raw := `{"a":"` + strings.Repeat("x", 30_000) + `"}`
	plain, declared := gives("plain", tool.Result{Structured: []byte(raw)}), gives("declared", tool.Result{Structured: []byte(raw)})
	declared.Output = json.RawMessage(`{"type":"object"}`)
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{plain, declared}}), "2025-11-25")
	for name, fails := range map[string]bool{"plain": false, "declared": true} {
		a := w.call(name, `{}`)
		if len(a.raw) > 27_000 || a.Result.StructuredContent != nil || a.Result.IsError != fails || a.Result.Meta["weir/path"] == "" {
			t.Errorf("%s: %d bytes, error %v, path %q", name, len(a.raw), a.Result.IsError, a.Result.Meta["weir/path"])
		}
		if fails && !strings.HasPrefix(a.text(), "declared did its work. Its result has 30008 characters, more than the 24000 that are sent") {
			t.Errorf("the text is %.200s", a.text())
		}
	}
}

func TestBlocksKeepTheirOrderAndImages(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG\r\n\x1a\n0000IHDR")
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{gives("blocks", tool.Blocks(
		tool.Content{Type: "text", Text: "before"}, tool.Content{Type: "image", Data: png}, tool.Content{Type: "text", Text: "after"},
	))}}), "2025-11-25")
	a := w.call("blocks", `{}`)
	if len(a.Result.Content) != 2 || a.Result.Content[1].Type != "image" || a.Result.Content[1].MIMEType != "image/png" {
		t.Fatalf("got %s", a.raw)
	}
	if got := a.text(); !strings.HasPrefix(got, "before\n[image: image/png") || !strings.HasSuffix(got, "\nafter") {
		t.Errorf("text is %q", got)
	}
}

// A tool whose list entry would break a client's whole list is refused when the server is made.
func TestNewRefusesWhatWouldBreakAList(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	with := func(schema, output string) tool.Tool {
		x := gives("x", tool.Text(""))
		x.Schema, x.Output = json.RawMessage(schema), json.RawMessage(output)
		return x
	}
	for name, c := range map[string]struct {
		tools []tool.Tool
		want  string
	}{
		"array output": {[]tool.Tool{with(`{"type":"object"}`, `{"type":["null","array"]}`)}, "output schema must have"},
		"no root":      {[]tool.Tool{with(`{"properties":{}}`, "")}, `must have "type":"object"`},
		"twice":        {[]tool.Tool{with("", ""), with("", "")}, "two tools are named x"},
		"taken":        {[]tool.Tool{gives("workspace--read", tool.Text(""))}, "two tools are named workspace--read"},
		"remote":       {[]tool.Tool{with(`{"type":"object"}`, `{"type":"object","$ref":"https://example.com/x"}`)}, "output schema of tool x"},
	} {
		if _, err := server.New(store, server.Config{Tools: c.tools}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	if _, err := server.New(store, server.Config{MaxChars: 10}); err == nil {
		t.Error("a cap of 10 characters was taken")
	}
}

// The list has one order, and its schemas are the tools' own bytes.
func TestTheListOfToolsIsFixed(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"zeta":{"type":"integer","maximum":9007199254740993},"alpha":{"enum":["<&>"]}}}`
	z := gives("zz", tool.Text(""))
	z.Schema = json.RawMessage(schema)
	list := func() string {
		w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{z, gives("aa", tool.Text(""))}}), "2025-11-25")
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		return w.next()
	}
	first := list()
	if !strings.Contains(first, `"inputSchema":`+schema) {
		t.Errorf("the schema changed: %s", first)
	}
	last := -1
	for _, name := range []string{"aa", "results--list", "workspace--glob", "workspace--grep", "workspace--list", "workspace--read", "zz"} {
		at := strings.Index(first, `"name":"`+name+`"`)
		if at < last {
			t.Errorf("%s stands out of order", name)
		}
		last = at
	}
	if again := list(); again != first {
		t.Errorf("another server lists otherwise:\n%s\n%s", first, again)
	}
}

// stored reads what was shown for a result, from the newest conversation.
func stored(t *testing.T, store storeReader, id string) string {
	t.Helper()
	all, err := store.Conversations(t.Context(), 1)
	if err != nil || len(all) == 0 {
		t.Fatal("no conversation", err)
	}
	r := resultOf(t, store, all[0].ID, id)
	if r.Same {
		return string(r.Whole)
	}
	return string(r.Shown)
}

// Redaction happens before anything is stored or sent.
func TestRedact(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{
		Tools: []tool.Tool{gives("secret", tool.Text("key 12345"))},
		Redact: func(_ context.Context, _ tool.Call, r tool.Result) tool.Result {
			r.Data = strings.ReplaceAll(r.Data.(string), "12345", "…")
			return r
		},
	}), "2025-11-25")
	a := w.call("secret", `{}`)
	if got := stored(t, store, "r1-1"); a.text() != "key …" || got != "key …" {
		t.Errorf("sent %q, stored %q", a.text(), got)
	}
}
