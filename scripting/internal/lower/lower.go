// Package lower turns the source that a model wrote into source that the engine runs, keeps the positions,
// and says in one line what cannot be had.
//
// The source is the body of an async function. What the engine's own syntax lacks (for await, async
// generators, using, TypeScript's annotations) is rewritten; regular expressions that need rewriting
// become calls of RegExp, where package regex takes them.
package lower

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
)

// Name is the name of the script in positions.
const Name = "script"

// MaxNesting is the most brackets that may be open at once.
const MaxNesting = 2000

// lead stands before the script, on its first line: line numbers stay, columns of the first line move.
const lead = Entry + "(async () => { "

// Place turns a position of the source map, a line from 1 and a column from 0, into one of the script, both from 1. A
// line of 0 says that it is no place in the script.
func Place(line, column int) (int, int) {
	if line == 1 {
		if column -= len(lead); column < 0 {
			return 0, 0
		}
	}
	return line, column + 1
}

// Program is a lowered script.
type Program struct {
	// Code is an expression statement that calls Entry with the script as an async function, after what
	// the lowering needs.
	Code string
	// Map is its source map, in JSON; Place reads its positions.
	Map []byte
	// Source is the script as it was given.
	Source string
}

// Entry is the name of the function that Program.Code hands the script to.
const Entry = "__script__"

// SyntaxError is what is wrong with the source.
type SyntaxError struct {
	// Message says it, without a position.
	Message string
	// Line and Column count from 1, in characters; 0 when the whole script is meant.
	Line, Column int
	// Text is the line, at most 160 characters of it around Column.
	Text string
}

// Error is one line, with the position and the line itself.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return "SyntaxError: " + e.Message
	}
	s := fmt.Sprintf("SyntaxError: %s (line %d, column %d)", e.Message, e.Line, e.Column)
	if e.Text != "" {
		s += ": " + e.Text
	}
	return s
}

// Lower lowers a script. The error is a *SyntaxError.
func Lower(source string) (Program, error) {
	if err := nesting(source); err != nil {
		return Program{}, err
	}
	wrapped := lead + source + "\n});"
	out, err := transform(wrapped, source, api.LoaderJS)
	if err != nil {
		// A type annotation is no reason to refuse; but where both readings fail, the plain one is told.
		if typed, bad := transform(wrapped, source, api.LoaderTS); bad == nil {
			return typed, nil
		}
		return Program{}, err
	}
	return out, nil
}

// Check says why the bytes of a source cannot be a script at all; nil when they may be one.
func Check(source string, most int) error {
	switch {
	case strings.TrimSpace(source) == "":
		return &SyntaxError{Message: "the code is empty"}
	case len(source) > most:
		return &SyntaxError{Message: fmt.Sprintf("the code has %d bytes, at most %d are possible; hand data over in args or read it with results.get", len(source), most)}
	}
	return nil
}

func transform(wrapped, source string, loader api.Loader) (Program, error) {
	r := api.Transform(wrapped, api.TransformOptions{
		Loader:         loader,
		Target:         api.ESNext,
		Supported:      missing(),
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		Sourcefile:     Name,
		Charset:        api.CharsetUTF8,
		LogLevel:       api.LogLevelSilent,
		TsconfigRaw:    `{"compilerOptions":{"verbatimModuleSyntax":true}}`,
	})
	if len(r.Errors) > 0 {
		return Program{}, told(r.Errors[0], source)
	}
	return Program{Code: string(r.Code), Map: r.Map, Source: source}, nil
}

// missing lists what the engine cannot parse, and the flags and classes of regular expressions that must
// be seen by RegExp at run time.
func missing() map[string]bool {
	return map[string]bool{
		"for-await": false, "optional-chain": false, "async-generator": false, "using": false, "decorators": false,
		"regexp-match-indices": false, "regexp-set-notation": false,
		"regexp-sticky-and-unicode-flags": false, "regexp-unicode-property-escapes": false,
		"dynamic-import": false,
	}
}

// told turns a message of the lowering into ours, in the script's own numbering.
func told(m api.Message, source string) *SyntaxError {
	e := &SyntaxError{Message: strings.TrimSuffix(m.Text, ":")}
	if m.Location == nil {
		return e
	}
	e.Line = m.Location.Line
	offset := m.Location.Column
	if e.Line == 1 {
		offset = max(0, offset-len(lead))
	}
	lines := strings.Split(source, "\n")
	if e.Line > len(lines) {
		// The closing line of the wrapper: the script itself ends too early.
		e.Line, e.Column = len(lines), utf8.RuneCountInString(lines[len(lines)-1])+1
		e.Message = "the code ends too early or closes a bracket too many: " + m.Text
		e.Text = excerpt(lines[len(lines)-1], e.Column)
		return e
	}
	line := lines[e.Line-1]
	e.Column = utf8.RuneCountInString(line[:min(offset, len(line))]) + 1
	e.Text = excerpt(line, e.Column)
	if hint := advice(line); hint != "" {
		e.Message = hint
	}
	return e
}

// advice says what to use instead of a module statement.
func advice(line string) string {
	t := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(t, "import ") || strings.HasPrefix(t, "import{"):
		return "there are no modules to import: use the globals tools, results, args, URL, TextEncoder and their like"
	case strings.HasPrefix(t, "export "):
		return "the code is the body of a function and exports nothing: return the value"
	}
	return ""
}

// excerpt is at most 160 characters of a line around a column.
func excerpt(line string, column int) string {
	const most = 160
	r := []rune(strings.TrimRight(line, "\r"))
	if len(r) <= most {
		return strings.TrimSpace(string(r))
	}
	from := max(0, min(column-most/2, len(r)-most))
	s := string(r[from : from+most])
	if from > 0 {
		s = "…" + s
	}
	if from+most < len(r) {
		s += "…"
	}
	return s
}

// nesting refuses a source whose brackets could exhaust the stack of a parser. It counts without
// reading strings, which is why the bound is generous.
func nesting(source string) error {
	depth, line, start := 0, 1, 0
	for i := 0; i < len(source); i++ {
		switch source[i] {
		case '\n':
			line, start = line+1, i+1
		case '(', '[', '{':
			if depth++; depth > MaxNesting {
				return &SyntaxError{
					Message: fmt.Sprintf("more than %d brackets are open at once", MaxNesting),
					Line:    line, Column: utf8.RuneCountInString(source[start:i]) + 1,
				}
			}
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
	}
	return nil
}
