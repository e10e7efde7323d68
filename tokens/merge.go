package tokens

import "sync"

// maxShort is the longest piece that is merged in a plain list, in bytes; nearly all are shorter.
const maxShort = 40

// short merges the bytes of a piece as the encoding defines it: again and again the pair of neighbours
// that is the token of the lowest rank, the first of equals. It gives where the tokens begin, with the
// end of the last.
func (v *vocabulary) short(piece string, starts *[maxShort + 1]uint8) []uint8 {
	var ranks [maxShort + 1]uint32 // of each part joined with the next
	n := len(piece)
	for i := range n {
		starts[i] = uint8(i)
		ranks[i] = none
		if i+1 < n {
			ranks[i] = v.pairs[uint16(piece[i])<<8|uint16(piece[i+1])]
		}
	}
	starts[n] = uint8(n)
	joined := func(i int) uint32 {
		if i+2 > n {
			return none
		}
		return v.rank(piece[starts[i]:starts[i+2]])
	}
	for {
		low, at := none, 0
		for i, r := range ranks[:n] {
			if r < low {
				low, at = r, i
			}
		}
		if low == none {
			return starts[:n+1]
		}
		copy(starts[at+1:n], starts[at+2:n+1])
		copy(ranks[at+1:n-1], ranks[at+2:n])
		n--
		ranks[at] = joined(at)
		if at > 0 {
			ranks[at-1] = joined(at - 1)
		}
	}
}

// long is what merging a long piece needs: the parts as a list in both directions, and a heap of pairs,
// so that the time grows with n log n.
type long struct {
	next, before []int32
	ranks        []uint32
	heap         []uint64 // rank above position; a pair that has changed since is passed over
}

// scratch is kept from one long piece to the next.
var scratch = sync.Pool{New: func() any { return new(long) }}

// long merges the bytes of a piece and gives each token to emit, in order.
func (v *vocabulary) long(piece string, emit func(token string)) {
	l := scratch.Get().(*long)
	defer scratch.Put(l)
	n := len(piece)
	l.reset(n)
	for i := range n {
		l.next[i], l.before[i] = int32(i+1), int32(i-1)
		l.ranks[i] = none
		if i+1 < n {
			l.rank(int32(i), v.pairs[uint16(piece[i])<<8|uint16(piece[i+1])], false)
		}
	}
	l.heapify()
	for len(l.heap) > 0 {
		low := l.pop()
		at := int32(uint32(low))
		if l.ranks[at] != uint32(low>>32) {
			continue
		}
		gone := l.next[at]
		l.ranks[gone] = none
		l.next[at] = l.next[gone]
		after := l.next[at]
		l.ranks[at] = none
		if int(after) < n {
			l.before[after] = at
			l.rank(at, v.rank(piece[at:l.next[after]]), true)
		}
		if p := l.before[at]; p >= 0 {
			l.ranks[p] = none
			l.rank(p, v.rank(piece[p:after]), true)
		}
	}
	for i := int32(0); int(i) < n; i = l.next[i] {
		emit(piece[i:l.next[i]])
	}
}

func (l *long) reset(n int) {
	if cap(l.next) < n {
		l.next, l.before, l.ranks = make([]int32, n), make([]int32, n), make([]uint32, n)
		l.heap = make([]uint64, 0, n+n/2)
	}
	l.next, l.before, l.ranks, l.heap = l.next[:n], l.before[:n], l.ranks[:n], l.heap[:0]
}

// rank sets what the part at a position is when it is joined with the next.
func (l *long) rank(at int32, rank uint32, sift bool) {
	if rank == none {
		return
	}
	l.ranks[at] = rank
	l.heap = append(l.heap, uint64(rank)<<32|uint64(uint32(at)))
	if sift {
		l.up(len(l.heap) - 1)
	}
}

func (l *long) heapify() {
	for i := len(l.heap)/2 - 1; i >= 0; i-- {
		l.down(i)
	}
}

func (l *long) pop() uint64 {
	low, end := l.heap[0], len(l.heap)-1
	l.heap[0] = l.heap[end]
	l.heap = l.heap[:end]
	l.down(0)
	return low
}

func (l *long) up(i int) {
	x := l.heap[i]
	for i > 0 {
		parent := (i - 1) / 2
		if l.heap[parent] <= x {
			break
		}
		l.heap[i] = l.heap[parent]
		i = parent
	}
	l.heap[i] = x
}

func (l *long) down(i int) {
	if i >= len(l.heap) {
		return
	}
	x := l.heap[i]
	for {
		child := 2*i + 1
		if child >= len(l.heap) {
			break
		}
		if child+1 < len(l.heap) && l.heap[child+1] < l.heap[child] {
			child++
		}
		if l.heap[child] >= x {
			break
		}
		l.heap[i] = l.heap[child]
		i = child
	}
	l.heap[i] = x
}
