package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/internal/schema"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// offer is one tool as it is offered.
type offer struct {
	tool.Tool
	// output checks what the tool returns; nil when it declares nothing.
	output *schema.Schema
	// cap is how many characters of structured content are sent.
	cap int
	// remote says that it is another server's, entry how that one lists it, hidden that it is not listed.
	remote, hidden bool
	entry          json.RawMessage
	// here answers a call without a round of its own; nil for a tool that is run.
	here func(context.Context, *desk, *mcp.CallToolRequest, []byte, added) (*mcp.CallToolResult, error)
}

func newOffer(t tool.Tool, most int) (offer, error) {
	o := offer{Tool: t, cap: most}
	if t.MaxChars > 0 {
		o.cap = min(o.cap, t.MaxChars)
	}
	if err := t.Check(); err != nil {
		return o, err
	}
	if rooted(t.Schema) != "object" && len(t.Schema) > 0 {
		return o, fmt.Errorf(`tool %s: its schema must have "type":"object" at the root, as MCP asks for`, t.Name)
	}
	if len(t.Output) == 0 {
		return o, nil
	}
	if rooted(t.Output) != "object" {
		return o, fmt.Errorf(`tool %s: its output schema must have "type":"object" at the root: clients of the revisions `+
			`before 2026-07-28 refuse the whole list of tools otherwise; wrap the value in an object`, t.Name)
	}
	var err error
	if o.output, err = schema.Compile(t.Output); err != nil {
		return o, fmt.Errorf("output schema of tool %s: %w", t.Name, err)
	}
	return o, nil
}

// rooted gives the type at the root of a schema; empty when there is none.
func rooted(raw json.RawMessage) string {
	var root struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(raw, &root) != nil {
		return ""
	}
	kind, _ := root.Type.(string)
	return kind
}

// listed is the tool as tools/list shows it. The schemas are passed on as they stand.
func (o offer) listed() *mcp.Tool {
	no := false
	t := &mcp.Tool{
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: o.ReadOnly, IdempotentHint: o.Repeatable()},
	}
	if o.ReadOnly {
		t.Annotations.DestructiveHint = &no
	}
	if o.remote {
		t.Annotations = nil // what its server says of it stands in the entry
		if json.Unmarshal(o.entry, t) != nil {
			t = &mcp.Tool{}
		}
		t.OutputSchema = nil
	}
	t.Name, t.Description, t.InputSchema = o.Name, o.Description, json.RawMessage(`{"type":"object"}`)
	if len(o.Schema) > 0 {
		t.InputSchema = o.Schema
	}
	// Clients of the revisions before 2026-07-28 refuse the whole list for a schema with another root.
	if rooted(o.Output) == "object" {
		t.OutputSchema = o.Output
	}
	meta := mcp.Meta{metaMost: o.most()}
	for k, v := range t.Meta {
		if k != metaMost {
			meta[k] = v
		}
	}
	t.Meta = meta
	return t
}

// most is how many UTF-16 units a text of this tool has at most: what its results are held to.
func (o offer) most() int {
	if o.Fit != nil {
		return envelope.MaxResultSizeChars(o.Fit.Class, 0)
	}
	for _, class := range []string{"primitive", "analysis", "workflow"} {
		if n := envelope.MaxResultSizeChars(class, 0); n >= 2*o.cap { // a character has up to two units
			return n
		}
	}
	return 2 * o.cap
}

// runs is the tool as a round runs it: progress goes to the client that asked for it, and what comes back
// is in the form that a client can be sent before anything of it is stored.
func (o offer) runs() tool.Tool {
	t := o.Tool
	body := t.Run
	t.Run = func(ctx context.Context, c tool.Call) (tool.Result, error) {
		r, err := body(reporting(ctx), c)
		if err != nil {
			return r, err
		}
		if o.remote {
			return r, nil
		}
		return o.conform(r), nil
	}
	return t
}

// conform brings a result into the form that every client takes: structured content that fits the
// declared schema, and the same JSON as text. What does not fit becomes an error that says where, with
// what came behind it, so that nothing is lost.
func (o offer) conform(r tool.Result) tool.Result {
	if _, streamed := r.Data.(tool.Spooled); r.IsError || r.IsPage() || streamed {
		return r
	}
	if r.Structured == nil {
		if o.output == nil {
			return r
		}
		return faulted(r, o.Name+" declares an output schema and returned no structured content."+fault)
	}
	if !canon.Valid(r.Structured) {
		return faulted(r, o.Name+" returned structured content that is no JSON."+fault)
	}
	r.Structured = canon.Compact(r.Structured)
	if clean, replaced := canon.CleanJSON(r.Structured); replaced > 0 {
		r.Structured = clean
	}
	if o.output == nil {
		return repeated(r)
	}
	found, err := o.output.Check(r.Structured)
	switch {
	case err != nil:
		return faulted(r, fmt.Sprintf("%s returned structured content that could not be checked against its output schema: %v.%s", o.Name, err, fault))
	case len(found) > 0:
		return faulted(r, fmt.Sprintf("%s returned structured content that does not fit its output schema:\n%s\n%s", o.Name, schema.List(found), fault[1:]))
	}
	if n := utf8.RuneCount(r.Structured); n > o.cap {
		// A success without structured content is refused by clients where a schema is declared.
		long := faulted(r, fmt.Sprintf("%s did its work. Its result has %d characters, more than the %d that are sent, so it comes as text:", o.Name, n, o.cap))
		long.Structured = r.Structured
		return long
	}
	return repeated(r)
}

// fault says whose it is, so that a model does not go on trying.
const fault = " This is a fault of the tool, not of the call. What it returned:"

// repeated adds the structured content to the text, once.
func repeated(r tool.Result) tool.Result {
	if r.Data == nil || string(canon.Compact([]byte(result.Text(r)))) == string(r.Structured) {
		r.Data = r.Structured
		return r
	}
	r.Data = append(contents(r), tool.Content{Type: "text", Text: string(r.Structured)})
	return r
}

// faulted is an error that says why, with all that came behind it, so that nothing is lost.
func faulted(r tool.Result, why string) tool.Result {
	blocks := []tool.Content{{Type: "text", Text: why}}
	if r.Structured == nil {
		return tool.Result{IsError: true, Data: append(blocks, contents(r)...)}
	}
	if raw, ok := repeated(r).Data.(json.RawMessage); ok {
		return tool.Result{IsError: true, Data: append(blocks, tool.Content{Type: "text", Text: string(raw)})}
	}
	return tool.Result{IsError: true, Data: append(blocks, contents(repeated(r))...)}
}

// contents gives what a result has as blocks of its own.
func contents(r tool.Result) []tool.Content {
	if blocks, ok := r.Data.([]tool.Content); ok {
		return slices.Clone(blocks)
	}
	return []tool.Content{{Type: "text", Text: result.Text(r)}}
}
