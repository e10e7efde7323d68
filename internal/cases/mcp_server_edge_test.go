package cases

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

// mcpServerEdges are the edge cases of MCP results and of the protocol that concern a server, by their
// number, and the items of the families F and G that do.
func mcpServerEdges() map[string]item {
	all := map[string]item{
		"10": mcpServerSmallValues, "11": mcpServerScalars, "18": mcpServerEmpty, "19": mcpServerViolations,
		"20": mcpServerMissing, "21": mcpServerErrors, "36": mcpServerBulk, "38": mcpServerErrors, "42": mcpServerCap,
		"54": mcpServerTokens, "55": mcpServerLongLine, "F05": mcpServerSmallValues, "F06": mcpServerSmallValues,
		"F07": mcpServerAllBlocks, "G03": mcpServerProgress, "C148": mcpServerNoise,
	}
	return all
}

// mcpServerElsewhere are those that the package's own tests hold.
var mcpServerElsewhere = map[string]elsewhere{
	"09":  {file: "mcp/server/result_test.go", test: "TestWhichStructuredContentIsSent", says: "null"},
	"12":  {file: "mcp/server/result_test.go", test: "TestStructuredContentIsExact", says: "twice"},
	"13":  {waits: "mcp/client: what is read is a client's; a server writes its own names"},
	"14":  {file: "mcp/server/result_test.go", test: "TestTextIsAlwaysUTF8", says: "lone"},
	"15":  {file: "mcp/server/result_test.go", test: "TestStructuredContentIsExact", says: "1e400"},
	"16":  {file: "mcp/server/result_test.go", test: "TestLaw01VerbatimOverMCP", says: "html"},
	"17":  {file: "mcp/server/result_test.go", test: "TestStructuredContentIsExact", says: "order"},
	"24":  {file: "mcp/server/result_test.go", test: "TestNewRefusesWhatWouldBreakAList", says: "remote"},
	"29":  {file: "mcp/server/result_test.go", test: "TestNewRefusesWhatWouldBreakAList", says: "array output"},
	"30":  {file: "mcp/server/result_test.go", test: "TestNewRefusesWhatWouldBreakAList", says: "no root"},
	"43":  {file: "mcp/server/http_test.go", test: "TestEveryRevisionOverHTTP"},
	"46":  {file: "mcp/server/http_test.go", test: "TestAClosedResponseIsTheCancelOfTheStatelessRevision"},
	"47":  {file: "mcp/server/result_test.go", test: "TestTheListOfToolsIsFixed"},
	"48":  {file: "mcp/server/call_test.go", test: "TestWhatFailsCostsOneCall", says: "panics"},
	"53":  {file: "mcp/server/result_test.go", test: "TestStructuredContentIsExact"},
	"G07": {file: "mcp/server/frame_test.go", test: "TestEveryRequestHasOneAnswer"},
}

// TestMCPServerEdge runs every item as a subtest of its number.
func TestMCPServerEdge(t *testing.T) {
	t.Parallel()
	runItems(t, mcpServerEdges())
}

// TestMCPServerEdgesAreComplete holds that no number is left out without a word.
func TestMCPServerEdgesAreComplete(t *testing.T) {
	t.Parallel()
	complete(t, []string{
		"09", "10", "11", "12", "13", "14", "15", "16", "17", "18", "19", "20", "21", "24", "29", "30", "36", "38", "42", "43",
		"46", "47", "48", "53", "54", "55", "F05", "F06", "F07", "G03", "G07", "C148",
	}, mcpServerEdges(), mcpServerElsewhere)
}

// mcpServed is what a client was sent for one call.
type mcpServed struct {
	Content           []struct{ Type, Text, Data string }
	StructuredContent json.RawMessage
	IsError           bool
	Meta              map[string]any `json:"_meta"`
	raw               string
}

func (s mcpServed) text() string {
	var all []string
	for _, c := range s.Content {
		if c.Type == "text" {
			all = append(all, c.Text)
		}
	}
	return strings.Join(all, "\n")
}

// mcpServeCalls has a client make calls, one after another, at a server of these tools, and gives what it was
// sent for each. What was stored must hold together, and every line that the server wrote be a message.
func mcpServeCalls(t *testing.T, cfg server.Config, calls ...string) []mcpServed {
	t.Helper()
	ctx := context.Background()
	store, err := sqlite.Open(ctx, t.TempDir(), sqlite.Config{Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	s, err := server.New(store, cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(ctx) }()
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"case","version":"1"}}}` + "\n")
	in.WriteString(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
	for i, call := range calls {
		name, args, _ := strings.Cut(call, " ")
		if args == "" {
			args = "{}"
		}
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", i, name, args)
	}
	var out bytes.Buffer
	if err := s.ServeStdio(ctx, strings.NewReader(in.String()), &out); err != nil {
		t.Fatal(err)
	}
	all := make([]mcpServed, len(calls))
	for line := range bytes.Lines(out.Bytes()) {
		var m struct {
			JSONRPC string
			ID      json.RawMessage
			Result  json.RawMessage
		}
		if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
			t.Fatalf("the server wrote %q: %v", line, err)
		}
		var n int
		if json.Unmarshal(m.ID, &n) != nil {
			continue
		}
		if err := json.Unmarshal(m.Result, &all[n]); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all[n].raw = string(line)
	}
	stored, err := store.Conversations(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range stored {
		if problems, err := history.Verify(ctx, store, c.ID); err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %v", c.ID, problems, err)
		}
	}
	return all
}

func alwaysGives(name string, r tool.Result) tool.Tool {
	return tool.Tool{Name: name, Description: "A tool of the case.", Schema: []byte(`{"type":"object"}`), Run: func(context.Context, tool.Call) (tool.Result, error) { return r, nil }}
}

func mcpOffering(tools ...tool.Tool) server.Config { return server.Config{Tools: tools} }

// Values that are false in some language are values; both channels carry them, once each, in no envelope.
func mcpServerSmallValues(t *testing.T) {
	raw := `{"a":false,"b":0,"c":"","d":[],"e":{},"f":null}`
	got := mcpServeCalls(t, mcpOffering(alwaysGives("small", tool.Result{Structured: []byte(raw)}), alwaysGives("none", tool.Result{Structured: []byte(`{}`)})), "small", "none")
	want := []string{raw, raw, `{}`, `{}`}
	if d := cmp.Diff(want, []string{string(got[0].StructuredContent), got[0].text(), string(got[1].StructuredContent), got[1].text()}); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if len(got[0].Content) != 1 {
		t.Errorf("the text came %d times", len(got[0].Content))
	}
}

// A value that is no object is in the text, and not where clients of this revision refuse it.
func mcpServerScalars(t *testing.T) {
	values := []string{`[1,2]`, `7`, `false`, `null`, `1e400`}
	var tools []tool.Tool
	var calls []string
	for i, v := range values {
		tools = append(tools, alwaysGives(fmt.Sprintf("t%d", i), tool.Result{Structured: []byte(v)}))
		calls = append(calls, fmt.Sprintf("t%d", i))
	}
	for i, r := range mcpServeCalls(t, mcpOffering(tools...), calls...) {
		if r.text() != values[i] || strings.Contains(r.raw, "structuredContent") || r.IsError {
			t.Errorf("%s came as %s", values[i], r.raw)
		}
	}
}

// An empty result is a success with an empty text, not one without content.
func mcpServerEmpty(t *testing.T) {
	got := mcpServeCalls(t, mcpOffering(alwaysGives("empty", tool.Text("")), alwaysGives("nothing", tool.Result{}), alwaysGives("blocks", tool.Blocks())), "empty", "nothing", "blocks")
	for i, r := range got {
		if r.IsError || len(r.Content) != 1 || r.Content[0].Type != "text" || r.text() != "" {
			t.Errorf("%d came as %s", i, r.raw)
		}
	}
}

// mcpDeclaring gives a tool the output schema of a product.
func mcpDeclaring(t tool.Tool) tool.Tool {
	t.Output = []byte(`{"type":"object","properties":{"name":{"type":"string"},"price":{"type":"number"},"in_stock":{"type":"boolean"}},"required":["name","price","in_stock"]}`)
	return t
}

// All violations are named, with what was expected and what came.
func mcpServerViolations(t *testing.T) {
	got := mcpServeCalls(t, mcpOffering(mcpDeclaring(alwaysGives("widget", tool.Result{Structured: []byte(`{"price":"9.99","in_stock":"false"}`)}))), "widget")[0]
	if !got.IsError || got.StructuredContent != nil {
		t.Fatalf("it came as %s", got.raw)
	}
	for _, words := range []string{"/price: expected number, received string", "/in_stock: expected boolean, received string", "name"} {
		if !strings.Contains(got.text(), words) {
			t.Errorf("%q is not said: %s", words, got.text())
		}
	}
}

// What is missing is said, and the text is not lost.
func mcpServerMissing(t *testing.T) {
	got := mcpServeCalls(t, mcpOffering(mcpDeclaring(alwaysGives("widget", tool.Text("the widget costs 9.99")))), "widget")[0]
	if !got.IsError || !strings.Contains(got.text(), "no structured content") || !strings.Contains(got.text(), "the widget costs 9.99") {
		t.Errorf("it came as %s", got.raw)
	}
}

// An error needs no structured content, and keeps what it has; its text is the error.
func mcpServerErrors(t *testing.T) {
	got := mcpServeCalls(t, mcpOffering(
		mcpDeclaring(alwaysGives("bare", tool.Error("not found"))),
		mcpDeclaring(alwaysGives("full", tool.Result{IsError: true, Error: "not found", Structured: []byte(`{"retry_after":7}`)})),
	), "bare", "full")
	for i, structured := range []string{"", `{"retry_after":7}`} {
		if !got[i].IsError || got[i].text() != "not found" || string(got[i].StructuredContent) != structured {
			t.Errorf("%d came as %s", i, got[i].raw)
		}
	}
}

// Base64 in structured content never becomes text.
func mcpServerBulk(t *testing.T) {
	bulk := strings.Repeat("iVBORw0KGgo", 1000)
	got := mcpServeCalls(t, mcpOffering(alwaysGives("bulk", tool.Result{Structured: []byte(`{"image":"` + bulk + `"}`)})), "bulk")[0]
	if strings.Contains(got.text(), bulk[:200]) || !strings.Contains(got.text(), "[base64: ") {
		t.Errorf("the text is %.300s", got.text())
	}
}

// The cap is exact, in characters; one more is kept as a file.
func mcpServerCap(t *testing.T) {
	cfg := mcpOffering(alwaysGives("at", tool.Text(strings.Repeat("é", 2000))), alwaysGives("over", tool.Text(strings.Repeat("é", 2001))))
	cfg.MaxChars = 2000
	got := mcpServeCalls(t, cfg, "at", "over")
	if got[0].Meta["weir/path"] != nil || len([]rune(got[0].text())) != 2000 {
		t.Errorf("at the cap it is %d characters, kept as %v", len([]rune(got[0].text())), got[0].Meta["weir/path"])
	}
	if got[1].Meta["weir/path"] == nil || len([]rune(got[1].text())) > 2000 {
		t.Errorf("over the cap it is %d characters, kept as %v", len([]rune(got[1].text())), got[1].Meta["weir/path"])
	}
}

// Text that some tokenizer takes for a mark of its own is text.
func mcpServerTokens(t *testing.T) {
	text := "hi <|endoftext|> <|im_start|> there"
	if got := mcpServeCalls(t, mcpOffering(alwaysGives("marks", tool.Text(text))), "marks")[0]; got.text() != text {
		t.Errorf("it came as %s", got.raw)
	}
}

// A megabyte in one line comes back as a preview, in time.
func mcpServerLongLine(t *testing.T) {
	began := time.Now()
	got := mcpServeCalls(t, mcpOffering(alwaysGives("line", tool.Text(strings.Repeat("漢", 1_000_000)))), "line")[0]
	if got.Meta["weir/path"] == nil || len([]rune(got.text())) > 24_000 || time.Since(began) > 20*time.Second {
		t.Errorf("it came as %d characters after %s", len([]rune(got.text())), time.Since(began))
	}
}

// Every block of an error is shown, not the first alone.
func mcpServerAllBlocks(t *testing.T) {
	r := tool.Blocks(tool.Content{Type: "text", Text: "first"}, tool.Content{Type: "text", Text: "second"})
	r.IsError = true
	if got := mcpServeCalls(t, mcpOffering(alwaysGives("fails", r)), "fails")[0]; !got.IsError || got.text() != "first\nsecond" {
		t.Errorf("it came as %s", got.raw)
	}
}

// Progress resets the idle limit of a tool, through the server as in the loop; the absolute limit stays.
func mcpServerProgress(t *testing.T) {
	works := func(steps int) tool.Tool {
		w := tool.Tool{Name: fmt.Sprintf("works%d", steps), Description: "Reports and works on.", Schema: []byte(`{"type":"object"}`)}
		w.Idle, w.Timeout = 400*time.Millisecond, time.Second
		w.Run = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			for range steps {
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
					return tool.Result{}, ctx.Err()
				}
				tool.Report(ctx, "on")
			}
			return tool.Text("done"), nil
		}
		return w
	}
	got := mcpServeCalls(t, mcpOffering(works(6), works(60)), "works6", "works60")
	if got[0].text() != "done" || !got[1].IsError || !strings.Contains(got[1].text(), "longer than its limit of 1s") {
		t.Errorf("they came as %s and %s", got[0].raw, got[1].raw)
	}
}

// Whatever a tool gives, every line on the wire is a message.
func mcpServerNoise(t *testing.T) {
	text := "Server starting...\n{\"level\":\"info\"}\n\r\n\x00\x1b[31mred\u2028"
	if got := mcpServeCalls(t, mcpOffering(alwaysGives("noise", tool.Text(text))), "noise")[0]; got.text() != strings.ReplaceAll(text, "\x00", "␀") {
		t.Errorf("it came as %s", got.raw)
	}
}
