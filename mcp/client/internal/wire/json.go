package wire

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/weir-run/weir/internal/canon"
)

// Members gives the members of a JSON object in their order, each value as it is written; false when raw
// is no object. A key that stands twice is given twice.
func Members(raw []byte) ([]Member, bool) {
	var all []Member
	var key string
	ok := walk(raw, '{', func(t canon.Token) { key, _ = canon.Unquote(t.Raw) }, func(value []byte) {
		all = append(all, Member{Key: key, Value: value})
	})
	return all, ok
}

// Elements gives the elements of a JSON array, each as it is written; false when raw is no array.
func Elements(raw []byte) ([]json.RawMessage, bool) {
	var all []json.RawMessage
	ok := walk(raw, '[', nil, func(value []byte) { all = append(all, value) })
	return all, ok
}

// walk gives the values directly inside the root, which opens with kind.
func walk(raw []byte, kind byte, key func(canon.Token), value func([]byte)) bool {
	l := canon.NewLexer(raw)
	t, err := l.Next()
	if err != nil || t.Kind != kind {
		return false
	}
	deep, start := 1, 0
	for deep > 0 {
		t, err = l.Next()
		switch {
		case err != nil:
			return false
		case t.Kind == '{' || t.Kind == '[':
			if deep == 1 {
				start = t.Start
			}
			deep++
		case t.Kind == '}' || t.Kind == ']':
			if deep--; deep == 1 {
				value(raw[start : t.Start+1])
			}
		case t.Key && deep == 1:
			key(t)
		case deep == 1:
			value(t.Raw)
		}
	}
	_, err = l.Next()
	return errors.Is(err, io.EOF)
}

// last gives the members by key; of a key that stands twice the last one, as every JSON reader does it.
func last(members []Member) map[string]json.RawMessage {
	m := make(map[string]json.RawMessage, len(members))
	for _, x := range members {
		m[x.Key] = x.Value
	}
	return m
}

// Object writes members as an object, their values as they are.
func Object(members []Member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = canon.AppendString(out, m.Key)
		out = append(out, ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

func quote(s string) json.RawMessage { return canon.AppendString(nil, s) }
