package membrane

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxBase is how many bytes of a repeated id its fresh one starts with: providers bound the length.
const maxBase = 24

// FreshIDs gives the blocks with an id of its own for every call: one that is empty, is no UTF-8, was
// seen earlier in these blocks, or is used already gets a new one, any other stays. used reports
// whether the conversation has an id already, such as [Request.Mentions]; nil means that none is used.
//
// A new id is the old one (its first 24 bytes; "call" when there was none), a hyphen and a number from
// 2 on (from 1 on when there was none). The same blocks and the same used give the same ids: there is
// no chance in them. An adapter calls it before it makes the message and its fragment, so that the
// call, its fragment and later its result carry one id. The given blocks are not changed; when no id
// is new they are returned as they are.
func FreshIDs(blocks []Block, used func(id string) bool) []Block {
	own := map[string]bool{} // every id that these blocks came with
	for _, b := range blocks {
		if b.Type == Call {
			own[b.CallID] = true
		}
	}
	taken := func(id string) bool { return own[id] || used != nil && used(id) }
	seen := map[string]bool{}
	next := map[string]int{}
	out := blocks
	for i, b := range blocks {
		if b.Type != Call {
			continue
		}
		id := b.CallID
		if id == "" || !utf8.ValidString(id) || seen[id] || used != nil && used(id) {
			if &out[0] == &blocks[0] {
				out = slices.Clone(blocks)
			}
			id = freshID(id, next, taken)
			out[i].CallID = id
			own[id] = true
		}
		seen[id] = true
	}
	return out
}

// freshID finds a free id. It doubles its steps until one is free and then closes in, so that a long
// conversation costs few looks; each look may read the whole request.
func freshID(id string, next map[string]int, taken func(string) bool) string {
	base, first := strings.ToValidUTF8(id, ""), 2
	for len(base) > maxBase {
		_, size := utf8.DecodeLastRuneInString(base)
		base = base[:len(base)-size]
	}
	if base == "" {
		base, first = "call", 1
	}
	name := func(n int) string { return base + "-" + strconv.Itoa(n) }
	low := max(first, next[base]) // all below are taken
	high, step := low, 1
	for step < 1<<40 && taken(name(high)) {
		low, high, step = high+1, high+step, step*2
	}
	for low < high {
		if mid := low + (high-low)/2; taken(name(mid)) {
			low = mid + 1
		} else {
			high = mid
		}
	}
	next[base] = high + 1
	return name(high)
}

// Mentions reports whether the messages of the request hold id as a whole JSON string, as they do when
// a call of the conversation has it. Text that merely quotes the id does not count: there its
// quotation marks are escaped.
func (r Request) Mentions(id string) bool {
	return id != "" && bytes.Contains(r.Messages, quoted(id))
}
