package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultMaxEvent is how many bytes an event of a stream may have.
const DefaultMaxEvent = 16 << 20

// ErrEventTooLong says that an event, or a line of a stream, has more bytes than are read.
var ErrEventTooLong = errors.New("an event of the stream is too long")

// Event is one event of a stream.
type Event struct {
	// Type is what the field event says; empty when there is none.
	Type string
	// Data are the data lines, joined by a line feed. It is valid until the next event is read.
	Data []byte
}

// Decoder reads events as the WHATWG's HTML standard has them (section 9.2.6, "Interpreting an event
// stream"): lines end in CR LF, LF or CR, a byte order mark at the start and comments mean nothing, and
// an event that no blank line closes is no event. The fields id and retry are not used: a stream that
// broke off is never resumed.
type Decoder struct {
	r    *bufio.Reader
	max  int
	line []byte
	data []byte
	// began says that the first line was read; afterCR that a line feed would belong to the line before.
	began, afterCR bool
}

// NewDecoder reads events from r; max bounds a line and the data of an event in bytes, 0 means
// [DefaultMaxEvent].
func NewDecoder(r io.Reader, max int) *Decoder {
	if max <= 0 {
		max = DefaultMaxEvent
	}
	return &Decoder{r: bufio.NewReader(r), max: max}
}

// Next gives the next event. It is [io.EOF] at the end of the stream, [ErrEventTooLong] for an event that
// is not read, and otherwise the error of the reader.
func (d *Decoder) Next() (Event, error) {
	var e Event
	d.data = d.data[:0]
	has := false
	for {
		line, err := d.next()
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if has {
				e.Data = d.data
				return e, nil
			}
			e.Type = ""
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			e.Type = string(value)
		case "data":
			if has {
				d.data = append(d.data, '\n')
			}
			has = true
			if len(d.data)+len(value) > d.max {
				return Event{}, d.tooLong()
			}
			d.data = append(d.data, value...)
		}
	}
}

// next gives a line without its end. What stands behind the last end is no line.
func (d *Decoder) next() ([]byte, error) {
	d.line = d.line[:0]
	for {
		if _, err := d.r.Peek(1); err != nil {
			return nil, err
		}
		chunk, _ := d.r.Peek(d.r.Buffered())
		if d.afterCR {
			d.afterCR = false
			if chunk[0] == '\n' {
				_, _ = d.r.Discard(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		part := chunk
		if end >= 0 {
			part = chunk[:end]
		}
		if len(d.line)+len(part) > d.max+len("data: ") {
			return nil, d.tooLong()
		}
		d.line = append(d.line, part...)
		if end < 0 {
			_, _ = d.r.Discard(len(chunk))
			continue
		}
		d.afterCR = chunk[end] == '\r'
		_, _ = d.r.Discard(end + 1)
		line := d.line
		if !d.began {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		d.began = true
		return line, nil
	}
}

func (d *Decoder) tooLong() error {
	return fmt.Errorf("%w: it has more than %d bytes", ErrEventTooLong, d.max)
}
