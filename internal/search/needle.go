package search

import "bytes"

const (
	// maxNeedle bounds what of a text is looked for; the regexp looks at the rest.
	maxNeedle = 64
	// maxCursors is how many needles are looked for one by one.
	maxCursors = 8
)

// needle is text that is looked for, by its rarest byte.
type needle struct {
	text []byte // lower case when fold
	fold bool
	rare int  // where the rarest byte stands
	next int  // where the second rarest stands
	low  byte // the rarest byte
	up   byte // its upper case; equal to low when it has none
}

func newNeedle(l lit) needle {
	n := needle{text: []byte(l.text[:min(len(l.text), maxNeedle)]), fold: l.fold}
	best, second := 1<<30, 1<<30
	for i, c := range n.text {
		f := often(c)
		if n.fold {
			f = oftenFold(c)
		}
		switch {
		case f < best:
			second, n.next = best, n.rare
			best, n.rare, n.low, n.up = f, i, c, c
		case f < second:
			second, n.next = f, i
		}
	}
	if up, ok := upper(n.low); ok && n.fold {
		n.up = up
	}
	return n
}

// at reports whether the needle stands at this place; b is long enough.
func (n *needle) at(b []byte) bool {
	if !n.fold {
		return bytes.Equal(b[:len(n.text)], n.text)
	}
	for i, c := range n.text {
		x := b[i]
		if 'A' <= x && x <= 'Z' {
			x |= 0x20
		}
		if x != c {
			return false
		}
	}
	return true
}

// cursor goes through a chunk with one needle. It remembers what it has seen ahead, so that several
// cursors together read each byte once for each needle.
type cursor struct {
	n        *needle
	hit      int // the next hit, valid while it is not before the place asked for
	low, up  int // the next places of the rarest byte in its two cases
	searched bool
}

// gone is a place behind every chunk.
const gone = int(^uint(0) >> 1)

func (c *cursor) reset() { c.hit, c.low, c.up, c.searched = -1, -1, -1, false }

// next returns the first hit at or after at, -1 when there is none.
func (c *cursor) next(b []byte, at int) int {
	if !c.searched || c.hit < at && c.hit >= 0 {
		c.searched = true
		c.hit = c.find(b, at)
	}
	return c.hit
}

func (c *cursor) find(b []byte, at int) int {
	n := c.n
	if !n.fold {
		return n.exact(b, at)
	}
	last := len(b) - len(n.text) // the last place where the needle could stand
	for at <= last {
		c.low = ahead(b, n.low, c.low, at+n.rare)
		place := c.low
		if n.up != n.low {
			c.up = ahead(b, n.up, c.up, at+n.rare)
			place = min(place, c.up)
		}
		if place == gone || place-n.rare > last {
			return -1
		}
		at = place - n.rare
		if n.at(b[at:]) {
			return at
		}
		at++
	}
	return -1
}

// ahead returns the first place of a byte at or after from, given the last one that was found.
func ahead(b []byte, c byte, known, from int) int {
	if known >= from {
		return known
	}
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return gone
}

// exact finds a needle whose case counts. Where its rarest byte turns out to be common it leaves the
// search to bytes.Index, which is linear for every text.
func (n *needle) exact(b []byte, at int) int {
	last := len(b) - len(n.text)
	begin, fails := at, 0
	for at <= last {
		i := bytes.IndexByte(b[at+n.rare:], n.low)
		if i < 0 || at+i > last {
			return -1
		}
		at += i
		if b[at+n.next] == n.text[n.next] && n.at(b[at:]) {
			return at
		}
		at++
		if fails++; fails > 8+(at-begin)/32 {
			if i := bytes.Index(b[at:], n.text); i >= 0 {
				return at + i
			}
			return -1
		}
	}
	return -1
}

// table finds many needles at once: the first two bytes of a place must fit the same group.
type table struct {
	first, second [256]uint8
	groups        [8][]*needle
	short         bool // some needle has one byte
}

func newTable(needles []needle) *table {
	t := &table{}
	for i := range needles {
		n := &needles[i]
		g := i % len(t.groups)
		t.groups[g] = append(t.groups[g], n)
		set(&t.first, n, 0, g)
		if len(n.text) > 1 {
			set(&t.second, n, 1, g)
			continue
		}
		t.short = true
		for c := range t.second {
			t.second[c] |= 1 << g
		}
	}
	return t
}

// set marks the byte of a needle, in both cases where they are equal to it.
func set(to *[256]uint8, n *needle, i, g int) {
	to[n.text[i]] |= 1 << g
	if up, ok := upper(n.text[i]); ok && n.fold {
		to[up] |= 1 << g
	}
}

// index returns the first place at or after at where a needle stands, -1 when there is none.
func (t *table) index(b []byte, at int) int {
	for ; at+1 < len(b); at++ {
		bits := t.first[b[at]] & t.second[b[at+1]]
		if bits != 0 && t.stands(bits, b[at:]) {
			return at
		}
	}
	if t.short && at < len(b) && t.first[b[at]] != 0 && t.stands(t.first[b[at]], b[at:]) {
		return at
	}
	return -1
}

func (t *table) stands(bits uint8, b []byte) bool {
	for g := range t.groups {
		if bits&(1<<g) == 0 {
			continue
		}
		for _, n := range t.groups[g] {
			if len(n.text) <= len(b) && n.at(b) {
				return true
			}
		}
	}
	return false
}
