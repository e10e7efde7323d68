package peers

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

// childEnv names the state folder for a child that serves on its own streams.
const childEnv = "WEIR_PEERS_CHILD"

const token = "a-token-of-the-test"

func TestMain(m *testing.M) {
	dir := os.Getenv(childEnv)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := child(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func child(dir string) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		return err
	}
	s, err := server.New(store, server.Config{Tools: tools(), Drain: time.Second})
	if err != nil {
		return err
	}
	return errors.Join(s.ServeStdio(ctx, os.Stdin, os.Stdout), s.Close(ctx), store.Close())
}

// exact is what a structured result must come out as: key order, digits and < > & as they are.
const exact = `{"zeta":9007199254740993,"alpha":{"s":"<&>","n":[1,2.50]}}`

func tools() []tool.Tool {
	does := func(name string, run tool.Handler) tool.Tool {
		return tool.Tool{Name: name, Description: "A tool of the test.", Schema: []byte(`{"type":"object"}`), Run: run}
	}
	gives := func(name string, r tool.Result) tool.Tool {
		return does(name, func(context.Context, tool.Call) (tool.Result, error) { return r, nil })
	}
	var b strings.Builder
	for n := 1; n <= 20_000; n++ {
		if n == 12_345 {
			b.WriteString("the planted needle\n")
			continue
		}
		fmt.Fprintf(&b, "line %d of many\n", n)
	}
	shaped := gives("shaped", tool.Result{Structured: []byte(exact)})
	shaped.Output = []byte(`{"type":"object","properties":{"zeta":{"type":"integer"}},"required":["zeta"]}`)
	drifts := gives("drifts", tool.Result{Structured: []byte(`{"zeta":"one"}`)})
	drifts.Output = shaped.Output
	return []tool.Tool{
		gives("long", tool.Text(b.String())), shaped, drifts,
		does("waits", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}),
	}
}

// mark3labs/mcp-go drives the server, with and without a handshake, over both transports.
func TestPeerMCPGo(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2026-07-28", "2025-11-25", "2025-03-26"} {
		for _, kind := range []string{"http", "stdio"} {
			t.Run(revision+"/"+kind, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				var link transport.Interface
				if kind == "http" {
					link = overHTTP(t, dir)
				} else {
					exe, err := os.Executable()
					if err != nil {
						t.Fatal(err)
					}
					link = transport.NewStdio(exe, append(os.Environ(), childEnv+"="+dir))
				}
				c := client.NewClient(link, client.WithProtocolVersion(revision))
				if err := c.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = c.Close() })
				hello := mcp.InitializeRequest{}
				hello.Params.ProtocolVersion = revision
				hello.Params.ClientInfo = mcp.Implementation{Name: "peer", Version: "1"}
				if _, err := c.Initialize(t.Context(), hello); err != nil {
					t.Fatal(err)
				}
				if got := c.ProtocolVersion(); got != revision {
					t.Errorf("agreed on %s", got)
				}
				drive(t, c)
				_ = c.Close()
				sound(t, dir)
			})
		}
	}
}

func overHTTP(t *testing.T, dir string) transport.Interface {
	t.Helper()
	store, err := sqlite.Open(t.Context(), dir, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, err := server.New(store, server.Config{Tools: tools(), Drain: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	h, err := s.Handler(server.HTTPConfig{Tokens: map[string]string{token: "peer"}})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(h)
	t.Cleanup(func() {
		site.Close()
		_ = s.Close(context.WithoutCancel(t.Context()))
	})
	link, err := transport.NewStreamableHTTP(site.URL, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		t.Fatal(err)
	}
	return link
}

func drive(t *testing.T, c *client.Client) {
	t.Helper()
	list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, x := range list.Tools {
		names = append(names, x.Name)
	}
	if d := cmp.Diff([]string{
		"drifts", "jobs--cancel", "jobs--get", "jobs--start", "long", "results--list", "session--prepare", "shaped", "waits", "workspace--glob", "workspace--grep", "workspace--list", "workspace--read",
	}, names); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	path := "tool-results/r1-1-long.txt"
	if r := call(t, c, "long", nil); !strings.Contains(text(r), path) || len(text(r)) > 24_000 {
		t.Errorf("the preview is %.300s", text(r))
	}
	if r := call(t, c, "workspace--grep", map[string]any{"pattern": "needle", "path": path}); !strings.Contains(text(r), path+":12345:the planted needle") {
		t.Errorf("grep gave %s", text(r))
	}
	if r := call(t, c, "workspace--read", map[string]any{"path": path, "offset": 12_345, "limit": 1}); !strings.Contains(text(r), "12345\tthe planted needle") {
		t.Errorf("read gave %s", text(r))
	}
	if r := call(t, c, "shaped", nil); text(r) != exact || string(r.RawStructuredContent) != exact {
		t.Errorf("shaped is %s, %s", text(r), r.RawStructuredContent)
	}
	if r := call(t, c, "drifts", nil); !r.IsError || !strings.Contains(text(r), "at /zeta: expected integer, received string") {
		t.Errorf("drifts is %s", text(r))
	}
	if r := call(t, c, "workspace--read", map[string]any{"path": 5, "extra": 1}); !r.IsError || !strings.Contains(text(r), "at /path: expected string, received number") || !strings.Contains(text(r), `"extra"`) {
		t.Errorf("wrong arguments gave %s", text(r))
	}
	ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	if _, err := c.CallTool(ctx, request("waits", nil)); err == nil {
		t.Error("a cancelled call had an answer")
	}
	if r := call(t, c, "results--list", nil); r.IsError {
		t.Errorf("after a cancel: %s", text(r))
	}
}

func request(name string, args any) mcp.CallToolRequest {
	r := mcp.CallToolRequest{}
	r.Params.Name, r.Params.Arguments = name, args
	return r
}

func call(t *testing.T, c *client.Client, name string, args any) *mcp.CallToolResult {
	t.Helper()
	r, err := c.CallTool(t.Context(), request(name, args))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func text(r *mcp.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		if x, ok := c.(mcp.TextContent); ok {
			all = append(all, x.Text)
		}
	}
	return strings.Join(all, "\n")
}

// sound fails when what is stored does not hold together.
func sound(t *testing.T, dir string) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), dir, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	all, err := store.Conversations(t.Context(), 0)
	if err != nil || len(all) == 0 {
		t.Fatal("no conversation", err)
	}
	for _, c := range all {
		problems, err := history.Verify(t.Context(), store, c.ID)
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %v", c.ID, problems, err)
		}
	}
}
