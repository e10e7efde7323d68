package spill

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
)

// Limits of what is said about a JSON text.
const (
	maxKeys = 8  // keys of an object that are named
	maxKey  = 40 // bytes of a key that are shown
)

// synopsis reads a text as it comes and says what it is at its root if it is one JSON value (RFC 8259).
// It holds the brackets that are open and the first keys, never the text. The zero value is ready.
type synopsis struct {
	bad    bool   // it is no JSON
	stack  []byte // the brackets that are open
	expect expect
	lex    lex
	word   string // what of true, false or null is still to come
	hex    int    // digits of an escape that are still to come
	key    bool   // the string is a key of the root

	kind byte // the first byte of the root
	n    int64
	keys []string
	raw  []byte // the key that is being read, as it is written
	unit int    // where its last escape begins
	cut  bool   // the key is longer than what is shown
}

// expect is what may come next.
type expect byte

const (
	aValue expect = iota
	aValueOrEnd
	aKey
	aKeyOrEnd
	aColon
	aCommaOrEnd
	nothing
)

// lex is what token is being read.
type lex byte

const (
	between lex = iota
	inString
	inEscape
	inHex
	inWord
	// From here on: inside a number. Those in which it may end come last.
	afterMinus
	afterPoint
	afterExponent
	afterSign
	inZero
	inInteger
	inFraction
	inExponent
)

// write takes the next bytes of the text.
func (s *synopsis) write(text []byte) {
	for i := 0; i < len(text) && !s.bad; {
		switch {
		case s.lex == inString && !s.key:
			// Most of a text is in strings: run through them.
			for i < len(text) && text[i] != '"' && text[i] != '\\' && text[i] >= ' ' {
				i++
			}
			if i < len(text) {
				s.inText(text[i])
				i++
			}
		case s.lex >= afterMinus:
			if s.inNumber(text[i]) {
				i++
			}
		default:
			s.byte(text[i])
			i++
		}
	}
}

// byte takes a byte outside of numbers.
func (s *synopsis) byte(c byte) {
	switch s.lex {
	case inString, inEscape, inHex:
		s.inText(c)
	case inWord:
		s.check(c == s.word[0])
		if s.word = s.word[1:]; s.word == "" {
			s.done()
		}
	default:
		if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			s.token(c)
		}
	}
}

// inText takes a byte inside a string.
func (s *synopsis) inText(c byte) {
	switch s.lex {
	case inHex:
		s.check(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F')
		if s.hex--; s.hex == 0 {
			s.lex = inString
		}
	case inEscape:
		s.check(strings.IndexByte(`"\/bfnrtu`, c) >= 0)
		s.lex = inString
		if c == 'u' {
			s.lex, s.hex = inHex, 4
		}
	default:
		s.check(c >= ' ')
		switch c {
		case '\\':
			s.lex = inEscape
		case '"':
			s.endString()
			return
		}
		s.unit = len(s.raw)
	}
	if !s.key || s.cut {
		return
	}
	if s.raw = append(s.raw, c); len(s.raw) > maxKey {
		s.raw, s.cut = s.raw[:min(s.unit, maxKey)], true
	}
}

func (s *synopsis) endString() {
	if s.key {
		if s.cut {
			for len(s.raw) > 0 {
				if r, size := utf8.DecodeLastRune(s.raw); r != utf8.RuneError || size != 1 {
					break
				}
				s.raw = s.raw[:len(s.raw)-1] // the rest of a character
			}
			s.raw = append(s.raw, "…"...)
		}
		k, _ := canon.CleanUTF8(string(s.raw))
		s.keys = append(s.keys, `"`+k+`"`)
		s.raw, s.key, s.cut = nil, false, false
	}
	s.lex = between
	if s.expect == aColon {
		return
	}
	s.done()
}

// token takes the first byte of a token.
func (s *synopsis) token(c byte) {
	switch s.expect {
	case nothing:
		s.bad = true
	case aColon:
		s.check(c == ':')
		s.expect = aValue
	case aCommaOrEnd:
		switch {
		case c != ',':
			s.closing(c)
		case s.stack[len(s.stack)-1] == '{':
			s.expect = aKey
		default:
			s.expect = aValue
			s.element()
		}
	case aKey, aKeyOrEnd:
		if c == '}' && s.expect == aKeyOrEnd {
			s.closing(c)
			return
		}
		s.check(c == '"')
		s.lex, s.expect = inString, aColon
		if len(s.stack) == 1 {
			s.n++
			s.key = len(s.keys) < maxKeys
		}
	case aValueOrEnd:
		if c == ']' {
			s.closing(c)
			return
		}
		s.element()
		s.value(c)
	default:
		s.value(c)
	}
}

// element counts an element of the root.
func (s *synopsis) element() {
	if len(s.stack) == 1 {
		s.n++
	}
}

// value takes the first byte of a value.
func (s *synopsis) value(c byte) {
	if s.kind == 0 {
		s.kind = c
	}
	switch {
	case c == '{' || c == '[':
		s.check(len(s.stack) < canon.MaxDepth)
		s.stack = append(s.stack, c)
		s.expect = aValueOrEnd
		if c == '{' {
			s.expect = aKeyOrEnd
		}
	case c == '"':
		s.lex, s.expect = inString, aCommaOrEnd
	case c == 't':
		s.lex, s.word = inWord, "rue"
	case c == 'f':
		s.lex, s.word = inWord, "alse"
	case c == 'n':
		s.lex, s.word = inWord, "ull"
	case c == '-':
		s.lex = afterMinus
	case c == '0':
		s.lex = inZero
	case c >= '1' && c <= '9':
		s.lex = inInteger
	default:
		s.bad = true
	}
}

// inNumber takes a byte inside a number and returns false when the number ended before it.
func (s *synopsis) inNumber(c byte) bool {
	digit := c >= '0' && c <= '9'
	switch {
	case s.lex == afterMinus && c == '0':
		s.lex = inZero
	case s.lex == afterMinus && digit, s.lex == inInteger && digit:
		s.lex = inInteger
	case (s.lex == inZero || s.lex == inInteger) && c == '.':
		s.lex = afterPoint
	case (s.lex == afterPoint || s.lex == inFraction) && digit:
		s.lex = inFraction
	case (s.lex == inZero || s.lex == inInteger || s.lex == inFraction) && (c == 'e' || c == 'E'):
		s.lex = afterExponent
	case s.lex == afterExponent && (c == '+' || c == '-'):
		s.lex = afterSign
	case (s.lex == afterExponent || s.lex == afterSign || s.lex == inExponent) && digit:
		s.lex = inExponent
	default:
		s.check(s.lex >= inZero)
		s.done()
		return false
	}
	return true
}

// closing takes the bracket that ends the innermost array or object.
func (s *synopsis) closing(c byte) {
	last := len(s.stack) - 1
	if c != s.stack[last]+2 { // in ASCII each closing bracket is two after its opening
		s.bad = true
		return
	}
	s.stack = s.stack[:last]
	s.done()
}

// done follows a whole value.
func (s *synopsis) done() {
	s.lex, s.expect = between, aCommaOrEnd
	if len(s.stack) == 0 {
		s.expect = nothing
	}
}

func (s *synopsis) check(ok bool) { s.bad = s.bad || !ok }

// line says what the text is, and nothing when it is not one JSON value.
func (s *synopsis) line() string {
	if s.lex >= inZero && len(s.stack) == 0 {
		s.done()
	}
	if s.bad || s.lex != between || s.expect != nothing {
		return ""
	}
	switch s.kind {
	case '[':
		return "an array of " + count(s.n, "element")
	case '{':
		line := "an object with " + count(s.n, "key")
		if s.n == 0 {
			return line
		}
		line += ": " + strings.Join(s.keys, ", ")
		if more := s.n - int64(len(s.keys)); more > 0 {
			line += fmt.Sprintf(" and %d more", more)
		}
		return line
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}
