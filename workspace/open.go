package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/lines"
)

// sniff is how much of a file is looked at to tell text from binary.
const sniff = 8 << 10

// formBOM is the form of a UTF-8 file that starts with a byte order mark.
const formBOM = "UTF-8 byte order mark"

// document is one file, open, as text.
type document struct {
	path string
	// raw are the file's own bytes, disk their number.
	raw  io.ReaderAt
	disk int64
	// text is what is read and searched: decoded, without a byte order mark. size is its length in
	// bytes, mark the length of the mark in raw.
	text io.ReaderAt
	size int64
	mark int64
	// form says what stands in the file instead of plain UTF-8, for the header; empty for nothing.
	form string
	// key names the file for the cache of indexes, changed is when it changed last; no key, no cache.
	key     string
	changed time.Time
	// known is the index that was stored with the file.
	known  *lines.Index
	closer io.Closer
}

func (d *document) close() {
	if d.closer != nil {
		_ = d.closer.Close() // only read from
	}
}

// document opens what a path names. A folder is an error, and so is a binary file unless asText.
func (w *Workspace) document(ctx context.Context, conversation string, at place, asText bool) (*document, error) {
	if at.mount == nil {
		return w.storedDocument(ctx, conversation, at, asText)
	}
	file, info, err := at.mount.File(at.name)
	if err != nil {
		return nil, pathError(at.path, err)
	}
	d := &document{
		path: at.path, raw: file, disk: info.Size(), closer: file,
		key: at.path, changed: info.ModTime(),
	}
	if err := d.decode(asText); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// binaryError says that a file is binary and how long it is.
func (d *document) binaryError() error {
	return &PathError{d.path, &reason{
		fmt.Sprintf("it is a binary file of %d bytes (a NUL byte in the first %d), which is not shown as text", d.disk, sniff), ErrBinary,
	}}
}

// decode looks at the first bytes and sets what is the text. A binary file is an error unless asText.
func (d *document) decode(asText bool) error {
	head := make([]byte, min(d.disk, sniff))
	n, err := d.raw.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return pathError(d.path, fmt.Errorf("read its start: %w", plain(err)))
	}
	head = head[:n]
	d.text, d.size = d.raw, d.disk
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		d.mark, d.form = 3, formBOM
		d.text, d.size = io.NewSectionReader(d.raw, 3, d.disk-3), d.disk-3
	case bytes.HasPrefix(head, []byte("\xff\xfe")) && !bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		return d.decode16("UTF-16LE", func(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 })
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return d.decode16("UTF-16BE", func(b []byte) uint16 { return uint16(b[1]) | uint16(b[0])<<8 })
	}
	if !asText && bytes.IndexByte(head, 0) >= 0 {
		return d.binaryError()
	}
	return nil
}

// decode16 holds a whole UTF-16 file as UTF-8.
func (d *document) decode16(form string, unit func([]byte) uint16) error {
	if d.disk > MaxDecoded {
		return pathError(d.path, fmt.Errorf("it is %s text of %d bytes; at most %d are decoded", form, d.disk, MaxDecoded))
	}
	raw := make([]byte, d.disk)
	n, err := d.raw.ReadAt(raw, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return pathError(d.path, fmt.Errorf("decode it: %w", plain(err)))
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
	d.form, d.mark = form, 2
	d.text, d.size = bytes.NewReader(text), int64(len(text))
	return nil
}

// plain takes the path on this machine out of an error.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
