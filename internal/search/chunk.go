package search

import (
	"bytes"
	"context"

	"github.com/weir-run/weir/internal/lines"
)

func newline(b []byte) int     { return bytes.IndexByte(b, '\n') }
func lastNewline(b []byte) int { return bytes.LastIndexByte(b, '\n') }

// chunk searches whole lines; only the last of a text may lack its newline.
func (s *scan) chunk(ctx context.Context, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if !s.p.filters(b) {
		return s.each(ctx, b)
	}
	for i := range s.cursors {
		s.cursors[i].reset()
	}
	counted := 0 // the lines before this byte are in stats.Lines
	for at := 0; at < len(b); {
		hit := s.next(b, at)
		if hit < 0 {
			break
		}
		start := at + lastNewline(b[at:hit]) + 1
		end := len(b)
		if i := newline(b[hit:]); i >= 0 {
			end = hit + i + 1
		}
		at = end
		if s.count {
			if s.p.sure || s.match(ctx, b[start:end]) {
				s.stats.Matches++
			}
			continue
		}
		s.stats.Lines += int64(bytes.Count(b[counted:start], []byte{'\n'}))
		counted = start
		if err := s.try(ctx, b[start:end], start); err != nil {
			return err
		}
	}
	s.stats.Lines += lines.Count(b[counted:])
	return nil
}

// each gives every line to the regexp.
func (s *scan) each(ctx context.Context, b []byte) error {
	for at := 0; at < len(b); {
		end := len(b)
		if i := newline(b[at:]); i >= 0 {
			end = at + i + 1
		}
		if s.count {
			if s.match(ctx, b[at:end]) {
				s.stats.Matches++
			}
		} else if err := s.try(ctx, b[at:end], at); err != nil {
			return err
		}
		s.stats.Lines++
		at = end
		if err := s.pause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// match reports whether a line matches; the ending is still on it.
func (s *scan) match(ctx context.Context, line []byte) bool {
	text, _ := lines.TrimEnding(line)
	return s.p.match(ctx, text)
}

// try yields a line if it matches. The lines before it are counted already.
func (s *scan) try(ctx context.Context, line []byte, start int) error {
	text, _ := lines.TrimEnding(line)
	from, to, ok := s.p.locate(ctx, text)
	if !ok {
		return ctx.Err()
	}
	s.stats.Matches++
	do := s.yield(Line{
		Number: s.stats.Lines + 1, Offset: s.base + int64(start),
		Text: text[:len(text):len(text)], Start: from, End: to,
	})
	switch do {
	case Stop:
		s.stats.Lines++
		return errStop
	case Count:
		s.count = true
	}
	return nil
}

// pause looks whether the search was cancelled, once in a while.
func (s *scan) pause(ctx context.Context) error {
	if s.stats.Lines%256 == 0 {
		return ctx.Err()
	}
	return nil
}

// next returns the first place at or after at where one of the needles stands, -1 when there is none.
func (s *scan) next(b []byte, at int) int {
	if s.p.table != nil {
		return s.p.table.index(b, at)
	}
	best := -1
	for i := range s.cursors {
		hit := s.cursors[i].next(b, at)
		if hit >= 0 && (best < 0 || hit < best) {
			best = hit
		}
	}
	return best
}
