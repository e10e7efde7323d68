package lines

import (
	"encoding/binary"
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

// countRunes is utf8.RuneCount with a path for ASCII that takes 32 bytes at a
// time.
func countRunes(p []byte) int {
	n := 0
	for len(p) > 0 {
		start := len(p)
		for len(p) >= 32 {
			w := binary.LittleEndian.Uint64(p) | binary.LittleEndian.Uint64(p[8:]) |
				binary.LittleEndian.Uint64(p[16:]) | binary.LittleEndian.Uint64(p[24:])
			if w&highBits != 0 {
				break
			}
			p = p[32:]
		}
		n += start - len(p)
		// The next characters one by one, at least up to the end of the words
		// that held something else than ASCII.
		for end := max(len(p)-32, 0); len(p) > end; n++ {
			if p[0] < utf8.RuneSelf {
				p = p[1:]
				continue
			}
			_, size := utf8.DecodeRune(p)
			p = p[size:]
		}
	}
	return n
}
