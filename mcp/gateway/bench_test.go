package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/gateway"
	"github.com/weir-run/weir/mcp/lab"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

// BenchmarkCall compares a call through the gateway with the same one without it: the bare SDK's client, the
// client alone, the bare SDK's client on a server that stores every call and has the tool itself, and the same
// through the gateway, which stores it too and has one more way to go; over HTTP, with results of 1 KB and 1 MB.
func BenchmarkCall(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20} {
		text := strings.Repeat("a line of the result\n", size/21)
		spec := site(b, protocol([]lab.Tool{gives("t", `{"content":[{"type":"text","text":`+quoted(text)+`}]}`)}), "2026-07-28")
		name := fmt.Sprintf("%dKB", size>>10)
		b.Run(name+"/sdk", func(b *testing.B) { bare(b, spec.URL, "t") })
		b.Run(name+"/client", func(b *testing.B) {
			h := connect(b, spec)
			for b.Loop() {
				h.raw("t", `{}`)
			}
		})
		b.Run(name+"/stored", func(b *testing.B) {
			store, err := sqlite.Open(b.Context(), b.TempDir(), sqlite.Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = store.Close() })
			own := tool.Tool{Name: "t", Schema: []byte(`{"type":"object"}`), Run: func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(text), nil }}
			s, err := server.New(store, server.Config{Tools: []tool.Tool{own}})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close(context.Background()) })
			bare(b, web(b, s), "t")
		})
		b.Run(name+"/gateway", func(b *testing.B) {
			store, err := sqlite.Open(b.Context(), b.TempDir(), sqlite.Config{})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = store.Close() })
			bare(b, web(b, front(b, history.Store(store), gateway.Config{}, map[string]client.Server{"s": spec})), "s--t")
		})
	}
}

// bare calls a tool with the SDK's own client; n makes each call another one.
func bare(b *testing.B, url, name string) {
	b.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, nil)
	session, err := c.Connect(b.Context(), &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: bearing()}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer session.Close()
	n := 0
	for b.Loop() {
		n++
		r, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"n": n}})
		if err != nil || r.IsError {
			b.Fatal(err, r)
		}
	}
}
