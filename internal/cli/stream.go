package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// object is a JSON object in the order of its members.
type object []member

type member struct {
	name  string
	value any
}

// add appends a member, unless it is empty.
func (o *object) add(name string, value any) {
	switch v := value.(type) {
	case nil:
		return
	case string:
		if v == "" {
			return
		}
	case json.RawMessage:
		if len(v) == 0 {
			return
		}
	}
	*o = append(*o, member{name, value})
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := marshal(m.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", m.name, value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal writes a value with < > & as they are.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// jsonStream writes one object with lists, a member and an element at a time. The first error stays.
type jsonStream struct {
	w   *bufio.Writer
	err error
	// within and listed say that something stands before the next member or element.
	within, listed bool
}

func (s *jsonStream) text(t string) {
	if s.err == nil {
		_, s.err = s.w.WriteString(t)
	}
}

func (s *jsonStream) open()  { s.text("{") }
func (s *jsonStream) close() { s.text("\n}\n") }

func (s *jsonStream) name(name string) {
	if s.within {
		s.text(",")
	}
	s.within = true
	s.text("\n  \"" + name + "\": ")
}

func (s *jsonStream) member(name string, value any) {
	s.name(name)
	s.value(value, "  ")
}

func (s *jsonStream) list(name string) {
	s.name(name)
	s.text("[")
	s.listed = false
}

func (s *jsonStream) endList() {
	if s.listed {
		s.text("\n  ")
	}
	s.text("]")
}

func (s *jsonStream) element(value any) {
	if s.listed {
		s.text(",")
	}
	s.listed = true
	s.text("\n    ")
	s.value(value, "    ")
}

// value writes a value over several lines, each behind the prefix.
func (s *jsonStream) value(value any, prefix string) {
	if s.err != nil {
		return
	}
	b, err := marshal(value)
	if err != nil {
		s.err = err
		return
	}
	var out bytes.Buffer
	if s.err = json.Indent(&out, b, prefix, "  "); s.err == nil {
		s.text(out.String())
	}
}

// elementWith writes an element whose last member is a text that is read piece by piece.
func (s *jsonStream) elementWith(o object, name string, from io.Reader) {
	const mark = "the text" // stands for itself while the rest is laid out
	before := s.w
	var b bytes.Buffer
	s.w = bufio.NewWriter(&b)
	s.element(append(o, member{name, mark}))
	if s.err == nil {
		s.err = s.w.Flush()
	}
	s.w = before
	quotedMark := `"` + mark + `"`
	i := bytes.LastIndex(b.Bytes(), []byte(quotedMark))
	if s.err != nil || i < 0 {
		return
	}
	s.text(b.String()[:i])
	s.quote(from)
	s.text(b.String()[i+len(quotedMark):])
}

// quote writes a text as a JSON string.
func (s *jsonStream) quote(from io.Reader) {
	s.text(`"`)
	buf := make([]byte, 32<<10)
	kept := 0
	for s.err == nil {
		n, err := from.Read(buf[kept:])
		have := buf[:kept+n]
		kept = 0
		if err == nil {
			kept = unfinished(have)
		} else if !errors.Is(err, io.EOF) {
			s.err = err
			return
		}
		b, failed := marshal(string(have[:len(have)-kept]))
		if failed != nil {
			s.err = failed
			return
		}
		s.text(string(b[1 : len(b)-1]))
		copy(buf, have[len(have)-kept:])
		if err != nil {
			break
		}
	}
	s.text(`"`)
}

// unfinished is how many bytes at the end of a piece are the beginning of a character.
func unfinished(b []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(b)); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}
