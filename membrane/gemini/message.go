package gemini

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
)

// maxImage is how many bytes an image may have in base64.
const maxImage = 14 << 20

// EncodeMessage makes the element of a message; none for an answer of which nothing can be sent back.
// It fails for what the role of a message has no place for.
func (m *Model) EncodeMessage(msg membrane.Message) ([]byte, error) {
	switch msg.Role {
	case membrane.User:
		parts, err := userParts(msg.Blocks)
		if err != nil {
			return nil, fmt.Errorf("encode a message: %w", err)
		}
		return content("user", parts), nil
	case membrane.Assistant:
		return content("model", m.answerParts(msg.Blocks)), nil
	case membrane.Results:
		parts := make([][]byte, len(msg.Results))
		for i, r := range msg.Results {
			parts[i] = m.resultPart(r)
		}
		return content("user", parts), nil
	}
	return nil, fmt.Errorf("encode a message: its role is %.40q, which this dialect does not have", msg.Role)
}

// content writes one message; without a part it is no message.
func content(role string, parts [][]byte) []byte {
	if len(parts) == 0 {
		return []byte{}
	}
	out, _ := canon.CleanJSON(object.Write([]object.Member{object.Text("role", role), object.Of("parts", object.List(parts))}))
	return out
}

func textPart(text string) []byte { return object.Write([]object.Member{object.Text("text", text)}) }

// userParts makes the parts of a user's message. It is never empty: a question that was asked is
// answered.
func userParts(blocks []membrane.Block) ([][]byte, error) {
	var out [][]byte
	for _, b := range blocks {
		switch b.Type {
		case membrane.Text:
			if b.Text != "" {
				out = append(out, textPart(b.Text))
			}
		case membrane.Image:
			if part, why := imagePart(b); why != "" {
				out = append(out, textPart(placeholder(b, why)))
			} else {
				out = append(out, part)
			}
		case membrane.Other:
			if _, own, ok := membrane.Owned(Dialect, b.Raw); ok {
				out = append(out, own)
				continue
			}
			out = append(out, textPart("[a part that this provider does not take was left out]"))
		default:
			return nil, fmt.Errorf("a user's message has a block of type %.40q, which only an answer can have", b.Type)
		}
	}
	if len(out) == 0 {
		out = append(out, textPart("[a message without text]"))
	}
	return out, nil
}

// resultPart makes the functionResponse of one call. Images go with it where the model takes them there;
// what does not is a labelled text.
func (m *Model) resultPart(r membrane.Result) []byte {
	texts := []string{}
	if r.Text != "" || len(r.Images) == 0 {
		texts = append(texts, r.Text)
	}
	var images [][]byte
	for _, b := range r.Images {
		part, why := imagePart(b)
		switch {
		case why == "" && r.IsError:
			why = "an error result takes no images"
		case why == "" && !m.signs():
			why = "this model takes no images in results"
		}
		if why != "" {
			texts = append(texts, placeholder(b, why))
			continue
		}
		images = append(images, part)
	}
	key := "output"
	if r.IsError {
		key = "error"
	}
	all := []object.Member{
		object.Text("id", membrane.WireName(r.CallID)), object.Text("name", membrane.WireName(r.Tool)),
		object.Of("response", object.Write([]object.Member{object.Text(key, strings.Join(texts, "\n"))})),
	}
	if len(images) > 0 {
		all = append(all, object.Of("parts", object.List(images)))
	}
	return object.Write([]object.Member{object.Of("functionResponse", object.Write(all))})
}

// imagePart makes the part of an image, by what its bytes say of themselves; why says that the provider
// would refuse it, and with it every later request.
func imagePart(b membrane.Block) (part []byte, why string) {
	p, ok := membrane.Look(b.Data)
	switch {
	case !ok:
		return nil, "its bytes are no image"
	case p.MIMEType != "image/jpeg" && p.MIMEType != "image/png" && p.MIMEType != "image/webp":
		return nil, "the provider takes image/jpeg, image/png and image/webp"
	case !p.Whole:
		return nil, "it is cut off or damaged"
	case base64.StdEncoding.EncodedLen(len(b.Data)) > maxImage:
		return nil, "the provider takes at most 14 MiB in base64"
	}
	data := base64.StdEncoding.AppendEncode([]byte{'"'}, b.Data)
	inline := object.Write([]object.Member{object.Text("mimeType", p.MIMEType), object.Of("data", append(data, '"'))})
	return object.Write([]object.Member{object.Of("inlineData", inline)}), ""
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
