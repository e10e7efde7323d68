//go:build unix

package client_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/tool"
)

// exact is a structured result that no decoder gives back as it was. The SDK as a server escapes < > and &,
// so those are held by the raw servers of the other tests.
const exact = `{"z":9007199254740993,"a":[1e400,-0,1.0],"m":"b"}`

// sdkServer is a server of the SDK with a tool of exact bytes, one that reports progress until it is told to
// stop, and one that asks.
func sdkServer(stopped *atomic.Int64) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "sdk", Version: "1"}, nil)
	object := json.RawMessage(`{"type":"object"}`)
	s.AddTool(&mcp.Tool{Name: "exact", InputSchema: object}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}, StructuredContent: json.RawMessage(exact)}, nil
	})
	s.AddTool(&mcp.Tool{Name: "slow", InputSchema: object}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for i := range 100 {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1)}) // the end of ctx is seen below
			select {
			case <-ctx.Done():
				stopped.Add(1)
				return nil, ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "slow"}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "hello"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "<hi>"}}}}, nil
	})
	return s
}

// TestEras calls the same server in both eras, over every way there is.
func TestEras(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, protocol, kind string
		handler              func(*mcp.Server) http.Handler
	}{
		{"stateless", "2026-07-28", "http", func(s *mcp.Server) http.Handler {
			return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
		}},
		{"stateful", "2025-11-25", "http", func(s *mcp.Server) http.Handler {
			return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
		}},
		{"as JSON", "2025-11-25", "http", func(s *mcp.Server) http.Handler {
			return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{JSONResponse: true})
		}},
		{"of 2024-11-05, found out", "2025-11-25", "http", func(s *mcp.Server) http.Handler {
			return mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
		}},
		{"of 2024-11-05, as configured", "2025-11-25", "sse", func(s *mcp.Server) http.Handler {
			return mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var stopped atomic.Int64
			var header atomic.Value
			inner := c.handler(sdkServer(&stopped))
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				header.Store(r.Header.Get("Authorization"))
				inner.ServeHTTP(w, r)
			}))
			t.Cleanup(web.Close)
			o := quick()
			s := connect(t, o, map[string]client.Server{"web": {Type: c.kind, URL: web.URL, Headers: map[string]string{"Authorization": "Bearer x"}}})
			if st := s.Servers()[0]; st.Protocol != c.protocol || st.Err != nil {
				t.Fatalf("protocol %s, want %s (%v)", st.Protocol, c.protocol, st.Err)
			}
			if header.Load() != "Bearer x" {
				t.Errorf("the header that is configured is not sent: %v", header.Load())
			}
			const args = `{"big":9007199254740993,"z":"<&>","a":1.0}`
			r, text := call(t, s, "web--exact", args)
			if diff := cmp.Diff([]string{args + "\n" + exact, exact}, []string{text, string(r.Structured)}); diff != "" {
				t.Error(diff)
			}
			prompts, err := s.PromptsRaw(t.Context(), "web")
			if err != nil || len(prompts) != 1 {
				t.Errorf("prompts: %s, %v", prompts, err)
			}
			raw, rpc, err := s.PromptRaw(t.Context(), "web", "hello", nil)
			if err != nil || rpc != nil || !strings.Contains(string(raw), "hi") {
				t.Errorf("the prompt: %s, %v, %v", raw, rpc, err)
			}
			if _, rpc, err = s.CallRaw(t.Context(), "web", "none", nil); err != nil || rpc == nil || rpc.Code != -32602 {
				t.Errorf("an unknown tool: %v, %v", rpc, err)
			}
			cancelled(t, s, &stopped)
		})
	}
}

// cancelled cancels a call once it has reported progress: the server stops it.
func cancelled(t *testing.T, s *client.Set, stopped *atomic.Int64) {
	t.Helper()
	set, err := execute.NewSet(s.Tools())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	time.AfterFunc(500*time.Millisecond, cancel) // not every way carries progress
	ran := execute.Run(ctx, set.Prepare(tool.Call{Name: "web--slow", Args: []byte(`{}`)}), execute.Env{Progress: func(string) { cancel() }})
	if ran.Outcome != execute.Cancelled || ran.Abandoned {
		t.Errorf("outcome %s, abandoned %v", ran.Outcome, ran.Abandoned)
	}
	for deadline := time.Now().Add(3 * time.Second); stopped.Load() == 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the cancel never reached the server")
		}
	}
}

// forgetful is a server that can forget its sessions, as one that was started again has.
type forgetful struct {
	inner http.Handler
	body  string

	mu         sync.Mutex
	seen, gone map[string]bool
}

func (f *forgetful) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone, f.seen = f.seen, map[string]bool{}
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	id := r.Header.Get("Mcp-Session-Id")
	gone := f.gone[id]
	if id != "" {
		f.seen[id] = true
	}
	f.mu.Unlock()
	if gone {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, f.body)
		return
	}
	f.inner.ServeHTTP(w, r)
}

// TestStale has a server that no longer knows the session: it is connected to anew, once, and the call is
// sent again, since it was not run.
func TestStale(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, `{"jsonrpc":"2.0","id":3,"error":{"code":-32001,"message":"Session not found"}}`} {
		var stopped atomic.Int64
		server := sdkServer(&stopped)
		f := &forgetful{body: body, seen: map[string]bool{}, inner: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)}
		web := httptest.NewServer(f)
		t.Cleanup(web.Close)
		s := connect(t, quick(), map[string]client.Server{"web": {URL: web.URL}})
		for range 3 {
			if r, text := call(t, s, "web--exact", `{}`); r.IsError || !strings.HasPrefix(text, "{}") {
				t.Errorf("%q: %s", body, text)
			}
			f.restart()
		}
	}
}

// TestOddOverHTTP sends the odd results as one JSON document and as events; the bytes that arrive are those that
// were sent.
func TestOddOverHTTP(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"application/json", "text/event-stream"} {
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
				Params struct {
					Args struct {
						N int `json:"n"`
					} `json:"arguments"`
				} `json:"params"`
			}
			if err := json.NewDecoder(r.Body).Decode(&m); err != nil || m.Method == "server/discover" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			if m.ID == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			result := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
			switch m.Method {
			case "tools/list":
				result = list("odd")
			case "tools/call":
				result = odd[m.Params.Args.N].raw
			}
			answer := `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`
			w.Header().Set("Content-Type", kind)
			if kind == "text/event-stream" {
				answer = "event: message\ndata: " + answer + "\n\n"
			}
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(web.Close)
		s := connect(t, quick(), map[string]client.Server{"web": {URL: web.URL}})
		if st := s.Servers()[0]; st.Protocol != "2025-06-18" {
			t.Fatalf("%s: protocol %s (%v)", kind, st.Protocol, st.Err)
		}
		for i, c := range odd {
			args := []byte(`{"n":` + strconv.Itoa(i) + `}`)
			raw, rpc, err := s.CallRaw(t.Context(), "web", "odd", args)
			if err != nil || rpc != nil || string(raw) != c.raw {
				t.Errorf("%s, %s: %s", kind, c.name, cmp.Diff(c.raw, string(raw)))
			}
			if r, text := call(t, s, "web--odd", string(args)); text != c.text || r.IsError != c.isError {
				t.Errorf("%s, %s: %s", kind, c.name, cmp.Diff(c.text, text))
			}
		}
	}
}

// TestClosedOverHTTP ends the calls that run when the set is closed.
func TestClosedOverHTTP(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	var stopped atomic.Int64
	server := sdkServer(&stopped)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" {
			<-over
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(over)
		web.Close()
	})
	s := connect(t, client.Options{}, map[string]client.Server{"web": {URL: web.URL}})
	time.AfterFunc(100*time.Millisecond, func() { _ = s.Close() })
	began := time.Now()
	if r, text := call(t, s, "web--exact", `{}`); !r.IsError || !strings.Contains(text, "outcome unknown: the connections were closed") || time.Since(began) > 20*time.Second {
		t.Errorf("after %s: %s", time.Since(began), text)
	}
}

// TestLedElsewhere has a server that redirects, and one whose stream names another host: what is secret is not
// sent there.
func TestLedElsewhere(t *testing.T) {
	t.Parallel()
	var leaked atomic.Int64
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			leaked.Add(1)
		}
	}))
	t.Cleanup(thief.Close)
	redirects := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	t.Cleanup(redirects.Close)
	names := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: "+thief.URL+"\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(names.CloseClientConnections)
	secret := map[string]string{"Authorization": "Bearer secret"}
	s := connect(t, quick(), map[string]client.Server{
		"a": {URL: redirects.URL, Headers: secret}, "b": {Type: "sse", URL: names.URL, Headers: secret},
	})
	for _, st := range s.Servers() {
		if st.Err == nil || !strings.Contains(st.Err.Error(), "which is not where it was configured to be") {
			t.Errorf("%s: %v", st.Name, st.Err)
		}
	}
	if leaked.Load() != 0 {
		t.Error("what is secret was sent to another host")
	}
}

// TestWebLost has answers that are none: the connection ends, a page of HTML, a stream that ends, more than is read.
func TestWebLost(t *testing.T) {
	t.Parallel()
	var stopped atomic.Int64
	server := sdkServer(&stopped)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true})
	var mode atomic.Value
	mode.Store("")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") != "tools/call" {
			inner.ServeHTTP(w, r)
			return
		}
		switch mode.Load() {
		case "cut":
			panic(http.ErrAbortHandler)
		case "html":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, "<html>")
		case "garbage":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<html>")
		case "ends":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")
		case "bad event":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, "data: {\"jsonrpc\n\n")
		case "flood", "flood event":
			w.Header().Set("Content-Type", "application/json")
			if mode.Load() == "flood event" {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "data: ")
			}
			chunk := strings.Repeat("a", 1<<20)
			for range 66 {
				_, _ = io.WriteString(w, chunk)
			}
		case "503":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(web.Close)
	s := connect(t, client.Options{Idle: 5 * time.Second, Backoff: time.Millisecond}, map[string]client.Server{"web": {URL: web.URL}})
	for _, m := range []string{"cut", "garbage", "ends", "bad event", "flood", "flood event", "503", "html"} {
		mode.Store(m)
		r, text := call(t, s, "web--exact", `{}`)
		if !r.IsError || !strings.Contains(text, "outcome unknown") || len(text) > 2000 {
			t.Errorf("%s: %.300s", m, text)
		}
		t.Logf("%s: %.300s", m, text)
		mode.Store("")
		if r, text := call(t, s, "web--exact", `{}`); r.IsError {
			t.Errorf("after %s: %.300s", m, text)
		}
	}
}
