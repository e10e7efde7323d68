package anthropic

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
)

const (
	// maxImage is how many bytes an image may have in base64.
	maxImage = 5 << 20
	// maxSide is how many pixels an image may have on a side.
	maxSide = 8000
)

// EncodeMessage makes the element of a message; none for an answer of which nothing can be sent back.
// It fails for what the role of a message has no place for.
func (m *Model) EncodeMessage(msg membrane.Message) ([]byte, error) {
	switch msg.Role {
	case membrane.User:
		blocks, err := userBlocks(msg.Blocks)
		if err != nil {
			return nil, fmt.Errorf("encode a message: %w", err)
		}
		return element("user", blocks), nil
	case membrane.Assistant:
		return answerElement(m.answerBlocks(msg.Blocks)), nil
	case membrane.Results:
		blocks := make([][]byte, len(msg.Results))
		for i, r := range msg.Results {
			blocks[i] = resultBlock(r)
		}
		return element("user", blocks), nil
	}
	return nil, fmt.Errorf("encode a message: its role is %.40q, which this dialect does not have", msg.Role)
}

// element writes one message; without a block it is no message.
func element(role string, blocks [][]byte) []byte {
	if len(blocks) == 0 {
		return []byte{}
	}
	out := append([]byte(`{"role":"`), role...)
	out = append(append(out, `","content":[`...), bytes.Join(blocks, []byte(","))...)
	return append(out, "]}"...)
}

func answerElement(blocks []answerBlock) []byte {
	all := make([][]byte, len(blocks))
	for i, b := range blocks {
		all[i] = b.json
	}
	return element("assistant", all)
}

// userBlocks makes the blocks of a user's message. It is never empty: a question that was asked is
// answered.
func userBlocks(blocks []membrane.Block) ([][]byte, error) {
	var out [][]byte
	for _, b := range blocks {
		switch b.Type {
		case membrane.Text:
			if !blank(b.Text) {
				out = append(out, textBlock(b.Text))
			}
		case membrane.Image:
			out = append(out, imageBlock(b))
		case membrane.Other:
			if _, own, ok := membrane.Owned(Dialect, b.Raw); ok {
				clean, _ := canon.CleanJSON(own)
				out = append(out, clean)
				continue
			}
			out = append(out, textBlock("[a part that this provider does not take was left out]"))
		default:
			return nil, fmt.Errorf("a user's message has a block of type %.40q, which only an answer can have", b.Type)
		}
	}
	if len(out) == 0 {
		out = append(out, textBlock("[a message without text]"))
	}
	return out, nil
}

// resultBlock makes the tool_result of one call.
func resultBlock(r membrane.Result) []byte {
	all := []object.Member{object.Text("type", "tool_result"), object.Text("tool_use_id", membrane.WireName(r.CallID))}
	text := r.Text
	switch {
	case blank(text) && r.IsError:
		text = "[an error without text]"
	case blank(text) && text != "":
		text = fmt.Sprintf("[%d characters of white space]", utf8.RuneCountInString(text))
	}
	switch {
	case len(r.Images) > 0:
		var blocks [][]byte
		if text != "" {
			blocks = append(blocks, textBlock(text))
		}
		for _, b := range r.Images {
			if r.IsError {
				blocks = append(blocks, textBlock(placeholder(b, "an error result takes no images")))
				continue
			}
			blocks = append(blocks, imageBlock(b))
		}
		all = append(all, object.Of("content", slices.Concat([]byte("["), bytes.Join(blocks, []byte(",")), []byte("]"))))
	case text != "":
		all = append(all, object.Of("content", quote(text)))
	}
	if r.IsError {
		all = append(all, object.Of("is_error", []byte("true")))
	}
	return object.Write(all)
}

// imageBlock makes the block of an image, by what its bytes say of themselves; a labelled text for one
// that the provider would refuse, and with it every later request.
func imageBlock(b membrane.Block) []byte {
	p, ok := membrane.Look(b.Data)
	switch {
	case !ok:
		return textBlock(placeholder(b, "its bytes are no image"))
	case p.MIMEType != "image/jpeg" && p.MIMEType != "image/png" && p.MIMEType != "image/gif" && p.MIMEType != "image/webp":
		return textBlock(placeholder(b, "the provider takes image/jpeg, image/png, image/gif and image/webp"))
	case !p.Whole:
		return textBlock(placeholder(b, "it is cut off or damaged"))
	case base64.StdEncoding.EncodedLen(len(b.Data)) > maxImage:
		return textBlock(placeholder(b, "the provider takes at most 5 MiB in base64"))
	case p.Width > maxSide || p.Height > maxSide:
		return textBlock(placeholder(b, fmt.Sprintf("it has %d x %d pixels and the provider takes at most %d a side", p.Width, p.Height, maxSide)))
	}
	out := append([]byte(`{"type":"image","source":{"type":"base64","media_type":"`), p.MIMEType...)
	out = base64.StdEncoding.AppendEncode(append(out, `","data":"`...), b.Data)
	return append(out, `"}}`...)
}

// placeholder is the text that stands for an image.
func placeholder(b membrane.Block, why string) string {
	kind := b.MIMEType
	if p, ok := membrane.Look(b.Data); ok {
		kind = p.MIMEType
	}
	if kind == "" {
		kind = "unknown type"
	}
	size := fmt.Sprintf("%d bytes", len(b.Data))
	if n := len(b.Data); n >= 1024 {
		size = fmt.Sprintf("~%dKB", (n+512)/1024)
	}
	return fmt.Sprintf("[image: %.60s, %s, not sent: %s]", membrane.Line(kind), size, why)
}
