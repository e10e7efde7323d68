// Package document is a file as text: its bytes decoded, its lines and characters found.
//
// A UTF-8 byte order mark is taken off; a UTF-16 file that has one is held as
// UTF-8. A file with a NUL byte near its start is binary. An [Index] finds any
// line and any character of a text without reading what lies before it, and a
// [Cache] keeps the indexes of files while these stay as they are.
package document

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	// Sniffed is how many bytes of a file are looked at to tell text from binary.
	Sniffed = 8 << 10
	// MaxDecoded is the largest UTF-16 file in bytes that is decoded.
	MaxDecoded = 64 << 20
)

var (
	// ErrBinary says that a file is not text.
	ErrBinary = errors.New("it is a binary file")
	// ErrChanged says that a file is not what it was when it was opened or indexed.
	ErrChanged = errors.New("it changed while it was read; read it again")
)

// BinaryError says that a file is not text, and how long it is. It matches [ErrBinary].
type BinaryError struct{ Bytes int64 }

// Error gives the length and the reason.
func (e *BinaryError) Error() string {
	return fmt.Sprintf("it is a binary file of %d bytes (a NUL byte in the first %d), which is not shown as text", e.Bytes, Sniffed)
}

// Is reports whether target is [ErrBinary].
func (e *BinaryError) Is(target error) bool { return target == ErrBinary }

// Form says what stands in a file instead of plain UTF-8.
type Form string

// The forms.
const (
	// Plain is UTF-8 without a mark.
	Plain Form = ""
	// Marked is UTF-8 with a byte order mark.
	Marked Form = "UTF-8 byte order mark"
	// UTF16LE and UTF16BE are UTF-16 with a mark, little- and big-endian.
	UTF16LE Form = "UTF-16LE"
	UTF16BE Form = "UTF-16BE"
)

// Document is one file as text.
type Document struct {
	// Raw are the file's own bytes, Disk their number.
	Raw  io.ReaderAt
	Disk int64
	// Text is what is read and searched, Size its length in bytes.
	Text io.ReaderAt
	Size int64
	// Mark is the length of the byte order mark in Raw.
	Mark int64
	Form Form
}

// New looks at the first bytes of a file and says what its text is. A binary file is a [*BinaryError]
// unless asText is set.
func New(raw io.ReaderAt, disk int64, asText bool) (*Document, error) {
	head := make([]byte, min(disk, Sniffed))
	n, err := raw.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read its start: %w", pathless(err))
	}
	head = head[:n]
	d := &Document{Raw: raw, Disk: disk, Text: raw, Size: disk}
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		d.Mark, d.Form = 3, Marked
		d.Text, d.Size = io.NewSectionReader(raw, 3, disk-3), disk-3
	case bytes.HasPrefix(head, []byte("\xff\xfe")) && !bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		return d, d.decode16(UTF16LE, func(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 })
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return d, d.decode16(UTF16BE, func(b []byte) uint16 { return uint16(b[1]) | uint16(b[0])<<8 })
	}
	if !asText && bytes.IndexByte(head, 0) >= 0 {
		return nil, &BinaryError{disk}
	}
	return d, nil
}

// decode16 holds a whole UTF-16 file as UTF-8.
func (d *Document) decode16(form Form, unit func([]byte) uint16) error {
	if d.Disk > MaxDecoded {
		return fmt.Errorf("it is %s text of %d bytes; at most %d are decoded", form, d.Disk, MaxDecoded)
	}
	raw := make([]byte, d.Disk)
	n, err := d.Raw.ReadAt(raw, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("decode it: %w", pathless(err))
	}
	raw = raw[2:n]
	text := make([]byte, 0, len(raw))
	for len(raw) >= 2 {
		r := rune(unit(raw))
		raw = raw[2:]
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if len(raw) >= 2 {
				pair = utf16.DecodeRune(r, rune(unit(raw)))
			}
			if r = pair; r != utf8.RuneError {
				raw = raw[2:]
			}
		}
		text = utf8.AppendRune(text, r)
	}
	if len(raw) > 0 {
		text = utf8.AppendRune(text, utf8.RuneError)
	}
	d.Form, d.Mark = form, 2
	d.Text, d.Size = bytes.NewReader(text), int64(len(text))
	return nil
}

// ReadFull reads exactly len(p) bytes; a text that ends before that has changed.
func ReadFull(r io.ReaderAt, p []byte, at int64) error {
	n, err := r.ReadAt(p, at)
	switch {
	case n == len(p):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return ErrChanged
	default:
		return fmt.Errorf("read at byte %d: %w", at, pathless(err))
	}
}

// pathless takes the path on this machine out of an error.
func pathless(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// SkipRunes returns where the n-th character of b starts, counted from 0, or len(b).
func SkipRunes(b []byte, n int64) int {
	at := 0
	for ; n > 0 && at < len(b); n-- {
		if b[at] < utf8.RuneSelf {
			at++
			continue
		}
		_, size := utf8.DecodeRune(b[at:])
		at += size
	}
	return at
}

// WholeRunes returns where an unfinished character at the end of p starts, or len(p).
func WholeRunes(p []byte) int {
	for i := len(p) - 1; i >= 0 && i > len(p)-utf8.UTFMax; i-- {
		if utf8.RuneStart(p[i]) {
			if !utf8.FullRune(p[i:]) {
				return i
			}
			break
		}
	}
	return len(p)
}

// Encode writes text as a file of a form: with its mark, in its encoding.
func Encode(form Form, text []byte) []byte {
	switch form {
	case Marked:
		return append([]byte("\xef\xbb\xbf"), text...)
	case UTF16LE:
		return encode16(text, binary.LittleEndian)
	case UTF16BE:
		return encode16(text, binary.BigEndian)
	default:
		return text
	}
}

func encode16(text []byte, order binary.AppendByteOrder) []byte {
	out := order.AppendUint16(make([]byte, 0, 2*len(text)+2), 0xfeff)
	for _, unit := range utf16.Encode([]rune(string(text))) {
		out = order.AppendUint16(out, unit)
	}
	return out
}
