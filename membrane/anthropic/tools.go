package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
)

const (
	// maxProperty is how many characters of A-Z a-z 0-9 _ . - the name of an argument may have.
	maxProperty = 64
	// maxRule is how many bytes of a rule that the schema lost are told in the description.
	maxRule = 2000
	// maxRefs is how many references are followed to find an alternative.
	maxRefs = 8
)

// encodeTools makes the offered tools, sorted by name, and a note for each one that is changed or left
// out. Two tools of one name are an error.
func encodeTools(specs []membrane.ToolSpec) (tools [][]byte, notes []string, err error) {
	sorted := slices.SortedStableFunc(slices.Values(specs), func(a, b membrane.ToolSpec) int { return cmp.Compare(a.Name, b.Name) })
	taken := map[string]string{}
	for i, t := range sorted {
		if i > 0 && sorted[i-1].Name == t.Name {
			return nil, nil, fmt.Errorf("there are two tools named %.80q", t.Name)
		}
		name := membrane.WireName(t.Name)
		schema, rule, err := inputSchema(t.Schema)
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
		if rule != "" {
			notes = append(notes, fmt.Sprintf("tool %.80s: the provider takes no anyOf, oneOf or allOf at the root of a schema: its alternatives are merged, and its description tells the rule", t.Name))
			t.Description = strings.TrimLeft(t.Description+"\n\nThe arguments must also satisfy this JSON Schema: "+rule, "\n")
		}
		if name != t.Name {
			notes = append(notes, fmt.Sprintf("tool %.80s is called %s on the wire, and its description tells the full name", t.Name, name))
		}
		all := []member{{"name", quote(name)}}
		if description := membrane.WireDescription(t); !blank(description) {
			all = append(all, member{"description", quote(description)})
		}
		tools = append(tools, object(append(all, member{"input_schema", schema})))
	}
	return tools, notes, nil
}

// inputSchema gives a tool's schema as the provider takes it: as it is where nothing is against it. rule
// is what it lost. An error says why no schema can be made of it.
// Source: the provider's answers "input_schema does not support oneOf, allOf, or anyOf at the top level",
// "input_schema.type: Field required" and "Property keys should match pattern ^[a-zA-Z0-9_.-]{1,64}$".
func inputSchema(raw json.RawMessage) (schema []byte, rule string, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return []byte(`{"type":"object"}`), "", nil
	}
	all, err := members(raw)
	if err != nil {
		return nil, "", fmt.Errorf("its schema is not a JSON object: %w", err)
	}
	kept := without(all, []string{"anyOf", "oneOf", "allOf"})
	lost := without(all, names(kept))
	if len(lost) > 0 {
		kept = merge(kept, lost, all)
		if rule = string(canon.Compact(object(lost))); len(rule) > maxRule {
			rule = fmt.Sprintf("(left out, it has %d bytes)", len(rule))
		}
	}
	kind := find(kept, "type")
	if !isObject(kind) {
		return nil, "", fmt.Errorf("its schema is of type %.60s at the root, not object", kind)
	}
	if err := checkProperties(find(kept, "properties")); err != nil {
		return nil, "", err
	}
	if len(lost) == 0 && canon.Equal(kind, []byte(`"object"`)) {
		clean, _ := canon.CleanJSON(raw)
		return clean, "", nil
	}
	kept = append([]member{{"type", []byte(`"object"`)}}, without(kept, []string{"type"})...)
	schema, _ = canon.CleanJSON(object(kept))
	return schema, rule, nil
}

// isObject reports whether a root of this type can be an object: it says so, lists it, or says nothing.
func isObject(kind json.RawMessage) bool {
	var one string
	var list []string
	switch {
	case kind == nil:
		return true
	case json.Unmarshal(kind, &one) == nil:
		return one == "object"
	case json.Unmarshal(kind, &list) == nil:
		return slices.Contains(list, "object")
	}
	return false
}

func checkProperties(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	all, err := members(raw)
	if err != nil {
		return errors.New("the properties of its schema are not a JSON object")
	}
	for _, p := range all {
		bad := strings.ContainsFunc(p.key, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
		})
		if bad || p.key == "" || len(p.key) > maxProperty {
			return fmt.Errorf("the provider does not take %.80q as the name of an argument: only A-Z a-z 0-9 _ . -, at most %d", p.key, maxProperty)
		}
	}
	return nil
}

// merge adds what the alternatives of a root allow to the schema without them: every property, and as
// required what all alternatives of anyOf and oneOf require, and what any part of allOf does.
func merge(kept, lost, root []member) []member {
	properties, _ := members(find(kept, "properties"))
	var required []string
	_ = json.Unmarshal(find(kept, "required"), &required)
	for _, rule := range lost {
		var branches []json.RawMessage
		_ = json.Unmarshal(rule.value, &branches)
		var demanded []string
		for i, branch := range branches {
			parts := resolve(branch, root)
			more, _ := members(find(parts, "properties"))
			for _, p := range more {
				if find(properties, p.key) == nil {
					properties = append(properties, p)
				}
			}
			var own []string
			_ = json.Unmarshal(find(parts, "required"), &own)
			switch {
			case rule.key == "allOf" || i == 0:
				demanded = append(demanded, own...)
			default:
				demanded = slices.DeleteFunc(demanded, func(name string) bool { return !slices.Contains(own, name) })
			}
		}
		for _, name := range demanded {
			if !slices.Contains(required, name) {
				required = append(required, name)
			}
		}
	}
	kept = without(kept, []string{"properties", "required"})
	kept = append(kept, member{"properties", object(properties)})
	if len(required) > 0 {
		list, err := canon.Marshal(required)
		if err == nil {
			kept = append(kept, member{"required", list})
		}
	}
	return kept
}

// resolve reads an alternative; a reference into the same schema is followed, a few times at most.
func resolve(branch json.RawMessage, root []member) []member {
	for range maxRefs {
		parts, err := members(branch)
		if err != nil {
			return nil
		}
		ref, ok := canon.Unquote(find(parts, "$ref"))
		path, local := strings.CutPrefix(ref, "#/")
		if !ok || !local {
			return parts
		}
		at := object(root)
		for step := range strings.SplitSeq(path, "/") {
			below, err := members(at)
			if err != nil {
				return parts
			}
			at = find(below, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
		}
		branch = at
	}
	return nil
}

func names(all []member) []string {
	out := make([]string, len(all))
	for i, m := range all {
		out[i] = m.key
	}
	return out
}
