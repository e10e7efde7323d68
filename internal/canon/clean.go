package canon

import (
	"bytes"
	"unicode/utf8"
)

// lone is the escape that stands for a surrogate escape without its other half.
const lone = `\ufffd`

// CleanJSON returns raw JSON as valid UTF-8 in which every escape stands for a
// character, and how many replacements were made. A surrogate escape without
// its other half becomes \ufffd; bytes that are no UTF-8 become U+FFFD by the
// rule of [CleanUTF8]. Everything else stays as it is, byte for byte: order,
// duplicate keys, number literals, spacing, pairs as they are written, and an
// escaped backslash before the letters ud83d.
//
// Bytes that are not valid JSON are cleaned in the same way: escapes count
// between one quotation mark and the next, outside of them a backslash is a
// character like any other.
//
// When nothing changes raw itself is returned. A pair of encoded surrogates
// changes the bytes but is no replacement: to ask whether raw was clean,
// compare, or ask utf8.Valid too.
func CleanJSON(raw []byte) (clean []byte, replaced int) {
	if utf8.Valid(raw) && !mayHoldSurrogate(raw) {
		return raw, 0
	}
	var out []byte
	start := 0 // what raw holds from here on is not yet in out
	put := func(at, size int, text string) {
		if out == nil {
			out = make([]byte, 0, len(raw)+len(raw)/8+utf8.UTFMax)
		}
		out = append(append(out, raw[start:at]...), text...)
		start = at + size
	}
	quoted := false
	for i := 0; i < len(raw); {
		switch b := raw[i]; {
		case b >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && size == 1 {
				r, size = repair(string(raw[i:min(i+2*surrogateSize, len(raw))]))
				put(i, size, string(r))
				if r == utf8.RuneError {
					replaced++
				}
			}
			i += size
		case b == '\\' && quoted:
			size, ok := escapeSize(raw[i:])
			if !ok {
				put(i, size, lone)
				replaced++
			}
			i += size
		default:
			if b == '"' {
				quoted = !quoted
			}
			i++
		}
	}
	if out == nil {
		return raw, 0
	}
	return append(out, raw[start:]...), replaced
}

// mayHoldSurrogate reports whether raw has anything that looks like an escape
// of a surrogate.
func mayHoldSurrogate(raw []byte) bool {
	return bytes.Contains(raw, []byte(`\ud`)) || bytes.Contains(raw, []byte(`\uD`))
}

// escapeSize returns how many bytes the escape at the start of s takes, a
// surrogate pair counting as one escape, and false when it is a surrogate
// without its other half. What is no complete escape takes the backslash and,
// if it is ASCII, the byte after it.
func escapeSize(s []byte) (size int, ok bool) {
	unit := unicodeEscape(s)
	switch {
	case isHigh(unit):
		if isLow(unicodeEscape(s[6:])) {
			return 12, true
		}
		return 6, false
	case isLow(unit):
		return 6, false
	case unit >= 0:
		return 6, true
	case len(s) > 1 && s[1] < utf8.RuneSelf:
		return 2, true
	default:
		return 1, true
	}
}

// unicodeEscape returns the code unit of the \uXXXX that s begins with, or -1.
func unicodeEscape(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	unit := rune(0)
	for _, c := range s[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		unit = unit<<4 | rune(c)
	}
	return unit
}
