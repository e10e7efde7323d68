package canon

import (
	"bytes"
	"math/bits"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string with the fewest escapes there can be
// (RFC 8785 section 3.2.2.2): the quotation mark, the backslash and what is
// below U+0020. What is no UTF-8 is written by the rule of CleanUTF8.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; ; {
		for i+8 <= len(s) {
			w := word(s[i : i+8])
			at := min(special(w), beyond(w))
			i += at
			if at < 8 {
				break
			}
		}
		if i >= len(s) {
			break
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, s[start:i]...)
				r, size = repair(s[i:])
				dst = utf8.AppendRune(dst, r)
				start = i + size
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
		}
		i++
		start = i
	}
	return append(append(dst, s[start:]...), '"')
}

// word reads eight bytes, the first of them lowest.
func word[T string | []byte](s T) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// special returns which of eight bytes is the first that a string cannot hold
// as it is: a control character, a quotation mark or a backslash; 8 when there
// is none. Bytes beyond ASCII are not looked at. (To subtract from each byte
// at once borrows from the next higher one only beyond a hit, so the lowest
// hit is true.)
func special(w uint64) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := w^each*'"', w^each*'\\'
	hits := (w - each*' ') | (quote - each) | (slash - each)
	return bits.TrailingZeros64(hits&^w&high) / 8
}

// beyond returns which of eight bytes is the first beyond ASCII, or 8.
func beyond(w uint64) int { return bits.TrailingZeros64(w&0x8080808080808080) / 8 }

// undoEscapes replaces, in valid JSON, the escapes that json.Marshal writes
// for characters that can stand as themselves. Escapes in capitals, which it
// never writes, stay.
func undoEscapes(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			break
		}
		out, raw = append(out, raw[:at]...), raw[at:]
		size, text := 2, "" // of a valid escape two bytes at least are there
		if raw[1] == 'u' {
			size = 6
			switch string(raw[2:6]) {
			case "003c":
				text = "<"
			case "003e":
				text = ">"
			case "0026":
				text = "&"
			case "2028":
				text = "\u2028"
			case "2029":
				text = "\u2029"
			case "fffd":
				text = "\ufffd"
			}
		}
		if text == "" {
			text = string(raw[:size])
		}
		out, raw = append(out, text...), raw[size:]
	}
	return append(out, raw...)
}

// trimSpace returns raw without JSON's white space around it.
func trimSpace(raw []byte) []byte { return bytes.Trim(raw, " \n\t\r") }
