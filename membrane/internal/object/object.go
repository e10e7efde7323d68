// Package object is a JSON object as a list of its members: read in its own order, changed member by
// member, and written with every value as it stood.
package object

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/weir-run/weir/internal/canon"
)

// Member is one member of a JSON object: its name, decoded, and its value as it was written.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Of makes a member; value is JSON.
func Of(key string, value json.RawMessage) Member { return Member{Key: key, Value: value} }

// Text makes a member whose value is a string.
func Text(key, value string) Member { return Of(key, canon.AppendString(nil, value)) }

// Read reads a JSON object in its own order; a name may come twice. It fails for what is no object, with
// words that go on behind "the settings are not a JSON object: ".
func Read(raw []byte) ([]Member, error) {
	all, err := decode(json.NewDecoder(bytes.NewReader(raw)))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("it breaks off")
	}
	return all, err
}

func decode(d *json.Decoder) ([]Member, error) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is no object")
	}
	var all []Member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := Member{Key: fmt.Sprint(key)}
		if err := d.Decode(&m.Value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows it")
	}
	return all, nil
}

// Write writes members as a JSON object.
func Write(all []Member) []byte {
	out := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(canon.AppendString(out, m.Key), ':'), m.Value...)
	}
	return append(out, '}')
}

// List writes values as a JSON array.
func List(values [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(values, []byte(",")), []byte("]"))
}

// Find gives the value of the last member of a name; nil when there is none.
func Find(all []Member, key string) json.RawMessage {
	for _, m := range slices.Backward(all) {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Without leaves the members of these names out.
func Without(all []Member, keys ...string) []Member {
	return slices.DeleteFunc(slices.Clone(all), func(m Member) bool { return slices.Contains(keys, m.Key) })
}

// Keys are the names of the members, in order.
func Keys(all []Member) []string {
	out := make([]string, len(all))
	for i, m := range all {
		out[i] = m.Key
	}
	return out
}
