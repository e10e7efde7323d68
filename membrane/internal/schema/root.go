package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane/internal/object"
)

// maxRefs is how many references are followed to find one schema.
const maxRefs = 8

// Root gives the members of a schema with an object at its root and no anyOf, oneOf or allOf there: their
// alternatives are merged. Every property of one is a property, and required is what all alternatives of
// anyOf and oneOf require and what any part of allOf does. rule is what was merged, as JSON; empty for
// nothing. It fails for what is no JSON object and for a root that can be no object.
func Root(raw json.RawMessage) (kept []object.Member, rule string, err error) {
	all, err := object.Read(raw)
	if err != nil {
		return nil, "", fmt.Errorf("its schema is not a JSON object: %w", err)
	}
	kept = object.Without(all, "anyOf", "oneOf", "allOf")
	lost := object.Without(all, object.Keys(kept)...)
	if len(lost) > 0 {
		kept = merge(kept, lost, all)
		rule = string(canon.Compact(object.Write(lost)))
	}
	if kind := object.Find(kept, "type"); !isObject(kind) {
		return nil, "", fmt.Errorf("its schema is of type %.60s at the root, not object", kind)
	}
	return kept, rule, nil
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

// merge adds what the alternatives of a root allow to the schema without them.
func merge(kept, lost, root []object.Member) []object.Member {
	properties, _ := object.Read(object.Find(kept, "properties"))
	var required []string
	_ = json.Unmarshal(object.Find(kept, "required"), &required)
	for _, rule := range lost {
		var branches []json.RawMessage
		_ = json.Unmarshal(rule.Value, &branches)
		var demanded []string
		for i, branch := range branches {
			parts := resolve(branch, root)
			more, _ := object.Read(object.Find(parts, "properties"))
			for _, p := range more {
				if object.Find(properties, p.Key) == nil {
					properties = append(properties, p)
				}
			}
			var own []string
			_ = json.Unmarshal(object.Find(parts, "required"), &own)
			switch {
			case rule.Key == "allOf" || i == 0:
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
	kept = object.Without(kept, "properties", "required")
	kept = append(kept, object.Of("properties", object.Write(properties)))
	if len(required) > 0 {
		list, err := canon.Marshal(required)
		if err == nil {
			kept = append(kept, object.Of("required", list))
		}
	}
	return kept
}

// resolve reads an alternative; a reference into the same schema is followed, a few times at most.
func resolve(branch json.RawMessage, root []object.Member) []object.Member {
	for range maxRefs {
		parts, err := object.Read(branch)
		if err != nil {
			return nil
		}
		at, ok := Target(object.Find(parts, "$ref"), root)
		if !ok {
			return parts
		}
		branch = at
	}
	return nil
}

// Target finds what a reference into the same schema points at; false for any other and for none.
func Target(ref json.RawMessage, root []object.Member) (json.RawMessage, bool) {
	text, ok := canon.Unquote(ref)
	if !ok {
		return nil, false
	}
	if text == "#" {
		return object.Write(root), true
	}
	path, local := strings.CutPrefix(text, "#/")
	if !local {
		return nil, false
	}
	var at json.RawMessage = object.Write(root)
	for step := range strings.SplitSeq(path, "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		below, err := object.Read(at)
		if err != nil {
			var list []json.RawMessage
			n := -1
			if json.Unmarshal(at, &list) == nil {
				_, _ = fmt.Sscanf(step, "%d", &n)
			}
			if n < 0 || n >= len(list) {
				return nil, false
			}
			at = list[n]
			continue
		}
		if at = object.Find(below, step); at == nil {
			return nil, false
		}
	}
	return at, true
}

// Mended leaves out the references of a schema that point at a place of it where nothing is, as they do when
// what they pointed at was merged into the root. lost says which; without one the schema is given as it is.
func Mended(raw json.RawMessage) (mended json.RawMessage, lost []string) {
	root, err := object.Read(raw)
	if err != nil || !strings.Contains(string(raw), `"$ref"`) {
		return raw, nil
	}
	mended = mend(raw, root, &lost, 0)
	if len(lost) == 0 {
		return raw, nil
	}
	return mended, lost
}

// maxDepth is how deep a schema is looked through.
const maxDepth = 64

func mend(raw json.RawMessage, root []object.Member, lost *[]string, depth int) json.RawMessage {
	if depth > maxDepth {
		return raw
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && list != nil {
		parts := make([][]byte, len(list))
		for i, v := range list {
			parts[i] = mend(v, root, lost, depth+1)
		}
		return object.List(parts)
	}
	all, err := object.Read(raw)
	if err != nil {
		return raw
	}
	var kept []object.Member
	for _, m := range all {
		ref, isText := canon.Unquote(m.Value)
		if m.Key == "$ref" && isText && strings.HasPrefix(ref, "#/") {
			if _, ok := Target(m.Value, root); !ok {
				*lost = append(*lost, "a reference to nothing ("+ref+")")
				continue
			}
		}
		kept = append(kept, object.Of(m.Key, mend(m.Value, root, lost, depth+1)))
	}
	return object.Write(kept)
}
