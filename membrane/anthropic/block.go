package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
)

// The members that ask for the cache, with a comma before them.
const (
	shortMark = `,"cache_control":{"type":"ephemeral"}`
	longMark  = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
)

// member is one member of a JSON object: its name, decoded, and its value as it was written.
type member struct {
	key   string
	value json.RawMessage
}

// members reads a JSON object in its own order; a name may come twice.
func members(raw []byte) ([]member, error) {
	all, err := decode(json.NewDecoder(bytes.NewReader(raw)))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, errors.New("it breaks off")
	}
	return all, err
}

func decode(d *json.Decoder) ([]member, error) {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is no object")
	}
	var all []member
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: fmt.Sprint(key)}
		if err := d.Decode(&m.value); err != nil {
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

// object writes members as a JSON object.
func object(all []member) []byte {
	out := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(canon.AppendString(out, m.key), ':'), m.value...)
	}
	return append(out, '}')
}

// find gives the value of the last member of a name; nil when there is none.
func find(all []member, key string) json.RawMessage {
	for _, m := range slices.Backward(all) {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// held names the members of a block that the neutral form holds, by the block's type on the wire; nil
// for a type whose blocks are kept whole.
func held(kind string) []string {
	switch kind {
	case "text":
		return []string{"type", "text"}
	case "thinking":
		return []string{"type", "thinking"}
	case "tool_use":
		return []string{"type", "id", "name", "input"}
	}
	return nil
}

// without leaves the members of these names out.
func without(all []member, keys []string) []member {
	return slices.DeleteFunc(slices.Clone(all), func(m member) bool { return slices.Contains(keys, m.key) })
}

// answerBlock is one block of an answer on the wire.
type answerBlock struct {
	json []byte
	// marks reports whether the provider takes a cache marker on it.
	marks bool
}

// answerBlocks makes the blocks of an answer as they go back. What this model sent beside the neutral
// form goes back with it; thinking, and what only the provider understands, only to the model that made
// it, and thinking only with its signature. Text that is blank is left out: the provider refuses it.
func (m *Model) answerBlocks(blocks []membrane.Block) []answerBlock {
	var out []answerBlock
	for _, b := range blocks {
		by, kept, owned := membrane.Owned(Dialect, b.Raw)
		own := owned && by == m.model
		var rest []member
		if own {
			rest, _ = members(kept)
		}
		switch b.Type {
		case membrane.Text:
			if !blank(b.Text) {
				out = append(out, answerBlock{wireBlock(rest, "text", member{"text", quote(b.Text)}), true})
			}
		case membrane.Call:
			out = append(out, answerBlock{wireBlock(rest, "tool_use",
				member{"id", quote(membrane.WireName(b.CallID))},
				member{"name", quote(membrane.WireName(b.Tool))},
				member{"input", membrane.ObjectArgs(b.Args)}), true})
		case membrane.Thinking:
			if signature, _ := canon.Unquote(find(rest, "signature")); signature != "" {
				out = append(out, answerBlock{wireBlock(rest, "thinking", member{"thinking", quote(b.Text)}), false})
			}
		case membrane.Image:
			out = append(out, answerBlock{textBlock(placeholder(b, "an answer takes no images")), true})
		case membrane.Other:
			if own && rest != nil {
				out = append(out, answerBlock{kept, false})
			}
		}
	}
	return out
}

// wireBlock writes a block: its type, what the neutral form holds of it, and the rest.
func wireBlock(rest []member, kind string, has ...member) []byte {
	all := append([]member{{"type", quote(kind)}}, has...)
	out, _ := canon.CleanJSON(object(append(all, without(rest, held(kind))...)))
	return out
}

func textBlock(text string) []byte { return wireBlock(nil, "text", member{"text", quote(text)}) }

func quote(s string) json.RawMessage { return canon.AppendString(nil, s) }

// blank reports whether the provider takes a text for nothing but white space.
func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }) == ""
}
