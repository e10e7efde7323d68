package cases

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-run/weir/mcp/client"
)

// mcpClientCases are what becomes of what MCP servers send: topics nil-slice, mcp-output-schema,
// mcp-content-choice, mcp-is-error, mcp-death, tool-timeout, stdio-pollution and pagination, and the results
// of servers among base64-image and empty-result.
func mcpClientCases() map[string]runner {
	return map[string]runner{
		"C038": noTools,
		"C051": farResult("[image: image/png, 8B, tool-results/r1-1-far--t.png]", false),
		"C060": farResult(`{"status":"available"}`, false),
		"C134": farResult("not found", true),
		"C135": farResult("[MCP error -32600: the tool has an output schema, but its result has no structured content]\n{\"v\":1}", true),
		"C138": farResult("line1\nline2\n{\"fileName\":\"a.txt\"}", false),
		"C139": farResult(`{"a": 1}`, false),
		"C141": farResult("Error: 404 Not Found", false),
		"C143": forgottenSession,
		"C145": neverAnswered,
		"C148": noiseFirst,
		"C150": sameCursor,
	}
}

// mcpServer is a server of the handshake era over HTTP. answer gives the result of a request; "" is never answered.
func mcpServer(t *testing.T, answer func(method string, params map[string]json.RawMessage) string) client.Server {
	t.Helper()
	over := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage            `json:"id"`
			Method string                     `json:"method"`
			Params map[string]json.RawMessage `json:"params"`
		}
		if err != nil || r.Method != http.MethodPost || json.Unmarshal(raw, &m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"far","version":"1"}}`
		switch {
		case m.Method == "server/discover":
			w.WriteHeader(http.StatusBadRequest)
			return
		case m.Method != "initialize":
			result = answer(m.Method, m.Params)
		}
		if result == "" {
			select {
			case <-over:
			case <-r.Context().Done():
			}
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(func() {
		close(over)
		web.Close()
	})
	return client.Server{URL: web.URL}
}

// far connects to servers and gives a world in which their tools are offered.
func far(t *testing.T, o client.Options, servers map[string]client.Server) (*world, *client.Set) {
	t.Helper()
	s := reached(t, o, servers)
	return quick(t, s.Tools()...), s
}

func reached(t *testing.T, o client.Options, servers map[string]client.Server) *client.Set {
	t.Helper()
	s, err := client.Connect(t.Context(), client.Config{Servers: servers}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// farResult calls a tool whose server answers with the case's result, and holds what the provider receives.
func farResult(want string, isError bool) runner {
	return func(t *testing.T, c field) {
		in := inputOf[struct {
			Kind   string          `json:"kind"`
			Raw    string          `json:"raw"`
			Output json.RawMessage `json:"outputSchema"`
		}](t, c)
		output := ""
		if in.Output != nil {
			output = `,"outputSchema":` + string(in.Output)
		}
		w, _ := far(t, client.Options{}, map[string]client.Server{"far": mcpServer(t, func(method string, _ map[string]json.RawMessage) string {
			if method == "tools/list" {
				return `{"tools":[{"name":"t","inputSchema":{"type":"object"}` + output + `}]}`
			}
			return in.Raw
		})})
		a := w.call("far--t", "{}")
		if a.text != want || a.isError != isError {
			t.Errorf("the provider received %q, error %v; want %q, error %v", a.text, a.isError, want, isError)
		}
		if strings.Contains(a.text, "iVBORw0KGgo") {
			t.Error("base64 stands in the model's text")
		}
		var received struct {
			Structured json.RawMessage `json:"structuredContent"`
		}
		if err := json.Unmarshal([]byte(in.Raw), &received); err != nil {
			t.Fatal(err)
		}
		if string(a.row.Structured) != string(received.Structured) {
			t.Errorf("the structured content is kept as %s, was sent as %s", a.row.Structured, received.Structured)
		}
	}
}

func noTools(t *testing.T, c field) {
	in := inputOf[struct {
		Kind  string `json:"kind"`
		Sends string `json:"server_sends"`
	}](t, c)
	w, s := far(t, client.Options{}, map[string]client.Server{"far": mcpServer(t, func(string, map[string]json.RawMessage) string { return in.Sends })})
	entries, err := s.ToolsRaw("far")
	encoded, err2 := json.Marshal(entries)
	if err != nil || err2 != nil || string(encoded) != "[]" {
		t.Errorf("a list that is null is passed on as %s (%v, %v)", encoded, err, err2)
	}
	if st := s.Servers()[0]; st.Err != nil || st.Tools != 0 {
		t.Errorf("%+v", st)
	}
	if a := w.call("far--t", "{}"); !a.isError {
		t.Errorf("got %q", a.text)
	}
}

func forgottenSession(t *testing.T, _ field) {
	var begun, calls atomic.Int64
	forget := atomic.Bool{}
	over := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		_ = json.Unmarshal(raw, &m)
		id := fmt.Sprint("s", begun.Load())
		result := `{"tools":[{"name":"t","inputSchema":{"type":"object"}},{"name":"silent","inputSchema":{"type":"object"}}]}`
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "server/discover":
			w.WriteHeader(http.StatusBadRequest)
			return
		case m.Method == "initialize":
			id = fmt.Sprint("s", begun.Add(1))
			forget.Store(false)
			result = `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"far","version":"1"}}`
		case forget.Load() || r.Header.Get("Mcp-Session-Id") != id:
			w.WriteHeader(http.StatusNotFound)
			return
		case m.Params.Name == "silent":
			select {
			case <-over:
			case <-r.Context().Done():
			}
			return
		case m.Method == "tools/call":
			calls.Add(1)
			result = `{"content":[{"type":"text","text":"ran"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", id)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}))
	t.Cleanup(func() {
		close(over)
		web.Close()
	})
	w, _ := far(t, client.Options{Idle: 500 * time.Millisecond}, map[string]client.Server{"far": {URL: web.URL}})
	forget.Store(true)
	if a := w.call("far--t", "{}"); a.text != "ran" || calls.Load() != 1 || begun.Load() != 2 {
		t.Errorf("got %q after %d connections and %d runs", a.text, begun.Load(), calls.Load())
	}
	took, outcome := time.Now(), w.call("far--silent", "{}")
	if !strings.Contains(outcome.text, "outcome unknown") || time.Since(took) > soon {
		t.Errorf("silence ended after %s: %q", time.Since(took), outcome.text)
	}
}

func neverAnswered(t *testing.T, c field) {
	in := inputOf[struct {
		Kind    string   `json:"kind"`
		Steps   []string `json:"steps"`
		Seconds int      `json:"timeout_s"`
	}](t, c)
	limit := time.Duration(in.Seconds) * time.Second / 10 // the same limit, sooner
	w, _ := far(t, client.Options{Idle: limit}, map[string]client.Server{"far": mcpServer(t, func(method string, _ map[string]json.RawMessage) string {
		if method == "tools/list" {
			return `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
		}
		return ""
	})})
	a := w.call("far--t", "{}")
	if want := "far--t: outcome unknown: no answer and no report of progress for 200ms, which is the limit. It may have taken effect, and it was not repeated: find out before you call it again"; a.text != want || !a.isError {
		t.Errorf("got %q", a.text)
	}
	if client.DefaultIdle <= 0 || client.DefaultAbsolute <= 0 {
		t.Error("a call has no limit by default")
	}
}

func noiseFirst(t *testing.T, c field) {
	in := inputOf[struct {
		Kind   string `json:"kind"`
		Stdout string `json:"server_stdout"`
	}](t, c)
	noise, _, _ := strings.Cut(in.Stdout, `{"jsonrpc"`)
	const loop = `printf '%s' "$NOISE"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"initialize"'*) r='{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}';;
  *'"tools/list"'*) r='{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}';;
  *'"tools/call"'*) r='{"content":[{"type":"text","text":"heard"}]}';;
  *) r=;;
  esac
  [ -z "$id" ] && continue
  if [ -n "$r" ]; then printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
  else printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id"; fi
done`
	w, s := far(t, client.Options{}, map[string]client.Server{"far": {Command: "sh", Args: []string{"-c", loop}, Env: map[string]string{"NOISE": noise}}})
	if a := w.call("far--t", "{}"); a.text != "heard" || a.isError {
		t.Errorf("got %q", a.text)
	}
	if got := strings.Join(s.Servers()[0].Problems, "\n"); !strings.HasPrefix(got, "2 lines of its output are no messages and were skipped; the first: Server starting...") {
		t.Errorf("what was skipped is not reported: %q", got)
	}
}

func sameCursor(t *testing.T, _ field) {
	asked := 0
	s := reached(t, client.Options{}, map[string]client.Server{"far": mcpServer(t, func(string, map[string]json.RawMessage) string {
		asked++
		return `{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"x"}`
	})})
	if len(s.Tools()) != 1 || asked != 2 {
		t.Errorf("%d tools after %d pages", len(s.Tools()), asked)
	}
	got := strings.Join(s.Servers()[0].Problems, "\n")
	for _, want := range []string{`gave the cursor "x" twice`, `tool "a" is listed twice`} {
		if !strings.Contains(got, want) {
			t.Errorf("no warning %q: %q", want, got)
		}
	}
}
