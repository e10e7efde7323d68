package spill

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
)

// decoder turns bytes that come in pieces into text, by the rule of [canon.CleanUTF8].
type decoder struct {
	order    binary.ByteOrder // of UTF-16; nil for UTF-8
	begun    bool             // the byte order mark, or that there is none, was seen
	carry    []byte           // the beginning of a character that is not complete yet
	replaced int64            // U+FFFD that were written
}

// marks of byte order, and the encoding that each tells.
var byteOrders = []struct {
	mark  string
	order binary.ByteOrder
}{
	{"\xef\xbb\xbf", nil},
	{"\xff\xfe", binary.LittleEndian},
	{"\xfe\xff", binary.BigEndian},
}

// next decodes p, which is the last piece when end is set. It returns the bytes that are decoded now, the
// text they are, and whether the two are equal. Both may share p's memory.
func (d *decoder) next(p []byte, end bool) (came, text []byte, same bool) {
	if len(d.carry) > 0 {
		p = append(d.carry, p...)
		d.carry = nil
	}
	mark := 0
	if !d.begun {
		for _, o := range byteOrders {
			switch {
			case bytes.HasPrefix(p, []byte(o.mark)):
				d.order, mark = o.order, len(o.mark)
			case !end && len(p) < len(o.mark) && bytes.HasPrefix([]byte(o.mark), p):
				d.carry = bytes.Clone(p)
				return nil, nil, true
			}
		}
		d.begun = true
	}
	done := len(p)
	if !end {
		if d.order == nil {
			done = mark + wholeUTF8(p[mark:])
		} else {
			done = mark + wholeUTF16(p[mark:], d.order)
		}
		d.carry = bytes.Clone(p[done:])
	}
	came, body := p[:done], p[mark:done]
	if d.order != nil {
		return came, d.utf16(body), len(came) == 0
	}
	if utf8.Valid(body) {
		return came, body, mark == 0
	}
	clean, n := canon.CleanUTF8(string(body))
	d.replaced += int64(n)
	return came, []byte(clean), false
}

// wholeUTF8 returns how much of p can be decoded without what comes next. A character that is not complete
// waits, and so does a high surrogate in three bytes, of which the other half may follow.
func wholeUTF8(p []byte) int {
	cut := len(p)
	for i := len(p) - 1; i >= 0 && i >= len(p)-5; i-- {
		if p[i] < utf8.RuneSelf {
			break
		}
		if i > len(p)-utf8.UTFMax && utf8.RuneStart(p[i]) && !utf8.FullRune(p[i:]) || halfSurrogate(p[i:]) {
			cut = i
		}
	}
	return cut
}

// halfSurrogate tells whether p, of at most five bytes, begins a surrogate or a pair of them in three
// bytes each that is not complete.
func halfSurrogate(p []byte) bool {
	bounds := [...][2]byte{{0xED, 0xED}, {0xA0, 0xBF}, {0x80, 0xBF}, {0xED, 0xED}, {0xB0, 0xBF}}
	for i, c := range p {
		if c < bounds[i][0] || c > bounds[i][1] {
			return false
		}
	}
	return len(p) < 3 || p[1] < 0xB0
}

// wholeUTF16 is wholeUTF8 for code units of two bytes.
func wholeUTF16(p []byte, order binary.ByteOrder) int {
	n := len(p) &^ 1
	if n >= 2 && utf16.IsSurrogate(rune(order.Uint16(p[n-2:]))) && order.Uint16(p[n-2:]) < 0xDC00 {
		n -= 2
	}
	return n
}

func (d *decoder) utf16(p []byte) []byte {
	var out []byte
	for len(p) >= 2 {
		r := rune(d.order.Uint16(p))
		p = p[2:]
		if utf16.IsSurrogate(r) {
			pair := rune(utf8.RuneError)
			if len(p) >= 2 {
				pair = utf16.DecodeRune(r, rune(d.order.Uint16(p)))
			}
			if r = pair; r == utf8.RuneError {
				d.replaced++
			} else {
				p = p[2:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
	if len(p) > 0 {
		d.replaced++
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}
