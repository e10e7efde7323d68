package envelope

import (
	"slices"
	"strings"

	"github.com/weir-run/weir/internal/canon"
)

// The tools that read what was kept.
const (
	readTool = "workspace--read"
	grepTool = "workspace--grep"
)

// The words of a completeness.
const (
	complete = "complete"
	clipped  = "clipped"
	sampled  = "sampled"
	notFound = "not_found"
)

// hint is what a recovery hint is made from.
type hint struct {
	result       Result
	options      *Options
	completeness string
	field        string // the most omitted field
	omitted      int
}

// String says how to get what is not shown, in one line of at most some 600 characters. It names no tool
// but those that are offered, and no argument but those that the tool says narrow it.
func (h hint) String() string {
	var parts []string
	if h.completeness == notFound {
		parts = append(parts, "what was asked for was not found, so a larger budget recovers nothing: search for it"+h.with(grepTool))
	}
	if h.omitted > 0 {
		what := "elements"
		if h.field != "" {
			what = clamp(h.field, maxName)
		}
		parts = append(parts, what+": "+count(h.omitted)+" omitted")
	}
	switch {
	case h.result.Path != "":
		parts = append(parts, h.kept())
	case h.result.Unkept != "":
		parts = append(parts, "the rest was not kept ("+clamp(h.result.Unkept, maxName)+")")
		parts = append(parts, h.narrow()...)
	default:
		parts = append(parts, h.narrow()...)
	}
	switch h.completeness {
	case clipped:
		parts = append(parts, "the tool itself had already clipped it")
	case sampled:
		parts = append(parts, "the tool gave a sample")
	}
	if len(parts) == 0 {
		return "the rest is not shown and was not kept"
	}
	return strings.Join(parts, "; ")
}

// with names a tool where it is offered.
func (h hint) with(name string) string {
	if slices.Contains(h.options.Offered, name) {
		return " with " + name
	}
	return ""
}

// kept says where the whole is, with the calls that read it.
func (h hint) kept() string {
	path := clamp(h.result.Path, maxName)
	var calls []string
	argument := string(canon.AppendString(nil, path))
	if slices.Contains(h.options.Offered, readTool) {
		calls = append(calls, readTool+` {"path":`+argument+`}`)
	}
	if slices.Contains(h.options.Offered, grepTool) {
		calls = append(calls, grepTool+` {"path":`+argument+`,"pattern":"…"}`)
	}
	if len(calls) == 0 {
		return "the whole is kept at " + path
	}
	return "the whole is kept: call " + strings.Join(calls, " or ")
}

// narrow says which arguments give less; none when the tool names none, or when nothing was found.
func (h hint) narrow() []string {
	names := h.options.Policy.Narrow
	if len(names) == 0 || h.completeness == notFound {
		return nil
	}
	var quoted []string
	for _, name := range names[:min(len(names), 3)] {
		quoted = append(quoted, clamp(name, maxName))
	}
	return []string{"narrow the call with " + strings.Join(quoted, " or ")}
}

// completenessOf is what the policy says, else what the payload's root says in its field of that name.
func completenessOf(policy string, t *tree) string {
	switch policy {
	case complete, clipped, sampled, notFound:
		return policy
	}
	if t == nil || t.nodes[0].kind != '{' {
		return ""
	}
	for c := int32(1); c < t.nodes[0].next; c = t.nodes[c].next {
		n := &t.nodes[c]
		if string(t.key(n)) != `"completeness"` || n.kind != '"' {
			continue
		}
		switch word := string(t.src[n.start+1 : n.end-1]); word {
		case complete, clipped, sampled, notFound:
			return word
		}
	}
	return ""
}
