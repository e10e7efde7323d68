package history

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"

	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/spill"
)

// Source is what [Verify] reads. Every [Store] is one.
type Source interface {
	Reader
	Replay
	// Spills is where whole results over the cap are kept.
	Spills() spill.Store
}

// The kinds of problems.
const (
	// ProblemSequence is a gap or a repetition in what is numbered, or a reference to nothing.
	ProblemSequence = "sequence"
	// ProblemHead is a head that is not what its hash names.
	ProblemHead = "head"
	// ProblemChain is a fragment whose chain does not follow.
	ProblemChain = "chain"
	// ProblemRequest is a request that the stored bytes do not give.
	ProblemRequest = "request"
	// ProblemRound is a round or a call whose state contradicts the rest.
	ProblemRound = "round"
	// ProblemMessage is a message, or the arguments of a call, that are not what their hash names.
	ProblemMessage = "message"
	// ProblemResult is a result that is not what its hash and its figures name.
	ProblemResult = "result"
	// ProblemSpill is a kept file that is missing or is not what its row names.
	ProblemSpill = "spill"
	// ProblemMore says that there are more problems than were listed.
	ProblemMore = "more"
)

// maxProblems bounds what one [Verify] lists.
const maxProblems = 1000

// Problem is one contradiction in what is stored.
type Problem struct {
	Kind string
	// Where names the row: "r3-1", "epoch 2 fragment 14", "request 7".
	Where string
	What  string
}

// String is the problem in one line.
func (p Problem) String() string { return p.Where + ": " + p.What }

// Verify recomputes what is stored of a conversation and returns every contradiction, at most 1000 and one
// that says that there are more: the numbers of turns, messages, rounds, calls, requests and events; each
// head's hash; each fragment's chain; each request's head, chain and length; each result's hash and
// figures, and those of every kept file, which it reads to the end; and that closed rounds are answered.
// It holds one fragment, one result and 64 KiB of a file at a time, beside the lists that a [Reader]
// returns. An error means that reading itself failed, ErrNotFound that there is no such conversation.
func Verify(ctx context.Context, s Source, conversation string) ([]Problem, error) {
	v := &verifier{s: s, conversation: conversation}
	if _, err := s.Conversation(ctx, conversation); err != nil {
		return nil, fmt.Errorf("verify: %w", err)
	}
	for _, step := range []func(context.Context) error{v.messages, v.turns, v.events, v.replay, v.rounds, v.results, v.files} {
		if err := step(ctx); err != nil {
			return v.problems, fmt.Errorf("verify conversation %s: %w", conversation, err)
		}
		if len(v.problems) > maxProblems {
			break
		}
	}
	return v.problems, nil
}

type verifier struct {
	s            Source
	conversation string
	problems     []Problem

	lastSeq int64
	lastN   int // of the turns
	// stretches and at are what replay reads.
	stretches map[int]*stretch
	at        map[place]standing
	// closers are the messages that close a round, by their sequence number.
	closers map[int64]int
	closed  map[int]bool
	// checked are the kept files that a result was compared with.
	checked map[string]bool
}

func (v *verifier) report(kind, where, format string, args ...any) {
	switch n := len(v.problems); {
	case n < maxProblems:
		v.problems = append(v.problems, Problem{Kind: kind, Where: where, What: fmt.Sprintf(format, args...)})
	case n == maxProblems:
		v.problems = append(v.problems, Problem{Kind: ProblemMore, Where: "conversation", What: "there are more problems than are listed"})
	}
}

func (v *verifier) messages(ctx context.Context) error {
	messages, err := v.s.Messages(ctx, v.conversation, 0)
	if err != nil {
		return err
	}
	v.closers = map[int64]int{}
	for _, m := range messages {
		if m.Seq != v.lastSeq+1 {
			v.report(ProblemSequence, fmt.Sprintf("message %d", m.Seq), "follows message %d", v.lastSeq)
		}
		v.lastSeq = m.Seq
		if m.Damaged() {
			v.report(ProblemMessage, fmt.Sprintf("message %d", m.Seq), "is not what its hash names")
		}
		if m.Round > 0 {
			v.closers[m.Seq] = m.Round
		}
	}
	return nil
}

func (v *verifier) turns(ctx context.Context) error {
	turns, err := v.s.TurnsOf(ctx, v.conversation)
	if err != nil {
		return err
	}
	for i, t := range turns {
		where := fmt.Sprintf("turn %d", t.N)
		if t.N != v.lastN+1 {
			v.report(ProblemSequence, where, "follows turn %d", v.lastN)
		}
		v.lastN = t.N
		if i < len(turns)-1 && t.State != TurnEnded {
			v.report(ProblemSequence, where, "is %s, and another turn follows", t.State)
		}
		if t.FirstSeq < 1 || t.FirstSeq > v.lastSeq+1 {
			v.report(ProblemSequence, where, "begins with message %d, and the last is %d", t.FirstSeq, v.lastSeq)
		}
	}
	return nil
}

func (v *verifier) events(ctx context.Context) error {
	events, err := v.s.Events(ctx, v.conversation, 0)
	if err != nil {
		return err
	}
	last := int64(0)
	for _, e := range events {
		if e.Seq != last+1 {
			v.report(ProblemSequence, fmt.Sprintf("event %d", e.Seq), "follows event %d", last)
		}
		last = e.Seq
	}
	return nil
}

func (v *verifier) rounds(ctx context.Context) error {
	rounds, err := v.s.RoundsOf(ctx, v.conversation)
	if err != nil {
		return err
	}
	v.closed = map[int]bool{}
	for i, r := range rounds {
		where := fmt.Sprintf("round %d", r.N)
		if r.N != i+1 {
			v.report(ProblemSequence, where, "stands where round %d is expected", i+1)
		}
		v.closed[r.N] = r.Closed
		switch {
		case !r.Closed && i < len(rounds)-1 && (r.Turn > 0 || r.Seq > 0):
			v.report(ProblemRound, where, "is open, and another round follows")
		case r.Closed && r.Seq > 0 && (r.ResultsSeq <= r.Seq || v.closers[r.ResultsSeq] != r.N):
			v.report(ProblemRound, where, "is closed, and message %d is not its results message", r.ResultsSeq)
		}
		if r.Seq > 0 && v.closers[r.Seq] != r.N {
			v.report(ProblemRound, where, "is not opened by message %d", r.Seq)
		}
		calls, err := v.s.CallsOf(ctx, v.conversation, r.N)
		if err != nil {
			return err
		}
		v.calls(r, calls)
	}
	return nil
}

func (v *verifier) calls(r Round, calls []Call) {
	index := 0
	for _, c := range calls {
		if c.ArgsSHA256 != sha256.Sum256(c.Args) {
			v.report(ProblemMessage, c.ID.String(), "has arguments that are not what their hash names")
		}
		if c.ID.Sub > 0 {
			continue
		}
		if index++; c.ID.Index != index {
			v.report(ProblemSequence, c.ID.String(), "stands where call %d is expected", index)
		}
		if answered := c.State == CallAnswered; answered != r.Closed {
			v.report(ProblemRound, c.ID.String(), "is %s in a round that is closed: %t", c.State, r.Closed)
		}
	}
	if index != r.Calls {
		v.report(ProblemRound, fmt.Sprintf("round %d", r.N), "has %d calls, and is said to have %d", index, r.Calls)
	}
}

func (v *verifier) results(ctx context.Context) error {
	calls, err := v.s.CallsOf(ctx, v.conversation, 0)
	if err != nil {
		return err
	}
	v.checked = map[string]bool{}
	for _, c := range calls {
		if len(v.problems) > maxProblems {
			return nil
		}
		if v.closed[c.ID.Round] && c.ID.Sub == 0 && c.State != CallAnswered {
			continue // reported with its round
		}
		r, err := v.s.ResultOf(ctx, v.conversation, c.ID)
		has := c.State == CallSettled || c.State == CallAnswered
		switch {
		case errors.Is(err, ErrNotFound):
			if has {
				v.report(ProblemResult, c.ID.String(), "is %s, and has no result", c.State)
			}
			continue
		case err != nil:
			return err
		case !has:
			v.report(ProblemResult, c.ID.String(), "is %s, and has a result", c.State)
		}
		if c.State == CallAnswered && c.ID.Sub == 0 && r.Shown == nil && !r.Same {
			v.report(ProblemResult, c.ID.String(), "is answered, and what was shown is not stored")
		}
		if r.Shown != nil && !r.Same && r.ShownSHA256 != ([32]byte{}) {
			if sum := sha256.Sum256(r.Shown); sum != r.ShownSHA256 {
				v.report(ProblemResult, c.ID.String(), "what was shown has the hash %.8x, the result says %.8x", sum, r.ShownSHA256)
			}
		}
		if err := v.result(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// figures are what a text is compared by.
type figures struct {
	index lines.Index
	sum   [32]byte
}

func (v *verifier) result(ctx context.Context, r Result) error {
	where := r.ID.String()
	if r.Whole != nil {
		v.compare(ProblemResult, where, "the stored text", r, figures{lines.Of(r.Whole), sha256.Sum256(r.Whole)})
	}
	if r.Spill == nil {
		if r.Whole == nil {
			v.report(ProblemResult, where, "has neither its whole text nor a file")
		}
		return nil
	}
	f, err := v.file(ctx, *r.Spill, where)
	if err != nil || f == nil {
		return err
	}
	if r.Spill.Complete {
		v.compare(ProblemSpill, where, "the file "+r.Spill.File, r, *f)
	}
	return nil
}

// compare holds what a result says of its whole text against the text.
func (v *verifier) compare(kind, where, what string, r Result, f figures) {
	for _, c := range []struct {
		name     string
		said, is int64
	}{{"bytes", r.Bytes, f.index.Bytes}, {"lines", r.Lines, f.index.Lines}, {"characters", r.Chars, f.index.Chars}} {
		if c.said != c.is {
			v.report(kind, where, "%s has %d %s, the result says %d", what, c.is, c.name, c.said)
		}
	}
	if r.SHA256 != f.sum {
		v.report(kind, where, "%s has the hash %.8x, the result says %.8x", what, f.sum, r.SHA256)
	}
}

// files checks the kept files that are no result's text, such as images.
func (v *verifier) files(ctx context.Context) error {
	refs, err := v.s.SpillsOf(ctx, v.conversation)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if v.checked[ref.Name] {
			continue
		}
		if _, err := v.file(ctx, ref, ref.Path()); err != nil {
			return err
		}
	}
	return nil
}

// file reads a kept file to its end and compares it with its row; nil when it cannot be read.
func (v *verifier) file(ctx context.Context, ref spill.Ref, where string) (*figures, error) {
	v.checked[ref.Name] = true
	if !ref.Complete {
		v.report(ProblemSpill, where, "the file %s holds only a part of the text", ref.File)
	}
	f, err := v.s.Spills().Open(ctx, ref.File)
	if err != nil {
		v.report(ProblemSpill, where, "the file cannot be opened: %v", err)
		return nil, ctx.Err()
	}
	defer f.Close()
	var x lines.Indexer
	sum := sha256.New()
	if _, err := io.CopyBuffer(io.MultiWriter(&x, sum), whole(ctx, f), make([]byte, lines.BlockSize)); err != nil {
		v.report(ProblemSpill, where, "the file %s cannot be read: %v", ref.File, err)
		return nil, ctx.Err()
	}
	is := figures{x.Index(), [32]byte(sum.Sum(nil))}
	if is.index.Bytes != ref.Index.Bytes {
		v.report(ProblemSpill, where, "the file %s has %d bytes, its row says %d", ref.File, is.index.Bytes, ref.Index.Bytes)
		return &is, nil
	}
	if is.sum != ref.SHA256 {
		v.report(ProblemSpill, where, "the file %s has the hash %.8x, its row says %.8x", ref.File, is.sum, ref.SHA256)
	}
	if is.index.Lines != ref.Index.Lines || is.index.Chars != ref.Index.Chars {
		v.report(ProblemSpill, where, "the file %s has %d lines and %d characters, its row says %d and %d", ref.File,
			is.index.Lines, is.index.Chars, ref.Index.Lines, ref.Index.Chars)
	}
	if block := differs(is.index.Counts, ref.Index.Counts); block >= 0 {
		v.report(ProblemSpill, where, "the file %s: the row has another number of newlines in block %d", ref.File, block)
	}
	return &is, nil
}

// differs returns the first block whose counts differ, -1 for none.
func differs(a, b lines.Counts) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return -1
}

// reader is a Read method.
type reader func([]byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// whole reads a file from its beginning, and stops when ctx ends.
func whole(ctx context.Context, f io.ReaderAt) io.Reader {
	at := int64(0)
	return reader(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := f.ReadAt(p, at)
		at += int64(n)
		if n > 0 && errors.Is(err, io.EOF) {
			err = nil
		}
		return n, err
	})
}
