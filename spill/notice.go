package spill

import (
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
)

// maxReason is how many characters of a reason are shown.
const maxReason = 200

// Notice is what the notice of a preview says beside its figures.
type Notice struct {
	// Path is how the model addresses the whole text, [Ref.Path]; empty when the whole was not kept.
	Path string
	// Reason says why it was not kept; see [Reason]. It is cut to 200 characters of one line.
	Reason string
	// Read and Grep are the names of the tools that read and search Path, each empty when the model
	// cannot call it here.
	Read, Grep string
	// Disk is where the file lies on disk, told when neither tool is offered.
	Disk string
	// Clean, when set, makes what the model reads of a piece of the text, such as one without terminal
	// codes. It must be pure. The figures stay those of the text as it is kept.
	Clean func(piece string) string
}

// open begins every notice; onlyRuns goes on where nothing but base64 is left out.
const (
	open     = "[Excerpt: "
	onlyRuns = "only base64 data is left out, where it says so."
)

// extra are the lines of a notice that may have to give way, in the order of their worth.
const (
	readOn = iota
	search
	payloads
	cleaned
	kind
	extra
)

// lines words the notice: what must stand there, and what may give way, empty where there is nothing.
func (n Notice) lines(g gap, x Excerpt, budget int) (must string, more [extra]string) {
	must = open + g.line(x) + "\n" + n.whole(x, budget/2)
	if n.Path != "" && n.Read != "" {
		more[readOn] = "\nRead on: " + n.call(n.Read, g.window(x))
	}
	if n.Path != "" && n.Grep != "" {
		more[search] = "\nSearch: " + n.call(n.Grep, `"pattern":"…"`)
	}
	if g.held > 0 {
		more[payloads] = "\nThe part left out holds " + count(int64(g.held), "payload")
		switch g.listed {
		case 0:
		case g.held:
			more[payloads] += ", listed next"
		default:
			more[payloads] += fmt.Sprintf(", the first %d listed next", g.listed)
		}
		more[payloads] += "."
	}
	if g.cleaned {
		more[cleaned] = "\nWhat is shown is cleaned of control codes, the file is not."
	}
	if x.JSON != "" {
		more[kind] = "\nThe whole is JSON: " + x.JSON + "."
	}
	return must, more
}

// room says how long the notice of a gap can be at most, and which of its lines fit into the budget.
func (n Notice) room(most gap, x Excerpt, budget int) (size int, fits [extra]bool) {
	must, more := n.lines(most, x, budget)
	size = min(utf8.RuneCountInString(must)+1, max(budget, 0))
	for i, line := range more {
		if l := utf8.RuneCountInString(line); l > 0 && size+l <= budget {
			size += l
			fits[i] = true
		}
	}
	return size, fits
}

// text words the notice of a gap that is not larger than the one that room was asked for.
func (n Notice) text(g gap, x Excerpt, budget, size int, fits [extra]bool) string {
	text, more := n.lines(g, x, budget)
	for i, line := range more {
		if fits[i] {
			text += line
		}
	}
	if utf8.RuneCountInString(text) >= size {
		text = firstChars(text, size-1)
	}
	return text + "]"
}

// line says what is left out.
func (g gap) line(x Excerpt) string {
	if g.chars <= 0 {
		return onlyRuns
	}
	var b strings.Builder
	switch {
	case g.first < g.last:
		fmt.Fprintf(&b, "lines %d-%d of %d are", g.first, g.last, x.Lines)
	case g.firstCut || g.lastCut:
		fmt.Fprintf(&b, "part of line %d of %d is", g.first, x.Lines)
	default:
		fmt.Fprintf(&b, "line %d of %d is", g.first, x.Lines)
	}
	fmt.Fprintf(&b, " left out here, %d of %s from char_offset %d.", g.chars, count(x.Chars, "character"), g.offset(x))
	if g.first < g.last {
		switch {
		case g.firstCut && g.lastCut:
			fmt.Fprintf(&b, " Lines %d and %d are shown in part.", g.first, g.last)
		case g.firstCut:
			fmt.Fprintf(&b, " Line %d is shown in part.", g.first)
		case g.lastCut:
			fmt.Fprintf(&b, " Line %d is shown in part.", g.last)
		}
	}
	return b.String()
}

// offset is where the gap begins as the reader counts characters: a byte order mark is not one of them.
func (g gap) offset(x Excerpt) int64 {
	if g.from > 0 && strings.HasPrefix(x.Head, "\ufeff") {
		return g.from - 1
	}
	return g.from
}

// window is the argument that makes the reader begin where the gap begins.
func (g gap) window(x Excerpt) string {
	if g.chars <= 0 {
		return `"offset":1`
	}
	if g.firstCut {
		return fmt.Sprintf(`"char_offset":%d`, g.offset(x))
	}
	return fmt.Sprintf(`"offset":%d`, g.first)
}

// whole says where the whole is and how large.
func (n Notice) whole(x Excerpt, most int) string {
	size := count(x.Lines, "line") + ", " + count(x.Chars, "character") + ", " + count(x.Bytes, "byte")
	if n.Path == "" {
		return fmt.Sprintf("The rest was NOT kept: %s. The whole had %s. Narrow the call to see more.", because(n.Reason), size)
	}
	at := n.Path
	if n.Read == "" && n.Grep == "" && n.Disk != "" {
		at = n.Disk
	}
	if at = oneLine(at, len(at)); utf8.RuneCountInString(at) > most {
		at = firstChars(path.Base(at), most)
	}
	return fmt.Sprintf("The whole is kept at %s: %s.", at, size)
}

// call words a ready call of a tool.
func (n Notice) call(name, argument string) string {
	return oneLine(name, maxTool*2) + ` {"path":` + string(canon.AppendString(nil, n.Path)) + "," + argument + "}"
}

// count words a number of things.
func count(n int64, thing string) string {
	s := strconv.FormatInt(n, 10) + " " + thing
	if n != 1 {
		s += "s"
	}
	return s
}

// runLabel stands for a base64 run.
func runLabel(n int) string { return fmt.Sprintf("[base64: %d%s", n, runLabelEnd) }

const runLabelEnd = " characters, not shown]"

// RawNote is the line that ends a text in which n characters stand for bytes that could not be decoded.
// path is where the bytes are kept; when it is empty, reason says why they are not.
func RawNote(n int64, path, reason string) string {
	what := "1 character could not be decoded and stands as U+FFFD"
	if n != 1 {
		what = fmt.Sprintf("%d characters could not be decoded and stand as U+FFFD", n)
	}
	if path != "" {
		return "[" + what + "; the bytes as they came: " + oneLine(path, len(path)) + "]"
	}
	return "[" + what + "; the bytes as they came were NOT kept: " + because(reason) + "]"
}

// because is a reason as it stands in a sentence.
func because(reason string) string {
	if reason = strings.TrimRight(oneLine(reason, maxReason), ". "); reason == "" {
		return errNoStore.Error()
	}
	return reason
}

// Reason words an error of a [Store] for a model: one line, at most 200 characters, without the names of
// files and folders that errors of the system carry.
func Reason(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrQuota):
		return ErrQuota.Error()
	case errors.Is(err, ErrExists):
		return ErrExists.Error()
	}
	for {
		switch inner := err.(type) { //nolint:errorlint // it walks the chain itself
		case interface{ Unwrap() error }:
			if inner.Unwrap() == nil {
				return oneLine(err.Error(), maxReason)
			}
			err = inner.Unwrap()
		case interface{ Unwrap() []error }:
			if len(inner.Unwrap()) == 0 {
				return oneLine(err.Error(), maxReason)
			}
			err = inner.Unwrap()[0]
		default:
			return oneLine(err.Error(), maxReason)
		}
	}
}

// oneLine makes one line of s, valid UTF-8 without control characters, of at most most characters.
func oneLine(s string, most int) string {
	s, _ = canon.CleanUTF8(s)
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == ' ' || r == '\u2028' || r == '\u2029'
	}), " ")
	if utf8.RuneCountInString(s) > most {
		s = firstChars(s, most-1) + "…"
	}
	return s
}

func firstChars(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
