package result

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/tool"
)

// Limits of what a placeholder takes over from a block, in characters. They are claims of whoever made
// the block, so they are kept short and on one line.
const (
	maxURI   = 1000
	maxField = 200
)

// blocks sets the text of content blocks: their texts, joined by newlines.
func (w *Whole) blocks(blocks []tool.Content, base string, bulk bool) {
	if len(blocks) == 1 && blocks[0].Type == "text" {
		w.Text = valid(blocks[0].Text)
		return
	}
	var b strings.Builder
	c := collector{base: base}
	for i, block := range blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		switch block.Type {
		case "text":
			b.WriteString(valid(block.Text))
		case "image", "audio":
			w.Marks = c.media(&b, block, w.Marks)
		case "resource":
			w.Marks = c.resource(&b, block, w.Marks)
		case "resource_link":
			b.WriteString(line("resource link", field(block.Name), uri(block), field(block.MIMEType)) + "; not fetched]")
		default:
			w.Marks = c.unknown(&b, block, w.Marks, bulk)
		}
	}
	w.Text, w.Payloads = b.String(), c.payloads
}

// media writes an image or an audio block.
func (c *collector) media(b *strings.Builder, block tool.Content, marks []Mark) []Mark {
	if len(block.Data) == 0 {
		b.WriteString(line(block.Type, field(block.MIMEType), "no data"))
		if block.URI != "" {
			b.WriteString(", not fetched: " + uri(block))
		}
		b.WriteByte(']')
		return marks
	}
	m := c.payload(block)
	m.Image = block.Type == "image" && strings.HasPrefix(c.payloads[m.Payload].MIMEType, "image/")
	return place(b, m, marks)
}

// resource writes an embedded resource: its bytes as a payload, its text under a line that names it.
func (c *collector) resource(b *strings.Builder, block tool.Content, marks []Mark) []Mark {
	switch {
	case len(block.Data) > 0:
		marks = place(b, c.payload(block), marks)
	case block.Text == "":
		b.WriteString(line("resource", uri(block), field(block.MIMEType), "no contents") + "]")
	default:
		b.WriteString(line("resource", uri(block), field(block.MIMEType)) + "]")
	}
	if block.Text != "" {
		b.WriteString("\n" + valid(block.Text))
	}
	return marks
}

// payload keeps a block's bytes. The placeholder tells where they came from, if the block does.
func (c *collector) payload(block tool.Content) Mark {
	m := c.keep(block.Type, block.MIMEType, block.Data)
	if block.URI != "" {
		m.Text = strings.TrimSuffix(m.Text, "]") + ", from " + uri(block) + "]"
	}
	return m
}

// unknown writes a block of a type that is not known: a note, then the block's JSON.
func (c *collector) unknown(b *strings.Builder, block tool.Content, marks []Mark, bulk bool) []Mark {
	if block.Type == "" {
		b.WriteString("[content block without a type] ")
	} else {
		b.WriteString("[content block of unknown type \"" + field(block.Type) + "\"] ")
	}
	raw, _ := canon.CleanJSON(block.Raw)
	if !canon.Valid(raw) {
		raw = fields(block)
	}
	if bulk {
		marks = c.bulk(string(raw), b.Len(), marks)
	}
	b.Write(raw)
	return marks
}

// fields is the JSON of a block that came without valid JSON of its own. What came instead stands in it
// as a string.
func fields(block tool.Content) []byte {
	raw, err := canon.Marshal(struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitempty"`
		MIMEType string `json:"mimeType,omitempty"`
		Data     []byte `json:"data,omitempty"`
		URI      string `json:"uri,omitempty"`
		Name     string `json:"name,omitempty"`
		Raw      string `json:"raw,omitempty"`
	}{block.Type, block.Text, block.MIMEType, block.Data, block.URI, block.Name, string(block.Raw)})
	if err != nil {
		return []byte("{}")
	}
	return raw
}

// place writes a mark's placeholder and records where it stands.
func place(b *strings.Builder, m Mark, marks []Mark) []Mark {
	m.At, m.Len = b.Len(), len(m.Text)
	b.WriteString(m.Text)
	return append(marks, m)
}

// line begins a placeholder: its kind and what is known, without what is empty. It leaves the bracket
// open.
func line(kind string, known ...string) string {
	known = slices.DeleteFunc(known, func(s string) bool { return s == "" })
	if len(known) == 0 {
		return "[" + kind
	}
	return "[" + kind + ": " + strings.Join(known, ", ")
}

// field and uri are claims of a block, bounded.
func field(s string) string         { return bounded(s, maxField) }
func uri(block tool.Content) string { return bounded(block.URI, maxURI) }

// bounded returns s as one line of at most limit characters and a mark that says how many are left out.
// Control characters, line separators and characters that reorder text are dropped: a claim must not
// look like something else.
func bounded(s string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range valid(s) {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			continue
		}
		if n++; n <= limit {
			b.WriteRune(r)
		}
	}
	if n > limit {
		fmt.Fprintf(&b, "… (%d more)", n-limit)
	}
	return b.String()
}
