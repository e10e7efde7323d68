package lines

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// highBits picks the top bit of each of eight bytes: all clear means ASCII.
const highBits = 0x8080808080808080

// Head returns the byte offset after the first n characters (code points) of
// s, or len(s) when s has no more than n. An invalid byte is one character.
func Head(s string, n int) int {
	at := 0
	for ; n > 0 && at < len(s); n-- {
		if s[at] < utf8.RuneSelf {
			at++
			continue
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

// Tail returns the byte offset at which the last n characters (code points) of
// s begin, or 0 when s has no more than n. An invalid byte is one character.
func Tail(s string, n int) int {
	at := len(s)
	for ; n > 0 && at > 0; n-- {
		if s[at-1] < utf8.RuneSelf {
			at--
			continue
		}
		_, size := utf8.DecodeLastRuneInString(s[:at])
		at -= size
	}
	return at
}

// runeCounter counts the characters of text that arrives in pieces, as
// utf8.RuneCount counts those of the whole. It holds back the start of a
// character that the end of a piece cut.
type runeCounter struct {
	n    int64
	held [utf8.UTFMax]byte
	size int
}

// add counts the characters of the next piece.
func (c *runeCounter) add(p []byte) {
	for c.size > 0 && len(p) > 0 {
		c.held[c.size] = p[0]
		if !utf8.FullRune(c.held[:c.size+1]) {
			c.size++
			p = p[1:]
			continue
		}
		if _, size := utf8.DecodeRune(c.held[:c.size+1]); size == c.size+1 {
			c.n++
			p = p[1:]
		} else {
			// What was held never becomes a character: each byte is one
			// replacement. p[0] may start a character of its own.
			c.n += int64(c.size)
		}
		c.size = 0
	}
	cut := cutTail(p)
	if cut < len(p) {
		c.size = copy(c.held[:], p[cut:])
	}
	c.n += int64(countRunes(p[:cut]))
}

// total is the count if the text ended here: bytes held back are then invalid.
func (c *runeCounter) total() int64 { return c.n + int64(c.size) }

// cutTail returns where an unfinished character at the end of p starts, or
// len(p) when there is none.
func cutTail(p []byte) int {
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

// countRunes is utf8.RuneCount, several times as fast: it takes ASCII in words
// and the common forms of two and three bytes without decoding them.
func countRunes(p []byte) int {
	n := len(p) // less what the characters take beyond one byte each
	for len(p) >= 8 {
		high := word(p) & highBits
		if high == 0 {
			p = p[8:]
			for len(p) >= 32 && (word(p)|word(p[8:])|word(p[16:])|word(p[24:]))&highBits == 0 {
				p = p[32:]
			}
			continue
		}
		p = p[bits.TrailingZeros64(high)/8:]
		for len(p) >= 4 && p[0] >= utf8.RuneSelf {
			size := wideSize(p)
			p = p[size:]
			n -= size - 1
		}
	}
	return n - len(p) + utf8.RuneCount(p)
}

// word reads the first eight bytes of p.
func word(p []byte) uint64 { return binary.LittleEndian.Uint64(p) }

// wideSize returns how many bytes the character at the start of p takes: 1 for
// one that is not valid. p has four bytes at least and begins beyond ASCII.
func wideSize(p []byte) int {
	w := binary.LittleEndian.Uint32(p)
	switch {
	case w&0xC0C0F0 == 0x8080E0 && w&0xFF != 0xE0 && w&0xFF != 0xED:
		return 3
	case w&0xC0E0 == 0x80C0 && w&0xFE != 0xC0:
		return 2
	}
	_, size := utf8.DecodeRune(p)
	return size
}
