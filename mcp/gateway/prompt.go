package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weir-run/weir/internal/canon"
)

// Prompts gives the entries of the servers' prompts/list as they were sent, under their names here. It is
// called by the server in front.
func (g *Gateway) Prompts(ctx context.Context) []json.RawMessage {
	var all []json.RawMessage
	found := map[string]target{}
	for _, s := range g.set.Servers() {
		entries, err := g.set.PromptsRaw(ctx, s.Name)
		if err != nil {
			g.cfg.Logger.Warn("prompts were not listed", "server", s.Name, "err", err)
			continue
		}
		for _, raw := range entries {
			at, name := nameIn(raw)
			if name == "" {
				continue
			}
			listed := g.named(s.Name, name)
			if _, taken := found[listed]; taken {
				continue
			}
			found[listed] = target{server: s.Name, tool: name}
			if listed != name {
				raw = renamed(raw, at, listed)
			}
			all = append(all, raw)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prompts = found
	return all
}

// Prompt gives the result of prompts/get as its server sent it. It is called by the server in front.
func (g *Gateway) Prompt(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error) {
	find := func() (target, bool) {
		g.mu.Lock()
		defer g.mu.Unlock()
		to, ok := g.prompts[name]
		return to, ok
	}
	to, ok := find()
	if !ok {
		g.Prompts(ctx)
		if to, ok = find(); !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown prompt %q", name)}
		}
	}
	raw, rpc, err := g.set.PromptRaw(ctx, to.server, to.tool, args)
	switch {
	case rpc != nil:
		return nil, &jsonrpc.Error{Code: rpc.Code, Message: rpc.Message, Data: rpc.Data}
	case err != nil:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	return raw, nil
}

// maxSaid is the most that is passed on of one server's instructions, in bytes.
const maxSaid = 8 << 10

// Instructions are what the servers said about their use when they were approved.
func (g *Gateway) Instructions() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var b strings.Builder
	for _, s := range g.set.Servers() {
		said, _ := canon.CleanUTF8(g.pins.Servers[pinKey(s.Name, g.cfg.Servers.Servers[s.Name])].Said)
		if said == "" || len(said) > maxSaid {
			continue
		}
		if !g.cfg.Plain {
			fmt.Fprintf(&b, "Of the tools of %s, its author says: ", s.Name)
		}
		b.WriteString(said + "\n")
	}
	return strings.TrimSpace(b.String())
}

// Status tells of the servers behind, for session--prepare.
func (g *Gateway) Status() json.RawMessage {
	type one struct {
		Name     string   `json:"name"`
		Title    string   `json:"title,omitempty"`
		Version  string   `json:"version,omitempty"`
		Protocol string   `json:"protocol,omitempty"`
		Tools    int      `json:"tools"`
		Error    string   `json:"error,omitempty"`
		Withheld []string `json:"withheld,omitempty"`
	}
	all := []one{}
	for _, s := range g.set.Servers() {
		o := one{Name: s.Name, Title: s.Title, Version: s.Version, Protocol: s.Protocol, Tools: s.Tools}
		if s.Err != nil {
			o.Error = s.Err.Error()
		}
		o.Withheld = g.withheldOf(s.Name)
		all = append(all, o)
	}
	raw, err := canon.Marshal(map[string]any{"servers": all})
	if err != nil {
		return nil
	}
	return raw
}

// nameIn finds the name of an entry and where it stands.
func nameIn(raw json.RawMessage) (at [2]int, name string) {
	l := canon.NewLexer(raw)
	here := false
	for {
		t, err := l.Next()
		switch {
		case err != nil:
			return at, name
		case t.Key && t.Depth == 1:
			key, _ := canon.Unquote(t.Raw)
			here = key == "name"
		case here && t.Depth == 1:
			here = false
			if text, ok := canon.Unquote(t.Raw); ok {
				at, name = [2]int{t.Start, t.Start + len(t.Raw)}, text
			}
		}
	}
}

// renamed is an entry with another name; every other byte stays.
func renamed(raw json.RawMessage, at [2]int, name string) json.RawMessage {
	out := append([]byte{}, raw[:at[0]]...)
	out = canon.AppendString(out, name)
	return append(out, raw[at[1]:]...)
}

var errNothing = errors.New("it says nothing")
