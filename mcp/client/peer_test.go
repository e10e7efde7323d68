//go:build unix

package client_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// peers gives the folder that make peers has filled.
func peers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WEIR_PEERS")
	if dir == "" {
		t.Skip("third-party servers are not installed: make peers installs them and runs this with WEIR_PEERS set")
	}
	return dir
}

// peer gives one of the third-party servers.
func peer(t *testing.T, name string, args ...string) client.Server {
	t.Helper()
	script := filepath.Join(peers(t), "node_modules/@modelcontextprotocol", name, "dist/index.js")
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("WEIR_PEERS names no folder that make peers has filled: %v", err)
	}
	return client.Server{Command: "node", Args: append([]string{script}, args...)}
}

// connect connects to the servers of a test and closes them with it.
func connect(t *testing.T, o client.Options, servers map[string]client.Server) *client.Set {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	s, err := client.Connect(ctx, client.Config{Servers: servers}, o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// call runs a call the way the runtime does, and gives its result and the whole text of it.
func call(t *testing.T, s *client.Set, name, args string) (tool.Result, string) {
	t.Helper()
	set, err := execute.NewSet(s.Tools())
	if err != nil {
		t.Fatal(err)
	}
	ran := execute.Run(t.Context(), set.Prepare(tool.Call{ID: "c1", Name: name, Args: []byte(args)}), execute.Env{})
	return ran.Result, result.Text(ran.Result)
}
