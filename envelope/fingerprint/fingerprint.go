// Package fingerprint is to tell whether the tools that a client saw are those that are there; pure.
//
// Two hashes are made by one function: the surface, names and input schemas without what only describes
// them, which the order of the list and edits of descriptions do not change; and the contract, everything
// that is sent, which decides epochs, approvals and pinning. Hashes per tool say which one changed.
package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/internal/canon"
)

// Tool is what is sent of a tool.
type Tool struct {
	Name, Title, Description string
	// Input and Output are its schemas; empty when it has none.
	Input, Output json.RawMessage
	// Rest is what else is sent of it, as one JSON value, such as its annotations; empty for nothing.
	Rest json.RawMessage
}

// Print is the fingerprint of a session's visible tools.
type Print struct {
	// Surface and Contract are SHA-256 in 64 lower-case hexadecimal digits.
	Surface, Contract string
	// Tools are the hashes of each tool, by name.
	Tools []ToolPrint
}

// ToolPrint is the fingerprint of one tool.
type ToolPrint struct{ Name, Surface, Contract string }

// Of makes the fingerprint of a list of tools, in any order. Two tools of one name, and a schema that is no
// JSON, are errors that name the tool.
func Of(tools []Tool) (Print, error) {
	sorted := slices.Clone(tools)
	slices.SortStableFunc(sorted, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	var p Print
	surface, contract := []byte{'['}, []byte{'['}
	for i, t := range sorted {
		if i > 0 {
			if t.Name == sorted[i-1].Name {
				return Print{}, fmt.Errorf("fingerprint: two tools have the name %.80q", t.Name)
			}
			surface, contract = append(surface, ','), append(contract, ',')
		}
		s, c, err := t.forms()
		if err != nil {
			return Print{}, err
		}
		surface, contract = append(surface, s...), append(contract, c...)
		p.Tools = append(p.Tools, ToolPrint{t.Name, hash(s), hash(c)})
	}
	p.Surface, p.Contract = hash(append(surface, ']')), hash(append(contract, ']'))
	return p, nil
}

// forms are the canonical bytes of a tool that its two hashes are made of.
func (t Tool) forms() (surface, contract []byte, err error) {
	if surface, err = write(t.object(Tool{Name: t.Name, Input: t.Input}), bare); err != nil {
		return nil, nil, fmt.Errorf("fingerprint of tool %.80s: %w", t.Name, err)
	}
	if contract, err = write(t.object(t), nil); err != nil {
		return nil, nil, fmt.Errorf("fingerprint of tool %.80s: %w", t.Name, err)
	}
	return surface, contract, nil
}

// object writes a tool as one object; what is empty is absent.
func (Tool) object(t Tool) []byte {
	out := canon.AppendString([]byte(`{"name":`), t.Name)
	text := func(key, value string) {
		if value != "" {
			out = canon.AppendString(append(out, `,"`+key+`":`...), value)
		}
	}
	raw := func(key string, value json.RawMessage) {
		if len(value) > 0 {
			out = append(append(out, `,"`+key+`":`...), value...)
		}
	}
	text("title", t.Title)
	text("description", t.Description)
	raw("inputSchema", t.Input)
	raw("outputSchema", t.Output)
	raw("rest", t.Rest)
	return append(out, '}')
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// kind is what a value in a schema is.
type kind byte

const (
	schema  kind = iota // a schema: its keys are keywords
	named               // schemas by name: its keys are nobody's keywords
	literal             // data: nothing in it is a keyword
)

// bare takes out of a schema, at every level, what only describes: description, title, examples, $comment.
// A property of such a name stays, and so does what is data.
func bare(v value, in kind) (value, bool) {
	if in == literal || v.kind != '{' && v.kind != '[' {
		return v, true
	}
	out := value{kind: v.kind}
	for i, kid := range v.kids {
		below := schema
		if v.kind == '{' {
			if in == schema {
				switch v.keys[i] {
				case "description", "title", "examples", "$comment":
					continue
				case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
					below = named
				case "enum", "const", "default", "required", "dependentRequired", "type", "$ref", "$id", "name":
					below = literal
				}
			}
			out.keys = append(out.keys, v.keys[i])
		}
		kid, _ = bare(kid, below)
		out.kids = append(out.kids, kid)
	}
	return out, true
}

// RefreshAction is what a client does whose tools are not those that are there.
const RefreshAction = "reissue_tools_list_or_reconnect"

// StaleWarning is the warning for a client that echoes a fingerprint it saw: {code, message,
// refresh_action, client, server}; nil when it echoes none, or the one that is there. The call runs in any
// case. changed are the names of the tools that changed, where that is known; at most ten are named.
func (p Print) StaleWarning(known string, changed []string) json.RawMessage {
	known = strings.TrimSpace(known)
	if known == "" || known == p.Surface || known == p.Contract {
		return nil
	}
	out := []byte(`{"code":"tool_schema_cache_stale","message":"the tools have changed since they were listed","refresh_action":"` + RefreshAction + `","client":`)
	out = canon.AppendString(out, fmt.Sprintf("%.64s", known))
	out = canon.AppendString(append(out, `,"server":`...), p.Surface)
	if len(changed) > 0 {
		out = append(out, `,"changed":[`...)
		for i, name := range changed[:min(len(changed), 10)] {
			if i > 0 {
				out = append(out, ',')
			}
			out = canon.AppendString(out, fmt.Sprintf("%.80s", name))
		}
		out = append(out, ']')
		if n := len(changed) - 10; n > 0 {
			out = fmt.Appendf(out, `,"changed_omitted_count":%d`, n)
		}
	}
	return append(out, '}')
}

// Changed names the tools whose surface is another than before, that came and that went, sorted.
func (p Print) Changed(before Print) []string {
	was := map[string]string{}
	for _, t := range before.Tools {
		was[t.Name] = t.Surface
	}
	var names []string
	for _, t := range p.Tools {
		if was[t.Name] != t.Surface {
			names = append(names, t.Name)
		}
		delete(was, t.Name)
	}
	for name := range was {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Known reads the fingerprint that a client echoes: the first of these members that is text and not blank,
// known_tool_schema_fingerprint, client_tool_schema_fingerprint, of a call's arguments or its _meta.
func Known(objects ...json.RawMessage) string {
	for _, raw := range objects {
		var all map[string]json.RawMessage
		if json.Unmarshal(raw, &all) != nil {
			continue
		}
		for _, key := range []string{"known_tool_schema_fingerprint", "client_tool_schema_fingerprint"} {
			if text, ok := canon.Unquote(all[key]); ok && strings.TrimSpace(text) != "" {
				return strings.TrimSpace(text)
			}
		}
	}
	return ""
}
