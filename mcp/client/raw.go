package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/client/internal/wire"
)

// CallRaw calls a server's tool by the server's own name for it and gives the result as the bytes that the
// server sent: nothing is read, checked, asked for or shown. A result that asks for input is given as it
// is. What the server answers as an error is an [*RPCError]; an error means that there is no answer: a
// [*Lost], or the end of ctx.
func (s *Set) CallRaw(ctx context.Context, server, name string, args json.RawMessage) (json.RawMessage, *RPCError, error) {
	return s.raw(ctx, server, "tools/call", name, []wire.Member{
		{Key: "name", Value: quote(name)}, {Key: "arguments", Value: arguments(args)},
	})
}

// PromptRaw gets a prompt and gives its result as the bytes that the server sent, as [Set.CallRaw] does.
func (s *Set) PromptRaw(ctx context.Context, server, name string, args json.RawMessage) (json.RawMessage, *RPCError, error) {
	params := []wire.Member{{Key: "name", Value: quote(name)}}
	if len(args) > 0 {
		params = append(params, wire.Member{Key: "arguments", Value: args})
	}
	return s.raw(ctx, server, "prompts/get", name, params)
}

func (s *Set) raw(ctx context.Context, server, method, name string, params []wire.Member) (json.RawMessage, *RPCError, error) {
	v, err := s.find(server)
	if err != nil {
		return nil, nil, err
	}
	return v.once(ctx, method, name, params)
}

// ToolsRaw gives the entries of a server's tool list as they were sent, bad ones too, as of the last
// [Set.Refresh]. It is empty for a server that was never reached.
func (s *Set) ToolsRaw(server string) ([]json.RawMessage, error) {
	v, err := s.find(server)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.raw), nil
}

// PromptsRaw lists a server's prompts over all pages and gives the entries as they were sent; none for a
// server that has no prompts.
func (s *Set) PromptsRaw(ctx context.Context, server string) ([]json.RawMessage, error) {
	v, err := s.find(server)
	if err != nil {
		return nil, err
	}
	l, err := v.connection(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the prompts of MCP server %s: %w", server, err)
	}
	all, err := v.pages(ctx, l, "prompts/list", "prompts")
	if err != nil {
		return nil, fmt.Errorf("list the prompts of MCP server %s: %w", server, err)
	}
	return all, nil
}

// object gives the members of a JSON object by key, the last one of a key that stands twice; false when raw
// is no object.
func object(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	members, ok := wire.Members(raw)
	if !ok {
		return nil, false
	}
	m := make(map[string]json.RawMessage, len(members))
	for _, x := range members {
		m[x.Key] = x.Value
	}
	return m, true
}

func quote(s string) json.RawMessage { return canon.AppendString(nil, s) }

// excerpt shows a little of what a server sent, for a person or a model who has to see what is wrong.
func excerpt(raw json.RawMessage) string {
	const most = 200
	text, _ := canon.CleanUTF8(string(bytes.TrimSpace(raw[:min(len(raw), 4*most)])))
	if r := []rune(text); len(r) > most || len(raw) > 4*most {
		return fmt.Sprintf("%s… (%d bytes)", string(r[:min(len(r), most)]), len(raw))
	}
	if text == "" {
		return "nothing"
	}
	return text
}
