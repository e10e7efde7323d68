package server_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

// A program offers a tool of its own to an MCP host, which here is three lines of text.
func Example() {
	if err := weatherOverMCP(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":2,"result":{"_meta":{"anthropic/maxResultSizeChars":50000,"weir/result":"r1-1"},"content":[{"type":"text","text":"rain in Oslo"}]}}
}

func weatherOverMCP(ctx context.Context) error {
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
	weather, err := tool.Func("weather", "The weather of a city.", func(_ context.Context, in struct {
		City string `json:"city"`
	},
	) (string, error) {
		return "rain in " + in.City, nil
	})
	if err != nil {
		return err
	}
	s, err := server.New(store, server.Config{Tools: []tool.Tool{weather}})
	if err != nil {
		return err
	}
	host := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"host","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Oslo"}}}
`)
	var out bytes.Buffer
	if err := s.ServeStdio(ctx, host, &out); err != nil {
		return err
	}
	if err := s.Close(ctx); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	fmt.Println(lines[len(lines)-1])
	return nil
}
