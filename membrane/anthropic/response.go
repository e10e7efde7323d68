package anthropic

import (
	"encoding/json"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/wire"
)

// maxBlocks is how many blocks an answer may have.
const maxBlocks = 10_000

// assembler puts an answer together from the events of its stream, as they came: what is known is
// joined, everything else is copied, and what can be neither is an error.
type assembler struct {
	model   string
	blocks  []*part
	started bool
	ended   bool
	reason  string
	usage   membrane.Usage
}

// wireEvent is an event of the stream. Source: https://platform.claude.com/docs/en/build-with-claude/streaming.
type wireEvent struct {
	Type    string `json:"type"`
	Index   *int   `json:"index"`
	Message *struct {
		Content []json.RawMessage `json:"content"`
		Usage   wireUsage         `json:"usage"`
	} `json:"message"`
	Block     json.RawMessage `json:"content_block"`
	Delta     json.RawMessage `json:"delta"`
	Usage     wireUsage       `json:"usage"`
	Error     json.RawMessage `json:"error"`
	RequestID string          `json:"request_id"`
}

// wireUsage counts tokens, from the start of the answer on; a count that is not sent again still holds.
type wireUsage struct {
	In         *int64 `json:"input_tokens"`
	Out        *int64 `json:"output_tokens"`
	CacheRead  *int64 `json:"cache_read_input_tokens"`
	CacheWrite *int64 `json:"cache_creation_input_tokens"`
}

// feed takes one event. It gives what of it can be shown, nil for nothing.
func (a *assembler) feed(e wireEvent) (membrane.Event, error) {
	switch e.Type {
	case "message_start":
		if e.Message == nil || a.started || len(e.Message.Content) > 0 {
			return nil, wire.Unreadable("the answer starts with what is no start")
		}
		a.started = true
		a.count(e.Message.Usage)
		return nil, nil
	case "content_block_start", "content_block_delta", "content_block_stop":
		if !a.started || e.Index == nil {
			return nil, wire.Unreadable("an event of type %s belongs to no block", e.Type)
		}
		return a.feedBlock(e, *e.Index)
	case "message_delta":
		var delta struct {
			StopReason *string `json:"stop_reason"`
		}
		if !a.started || len(e.Delta) > 0 && json.Unmarshal(e.Delta, &delta) != nil {
			return nil, wire.Unreadable("the end of the answer cannot be read")
		}
		if delta.StopReason != nil {
			a.reason = *delta.StopReason
		}
		a.count(e.Usage)
		return nil, nil
	case "message_stop":
		a.ended = true
	}
	return nil, nil // a ping, or an event of a type that this build does not know: the provider adds some
}

// knows reports whether feed looks at events of this type.
func knows(kind string) bool {
	switch kind {
	case "message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "ping":
		return true
	}
	return false
}

func (a *assembler) feedBlock(e wireEvent, index int) (membrane.Event, error) {
	if e.Type == "content_block_start" {
		if index != len(a.blocks) || index >= maxBlocks {
			return nil, wire.Unreadable("block %d starts where block %d is due", index, len(a.blocks))
		}
		p, shown, err := newPart(e.Block)
		if err != nil {
			return nil, err
		}
		a.blocks = append(a.blocks, p)
		return shown, nil
	}
	if index < 0 || index >= len(a.blocks) || a.blocks[index].stopped {
		return nil, wire.Unreadable("an event of type %s belongs to block %d, which is not open", e.Type, index)
	}
	p := a.blocks[index]
	if e.Type == "content_block_stop" {
		p.stopped = true
		return nil, nil
	}
	return p.join(e.Delta)
}

// count takes the counts that are there. They only grow: a server that sends zeros at the end takes
// nothing back.
func (a *assembler) count(u wireUsage) {
	take := func(n *int64, to *int64) {
		if n != nil {
			*to = max(*to, *n)
		}
	}
	take(u.In, &a.usage.In)
	take(u.Out, &a.usage.Out)
	take(u.CacheRead, &a.usage.CacheRead)
	take(u.CacheWrite, &a.usage.CacheWrite)
}

// stop maps the provider's reason. One that is not known is an error: it might say that the answer is
// not whole.
func (a *assembler) stop() (membrane.Stop, error) {
	switch a.reason {
	case "end_turn", "stop_sequence":
		return membrane.StopEnd, nil
	case "tool_use":
		return membrane.StopCalls, nil
	case "max_tokens":
		return membrane.StopCut, nil
	case "refusal":
		return membrane.StopRefused, nil
	case "pause_turn":
		return membrane.StopPaused, nil
	case "model_context_window_exceeded":
		return membrane.StopContextFull, nil
	case "":
		return "", wire.Unreadable("the answer ended without a reason to stop")
	}
	return "", wire.Unknown("the answer stopped for the reason %.60q", a.reason)
}

// message gives the whole answer. An empty text that carries nothing else is no part of it.
func (a *assembler) message() membrane.Message {
	m := membrane.Message{Role: membrane.Assistant}
	for _, p := range a.blocks {
		if b := p.block(a.model); b.Type != membrane.Text || b.Text != "" || b.Raw != nil {
			m.Blocks = append(m.Blocks, b)
		}
	}
	return m
}
