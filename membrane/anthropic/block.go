package anthropic

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
)

// The members that ask for the cache, with a comma before them.
const (
	shortMark = `,"cache_control":{"type":"ephemeral"}`
	longMark  = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
)

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
		var rest []object.Member
		if own {
			rest, _ = object.Read(kept)
		}
		switch b.Type {
		case membrane.Text:
			if !blank(b.Text) {
				out = append(out, answerBlock{wireBlock(rest, "text", object.Of("text", quote(b.Text))), true})
			}
		case membrane.Call:
			out = append(out, answerBlock{wireBlock(rest, "tool_use",
				object.Of("id", quote(membrane.WireName(b.CallID))),
				object.Of("name", quote(membrane.WireName(b.Tool))),
				object.Of("input", membrane.ObjectArgs(b.Args))), true})
		case membrane.Thinking:
			if signature, _ := canon.Unquote(object.Find(rest, "signature")); signature != "" {
				out = append(out, answerBlock{wireBlock(rest, "thinking", object.Of("thinking", quote(b.Text))), false})
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
func wireBlock(rest []object.Member, kind string, has ...object.Member) []byte {
	all := append([]object.Member{object.Of("type", quote(kind))}, has...)
	out, _ := canon.CleanJSON(object.Write(append(all, object.Without(rest, held(kind)...)...)))
	return out
}

func textBlock(text string) []byte { return wireBlock(nil, "text", object.Of("text", quote(text))) }

func quote(s string) json.RawMessage { return canon.AppendString(nil, s) }

// blank reports whether the provider takes a text for nothing but white space.
func blank(s string) bool {
	return strings.TrimFunc(s, func(r rune) bool { return unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f }) == ""
}
