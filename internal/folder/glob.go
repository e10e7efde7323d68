package folder

import (
	"fmt"

	"github.com/bmatcuk/doublestar/v4"
)

// Limits of a glob.
const (
	maxGlob   = 1000 // bytes
	maxBraces = 1000 // texts that its braces stand for
)

// Glob is a checked pattern in the syntax of doublestar: *, **, ?, [a-z] and {a,b}.
type Glob struct{ pattern string }

// NewGlob checks a pattern: its length, its braces and brackets, and how many texts it stands for. What
// is wrong is an error of one line.
func NewGlob(pattern string) (Glob, error) {
	bad := func(why string) (Glob, error) {
		return Glob{}, fmt.Errorf("glob %s cannot be used: %s", quoted(pattern), why)
	}
	if len(pattern) > maxGlob {
		return bad(fmt.Sprintf("it has %d bytes; at most %d are allowed", len(pattern), maxGlob))
	}
	if why := unclosed(pattern); why != "" {
		return bad(why)
	}
	if !doublestar.ValidatePattern(pattern) {
		return bad("it is not well formed; *, **, ?, [a-z] and {a,b} are known")
	}
	if n := expansions(pattern); n > maxBraces {
		return bad(fmt.Sprintf("its braces stand for more than %d texts; use fewer", maxBraces))
	}
	return Glob{pattern}, nil
}

// Match reports whether the pattern matches a whole path.
func (g Glob) Match(name string) bool { return doublestar.MatchUnvalidated(g.pattern, name) }

// unclosed names the bracket or brace that is never closed.
func unclosed(p string) string {
	open, class := 0, false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			if i++; i == len(p) {
				return "it ends in a backslash"
			}
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '{':
			open++
		case c == '}':
			open = max(open-1, 0)
		}
	}
	switch {
	case class:
		return "a [ is never closed by ]"
	case open > 0:
		return "a { is never closed by }"
	}
	return ""
}

// expansions is an upper bound of how many texts the braces stand for: matching tries each of them.
func expansions(p string) int {
	total := 1
	var commas []int
	for i := 0; i < len(p) && total <= maxBraces; i++ {
		switch p[i] {
		case '\\':
			i++
		case '{':
			commas = append(commas, 1)
		case ',':
			if len(commas) > 0 {
				commas[len(commas)-1]++
			}
		case '}':
			if len(commas) > 0 {
				total *= commas[len(commas)-1]
				commas = commas[:len(commas)-1]
			}
		}
	}
	return total
}

// quoted shows a pattern in an error; a long one is cut.
func quoted(s string) string {
	if len(s) > 120 {
		return fmt.Sprintf("%.120q…", s)
	}
	return fmt.Sprintf("%q", s)
}
