package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

func openFuzz(f *testing.F) *sqlite.Store {
	f.Helper()
	s, err := sqlite.Open(f.Context(), f.TempDir(), sqlite.Config{Synchronous: sqlite.Normal})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	return s
}

const token, other = "a-token-of-the-test", "another-token-of-it"

var principals = map[string]string{token: "one", other: "two"}

func web(t *testing.T, s *server.Server, cfg server.HTTPConfig) string {
	t.Helper()
	if cfg.Tokens == nil {
		cfg.Tokens = principals
	}
	h, err := s.Handler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(h)
	t.Cleanup(site.Close)
	return site.URL
}

// bearer adds a token to every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// client connects the SDK's own client.
func client(t *testing.T, url, token, revision string) *mcp.ClientSession {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)},
	}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("connect with %s: %v", revision, err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func do(t *testing.T, c *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func said(r *mcp.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		if x, ok := c.(*mcp.TextContent); ok {
			all = append(all, x.Text)
		}
	}
	return strings.Join(all, "\n")
}

// Every revision is spoken over HTTP, on one address.
func TestEveryRevisionOverHTTP(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	url := web(t, serve(t, store, server.Config{Tools: []tool.Tool{gives("t", tool.Result{Structured: []byte(`{"s":"<x>"}`)})}}), server.HTTPConfig{})
	for _, revision := range append([]string{"2026-07-28"}, revisions...) {
		c := client(t, url, token, revision)
		if got := c.InitializeResult().ProtocolVersion; got != revision {
			t.Errorf("agreed on %s, not %s", got, revision)
		}
		list, err := c.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != 10 {
			t.Errorf("%s lists %v, %v", revision, list, err)
		}
		if r := do(t, c, "t", nil); said(r) != `{"s":"<x>"}` || r.IsError {
			t.Errorf("%s: got %q", revision, said(r))
		}
		if r := do(t, c, "workspace--read", map[string]any{"path": 1}); !r.IsError {
			t.Errorf("%s: wrong arguments gave %q", revision, said(r))
		}
	}
	sound(t, store)
}

// Without sessions a principal has one conversation, with them each session has its own, and nobody
// reaches another's.
func TestWhoseConversationItIs(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	url := web(t, serve(t, store, server.Config{Tools: []tool.Tool{gives("t", tool.Text("x"))}}), server.HTTPConfig{})
	var got []string
	for _, c := range []struct{ token, revision string }{
		{token, "2026-07-28"}, {token, "2026-07-28"}, {other, "2026-07-28"}, {token, "2025-11-25"}, {token, "2025-11-25"},
	} {
		session := client(t, url, c.token, c.revision)
		do(t, session, "t", nil)
		r := do(t, session, "t", nil)
		got = append(got, fmt.Sprint(r.Meta["weir/result"]))
		_ = session.Close()
	}
	if d := cmp.Diff([]string{"r2-1", "r4-1", "r2-1", "r2-1", "r2-1"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	sound(t, store)
}

// A session is bound to who began it: its id alone opens nothing.
func TestASessionIsItsPrincipals(t *testing.T) {
	t.Parallel()
	url := web(t, serve(t, open(t, t.TempDir()), server.Config{}), server.HTTPConfig{})
	id := client(t, url, token, "2025-11-25").ID()
	for who, want := range map[string]int{token: http.StatusOK, other: http.StatusForbidden} {
		status, _ := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, http.Header{
			"Authorization": {"Bearer " + who}, "Mcp-Session-Id": {id}, "Mcp-Protocol-Version": {"2025-11-25"},
		})
		if status != want {
			t.Errorf("%s: %d, want %d", who, status, want)
		}
	}
}

func post(t *testing.T, url, body string, header http.Header) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = header.Clone()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if h := header.Get("Host"); h != "" {
		r.Host = h
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`

// Only who addresses the server by its own name, from its own pages, with a known token, comes in.
func TestWhoIsLetIn(t *testing.T) {
	t.Parallel()
	url := web(t, serve(t, open(t, t.TempDir()), server.Config{}), server.HTTPConfig{Hosts: []string{"tools.example"}})
	known := "Bearer " + token
	for name, c := range map[string]struct {
		header http.Header
		want   int
	}{
		"known":          {http.Header{"Authorization": {known}}, 200},
		"no token":       {http.Header{}, 401},
		"wrong token":    {http.Header{"Authorization": {"Bearer " + token + "x"}}, 401},
		"other scheme":   {http.Header{"Authorization": {"Basic " + token}}, 401},
		"rebound":        {http.Header{"Authorization": {known}, "Host": {"evil.example"}}, 403},
		"rebound port":   {http.Header{"Authorization": {known}, "Host": {"evil.example:3939"}}, 403},
		"like localhost": {http.Header{"Authorization": {known}, "Host": {"localhost.evil.example"}}, 403},
		"localhost":      {http.Header{"Authorization": {known}, "Host": {"localhost:1"}}, 200},
		"six":            {http.Header{"Authorization": {known}, "Host": {"[::1]:1"}}, 200},
		"allowed":        {http.Header{"Authorization": {known}, "Host": {"Tools.Example"}}, 200},
		"own page":       {http.Header{"Authorization": {known}, "Origin": {"http://localhost:5173"}}, 200},
		"other page":     {http.Header{"Authorization": {known}, "Origin": {"https://evil.example"}}, 403},
		"no page":        {http.Header{"Authorization": {known}, "Origin": {"null"}}, 403},
	} {
		if status, body := post(t, url, hello, c.header); status != c.want {
			t.Errorf("%s: %d %s, want %d", name, status, body, c.want)
		}
	}
	r, err := http.Get(url) //nolint:noctx // a test's
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized || r.Header.Get("WWW-Authenticate") != "Bearer" {
		t.Errorf("without a token: %d, WWW-Authenticate %q", r.StatusCode, r.Header.Get("WWW-Authenticate"))
	}
	status, body := post(t, url, `"`+strings.Repeat("x", server.MaxBody)+`"`, http.Header{"Authorization": {known}})
	if status != http.StatusRequestEntityTooLarge || strings.Contains(body, "\n\n") {
		t.Errorf("a long body: %d %.200s", status, body)
	}
	for name, body := range map[string]string{"garbage": "garbage", "empty": "", "invalid": "\xff"} {
		if status, _ := post(t, url, body, http.Header{"Authorization": {known}}); status < 400 || status >= 500 {
			t.Errorf("%s: %d", name, status)
		}
	}
}

func TestHandlerNeedsAToken(t *testing.T) {
	t.Parallel()
	s := serve(t, open(t, t.TempDir()), server.Config{})
	for name, cfg := range map[string]server.HTTPConfig{
		"none": {}, "short": {Tokens: map[string]string{"short": "x"}}, "space": {Tokens: map[string]string{"a token with spaces": "x"}}, "name": {Tokens: map[string]string{token: "a.r1-1"}},
	} {
		if _, err := s.Handler(cfg); err == nil {
			t.Errorf("%s: a handler was made", name)
		}
	}
}

// Closing the response is the cancel of revision 2026-07-28, and it reaches the tool; a client of an
// earlier one that goes away is not taken to cancel.
func TestAClosedResponseIsTheCancelOfTheStatelessRevision(t *testing.T) {
	t.Parallel()
	for revision, want := range map[string]history.Outcome{"2026-07-28": history.OutcomeCancelled, "2025-11-25": history.OutcomeDone} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			begun, let := make(chan struct{}), make(chan struct{})
			store := open(t, t.TempDir())
			s := serve(t, store, server.Config{Tools: []tool.Tool{does("waits", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				close(begun)
				select {
				case <-ctx.Done():
					return tool.Result{}, ctx.Err()
				case <-let:
					return tool.Text("finished"), nil
				}
			})}})
			url := web(t, s, server.HTTPConfig{})
			header := http.Header{
				"Authorization": {"Bearer " + token}, "Mcp-Protocol-Version": {revision}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"waits"},
				"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			}
			meta := ""
			if revision == "2026-07-28" {
				meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}`
			} else {
				header.Set("Mcp-Session-Id", client(t, url, token, revision).ID())
			}
			ctx, leave := context.WithCancel(t.Context())
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"waits","arguments":{}`+meta+`}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = header
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				if resp, err := http.DefaultClient.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}()
			<-begun
			leave()
			<-gone
			if want == history.OutcomeDone {
				time.Sleep(50 * time.Millisecond)
				close(let)
			}
			if got := outcome(t, store); got != want {
				t.Errorf("the call is %s, want %s", got, want)
			}
			sound(t, store)
		})
	}
}

// outcome waits for the outcome of the first call.
func outcome(t *testing.T, store history.Reader) history.Outcome {
	t.Helper()
	for range 400 {
		all, err := store.Conversations(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) > 0 {
			if rows, err := store.CallsOf(t.Context(), all[0].ID, 1); err == nil && len(rows) > 0 && rows[0].State == history.CallAnswered {
				return rows[0].Outcome
			}
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal("the call was not answered")
	return ""
}

// Over HTTP too, in every revision, the bytes are the tool's.
func TestExactBytesOverHTTP(t *testing.T) {
	t.Parallel()
	raw := `{"zeta":9007199254740993,"alpha":"<b>&</b>","c":1e400,"d":1.0,"d":2}`
	url := web(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{gives("t", tool.Result{Structured: []byte(raw)})}}), server.HTTPConfig{})
	for _, revision := range append([]string{"2026-07-28"}, revisions...) {
		header := http.Header{
			"Authorization": {"Bearer " + token}, "Mcp-Protocol-Version": {revision}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"t"},
		}
		meta := ""
		if revision == "2026-07-28" {
			meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"}}`
		} else {
			header.Set("Mcp-Session-Id", client(t, url, token, revision).ID())
		}
		_, body := post(t, url, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}`+meta+`}}`, header)
		for _, want := range []string{`"structuredContent":` + raw, `"text":"` + strings.ReplaceAll(raw, `"`, `\"`) + `"`} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: want %s in %s", revision, want, body)
			}
		}
	}
}

// Many requests of one principal at once are numbered once each.
func TestManyRequestsOverHTTP(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	url := web(t, serve(t, store, server.Config{Tools: []tool.Tool{gives("t", tool.Text("x"))}}), server.HTTPConfig{})
	one, two := client(t, url, token, "2026-07-28"), client(t, url, token, "2026-07-28")
	const n = 100
	ids := make(chan string, n)
	for i := range n {
		go func() {
			c := one
			if i%2 == 0 {
				c = two
			}
			r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "t"})
			if err != nil {
				ids <- err.Error()
				return
			}
			ids <- fmt.Sprint(r.Meta["weir/result"])
		}()
	}
	seen := map[string]bool{}
	for range n {
		seen[<-ids] = true
	}
	for i := range n {
		if id := fmt.Sprintf("r%d-1", i+1); !seen[id] {
			t.Errorf("no call is %s", id)
		}
	}
	sound(t, store)
}
