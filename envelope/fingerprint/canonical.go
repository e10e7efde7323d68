package fingerprint

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
)

// Canonical is the canonical form of a JSON value by RFC 8785: no white space, keys in the order of their
// UTF-16 code units, strings with the fewest escapes, numbers as ECMAScript writes the double that they
// are. Where the RFC gives up it goes on: an integer beyond 2^53 and a number beyond a double keep their
// digits, a lone surrogate becomes U+FFFD, and of a key that stands twice both values stay, in their order.
// What is no JSON is an error.
func Canonical(raw []byte) ([]byte, error) {
	return write(raw, nil)
}

// value is a JSON value in memory.
type value struct {
	kind byte
	raw  []byte
	keys []string
	kids []value
}

// write is Canonical without what drop drops: it is asked for each key of an object with the path to it.
func write(raw []byte, drop func(v value, in kind) (value, bool)) ([]byte, error) {
	if !utf8.Valid(raw) {
		raw, _ = canon.CleanJSON(raw)
	}
	l := canon.NewLexer(raw)
	t, err := l.Next()
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	v, err := grow(l, t)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	if _, err := l.Next(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	if drop != nil {
		v, _ = drop(v, schema)
	}
	return v.append(make([]byte, 0, len(raw))), nil
}

// grow reads the value that begins with t. The lexer bounds the depth.
func grow(l *canon.Lexer, t canon.Token) (value, error) {
	v := value{kind: t.Kind, raw: t.Raw}
	if t.Kind != '{' && t.Kind != '[' {
		return v, nil
	}
	for {
		t, err := l.Next()
		if err != nil {
			return v, err
		}
		if t.Kind == '}' || t.Kind == ']' {
			return v, nil
		}
		if t.Key {
			key, _ := canon.Unquote(t.Raw)
			v.keys = append(v.keys, key)
			if t, err = l.Next(); err != nil {
				return v, err
			}
		}
		kid, err := grow(l, t)
		if err != nil {
			return v, err
		}
		v.kids = append(v.kids, kid)
	}
}

func (v value) append(dst []byte) []byte {
	switch v.kind {
	case '"':
		text, _ := canon.Unquote(v.raw)
		return canon.AppendString(dst, text)
	case '0':
		return append(dst, number(string(v.raw))...)
	case '{', '[':
	default:
		return append(dst, v.raw...)
	}
	order := make([]int, len(v.kids))
	for i := range order {
		order[i] = i
	}
	if v.kind == '{' {
		slices.SortStableFunc(order, func(i, j int) int { return compareUTF16(v.keys[i], v.keys[j]) })
	}
	dst = append(dst, v.kind)
	for n, i := range order {
		if n > 0 {
			dst = append(dst, ',')
		}
		if v.kind == '{' {
			dst = append(canon.AppendString(dst, v.keys[i]), ':')
		}
		dst = v.kids[i].append(dst)
	}
	return append(dst, v.kind+2)
}

// number writes a number literal as ECMAScript's Number::toString does (ECMA-262, RFC 8785 section 3.2.2.3).
func number(literal string) string {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(f, 0) {
		return literal
	}
	if !strings.ContainsAny(literal, ".eE") && math.Abs(f) >= 1<<53 {
		return literal
	}
	if f == 0 {
		return "0"
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	return mantissa + "e" + exponent[:1] + strings.TrimLeft(exponent[1:], "0")
}

// compareUTF16 orders text by its UTF-16 code units: by characters, except that those beyond U+FFFF, which
// begin with a surrogate, come before U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	for a != "" && b != "" {
		x, n := utf8.DecodeRuneInString(a)
		y, m := utf8.DecodeRuneInString(b)
		if x != y {
			if (x > 0xFFFF) != (y > 0xFFFF) && min(x, y) >= 0xE000 {
				return int(y) - int(x)
			}
			return int(x) - int(y)
		}
		a, b = a[n:], b[m:]
	}
	return len(a) - len(b)
}
