package responses

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

// EncodeMessage makes the items of a message: one for a user's message, any number for an answer, one for
// each result. It fails for what the role of a message has no place for.
func (m *Model) EncodeMessage(msg membrane.Message) ([]byte, error) {
	var items [][]byte
	switch msg.Role {
	case membrane.User:
		content, err := m.userContent(msg.Blocks)
		if err != nil {
			return nil, fmt.Errorf("encode a message: %w", err)
		}
		items = append(items, item(object.Text("role", "user"), object.Of("content", content)))
	case membrane.Assistant:
		return m.answerItems(msg.Blocks), nil
	case membrane.Results:
		for _, r := range msg.Results {
			items = append(items, m.result(r))
		}
	default:
		return nil, fmt.Errorf("encode a message: its role is %.40q, which this dialect does not have", msg.Role)
	}
	return bytes.Join(items, []byte(",")), nil
}

func item(has ...object.Member) []byte {
	out, _ := canon.CleanJSON(object.Write(has))
	return out
}

func textPart(text string) []byte {
	return object.Write([]object.Member{object.Text("type", "input_text"), object.Text("text", text)})
}

// parts makes what a message or a result holds; plain is its text when it is nothing else.
func (m *Model) parts(blocks []membrane.Block) (parts [][]byte, plain string, onlyText bool, err error) {
	onlyText = true
	var texts []string
	for _, b := range blocks {
		text := b.Text
		switch b.Type {
		case membrane.Text:
		case membrane.Image:
			url, line := form.DataURL(b, m.refuse)
			if url != "" {
				onlyText = false
				parts = append(parts, object.Write([]object.Member{object.Text("type", "input_image"), object.Text("image_url", url)}))
				continue
			}
			text = line
		case membrane.Other:
			if _, own, ok := membrane.Owned(Dialect, b.Raw); ok {
				onlyText = false
				parts = append(parts, own)
				continue
			}
			text = "[a part that this provider does not take was left out]"
		default:
			return nil, "", false, fmt.Errorf("a user's message has a block of type %.40q, which only an answer can have", b.Type)
		}
		if text != "" {
			texts = append(texts, text)
			parts = append(parts, textPart(text))
		}
	}
	return parts, strings.Join(texts, "\n\n"), onlyText, nil
}

// userContent makes the content of a user's message. It is never empty: a question that was asked is
// answered.
func (m *Model) userContent(blocks []membrane.Block) (json.RawMessage, error) {
	parts, plain, onlyText, err := m.parts(blocks)
	switch {
	case err != nil:
		return nil, err
	case !onlyText:
		return object.List(parts), nil
	case strings.TrimSpace(plain) == "":
		plain = "[a message without text]"
	}
	return canon.AppendString(nil, plain), nil
}

// result makes the item of one result: its text, or a list when it has images.
func (m *Model) result(r membrane.Result) []byte {
	text := r.Text
	if strings.TrimSpace(text) == "" && r.IsError {
		text = "[an error without text]"
	}
	output := json.RawMessage(canon.AppendString(nil, text))
	if len(r.Images) > 0 {
		blocks := append([]membrane.Block{{Type: membrane.Text, Text: text}}, r.Images...)
		for i := range blocks[1:] {
			blocks[i+1].Type = membrane.Image
		}
		if parts, plain, onlyText, err := m.parts(blocks); err == nil {
			output = canon.AppendString(nil, plain)
			if !onlyText {
				output = object.List(parts)
			}
		}
	}
	return item(object.Text("type", "function_call_output"), object.Text("call_id", membrane.WireName(r.CallID)), object.Of("output", output))
}
