package folder

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ignoreFile is the file that names what git leaves alone (gitignore(5)).
const ignoreFile = ".gitignore"

// rule is one line of a .gitignore.
type rule struct {
	pattern  string // in doublestar's syntax
	negated  bool   // a match takes an earlier one back
	folders  bool   // only folders match
	anchored bool   // matched against the path from the file's folder, not against the last name
}

// ruleSet holds the rules of one .gitignore, which apply below base.
type ruleSet struct {
	base  string // "" for the top
	rules []rule
}

// ruleStack holds the sets that apply to a folder, the outermost first.
type ruleStack []ruleSet

// ignored reports whether the rules leave out a path. That a folder above it is left out is not looked
// at: a walk does not come there.
func (s ruleStack) ignored(name string, folder bool) bool {
	for i := len(s) - 1; i >= 0; i-- {
		set := s[i]
		below := name
		if set.base != "" {
			below = strings.TrimPrefix(name, set.base+"/")
		}
		base := path.Base(name)
		for j := len(set.rules) - 1; j >= 0; j-- {
			r := set.rules[j]
			if r.folders && !folder {
				continue
			}
			against := base
			if r.anchored {
				against = below
			}
			if doublestar.MatchUnvalidated(r.pattern, against) {
				return !r.negated
			}
		}
	}
	return false
}

// rulesAbove reads the rules that apply to a folder from those above it. None apply when the folder is
// itself left out by them: whoever names it wants to look into it.
func (f *Folder) rulesAbove(start string) ruleStack {
	if start == "." {
		return nil
	}
	var stack ruleStack
	dir := ""
	for _, part := range strings.Split(start, "/") {
		if text, err := readRules(f.root, path.Join(dir, ignoreFile)); err == nil {
			stack = append(stack, parseRules(dir, text))
		}
		dir = path.Join(dir, part)
		if part == ".git" || stack.ignored(dir, true) {
			return nil
		}
	}
	return stack
}

// parseRules reads a .gitignore. Lines that git cannot use are left out, as git does.
func parseRules(base, text string) ruleSet {
	set := ruleSet{base: base}
	text = strings.TrimPrefix(text, "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			set.rules = append(set.rules, r)
		}
	}
	return set
}

func parseRule(line string) (rule, bool) {
	line = trimSpaces(line)
	var r rule
	if line == "" || line[0] == '#' {
		return r, false
	}
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.folders = strings.CutSuffix(line, "/")
	line, r.anchored = strings.CutPrefix(line, "/")
	r.anchored = r.anchored || strings.Contains(line, "/")
	r.pattern = translate(line)
	return r, line != "" && doublestar.ValidatePattern(r.pattern)
}

// trimSpaces cuts the spaces at the end of a line, up to one that a backslash keeps.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") {
		rest := line[:len(line)-1]
		slashes := len(rest) - len(strings.TrimRight(rest, `\`))
		if slashes%2 == 1 {
			break
		}
		line = rest
	}
	return line
}

// posix are the named classes of a bracket expression, as ranges of ASCII.
var posix = strings.NewReplacer(
	"[:alpha:]", "a-zA-Z", "[:digit:]", "0-9", "[:alnum:]", "a-zA-Z0-9", "[:upper:]", "A-Z",
	"[:lower:]", "a-z", "[:xdigit:]", "0-9a-fA-F", "[:space:]", " \t\n\v\f\r", "[:blank:]", " \t",
	"[:punct:]", "!-.:-@[-`{-~",
)

// translate turns a pattern into doublestar's syntax: braces are plain characters for git, a trailing
// /** is what lies inside and not the folder itself, a ] that opens a bracket expression belongs to it.
func translate(p string) string {
	if rest, ok := strings.CutSuffix(p, "/**"); ok {
		p = rest + "/**/*"
	}
	p = posix.Replace(p)
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '\\':
			b.WriteByte(c)
			if i++; i < len(p) {
				b.WriteByte(p[i])
			}
		case '{', '}', ',':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '[':
			b.WriteByte(c)
			if i+1 < len(p) && (p[i+1] == '!' || p[i+1] == '^') {
				i++
				b.WriteByte(p[i])
			}
			if i+1 < len(p) && p[i+1] == ']' {
				i++
				b.WriteString(`\]`)
			}
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
