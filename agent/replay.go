package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
)

// replay is a conversation as it goes on the wire: the head of its epoch and the fragments of all its
// messages, joined. It only ever grows, and it grows by stored bytes: nothing is made again.
type replay struct {
	epoch history.Epoch
	// messages are the fragments, joined. Appending never rewrites what is there, so a request may read
	// a shorter prefix while this grows.
	messages []byte
	pos      int
	chain    [32]byte
	// seq is the last message, request the last request announced; asked says that its end is not stored.
	seq     int64
	request int
	asked   bool
}

// maxGuess is the most memory that is taken on the word of the request log.
const maxGuess = 64 << 20

// load reads the conversation's latest epoch; an empty replay when it has none. bytes is about how long its
// messages are, so that they are joined in one piece of memory.
func load(ctx context.Context, store history.Store, conversation string, bytes int64) (*replay, error) {
	r := &replay{}
	epochs, err := store.Epochs(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("read the epochs of %s: %w", conversation, err)
	}
	if len(epochs) == 0 {
		return r, nil
	}
	r.epoch = epochs[len(epochs)-1]
	r.messages = make([]byte, 0, min(max(bytes, 0)*9/8, maxGuess))
	err = store.Fragments(ctx, conversation, r.epoch.N, 0, func(f history.Fragment) error {
		r.add(f.Bytes)
		r.seq = max(r.seq, f.Seq)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the fragments of %s: %w", conversation, err)
	}
	return r, nil
}

// add appends one fragment's bytes.
func (r *replay) add(b []byte) {
	r.messages = membrane.Joined(r.epoch.Head, r.messages, b)
	r.chain = history.Chain(r.chain, b)
	r.pos++
}

// plan is what a write will add, before it is stored; commit makes it part of the replay.
type plan struct {
	next   replay
	append history.Append
}

// begin starts a plan on top of what is stored.
func (r *replay) begin() *plan { return &plan{next: *r} }

// message adds a message and its fragment.
func (p *plan) message(m history.Message, encoder string, fragment []byte) {
	p.next.seq++
	m.Seq = p.next.seq
	p.append.Messages = append(p.append.Messages, m)
	p.fragment(m.Seq, encoder, fragment)
}

func (p *plan) fragment(seq int64, encoder string, b []byte) {
	p.next.add(b)
	p.append.Fragments = append(p.append.Fragments, history.Fragment{
		Epoch: p.next.epoch.N, Pos: p.next.pos, Seq: seq, Encoder: encoder, Bytes: b,
	})
}

// intent announces the next request.
func (p *plan) intent() {
	p.next.request++
	p.next.asked = true
	p.append.Intent = &history.Request{
		N: p.next.request, Epoch: p.next.epoch.N, LastPos: p.next.pos,
		HeadSHA: sha256.Sum256(p.next.epoch.Head), Chain: p.next.chain,
		MessageBytes: int64(len(p.next.messages)),
		TotalBytes:   int64(len(p.next.epoch.Head) + len(p.next.messages) + len(p.next.epoch.Tail)),
	}
}

// outcome stores how the announced request ended, unless that is stored already.
func (p *plan) outcome(how string, u history.Usage, took time.Duration) {
	if !p.next.asked {
		return
	}
	p.next.asked = false
	p.append.Outcomes = append(p.append.Outcomes, history.Outcomes{N: p.next.request, Outcome: how, Usage: u, Latency: took})
}

// commit makes a plan that was stored the truth.
func (r *replay) commit(p *plan) { *r = p.next }

// body is the request for what is stored now.
func (r *replay) body() membrane.Request {
	return membrane.Request{Head: r.epoch.Head, Messages: r.messages[:len(r.messages):len(r.messages)], Tail: r.epoch.Tail}
}

// last reads the last message of a turn; false when it has none.
func last(ctx context.Context, store history.Store, conversation string, turn history.Turn) (history.Message, bool, error) {
	messages, err := store.Messages(ctx, conversation, turn.FirstSeq-1)
	if err != nil {
		return history.Message{}, false, fmt.Errorf("read the messages of %s: %w", conversation, err)
	}
	if len(messages) == 0 {
		return history.Message{}, false, nil
	}
	return messages[len(messages)-1], true, nil
}

// latestTurn reads the last turn; the zero Turn when there is none.
func latestTurn(ctx context.Context, store history.Store, conversation string) (history.Turn, error) {
	turns, err := store.TurnsOf(ctx, conversation)
	if errors.Is(err, history.ErrNotFound) {
		return history.Turn{}, nil
	}
	if err != nil {
		return history.Turn{}, fmt.Errorf("read the turns of %s: %w", conversation, err)
	}
	if len(turns) == 0 {
		return history.Turn{}, nil
	}
	return turns[len(turns)-1], nil
}
