package history

import (
	"context"
	"crypto/sha256"
	"fmt"
)

// stretch is what [Verify] keeps of an epoch.
type stretch struct {
	base, baseCount int
	head            [32]byte
	// edges is the length of head and tail.
	edges int64
	// led says that a comma stands before the first fragment: the head ends in an element.
	led bool
	// last is the position of its last fragment.
	last int
}

// place is a position in an epoch's own fragments; the zero place is before every first fragment.
type place struct{ epoch, pos int }

// standing is what an epoch comes to at a place.
type standing struct {
	chain [32]byte
	// bytes is the sum of the fragments, filled the number of those that are not empty.
	bytes, filled int64
}

// replay recomputes heads, chains and what requests were made of. Only an epoch's own fragments are
// read: what it shares with its base was read there.
func (v *verifier) replay(ctx context.Context) error {
	epochs, err := v.s.Epochs(ctx, v.conversation)
	if err != nil {
		return err
	}
	requests, err := v.s.Requests(ctx, v.conversation)
	if err != nil {
		return err
	}
	v.stretches = map[int]*stretch{}
	v.at = map[place]standing{}
	for i, e := range epochs {
		v.epoch(e, i+1)
	}
	// Where later epochs and requests refer to; nothing is kept of any other place.
	for _, s := range v.stretches {
		v.at[v.owner(s.base, s.baseCount)] = standing{}
	}
	for _, r := range requests {
		v.at[v.owner(r.Epoch, r.LastPos)] = standing{}
	}
	for _, e := range epochs {
		if err := v.fragments(ctx, e.N, v.stretches[e.N]); err != nil {
			return err
		}
	}
	for i, r := range requests {
		v.request(r, i+1)
	}
	return nil
}

func (v *verifier) epoch(e Epoch, n int) {
	where := fmt.Sprintf("epoch %d", e.N)
	if e.N != n {
		v.report(ProblemSequence, where, "stands where epoch %d is expected", n)
	}
	s := &stretch{
		base: e.Base, baseCount: e.BaseCount, head: sha256.Sum256(e.Head), edges: int64(len(e.Head) + len(e.Tail)),
		led: len(e.Head) > 0 && e.Head[len(e.Head)-1] != '[',
	}
	if v.stretches[e.Base] == nil && (e.Base != 0 || e.BaseCount != 0) || e.BaseCount < 0 {
		v.report(ProblemSequence, where, "begins with %d fragments of epoch %d", e.BaseCount, e.Base)
		s.base, s.baseCount = 0, 0
	}
	if s.head != e.HeadSHA {
		v.report(ProblemHead, where, "the head has the hash %.8x, its row says %.8x", s.head, e.HeadSHA)
	}
	v.stretches[e.N] = s
}

// owner is the place in whose own fragments a position of an epoch lies.
func (v *verifier) owner(epoch, pos int) place {
	s := v.stretches[epoch]
	for s != nil && pos > 0 && pos <= s.baseCount {
		epoch = s.base
		s = v.stretches[epoch]
	}
	if s == nil || pos <= 0 {
		return place{}
	}
	return place{epoch, pos}
}

// fragments walks an epoch's own fragments.
func (v *verifier) fragments(ctx context.Context, n int, s *stretch) error {
	if base := v.stretches[s.base]; base != nil && s.baseCount > base.last {
		v.report(ProblemSequence, fmt.Sprintf("epoch %d", n), "begins with %d fragments of epoch %d, which has %d", s.baseCount, s.base, base.last)
	}
	now := v.at[v.owner(s.base, s.baseCount)]
	s.last = s.baseCount
	return v.s.Fragments(ctx, v.conversation, n, s.baseCount, func(f Fragment) error {
		where := fmt.Sprintf("epoch %d fragment %d", n, f.Pos)
		if f.Pos != s.last+1 {
			v.report(ProblemSequence, where, "follows fragment %d", s.last)
		}
		if f.Seq < 1 || f.Seq > v.lastSeq {
			v.report(ProblemSequence, where, "encodes message %d, and the last is %d", f.Seq, v.lastSeq)
		}
		s.last = f.Pos
		now.chain = Chain(now.chain, f.Bytes)
		if now.chain != f.Chain {
			v.report(ProblemChain, where, "the chain is %.8x, its row says %.8x", now.chain, f.Chain)
			now.chain = f.Chain // the next ones are judged by what they follow
		}
		if len(f.Bytes) > 0 {
			now.bytes += int64(len(f.Bytes))
			now.filled++
		}
		if _, wanted := v.at[place{n, f.Pos}]; wanted {
			v.at[place{n, f.Pos}] = now
		}
		return nil
	})
}

func (v *verifier) request(r Request, n int) {
	where := fmt.Sprintf("request %d", r.N)
	if r.N != n {
		v.report(ProblemSequence, where, "stands where request %d is expected", n)
	}
	s := v.stretches[r.Epoch]
	if s == nil || r.LastPos < 0 || r.LastPos > s.last {
		v.report(ProblemRequest, where, "ends at fragment %d of epoch %d, which is not stored", r.LastPos, r.Epoch)
		return
	}
	is := v.at[v.owner(r.Epoch, r.LastPos)]
	if r.HeadSHA != s.head {
		v.report(ProblemRequest, where, "the head has the hash %.8x, the request was made of %.8x", s.head, r.HeadSHA)
	}
	if r.Chain != is.chain {
		v.report(ProblemRequest, where, "the chain at fragment %d is %.8x, the request was made of %.8x", r.LastPos, is.chain, r.Chain)
	}
	messages := is.bytes + max(is.filled-1, 0)
	if s.led && is.filled > 0 {
		messages++
	}
	if r.MessageBytes != messages {
		v.report(ProblemRequest, where, "the fragments have %d bytes, the request had %d", messages, r.MessageBytes)
	}
	if total := messages + s.edges; r.TotalBytes != total {
		v.report(ProblemRequest, where, "the body has %d bytes, the request had %d", total, r.TotalBytes)
	}
}
