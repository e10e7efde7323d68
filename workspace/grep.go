package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

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
		make: func(d *document, l search.Line) (Match, error) { return excerpt(d, l, req) },
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
		make: func(d *document, l search.Line) (Match, error) { return whole(d, l), nil },
		take: func(m Match) (search.Action, error) { return search.Next, yield(m) },
		lent: true,
	})
}

// whole is a match with the whole line, whose text is the searcher's.
func whole(d *document, l search.Line) Match {
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
	m, err := newGlob(glob)
	if err != nil {
		return nil, err
	}
	if strings.Contains(glob, "/") {
		return m.match, nil
	}
	return func(name string) bool { return m.match(path.Base(name)) }, nil
}

// excerpt is a match with what Grep shows of it.
func excerpt(d *document, l search.Line, req GrepRequest) (Match, error) {
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
	to = start + skipRunes(text[start:], int64(width-used))
	for rest := width - utf8.RuneCount(text[from:to]); rest > 0 && from > 0; rest-- {
		_, size := utf8.DecodeLastRune(text[:from])
		from -= size
	}
	return from, to
}
