package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// TooLong says that a message is longer than [MaxFrame] and was left out.
type TooLong struct {
	// Bytes is its length.
	Bytes int64
	// ID is the request that it answers; nil when its two ends do not tell.
	ID json.RawMessage
	// Noise is how it begins when it is no message at all; nil for a message.
	Noise []byte
}

func (t *TooLong) Error() string {
	return fmt.Sprintf("the answer is %d bytes long; at most %d are read. Ask for less", t.Bytes, MaxFrame)
}

// frames reads messages that end with a line feed, each of bounded length.
type frames struct {
	r     *bufio.Reader
	limit int
}

func newFrames(r io.Reader) *frames { return &frames{bufio.NewReaderSize(r, 64<<10), MaxFrame} }

// next gives the next line without its line feed. A line over [MaxFrame] is read past and gives a
// [*TooLong]; its memory is bounded by the limit.
func (f *frames) next() ([]byte, error) {
	var line []byte
	for {
		part, err := f.r.ReadSlice('\n')
		if len(line)+len(part) > f.limit {
			return nil, f.past(line, part, err)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return line, nil // the last line may lack its line feed
		default:
			return nil, err
		}
	}
}

// ends is how much of both ends of a long message is looked at for its id.
const ends = 4 << 10

// past reads a long line to its end.
func (f *frames) past(line, part []byte, err error) error {
	first := bytes.Clone(append(line, part...)[:ends])
	total := int64(len(line) + len(part))
	tail := bytes.Clone(part)
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = f.r.ReadSlice('\n')
		total += int64(len(part))
		tail = append(tail[max(0, len(tail)-ends):], part...)
	}
	if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
		return err
	}
	long := &TooLong{Bytes: total - 1, ID: idOf(first, bytes.TrimSpace(tail))}
	if start := bytes.TrimSpace(first); len(start) == 0 || start[0] != '{' && start[0] != '[' {
		long.Noise = first
	}
	return long
}

// An id stands before or after the result. In the middle of a message nothing can be told apart without
// reading it whole.
var (
	idFirst = regexp.MustCompile(`^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*,`)
	idLast  = regexp.MustCompile(`[}\]"\d]\s*,(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*(-?\d+|"[^"\\]*")\s*\}$`)
)

func idOf(first, tail []byte) json.RawMessage {
	if m := idFirst.FindSubmatch(first); m != nil {
		return m[1]
	}
	if m := idLast.FindSubmatch(tail); m != nil {
		return m[1]
	}
	return nil
}
