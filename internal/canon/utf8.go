package canon

import (
	"strings"
	"unicode/utf8"
)

// Encoded surrogates are the three bytes ED A0..BF 80..BF: A0..AF for the high
// half of a pair, B0..BF for the low half. UTF-8 does not allow them (RFC 3629
// section 3); JavaScript strings and CESU-8 bring them in.
const (
	surrogateLead = 0xED
	surrogateSize = 3
)

// CleanUTF8 returns s as valid UTF-8 and how many U+FFFD were written. A byte
// that belongs to no character becomes one U+FFFD, and so does an encoded
// surrogate that stands alone, as a whole. An encoded high surrogate followed
// by an encoded low one (CESU-8) is a pair: it becomes the character it means
// and is not counted. A U+FFFD that is there already is not counted. Valid
// text is returned as it is, without a copy.
func CleanUTF8(s string) (clean string, replaced int) {
	if utf8.ValidString(s) {
		return s, 0
	}
	var b strings.Builder
	b.Grow(len(s) + utf8.UTFMax)
	start := 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			i++
			continue
		}
		if r, size := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
			i += size
			continue
		}
		b.WriteString(s[start:i])
		r, size := repair(s[i:])
		if r == utf8.RuneError {
			replaced++
		}
		b.WriteRune(r)
		i += size
		start = i
	}
	b.WriteString(s[start:])
	return b.String(), replaced
}

// repair returns the character to write for the bytes at the start of s, which
// begin no valid one, and how many bytes it stands for.
func repair(s string) (r rune, size int) {
	first := encodedSurrogate(s)
	if first == 0 {
		// What begins a character and does not end it is one, however many bytes of it there are
		// (Unicode 16, section 3.9, substitution of maximal subparts); any other byte is one by itself.
		size = min(utf8.UTFMax-1, len(s))
		for size > 1 && utf8.FullRuneInString(s[:size]) {
			size--
		}
		return utf8.RuneError, size
	}
	if isHigh(first) {
		if second := encodedSurrogate(s[surrogateSize:]); isLow(second) {
			return combine(first, second), 2 * surrogateSize
		}
	}
	return utf8.RuneError, surrogateSize
}

// encodedSurrogate returns the surrogate whose three bytes s begins with, or 0.
func encodedSurrogate(s string) rune {
	if len(s) < surrogateSize || s[0] != surrogateLead || s[1]&0xE0 != 0xA0 || s[2]&0xC0 != 0x80 {
		return 0
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F)
}

// isHigh reports whether r is the first half of a surrogate pair.
func isHigh(r rune) bool { return r >= 0xD800 && r < 0xDC00 }

// isLow reports whether r is the second half of a surrogate pair.
func isLow(r rune) bool { return r >= 0xDC00 && r < 0xE000 }

// combine returns the character that a surrogate pair means.
func combine(high, low rune) rune { return 0x10000 + (high-0xD800)<<10 + (low - 0xDC00) }
