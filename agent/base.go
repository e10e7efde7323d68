package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
)

// base decides which earlier fragments the new epoch shares, and encodes what is missing. What one model
// signed or encrypted goes to no other: where the fragments are another model's, its answers are encoded
// anew, and only what stands before the first that differs is shared.
func (d *drive) base(ctx context.Context, p *plan, next *history.Epoch) error {
	current := p.next.epoch
	p.next = replay{epoch: *next, seq: p.next.seq, request: p.next.request, asked: p.next.asked}
	if current.N == 0 {
		return nil
	}
	epochs, err := d.a.store.Epochs(ctx, d.conversation)
	if err != nil {
		return fmt.Errorf("read the epochs of %s: %w", d.conversation, err)
	}
	from := origin(epochs, next.Dialect, d.a.model.Name())
	foreign := from.N > 0 && modelOf(from) != d.a.model.Name()
	messages := map[int64]history.Message{}
	if foreign || from.N != current.N {
		if messages, err = d.messages(ctx); err != nil {
			return err
		}
	}
	after := int64(0)
	if from.N > 0 {
		if after, err = d.share(ctx, p, next, from, foreign, messages); err != nil {
			return err
		}
	}
	p.next.epoch = *next
	if from.N == current.N {
		return nil
	}
	return d.reencode(ctx, p, current.N, after, messages)
}

// origin is the epoch whose fragments a new one begins with: the last one of the dialect that the same
// model spoke, else the last one of the dialect. What was compacted since stays compacted: nothing from
// before that comes back. It is the zero epoch when there is none.
func origin(epochs []history.Epoch, dialect, model string) history.Epoch {
	var found history.Epoch
	for _, e := range slices.Backward(epochs) {
		if e.Dialect == dialect && (found.N == 0 || modelOf(e) == model) {
			if found = e; modelOf(e) == model {
				break
			}
		}
		if e.Reason == reasonCompaction {
			break
		}
	}
	return found
}

// modelOf is the model that an epoch's head was made for.
func modelOf(e history.Epoch) string {
	var f fingerprint
	if json.Unmarshal(e.Fingerprint, &f) != nil {
		return ""
	}
	return f.Model
}

// messages reads all messages of the conversation, by their number.
func (d *drive) messages(ctx context.Context) (map[int64]history.Message, error) {
	all, err := d.a.store.Messages(ctx, d.conversation, 0)
	if err != nil {
		return nil, fmt.Errorf("read the messages of %s: %w", d.conversation, err)
	}
	bySeq := make(map[int64]history.Message, len(all))
	for _, m := range all {
		bySeq[m.Seq] = m
	}
	return bySeq, nil
}

// share begins an epoch with the fragments of another, and says up to which message they go. Answers in
// foreign fragments are encoded anew; from the first that differs on, the epoch has fragments of its own.
func (d *drive) share(ctx context.Context, p *plan, next *history.Epoch, from history.Epoch, foreign bool, messages map[int64]history.Message) (int64, error) {
	after := int64(0)
	var own []history.Fragment
	err := d.a.store.Fragments(ctx, d.conversation, from.N, 0, func(f history.Fragment) error {
		after = max(after, f.Seq)
		b := f.Bytes
		if m := messages[f.Seq]; foreign && m.Role == string(membrane.Assistant) {
			neutral, err := d.neutral(ctx, m)
			if err != nil {
				return err
			}
			if b, err = d.encoded(m.Seq, neutral); err != nil {
				return err
			}
		}
		if len(own) == 0 && bytes.Equal(b, f.Bytes) {
			p.next.add(f.Bytes)
			next.Base, next.BaseCount = from.N, p.next.pos
			return nil
		}
		own = append(own, history.Fragment{Seq: f.Seq, Bytes: bytes.Clone(b)})
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read the fragments of %s: %w", d.conversation, err)
	}
	for _, f := range own {
		p.fragment(f.Seq, d.a.model.Encoder(), f.Bytes)
	}
	return after, nil
}

// reencode makes the fragments of those messages of an epoch that come after one, in the dialect and for
// the model of the new epoch. Results that are references in the epoch stay references.
func (d *drive) reencode(ctx context.Context, p *plan, epoch int, after int64, messages map[int64]history.Message) error {
	type missing struct {
		seq      int64
		referred []byte // the fragment, when it may hold references
	}
	var all []missing
	err := d.a.store.Fragments(ctx, d.conversation, epoch, 0, func(f history.Fragment) error {
		if f.Seq <= after {
			return nil
		}
		m := missing{seq: f.Seq}
		if bytes.Contains(f.Bytes, []byte(leftOut)) {
			m.referred = bytes.Clone(f.Bytes)
		}
		all = append(all, m)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the fragments of %s: %w", d.conversation, err)
	}
	for _, m := range all {
		neutral, err := d.neutral(ctx, messages[m.seq])
		if err != nil {
			return err
		}
		if m.referred != nil && neutral.Role == membrane.Results {
			if neutral, err = d.stillReferred(messages[m.seq], neutral, m.referred); err != nil {
				return err
			}
		}
		fragment, err := d.encoded(m.seq, neutral)
		if err != nil {
			return err
		}
		p.fragment(m.seq, d.a.model.Encoder(), fragment)
	}
	return nil
}

// stillReferred gives results as references when their fragment holds each of these references.
func (d *drive) stillReferred(row history.Message, whole membrane.Message, fragment []byte) (membrane.Message, error) {
	short, err := d.references(row)
	if err != nil {
		return whole, err
	}
	for _, r := range short.Results {
		if !bytes.Contains(fragment, []byte(r.Text)) {
			return whole, nil
		}
	}
	return short, nil
}

// encoded is a message as this agent's model is sent it.
func (d *drive) encoded(seq int64, m membrane.Message) ([]byte, error) {
	fragment, err := d.a.model.EncodeMessage(m)
	if err != nil {
		return nil, fmt.Errorf("encode message %d of %s for %s: %w", seq, d.conversation, d.a.model.Name(), err)
	}
	return fragment, nil
}
