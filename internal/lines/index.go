package lines

import (
	"errors"
	"fmt"
	"io"
)

// BlockSize is the number of bytes that share one newline count.
const BlockSize = 64 << 10

// readStep is how much of a block is read at once.
const readStep = 16 << 10

// Errors that an [Index] returns. An error that says which lines there are is
// a [*RangeError], for which errors.Is(err, ErrRange) holds.
var (
	// ErrRange tells that a line was asked for that the text does not have.
	ErrRange = errors.New("line out of range")
	// ErrStale tells that the index does not describe the text it is used on.
	ErrStale = errors.New("line index does not match its text")
)

// RangeError tells which lines were asked for and which there are. It matches
// [ErrRange].
type RangeError struct {
	First, Last int64 // the lines asked for, counted from 1
	Lines       int64 // the lines there are; the valid range is 1 to Lines
}

// Error states the lines asked for and the valid range.
func (e *RangeError) Error() string {
	want := fmt.Sprintf("line %d", e.First)
	if e.Last != e.First {
		want = fmt.Sprintf("lines %d to %d", e.First, e.Last)
	}
	switch {
	case e.Lines <= 0:
		return want + " out of range: the text has no lines"
	case e.Last < e.First:
		return want + " out of range: the last is before the first"
	default:
		return fmt.Sprintf("%s out of range: valid lines are 1 to %d", want, e.Lines)
	}
}

// Is reports whether target is [ErrRange].
func (e *RangeError) Is(target error) bool { return target == ErrRange }

// Index says where the lines of one text are.
type Index struct {
	Bytes  int64  // length of the text in bytes
	Lines  int64  // number of lines
	Chars  int64  // number of code points; an invalid byte is one
	Counts Counts // newlines in each block of BlockSize bytes
	EndsNL bool   // whether the text's last byte is \n
}

// Restore rebuilds an index from stored totals and counts. It returns
// [ErrStale], wrapped, when they contradict each other.
func Restore(bytes, lines, chars int64, counts Counts) (Index, error) {
	newlines := int64(0)
	for i, c := range counts {
		newlines += int64(c)
		if int64(c) > min(BlockSize, bytes-int64(i)*BlockSize) {
			return Index{}, fmt.Errorf("restore line index: block %d has %d newlines: %w", i, c, ErrStale)
		}
	}
	ix := Index{Bytes: bytes, Lines: lines, Chars: chars, Counts: counts}
	ix.EndsNL = bytes > 0 && newlines == lines
	open := int64(0) // a last line without its newline
	if bytes > 0 && !ix.EndsNL {
		open = 1
	}
	switch {
	case bytes < 0, chars < 0, chars > bytes, bytes > 0 && chars == 0:
		return Index{}, fmt.Errorf("restore line index: %d characters in %d bytes: %w", chars, bytes, ErrStale)
	case int64(len(counts)) != blocks(bytes):
		return Index{}, fmt.Errorf("restore line index: %d counts for %d bytes: %w", len(counts), bytes, ErrStale)
	case lines != newlines+open:
		return Index{}, fmt.Errorf("restore line index: %d newlines for %d lines: %w", newlines, lines, ErrStale)
	}
	return ix, nil
}

// Seek returns the byte offset at which a line starts, counted from 1. It
// reads at most one block of r, whatever the size of the text. A line that the
// text does not have is a [*RangeError]; text in which the line is not where
// the index says is [ErrStale].
func (ix Index) Seek(r io.ReaderAt, line int64) (offset int64, err error) {
	if line < 1 || line > ix.Lines {
		return 0, &RangeError{First: line, Last: line, Lines: ix.Lines}
	}
	need := line - 1 // the newline that ends the line before
	if need == 0 {
		return 0, nil
	}
	for i, c := range ix.Counts {
		if need > int64(c) {
			need -= int64(c)
			continue
		}
		start := int64(i) * BlockSize
		offset, err = find(r, start, min(start+BlockSize, ix.Bytes), need)
		if err != nil {
			return 0, fmt.Errorf("seek line %d: %w", line, err)
		}
		return offset, nil
	}
	return 0, fmt.Errorf("seek line %d: %w", line, ErrStale)
}

// Range returns the byte range [from, to) of lines first to last, counted from
// 1, both included, with the last line's ending as it is in the text. It reads
// at most the two blocks that hold the ends, never what lies between. The
// errors are those of [Index.Seek]; last before first is a [*RangeError] too.
func (ix Index) Range(r io.ReaderAt, first, last int64) (from, to int64, err error) {
	if first < 1 || last < first || last > ix.Lines {
		return 0, 0, &RangeError{First: first, Last: last, Lines: ix.Lines}
	}
	if from, err = ix.Seek(r, first); err != nil {
		return 0, 0, err
	}
	if last == ix.Lines {
		return from, ix.Bytes, nil
	}
	if to, err = ix.Seek(r, last+1); err != nil {
		return 0, 0, err
	}
	return from, to, nil
}

// find returns the offset after the k-th newline of r's bytes [from, to).
func find(r io.ReaderAt, from, to, k int64) (int64, error) {
	if from >= to {
		return 0, ErrStale
	}
	buf := make([]byte, min(readStep, to-from))
	for from < to {
		part := buf[:min(int64(len(buf)), to-from)]
		n, err := r.ReadAt(part, from)
		if n < len(part) {
			if err == nil || errors.Is(err, io.EOF) {
				return 0, fmt.Errorf("text ends at byte %d: %w", from+int64(n), ErrStale)
			}
			return 0, fmt.Errorf("read at byte %d: %w", from, err)
		}
		at, have := nth(part, k)
		if at >= 0 {
			return from + int64(at) + 1, nil
		}
		k -= have
		from += int64(len(part))
	}
	return 0, ErrStale
}
