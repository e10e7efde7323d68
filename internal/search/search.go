// Package search finds the lines of a text that match a pattern.
//
// A pattern is applied to each line on its own, without the line's ending
// (\n or \r\n; what a line is says package lines), so no match spans lines
// and $ stands before the ending. The answer is always the one that the
// standard regexp gives for that line: it is the oracle. What makes the search
// fast stands before it: literal text that every match must contain is taken
// out of the pattern and looked for in chunks of many lines, and regexp only
// sees the lines that hold it.
//
// Nothing here knows files: a text is an io.ReaderAt with a size.
package search

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Limits of a search.
const (
	// MaxPattern is the longest pattern in bytes.
	MaxPattern = 4096
	// MaxSteps bounds the size of a compiled pattern, repeats written out.
	MaxSteps = 5000
	// MaxLine is the longest line in bytes that is searched; a longer one is counted in [Stats.Long].
	MaxLine = 16 << 20
	// ChunkSize is how much of a text is read at once.
	ChunkSize = 512 << 10
)

// Line is a line that matches.
type Line struct {
	// Number counts from 1.
	Number int64
	// Offset is where the line starts, in bytes from the start of the text.
	Offset int64
	// Text is the line without its ending. It is valid only during the call that gets it.
	Text []byte
	// Start and End are the first match in Text, in bytes.
	Start, End int
}

// Action is what a search does after a line.
type Action int

// The actions.
const (
	// Next goes on and yields the next line that matches.
	Next Action = iota
	// Count goes on, but only counts: nothing more is yielded.
	Count
	// Stop ends the search; the figures are then those of what was searched.
	Stop
)

// Stats are the figures of one search.
type Stats struct {
	// Matches is the number of lines that match.
	Matches int64
	// Lines is the number of lines that were gone through.
	Lines int64
	// Long are the numbers of the first lines over [MaxLine] bytes, which were not searched, at most
	// ten of them; LongCount is how many there were.
	Long      []int64
	LongCount int64
}

// maxLong is how many numbers of lines Stats.Long holds at most.
const maxLong = 10

// Scan searches the first size bytes of r and yields the lines that match, in order. The figures are
// also right for what was searched when it ends early: by Stop, with the error of ctx, or with one that
// reading gave. A text that is shorter than size ends where it ends.
func (p *Pattern) Scan(ctx context.Context, r io.ReaderAt, size int64, yield func(Line) Action) (Stats, error) {
	s := &scan{p: p, yield: yield, cursors: p.cursors()}
	err := s.run(ctx, r, size)
	if errors.Is(err, errStop) {
		err = nil
	}
	return s.stats, err
}

// errStop ends a scan that its caller has stopped.
var errStop = errors.New("stopped")

// scan is one search in progress.
type scan struct {
	p       *Pattern
	yield   func(Line) Action
	count   bool // only count from here on
	cursors []cursor
	stats   Stats
	base    int64 // offset in the text of the chunk at hand
}

// run cuts the text into chunks that end at a line's end and searches each.
func (s *scan) run(ctx context.Context, r io.ReaderAt, size int64) error {
	buf := make([]byte, min(size, ChunkSize))
	have := 0 // bytes in buf that belong to a line whose end is not read yet
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		if have == len(buf) {
			if have >= MaxLine {
				next, err := s.long(ctx, r, at, size)
				if err != nil {
					return err
				}
				s.base, at, have = next, next, 0
				continue
			}
			buf = append(buf, make([]byte, min(int64(have), MaxLine-int64(have), size-at))...)
		}
		n, err := r.ReadAt(buf[have:min(int64(len(buf)), int64(have)+size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read at byte %d: %w", at, err)
		}
		if n == 0 {
			break
		}
		at += int64(n)
		cut := have + lastNewline(buf[have:have+n]) + 1
		if cut == have {
			have += n
			continue
		}
		if err := s.chunk(ctx, buf[:cut]); err != nil {
			return err
		}
		s.base += int64(cut)
		have = copy(buf, buf[cut:have+n])
	}
	return s.chunk(ctx, buf[:have])
}

// long goes over the rest of a line that is too long to be searched and returns where the next starts.
func (s *scan) long(ctx context.Context, r io.ReaderAt, at, size int64) (int64, error) {
	s.stats.Lines++
	s.stats.LongCount++
	if len(s.stats.Long) < maxLong {
		s.stats.Long = append(s.stats.Long, s.stats.Lines)
	}
	buf := make([]byte, ChunkSize)
	for at < size {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := r.ReadAt(buf[:min(ChunkSize, size-at)], at)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read at byte %d: %w", at, err)
		}
		if n == 0 {
			return size, nil
		}
		if i := newline(buf[:n]); i >= 0 {
			return at + int64(i) + 1, nil
		}
		at += int64(n)
	}
	return size, nil
}
