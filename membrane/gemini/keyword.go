package gemini

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/internal/schema"
)

// required keeps the names of properties that are there: the provider refuses any other.
func (f *filter) required(raw json.RawMessage, all []object.Member, path string) []byte {
	var names []string
	if json.Unmarshal(raw, &names) != nil {
		f.lose(path, "required")
		return nil
	}
	properties, _ := object.Read(object.Find(all, "properties"))
	has := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return object.Find(properties, name) == nil })
	if len(has) < len(names) {
		f.lose(path, "required names of no property")
	}
	if len(has) == 0 {
		return nil
	}
	list, err := canon.Marshal(has)
	if err != nil {
		return nil
	}
	return list
}

// enum keeps texts and numbers: the provider takes no other values.
func (f *filter) enum(out []object.Member, raw json.RawMessage, path string) []object.Member {
	var list, kept []json.RawMessage
	err := json.Unmarshal(raw, &list)
	for _, v := range list {
		if kind := canon.Kind(v); kind == "string" || kind == "number" {
			kept = append(kept, v)
		}
	}
	if err != nil || len(kept) < len(list) {
		f.lose(path, "enum values that are no text or number")
	}
	if len(kept) == 0 || object.Find(out, "enum") != nil {
		return out
	}
	parts := make([][]byte, len(kept))
	for i, v := range kept {
		parts[i] = v
	}
	return append(out, object.Of("enum", object.List(parts)))
}

// joined puts the parts of allOf into the schema around them: properties and required names come together,
// and of what both say the schema's own word holds.
func (f *filter) joined(all []object.Member, raw json.RawMessage, path string) []object.Member {
	all = object.Without(all, "allOf")
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		f.lose(path, "allOf")
		return all
	}
	for _, raw := range parts {
		part, err := f.followed(raw)
		if err != nil {
			f.lose(path, "a part of allOf")
			continue
		}
		for _, m := range part {
			have := object.Find(all, m.Key)
			switch {
			case have == nil:
				all = append(all, m)
			case m.Key == "properties":
				mine, _ := object.Read(have)
				more, _ := object.Read(m.Value)
				for _, p := range more {
					if object.Find(mine, p.Key) == nil {
						mine = append(mine, p)
					}
				}
				all = replaced(all, []object.Member{object.Of(m.Key, object.Write(mine))})
			case m.Key == "required":
				var mine, more []json.RawMessage
				_ = json.Unmarshal(have, &mine)
				_ = json.Unmarshal(m.Value, &more)
				if list, err := canon.Marshal(append(mine, more...)); err == nil {
					all = replaced(all, []object.Member{object.Of(m.Key, list)})
				}
			case !canon.Equal(have, m.Value) && m.Key != "title" && m.Key != "description":
				f.lose(path, m.Key+" of a part of allOf")
			}
		}
	}
	return all
}

// followed reads a part of allOf, behind a few references.
func (f *filter) followed(raw json.RawMessage) ([]object.Member, error) {
	for range maxLevels {
		part, err := object.Read(raw)
		if err != nil {
			return nil, err
		}
		at, ok := schema.Target(object.Find(part, "$ref"), f.root)
		if !ok {
			return part, nil
		}
		raw = at
	}
	return nil, errors.New("its references have no end")
}

// depthOf is how many steps a path has.
func depthOf(path string) int {
	n := 0
	for _, c := range path {
		if c == '/' {
			n++
		}
	}
	return n
}
