package tokens

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class says what a character is to the patterns that part a text.
type class uint8

const (
	capital  class = 1 << iota // Lu, Lt
	caseless                   // Lm, Lo
	small                      // Ll
	accent                     // M
	number                     // N
	blank                      // white space
	newline                    // \r and \n, which are blank too

	letter = capital | caseless | small
	// head and rest are the two parts of a word in o200k_base; what is in both may end the first.
	head = capital | caseless | accent
	rest = small | caseless | accent
	both = head & rest
)

// alphabet knows the class of each character: one lookup for ASCII, two for others.
type alphabet struct {
	ascii  [utf8.RuneSelf]class
	pages  [(unicode.MaxRune + 1) >> 8]uint16
	blocks [][256]class
}

// alphabetOnce makes the tables from those of package unicode, whose version is that of the Go release:
// what Unicode names later is neither letter nor number here.
var alphabetOnce = sync.OnceValue(func() *alphabet {
	c := &alphabet{blocks: make([][256]class, 1, 512)}
	for _, of := range []struct {
		table *unicode.RangeTable
		is    class
	}{
		{unicode.Lu, capital},
		{unicode.Lt, capital},
		{unicode.Lm, caseless},
		{unicode.Lo, caseless},
		{unicode.Ll, small},
		{unicode.M, accent},
		{unicode.N, number},
		{unicode.White_Space, blank},
	} {
		for _, r := range of.table.R16 {
			c.mark(rune(r.Lo), rune(r.Hi), rune(r.Stride), of.is)
		}
		for _, r := range of.table.R32 {
			c.mark(rune(r.Lo), rune(r.Hi), rune(r.Stride), of.is)
		}
	}
	c.mark('\n', '\n', 1, newline)
	c.mark('\r', '\r', 1, newline)
	for i := range c.ascii {
		c.ascii[i] = c.blocks[c.pages[0]][i]
	}
	return c
})

func (c *alphabet) mark(low, high, stride rune, is class) {
	for r := low; r <= high; r += stride {
		if c.pages[r>>8] == 0 {
			c.pages[r>>8] = uint16(len(c.blocks))
			c.blocks = append(c.blocks, [256]class{})
		}
		c.blocks[c.pages[r>>8]][r&0xFF] |= is
	}
}

// at gives the class of the character that begins at i, which lies within the text, and its bytes.
func (c *alphabet) at(text string, i int) (class, int) {
	if b := text[i]; b < utf8.RuneSelf {
		return c.ascii[b], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	return c.blocks[c.pages[r>>8]][r&0xFF], size
}

// run gives the end of the characters from i on that are in one of the classes.
func (c *alphabet) run(text string, i int, in class) int {
	for i < len(text) {
		is, size := c.at(text, i)
		if is&in == 0 {
			break
		}
		i += size
	}
	return i
}
