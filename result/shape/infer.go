package shape

import (
	"fmt"

	"github.com/weir-run/weir/internal/canon"
)

// Infer gives a JSON Schema of the types that a value was seen to have, for somebody to read, complete
// and adopt; nothing is ever checked against it by itself. It requires no field, since one value cannot
// tell which may be left out, and says nothing about what was null or an empty array.
func Infer(selected []byte) ([]byte, error) {
	root, err := parse(selected)
	if err != nil {
		return nil, fmt.Errorf("infer a schema: %w", err)
	}
	return infer(nil, []*node{root}), nil
}

func infer(to []byte, seen []*node) []byte {
	kinds, members, order := "", map[string][]*node{}, []string{}
	var items []*node
	for _, n := range seen {
		kind := typeOf(n.kind)
		switch {
		case kind == "":
			continue
		case kinds != "" && kinds != kind:
			return append(to, "{}"...)
		}
		kinds = kind
		for _, m := range n.members {
			if members[m.key] == nil {
				order = append(order, m.key)
			}
			members[m.key] = append(members[m.key], m.value)
		}
		items = append(items, n.items...)
	}
	if kinds == "" {
		return append(to, "{}"...)
	}
	to = append(append(append(to, `{"type":"`...), kinds...), '"')
	switch kinds {
	case "object":
		to = append(to, `,"properties":{`...)
		for i, key := range order {
			if i > 0 {
				to = append(to, ',')
			}
			to = infer(append(canon.AppendString(to, key), ':'), members[key])
		}
		to = append(to, '}')
	case "array":
		if len(items) > 0 {
			to = infer(append(to, `,"items":`...), items)
		}
	}
	return append(to, '}')
}

// typeOf is the JSON Schema type of a kind; "" for null, which says nothing.
func typeOf(kind byte) string {
	switch kind {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "boolean"
	}
	return ""
}
