package cli

import (
	"context"
	"path/filepath"

	"github.com/weir-run/weir/mcp/client"
)

// mcpUsage is what help says of the flag that names MCP servers.
const mcpUsage = "a `FILE` of MCP servers (\"mcpServers\", as other hosts have it) whose tools the model may call"

// mcpFile gives the absolute path of a file of MCP servers that can be used.
func mcpFile(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", misuse("--mcp %s: %w", path, err)
	}
	if _, err := client.Load(abs); err != nil {
		return "", misuse("%w", err)
	}
	return abs, nil
}

// reachServers starts or reaches the MCP servers of a setup so that their tools are offered. A server that cannot be
// used is named, and the others serve. One set serves all turns of the process.
func (a *app) reachServers(ctx context.Context, s setup) error {
	if s.MCP == "" || a.servers != nil {
		return nil
	}
	config, err := client.Load(s.MCP)
	if err != nil {
		return misuse("%w", err)
	}
	set, err := client.Connect(ctx, config, client.Options{Version: readRelease().Version})
	if err != nil {
		return err
	}
	a.servers = set
	for _, server := range set.Servers() {
		if server.Err != nil {
			a.complain("MCP server " + server.Name + " cannot be used: " + server.Err.Error())
		}
		for _, problem := range server.Problems {
			a.complain("MCP server " + server.Name + ": " + problem)
		}
	}
	return nil
}

// leaveServers ends the MCP servers that this process has started.
func (a *app) leaveServers() {
	if a.servers != nil {
		_ = a.servers.Close() // they end either way
	}
}
