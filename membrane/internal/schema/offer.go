// Package schema makes the schemas of tools into what a provider takes: every difference is fixed or
// the tool is left out, and both are told.
package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/membrane"
)

// maxRule is how many bytes of a rule that a schema lost are told in the description.
const maxRule = 2000

// Tool is a tool as it is offered on a wire.
type Tool struct {
	Name, Description string
	Schema            []byte
}

// Fitted is a schema as a provider takes it.
type Fitted struct {
	Schema []byte
	// Rule is what the schema lost and the model should know; it is told in the tool's description.
	Rule string
	// Lost says, in a few words each, what else was left out or changed.
	Lost []string
}

// Fit makes a schema into one that a provider takes; its error says why there is none.
type Fit func(raw json.RawMessage) (Fitted, error)

// Offer makes the tools that are offered, sorted by name, and a note for each one that is changed or left
// out: the note names the tool and what it lost. Two tools of one name are an error.
func Offer(specs []membrane.ToolSpec, fit Fit) (tools []Tool, notes []string, err error) {
	sorted := slices.SortedStableFunc(slices.Values(specs), func(a, b membrane.ToolSpec) int { return cmp.Compare(a.Name, b.Name) })
	taken := map[string]string{}
	for i, t := range sorted {
		if i > 0 && sorted[i-1].Name == t.Name {
			return nil, nil, fmt.Errorf("there are two tools named %.80q", t.Name)
		}
		name := membrane.WireName(t.Name)
		fitted, err := fit(t.Schema)
		other, twice := taken[name]
		switch {
		case twice:
			notes = append(notes, fmt.Sprintf("tool %.80s is left out: on the wire it has the name of %.80s", t.Name, other))
			continue
		case err != nil:
			notes = append(notes, fmt.Sprintf("tool %.80s is left out: %s", t.Name, membrane.Line(err.Error())))
			continue
		}
		taken[name] = t.Name
		if rule := fitted.Rule; rule != "" {
			if len(rule) > maxRule {
				rule = fmt.Sprintf("(left out, it has %d bytes)", len(rule))
			}
			notes = append(notes, fmt.Sprintf("tool %.80s: the provider takes no anyOf, oneOf or allOf at the root of a schema: its alternatives are merged, and its description tells the rule", t.Name))
			t.Description = strings.TrimLeft(t.Description+"\n\nThe arguments must also satisfy this JSON Schema: "+rule, "\n")
		}
		if len(fitted.Lost) > 0 {
			notes = append(notes, membrane.Line(fmt.Sprintf("tool %.80s is offered with another schema, its arguments are checked by its own: %s", t.Name, strings.Join(fitted.Lost, "; "))))
		}
		if name != t.Name {
			notes = append(notes, fmt.Sprintf("tool %.80s is called %s on the wire, and its description tells the full name", t.Name, name))
		}
		tools = append(tools, Tool{Name: name, Description: membrane.WireDescription(t), Schema: fitted.Schema})
	}
	return tools, notes, nil
}
