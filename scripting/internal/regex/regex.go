// Package regex rewrites a JavaScript regular expression for an engine that lacks Unicode property escapes
// and the flags v and d: what can be had exactly is rewritten, what cannot is an error that names it.
package regex

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxPattern is the most bytes that a pattern may have.
const MaxPattern = 100_000

// Lower gives the pattern and flags that an engine with the flags g, i, m, s, u and y takes. \p{…} and
// \P{…} become ranges of code points (ECMA-262, CompileToCharSet for UnicodePropertyValueExpression); flag v is taken
// where the pattern uses nothing of it that u lacks.
func Lower(source, flags string) (string, string, error) {
	if len(source) > MaxPattern {
		return "", "", fmt.Errorf("a regular expression of %d bytes is too long, at most %d are possible", len(source), MaxPattern)
	}
	if strings.Contains(flags, "d") {
		return "", "", errors.New("the regular expression flag d (match indices) is not supported; use match.index and the lengths of the groups")
	}
	if strings.Contains(flags, "v") {
		if strings.Contains(flags, "u") {
			return "", "", fmt.Errorf("Invalid flags supplied to RegExp constructor '%s'", flags) //nolint:staticcheck // the text that scripts know from other engines
		}
		if what := setsOnly(source); what != "" {
			return "", "", fmt.Errorf("%s in a regular expression with flag v (set notation) is not supported; use flag u and look-ahead", what)
		}
		flags = strings.ReplaceAll(flags, "v", "u")
	}
	if !strings.Contains(flags, "u") || !strings.Contains(source, `\p`) && !strings.Contains(source, `\P`) {
		return source, flags, nil
	}
	out, err := properties(source)
	if err != nil {
		return "", "", err
	}
	return out, flags, nil
}

// setsOnly names what only flag v reads in a pattern; empty when there is nothing of it.
func setsOnly(source string) string {
	depth := 0
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\':
			if i+1 < len(source) && source[i+1] == 'q' && depth > 0 {
				return `\q{…}`
			}
			i++
		case c == '[':
			if depth++; depth > 1 {
				return "a nested class"
			}
		case c == ']' && depth > 0:
			depth--
		case depth > 0 && strings.IndexByte("-&!#$%*+,.:;<=>?@^`~", c) >= 0 && i+1 < len(source) && source[i+1] == c && source[i-1] != '[':
			return fmt.Sprintf("%c%c", c, c)
		}
	}
	return ""
}

// properties replaces the property escapes of a pattern with flag u.
func properties(source string) (string, error) {
	var b strings.Builder
	class := false
	for i := 0; i < len(source); {
		c := source[i]
		switch {
		case c == '\\' && i+1 < len(source) && (source[i+1] == 'p' || source[i+1] == 'P'):
			end := strings.IndexByte(source[i:], '}')
			if i+2 >= len(source) || source[i+2] != '{' || end < 0 {
				return "", fmt.Errorf("Invalid property name in the regular expression at %d", i) //nolint:staticcheck // the text that scripts know from other engines
			}
			set, err := Property(source[i+3 : i+end])
			if err != nil {
				return "", err
			}
			if source[i+1] == 'P' {
				set = set.not()
			}
			if !class {
				b.WriteByte('[')
			}
			set.write(&b)
			if !class {
				b.WriteByte(']')
			}
			i += end + 1
			continue
		case c == '\\' && i+1 < len(source):
			_, size := utf8.DecodeRuneInString(source[i+1:])
			b.WriteString(source[i : i+1+size])
			i += 1 + size
			continue
		case c == '[':
			class = true
		case c == ']':
			class = false
		}
		b.WriteByte(c)
		i++
	}
	return b.String(), nil
}

// Set is a set of code points: ranges in order that do not touch.
type Set []Range

// Range is the code points from Lo to Hi, both included.
type Range struct{ Lo, Hi rune }

// write writes the set as it stands in a class with flag u.
func (s Set) write(b *strings.Builder) {
	if len(s) == 0 {
		// A class needs a member that cannot be: no text holds what is both.
		b.WriteString(`\u{10FFFF}`)
		return
	}
	for _, r := range s {
		point(b, r.Lo)
		if r.Hi > r.Lo {
			if r.Hi > r.Lo+1 {
				b.WriteByte('-')
			}
			point(b, r.Hi)
		}
	}
}

func point(b *strings.Builder, r rune) {
	if r <= 0xFFFF {
		fmt.Fprintf(b, `\u%04X`, r)
		return
	}
	fmt.Fprintf(b, `\u{%X}`, r)
}

// not is the complement.
func (s Set) not() Set {
	var out Set
	next := rune(0)
	for _, r := range s {
		if r.Lo > next {
			out = append(out, Range{next, r.Lo - 1})
		}
		next = r.Hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, Range{next, unicode.MaxRune})
	}
	return out
}

// from builds a set from tables of the standard library, which agree with the Unicode version of the Go
// release.
func from(tables ...*unicode.RangeTable) Set {
	var all Set
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			all = append(all, Range{lo, hi})
			return
		}
		for c := lo; c <= hi; c += stride {
			all = append(all, Range{c, c})
		}
	}
	for _, t := range tables {
		for _, r := range t.R16 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
		for _, r := range t.R32 {
			add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
		}
	}
	slices.SortFunc(all, func(a, b Range) int { return int(a.Lo - b.Lo) })
	var out Set
	for _, r := range all {
		if n := len(out); n > 0 && r.Lo <= out[n-1].Hi+1 {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// collect walks every code point once.
func collect(in func(rune) bool) Set {
	var out Set
	for c := rune(0); c <= unicode.MaxRune; c++ {
		if !in(c) {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Hi == c-1 {
			out[n-1].Hi = c
		} else {
			out = append(out, Range{c, c})
		}
	}
	return out
}
