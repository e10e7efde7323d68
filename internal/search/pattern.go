package search

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Options say how a pattern is read.
type Options struct {
	// Literal takes the pattern as the text itself.
	Literal bool
	// IgnoreCase lets letters match in either case, as (?i) does.
	IgnoreCase bool
}

// Pattern is a compiled pattern. It is safe for concurrent use.
type Pattern struct {
	re    *regexp.Regexp
	steps int
	// needles: every line that matches holds one of them. None: every line is a candidate.
	needles []needle
	table   *table // set instead of cursors when there are many needles
	// sure says that a line with a needle matches, without asking the regexp.
	sure bool
	// longest is the length of the longest needle.
	longest int
	// ascii says that the needles are complete only in text without the two letters outside ASCII
	// that fold to k and s.
	ascii bool
}

// Compile reads a pattern in RE2 syntax (Go regexp), or as a literal. An error is a [*SyntaxError].
func Compile(expr string, o Options) (*Pattern, error) {
	if len(expr) > MaxPattern {
		return nil, &SyntaxError{Pattern: expr, Reason: fmt.Sprintf(
			"it has %d bytes; at most %d are allowed", len(expr), MaxPattern)}
	}
	if !utf8.ValidString(expr) {
		return nil, &SyntaxError{Pattern: expr, Reason: "it is not valid UTF-8"}
	}
	text := expr
	if o.Literal {
		text = regexp.QuoteMeta(expr)
	}
	flags := syntax.Perl
	if o.IgnoreCase {
		flags |= syntax.FoldCase
		text = "(?i:" + text + ")"
		// A pattern such as "a)(b" must not be closed by the group put around it.
		if _, err := syntax.Parse(expr, flags); err != nil && !o.Literal {
			return nil, explain(expr, err)
		}
	}
	tree, err := syntax.Parse(text, flags)
	if err != nil {
		return nil, explain(expr, err)
	}
	if n := steps(tree); n > MaxSteps {
		return nil, &SyntaxError{Pattern: expr, Reason: fmt.Sprintf(
			"written out it has %d steps; at most %d are allowed: use smaller repeat counts", n, MaxSteps)}
	}
	if !oneLine(tree) {
		return nil, &SyntaxError{Pattern: expr, Reason: "it can only match across lines, " +
			"and it is applied to each line on its own, without the line's ending: search for one line"}
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, explain(expr, err)
	}
	p := &Pattern{re: re, steps: steps(tree)}
	p.plan(tree)
	return p, nil
}

// plan takes the needles out of the pattern.
func (p *Pattern) plan(tree *syntax.Regexp) {
	set := analyse(tree)
	lits, pure := set.exact, set.pure
	if lits == nil {
		lits, pure = set.required, false
	}
	if len(lits) == 0 || !worthwhile(lits) {
		return
	}
	p.sure = pure
	for _, l := range lits {
		n := newNeedle(l)
		if n.fold && strings.ContainsAny(l.text, "ks") {
			p.ascii = true
		}
		// A needle that was shortened, or that could reach into a line's ending, decides nothing.
		if len(n.text) < len(l.text) || strings.Contains(l.text, "\r") {
			p.sure = false
		}
		p.longest = max(p.longest, len(n.text))
		p.needles = append(p.needles, n)
	}
	if len(p.needles) > maxCursors {
		p.table = newTable(p.needles)
	}
}

// kelvin and longS are the letters outside ASCII that fold to ASCII ones.
var kelvin, longS = []byte("\u212a"), []byte("\u017f")

// filters reports whether the needles say which lines of b can match.
func (p *Pattern) filters(b []byte) bool {
	if len(p.needles) == 0 {
		return false
	}
	return !p.ascii || !bytes.Contains(b, kelvin) && !bytes.Contains(b, longS)
}

// cursors returns one cursor for each needle.
func (p *Pattern) cursors() []cursor {
	if p.table != nil {
		return nil
	}
	out := make([]cursor, len(p.needles))
	for i := range p.needles {
		out[i].n = &p.needles[i]
	}
	return out
}

// patience is how many steps of matching are taken between two looks at the context.
const patience = 64 << 20

// slow reports whether matching a text may take so long that it must be possible to stop it.
func (p *Pattern) slow(text []byte) bool { return len(text) > patience/max(p.steps, 8) }

// match reports whether a line's text matches.
func (p *Pattern) match(ctx context.Context, text []byte) bool {
	if p.slow(text) {
		return p.re.MatchReader(&reader{done: ctx.Done(), text: text}) && ctx.Err() == nil
	}
	return p.re.Match(text)
}

// locate returns the first match in a line's text.
func (p *Pattern) locate(ctx context.Context, text []byte) (start, end int, ok bool) {
	from, to := 0, len(text)
	if p.sure && p.filters(text) {
		// The pattern is a set of texts: the first match begins where the first of them stands.
		if from = p.leftmost(text); from < 0 {
			return 0, 0, false
		}
		if n, ok := p.length(text[from:]); ok {
			return from, from + n, true
		}
		// Several of them stand there; the regexp says which one it prefers.
		to = min(from+p.longest, to)
	}
	var loc []int
	if part := text[from:to]; p.slow(part) {
		loc = p.re.FindReaderIndex(&reader{done: ctx.Done(), text: part})
		if ctx.Err() != nil {
			return 0, 0, false
		}
	} else {
		loc = p.re.FindIndex(part)
	}
	if loc == nil {
		return 0, 0, false
	}
	return from + loc[0], from + loc[1], true
}

// leftmost returns the first place where a needle stands, -1 for none.
func (p *Pattern) leftmost(text []byte) int {
	if p.table != nil {
		return p.table.index(text, 0)
	}
	best := -1
	for i := range p.needles {
		c := cursor{n: &p.needles[i], hit: -1, low: -1, up: -1}
		if at := c.find(text, 0); at >= 0 && (best < 0 || at < best) {
			best = at
		}
	}
	return best
}

// length returns the length of the needles that stand at the start of text, if they have all the same.
func (p *Pattern) length(text []byte) (n int, ok bool) {
	for i := range p.needles {
		k := &p.needles[i]
		if len(k.text) > len(text) || !k.at(text) {
			continue
		}
		if n != 0 && n != len(k.text) {
			return 0, false
		}
		n = len(k.text)
	}
	return n, n != 0
}

// reader gives a long text to the regexp rune by rune and ends it when the context does.
type reader struct {
	done <-chan struct{}
	text []byte
	at   int
	n    int
}

// ReadRune returns what decoding the text at this place gives.
func (r *reader) ReadRune() (rune, int, error) {
	if r.n++; r.n%4096 == 0 {
		select {
		case <-r.done:
			return 0, 0, io.EOF
		default:
		}
	}
	if r.at >= len(r.text) {
		return 0, 0, io.EOF
	}
	if c := r.text[r.at]; c < utf8.RuneSelf {
		r.at++
		return rune(c), 1, nil
	}
	c, size := utf8.DecodeRune(r.text[r.at:])
	r.at += size
	return c, size, nil
}
