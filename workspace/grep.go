package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/document"
	"github.com/weir-run/weir/internal/folder"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/internal/search"
)

// GrepRequest asks for the lines that match a pattern.
type GrepRequest struct {
	// Conversation is whose stored results tool-results/ are.
	Conversation string
	// Pattern is in RE2 syntax (Go regexp) and is applied to each line on its own, without its ending.
	Pattern string
	// Literal takes Pattern as the text itself; IgnoreCase lets letters match in either case.
	Literal, IgnoreCase bool
	// Path is a file, a folder or a mount; empty means everything.
	Path string
	// Glob keeps the files whose path below their mount it matches; one without a slash is held against
	// the last name of the path. Empty means all files.
	Glob string
	// All searches what .gitignore names too.
	All bool
	// Before and After are lines around each match, at most [MaxContext] of each. Only Grep gives them.
	Before, After int
	// Max is how many matches Grep gives, at most [MaxMatches]; 0 means [DefaultMatches]. Offset is how
	// many come before the first of them.
	Max    int
	Offset int64
	// Width cuts lines in the answer of Grep to this many characters, a matching one around its match;
	// 0 means whole lines.
	Width int
}

// Match is a line that matches.
type Match struct {
	// Path is that of the file, mount first.
	Path string
	// Line counts from 1, Column from 1 in characters: where the first match in the line begins.
	Line, Column int64
	// Offset is where the line starts in the file's text, in bytes.
	Offset int64
	// Text is the line without its ending, the first match at Start to End. With a width it is an
	// excerpt, and Cut is true when it is not the whole line; Chars is then the line's length in
	// characters.
	Text       []byte
	Start, End int
	Cut        bool
	Chars      int64
	// Before and After are the lines around it.
	Before, After []ContextLine
}

// ContextLine is a line near a match.
type ContextLine struct {
	Line int64
	Text []byte
	// Cut is true when Text is not the whole line.
	Cut bool
}

// Found are the figures of a search.
type Found struct {
	// Matches is the number of lines that match, in Files files; Searched is how many files were gone
	// through.
	Matches, Files, Searched int64
	// Unmatched is how many files the glob left out.
	Unmatched int64
	// Skipped is what was not searched.
	Skipped []Skipped
	// TimedOut says that the search ended at its deadline: the figures are those until then.
	TimedOut bool
	// Deadline is how long the search could take.
	Deadline time.Duration
}

// GrepResult is what Grep gives.
type GrepResult struct {
	Found
	// List are the matches from Offset on, files in the order of their paths, lines in order.
	List []Match
}

// Grep searches everything in scope, so that its figures are true totals, and gives a part of the
// matches. The errors are those of the pattern, the glob and the path; what cannot be read on the way is
// in Skipped.
func (w *Workspace) Grep(ctx context.Context, req GrepRequest) (GrepResult, error) {
	if req.Max < 0 || req.Max > MaxMatches || req.Offset < 0 {
		return GrepResult{}, fmt.Errorf("search: %d matches from %d on: valid are 1 to %d, from 0 on", req.Max, req.Offset, MaxMatches)
	}
	if req.Before < 0 || req.Before > MaxContext || req.After < 0 || req.After > MaxContext {
		return GrepResult{}, fmt.Errorf("search: %d lines before and %d after a match: valid are 0 to %d", req.Before, req.After, MaxContext)
	}
	most := int64(cmp.Or(req.Max, DefaultMatches))
	var out GrepResult
	seen := int64(0)
	found, err := w.run(ctx, req, hooks{
		make: func(d *file, l search.Line) (Match, error) { return excerpt(d, l, req) },
		take: func(m Match) (search.Action, error) {
			seen++
			if seen > req.Offset {
				out.List = append(out.List, m)
			}
			if seen >= req.Offset+most {
				return search.Count, nil
			}
			return search.Next, nil
		},
	})
	out.Found = found
	return out, err
}

// Search calls yield for every match, files in the order of their paths, lines in order. Text is the
// whole line, valid only during the call. An error of yield ends the search and is returned.
func (w *Workspace) Search(ctx context.Context, req GrepRequest, yield func(Match) error) (Found, error) {
	return w.run(ctx, req, hooks{
		make: func(d *file, l search.Line) (Match, error) { return whole(d, l), nil },
		take: func(m Match) (search.Action, error) { return search.Next, yield(m) },
		lent: true,
	})
}

// whole is a match with the whole line, whose text is the searcher's.
func whole(d *file, l search.Line) Match {
	return Match{
		Path: d.path, Line: l.Number, Column: int64(utf8.RuneCount(l.Text[:l.Start])) + 1, Offset: l.Offset,
		Text: l.Text, Start: l.Start, End: l.End,
	}
}

// run compiles a request and searches.
func (w *Workspace) run(ctx context.Context, req GrepRequest, h hooks) (Found, error) {
	p, err := search.Compile(req.Pattern, search.Options{Literal: req.Literal, IgnoreCase: req.IgnoreCase})
	if err != nil {
		return Found{}, err
	}
	match, err := fileGlob(req.Glob)
	if err != nil {
		return Found{}, err
	}
	timed, cancel := context.WithTimeout(ctx, w.deadline)
	defer cancel()
	c := newCollector(w, p, h)
	scope := scope{req.Conversation, req.Path, req.All}
	err = c.search(timed, func(ctx context.Context, put func(item) error) error {
		return w.each(ctx, scope, func(it item) error {
			if match != nil && !match(it.name) {
				c.unmatched++
				it.close()
				return nil
			}
			return put(it)
		}, c.walked.add)
	})
	found := c.found()
	found.Deadline = w.deadline
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		found.TimedOut, err = true, nil
	}
	return found, err
}

// fileGlob makes the test of a file's path below its mount; nil for no glob.
func fileGlob(glob string) (func(name string) bool, error) {
	if glob == "" {
		return nil, nil
	}
	m, err := folder.NewGlob(glob)
	if err != nil {
		return nil, err
	}
	if strings.Contains(glob, "/") {
		return m.Match, nil
	}
	return func(name string) bool { return m.Match(path.Base(name)) }, nil
}

// excerpt is a match with what Grep shows of it.
func excerpt(d *file, l search.Line, req GrepRequest) (Match, error) {
	m := whole(d, l)
	var err error
	if m.Before, m.After, err = around(d, l, req); err != nil {
		return m, err
	}
	if req.Width > 0 && len(l.Text) > req.Width {
		if n := utf8.RuneCount(l.Text); n > req.Width {
			from, to := cutAround(l.Text, l.Start, l.End, req.Width)
			m.Text, m.Cut, m.Chars = l.Text[from:to], true, int64(n)
			m.Start, m.End = max(l.Start-from, 0), min(l.End, to)-from
		}
	}
	m.Text = slices.Clone(m.Text)
	return m, nil
}

// cutAround returns the part of a line, at most width characters long, that shows its match: the match
// in the middle, or the start of a match that is longer.
func cutAround(text []byte, start, end, width int) (from, to int) {
	inside := utf8.RuneCount(text[start:min(end, start+4*width)])
	from = start
	for left := max(width-inside, 0) / 2; left > 0 && from > 0; left-- {
		_, size := utf8.DecodeLastRune(text[:from])
		from -= size
	}
	used := utf8.RuneCount(text[from:start])
	to = start + document.SkipRunes(text[start:], int64(width-used))
	for rest := width - utf8.RuneCount(text[from:to]); rest > 0 && from > 0; rest-- {
		_, size := utf8.DecodeLastRune(text[:from])
		from -= size
	}
	return from, to
}

// nearby is how many bytes before and after a match are looked at for its context.
const nearby = 256 << 10

func bytesNote(n int64) string { return count(n, "byte", "bytes") }
func lineNote(n int64) string  { return fmt.Sprintf("line %d", n) }

// around reads the lines before and after a match. A line that reaches farther than nearby is cut.
func around(d *file, l search.Line, req GrepRequest) (before, after []ContextLine, err error) {
	if req.Before > 0 && l.Offset > 0 {
		if before, err = linesBefore(d, l, req.Before); err != nil {
			return nil, nil, err
		}
	}
	if req.After > 0 {
		if after, err = linesAfter(d, l, req.After); err != nil {
			return nil, nil, err
		}
	}
	for _, c := range [][]ContextLine{before, after} {
		for i := range c {
			c[i].narrow(req.Width)
		}
	}
	return before, after, nil
}

// narrow cuts a line to a width.
func (c *ContextLine) narrow(width int) {
	if width > 0 && len(c.Text) > width {
		if cut := document.SkipRunes(c.Text, int64(width)); cut < len(c.Text) {
			c.Text, c.Cut = c.Text[:cut], true
		}
	}
	c.Text = slices.Clone(c.Text)
}

// linesBefore reads up to n lines that end where the match's line starts.
func linesBefore(d *file, l search.Line, n int) ([]ContextLine, error) {
	size := int64(4 << 10)
	for {
		from := max(l.Offset-size, 0)
		buf := make([]byte, l.Offset-from)
		if err := document.ReadFull(d.Text, buf, from); err != nil {
			return nil, err
		}
		// One newline more than lines, or the start of the text, shows where the first of them begins.
		if from > 0 && bytes.Count(buf, []byte{'\n'}) <= n && size < nearby {
			size *= 4
			continue
		}
		var out []ContextLine
		for number := l.Number - 1; len(buf) > 0 && len(out) < n; number-- {
			start := bytes.LastIndexByte(buf[:len(buf)-1], '\n') + 1
			text, _ := lines.TrimEnding(buf[start:])
			c := ContextLine{Line: number, Text: text}
			if start == 0 && from > 0 {
				c.Cut = true
				for len(c.Text) > 0 && !utf8.RuneStart(c.Text[0]) {
					c.Text = c.Text[1:]
				}
			}
			out = append(out, c)
			buf = buf[:start]
		}
		slices.Reverse(out)
		return out, nil
	}
}

// linesAfter reads up to n lines from where the match's line ends.
func linesAfter(d *file, l search.Line, n int) ([]ContextLine, error) {
	from := l.Offset + int64(len(l.Text))
	size := int64(4 << 10)
	for {
		buf := make([]byte, min(size, d.Size-from))
		if err := document.ReadFull(d.Text, buf, from); err != nil {
			return nil, err
		}
		whole := from+int64(len(buf)) == d.Size
		if !whole && bytes.Count(buf, []byte{'\n'}) <= n && size < nearby {
			size *= 4
			continue
		}
		end := bytes.IndexByte(buf, '\n') + 1 // the ending of the match's own line
		if end == 0 {
			return nil, nil
		}
		buf = buf[end:]
		var out []ContextLine
		for number := l.Number + 1; len(buf) > 0 && len(out) < n; number++ {
			end := bytes.IndexByte(buf, '\n') + 1
			cut := end == 0 && !whole
			if end == 0 {
				end = len(buf)
			}
			text, _ := lines.TrimEnding(buf[:end])
			if cut {
				text = text[:document.WholeRunes(text)]
			}
			out = append(out, ContextLine{Line: number, Text: text, Cut: cut})
			buf = buf[end:]
		}
		return out, nil
	}
}

// isSyntax reports whether an error is about what the pattern says.
func isSyntax(err error) bool {
	var se *search.SyntaxError
	return errors.As(err, &se)
}
