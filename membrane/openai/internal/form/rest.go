package form

import (
	"encoding/json"
	"fmt"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane/internal/object"
)

// maxNested is how deep objects that come in pieces are joined.
const maxNested = 8

// Rest are members that come in pieces and that this build does not know. Null is nothing; strings are
// joined, arrays are put one behind the other, objects are joined member by member, and of anything else
// the same may come again.
type Rest struct {
	fields []*field
	depth  int
}

type field struct {
	key  string
	kind string
	text Joint
	list [][]byte
	sub  *Rest
	raw  json.RawMessage
}

// Add joins a member; it fails, in words that go on behind "the answer cannot be joined: ", for one that
// does not go on as it began.
func (r *Rest) Add(key string, value json.RawMessage) error {
	kind := canon.Kind(value)
	if kind == "null" {
		return nil
	}
	var f *field
	for _, known := range r.fields {
		if known.key == key {
			f = known
		}
	}
	if f == nil {
		f = &field{key: key, kind: kind}
		r.fields = append(r.fields, f)
	}
	if f.kind != kind {
		return fmt.Errorf("%.60q begins as %s and goes on as %s", key, f.kind, kind)
	}
	switch kind {
	case "string":
		if _, ok := f.text.Add(value); !ok {
			return fmt.Errorf("%.60q is no text", key)
		}
	case "array":
		var list []json.RawMessage
		if err := json.Unmarshal(value, &list); err != nil {
			return fmt.Errorf("%.60q is no list: %w", key, err)
		}
		for _, v := range list {
			f.list = append(f.list, v)
		}
	case "object":
		return f.object(value, r.depth+1)
	default:
		if f.raw == nil {
			f.raw = value
		}
		if !canon.Equal(f.raw, value) {
			return fmt.Errorf("%.60q comes twice and not as the same", key)
		}
	}
	return nil
}

func (f *field) object(value json.RawMessage, depth int) error {
	all, err := object.Read(value)
	if err != nil {
		return fmt.Errorf("%.60q cannot be read: %w", f.key, err)
	}
	if f.sub == nil {
		f.sub = &Rest{depth: depth}
		if depth >= maxNested {
			f.raw = value
		}
	}
	if depth >= maxNested {
		if !canon.Equal(f.raw, value) {
			return fmt.Errorf("%.60q comes twice and stands too deep to be joined", f.key)
		}
		return nil
	}
	for _, m := range all {
		if err := f.sub.Add(m.Key, m.Value); err != nil {
			return err
		}
	}
	return nil
}

// Members gives what was joined, in the order in which it first came.
func (r *Rest) Members() []object.Member {
	var all []object.Member
	for _, f := range r.fields {
		switch {
		case f.raw != nil:
			all = append(all, object.Of(f.key, f.raw))
		case f.kind == "string":
			all = append(all, object.Text(f.key, f.text.String()))
		case f.kind == "array":
			all = append(all, object.Of(f.key, object.List(f.list)))
		default:
			all = append(all, object.Of(f.key, object.Write(f.sub.Members())))
		}
	}
	return all
}
