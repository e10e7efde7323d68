package gateway_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/gateway"
	"github.com/weir-run/weir/mcp/lab"
	"github.com/weir-run/weir/mcp/server"
)

const token, other = "a-token-of-the-test", "another-token-of-it"

func open(tb testing.TB) *sqlite.Store {
	tb.Helper()
	s, err := sqlite.Open(tb.Context(), tb.TempDir(), sqlite.Config{Synchronous: sqlite.Normal})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

// site serves a server of the protocol over HTTP in one revision.
func site(tb testing.TB, p *mcp.Server, revision string) client.Server {
	tb.Helper()
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return p }, &mcp.StreamableHTTPOptions{
		Stateless: revision >= "2026-07-28", PropagateRequestCancellation: revision >= "2026-07-28",
	})
	s := httptest.NewServer(h)
	tb.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return client.Server{URL: s.URL, Protocol: revision}
}

// front makes a gateway over a store of its own, unless the test has one.
func front(tb testing.TB, store history.Store, cfg gateway.Config, servers map[string]client.Server) *gateway.Gateway {
	tb.Helper()
	cfg.Servers = client.Config{Servers: servers}
	g, err := gateway.New(tb.Context(), store, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = g.Close(context.WithoutCancel(tb.Context())) })
	return g
}

// web serves a gateway, or a server, over HTTP.
func web(tb testing.TB, g interface {
	Handler(cfg server.HTTPConfig) (http.Handler, error)
},
) string {
	tb.Helper()
	h, err := g.Handler(server.HTTPConfig{Tokens: map[string]string{token: "one", other: "two"}})
	if err != nil {
		tb.Fatal(err)
	}
	s := httptest.NewServer(h)
	tb.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// host is a host that reaches a server, as raw as a host can be.
type host struct {
	tb  testing.TB
	set *client.Set
}

func reach(tb testing.TB, url, bearer, revision string) host {
	tb.Helper()
	return connect(tb, client.Server{URL: url, Protocol: revision, Headers: map[string]string{"Authorization": "Bearer " + bearer}})
}

func connect(tb testing.TB, s client.Server) host {
	tb.Helper()
	set, err := client.Connect(tb.Context(), client.Config{Servers: map[string]client.Server{"x": s}}, client.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = set.Close() })
	if st := set.Servers()[0]; st.Err != nil {
		tb.Fatalf("the host cannot reach its server: %v", st.Err)
	}
	return host{tb, set}
}

func (h host) raw(name, args string) string {
	h.tb.Helper()
	raw, rpc, err := h.set.CallRaw(h.tb.Context(), "x", name, json.RawMessage(args))
	if err != nil {
		h.tb.Fatalf("%s: %v", name, err)
	}
	if rpc != nil {
		return rpc.Error()
	}
	return string(canon.Compact(raw))
}

// answer is what is read of a result.
type answer struct {
	Content           []struct{ Type, Text, Data string }
	StructuredContent json.RawMessage
	IsError           bool
	Meta              map[string]any `json:"_meta"`
	raw               string
}

func (a answer) text() string {
	var all []string
	for _, c := range a.Content {
		if c.Type == "text" {
			all = append(all, c.Text)
		}
	}
	return strings.Join(all, "\n")
}

func (h host) call(name, args string) answer {
	h.tb.Helper()
	a := answer{raw: h.raw(name, args)}
	if err := json.Unmarshal([]byte(a.raw), &a); err != nil {
		h.tb.Fatalf("%s: %v: %.300s", name, err, a.raw)
	}
	return a
}

// list gives the names of the tools that a server lists.
func (h host) list() []string {
	h.tb.Helper()
	raws, err := h.set.ToolsRaw("x")
	if err != nil {
		h.tb.Fatal(err)
	}
	var all []string
	for _, raw := range raws {
		var e struct{ Name string }
		if err := json.Unmarshal(raw, &e); err != nil {
			h.tb.Fatal(err)
		}
		all = append(all, e.Name)
	}
	return all
}

// sound fails when what is stored does not hold together.
func sound(tb testing.TB, store history.Store) {
	tb.Helper()
	ctx := context.WithoutCancel(tb.Context())
	all, err := store.Conversations(ctx, 0)
	if err != nil {
		tb.Fatal(err)
	}
	for _, c := range all {
		problems, err := history.Verify(ctx, store, c.ID)
		if err != nil || len(problems) > 0 {
			tb.Errorf("%s: %v, %v", c.ID, problems, err)
		}
	}
}

// protocol is a server that gives the bytes of its tools.
func protocol(tools []lab.Tool) *mcp.Server { return lab.Protocol("1", tools) }

// gives is a tool of a test's server that gives the same bytes each time.
func gives(name, result string) lab.Tool {
	return lab.Tool{Name: name, Description: "A tool of the test.", Result: json.RawMessage(result)}
}

func shaped(name, output, result string) lab.Tool {
	t := gives(name, result)
	t.Output = json.RawMessage(output)
	return t
}

// quoted is a text as JSON.
func quoted(text string) string { return string(canon.AppendString(nil, text)) }

// The lab's tools, broken ones too, come through byte for byte in both eras.
func TestBytesAreTheServers(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			tools := slices.DeleteFunc(lab.All(), func(l lab.Tool) bool { return len(l.Result) > 20_000 })
			behind := site(t, protocol(tools), revision)
			store := open(t)
			bare, through := connect(t, behind), reach(t, web(t, front(t, store, gateway.Config{}, map[string]client.Server{"lab": behind})), token, revision)
			for _, tool := range tools {
				if d := cmp.Diff(bare.raw(tool.Name, `{}`), through.raw("lab--"+tool.Name, `{}`)); d != "" {
					t.Errorf("%s (-without +with the gateway):\n%s", tool.Name, d)
				}
			}
			sound(t, store)
		})
	}
}

// Between revisions every member comes through as it was.
func TestMembersAreTheServers(t *testing.T) {
	t.Parallel()
	tools := lab.Matrix()
	for _, c := range [][2]string{{"2025-11-25", "2026-07-28"}, {"2026-07-28", "2025-11-25"}} {
		behind := site(t, protocol(tools), c[1])
		bare, through := connect(t, behind), reach(t, web(t, front(t, open(t), gateway.Config{}, map[string]client.Server{"lab": behind})), token, c[0])
		for _, tool := range tools {
			var want, got map[string]json.RawMessage
			if json.Unmarshal([]byte(bare.raw(tool.Name, `{}`)), &want) != nil || json.Unmarshal([]byte(through.raw("lab--"+tool.Name, `{}`)), &got) != nil {
				t.Fatal("no objects")
			}
			if (got["resultType"] != nil) != (c[0] == "2026-07-28") {
				t.Errorf("%v %s: resultType is %s", c, tool.Name, got["resultType"])
			}
			delete(want, "resultType")
			delete(got, "resultType")
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%v %s (-without +with the gateway):\n%s", c, tool.Name, d)
			}
		}
	}
}

// planted is a text with a line to find.
func planted(bytes int) (text, line string, at int) {
	var b strings.Builder
	for n := 1; b.Len() < bytes; n++ {
		if b.Len() > bytes/2 && at == 0 {
			at, line = n, "the <planted> line & its needle"
			fmt.Fprintln(&b, line)
			continue
		}
		fmt.Fprintf(&b, "row %d of the table: \"quoted\" \\ back\tslash, ünï\n", n)
	}
	return b.String(), line, at
}

// Over the cap a preview comes, and every byte of the whole can be read back through the gateway.
func TestEveryByteIsReadBack(t *testing.T) {
	t.Parallel()
	text, line, at := planted(300_000)
	behind := site(t, protocol([]lab.Tool{gives("long", `{"content":[{"type":"text","text":`+quoted(text)+`}]}`)}), "2025-11-25")
	store := open(t)
	h := reach(t, web(t, front(t, store, gateway.Config{}, map[string]client.Server{"s": behind})), token, "2025-11-25")
	a := h.call("s--long", `{}`)
	path, _ := a.Meta["weir/path"].(string)
	if n := len([]rune(a.text())); path == "" || n > 24_000 || n < 1000 || !strings.Contains(a.text(), path) || !strings.Contains(a.text(), "workspace--read") {
		t.Fatalf("preview of %d: %.300s … %s", n, a.text(), a.text()[max(0, len(a.text())-600):])
	}
	if most := a.Meta["anthropic/maxResultSizeChars"]; most != float64(25_000) {
		t.Errorf("a shortened result may have %v", most)
	}
	if got := h.call("workspace--grep", fmt.Sprintf(`{"pattern":"needle","path":%q}`, path)).text(); !strings.Contains(got, fmt.Sprintf("%s:%d:%s", path, at, line)) {
		t.Errorf("grep says %.300s", got)
	}
	var all strings.Builder
	lines := strings.Split(text, "\n")
	for from := 1; from < len(lines); {
		page := h.call("workspace--read", fmt.Sprintf(`{"path":%q,"offset":%d,"limit":2000}`, path, from)).text()
		n := 0
		for _, row := range strings.Split(page, "\n") {
			number, rest, ok := strings.Cut(row, "\t")
			if ok && number == fmt.Sprint(from+n) {
				all.WriteString(rest + "\n")
				n++
			}
		}
		if n == 0 {
			t.Fatalf("no line from %d in %.300s", from, page)
		}
		from += n
	}
	if d := cmp.Diff(text, all.String()); d != "" {
		t.Errorf("what was read back (-want +got): %.500s", d)
	}
	sound(t, store)
}

// Structured content over the cap is shortened and conforms, or the result is an error that says where the
// whole is: a success without it never goes out while a schema is declared.
func TestStructuredOverTheCap(t *testing.T) {
	t.Parallel()
	text, _, _ := planted(100_000)
	rows := strings.Repeat(`{"id":12345,"name":"a name of some length"},`, 3000)
	large, _, _ := planted(1 << 20)
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n" + large[:60_000]))
	open1 := `{"type":"object","properties":{"content":{"type":"string"}},"required":["content"]}`
	strict := `{"type":"object","properties":{"rows":{"type":"array","minItems":3000}},"required":["rows"],"additionalProperties":false}`
	behind := site(t, protocol([]lab.Tool{
		shaped("file", open1, `{"content":[{"type":"text","text":`+quoted(text)+`}],"structuredContent":{"content":`+quoted(text)+`}}`),
		shaped("closed", strings.TrimSuffix(open1, "}")+`,"additionalProperties":false}`, `{"content":[{"type":"text","text":`+quoted(large)+`}],"structuredContent":{"content":`+quoted(large)+`}}`),
		shaped("rows", strict, `{"content":[],"structuredContent":{"rows":[`+strings.TrimSuffix(rows, ",")+`]}}`),
		gives("bulk", `{"content":[{"type":"image","mimeType":"image/png","data":"`+png+`"}],"structuredContent":{"data":"`+png+`"}}`),
		gives("free", `{"content":[],"structuredContent":{"rows":[`+strings.TrimSuffix(rows, ",")+`]}}`),
	}), "2025-11-25")
	h := reach(t, web(t, front(t, open(t), gateway.Config{}, map[string]client.Server{"s": behind})), token, "2025-11-25")
	if a := h.call("s--closed", `{}`); a.IsError || len(a.StructuredContent) > 50_000 || !strings.Contains(string(a.StructuredContent), "omitted") || !strings.Contains(string(a.StructuredContent), "tool-results/r1-1-s--closed.txt") {
		t.Errorf("a large file in a closed schema: error %v, %.300s, %v", a.IsError, a.StructuredContent, a.Meta)
	}
	a := h.call("s--file", `{}`)
	var body struct {
		Content string
		Warning json.RawMessage `json:"truncation_warning"`
	}
	if err := json.Unmarshal(a.StructuredContent, &body); err != nil || a.IsError || len(body.Content) > 24_000 || !strings.Contains(body.Content, "omitted") || !strings.Contains(string(body.Warning), "tool-results/r2-1-s--file.txt") {
		t.Errorf("a file: %v, error %v, %d characters, %s", err, a.IsError, len(body.Content), body.Warning)
	}
	if a := h.call("s--rows", `{}`); !a.IsError || a.StructuredContent != nil || !strings.Contains(a.text(), "tool-results/r3-1-s--rows.txt") {
		t.Errorf("what fits no form: error %v, %.200s, %.500s", a.IsError, a.StructuredContent, a.text())
	}
	if a := h.call("s--bulk", `{}`); a.IsError || a.StructuredContent != nil || len(a.Content) != 2 || a.Content[1].Data != png {
		t.Errorf("an image beside itself in structured content: error %v, %d blocks, %.200s", a.IsError, len(a.Content), a.StructuredContent)
	}
	if a := h.call("s--free", `{}`); a.IsError || a.StructuredContent != nil || !strings.Contains(a.text(), "tool-results/r5-1-s--free.txt") || !canon.Valid([]byte(a.text())) {
		t.Errorf("without a schema: error %v, %.200s, %.500s", a.IsError, a.StructuredContent, a.text())
	}
}

// Budget, effort and contract are asked for call by call.
func TestAskedForCallByCall(t *testing.T) {
	t.Parallel()
	rows := strings.TrimSuffix(strings.Repeat(`{"id":12345,"name":"a name of some length"},`, 400), ",")
	schema := `{"type":"object","properties":{"rows":{"type":"array"}},"required":["rows"]}`
	own := `{"content":[{"type":"text","text":"short"}]}`
	text, _, _ := planted(22_000)
	behind := site(t, protocol([]lab.Tool{
		shaped("rows", schema, `{"content":[{"type":"text","text":`+quoted(`{"rows":[`+rows+`]}`)+`}],"structuredContent":{"rows":[`+rows+`]}}`),
		gives("short", own), gives("text", `{"content":[{"type":"text","text":`+quoted(text)+`}]}`),
	}), "2025-11-25")
	h := reach(t, web(t, front(t, open(t), gateway.Config{}, map[string]client.Server{"s": behind})), token, "2025-11-25")
	plain := h.call("s--rows", `{}`)
	if plain.StructuredContent == nil || plain.Meta != nil {
		t.Fatalf("without a wish the result is not the server's: %.300s", plain.raw)
	}
	if a := h.call("s--rows", `{"max_tokens":1000}`); a.IsError || len(a.text()) > 4000 || !canon.Valid([]byte(a.text())) || a.StructuredContent == nil {
		t.Errorf("within 1,000 tokens: %d bytes, %.300s", len(a.text()), a.raw)
	}
	full, lean := h.call("s--rows", `{"_lean":false,"n":5}`), h.call("s--rows", `{"_lean":true,"n":6}`)
	t.Logf("full: text %d, structured %d bytes; lean: text %d, structured %d bytes", len(full.text()), len(full.StructuredContent), len(lean.text()), len(lean.StructuredContent))
	for _, a := range []answer{full, lean} {
		if !strings.Contains(a.text(), `{"rows":[`+rows+`]}`) || string(a.StructuredContent) != `{"rows":[`+rows+`]}` || !canon.Valid([]byte(a.text())) {
			t.Errorf("the data is another: %.300s", a.raw)
		}
	}
	if len(lean.text()) >= len(full.text()) {
		t.Errorf("lean has %d bytes, full %d", len(lean.text()), len(full.text()))
	}
	var sizes []int
	for _, effort := range []string{"low", "medium", "high"} {
		sizes = append(sizes, len(h.call("s--text", `{"_effort":"`+effort+`","n":"`+effort+`"}`).text()))
	}
	if !(sizes[0] < sizes[1] && sizes[1] <= sizes[2] && sizes[2] < len(text)) {
		t.Errorf("low, medium and high effort give %v bytes of %d", sizes, len(text))
	}
	for args, word := range map[string]string{
		`{"max_tokens":0,"n":1}`: "max_tokens", `{"max_tokens":"many","n":2}`: "max_tokens", `{"_effort":"some","n":3}`: "low, medium or high", `{"max_tokens":-5,"n":4}`: "max_tokens",
	} {
		if a := h.call("s--rows", args); !a.IsError || !strings.Contains(a.text(), word) {
			t.Errorf("%s: %s", args, a.text())
		}
	}
	if got := h.raw("s--short", `{"known_tool_schema_fingerprint":"of another day"}`); !strings.HasPrefix(got, `{"content":[{"type":"text","text":"short"},{"type":"text","text":"[{`) ||
		!strings.Contains(got, `"_meta":{"weir/signals":{"warnings":[{"code":"tool_schema_cache_stale"`) {
		t.Errorf("a client that knows other tools: %s", got)
	}
}

// Many servers have their names before their tools; one alone may leave it out, and shadows nothing.
func TestNames(t *testing.T) {
	t.Parallel()
	ok := `{"content":[{"type":"text","text":"remote"}]}`
	behind := site(t, protocol([]lab.Tool{gives("echo", ok), gives("workspace--read", ok), gives("code_execution", ok), gives("jobs--get", ok)}), "2025-11-25")
	many := reach(t, web(t, front(t, open(t), gateway.Config{}, map[string]client.Server{"a": behind, "b": behind})), token, "2025-11-25")
	one := reach(t, web(t, front(t, open(t), gateway.Config{Plain: true}, map[string]client.Server{"server": behind})), token, "2025-11-25")
	weirs := []string{"jobs--cancel", "jobs--get", "jobs--start", "results--list", "session--prepare", "workspace--glob", "workspace--grep", "workspace--list", "workspace--read"}
	want := append([]string{"echo", "server--code_execution", "server--jobs--get", "server--workspace--read"}, weirs...)
	slices.Sort(want)
	if d := cmp.Diff(want, one.list()); d != "" {
		t.Errorf("one server (-want +got):\n%s", d)
	}
	want = slices.Clone(weirs)
	for _, s := range []string{"a", "b"} {
		want = append(want, s+"--echo", s+"--workspace--read", s+"--code_execution", s+"--jobs--get")
	}
	slices.Sort(want)
	if d := cmp.Diff(want, many.list()); d != "" {
		t.Errorf("two servers (-want +got):\n%s", d)
	}
	if a := one.call("workspace--read", `{"path":"tool-results/none"}`); strings.Contains(a.text(), "remote") {
		t.Error("a server's tool shadows the gateway's own")
	}
	if a := one.call("server--workspace--read", `{}`); a.text() != "remote" {
		t.Errorf("got %s", a.raw)
	}
}

// A client reads its own results only.
func TestAClientReadsItsOwn(t *testing.T) {
	t.Parallel()
	text, _, _ := planted(60_000)
	behind := site(t, protocol([]lab.Tool{gives("long", `{"content":[{"type":"text","text":`+quoted(text)+`}]}`)}), "2026-07-28")
	url := web(t, front(t, open(t), gateway.Config{}, map[string]client.Server{"s": behind}))
	mine, theirs := reach(t, url, token, "2026-07-28"), reach(t, url, other, "2026-07-28")
	path, _ := mine.call("s--long", `{}`).Meta["weir/path"].(string)
	if a := mine.call("workspace--read", fmt.Sprintf(`{"path":%q}`, path)); a.IsError {
		t.Errorf("its own: %s", a.text())
	}
	for _, p := range []string{path, "tool-results/../" + path, "../" + path} {
		if a := theirs.call("workspace--read", fmt.Sprintf(`{"path":%q}`, p)); !a.IsError {
			t.Errorf("%s: another's result was read: %.200s", p, a.text())
		}
	}
	if a := theirs.call("workspace--grep", `{"pattern":"needle"}`); strings.Contains(a.text(), "planted") {
		t.Errorf("another's result was searched: %.200s", a.text())
	}
	if a := theirs.call("results--list", `{}`); strings.Contains(a.text(), "long") {
		t.Errorf("another's results are listed: %.200s", a.text())
	}
	set, err := client.Connect(t.Context(), client.Config{Servers: map[string]client.Server{"x": {URL: url, Headers: map[string]string{"Authorization": "Bearer wrong-token-of-nobody"}}}}, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	if set.Servers()[0].Err == nil {
		t.Error("a wrong token came in")
	}
}

// A server that is down at the start keeps no other from serving, and serves when it is there.
func TestAServerThatIsDown(t *testing.T) {
	t.Parallel()
	ok := `{"content":[{"type":"text","text":"here"}]}`
	up := site(t, protocol([]lab.Tool{gives("echo", ok)}), "2025-11-25")
	p := protocol([]lab.Tool{gives("echo", ok)})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return p }, nil)
	var down bool
	flaky := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if down {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		flaky.CloseClientConnections()
		flaky.Close()
	})
	pins := filepath.Join(t.TempDir(), "pins.json")
	servers := map[string]client.Server{"up": up, "flaky": {URL: flaky.URL, Protocol: "2025-11-25"}}
	cfg := gateway.Config{Pins: pins, Poll: 10 * time.Millisecond, Retry: 20 * time.Millisecond, Client: client.Options{Backoff: time.Millisecond, Start: 2 * time.Second}}
	if err := front(t, open(t), cfg, servers).Close(t.Context()); err != nil { // it is seen once
		t.Fatal(err)
	}
	down = true
	cfg.Retry = time.Hour
	g := front(t, open(t), cfg, servers)
	if all := strings.Join(g.Problems(), "\n"); !strings.Contains(all, "MCP server flaky cannot be used, and is tried again") {
		t.Errorf("problems: %s", all)
	}
	one := reach(t, web(t, g), token, "2025-11-25")
	if a := one.call("up--echo", `{}`); a.text() != "here" {
		t.Errorf("the other server: %s", a.raw)
	}
	for n := range client.MaxRestarts + 3 { // more often than a server that dies is started again
		if a := one.call("flaky--echo", fmt.Sprintf(`{"n":%d}`, n)); !a.IsError || !strings.Contains(a.text(), "MCP server flaky cannot be reached") {
			t.Errorf("its own call: %s", a.raw)
		}
	}
	down = false
	if a := one.call("flaky--echo", `{}`); a.text() != "here" {
		t.Errorf("when it is there again: %s", a.raw)
	}
}

// bearing sends the token of the test with each request.
func bearing() *http.Client { return &http.Client{Transport: bearer{}} }

type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+token)
	return http.DefaultTransport.RoundTrip(r)
}
