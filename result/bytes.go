package result

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
)

// Byte order marks (Unicode 16.0, section 23.8).
var (
	bomUTF8  = []byte{0xEF, 0xBB, 0xBF}
	bomLE    = []byte{0xFF, 0xFE}
	bomBE    = []byte{0xFE, 0xFF}
	unitSize = 2
)

// bytes sets the text of a []byte. Valid UTF-8 is never taken for anything else; only a byte order mark
// makes it UTF-16.
func (w *Whole) bytes(raw []byte, base string) {
	switch {
	case bytes.HasPrefix(raw, bomUTF8):
		w.Text, w.Replaced = canon.CleanUTF8(string(raw[len(bomUTF8):]))
		w.Raw = raw
	case bytes.HasPrefix(raw, bomLE):
		w.Text, w.Replaced = fromUTF16(raw[len(bomLE):], binary.LittleEndian)
		w.Raw = raw
	case bytes.HasPrefix(raw, bomBE):
		w.Text, w.Replaced = fromUTF16(raw[len(bomBE):], binary.BigEndian)
		w.Raw = raw
	default:
		original := string(raw)
		w.Text, w.Replaced = canon.CleanUTF8(original)
		if w.Text != original {
			w.Raw = raw
		}
	}
	if w.Replaced == 0 {
		return
	}
	if w.Text != "" && !strings.HasSuffix(w.Text, "\n") {
		w.Text += "\n"
	}
	path := ""
	if base != "" {
		path = base + ".raw"
	}
	w.Text += RawNote(w.Replaced, path)
}

// fromUTF16 decodes UTF-16 and says how many U+FFFD it wrote: one for a surrogate without its other
// half, one for a last byte that is half a unit.
func fromUTF16(raw []byte, order binary.ByteOrder) (text string, replaced int) {
	var b strings.Builder
	b.Grow(len(raw))
	for len(raw) >= unitSize {
		r := rune(order.Uint16(raw))
		raw = raw[unitSize:]
		if utf16.IsSurrogate(r) {
			pair := utf8.RuneError
			if len(raw) >= unitSize {
				pair = utf16.DecodeRune(r, rune(order.Uint16(raw)))
			}
			if pair == utf8.RuneError {
				replaced++
			} else {
				raw = raw[unitSize:]
			}
			r = pair
		}
		b.WriteRune(r)
	}
	if len(raw) > 0 {
		b.WriteRune(utf8.RuneError)
		replaced++
	}
	return b.String(), replaced
}

// RawNote is the line that ends a text in which n characters could not be decoded from bytes: how many,
// and where the bytes are. With an empty path it names no file.
func RawNote(n int, path string) string {
	what := "1 character could not be decoded and stands as U+FFFD"
	if n != 1 {
		what = fmt.Sprintf("%d characters could not be decoded and stand as U+FFFD", n)
	}
	if path == "" {
		return "[" + what + "]"
	}
	return "[" + what + "; the bytes as they came: " + path + "]"
}
