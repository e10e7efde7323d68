package workspace

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/internal/search"
)

// nearby is how many bytes before and after a match are looked at for its context.
const nearby = 256 << 10

func bytesNote(n int64) string { return fmt.Sprintf("%d bytes", n) }
func lineNote(n int64) string  { return fmt.Sprintf("line %d", n) }

// around reads the lines before and after a match. A line that reaches farther than nearby is cut.
func around(d *document, l search.Line, req GrepRequest) (before, after []ContextLine, err error) {
	if req.Before > 0 && l.Offset > 0 {
		if before, err = linesBefore(d, l, req.Before); err != nil {
			return nil, nil, err
		}
	}
	if req.After > 0 {
		if after, err = linesAfter(d, l, req.After); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range [][]ContextLine{before, after} {
		for i := range c {
			c[i].narrow(req.Width)
		}
	}
	return before, after, nil
}

// narrow cuts a line to a width.
func (c *ContextLine) narrow(width int) {
	if width > 0 && len(c.Text) > width {
		if cut := skipRunes(c.Text, int64(width)); cut < len(c.Text) {
			c.Text, c.Cut = c.Text[:cut], true
		}
	}
	c.Text = slices.Clone(c.Text)
}

// linesBefore reads up to n lines that end where the match's line starts.
func linesBefore(d *document, l search.Line, n int) ([]ContextLine, error) {
	size := int64(4 << 10)
	for {
		from := max(l.Offset-size, 0)
		buf := make([]byte, l.Offset-from)
		if err := readFull(d.text, buf, from); err != nil {
			return nil, err
		}
		// One newline more than lines, or the start of the text, shows where the first of them begins.
		if from > 0 && bytes.Count(buf, []byte{'\n'}) <= n && size < nearby {
			size *= 4
			continue
		}
		var out []ContextLine
		for number := l.Number - 1; len(buf) > 0 && len(out) < n; number-- {
			start := bytes.LastIndexByte(buf[:len(buf)-1], '\n') + 1
			text, _ := lines.TrimEnding(buf[start:])
			c := ContextLine{Line: number, Text: text}
			if start == 0 && from > 0 {
				c.Cut = true
				for len(c.Text) > 0 && !utf8.RuneStart(c.Text[0]) {
					c.Text = c.Text[1:]
				}
			}
			out = append(out, c)
			buf = buf[:start]
		}
		slices.Reverse(out)
		return out, nil
	}
}

// linesAfter reads up to n lines from where the match's line ends.
func linesAfter(d *document, l search.Line, n int) ([]ContextLine, error) {
	from := l.Offset + int64(len(l.Text))
	size := int64(4 << 10)
	for {
		buf := make([]byte, min(size, d.size-from))
		if err := readFull(d.text, buf, from); err != nil {
			return nil, err
		}
		whole := from+int64(len(buf)) == d.size
		if !whole && bytes.Count(buf, []byte{'\n'}) <= n && size < nearby {
			size *= 4
			continue
		}
		end := bytes.IndexByte(buf, '\n') + 1 // the ending of the match's own line
		if end == 0 {
			return nil, nil
		}
		buf = buf[end:]
		var out []ContextLine
		for number := l.Number + 1; len(buf) > 0 && len(out) < n; number++ {
			end := bytes.IndexByte(buf, '\n') + 1
			cut := end == 0 && !whole
			if end == 0 {
				end = len(buf)
			}
			text, _ := lines.TrimEnding(buf[:end])
			if cut {
				text = text[:wholeRunes(text)]
			}
			out = append(out, ContextLine{Line: number, Text: text, Cut: cut})
			buf = buf[end:]
		}
		return out, nil
	}
}
