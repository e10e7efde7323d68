// Package conformance has the tools, resources and prompts that the protocol's conformance suite calls for.
package conformance

import "github.com/modelcontextprotocol/go-sdk/mcp"

// Add adds everything to a server.
func Add(p *mcp.Server) {}

// Options sets what only options can set.
func Options(o *mcp.ServerOptions) {}
