package canon

import (
	"errors"
	"io"
	"unicode/utf8"
)

// Valid reports whether raw is one JSON value, white space around it allowed,
// that nests at most [MaxDepth] levels. What it accepts encoding/json accepts.
func Valid(raw []byte) bool {
	_, err := Check(raw)
	return err == nil
}

// Check reads raw to its end and returns how deep it nests: 0 for a scalar, 1
// for an array of scalars. When [Valid] is false of it the error is a
// [*SyntaxError] that says why.
func Check(raw []byte) (depth int, err error) {
	l := Lexer{src: raw}
	for {
		if _, err := l.Next(); err != nil {
			if errors.Is(err, io.EOF) {
				return l.depth, nil
			}
			return 0, err
		}
	}
}

// Compact returns raw without the white space between its tokens. Strings and
// number literals keep their bytes; nothing is escaped. What is not valid JSON
// is returned as it is, and so is what has nothing to take out.
func Compact(raw []byte) []byte {
	var out []byte
	l := Lexer{src: raw}
	kept, done := 0, 0 // raw[kept:done] is to be kept and not yet in out
	for {
		t, err := l.Next()
		end := t.Start
		if errors.Is(err, io.EOF) {
			end = len(raw)
		} else if err != nil {
			return raw
		}
		// Between two tokens stand white space and at most a comma or a colon.
		for ; done < end; done++ {
			if isSpace(raw[done]) {
				if out == nil {
					out = make([]byte, 0, len(raw))
				}
				out = append(out, raw[kept:done]...)
				kept = done + 1
			}
		}
		if err != nil {
			break
		}
		done = end + len(t.Raw)
	}
	if kept == 0 {
		return raw
	}
	return append(out, raw[kept:]...)
}

// Unquote decodes raw, white space around it allowed, when it is one JSON
// string, and returns false when it is anything else. The text is valid UTF-8:
// escaped surrogate pairs are joined, one without its other half becomes
// U+FFFD, and so do bytes by the rule of [CleanUTF8].
func Unquote(raw []byte) (string, bool) {
	l := Lexer{src: raw}
	t, err := l.Next()
	if err != nil || t.Kind != '"' {
		return "", false
	}
	if _, err := l.Next(); !errors.Is(err, io.EOF) {
		return "", false
	}
	return unquote(t.Raw), true
}

// unquote decodes a string token.
func unquote(token []byte) string {
	s := token[1 : len(token)-1]
	var out []byte
	start := 0
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			i++
			continue
		}
		if out == nil {
			out = make([]byte, 0, len(s))
		}
		text, _ := CleanUTF8(string(s[start:i]))
		out = append(out, text...)
		size, ok := escapeSize(s[i:])
		switch {
		case !ok:
			out = utf8.AppendRune(out, utf8.RuneError)
		case size == 12:
			out = utf8.AppendRune(out, combine(unicodeEscape(s[i:]), unicodeEscape(s[i+6:])))
		case size == 6:
			out = utf8.AppendRune(out, unicodeEscape(s[i:]))
		default:
			out = append(out, unescape(s[i+1]))
		}
		i += size
		start = i
	}
	text, _ := CleanUTF8(string(s[start:]))
	if out == nil {
		return text
	}
	return string(append(out, text...))
}

// unescape returns the character that a backslash and c stand for.
func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default: // " \ /
		return c
	}
}

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
