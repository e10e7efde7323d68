// Package edit replaces text in a file's bytes: exactly, once or everywhere, and nothing else.
//
// The replacement is literal: "$&" is three characters. What the file has beside its text stays: a byte
// order mark, its line endings, a missing final newline.
package edit

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Errors that callers branch on.
var (
	// ErrEmpty says that there is nothing to look for.
	ErrEmpty = errors.New("old is empty: give the exact text to replace; to write a whole file use workspace--write")
	// ErrSame says that nothing would change.
	ErrSame = errors.New("old and new are the same, so nothing would change")
	// ErrNotFound says that the text is not there.
	ErrNotFound = errors.New("old was not found")
	// ErrEncoding says that the file is no UTF-8 text.
	ErrEncoding = errors.New("the file is not UTF-8 text, so it is not edited")
)

// AmbiguousError says that the text is there more than once.
type AmbiguousError struct {
	// Count is how often, Lines are the lines of the first ones, at most ten.
	Count int
	Lines []int
}

// Error says how often and where, and what to do.
func (e *AmbiguousError) Error() string {
	var at []string
	for _, l := range e.Lines {
		at = append(at, fmt.Sprint(l))
	}
	more := ""
	if e.Count > len(e.Lines) {
		more = " and further on"
	}
	return fmt.Sprintf("old was found %d times (at lines %s%s): give more of the text around it, or set replace_all to true",
		e.Count, strings.Join(at, ", "), more)
}

// Result is an edited file.
type Result struct {
	// Bytes are the new bytes.
	Bytes []byte
	// Count is how many places were replaced, Line is the line of the first.
	Count, Line int
	// CRLF says that the file's lines end in CRLF and those of the replacement were made so.
	CRLF bool
}

var (
	mark    = []byte("\ufeff")
	utf16le = []byte{0xff, 0xfe}
	utf16be = []byte{0xfe, 0xff}
)

// Replace replaces old by new in a file's bytes: the one place where it stands, or with all every place.
// Line endings in old and new mean those of the file.
func Replace(file []byte, old, new string, all bool) (Result, error) {
	switch {
	case old == "":
		return Result{}, ErrEmpty
	case old == new:
		return Result{}, ErrSame
	case bytes.HasPrefix(file, utf16le), bytes.HasPrefix(file, utf16be), !utf8.Valid(file), bytes.IndexByte(file, 0) >= 0:
		return Result{}, ErrEncoding
	}
	text, marked := bytes.CutPrefix(file, mark)
	r := Result{}
	count := bytes.Count(text, []byte(old))
	if count == 0 && strings.Contains(old, "\n") && !strings.Contains(old, "\r") {
		// Lines are shown without their carriage return, so what was read has none.
		r.CRLF = true
		old, new = strings.ReplaceAll(old, "\n", "\r\n"), toCRLF(new)
		count = bytes.Count(text, []byte(old))
	} else if count > 0 && !strings.Contains(old, "\n") && strings.Contains(new, "\n") && onlyCRLF(text) {
		r.CRLF = true
		new = toCRLF(new)
	}
	switch {
	case count == 0:
		return Result{}, ErrNotFound
	case count > 1 && !all:
		return Result{}, &AmbiguousError{Count: count, Lines: linesOf(text, old)}
	}
	r.Count, r.Line = count, 1+bytes.Count(text[:bytes.Index(text, []byte(old))], []byte("\n"))
	r.Bytes = bytes.ReplaceAll(text, []byte(old), []byte(new))
	if marked {
		r.Bytes = append(bytes.Clone(mark), r.Bytes...)
	}
	return r, nil
}

// toCRLF ends every line of a text in CRLF.
func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// onlyCRLF reports whether every line of a text that ends at all ends in CRLF.
func onlyCRLF(text []byte) bool {
	n := bytes.Count(text, []byte("\n"))
	return n > 0 && n == bytes.Count(text, []byte("\r\n"))
}

// linesOf gives the lines of the first ten places.
func linesOf(text []byte, old string) []int {
	var at []int
	line, from := 1, 0
	for len(at) < 10 {
		i := bytes.Index(text[from:], []byte(old))
		if i < 0 {
			break
		}
		line += bytes.Count(text[from:from+i], []byte("\n"))
		at = append(at, line)
		line += strings.Count(old, "\n")
		from += i + len(old)
	}
	return at
}

// Controls counts the control characters of a text, other than tab, newline and carriage return, by name,
// such as "ESC ×3". It is empty when there are none.
func Controls(s string) string {
	var counts [128]int
	any := false
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			counts[c]++
			any = true
		}
	}
	if !any {
		return ""
	}
	var parts []string
	for c, n := range counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s ×%d", controlName(byte(c)), n))
		}
	}
	return strings.Join(parts, ", ")
}

func controlName(c byte) string {
	switch c {
	case 0:
		return "NUL"
	case 7:
		return "BEL"
	case 8:
		return "BS"
	case 0x1b:
		return "ESC"
	case 0x7f:
		return "DEL"
	}
	return fmt.Sprintf("0x%02x", c)
}
