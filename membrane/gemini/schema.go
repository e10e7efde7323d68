package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/internal/schema"
)

const (
	// maxSchemas is how many schemas one may hold when its references are replaced by what they point at.
	maxSchemas = 5_000
	// maxLevels is how deep they may nest.
	maxLevels = 32
)

// fit gives a tool's schema in the keywords that the provider documents for JSON Schema.
// Source: https://ai.google.dev/api/caching#FunctionDeclaration (parametersJsonSchema) and
// https://ai.google.dev/gemini-api/docs/structured-output (the supported keywords).
func fit(raw json.RawMessage) (schema.Fitted, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return schema.Fitted{}, nil
	}
	kept, rule, err := schema.Root(raw)
	if err != nil {
		return schema.Fitted{}, err
	}
	root, err := object.Read(raw)
	if err != nil {
		return schema.Fitted{}, err
	}
	f := &filter{root: root}
	out := f.object(object.Without(kept, "type", "nullable"), "", nil)
	if f.count > maxSchemas {
		return schema.Fitted{}, fmt.Errorf("its schema holds more than %d schemas when its references are followed", maxSchemas)
	}
	out = append([]object.Member{object.Text("type", "object")}, out...)
	clean, _ := canon.CleanJSON(object.Write(out))
	return schema.Fitted{Schema: clean, Rule: rule, Lost: f.lost}, nil
}

// filter rewrites one tool's schema.
type filter struct {
	root  []object.Member
	lost  []string
	count int
}

// lose notes what is left out at a place, once.
func (f *filter) lose(path, what string) {
	if path == "" {
		path = "/"
	}
	note := fmt.Sprintf("%s at %s", what, path)
	if !slices.Contains(f.lost, note) {
		f.lost = append(f.lost, note)
	}
}

// schema rewrites a schema; following are the references that led to it.
func (f *filter) schema(raw json.RawMessage, path string, following []string) []byte {
	f.count++
	all, err := object.Read(raw)
	switch {
	case f.count > maxSchemas:
		return []byte("{}")
	case err != nil && canon.Equal(raw, []byte("true")):
		return []byte("{}")
	case err != nil:
		f.lose(path, "what is no schema")
		return []byte("{}")
	case len(following) > maxLevels || depthOf(path) > maxLevels:
		f.lose(path, fmt.Sprintf("what nests deeper than %d levels", maxLevels))
		return []byte("{}")
	}
	if ref, ok := canon.Unquote(object.Find(all, "$ref")); ok {
		rest := object.Without(all, "$ref")
		at, found := schema.Target(object.Find(all, "$ref"), f.root)
		switch {
		case slices.Contains(following, ref):
			f.lose(path, "a schema that holds itself ("+ref+")")
		case !found:
			f.lose(path, "a reference to nothing ("+ref+")")
		default:
			target, err := object.Read(at)
			if err != nil {
				return f.schema(at, path, append(slices.Clone(following), ref))
			}
			for _, m := range rest { // what stands beside a reference comes first
				target = append(object.Without(target, m.Key), m)
			}
			return f.schema(object.Write(target), path, append(slices.Clone(following), ref))
		}
		all = rest
	}
	return f.typed(all, path, following)
}

// typed rewrites a schema whose type may be a list, or which may be null.
func (f *filter) typed(all []object.Member, path string, following []string) []byte {
	var list []string
	if json.Unmarshal(object.Find(all, "type"), &list) != nil {
		list = nil
	}
	if canon.Equal(object.Find(all, "nullable"), []byte("true")) && list == nil {
		var one string
		if json.Unmarshal(object.Find(all, "type"), &one) == nil && one != "" {
			list = []string{one, "null"}
		}
	}
	all = object.Without(all, "nullable")
	switch len(list) {
	case 0:
		return object.Write(f.object(all, path, following))
	case 1:
		return object.Write(f.object(append([]object.Member{object.Text("type", list[0])}, object.Without(all, "type")...), path, following))
	}
	var branches [][]byte
	for _, kind := range list {
		branch := []object.Member{object.Text("type", kind)}
		for _, m := range object.Without(all, "type", "title", "description") {
			if belongs(m.Key, kind) {
				branch = append(branch, m)
			}
		}
		branches = append(branches, object.Write(f.object(branch, path, following)))
	}
	out := f.object(onlyOf(all, "title", "description"), path, following)
	return object.Write(append(out, object.Of("anyOf", object.List(branches))))
}

// belongs reports whether a keyword says something of values of a type.
func belongs(key, kind string) bool {
	switch key {
	case "properties", "required", "additionalProperties", "patternProperties", "minProperties", "maxProperties":
		return kind == "object"
	case "items", "prefixItems", "minItems", "maxItems", "uniqueItems":
		return kind == "array"
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return kind == "number" || kind == "integer"
	case "pattern", "minLength", "maxLength", "format":
		return kind == "string"
	case "enum", "const":
		return kind != "null" && kind != "object" && kind != "array"
	}
	return true
}

func onlyOf(all []object.Member, keys ...string) []object.Member {
	return slices.DeleteFunc(slices.Clone(all), func(m object.Member) bool { return !slices.Contains(keys, m.Key) })
}

// object rewrites the members of a schema with one type, or none.
func (f *filter) object(all []object.Member, path string, following []string) []object.Member {
	if parts := object.Find(all, "allOf"); parts != nil {
		all = f.joined(all, parts, path)
	}
	var out []object.Member
	for _, m := range all {
		switch m.Key {
		case "type", "title", "description", "minItems", "maxItems", "minimum", "maximum":
			out = append(out, m)
		case "format":
			if format, _ := canon.Unquote(m.Value); slices.Contains([]string{"date-time", "date", "time", "int32", "int64", "float", "double"}, format) {
				out = append(out, m)
			}
		case "enum":
			out = f.enum(out, m.Value, path)
		case "const":
			out = f.enum(out, object.List([][]byte{m.Value}), path)
		case "properties":
			out = append(out, object.Of(m.Key, f.properties(m.Value, path, following)))
		case "required":
			if names := f.required(m.Value, all, path); names != nil {
				out = append(out, object.Of(m.Key, names))
			}
		case "additionalProperties":
			if canon.Kind(m.Value) == "object" {
				out = append(out, object.Of(m.Key, f.schema(m.Value, path+"/*", following)))
			}
		case "items", "prefixItems", "anyOf", "oneOf":
			out = f.nested(out, m, path, following)
		case "$schema", "$id", "$anchor", "$defs", "definitions", "$comment", "default", "examples", "example", "deprecated", "readOnly", "writeOnly":
			// They say nothing of what is allowed.
		default:
			f.lose(path, m.Key)
		}
	}
	return out
}

// nested rewrites the schemas that stand in a keyword.
func (f *filter) nested(out []object.Member, m object.Member, path string, following []string) []object.Member {
	key := m.Key
	if key == "oneOf" {
		key = "anyOf" // as the provider takes it anyway
	}
	if object.Find(out, key) != nil {
		f.lose(path, m.Key)
		return out
	}
	var list []json.RawMessage
	if json.Unmarshal(m.Value, &list) != nil || list == nil {
		if key == "items" {
			return append(out, object.Of(key, f.schema(m.Value, path+"/items", following)))
		}
		f.lose(path, m.Key)
		return out
	}
	if key == "items" {
		key = "prefixItems" // as drafts before 2020-12 wrote it
	}
	parts := make([][]byte, len(list))
	for i, raw := range list {
		parts[i] = f.schema(raw, fmt.Sprintf("%s/%s/%d", path, m.Key, i), following)
	}
	return append(out, object.Of(key, object.List(parts)))
}

func (f *filter) properties(raw json.RawMessage, path string, following []string) []byte {
	all, err := object.Read(raw)
	if err != nil {
		f.lose(path, "properties that are no object")
		return []byte("{}")
	}
	for i, p := range all {
		all[i].Value = f.schema(p.Value, path+"/"+p.Key, following)
	}
	return object.Write(all)
}
