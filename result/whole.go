package result

import (
	"encoding/json"
	"strings"
)

// Whole is a result as text, with what belongs to it.
type Whole struct {
	// Text is the whole text, valid UTF-8, before any cleaning for the model: what is stored, spilled,
	// hashed and handed to scripts. It may be empty.
	Text string
	// JSON tells that Text is JSON because the data was; a string that looks like JSON is no JSON here.
	JSON bool
	// Marks are the places of Text where something stands for bytes that are kept elsewhere, in order.
	Marks []Mark
	// Payloads are the bytes to keep beside the text, each once.
	Payloads []Payload
	// Raw are the original bytes of a []byte when Text is not exactly them: some were replaced, a byte
	// order mark was dropped, or they were UTF-16. They are kept as base + ".raw".
	Raw []byte
	// Replaced is how many U+FFFD stand in Text for bytes of Raw that are no characters.
	Replaced int
	// Structured is the machine's view as valid JSON of valid UTF-8; nil when there is none.
	Structured json.RawMessage
	// IsError marks a failure; it is also set when the data could not be converted.
	IsError bool
	// EndTurn and Page are the result's own.
	EndTurn, Page bool
}

// Mark is a place in a text. It is plain data, so it can be stored beside the text: the text and its
// marks are all that [Whole.Model] needs.
type Mark struct {
	// At and Len say which bytes of the whole text the mark covers.
	At  int `json:"at"`
	Len int `json:"len"`
	// Text is what the model reads in their place: for a block the placeholder that stands in the whole
	// text too, for a base64 run inside JSON the placeholder instead of the run.
	Text string `json:"text"`
	// Payload is the index of the payload in Whole.Payloads; its Part is one more.
	Payload int `json:"payload"`
	// Image tells that the mark is an image block, which the native form shows as an image.
	Image bool `json:"image,omitempty"`
}

// Span is a range of bytes of the model's text that must not be cut in two.
type Span struct{ Start, End int }

// Part is a piece of the native form: a text, or an image when Image is not nil.
type Part struct {
	Text  string
	Image *Payload
}

// Model returns the text for the model, and the placeholders in it. NUL becomes U+2400; plain asks for
// [PlainTerminal]; base64 runs inside JSON give way to their placeholders. The result is the whole
// exactly when text == w.Text, which is cheap to ask: text that needs no cleaning is w.Text itself.
// Otherwise the whole is to be kept before the model is shown it.
func (w Whole) Model(plain bool) (text string, spans []Span) {
	if len(w.Marks) == 0 {
		return w.clean(w.Text, plain), nil
	}
	var b strings.Builder
	b.Grow(len(w.Text))
	at := 0
	for _, m := range w.Marks {
		if m.At < at || m.Len < 0 || m.Len > len(w.Text)-m.At {
			continue // a mark that was stored for another text
		}
		b.WriteString(w.clean(w.Text[at:m.At], plain))
		spans = append(spans, Span{b.Len(), b.Len() + len(m.Text)})
		b.WriteString(m.Text)
		at = m.At + m.Len
	}
	b.WriteString(w.clean(w.Text[at:], plain))
	return b.String(), spans
}

// Native returns the text blocks and the images of a result in order, the texts cleaned as Model does
// it. It is nil when the result has no image that the bytes confirm, or when its payloads are not here:
// then the text is all there is. Blocks that are no images stand in the texts as their placeholders,
// and empty texts are left out.
func (w Whole) Native(plain bool) []Part {
	var parts []Part
	var between []Mark // the marks since the last image
	from, images := 0, 0
	text := func(to int) {
		if t, _ := w.piece(from, to, between).Model(plain); t != "" {
			parts = append(parts, Part{Text: t})
		}
		between = nil
	}
	for _, m := range w.Marks {
		if !m.Image || m.Payload < 0 || m.Payload >= len(w.Payloads) {
			between = append(between, m)
			continue
		}
		// The newlines around an image separate blocks; they belong to none.
		text(m.At - 1)
		parts = append(parts, Part{Image: &w.Payloads[m.Payload]})
		from = m.At + m.Len + 1
		images++
	}
	if images == 0 {
		return nil
	}
	text(len(w.Text))
	return parts
}

// piece is a part of the text with the marks in it; nothing when to is not behind from.
func (w Whole) piece(from, to int, marks []Mark) Whole {
	if to = min(to, len(w.Text)); from < 0 || to <= from {
		return Whole{}
	}
	p := Whole{Text: w.Text[from:to], JSON: w.JSON}
	for _, m := range marks {
		m.At -= from
		p.Marks = append(p.Marks, m)
	}
	return p
}

// clean is what the model reads of a piece of the text that holds no mark. JSON is no terminal's output:
// an escape sequence inside of it could take its syntax along.
func (w Whole) clean(piece string, plain bool) string {
	return Clean(piece, plain && !w.JSON)
}

// Clean returns text as a model reads it: NUL becomes U+2400 (␀), which providers and databases accept,
// and plain asks for [PlainTerminal]. Text that has nothing to clean is returned as it is.
func Clean(text string, plain bool) string {
	if plain {
		text = PlainTerminal(text)
	}
	return strings.ReplaceAll(text, "\x00", "\u2400")
}
