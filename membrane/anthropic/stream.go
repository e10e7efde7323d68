package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/wire"
)

const (
	// lookBack is how many blocks before a cache marker the provider looks for what it has; one that
	// is more than farBlocks away may be missed.
	lookBack  = 20
	farBlocks = lookBack - 2
	// maxMarks is how many markers stand in the messages of an epoch. The provider takes four in a
	// request, and two are those of the head.
	maxMarks = 2
)

// Stream sends a request and yields what comes back. Every error is a *[membrane.Error]. The last event
// is a [membrane.Done], whose fragment is the answer as it goes back. A request is sent once: whoever
// drives the conversation asks again.
func (m *Model) Stream(ctx context.Context, r membrane.Request) iter.Seq2[membrane.Event, error] {
	header := http.Header{}
	if bytes.Contains(r.Head, []byte(`"block_binding":`)) {
		header.Add("anthropic-beta", bindingBeta)
	}
	return m.client.Stream(ctx, wire.Post{
		Path: "v1/messages", Header: header, Request: r,
		Answer: func() wire.Answer { return &answer{assembler: assembler{model: m.model}, of: m, request: r} },
	})
}

// answer reads the events of one answer.
type answer struct {
	assembler
	of      *Model
	request membrane.Request
}

// Read takes one event of the stream.
func (a *answer) Read(raw wire.Event) (shown []membrane.Event, whole bool, err error) {
	e, err := a.of.event(&a.assembler, raw)
	if e != nil {
		shown = []membrane.Event{e}
	}
	return shown, a.ended, err
}

// Done gives the whole answer.
func (a *answer) Done() (membrane.Done, error) {
	if !a.ended {
		return membrane.Done{}, wire.Unreadable("the answer ended in the middle")
	}
	return a.of.done(&a.assembler, a.request)
}

// event reads one event of the stream.
func (m *Model) event(a *assembler, raw wire.Event) (membrane.Event, error) {
	data := bytes.TrimSpace(raw.Data)
	if len(data) == 0 && !knows(raw.Type) {
		return nil, nil
	}
	var e wireEvent
	if err := json.Unmarshal(data, &e); err != nil {
		if raw.Type == "ping" {
			return nil, nil
		}
		return nil, wire.Unreadable("an event of type %.60q cannot be read: %.200s", raw.Type, data)
	}
	if e.Type == "" {
		e.Type = raw.Type
	}
	if e.Type == "error" {
		var said wireError
		if json.Unmarshal(e.Error, &said) != nil || said.Type == "" {
			return nil, wire.Unreadable("the stream broke off with an error: %.200s", e.Error)
		}
		return nil, said.fault(0, e.RequestID).Err(0)
	}
	if !knows(e.Type) {
		m.log.Warn("an event of the stream is of a type that this build does not know", slog.String("model", m.Name()), slog.String("type", membrane.Line(e.Type)))
	}
	return a.feed(e)
}

// done makes the last event.
func (m *Model) done(a *assembler, r membrane.Request) (membrane.Done, error) {
	stop, err := a.stop()
	if err != nil {
		return membrane.Done{}, err
	}
	message := a.message()
	used := func(id string) bool { return r.Mentions(membrane.WireName(id)) }
	message.Blocks = membrane.FreshIDs(message.Blocks, used)
	fullNames(message.Blocks, r.Head)
	blocks := m.answerBlocks(message.Blocks)
	markFar(blocks, len(message.Calls()), r)
	return membrane.Done{Message: message, Fragment: answerElement(blocks), Stop: stop, Usage: a.usage}, nil
}

// fullNames gives the calls the names that their tools have outside of the wire. The head that was sent
// holds them, so this works after a restart, with a stored head.
func fullNames(blocks []membrane.Block, head []byte) {
	var described map[string]string
	for i, b := range blocks {
		if b.Type != membrane.Call {
			continue
		}
		full, ok := membrane.FullName(b.Tool, "")
		if !ok {
			if described == nil {
				described = descriptions(head)
			}
			full, ok = membrane.FullName(b.Tool, described[b.Tool])
		}
		if ok {
			blocks[i].Tool = full
		}
	}
}

// descriptions reads the tools of a head.
func descriptions(head []byte) map[string]string {
	var said struct {
		Tools []struct{ Name, Description string }
	}
	out := map[string]string{}
	if json.Unmarshal(fmt.Appendf(nil, "%s]}", head), &said) != nil {
		return out
	}
	for _, t := range said.Tools {
		out[t.Name] = t.Description
	}
	return out
}

// markFar puts a marker into an answer with so many calls that, with their results behind them, the
// provider would no longer find what it keeps of the messages before. The marker is part of the
// fragment and stays there; a head that asks for no cache gets none.
func markFar(blocks []answerBlock, results int, r membrane.Request) {
	mark := []byte(shortMark)
	if len(blocks)+results <= farBlocks || !bytes.Contains(r.Head, mark) || bytes.Count(r.Messages, mark[1:]) >= maxMarks {
		return
	}
	for i := min(farBlocks, len(blocks)) - 1; i >= 0; i-- {
		if b := blocks[i]; b.marks {
			blocks[i].json = append(append(b.json[:len(b.json)-1:len(b.json)-1], mark...), '}')
			return
		}
	}
}
