package scripted

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
)

// perform says what a step says.
func (m *Model) perform(ctx context.Context, index, number int, step Step, body []byte, r membrane.Request, emit func(membrane.Event) error) error {
	step.Text, _ = canon.CleanUTF8(step.Text)
	step.Thinking, _ = canon.CleanUTF8(step.Thinking)
	fails := step.Fail != nil && m.fails(index, step.Fail.Times, body)
	chunks := 0
	for piece := range pieces(step.Thinking) {
		if fails {
			break
		}
		if err := emit(membrane.ThinkingDelta{Text: piece}); err != nil {
			return err
		}
	}
	for piece := range pieces(step.Text) {
		if fails && chunks == step.Fail.AfterChunks {
			break
		}
		if err := emit(membrane.TextDelta{Text: piece}); err != nil {
			return err
		}
		chunks++
	}
	if fails {
		f := step.Fail
		return &membrane.Error{Kind: f.Kind, Model: m.name, Status: f.Status, RetryAfter: f.RetryAfter, Text: membrane.Line(f.Text)}
	}
	if step.Stall {
		if err := wait(ctx, MaxWait); err != nil {
			return err
		}
		return &membrane.Error{Kind: membrane.Timeout, Model: m.name, Text: fmt.Sprintf("the script stalled for %v and nobody cancelled", MaxWait)}
	}
	done, err := finish(step, number, r)
	if err != nil {
		return err
	}
	return emit(done)
}

// fails reports whether a step's error is due for this request, and counts it.
func (m *Model) fails(index, times int, body []byte) bool {
	if times == 0 {
		return true
	}
	key := failure{step: index, body: sha256.Sum256(body)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed[key] >= times {
		return false
	}
	m.failed[key]++
	return true
}

// finish makes the last event of a step.
func finish(step Step, number int, r membrane.Request) (membrane.Done, error) {
	var blocks []membrane.Block
	if step.Thinking != "" {
		blocks = append(blocks, membrane.Block{Type: membrane.Thinking, Text: step.Thinking})
	}
	if step.Text != "" {
		blocks = append(blocks, membrane.Block{Type: membrane.Text, Text: step.Text})
	}
	output := len(step.Thinking) + len(step.Text)
	for _, c := range step.Calls {
		blocks = append(blocks, membrane.Block{Type: membrane.Call, CallID: c.ID, Tool: c.Tool, Args: c.Args})
		output += len(c.Tool) + len(c.Args)
	}
	if len(blocks) == 0 { // an empty answer keeps its number too
		blocks = append(blocks, membrane.Block{Type: membrane.Other})
	}
	blocks = membrane.FreshIDs(blocks, r.Mentions)
	blocks[0].Raw = markOf(number)
	done := membrane.Done{Message: membrane.Message{Role: membrane.Assistant, Blocks: blocks}, Stop: step.Stop}
	fragment, err := encodeMessage(done.Message)
	if err != nil {
		return membrane.Done{}, err
	}
	done.Fragment = fragment
	if done.Stop == "" {
		done.Stop = membrane.StopEnd
		if len(step.Calls) > 0 {
			done.Stop = membrane.StopCalls
		}
	}
	done.Usage = membrane.Usage{In: (r.Len() + 3) / 4, Out: int64(output+3) / 4}
	if step.Usage != nil {
		done.Usage = *step.Usage
	}
	return done, nil
}

// pieces yields a text in pieces: a word and the white space after it.
func pieces(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(text) > 0 {
			end := strings.IndexAny(text, " \n\t")
			if end < 0 {
				end = len(text)
			}
			for end < len(text) && strings.IndexByte(" \n\t", text[end]) >= 0 {
				end++
			}
			if !yield(text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// wait sleeps, or ends early with the context's error.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
