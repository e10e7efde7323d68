package responses

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/openai/internal/form"
)

// kept is what of an item the neutral form cannot hold, as it stands in [membrane.Block.Raw].
type kept struct {
	// Item is the item: one of text without its content, a call without what is neutral, any other whole.
	// The further parts of a message have none.
	Item json.RawMessage `json:"item"`
	// Part is a part of a message without its text.
	Part json.RawMessage `json:"part"`
}

// keep marks what is kept as this model's.
func (m *Model) keep(all ...object.Member) json.RawMessage {
	clean, _ := canon.CleanJSON(object.Write(all))
	return membrane.Own(Dialect, m.model, clean)
}

// keptOf gives what this model kept of a block.
func (m *Model) keptOf(b membrane.Block) (k kept) {
	by, own, ok := membrane.Owned(Dialect, b.Raw)
	if ok && by == m.model {
		_ = json.Unmarshal(own, &k)
	}
	return k
}

// textOf names the member of a part that holds its text; empty for a part that is no text.
func textOf(kind string) string {
	switch kind {
	case "output_text":
		return "text"
	case "refusal":
		return "refusal"
	}
	return ""
}

// blocks gives an item in its neutral form; refused says that it holds a refusal.
func (m *Model) blocks(raw json.RawMessage) (out []membrane.Block, refused bool, err error) {
	all, err := object.Read(raw)
	if err != nil {
		return nil, false, err
	}
	switch kind, _ := canon.Unquote(object.Find(all, "type")); kind {
	case "message":
		return m.messageBlocks(all)
	case "function_call":
		id, _ := canon.Unquote(object.Find(all, "call_id"))
		name, _ := canon.Unquote(object.Find(all, "name"))
		b := membrane.Block{Type: membrane.Call, CallID: id, Tool: name}
		args := object.Find(all, "arguments")
		if text, ok := canon.Unquote(args); ok {
			args = []byte(text)
		}
		if len(args) > 0 && canon.Kind(args) != "null" {
			b.Args = args
		}
		if rest := object.Without(all, "type", "id", "call_id", "name", "arguments"); len(rest) > 0 {
			b.Raw = m.keep(object.Of("item", object.Write(rest)))
		}
		return []membrane.Block{b}, false, nil
	case "reasoning":
		return []membrane.Block{{Type: membrane.Thinking, Text: thinking(all), Raw: m.keep(object.Of("item", raw))}}, false, nil
	}
	return []membrane.Block{{Type: membrane.Other, Raw: m.keep(object.Of("item", raw))}}, false, nil
}

// messageBlocks gives the parts of a message; the first one carries the message itself.
func (m *Model) messageBlocks(all []object.Member) (out []membrane.Block, refused bool, err error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(object.Find(all, "content"), &parts); err != nil && object.Find(all, "content") != nil {
		return nil, false, err
	}
	around := object.Of("item", object.Write(object.Without(all, "id", "content")))
	for _, raw := range parts {
		part, err := object.Read(raw)
		if err != nil {
			return nil, false, err
		}
		b := membrane.Block{Type: membrane.Other}
		kind, _ := canon.Unquote(object.Find(part, "type"))
		if key := textOf(kind); key != "" {
			b.Type = membrane.Text
			b.Text, _ = canon.Unquote(object.Find(part, key))
			part = object.Without(part, key)
			refused = refused || key == "refusal"
			if b.Text == "" {
				continue
			}
		}
		has := []object.Member{object.Of("part", object.Write(part))}
		if len(out) == 0 {
			has = append([]object.Member{around}, has...)
		}
		b.Raw = m.keep(has...)
		out = append(out, b)
	}
	return out, refused, nil
}

// thinking is the text of a reasoning item: its summary, or what it says openly.
func thinking(all []object.Member) string {
	var texts []string
	for _, key := range []string{"summary", "content"} {
		var parts []struct{ Text string }
		_ = json.Unmarshal(object.Find(all, key), &parts)
		for _, p := range parts {
			if p.Text != "" {
				texts = append(texts, p.Text)
			}
		}
		if len(texts) > 0 {
			break
		}
	}
	return strings.Join(texts, "\n\n")
}

// message is a message while its parts come.
type message struct {
	around []object.Member
	parts  [][]byte
}

func (p *message) write() []byte {
	return item(append(p.around, object.Of("content", object.List(p.parts)))...)
}

// answerItems makes the items of an answer as they go back. What this model sent beside the neutral form
// goes back with it; reasoning and what only the model understands go only to the model that made them.
func (m *Model) answerItems(blocks []membrane.Block) []byte {
	var out [][]byte
	var open *message
	last := 0 // behind the last item that is no reasoning
	add := func(raw []byte, follows bool) {
		if open != nil {
			done := open
			open = nil
			out = append(out, done.write())
			last = len(out)
		}
		if raw != nil {
			out = append(out, raw)
			if follows {
				last = len(out)
			}
		}
	}
	for _, b := range blocks {
		k := m.keptOf(b)
		switch {
		case k.Part != nil && (b.Type == membrane.Text || b.Type == membrane.Other):
			if k.Item != nil || open == nil {
				add(nil, false)
				open = &message{around: []object.Member{object.Text("type", "message"), object.Text("role", "assistant")}}
				if around, err := object.Read(k.Item); err == nil {
					open.around = around
				}
			}
			open.parts = append(open.parts, partOf(k.Part, b))
		case b.Type == membrane.Text:
			if strings.TrimSpace(b.Text) != "" {
				add(item(object.Text("role", "assistant"), object.Text("content", b.Text)), true)
			}
		case b.Type == membrane.Image:
			_, text := form.DataURL(b, "an answer takes no images")
			add(item(object.Text("role", "assistant"), object.Text("content", text)), true)
		case b.Type == membrane.Call:
			add(callItem(b, k.Item), true)
		case b.Type == membrane.Thinking && k.Item != nil:
			if all, err := object.Read(k.Item); err == nil && sent(all) {
				add(item(all...), false)
			}
		case b.Type == membrane.Other && k.Item != nil:
			add(k.Item, true)
		}
	}
	add(nil, false)
	return bytes.Join(out[:last], []byte(","))
}

// partOf puts the text of a part back.
func partOf(raw json.RawMessage, b membrane.Block) []byte {
	part, err := object.Read(raw)
	kind, _ := canon.Unquote(object.Find(part, "type"))
	if key := textOf(kind); err == nil && key != "" {
		return object.Write(append(part, object.Text(key, b.Text)))
	}
	return raw
}

// callItem makes the item of a call.
func callItem(b membrane.Block, rest json.RawMessage) []byte {
	args := string(b.Args)
	if string(membrane.ObjectArgs(b.Args)) == "{}" {
		args = "{}"
	}
	all := []object.Member{
		object.Text("type", "function_call"), object.Text("call_id", membrane.WireName(b.CallID)),
		object.Text("name", membrane.WireName(b.Tool)), object.Text("arguments", args),
	}
	more, _ := object.Read(rest)
	return item(append(all, more...)...)
}

// sent reports whether reasoning goes back: it is encrypted, or says openly what it is.
func sent(all []object.Member) bool {
	if text, _ := canon.Unquote(object.Find(all, "encrypted_content")); text != "" {
		return true
	}
	var open []json.RawMessage
	return json.Unmarshal(object.Find(all, "content"), &open) == nil && len(open) > 0
}
