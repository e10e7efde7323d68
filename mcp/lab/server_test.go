package lab_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/lab"
	"github.com/weir-run/weir/mcp/server"
)

// TestMain is the lab over stdio when it is started as a child.
func TestMain(m *testing.M) {
	if tools := os.Getenv("WEIR_LAB_CHILD"); tools != "" {
		offered := lab.All()
		if tools == "eight" {
			offered = lab.Matrix()
		}
		if err := lab.ServeStdio(context.Background(), lab.Protocol("test", offered), os.Stdin, os.Stdout, nil); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// ways gives a set of Weir's own client for each way in which the lab can be reached, or for those of these
// names, by its name.
func ways(t *testing.T, tools []lab.Tool, names ...string) map[string]*client.Set {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h, err := server.Mount(lab.Protocol("test", tools), server.HTTPConfig{Open: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	all := map[string]*client.Set{}
	for name, config := range map[string]string{
		"stdio 2026-07-28":          fmt.Sprintf(`{"mcpServers":{"lab":{"command":%q,"env":{"WEIR_LAB_CHILD":"1"}}}}`, self),
		"stdio 2025-11-25":          fmt.Sprintf(`{"mcpServers":{"lab":{"command":%q,"env":{"WEIR_LAB_CHILD":"1"},"protocol":"2025-11-25"}}}`, self),
		"stateful HTTP 2025-11-25":  fmt.Sprintf(`{"mcpServers":{"lab":{"url":%q,"protocol":"2025-11-25"}}}`, web.URL+"/mcp"),
		"stateful HTTP 2025-06-18":  fmt.Sprintf(`{"mcpServers":{"lab":{"url":%q,"protocol":"2025-06-18"}}}`, web.URL+"/mcp"),
		"stateless HTTP 2026-07-28": fmt.Sprintf(`{"mcpServers":{"lab":{"url":%q}}}`, web.URL+"/mcp"),
	} {
		if len(names) == 0 || slices.Contains(names, name) {
			all[name] = connect(t, config)
		}
	}
	return all
}

func connect(t *testing.T, config string) *client.Set {
	t.Helper()
	c, err := client.Parse([]byte(config), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	set, err := client.Connect(t.Context(), c, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	for _, s := range set.Servers() {
		if s.Err != nil {
			t.Fatal(s.Err)
		}
	}
	return set
}

// The bytes on the wire are those of the matrix, over every transport and revision; 2026-07-28 has its
// resultType in front and nothing else.
func TestTheMatrixOnTheWire(t *testing.T) {
	tools := lab.All()
	for name, set := range ways(t, tools) {
		t.Run(name, func(t *testing.T) {
			revision := set.Servers()[0].Protocol
			if !strings.HasSuffix(name, revision) {
				t.Errorf("it speaks %s", revision)
			}
			for _, tl := range tools {
				raw, refused, err := set.CallRaw(t.Context(), "lab", tl.Name, json.RawMessage(`{}`))
				if err != nil || refused != nil {
					t.Errorf("%s: %v, %v", tl.Name, err, refused)
					continue
				}
				want := string(tl.Result)
				if revision >= "2026-07-28" {
					want = `{"resultType":"complete",` + want[1:]
				}
				if string(raw) != want {
					t.Errorf("%s on the wire (-want +got):\n%s", tl.Name, cmp.Diff(clip(want), clip(string(raw))))
				}
			}
		})
	}
	var b strings.Builder
	for _, tl := range tools {
		sent := string(tl.Result)
		if len(sent) > 10_000 {
			sent = fmt.Sprintf("%d bytes, SHA-256 %x", len(sent), sha256.Sum256(tl.Result))
		}
		fmt.Fprintf(&b, "-- %s --\n%s\n%s\n", tl.Name, tl.Output, sent)
	}
	golden(t, "testdata/matrix.txt", []byte(b.String()))
}

func clip(s string) string { return s[:min(len(s), 400)] }

// What a probe says of the eight tools.
func TestProbeOfTheLab(t *testing.T) {
	set := ways(t, lab.Matrix(), "stateless HTTP 2026-07-28")["stateless HTTP 2026-07-28"]
	findings, err := lab.Probe(t.Context(), set, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range findings {
		got[f.Tool] = f.Verdict
		if f.Verdict == lab.Violates && len(f.Detail) != 3 {
			t.Errorf("violations: %q", f.Detail)
		}
	}
	want := map[string]string{
		"no_schema__text_only":                        lab.Agree,
		"no_schema__structured_only":                  lab.Agree,
		"no_schema__text_and_structured":              lab.Agree,
		"with_schema__text_and_structured_matching":   lab.Agree,
		"with_schema__structured_only_no_text":        lab.Agree,
		"with_schema__text_and_structured_mismatched": lab.Disagree,
		"with_schema__structured_violates_schema":     lab.Violates,
		"with_schema__structured_missing":             lab.Missing,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if _, err := lab.Probe(t.Context(), set, []string{"nobody"}, nil); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("a tool that is not there: %v", err)
	}
}

// The verdicts beyond the matrix, and where the two channels of a result disagree.
func TestVerdicts(t *testing.T) {
	set := ways(t, lab.All(), "stateless HTTP 2026-07-28")["stateless HTTP 2026-07-28"]
	for name, want := range map[string]string{
		"no_schema__unknown_block":                      `lost: block 2 is of the type "hologram", which clients do not know`,
		"no_schema__structured_scalar":                  "disagree: the text does not say 7, which is the structured content",
		"no_schema__text_echoes_structured":             "agree: ",
		"no_schema__big_integers":                       "agree: ",
		"no_schema__error_text_and_structured":          `disagree: the text does not say "not_found", which is the structured content's /code; the text does not say "list the widgets first", which is the structured content's /hint`,
		"with_schema__error_structured_violates_schema": "disagree: ",
		"with_schema__text_and_structured_mismatched": "disagree: the text does not say 9.99, which is the structured content's /price; " +
			"the text says 25.00, which the structured content does not",
	} {
		findings, err := lab.Probe(t.Context(), set, []string{"lab--" + name}, nil)
		if err != nil || len(findings) != 1 {
			t.Fatalf("%s: %v, %v", name, findings, err)
		}
		got := findings[0].Verdict + ": " + strings.Join(findings[0].Detail, "; ")
		if name != "with_schema__error_structured_violates_schema" && got != want || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A recorder tells who came and what was called, and leaves a column to fill in.
func TestRecorder(t *testing.T) {
	var out strings.Builder
	r := lab.NewRecorder(&out, lab.Matrix(), false)
	h, err := server.Mount(lab.Protocol("test", lab.Matrix()), server.HTTPConfig{Open: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(r.Handler(h))
	t.Cleanup(web.Close)
	set := connect(t, fmt.Sprintf(`{"mcpServers":{"lab":{"url":%q,"protocol":"2025-11-25"}}}`, web.URL+"/mcp"))
	if _, _, err := set.CallRaw(t.Context(), "lab", "no_schema__text_only", json.RawMessage(`{}`)); err != nil {
		t.Fatal(err)
	}
	column := r.Column()
	for _, want := range []string{"initialize  client \"weir", "revision 2025-11-25", "tools/list", "tools/call  no_schema__text_only {}"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the record lacks %q:\n%s", want, out.String())
		}
	}
	if !strings.Contains(column, "| `no_schema__text_only` | 1 |") || !strings.Contains(column, "weir") || r.Err() != nil {
		t.Errorf("%v\n%s", r.Err(), column)
	}
}

// A client without a handshake is heard too, and each thing it says of itself is told once.
func TestRecorderStateless(t *testing.T) {
	var out strings.Builder
	r := lab.NewRecorder(&out, lab.Matrix(), true)
	h, err := server.Mount(lab.Protocol("test", lab.Matrix()), server.HTTPConfig{Open: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(r.Handler(h))
	t.Cleanup(web.Close)
	set := connect(t, fmt.Sprintf(`{"mcpServers":{"lab":{"url":%q}}}`, web.URL+"/mcp"))
	for range 2 {
		if _, _, err := set.CallRaw(t.Context(), "lab", "no_schema__text_only", json.RawMessage(`{}`)); err != nil {
			t.Fatal(err)
		}
	}
	r.Heard([]byte("no \x1b message"), false)
	filled := r.Filled()
	if !strings.HasPrefix(filled.Client, "weir") || filled.Called[0] != (lab.Count{Tool: "no_schema__text_only", Times: 2}) || filled.Unlisted != 0 {
		t.Errorf("%+v", filled)
	}
	for line := range strings.Lines(out.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %s", line)
		}
	}
}

// Lines that are no messages do not end the connection, and what was asked before the client left is answered.
func TestStdioNoise(t *testing.T) {
	in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
hello?
{"jsonrpc":"2.0","method":"notifications/initialized"}

[]
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"no_schema__structured_only"}}
`
	var out strings.Builder
	var noise []string
	err := lab.ServeStdio(t.Context(), lab.Protocol("test", lab.Matrix()), strings.NewReader(in), &out, func(line []byte, message bool) {
		if !message {
			noise = append(noise, string(line))
		}
	})
	if err != nil || !strings.Contains(out.String(), `"id":2,"result":{"content":[],"structuredContent":{"name":"Widget","price":9.99,"in_stock":false}}`) {
		t.Errorf("%v: %s", err, out.String())
	}
	if d := cmp.Diff([]string{"hello?", "[]"}, noise); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A line that is too long ends the connection with one word about it.
func TestStdioLongLine(t *testing.T) {
	var out strings.Builder
	err := lab.ServeStdio(t.Context(), lab.Protocol("test", nil), strings.NewReader(strings.Repeat("x", lab.MaxLine+1)), &out, nil)
	if err == nil || err.Error() != "serve the lab: a line is longer than 1048576 bytes" {
		t.Errorf("%v", err)
	}
}

// A lab that is left by its client ends at once, also when the client had subscribed to changes.
func TestStdioEnds(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`
	in := `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}
{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + meta + `}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no_schema__text_only",` + meta + `}}
`
	var out strings.Builder
	began := time.Now()
	if err := lab.ServeStdio(t.Context(), lab.Protocol("test", lab.Matrix()), strings.NewReader(in), &out, nil); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %s", took)
	}
	if !strings.Contains(out.String(), `"id":3,"result":{"resultType":"complete","content":[{`) || !strings.Contains(out.String(), "subscriptions/acknowledged") {
		t.Errorf("it wrote: %s", out.String())
	}
}

// Calls before the list are counted, and calls of what the lab does not have are not.
func TestRecorderUnlisted(t *testing.T) {
	var out strings.Builder
	r := lab.NewRecorder(&out, lab.Matrix(), false)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"no_schema__text_only"}}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"nobody","arguments":{"a": 1}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"no_schema__text_only"}}`,
		`{"jsonrpc":"2.0","id":5,"result":{}}`,
		`{"jsonrpc":"2.0","method":5}`,
	} {
		r.Heard([]byte(line), true)
	}
	want := "tools/call  no_schema__text_only\ntools/call  nobody {\"a\":1}\ntools/list\ntools/call  no_schema__text_only\n" +
		`answer  {"jsonrpc":"2.0","id":5,"result":{}}` + "\n" + `no message  "{\"jsonrpc\":\"2.0\",\"method\":5}"` + "\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if f := r.Filled(); f.Unlisted != 2 || f.Called[0].Times != 2 || !strings.Contains(r.Column(), "Calls before the tools were listed: 2.") {
		t.Errorf("%+v", f)
	}
}

// A second client has listed nothing, whatever the first one did.
func TestRecorderTwoClients(t *testing.T) {
	var out strings.Builder
	r := lab.NewRecorder(&out, lab.Matrix(), false)
	for _, name := range []string{"a", "a", "b"} {
		r.Heard([]byte(`{"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"`+name+`","version":"1"}}}`), true)
		r.Heard([]byte(`{"method":"tools/call","params":{"name":"no_schema__text_only"}}`), true)
		r.Heard([]byte(`{"method":"tools/list"}`), true)
	}
	if f := r.Filled(); f.Unlisted != 2 || f.Client != "b 1" {
		t.Errorf("%+v", f)
	}
}

// broken is a writer that fails.
type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// A record that cannot be written is told of at the end.
func TestRecorderFails(t *testing.T) {
	r := lab.NewRecorder(broken{}, lab.Matrix(), false)
	r.Heard([]byte(`{"method":"ping"}`), true)
	if err := r.Err(); err == nil || err.Error() != "write the record: the disk is full" {
		t.Errorf("%v", err)
	}
}

// A tool that says that it destroys something is called only by its name; one that needs arguments, an entry that
// is no tool, and a server that is down are findings.
func TestProbeOfOthers(t *testing.T) {
	called := map[string]int{}
	s := mcp.NewServer(&mcp.Implementation{Name: "other", Version: "1"}, nil)
	yes := true
	for _, name := range []string{"erase", "fails", "reads"} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{DestructiveHint: &yes}},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				called[name]++
				if name == "fails" {
					return nil, &jsonrpc.Error{Code: -32000, Message: "out of order"}
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil
			})
	}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			out, err := next(ctx, method, r)
			if list, ok := out.(*mcp.ListToolsResult); ok {
				for _, tl := range list.Tools {
					if tl.Name != "erase" {
						tl.Annotations = nil // a hint that was not given is not a yes
					}
				}
				list.Tools = append(list.Tools, &mcp.Tool{})
			}
			return out, err
		}
	})
	h, err := server.Mount(s, server.HTTPConfig{Open: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	c := client.Config{Servers: map[string]client.Server{"down": {Command: "there-is-no-such-program"}, "up": {URL: web.URL + "/mcp"}}}
	set, err := client.Connect(t.Context(), c, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	for _, names := range [][]string{nil, {"erase"}} {
		findings, err := lab.Probe(t.Context(), set, names, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range findings {
			got = append(got, f.Title()+" "+f.Verdict)
		}
		want := []string{"down failed", "up lost", "up--erase skipped", "up--fails failed", "up--reads agree"}
		if names != nil {
			want = []string{"down failed", "up lost", "up--erase agree"}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q (-want +got):\n%s", names, d)
		}
		if called["erase"] != len(names) {
			t.Errorf("%q: erase was called %d times", names, called["erase"])
		}
	}
}
