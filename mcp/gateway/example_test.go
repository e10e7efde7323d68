package gateway_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/gateway"
	"github.com/weir-run/weir/mcp/lab"
)

// A gateway stands between a host, which here is three lines of text, and one server.
func Example() {
	if err := throughTheGateway(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Widget costs $9.99 and is currently out of stock."}]}}
}

func throughTheGateway(ctx context.Context) error {
	protocol := lab.Protocol("1", lab.Matrix())
	site := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return protocol }, nil))
	defer site.Close()
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	g, err := gateway.New(ctx, store, gateway.Config{
		Servers: client.Config{Servers: map[string]client.Server{"shop": {URL: site.URL, Protocol: "2025-11-25"}}},
	})
	if err != nil {
		return err
	}
	host := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"shop--no_schema__text_only","arguments":{}}}
`)
	var out bytes.Buffer
	if err := g.ServeStdio(ctx, host, &out); err != nil {
		return err
	}
	if err := g.Close(ctx); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	fmt.Println(lines[len(lines)-1])
	return nil
}
