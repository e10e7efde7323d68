package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/openai/internal/form"
)

// EncodeMessage makes the elements of a message: one for a user's message, one or none for an answer, one
// for each result and one more for their images. It fails for what the role of a message has no place
// for.
func (m *Model) EncodeMessage(msg membrane.Message) ([]byte, error) {
	switch msg.Role {
	case membrane.User:
		content, err := m.userContent(msg.Blocks)
		if err != nil {
			return nil, fmt.Errorf("encode a message: %w", err)
		}
		return element("user", object.Of("content", content)), nil
	case membrane.Assistant:
		return m.answerElement(msg.Blocks), nil
	case membrane.Results:
		return m.resultElements(msg.Results), nil
	}
	return nil, fmt.Errorf("encode a message: its role is %.40q, which this dialect does not have", msg.Role)
}

func element(role string, has ...object.Member) []byte {
	out, _ := canon.CleanJSON(object.Write(append([]object.Member{object.Text("role", role)}, has...)))
	return out
}

func textPart(text string) []byte {
	return object.Write([]object.Member{object.Text("type", "text"), object.Text("text", text)})
}

func imagePart(url string) []byte {
	return object.Write([]object.Member{object.Text("type", "image_url"), object.Of("image_url", object.Write([]object.Member{object.Text("url", url)}))})
}

// userContent makes the content of a user's message: a text when it has only text, because some servers
// take nothing else, and a list of parts when it has images. It is never empty: a question that was asked
// is answered.
func (m *Model) userContent(blocks []membrane.Block) (json.RawMessage, error) {
	var parts [][]byte
	var texts []string
	images := 0
	say := func(text string) {
		texts = append(texts, text)
		parts = append(parts, textPart(text))
	}
	for _, b := range blocks {
		switch b.Type {
		case membrane.Text:
			if b.Text != "" {
				say(b.Text)
			}
		case membrane.Image:
			url, text := form.DataURL(b, m.quirks.refuseImages())
			if url == "" {
				say(text)
				continue
			}
			images++
			parts = append(parts, imagePart(url))
		case membrane.Other:
			if _, own, ok := membrane.Owned(Dialect, b.Raw); ok {
				images++ // a part that is not text
				parts = append(parts, own)
				continue
			}
			say("[a part that this provider does not take was left out]")
		default:
			return nil, fmt.Errorf("a user's message has a block of type %.40q, which only an answer can have", b.Type)
		}
	}
	switch {
	case images > 0:
		return object.List(parts), nil
	case strings.TrimSpace(strings.Join(texts, "")) == "":
		return canon.AppendString(nil, "[a message without text]"), nil
	}
	return canon.AppendString(nil, strings.Join(texts, "\n\n")), nil
}

// resultElements makes a message for each result, and one of the user with their images behind them: a
// server wants all results before anything else.
func (m *Model) resultElements(results []membrane.Result) []byte {
	var out [][]byte
	var images [][]byte
	for _, r := range results {
		id := m.quirks.ids().Wire(r.CallID)
		text := r.Text
		if strings.TrimSpace(text) == "" && r.IsError {
			text = "[an error without text]"
		}
		for i, b := range r.Images {
			url, line := form.DataURL(b, m.quirks.refuseImages())
			if url != "" {
				label := fmt.Sprintf("image %d of the result of %s", i+1, id)
				line = fmt.Sprintf("[image: %s, %s, in the next message of the user as %q]", strings.TrimPrefix(url[:strings.IndexByte(url, ';')], "data:"), form.Size(b.Data), label)
				images = append(images, textPart("["+label+"]"), imagePart(url))
			}
			text = strings.TrimPrefix(text+"\n"+line, "\n")
		}
		out = append(out, element("tool", object.Text("tool_call_id", id), object.Text("content", text)))
	}
	if len(images) > 0 {
		out = append(out, element("user", object.Of("content", object.List(images))))
	}
	return bytes.Join(out, []byte(","))
}

// answerElement makes the message of an answer. What this model sent beside the neutral form goes back
// with it, as far as the server takes it; reasoning and what only the model understands go only to the
// model that made them.
func (m *Model) answerElement(blocks []membrane.Block) []byte {
	var texts, parts, calls [][]byte
	var back []object.Member // reasoning, and what else the answer holds
	var refusal string
	listed, said := false, false
	for _, b := range blocks {
		k := m.keptOf(b)
		switch {
		case b.Type == membrane.Call:
			calls = append(calls, m.call(b, k.Call))
		case k.In == "refusal" && b.Type == membrane.Text:
			refusal += b.Text
		case k.In != "" && b.Type == membrane.Thinking:
			if m.quirks.back(k.In) {
				back = append(back, object.Text(k.In, b.Text))
			}
		case k.Part != nil:
			listed, said = true, true
			if b.Type == membrane.Text {
				k.Part = withText(k.Part, b.Text)
			}
			parts = append(parts, k.Part)
		case b.Type == membrane.Text:
			texts, parts = append(texts, []byte(b.Text)), append(parts, textPart(b.Text))
		case b.Type == membrane.Image:
			_, text := form.DataURL(b, "an answer takes no images")
			texts, parts = append(texts, []byte(text)), append(parts, textPart(text))
		case k.Message != nil:
			rest, _ := object.Read(k.Message)
			for _, r := range rest {
				if m.quirks.back(r.Key) {
					back = append(back, r)
				}
			}
		}
	}
	text := string(bytes.Join(texts, nil))
	if strings.TrimSpace(text) == "" && !said && refusal == "" && len(calls) == 0 {
		return []byte{}
	}
	var all []object.Member
	switch {
	case listed:
		all = append(all, object.Of("content", object.List(parts)))
	case text == "" && !m.quirks.EmptyContent:
		all = append(all, object.Of("content", []byte("null")))
	default:
		all = append(all, object.Text("content", text))
	}
	if refusal != "" {
		all = append(all, object.Text("refusal", refusal))
	}
	all = append(all, back...)
	if len(calls) > 0 {
		all = append(all, object.Of("tool_calls", object.List(calls)))
	}
	return element("assistant", all...)
}

// call makes one call of an answer.
func (m *Model) call(b membrane.Block, rest json.RawMessage) []byte {
	var args json.RawMessage
	switch m.quirks.Arguments {
	case ArgumentsObject:
		args = membrane.ObjectArgs(b.Args)
	case ArgumentsWritten:
		args = canon.AppendString(nil, written(b.Args))
	default:
		args = canon.AppendString(nil, string(membrane.ObjectArgs(b.Args)))
	}
	function := []object.Member{object.Text("name", membrane.WireName(b.Tool)), object.Of("arguments", args)}
	more, _ := object.Read(rest)
	inner, _ := object.Read(object.Find(more, "function"))
	for _, r := range inner {
		if m.quirks.back(r.Key) {
			function = append(function, r)
		}
	}
	all := []object.Member{
		object.Text("id", m.quirks.ids().Wire(b.CallID)), object.Text("type", "function"), object.Of("function", object.Write(function)),
	}
	for _, r := range object.Without(more, "function") {
		if m.quirks.back(r.Key) {
			all = append(all, r)
		}
	}
	return object.Write(all)
}

// kept is what of an answer the neutral form cannot hold, as it stands in [membrane.Block.Raw].
type kept struct {
	// In is the member that a text stood in, when that is not content.
	In string `json:"in,omitempty"`
	// Part is a part of a content that is a list; one of text without its text.
	Part json.RawMessage `json:"part,omitempty"`
	// Call are the further members of a call, Message those of the answer.
	Call    json.RawMessage `json:"call,omitempty"`
	Message json.RawMessage `json:"message,omitempty"`
}

// keptOf gives what this model kept of a block.
func (m *Model) keptOf(b membrane.Block) (k kept) {
	by, own, ok := membrane.Owned(Dialect, b.Raw)
	if ok && by == m.model {
		_ = json.Unmarshal(own, &k)
	}
	return k
}
