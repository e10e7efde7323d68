package canon

import (
	"fmt"
	"io"
)

// SyntaxError tells where bytes stop being one JSON value.
type SyntaxError struct {
	Offset int    // byte offset at which it was noticed
	Reason string // what is wrong there
}

// Error states the reason and the offset.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Reason)
}

// Token is one piece of a JSON text. Commas and colons are not tokens.
type Token struct {
	// Kind is the first byte of the token, '0' for every number: one of
	// { } [ ] " 0 t f n.
	Kind byte
	// Key tells that the token is the name of an object's member.
	Key bool
	// Depth is how many arrays and objects the token stands in; an opening and
	// its closing bracket have the same.
	Depth int
	// Start is the token's byte offset.
	Start int
	// Raw is the token as it is written, quotation marks included. It shares
	// the text's memory.
	Raw []byte
}

// want is what a lexer takes next.
type want byte

const (
	wantValue want = iota
	wantFirst      // a value, or the end of an empty array
	wantKey
	wantFirstKey // a key, or the end of an empty object
	wantMore     // a comma, or the end of the array or object
	wantEnd
)

// Lexer reads the tokens of one JSON value in order, checks the grammar
// (RFC 8259) as it goes, and builds nothing. It does not recurse. Strings may
// hold bytes that are no UTF-8 and surrogates without their other half: see
// [CleanJSON].
type Lexer struct {
	src   []byte
	at    int
	want  want
	open  []byte // the brackets that are open
	depth int    // the most brackets that were open at once
	err   error
}

// NewLexer returns a lexer of the JSON value in raw, which must not change
// while it is read.
func NewLexer(raw []byte) *Lexer { return &Lexer{src: raw} }

// Next returns the next token, [io.EOF] after the last one of a whole value,
// and a [*SyntaxError] where the text is not JSON, has more than one value or
// nests deeper than [MaxDepth]. After an error it returns the same again.
func (l *Lexer) Next() (Token, error) {
	if l.err != nil {
		return Token{}, l.err
	}
	l.skipSpace()
	if l.want == wantMore && l.at < len(l.src) && l.src[l.at] == ',' {
		l.at++
		l.want = wantValue
		if l.open[len(l.open)-1] == '{' {
			l.want = wantKey
		}
		l.skipSpace()
	}
	if l.at >= len(l.src) {
		if l.want == wantEnd {
			l.err = io.EOF
			return Token{}, l.err
		}
		return l.fail("it ends before the value does")
	}
	c := l.src[l.at]
	switch l.want {
	case wantEnd:
		return l.fail("more follows after the value")
	case wantMore:
		return l.closing(c, "a comma or the end of the array or object is missing")
	case wantFirst:
		if c == ']' {
			return l.closing(c, "")
		}
	case wantKey, wantFirstKey:
		if c != '"' && l.want == wantFirstKey {
			return l.closing(c, "an object's key must be a string")
		}
		return l.key(c)
	case wantValue:
	}
	return l.value(c)
}

// value reads the start of a value, of which c is the first byte.
func (l *Lexer) value(c byte) (Token, error) {
	switch {
	case c == '{' || c == '[':
		if len(l.open) >= MaxDepth {
			return l.fail(fmt.Sprintf("it nests deeper than %d levels", MaxDepth))
		}
		t := l.token(c, l.at+1)
		l.open = append(l.open, c)
		l.depth = max(l.depth, len(l.open))
		l.want = wantFirst
		if c == '{' {
			l.want = wantFirstKey
		}
		return t, nil
	case c == '"':
		end, ok := stringEnd(l.src, l.at)
		if !ok {
			l.at = end
			return l.fail("a string is not closed, or holds a control character or an unknown escape")
		}
		return l.scalar(c, end), nil
	case c == '-' || c >= '0' && c <= '9':
		end, ok := numberEnd(l.src, l.at)
		if !ok {
			l.at = end
			return l.fail("a number is not complete")
		}
		return l.scalar('0', end), nil
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if end := l.at + len(word); end <= len(l.src) && string(l.src[l.at:end]) == word {
			return l.scalar(c, end), nil
		}
	}
	return l.fail("a value is missing")
}

// scalar returns a value that is one token and ends at end.
func (l *Lexer) scalar(kind byte, end int) Token {
	t := l.token(kind, end)
	l.after()
	return t
}

// key reads an object's key and its colon.
func (l *Lexer) key(c byte) (Token, error) {
	if c != '"' {
		return l.fail("an object's key must be a string")
	}
	end, ok := stringEnd(l.src, l.at)
	if !ok {
		l.at = end
		return l.fail("a key is not closed, or holds a control character or an unknown escape")
	}
	t := l.token('"', end)
	t.Key = true
	l.skipSpace()
	if l.at >= len(l.src) || l.src[l.at] != ':' {
		return l.fail("a colon is missing after a key")
	}
	l.at++
	l.want = wantValue
	return t, nil
}

// closing reads the bracket that ends the innermost array or object, or fails
// with reason.
func (l *Lexer) closing(c byte, reason string) (Token, error) {
	last := l.open[len(l.open)-1]
	if c != last+2 { // in ASCII each closing bracket is two after its opening
		return l.fail(reason)
	}
	l.open = l.open[:len(l.open)-1]
	t := l.token(c, l.at+1)
	l.after()
	return t, nil
}

// token makes the token that ends at end and moves there.
func (l *Lexer) token(kind byte, end int) Token {
	t := Token{Kind: kind, Depth: len(l.open), Start: l.at, Raw: l.src[l.at:end:end]}
	l.at = end
	return t
}

// after sets what may follow a whole value.
func (l *Lexer) after() {
	l.want = wantMore
	if len(l.open) == 0 {
		l.want = wantEnd
	}
}

func (l *Lexer) fail(reason string) (Token, error) {
	l.err = &SyntaxError{Offset: l.at, Reason: reason}
	return Token{}, l.err
}

func (l *Lexer) skipSpace() {
	for l.at < len(l.src) && isSpace(l.src[l.at]) {
		l.at++
	}
}

// isSpace reports whether c is JSON's white space.
func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// stringEnd returns where the string that begins at src[at] ends, and false
// with the offset of what is wrong.
func stringEnd(src []byte, at int) (end int, ok bool) {
	for i := at + 1; i < len(src); i++ {
		for i+8 <= len(src) {
			n := special(word(src[i : i+8]))
			i += n
			if n < 8 {
				break
			}
		}
		if i >= len(src) {
			break
		}
		switch c := src[i]; {
		case c == '"':
			return i + 1, true
		case c == '\\':
			if i+1 >= len(src) {
				return len(src), false
			}
			switch src[i+1] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
				i++
			case 'u':
				if unicodeEscape(src[i:]) < 0 {
					return i, false
				}
				i += 5
			default:
				return i, false
			}
		case c < ' ':
			return i, false
		}
	}
	return len(src), false
}

// numberEnd returns where the number that begins at src[at] ends, and false
// with the offset of what is wrong.
func numberEnd[T string | []byte](src T, at int) (end int, ok bool) {
	digits := func() bool {
		from := at
		for at < len(src) && src[at] >= '0' && src[at] <= '9' {
			at++
		}
		return at > from
	}
	if at < len(src) && src[at] == '-' {
		at++
	}
	if at < len(src) && src[at] == '0' {
		at++
	} else if !digits() {
		return at, false
	}
	if at < len(src) && src[at] == '.' {
		at++
		if !digits() {
			return at, false
		}
	}
	if at < len(src) && (src[at] == 'e' || src[at] == 'E') {
		at++
		if at < len(src) && (src[at] == '+' || src[at] == '-') {
			at++
		}
		if !digits() {
			return at, false
		}
	}
	return at, true
}
