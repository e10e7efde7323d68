package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/internal/schema"
	"github.com/weir-run/weir/mcp/client/internal/wire"
)

// remote is one tool as a server lists it.
type remote struct {
	Name, Description    string
	Schema, Output       json.RawMessage
	ReadOnly, Idempotent bool

	check     *schema.Schema // of Output; nil when there is none
	unchecked string         // why Output cannot be checked; empty when it can
}

// maxDescription is the longest description that is taken, in bytes.
const maxDescription = 64 << 10

// refresh reads the server's list when it may be another one, and reports whether it was read. When the
// server cannot be reached, what it offered before stays, so that calls are answered by its failure.
func (s *server) refresh(ctx context.Context, first bool) bool {
	if !first && !s.stale() {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, s.opts.Start)
	defer stop()
	l, err := s.connection(ctx)
	if err != nil {
		s.failed(err)
		return false
	}
	s.mu.Lock()
	s.changed = false // a change that comes while the pages are read is seen the next time
	s.mu.Unlock()
	entries, err := s.pages(ctx, l, "tools/list", "tools")
	if err != nil {
		s.failed(fmt.Errorf("list its tools: %w", err))
		s.mu.Lock()
		s.changed = true
		s.mu.Unlock()
		return false
	}
	listed := s.read(entries)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw, s.listed, s.err = entries, listed, nil
	return true
}

// stale reports whether the list is to be read anew.
func (s *server) stale() bool {
	alive := s.current() != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed && (alive || s.starts == 0)
}

func (s *server) failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.opts.Logger.Warn("MCP server cannot be used", "server", s.name, "error", err)
}

// offered are the tools that were listed last.
func (s *server) offered() []remote {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.listed)
}

// pages reads a list to its end: until no cursor comes (an empty one is a cursor), one comes again, or
// [MaxPages] or [MaxTools] are reached.
func (s *server) pages(ctx context.Context, l *live, method, member string) ([]json.RawMessage, error) {
	all := []json.RawMessage{}
	seen := map[string]bool{}
	var cursor *string
	for page := 0; ; page++ {
		result, rpc, err := s.page(ctx, l, method, cursor)
		switch {
		case err != nil:
			return nil, err
		case rpc != nil && rpc.Code == -32601:
			return all, nil // it has no such list
		case rpc != nil:
			return nil, rpc
		}
		top, ok := object(result)
		if !ok {
			return nil, fmt.Errorf("the answer to %s is no object: %s", method, excerpt(result))
		}
		entries, ok := wire.Elements(top[member])
		if !ok && canon.Kind(top[member]) != "null" {
			return nil, fmt.Errorf("the answer to %s has no array %q: %s", method, member, excerpt(result))
		}
		all = append(all, entries...)
		next, more := canon.Unquote(top["nextCursor"])
		switch {
		case !more:
			return all, nil
		case seen[next]:
			s.problem(fmt.Sprintf("its %s gave the cursor %.40q twice: reading stopped after page %d", method, next, page+1))
			return all, nil
		case page+1 >= MaxPages || len(all) >= MaxTools:
			s.problem(fmt.Sprintf("its %s does not end: reading stopped after %d pages with %d entries", method, page+1, len(all)))
			return all, nil
		}
		seen[next], cursor = true, &next
	}
}

// page asks for one page.
func (s *server) page(ctx context.Context, l *live, method string, cursor *string) (json.RawMessage, *RPCError, error) {
	params := []wire.Member{}
	if cursor != nil {
		params = append(params, wire.Member{Key: "cursor", Value: quote(*cursor)})
	}
	ex := &wire.Exchange{Method: method, Params: params, StandIn: standIn(method)}
	return s.send(ctx, l, ex, "")
}

// standIn makes what the SDK is given of a list: it needs the tools' names and schemas for the headers that
// their arguments are repeated in, and must not keep a list of its own.
func standIn(method string) func(json.RawMessage) json.RawMessage {
	if method != "tools/list" {
		return nil
	}
	return func(result json.RawMessage) json.RawMessage {
		out := []byte(`{"tools":[`)
		top, _ := object(result)
		entries, _ := wire.Elements(top["tools"])
		n := 0
		for _, e := range entries {
			t, ok := object(e)
			if name, named := canon.Unquote(t["name"]); ok && named && canon.Kind(t["inputSchema"]) == "object" {
				if n++; n > 1 {
					out = append(out, ',')
				}
				out = append(append(out, `{"name":`...), quote(name)...)
				out = append(append(append(out, `,"inputSchema":`...), t["inputSchema"]...), '}')
			}
		}
		return append(out, "]}"...)
	}
}

// read makes tools of the entries. One that is bad is reported and left out; the others stay.
func (s *server) read(entries []json.RawMessage) []remote {
	if len(entries) > MaxTools {
		s.problem(fmt.Sprintf("it lists %d tools; the first %d are taken", len(entries), MaxTools))
		entries = entries[:MaxTools]
	}
	names := map[string]bool{}
	listed := make([]remote, 0, len(entries))
	for i, e := range entries {
		r, err := readTool(e, s.spec.Type != "stdio")
		switch {
		case err != nil && r.Name != "":
			s.problem(fmt.Sprintf("tool %.80q is left out: %v", r.Name, err))
		case err != nil:
			s.problem(fmt.Sprintf("entry %d of its tools is left out: %v", i+1, err))
		case names[r.Name]:
			s.problem(fmt.Sprintf("tool %.80q is listed twice: the first is taken", r.Name))
		default:
			names[r.Name] = true
			if r.unchecked != "" {
				s.problem(fmt.Sprintf("the results of tool %.80q are not checked: its output schema cannot be used: %s", r.Name, r.unchecked))
			}
			listed = append(listed, r)
		}
	}
	return listed
}

// readTool reads one entry of tools/list.
func readTool(raw json.RawMessage, web bool) (remote, error) {
	var r remote
	t, ok := object(raw)
	if !ok {
		return r, fmt.Errorf("it is no object: %s", excerpt(raw))
	}
	if r.Name, ok = canon.Unquote(t["name"]); !ok || r.Name == "" {
		return r, fmt.Errorf("it has no name: %s", excerpt(raw))
	}
	r.Description, ok = canon.Unquote(t["description"])
	switch {
	case !ok && t["description"] != nil && canon.Kind(t["description"]) != "null":
		return r, errors.New("its description is no string")
	case len(r.Description) > maxDescription:
		return r, fmt.Errorf("its description has %d bytes; at most %d are taken", len(r.Description), maxDescription)
	case canon.Kind(t["inputSchema"]) != "object":
		return r, errors.New("its inputSchema is no object")
	}
	r.Schema = bytes.Clone(canon.Compact(t["inputSchema"]))
	if _, err := schema.Compile(r.Schema); err != nil {
		return r, fmt.Errorf("its inputSchema cannot be used: %w", err)
	}
	if err := checkHeaders(r.Schema); web && err != nil {
		return r, err
	}
	execution, _ := object(t["execution"])
	if support, _ := canon.Unquote(execution["taskSupport"]); support == "required" {
		return r, errors.New("it runs only as a task (taskSupport is required), which this client does not start")
	}
	if out := t["outputSchema"]; canon.Kind(out) != "" && canon.Kind(out) != "null" {
		r.Output = bytes.Clone(canon.Compact(out))
		var err error
		if r.check, err = schema.Compile(r.Output); err != nil {
			r.check, r.unchecked = nil, err.Error()
		}
	}
	hints, _ := object(t["annotations"])
	r.ReadOnly, r.Idempotent = string(hints["readOnlyHint"]) == "true", string(hints["idempotentHint"]) == "true"
	return r, nil
}

// checkHeaders fails for an input schema whose x-mcp-header annotations are not those of revision 2026-07-28:
// on a property that is a string, an integer or a boolean, with a header token for a name, each once. A
// client must not offer such a tool over HTTP.
func checkHeaders(schema json.RawMessage) error {
	return checkHeadersIn(schema, map[string]bool{}, 0)
}

func checkHeadersIn(schema json.RawMessage, seen map[string]bool, deep int) error {
	s, ok := object(schema)
	if !ok || deep > 100 {
		return nil
	}
	properties, _ := wire.Members(s["properties"])
	for _, p := range properties {
		property, ok := object(p.Value)
		if !ok {
			continue
		}
		if raw := property["x-mcp-header"]; raw != nil {
			name, isText := canon.Unquote(raw)
			kind, _ := canon.Unquote(property["type"])
			switch {
			case !isText || !isToken(name):
				return fmt.Errorf("its property %.60q has an x-mcp-header that is no header name: %s", p.Key, excerpt(raw))
			case kind != "string" && kind != "integer" && kind != "boolean":
				return fmt.Errorf("its property %.60q has an x-mcp-header and is no string, integer or boolean", p.Key)
			case seen[strings.ToLower(name)]:
				return fmt.Errorf("its x-mcp-header %.60q stands twice", name)
			}
			seen[strings.ToLower(name)] = true
		}
		if err := checkHeadersIn(p.Value, seen, deep+1); err != nil {
			return err
		}
	}
	return nil
}

// isToken is the token of RFC 9110 section 5.6.2.
func isToken(s string) bool {
	for _, r := range s {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("!#$%&'*+-.^_`|~", r):
		default:
			return false
		}
	}
	return s != ""
}
