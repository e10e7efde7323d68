package canon

import (
	"bytes"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string with the fewest escapes there can be
// (RFC 8785 section 3.2.2.2): the quotation mark, the backslash and what is
// below U+0020. What is no UTF-8 is written by the rule of CleanUTF8.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
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
