package lab

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/weir-run/weir/mcp/server"
)

// Protocol makes an MCP server of tools. The bytes of a result go out as they stand in [Tool.Result]: the
// SDK's own encoder never sees them.
func Protocol(version string, tools []Tool) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "weir-lab", Title: "Weir response lab", Version: version}, &mcp.ServerOptions{
		Instructions: "Each tool takes no arguments. Call every one of them and tell what you were shown, word for word.",
	})
	byName := map[string]Tool{}
	for _, t := range tools {
		byName[t.Name] = t
		spec := &mcp.Tool{
			Name: t.Name, Description: t.Description, InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true},
		}
		if t.Output != nil {
			spec.OutputSchema = t.Output
		}
		s.AddTool(spec, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, fmt.Errorf("%s was not answered by the lab", t.Name) // the middleware answers first
		})
	}
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			call, ok := r.(*mcp.CallToolRequest)
			if !ok {
				return next(ctx, method, r)
			}
			t, ok := byName[call.Params.Name]
			if !ok {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q", call.Params.Name)}
			}
			return &verbatim{CallToolResult: &mcp.CallToolResult{}, bytes: stamped(t.Result, server.RevisionOf(call.Session))}, nil
		}
	})
	return s
}

// verbatim is a result whose bytes are sent as they are.
type verbatim struct {
	*mcp.CallToolResult
	bytes json.RawMessage
}

// MarshalJSON gives the bytes.
func (v *verbatim) MarshalJSON() ([]byte, error) { return v.bytes, nil }

// stamped puts the resultType in front where the revision demands it.
func stamped(result json.RawMessage, revision string) json.RawMessage {
	if revision < server.Stateless {
		return result
	}
	return json.RawMessage(`{"resultType":"complete",` + string(result[1:]))
}
