package canon

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"
)

// node is a JSON value with its literals as they are written.
type node struct {
	kind byte     // of its token: { [ " 0 t f n
	raw  []byte   // a scalar's token
	keys []string // an object's keys, decoded
	kids []node   // an object's values, an array's elements
}

// parse builds the tree of raw. It recurses at most MaxDepth deep.
func parse(raw []byte) (node, error) {
	l := Lexer{src: raw}
	t, err := l.Next()
	if err != nil {
		return node{}, err
	}
	n, err := grow(&l, t)
	if err != nil {
		return node{}, err
	}
	if _, err := l.Next(); !errors.Is(err, io.EOF) {
		return node{}, err
	}
	return n, nil
}

// grow builds the value that begins with t.
func grow(l *Lexer, t Token) (node, error) {
	n := node{kind: t.Kind, raw: t.Raw}
	if t.Kind != '{' && t.Kind != '[' {
		return n, nil
	}
	for {
		t, err := l.Next()
		if err != nil {
			return n, err
		}
		if t.Kind == '}' || t.Kind == ']' {
			return n, nil
		}
		if t.Key {
			n.keys = append(n.keys, unquote(t.Raw))
			if t, err = l.Next(); err != nil {
				return n, err
			}
		}
		kid, err := grow(l, t)
		if err != nil {
			return n, err
		}
		n.kids = append(n.kids, kid)
	}
}

// order returns the members of an object sorted by compare; members with one
// key keep their order.
func (n node) order(compare func(a, b string) int) []int {
	order := make([]int, len(n.keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return compare(n.keys[i], n.keys[j]) })
	return order
}

// Equal reports whether a and b are the same JSON value. The order of an
// object's members does not matter, except that a key which stands more than
// once must have the same values in the same order. Numbers are compared by
// their exact decimal value, however many digits they have: 1.0 is 1, 1e2 is
// 100, -0 is 0. (Of an exponent with more than a thousand digits the letters
// count.) Strings are compared as [Unquote] decodes them. What is not
// valid JSON equals nothing.
func Equal(a, b []byte) bool {
	x, err := parse(a)
	if err != nil {
		return false
	}
	y, err := parse(b)
	return err == nil && same(x, y)
}

func same(x, y node) bool {
	if x.kind != y.kind || len(x.kids) != len(y.kids) {
		return false
	}
	switch x.kind {
	case '0':
		return sameNumber(x.raw, y.raw)
	case '"':
		return bytes.Equal(x.raw, y.raw) || unquote(x.raw) == unquote(y.raw)
	case '[':
		return slices.EqualFunc(x.kids, y.kids, same)
	case '{':
		if slices.Equal(x.keys, y.keys) {
			return slices.EqualFunc(x.kids, y.kids, same)
		}
		return slices.EqualFunc(x.order(strings.Compare), y.order(strings.Compare), func(i, j int) bool {
			return x.keys[i] == y.keys[j] && same(x.kids[i], y.kids[j])
		})
	default: // true, false, null
		return true
	}
}

// maxExponent is how many digits of an exponent are calculated with; to read
// more takes time that grows with their square.
const maxExponent = 1000

// decimal is the exact value of a number literal: digits × 10^exponent, the
// digits without zeros at either end. Zero has no digits and no sign.
type decimal struct {
	negative bool
	digits   []byte
	exponent *big.Int
	beyond   string // an exponent of more than maxExponent digits, as written
}

// parseDecimal reads a valid number literal.
func parseDecimal(literal []byte) decimal {
	var d decimal
	d.exponent = new(big.Int)
	mantissa, negative := bytes.CutPrefix(literal, []byte{'-'})
	if at := bytes.IndexAny(mantissa, "eE"); at >= 0 {
		written := string(bytes.TrimPrefix(mantissa[at+1:], []byte{'+'}))
		if len(written) > maxExponent {
			d.beyond, written = written, "0"
		}
		d.exponent.SetString(written, 10)
		mantissa = mantissa[:at]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	digits := whole
	if len(fraction) > 0 {
		digits = append(append(make([]byte, 0, len(mantissa)), whole...), fraction...)
	}
	trimmed := bytes.TrimRight(digits, "0")
	shift := int64(len(digits) - len(trimmed) - len(fraction))
	trimmed = bytes.TrimLeft(trimmed, "0")
	if len(trimmed) == 0 {
		return decimal{exponent: new(big.Int)}
	}
	d.negative, d.digits = negative, trimmed
	d.exponent.Add(d.exponent, big.NewInt(shift))
	return d
}

// sameNumber reports whether two valid number literals mean the same value.
func sameNumber(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := parseDecimal(a), parseDecimal(b)
	return x.negative == y.negative && bytes.Equal(x.digits, y.digits) &&
		x.exponent.Cmp(y.exponent) == 0 && x.beyond == y.beyond
}

// Canonical returns the one form of raw's value that is hashed to identify it:
// RFC 8785, with no white space, keys sorted by their UTF-16 code units and
// strings with the fewest escapes. It differs from the RFC in two points. A
// number keeps its literal, where the RFC would round it to a double: an
// integer beyond 2^53 stays itself, and 1.0 and 1 are two values. And a
// surrogate without its other half becomes U+FFFD, where the RFC gives up.
//
// What is not valid JSON is a [*SyntaxError], wrapped; a key that stands twice
// in one object is an error too.
func Canonical(raw []byte) ([]byte, error) {
	n, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	out, err := n.append(make([]byte, 0, len(raw)))
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return out, nil
}

// append writes n in canonical form.
func (n node) append(dst []byte) ([]byte, error) {
	switch n.kind {
	case '"':
		if bytes.IndexByte(n.raw, '\\') < 0 && utf8.Valid(n.raw) {
			return append(dst, n.raw...), nil
		}
		return AppendString(dst, unquote(n.raw)), nil
	case '[', '{':
	default:
		return append(dst, n.raw...), nil
	}
	var err error
	dst = append(dst, n.kind)
	if n.kind == '[' {
		for i, kid := range n.kids {
			if i > 0 {
				dst = append(dst, ',')
			}
			if dst, err = kid.append(dst); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	}
	order := n.order(compareUTF16)
	for i, at := range order {
		if i > 0 {
			if n.keys[at] == n.keys[order[i-1]] {
				return nil, fmt.Errorf("the key %.40q stands twice in one object", n.keys[at])
			}
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, n.keys[at]), ':')
		if dst, err = n.kids[at].append(dst); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// compareUTF16 orders valid UTF-8 strings by their UTF-16 code units. That is
// the order of their characters, except that those beyond U+FFFF, which begin
// with a surrogate, come before U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			if (x > 0xFFFF) != (y > 0xFFFF) {
				x, y = firstUnit(x), firstUnit(y)
			}
			return cmp.Compare(x, y)
		}
		a, b = a[n:], b[m:]
	}
	return cmp.Compare(len(a), len(b))
}

// firstUnit returns the first UTF-16 code unit of r.
func firstUnit(r rune) rune {
	if r > 0xFFFF {
		return 0xD800 + (r-0x10000)>>10
	}
	return r
}
