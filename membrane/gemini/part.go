package gemini

import (
	"encoding/json"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/wire"
)

// standIn is the signature of a call that the model did not make, as the provider documents it for
// conversations that come from another model.
// Source: https://ai.google.dev/gemini-api/docs/thought-signatures.
const standIn = "skip_thought_signature_validator"

// The members of a part that its neutral form holds.
const (
	keyText      = "text"
	keyThought   = "thought"
	keyCall      = "functionCall"
	keySignature = "thoughtSignature"
)

// part is one part of an answer while it is put together.
type part struct {
	// members are the part as it came, where it came in one piece.
	members []object.Member
	// text is that of a text, thought says that it is thinking; plain that it has nothing else, so that
	// the next plain text of its kind can join it.
	text           strings.Builder
	isText         bool
	thought, plain bool
}

// newPart reads a part; show is what of it can be shown.
func newPart(raw json.RawMessage) (*part, error) {
	all, err := object.Read(raw)
	if err != nil {
		return nil, wire.Unreadable("a part of the answer cannot be read: %v", err)
	}
	p := &part{members: all, thought: canon.Equal(object.Find(all, keyThought), []byte("true"))}
	value := object.Find(all, keyText)
	if value == nil {
		return p, nil
	}
	text, ok := canon.Unquote(value)
	if !ok {
		return nil, wire.Unreadable("a text of the answer is no text: %.200s", value)
	}
	p.isText = true
	p.text.WriteString(text)
	p.plain = len(object.Without(all, keyText, keyThought)) == 0
	return p, nil
}

// joins reports whether the text of next is a further piece of this one: neither carries anything else, a
// signature least of all.
func (p *part) joins(next *part) bool {
	return p.plain && next.plain && p.thought == next.thought
}

// block gives the part in its neutral form. Raw keeps what that cannot hold.
func (p *part) block(model string) (membrane.Block, error) {
	own := func(rest []object.Member) json.RawMessage {
		clean, _ := canon.CleanJSON(object.Write(rest))
		return membrane.Own(Dialect, model, clean)
	}
	rest := object.Without(p.members, keyText, keyThought)
	switch {
	case p.isText && p.thought:
		return membrane.Block{Type: membrane.Thinking, Text: p.text.String(), Raw: own(rest)}, nil
	case p.isText:
		b := membrane.Block{Type: membrane.Text, Text: p.text.String()}
		if len(rest) > 0 {
			b.Raw = own(rest)
		}
		return b, nil
	}
	call := object.Find(p.members, keyCall)
	if call == nil || canon.Kind(call) == "null" {
		return membrane.Block{Type: membrane.Other, Raw: own(p.members)}, nil
	}
	all, err := object.Read(call)
	if err != nil {
		return membrane.Block{}, wire.Unreadable("a call of the answer cannot be read: %v", err)
	}
	id, _ := canon.Unquote(object.Find(all, "id"))
	name, _ := canon.Unquote(object.Find(all, "name"))
	b := membrane.Block{Type: membrane.Call, CallID: id, Tool: name}
	if args := object.Find(all, "args"); args != nil && canon.Kind(args) != "null" {
		b.Args = args
	}
	rest = object.Without(p.members, keyCall)
	if more := object.Without(all, "id", "name", "args"); len(more) > 0 {
		rest = append([]object.Member{object.Of(keyCall, object.Write(more))}, rest...)
	}
	if len(rest) > 0 {
		b.Raw = own(rest)
	}
	return b, nil
}

// answerParts makes the parts of an answer as they go back. What this model sent beside the neutral form
// goes back with it; thinking, signatures, and what only the provider understands, only to the model that
// made them. Text that is empty and carries nothing is left out.
func (m *Model) answerParts(blocks []membrane.Block) [][]byte {
	var out [][]byte
	stand := m.signs() && !m.signed(blocks)
	for _, b := range blocks {
		rest, own := m.rest(b)
		switch b.Type {
		case membrane.Text:
			if b.Text != "" || len(rest) > 0 {
				out = append(out, object.Write(append([]object.Member{object.Text(keyText, b.Text)}, rest...)))
			}
		case membrane.Thinking:
			if own {
				all := []object.Member{object.Text(keyText, b.Text), object.Of(keyThought, []byte("true"))}
				out = append(out, object.Write(append(all, rest...)))
			}
		case membrane.Call:
			if stand {
				rest = append(rest, object.Text(keySignature, standIn))
				stand = false
			}
			out = append(out, callPart(b, rest))
		case membrane.Image:
			out = append(out, textPart(placeholder(b, "an answer takes no images")))
		case membrane.Other:
			if own && len(rest) > 0 {
				out = append(out, object.Write(rest))
			}
		}
	}
	return out
}

// rest is what this model sent of a block beside its neutral form; own says that this model made it.
func (m *Model) rest(b membrane.Block) (rest []object.Member, own bool) {
	by, kept, ok := membrane.Owned(Dialect, b.Raw)
	if !ok || by != m.model {
		return nil, false
	}
	rest, err := object.Read(kept)
	return rest, err == nil
}

// signed reports whether a call among these carries a signature of this model.
func (m *Model) signed(blocks []membrane.Block) bool {
	for _, b := range blocks {
		if rest, _ := m.rest(b); b.Type == membrane.Call && object.Find(rest, keySignature) != nil {
			return true
		}
	}
	return false
}

func callPart(b membrane.Block, rest []object.Member) []byte {
	all := []object.Member{
		object.Text("id", membrane.WireName(b.CallID)), object.Text("name", membrane.WireName(b.Tool)),
		object.Of("args", membrane.ObjectArgs(b.Args)),
	}
	more, _ := object.Read(object.Find(rest, keyCall))
	all = append(all, more...)
	return object.Write(append([]object.Member{object.Of(keyCall, object.Write(all))}, object.Without(rest, keyCall)...))
}
