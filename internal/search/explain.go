package search

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
)

// SyntaxError tells why a pattern cannot be used.
type SyntaxError struct {
	// Pattern is the pattern as it was given.
	Pattern string
	// Construct names what RE2 syntax has not, such as "look-ahead"; empty for other errors.
	Construct string
	// Reason says what is wrong.
	Reason string
}

// Error says what is wrong with the pattern, in one line.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("pattern %s cannot be used: %s", quoted(e.Pattern), e.Reason)
}

// quoted shows a pattern in an error; a long one is cut.
func quoted(s string) string {
	if len(s) > 80 {
		return fmt.Sprintf("%.80q…", s)
	}
	return fmt.Sprintf("%q", s)
}

// constructs are what other engines have and RE2 has not, by how the text that the parser refuses
// begins. Longer beginnings stand first.
var constructs = []struct{ begin, name string }{
	{"(?<=", "look-behind"},
	{"(?<!", "negative look-behind"},
	{"(?=", "look-ahead"},
	{"(?!", "negative look-ahead"},
	{"(?>", "atomic group"},
	{"(?P=", "back-reference"},
	{"(?P>", "recursion"},
	{"(?R", "recursion"},
	{"(?&", "recursion"},
	{"(?(", "conditional group"},
	{"(?|", "branch reset group"},
	{"(?#", "comment group"},
	{`\k`, "back-reference"},
	{`\g`, "back-reference"},
	{`\K`, `\K (keep out)`},
	{`\G`, `\G (continue here)`},
	{`\R`, `\R (any line ending)`},
	{`\X`, `\X (grapheme cluster)`},
	{`\Z`, `\Z (use \z)`},
	{`\h`, `\h (use [ \t])`},
	{"++", "possessive quantifier"},
	{"*+", "possessive quantifier"},
	{"?+", "possessive quantifier"},
	{"}+", "possessive quantifier"},
}

// explain turns the parser's error into one that names what is missing.
func explain(expr string, err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return &SyntaxError{Pattern: expr, Reason: err.Error()}
	}
	if c := construct(se, expr); c != "" {
		return &SyntaxError{Pattern: expr, Construct: c, Reason: fmt.Sprintf(
			"%s is not part of RE2 syntax (Go regexp)", c)}
	}
	reason := strings.TrimPrefix(se.Code.String(), "regexp/syntax: ")
	if se.Expr != "" {
		reason += " " + quoted(se.Expr)
	}
	if se.Code == syntax.ErrInvalidRepeatSize {
		reason += ": at most 1000"
	}
	return &SyntaxError{Pattern: expr, Reason: reason}
}

// construct names what stands where the parser gave up, if it is one of the constructs.
func construct(se *syntax.Error, expr string) string {
	switch se.Code {
	case syntax.ErrInvalidEscape, syntax.ErrInvalidPerlOp, syntax.ErrInvalidNamedCapture, syntax.ErrInvalidRepeatOp:
	default:
		return ""
	}
	// The parser tells what it refused, not where; the same letters may also begin something it knows.
	for at := 0; se.Expr != ""; at++ {
		i := strings.Index(expr[at:], se.Expr)
		if i < 0 {
			break
		}
		at += i
		rest := expr[at:]
		if len(rest) > 1 && rest[0] == '\\' && rest[1] >= '1' && rest[1] <= '9' {
			return "back-reference"
		}
		for _, c := range constructs {
			if strings.HasPrefix(rest, c.begin) {
				return c.name
			}
		}
	}
	return ""
}
