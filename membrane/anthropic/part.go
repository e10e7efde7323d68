package anthropic

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/wire"
)

// part is one block while it is put together.
type part struct {
	kind string
	// start are the members that the block started with.
	start []object.Member
	// text, thinking, signature and input are what the deltas brought, joined.
	text, thinking, signature, input joint
	citations                        [][]byte
	stopped                          bool
}

func newPart(raw json.RawMessage) (*part, membrane.Event, error) {
	start, err := object.Read(raw)
	if err != nil {
		return nil, nil, wire.Unreadable("a block of the answer cannot be read: %v", err)
	}
	kind, ok := canon.Unquote(object.Find(start, "type"))
	if !ok || kind == "" {
		return nil, nil, wire.Unreadable("a block of the answer has no type")
	}
	p := &part{kind: kind, start: start}
	for _, key := range held(kind) {
		if value := object.Find(start, key); key != "input" && value != nil && canon.Kind(value) != "string" && canon.Kind(value) != "null" {
			return nil, nil, wire.Unreadable("a block of type %.60q starts with a %s that is no text", kind, key)
		}
	}
	switch kind {
	case "text":
		return p, shown(kind, p.begin("text", &p.text)), nil
	case "thinking":
		return p, shown(kind, p.begin("thinking", &p.thinking)), nil
	}
	return p, nil, nil
}

// begin joins what a block starts with to what follows; as a rule that is nothing.
func (p *part) begin(key string, j *joint) string {
	if j.begun {
		return ""
	}
	j.begun = true
	text, _ := j.add(object.Find(p.start, key))
	return text
}

// takes reports whether a block goes on with deltas of this kind. One whose type is not known goes on
// with any.
func (p *part) takes(delta string) bool {
	switch p.kind {
	case "text":
		return delta == "text_delta" || delta == "citations_delta"
	case "thinking":
		return delta == "thinking_delta" || delta == "signature_delta"
	case "tool_use", "server_tool_use", "mcp_tool_use":
		return delta == "input_json_delta"
	case "redacted_thinking":
		return false
	}
	return true
}

// join adds a delta to its block.
func (p *part) join(raw json.RawMessage) (membrane.Event, error) {
	delta, err := object.Read(raw)
	if err != nil {
		return nil, wire.Unreadable("a delta of the answer cannot be read: %v", err)
	}
	kind, _ := canon.Unquote(object.Find(delta, "type"))
	var piece string
	var to *joint
	switch kind {
	case "text_delta":
		piece, to = "text", &p.text
	case "thinking_delta":
		piece, to = "thinking", &p.thinking
	case "signature_delta":
		piece, to = "signature", &p.signature
	case "input_json_delta":
		piece, to = "partial_json", &p.input
	case "citations_delta":
		piece = "citation"
	default:
		return nil, wire.Unknown("a block of type %.60q goes on with a delta of type %.60q", p.kind, kind)
	}
	value := object.Find(delta, piece)
	if !p.takes(kind) || !p.continues(kind) {
		return nil, wire.Unknown("a block of type %.60q cannot go on with a delta of type %s", p.kind, kind)
	}
	if to == nil {
		if value == nil {
			return nil, wire.Unreadable("a delta of type %s brings nothing", kind)
		}
		p.citations = append(p.citations, value)
		return nil, nil
	}
	if to != &p.input {
		p.begin(piece, to)
	}
	text, ok := to.add(value)
	if !ok {
		return nil, wire.Unreadable("a delta of type %s brings no text", kind)
	}
	if kind == "text_delta" && p.kind == "text" || kind == "thinking_delta" && p.kind == "thinking" {
		return shown(p.kind, text), nil
	}
	return nil, nil
}

// continues reports whether what the block started with leaves room for a delta: an input that is there
// already cannot be continued, and neither can a member of another type.
func (p *part) continues(delta string) bool {
	var key, kind string
	switch delta {
	case "input_json_delta":
		start := bytes.TrimSpace(object.Find(p.start, "input"))
		return len(start) == 0 || string(start) == "null" || string(start) == `""` || canon.Equal(start, []byte("{}"))
	case "citations_delta":
		key, kind = "citations", "array"
	default:
		key, kind = strings.TrimSuffix(delta, "_delta"), "string"
	}
	start := object.Find(p.start, key)
	return start == nil || canon.Kind(start) == "null" || canon.Kind(start) == kind
}

func shown(kind, text string) membrane.Event {
	switch {
	case text == "":
		return nil
	case kind == "thinking":
		return membrane.ThinkingDelta{Text: text}
	}
	return membrane.TextDelta{Text: text}
}

// joint joins JSON strings. A character outside the basic plane may be escaped as two halves that come
// in two strings, so a first half waits for the next.
type joint struct {
	text    strings.Builder
	waiting string
	// any says that there is a text, be it empty; begun that what the block started with was joined.
	any, begun bool
}

// add takes one JSON string, or nothing, and gives its text; false for what is no string.
func (j *joint) add(raw json.RawMessage) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	inner := j.waiting + string(raw[1:len(raw)-1])
	j.waiting = ""
	if at := len(inner) - 6; at >= 0 && openHalf(inner[at:]) && backslashes(inner[:at])%2 == 0 {
		inner, j.waiting = inner[:at], inner[at:]
	}
	text, ok := canon.Unquote([]byte(`"` + inner + `"`))
	if !ok {
		return "", false
	}
	j.any = true
	j.text.WriteString(text)
	return text, true
}

// String gives all of it; a half that was left alone is U+FFFD.
func (j *joint) String() string {
	if j.waiting != "" {
		return j.text.String() + "\ufffd"
	}
	return j.text.String()
}

// openHalf reports whether s is the escape of the first half of a character.
func openHalf(s string) bool {
	return len(s) == 6 && s[0] == '\\' && s[1] == 'u' && (s[2] == 'd' || s[2] == 'D') && strings.IndexByte("89abAB", s[3]) >= 0
}

func backslashes(s string) int { return len(s) - len(strings.TrimRight(s, `\`)) }

// whole gives the members of the block as it is now: each where it stood, and what only deltas brought
// behind them.
func (p *part) whole() []object.Member {
	all := slices.Clone(p.start)
	set := func(key string, value json.RawMessage) {
		for i := range slices.Backward(all) {
			if all[i].Key == key {
				all[i].Value = value
				return
			}
		}
		all = append(all, object.Of(key, value))
	}
	for _, j := range []struct {
		key string
		*joint
	}{{"text", &p.text}, {"thinking", &p.thinking}, {"signature", &p.signature}} {
		if j.any {
			set(j.key, quote(j.String()))
		}
	}
	if args := p.input.String(); args != "" {
		set("input", membrane.ObjectArgs([]byte(args)))
	}
	if len(p.citations) > 0 {
		var list []json.RawMessage
		_ = json.Unmarshal(object.Find(p.start, "citations"), &list)
		for _, c := range p.citations {
			list = append(list, c)
		}
		var parts [][]byte
		for _, c := range list {
			parts = append(parts, c)
		}
		set("citations", slices.Concat([]byte("["), bytes.Join(parts, []byte(",")), []byte("]")))
	}
	return all
}

// block gives the block in its neutral form. Raw keeps what that cannot hold.
func (p *part) block(model string) membrane.Block {
	all := p.whole()
	rest := object.Without(all, held(p.kind)...)
	own := func(members []object.Member) json.RawMessage {
		clean, _ := canon.CleanJSON(object.Write(append([]object.Member{object.Of("type", quote(p.kind))}, members...)))
		return membrane.Own(Dialect, model, clean)
	}
	var b membrane.Block
	switch p.kind {
	case "text":
		b = membrane.Block{Type: membrane.Text, Text: p.text.String()}
	case "thinking":
		return membrane.Block{Type: membrane.Thinking, Text: p.thinking.String(), Raw: own(rest)}
	case "tool_use":
		id, _ := canon.Unquote(object.Find(all, "id"))
		name, _ := canon.Unquote(object.Find(all, "name"))
		b = membrane.Block{Type: membrane.Call, CallID: id, Tool: name, Args: p.args()}
	default:
		return membrane.Block{Type: membrane.Other, Raw: own(object.Without(all, "type"))}
	}
	if len(rest) > 0 {
		b.Raw = own(rest)
	}
	return b
}

// args gives the arguments of a call as the model wrote them; nil when it wrote none.
func (p *part) args() []byte {
	if p.input.any {
		return []byte(p.input.String())
	}
	if start := object.Find(p.start, "input"); start != nil && !canon.Equal(start, []byte("{}")) && string(start) != "null" {
		return start
	}
	return nil
}
