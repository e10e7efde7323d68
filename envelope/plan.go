package envelope

import (
	"math"
	"slices"
	"strconv"
)

// limits are what a form keeps.
type limits struct {
	str        int   // characters of a string that is kept whole
	head, tail int   // characters of the ends of a longer one
	arr        int   // elements of an array
	keys       int   // fields of an object; 0 means all
	names      int   // names of omitted fields that are listed
	depth      int32 // containers this deep are replaced by their marks; 0 means none
}

// The forms of a value: 1 is the value itself, 2 to 4 are those of the stages, 5 is the preview of a stub
// and 6 the outline that is tried when the preview is too long. Each keeps a part of what the one before
// it keeps.
const (
	whole   = 1
	preview = 5
	outline = 6
	forms   = 7
)

// shortest is the length in characters of the longest string that no form shortens.
const shortest = 40

func limitsOf(form int) limits {
	switch form {
	case 2:
		return limits{str: 1000, head: 580, tail: 380, arr: 20}
	case 3:
		return limits{str: 240, head: 130, tail: 80, arr: 5}
	case 4:
		return limits{str: 80, head: 24, tail: 16, arr: 3, keys: 24, names: 24}
	case preview:
		return limits{str: 80, head: 24, tail: 16, arr: 3, keys: 16, names: 12, depth: 3}
	case outline:
		return limits{str: shortest, head: 12, tail: 8, arr: 1, keys: 12, names: 8, depth: 1}
	}
	return limits{str: math.MaxInt, arr: math.MaxInt}
}

// plan knows how long each value is in each form, and which form it takes: a form that makes it no shorter
// is not taken. So what a later form shows is never longer, and never more, than what an earlier one does.
type plan struct {
	*tree
	sizes [forms][]int32
	taken [forms][]uint8
	done  int
	live  []int32 // the values that a form may show, in their order
	list  []int32 // room for the children of one value
}

func newPlan(t *tree) *plan { return &plan{tree: t, done: whole} }

// reach finds the values that a form may show: not the elements that form 2 leaves out, since each form
// keeps a part of what the one before it keeps.
func (p *plan) reach() {
	most := limitsOf(2).arr
	p.live = make([]int32, 0, min(len(p.nodes), 4096))
	for i := int32(0); i < int32(len(p.nodes)); {
		n := &p.nodes[i]
		if n.dead {
			i = n.next
			continue
		}
		if n.kind == '[' && int(n.kids) > most {
			all := p.elements(i)
			for _, c := range all {
				p.nodes[c].dead = true
			}
			for _, c := range p.chooseElements(all, most) {
				p.nodes[c].dead = false
			}
		}
		p.live = append(p.live, i)
		i++
	}
}

// upTo calculates the forms up to this one, in time linear in the nodes.
func (p *plan) upTo(form int) {
	if p.live == nil {
		p.reach()
	}
	for ; p.done < form; p.done++ {
		k := p.done + 1
		deepest := limitsOf(k).depth
		p.sizes[k], p.taken[k] = make([]int32, len(p.nodes)), make([]uint8, len(p.nodes))
		for _, i := range slices.Backward(p.live) {
			if deepest > 0 && p.nodes[i].depth > deepest {
				continue // it is shown by what it stands in, in the form before or not at all
			}
			before := p.size(i, p.done)
			p.sizes[k][i], p.taken[k][i] = before, p.form(i, p.done)
			if n := p.cost(i, k); n < int64(before) {
				p.sizes[k][i], p.taken[k][i] = int32(n), uint8(k)
			}
		}
	}
}

// size is the length of a value in a form, with its mark.
func (p *plan) size(i int32, form int) int32 {
	if form == whole {
		return p.nodes[i].end - p.nodes[i].start
	}
	return p.sizes[form][i]
}

// form is the form that a value takes where it is asked for in this one.
func (p *plan) form(i int32, form int) uint8 {
	if form == whole {
		return whole
	}
	return p.taken[form][i]
}

// cost is how long a value is in a form if it takes it. It may be more than an int32 has room for.
func (p *plan) cost(i int32, form int) int64 {
	n := &p.nodes[i]
	own := int64(n.end - n.start)
	if n.guard == protected && form <= 4 || n.guard == primary && form == 4 {
		return math.MaxInt64
	}
	l := limitsOf(form)
	switch n.kind {
	case '"':
		if int(n.chars) <= l.str {
			return own
		}
		head, tail := p.cut(n, l)
		return int64(head+tail+2) + int64(markLen(int(n.chars)-l.head-l.tail))
	case '[':
		return p.costArray(i, n, form, l)
	case '{':
		return p.costObject(i, n, form, l)
	}
	return own
}

// cut is how many bytes of a string's two ends are kept.
func (p *plan) cut(n *node, l limits) (head, tail int) {
	inside := p.src[n.start+1 : n.end-1]
	head = skip(inside, l.head, int(n.chars))
	return head, len(inside) - skip(inside, int(n.chars)-l.tail, int(n.chars))
}

// elements collects the children of a value.
func (p *plan) elements(i int32) []int32 {
	p.list = p.list[:0]
	for c := i + 1; c < p.nodes[i].next; c = p.nodes[c].next {
		p.list = append(p.list, c)
	}
	return p.list
}

// isDeep reports whether a container stands so deep that only its mark is shown.
func (n *node) isDeep(l limits) bool { return l.depth > 0 && n.depth >= l.depth && n.kids > 0 }

func (p *plan) costArray(i int32, n *node, form int, l limits) int64 {
	kept := int(n.kids)
	sum := int64(0)
	switch {
	case n.isDeep(l):
		kept = 0
	case kept <= l.arr:
		for c := i + 1; c < n.next; c = p.nodes[c].next {
			sum += int64(p.size(c, form))
		}
	default:
		chosen := p.chooseElements(p.elements(i), l.arr)
		for _, c := range chosen {
			sum += int64(p.size(c, form))
		}
		kept = len(chosen)
	}
	sum += 2 + int64(max(kept-1, 0))
	if omitted := int(n.kids) - kept; omitted > 0 {
		if n.keyEnd > 0 {
			return sum + int64(1+p.sideLen(i)+1+digits(omitted))
		}
		sum += int64(len(p.endMark(omitted)))
		if kept > 0 {
			sum++
		}
	}
	return sum
}

// chooseElements gives the elements that an array keeps, in their order: the first and the last, then
// those that say that they failed, then three of the head for two of the tail. A smaller number keeps a
// part of what a larger one does.
func (p *plan) chooseElements(all []int32, most int) []int32 {
	if len(all) <= most {
		return all
	}
	chosen := make([]int32, 0, most)
	take := func(c int32) {
		if len(chosen) < most && !slices.Contains(chosen, c) {
			chosen = append(chosen, c)
		}
	}
	take(all[0])
	take(all[len(all)-1])
	for _, c := range all {
		if len(chosen) == most {
			break
		}
		if p.nodes[c].fails {
			take(c)
		}
	}
	for head, tail, turn := 1, len(all)-2, 0; len(chosen) < most && head <= tail; turn++ {
		if turn%5 == 1 || turn%5 == 4 {
			take(all[tail])
			tail--
		} else {
			take(all[head])
			head++
		}
	}
	slices.Sort(chosen)
	return chosen
}

func (p *plan) costObject(i int32, n *node, form int, l limits) int64 {
	var sum int64
	kept := 0
	field := func(c int32) {
		sum += int64(p.keyLen(c, l)) + 1 + int64(p.size(c, form))
		kept++
	}
	var left []int32
	switch {
	case n.isDeep(l):
		left = p.elements(i)
	case l.keys == 0 || int(n.kids) <= l.keys:
		for c := i + 1; c < n.next; c = p.nodes[c].next {
			field(c)
		}
	default:
		var chosen []int32
		chosen, left = p.chooseFields(p.elements(i), l, form)
		for _, c := range chosen {
			field(c)
		}
	}
	sum += 2 + int64(max(kept-1, 0))
	if len(left) > 0 {
		sum += int64(p.namesLen(i, left, l))
		if kept > 0 {
			sum++
		}
	}
	if i == 0 && form == 4 {
		sum += int64(len(p.truncatedMark()))
		if kept > 0 || len(left) > 0 {
			sum++
		}
	}
	return sum
}

// chooseFields gives the fields that an object keeps, the declared ones first, and the others in their
// order. The forms of stages keep every declared field.
func (p *plan) chooseFields(all []int32, l limits, form int) (chosen, left []int32) {
	declared := []int32{}
	others := 0
	for _, c := range all {
		if p.nodes[c].rank > 0 {
			declared = append(declared, c)
		}
	}
	slices.SortStableFunc(declared, func(a, b int32) int { return int(p.nodes[a].rank - p.nodes[b].rank) })
	if form > 4 && len(declared) > l.keys {
		declared = declared[:l.keys]
	}
	inFront := map[int32]bool{}
	for _, c := range declared {
		inFront[c] = true
	}
	chosen = slices.Clone(declared)
	for _, c := range all {
		switch {
		case inFront[c]:
		case len(declared)+others < l.keys:
			others++
			chosen = append(chosen, c)
		default:
			left = append(left, c)
		}
	}
	return chosen, left
}

// keyLen is the length of a key in a form, quotation marks included.
func (p *plan) keyLen(c int32, l limits) int {
	n := &p.nodes[c]
	if int(n.keyEnd-n.keyStart)-2 <= l.str {
		return int(n.keyEnd - n.keyStart)
	}
	return len(p.shortKey(c, l))
}

// shortKey is a key in a form: one that is longer than a string may be keeps its ends, and the number of
// its place, so that two of them stay two.
func (p *plan) shortKey(c int32, l limits) []byte {
	n := &p.nodes[c]
	key := p.key(n)
	if len(key)-2 <= l.str {
		return key
	}
	inside := key[1 : len(key)-1]
	all := chars(inside)
	if all <= l.str {
		return key
	}
	out := append([]byte{'"'}, inside[:skip(inside, l.head, all)]...)
	out = append(out, "…["...)
	out = strconv.AppendInt(out, int64(all-l.head-l.tail), 10)
	out = append(out, " characters omitted, value "...)
	out = strconv.AppendInt(out, int64(c), 10)
	out = append(append(out, "]…"...), inside[skip(inside, all-l.tail, all):]...)
	if out = append(out, '"'); len(out) >= len(key) {
		return key
	}
	return out
}

// emit writes a value in a form.
func (p *plan) emit(dst []byte, i int32, form int) []byte {
	n := &p.nodes[i]
	form = int(p.form(i, form))
	l := limitsOf(form)
	if form == whole {
		return append(dst, p.src[n.start:n.end]...)
	}
	switch n.kind {
	case '"':
		head, tail := p.cut(n, l)
		dst = append(dst, p.src[n.start:int(n.start)+1+head]...)
		dst = appendMark(dst, int(n.chars)-l.head-l.tail)
		return append(dst, p.src[int(n.end)-1-tail:n.end]...)
	case '[':
		return p.emitArray(dst, i, n, form, l)
	case '{':
		return p.emitObject(dst, i, n, form, l)
	}
	return append(dst, p.src[n.start:n.end]...)
}

func (p *plan) emitArray(dst []byte, i int32, n *node, form int, l limits) []byte {
	chosen := []int32{}
	if !n.isDeep(l) {
		chosen = slices.Clone(p.chooseElements(p.elements(i), l.arr))
	}
	dst = append(dst, '[')
	for at, c := range chosen {
		if at > 0 {
			dst = append(dst, ',')
		}
		dst = p.emit(dst, c, form)
	}
	omitted := int(n.kids) - len(chosen)
	if omitted > 0 && n.keyEnd == 0 {
		if len(chosen) > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, p.endMark(omitted)...)
	}
	dst = append(dst, ']')
	if omitted > 0 && n.keyEnd > 0 {
		dst = append(append(append(dst, ','), p.sideKey(i)...), ':')
		dst = strconv.AppendInt(dst, int64(omitted), 10)
	}
	return dst
}

func (p *plan) emitObject(dst []byte, i int32, n *node, form int, l limits) []byte {
	chosen, left := slices.Clone(p.elements(i)), []int32(nil)
	switch {
	case n.isDeep(l):
		chosen, left = nil, chosen
	case l.keys > 0 && int(n.kids) > l.keys:
		chosen, left = p.chooseFields(chosen, l, form)
	}
	dst = append(dst, '{')
	for at, c := range chosen {
		if at > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(dst, p.shortKey(c, l)...), ':')
		dst = p.emit(dst, c, form)
	}
	comma := len(chosen) > 0
	if len(left) > 0 {
		if comma {
			dst = append(dst, ',')
		}
		dst = append(dst, p.namesMark(i, left, l)...)
		comma = true
	}
	if i == 0 && form == 4 {
		if comma {
			dst = append(dst, ',')
		}
		dst = append(dst, p.truncatedMark()...)
	}
	return append(dst, '}')
}

// show is the whole value in a form.
func (p *plan) show(form int) []byte {
	p.upTo(form)
	return p.emit(make([]byte, 0, p.size(0, form)), 0, form)
}

// mostOmitted is the field of the root of which a form omits the most elements, and how many; without one
// the name is empty. The first of several wins.
func (p *plan) mostOmitted(form int) (name string, count int) {
	p.upTo(form)
	if p.form(0, form) == whole {
		return "", 0
	}
	root := int(p.form(0, form))
	best := int32(-1)
	for c := int32(1); c < p.nodes[0].next && p.nodes[0].kind == '{'; c = p.nodes[c].next {
		n := &p.nodes[c]
		own := int(p.form(c, root))
		if n.kind != '[' || own == whole {
			continue
		}
		l := limitsOf(own)
		kept := min(int(n.kids), l.arr)
		if n.isDeep(l) {
			kept = 0
		}
		if omitted := int(n.kids) - kept; omitted > count {
			best, count = c, omitted
		}
	}
	if best < 0 {
		if n := &p.nodes[0]; n.kind == '[' {
			return "", max(int(n.kids)-limitsOf(root).arr, 0)
		}
		return "", 0
	}
	return p.keyName(&p.nodes[best]), count
}
