package canon

import (
	"errors"
	"io"
)

// Summary says what a JSON text is at its root.
type Summary struct {
	Kind string   // as [Kind] names it
	Len  int      // an array's elements, an object's members (a repeated key counts each time); else 0
	Keys []string // an object's first keys, decoded, as they are ordered in the text
}

// Kind names what raw is by its first byte: "object", "array", "string",
// "number", "boolean" or "null", and "" when it cannot be JSON. It does not
// read on: [Valid] tells whether the rest is JSON.
func Kind(raw []byte) string {
	for _, c := range raw {
		if !isSpace(c) {
			return kindOf(c)
		}
	}
	return ""
}

// kindOf names the value that begins with c.
func kindOf(c byte) string {
	switch {
	case c == '{':
		return "object"
	case c == '[':
		return "array"
	case c == '"':
		return "string"
	case c == 't' || c == 'f':
		return "boolean"
	case c == 'n':
		return "null"
	case c == '-' || c >= '0' && c <= '9':
		return "number"
	default:
		return ""
	}
}

// Synopsis reads raw once and says what it is at its root, with at most
// maxKeys keys of an object. It returns false when raw is not valid JSON. Keys
// are as long as they are in the text.
func Synopsis(raw []byte, maxKeys int) (Summary, bool) {
	l := Lexer{src: raw}
	var s Summary
	for {
		t, err := l.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return s, true
			}
			return Summary{}, false
		}
		switch {
		case t.Depth == 0 && s.Kind == "":
			s.Kind = kindOf(t.Kind)
		case t.Depth != 1 || t.Kind == '}' || t.Kind == ']':
		case s.Kind == "array":
			s.Len++
		case t.Key:
			s.Len++
			if len(s.Keys) < maxKeys {
				s.Keys = append(s.Keys, unquote(t.Raw))
			}
		}
	}
}
