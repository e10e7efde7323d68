package client

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/internal/schema"
	"github.com/weir-run/weir/mcp/client/internal/wire"
	"github.com/weir-run/weir/tool"
)

// Received is a result of tools/call (CallToolResult of every revision up to 2026-07-28) as it was read from
// its bytes. Nothing that a server may send makes reading fail: what is not as it should be becomes a labelled
// part of the result.
type Received struct {
	// Raw is the result as it was sent.
	Raw json.RawMessage
	// Blocks are its content, in order. Missing, null and empty content are no blocks.
	Blocks []Block
	// Structured is the structured content as it was sent; nil when it is absent, "null" when it is null.
	Structured json.RawMessage
	// IsError marks a failure that the tool tells of.
	IsError bool
	// Odd are notes on what is not as it should be and could be read all the same.
	Odd []string
	// Refused says why this is no result of a call, such as null or the receipt of a task; empty when it is one.
	Refused string
}

// Block is one content block.
type Block struct {
	tool.Content
	// UserOnly says that its audience is the user alone.
	UserOnly bool
	// payload is its data as it was sent.
	payload string
}

// maxBlocks is how many blocks of a result are read; the others are counted.
const maxBlocks = 10_000

// Receive reads a result.
func Receive(raw json.RawMessage) Received {
	r := Received{Raw: raw}
	top, ok := object(raw)
	if !ok {
		r.Refused = "the server answered with " + article(canon.Kind(raw)) + " where a result has to be an object: " + excerpt(raw)
		return r
	}
	kind, _ := canon.Unquote(top["resultType"])
	if kind == "task" || top["task"] != nil && top["content"] == nil {
		r.Refused = "the server started a task in the background, which it was not asked to do and which is not waited for: " + excerpt(raw)
		return r
	}
	if kind == "input_required" {
		r.Refused = "the server asks for input before it goes on, so the call was not completed: " + excerpt(raw)
		return r
	}
	if top["resultType"] != nil && kind != "complete" {
		r.odd("its resultType is %s, which is not known", excerpt(top["resultType"]))
	}
	r.Structured = top["structuredContent"]
	switch flag := string(top["isError"]); flag {
	case "", "null", "false":
	case "true":
		r.IsError = true
	default:
		word, _ := canon.Unquote(top["isError"])
		r.IsError = strings.EqualFold(word, "true") || flag == "1"
		r.odd("its isError is %s and no boolean", excerpt(top["isError"]))
	}
	r.content(top["content"])
	if old := top["toolResult"]; old != nil && top["content"] == nil && r.Structured == nil {
		r.odd("it has the form of revision 2024-10-07 (toolResult)")
		r.Structured = old
	}
	return r
}

// content reads the blocks.
func (r *Received) content(raw json.RawMessage) {
	switch canon.Kind(raw) {
	case "array":
	case "", "null":
		return
	case "string":
		text, _ := canon.Unquote(raw)
		r.odd("its content is a string and no array")
		r.Blocks = []Block{{Content: tool.Content{Type: "text", Text: text}}}
		return
	case "object":
		r.odd("its content is one block and no array")
		r.Blocks = []Block{readBlock(raw)}
		return
	default:
		r.odd("its content is %s and no array", article(canon.Kind(raw)))
		r.Blocks = []Block{unknown("", raw)}
		return
	}
	elements, _ := wire.Elements(raw)
	if n := len(elements); n > maxBlocks {
		r.odd("it has %d blocks; the last %d are not shown", n, n-maxBlocks)
		elements = elements[:maxBlocks]
	}
	for _, e := range elements {
		r.Blocks = append(r.Blocks, readBlock(e))
	}
}

func (r *Received) odd(format string, args ...any) {
	r.Odd = append(r.Odd, fmt.Sprintf(format, args...))
}

// readBlock reads one block. One that cannot be read is kept as its JSON.
func readBlock(raw json.RawMessage) Block {
	b, ok := object(raw)
	if !ok {
		return unknown("", raw)
	}
	kind, _ := canon.Unquote(b["type"])
	var block Block
	switch kind {
	case "text":
		text, ok := canon.Unquote(b["text"])
		switch {
		case ok:
			block = Block{Content: tool.Content{Type: "text", Text: text}}
		case b["text"] == nil || string(b["text"]) == "null":
			block = placeholder("[text block without text]")
		default:
			block = unknown(kind, raw)
		}
	case "image", "audio":
		block = media(kind, b, b["data"])
	case "resource":
		block = resource(b)
	case "resource_link":
		block = Block{Content: tool.Content{Type: kind, URI: text(b["uri"]), Name: text(b["name"]), MIMEType: text(b["mimeType"])}}
	default:
		block = unknown(kind, raw)
	}
	block.UserOnly = userOnly(b["annotations"])
	return block
}

// media reads an image, an audio block or a binary resource. What its bytes are is found out where they are
// kept; what was declared is only a claim.
func media(kind string, b map[string]json.RawMessage, data json.RawMessage) Block {
	declared, uri := text(b["mimeType"]), text(b["uri"])
	payload, ok := canon.Unquote(data)
	if !ok {
		if data == nil || string(data) == "null" {
			return Block{Content: tool.Content{Type: kind, MIMEType: declared, URI: uri}}
		}
		return placeholder(fmt.Sprintf("[%s: %s; its data is %s and no base64 text]", kind, field(declared), article(canon.Kind(data))))
	}
	bytes, err := decode64(payload)
	if err != nil {
		return placeholder(fmt.Sprintf("[%s: %s; its data of %d characters is not valid base64 and is not shown]", kind, field(declared), len(payload)))
	}
	return Block{Content: tool.Content{Type: kind, MIMEType: declared, Data: bytes, URI: uri}, payload: payload}
}

// resource reads an embedded resource: text, a blob, or neither.
func resource(b map[string]json.RawMessage) Block {
	inner, ok := object(b["resource"])
	if !ok {
		return placeholder("[resource without contents]")
	}
	if inner["blob"] != nil {
		return media("resource", inner, inner["blob"])
	}
	return Block{Content: tool.Content{Type: "resource", URI: text(inner["uri"]), MIMEType: text(inner["mimeType"]), Text: text(inner["text"])}}
}

// decode64 reads base64 of either alphabet, with or without padding and line breaks.
func decode64(s string) ([]byte, error) {
	s = strings.NewReplacer("\n", "", "\r", "", " ", "", "-", "+", "_", "/").Replace(s)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

func unknown(kind string, raw json.RawMessage) Block {
	return Block{Content: tool.Content{Type: other(kind), Raw: raw}}
}

// other keeps a block that cannot be read from being taken for one of a known type.
func other(kind string) string {
	switch kind {
	case "text", "image", "audio", "resource", "resource_link":
		return "unreadable " + kind
	}
	return kind
}

func placeholder(line string) Block { return Block{Content: tool.Content{Type: "text", Text: line}} }

// userOnly reports whether annotations name the user as the only audience.
func userOnly(annotations json.RawMessage) bool {
	a, _ := object(annotations)
	audience, _ := wire.Elements(a["audience"])
	for _, one := range audience {
		if text(one) != "user" {
			return false
		}
	}
	return len(audience) > 0
}

func text(raw json.RawMessage) string {
	s, _ := canon.Unquote(raw)
	return s
}

// field is a claim of a block in a placeholder: short, and on one line.
func field(s string) string {
	if s == "" {
		return "no type"
	}
	return strings.Trim(fmt.Sprintf("%.80q", s), `"`)
}

func article(kind string) string {
	switch kind {
	case "":
		return "nothing that is JSON"
	case "null":
		return kind
	case "array", "object":
		return "an " + kind
	}
	return "a " + kind
}

// The codes with which a client refuses a result; JSON-RPC 2.0 section 5.1 as the reference client uses it.
const (
	// CodeViolates says that structured content does not fit the tool's output schema.
	CodeViolates = -32602
	// CodeMissing says that a tool with an output schema gave no structured content.
	CodeMissing = -32600
)

// Verdict is what checking a result against its tool's output schema found. The zero value is a result that fits,
// or one that there was nothing to check it by.
type Verdict struct {
	// Code is 0, [CodeViolates] or [CodeMissing].
	Code int
	// Violations are all that do not fit, each with its JSON Pointer (RFC 6901); at most
	// [schema.MaxViolations] are told apart.
	Violations []string
	// Unchecked says why the result could not be checked; empty when it was, or needed no check.
	Unchecked string
	// Unlisted says that the tool list was not read before the call: some clients check nothing then.
	Unlisted bool
}

// Check checks a result against an output schema (JSON Schema, draft 2020-12 unless it says otherwise). Results
// that are marked as errors are not checked. The check is bounded in time and depth, follows no reference
// out of the schema, and never fails: a schema that cannot be used leaves the result unchecked.
func Check(r Received, output json.RawMessage) Verdict {
	if len(output) == 0 {
		return Verdict{}
	}
	compiled, err := schema.Compile(output)
	if err != nil {
		return Verdict{Unchecked: err.Error()}
	}
	return check(r, compiled)
}

// check checks a result against a compiled schema; nil is none.
func check(r Received, output *schema.Schema) Verdict {
	if output == nil || r.IsError || r.Refused != "" {
		return Verdict{}
	}
	if r.Structured == nil {
		return Verdict{Code: CodeMissing}
	}
	found, err := output.Check(r.Structured)
	if err != nil {
		return Verdict{Unchecked: err.Error()}
	}
	if len(found) == 0 {
		return Verdict{}
	}
	v := Verdict{Code: CodeViolates}
	for i, f := range found {
		if i == schema.MaxViolations {
			v.Violations = append(v.Violations, fmt.Sprintf("and %d more", len(found)-i))
			break
		}
		v.Violations = append(v.Violations, f.String())
	}
	return v
}

// text words a verdict that refuses a result.
func (v Verdict) text() string {
	if v.Code == CodeMissing {
		return fmt.Sprintf("[MCP error %d: the tool has an output schema, but its result has no structured content]", v.Code)
	}
	s := fmt.Sprintf("[MCP error %d: the structured content does not fit the tool's output schema:", v.Code)
	for _, line := range v.Violations {
		s += "\n- " + line
	}
	return s + "]"
}
