package form

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane/internal/object"
)

const (
	// maxSchema is how many bytes a schema may have when its references are followed.
	maxSchema = 256 << 10
	// perSchema is what each schema counts beside its bytes: it bounds the work too.
	perSchema = 16
	// maxDeep is how deep schemas may stand in one another.
	maxDeep = 64
	// maxAgain is how often a reference that points at what it stands in is followed.
	maxAgain = 2
	// maxLost is how many of the changes to a schema are told.
	maxLost = 8
)

// walk changes a schema as the provider wants it, from the root down.
type walk struct {
	root []object.Member
	// open counts the references that are being followed.
	open map[string]int
	// found are the references that were looked up; nil for one that leads nowhere.
	found map[string][]object.Member
	size  int
	lost  []string
}

func (w *walk) note(text string) {
	if len(w.lost) < maxLost && !slices.Contains(w.lost, text) {
		w.lost = append(w.lost, text)
	}
}

// schema changes one schema; at is where it stands.
func (w *walk) schema(raw json.RawMessage, at string, depth int) json.RawMessage {
	switch kind := canon.Kind(raw); {
	case w.size > maxSchema: // the tool is left out
		return []byte("{}")
	case kind == "boolean":
		w.size += len(raw)
		return raw
	case kind != "object":
		w.note(fmt.Sprintf("what stands at %.60s is no schema", at))
		return []byte("{}")
	case depth > maxDeep:
		w.note(fmt.Sprintf("what stands deeper than %d schemas is left out", maxDeep))
		return []byte("{}")
	}
	all, err := object.Read(raw)
	if err != nil {
		w.note(fmt.Sprintf("what stands at %.60s cannot be read", at))
		return []byte("{}")
	}
	return object.Write(w.members(all, at, depth))
}

func (w *walk) members(all []object.Member, at string, depth int) []object.Member {
	w.size += perSchema
	if ref, ok := canon.Unquote(object.Find(all, "$ref")); ok {
		rest := object.Without(all, "$ref")
		target, known := w.found[ref]
		if !known {
			if found, ok := w.target(ref); ok {
				target = found // not nil
			}
			w.found[ref] = target
		}
		switch {
		case target == nil:
			w.note(fmt.Sprintf("the reference %.60q leads nowhere and is left out", ref))
			return w.members(rest, at, depth)
		case w.open[ref] >= maxAgain:
			w.note(fmt.Sprintf("the reference %.60q leads into itself and ends after %d levels", ref, maxAgain))
			return w.members(rest, at, depth)
		case depth > maxDeep:
			return nil
		}
		w.open[ref]++
		defer func() { w.open[ref]-- }()
		return w.members(Over(target, rest), at, depth+1)
	}
	var out []object.Member
	for _, m := range all {
		if value := w.keyword(m, all, at+"/"+m.Key, depth); value != nil {
			out = append(out, object.Of(m.Key, value))
			w.size += len(m.Key) + 4
		}
	}
	if string(object.Find(out, "type")) == `"array"` && object.Find(out, "items") == nil {
		out = append(out, object.Of("items", []byte("{}")))
	}
	return out
}

// keyword changes one member of a schema; nil leaves it out.
func (w *walk) keyword(m object.Member, all []object.Member, at string, depth int) json.RawMessage {
	kind := canon.Kind(m.Value)
	switch m.Key {
	case "properties", "patternProperties", "dependentSchemas":
		return w.named(m, at, depth)
	case "items":
		if kind == "array" {
			w.note("a list as items is told as alternatives")
			return object.Write([]object.Member{object.Of("anyOf", w.list(m.Value, at, depth))})
		}
		return w.schema(m.Value, at, depth+1)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		if kind != "array" {
			w.note(m.Key + " that is no list is left out")
			return nil
		}
		return w.list(m.Value, at, depth)
	case "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "additionalItems", "unevaluatedItems", "unevaluatedProperties":
		return w.schema(m.Value, at, depth+1)
	case "$defs", "definitions":
		return nil // every reference into them was followed
	case "required":
		if kind != "array" {
			w.note("required that is no list is left out")
			return nil
		}
	case "enum":
		if kind != "array" || canon.Equal(m.Value, []byte("[]")) {
			w.note("an enum without values is left out")
			return nil
		}
	case "exclusiveMinimum", "exclusiveMaximum":
		if kind != "number" {
			w.note(m.Key + " that is no number is left out")
			return nil
		}
	case "type":
		return w.kind(m.Value)
	}
	if strings.HasPrefix(m.Key, "$") {
		return nil
	}
	w.size += len(m.Value)
	return m.Value
}

// named changes the schemas of an object by their names.
func (w *walk) named(m object.Member, at string, depth int) json.RawMessage {
	all, err := object.Read(m.Value)
	if err != nil {
		w.note(m.Key + " that is no object is left out")
		return nil
	}
	for i, p := range all {
		all[i].Value = w.schema(p.Value, at+"/"+p.Key, depth+1)
		w.size += len(p.Key) + 4
	}
	return object.Write(all)
}

func (w *walk) list(raw json.RawMessage, at string, depth int) json.RawMessage {
	var list []json.RawMessage
	_ = json.Unmarshal(raw, &list)
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = w.schema(s, at+"/"+strconv.Itoa(i), depth+1)
	}
	return object.List(out)
}

// kind leaves types out that there are not.
func (w *walk) kind(raw json.RawMessage) json.RawMessage {
	known := func(t string) bool {
		return slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, t)
	}
	if one, ok := canon.Unquote(raw); ok && known(one) {
		return raw
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 && !slices.ContainsFunc(list, func(t string) bool { return !known(t) }) {
		return raw
	}
	w.note(fmt.Sprintf("the type %.60s, which JSON Schema does not have, is left out", raw))
	return nil
}

// target finds the members of the schema at which a reference into the same schema points.
func (w *walk) target(ref string) ([]object.Member, bool) {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, false
	}
	all := w.root
	if path == "" {
		return append([]object.Member{}, all...), true
	}
	path, err := url.PathUnescape(path)
	if err != nil || path[0] != '/' {
		return nil, false
	}
	var list []json.RawMessage
	for step := range strings.SplitSeq(path[1:], "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		var at json.RawMessage
		if list != nil {
			n, err := strconv.Atoi(step)
			if err != nil || n < 0 || n >= len(list) {
				return nil, false
			}
			at = list[n]
		} else {
			at = object.Find(all, step)
		}
		list = nil
		if canon.Kind(at) == "array" {
			_ = json.Unmarshal(at, &list)
			continue
		}
		if all, err = object.Read(at); err != nil {
			return nil, false
		}
	}
	return append([]object.Member{}, all...), list == nil
}
