package search

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// steps estimates the size of the compiled pattern from its tree, repeats written out.
func steps(re *syntax.Regexp) int {
	n := 1
	for _, sub := range re.Sub {
		n += steps(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		n += len(re.Rune)
	case syntax.OpRepeat:
		n *= max(re.Min, re.Max, 1)
	}
	// The products stay far below the largest int: the parser bounds nested repeats to 1,000.
	return n
}

// oneLine reports whether the pattern can match text without a newline.
func oneLine(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpNoMatch:
		return true // it matches nothing, but not because of newlines
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r == '\n' {
				return false
			}
		}
	case syntax.OpCharClass:
		return len(re.Rune) != 2 || re.Rune[0] != '\n' || re.Rune[1] != '\n'
	case syntax.OpStar, syntax.OpQuest:
		return true
	case syntax.OpRepeat:
		return re.Min == 0 || oneLine(re.Sub[0])
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			if oneLine(sub) {
				return true
			}
		}
		return len(re.Sub) == 0
	}
	for _, sub := range re.Sub {
		if !oneLine(sub) {
			return false
		}
	}
	return true
}

// lit is text that a match contains. With fold it is in lower case and only its ASCII letters have two
// cases; there is nothing else in it that folds.
type lit struct {
	text string
	fold bool
}

// found is what is known of the text that a part of a pattern matches.
type found struct {
	// exact are all texts that it can match; nil when they are not known.
	exact []lit
	// pure says that every one of exact does match, wherever it stands.
	pure bool
	// required: every match contains one of them; nil when nothing is known.
	required []lit
}

// Bounds of what is taken out of a pattern.
const (
	maxExact = 256 // texts in a set
	maxCross = 16  // texts in a set made by joining sets
	maxRunes = 4   // runes of a class that becomes a set
)

// analyse finds what a match of re must contain.
func analyse(re *syntax.Regexp) found {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return found{exact: []lit{{}}, pure: true}
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return found{exact: []lit{{}}}
	case syntax.OpLiteral:
		return literal(re)
	case syntax.OpCharClass:
		return class(re)
	case syntax.OpCapture:
		return analyse(re.Sub[0])
	case syntax.OpPlus:
		return repeated(analyse(re.Sub[0]))
	case syntax.OpRepeat:
		if re.Min > 0 {
			return repeated(analyse(re.Sub[0]))
		}
	case syntax.OpQuest:
		if sub := analyse(re.Sub[0]); sub.exact != nil && len(sub.exact) < maxCross {
			return found{exact: append([]lit{{}}, sub.exact...), pure: sub.pure}
		}
	case syntax.OpConcat:
		return concat(re.Sub)
	case syntax.OpAlternate:
		return alternate(re.Sub)
	}
	return found{}
}

// literal cuts a literal at what cannot be searched for byte by byte: U+FFFD, which also matches
// invalid bytes, and under folding everything outside ASCII.
func literal(re *syntax.Regexp) found {
	fold := re.Flags&syntax.FoldCase != 0
	var parts []string
	var b strings.Builder
	for _, r := range re.Rune {
		if r == utf8.RuneError || fold && r >= utf8.RuneSelf {
			parts = append(parts, b.String())
			b.Reset()
			continue
		}
		b.WriteRune(r)
	}
	parts = append(parts, b.String())
	var best []lit
	for i, text := range parts {
		if fold {
			parts[i] = strings.ToLower(text)
		}
		best = better(best, []lit{{parts[i], fold && hasLetter(text)}})
	}
	if len(parts) > 1 {
		return found{required: best}
	}
	return found{exact: best, pure: true}
}

func hasLetter(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' })
}

// class turns a class of few runes into the set of them.
func class(re *syntax.Regexp) found {
	var out []lit
	for i := 0; i+1 < len(re.Rune); i += 2 {
		for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
			if len(out) == maxRunes || r == utf8.RuneError || !utf8.ValidRune(r) {
				return found{}
			}
			out = append(out, lit{text: string(r)})
		}
	}
	if out == nil {
		return found{}
	}
	return found{exact: out, pure: true}
}

// repeated is what is known of a part that occurs at least once: it contains what the part contains.
func repeated(sub found) found {
	if sub.exact != nil {
		return found{required: usable(sub.exact)}
	}
	return found{required: sub.required}
}

// concat joins the sets of neighbours while they stay small and keeps the best set met on the way.
func concat(subs []*syntax.Regexp) found {
	run, pure := []lit{{}}, true // the texts since the last part whose text is not known
	var best []lit
	whole := true
	for _, sub := range subs {
		f := analyse(sub)
		if f.exact != nil && len(run)*len(f.exact) <= maxCross {
			var clean bool
			run, clean = cross(run, f.exact)
			pure = pure && f.pure && clean
			continue
		}
		whole = false
		best = better(best, usable(run))
		run, pure = []lit{{}}, true
		if f.exact != nil {
			run, pure = f.exact, f.pure
		} else {
			best = better(best, usable(f.required))
		}
	}
	if whole {
		return found{exact: run, pure: pure}
	}
	return found{required: better(best, usable(run))}
}

// cross joins every text of a with every text of b. It is not clean when a half whose case counts had to
// be joined to one that folds: looked for in either case it finds too much, never too little.
func cross(a, b []lit) (out []lit, clean bool) {
	clean = true
	for _, x := range a {
		for _, y := range b {
			j := lit{text: x.text + y.text, fold: x.fold || y.fold}
			if j.fold {
				clean = clean && (x.fold || !hasLetter(x.text)) && (y.fold || !hasLetter(y.text))
				j.text = lowerASCII(j.text)
			}
			out = append(out, j)
		}
	}
	return out, clean
}

// lowerASCII lowers the ASCII letters and leaves every other byte alone.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c | 0x20
		}
	}
	return string(b)
}

// alternate unites the sets of the branches; a branch without one leaves none.
func alternate(subs []*syntax.Regexp) found {
	exact, pure := []lit{}, true
	var required []lit
	for _, sub := range subs {
		f := analyse(sub)
		if f.exact == nil || exact == nil || len(exact)+len(f.exact) > maxExact {
			exact = nil
		} else {
			exact, pure = unite(exact, f.exact), pure && f.pure
		}
		need := usable(f.exact)
		if need == nil {
			need = usable(f.required)
		}
		if need == nil || len(required)+len(need) > maxExact {
			return found{exact: exact, pure: pure}
		}
		required = unite(required, need)
	}
	return found{exact: exact, pure: pure, required: required}
}

// unite adds to a set what it has not.
func unite(set, more []lit) []lit {
	for _, l := range more {
		if !slices.Contains(set, l) {
			set = append(set, l)
		}
	}
	return set
}

// usable returns a set, or nil when a text of it is empty: that one is everywhere.
func usable(set []lit) []lit {
	for _, l := range set {
		if l.text == "" {
			return nil
		}
	}
	return set
}
