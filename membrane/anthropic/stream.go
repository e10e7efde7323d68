package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"mime"
	"net/http"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/ssestream"
	"github.com/weir-run/weir/membrane"
)

const (
	// maxStream is how many bytes a stream may have.
	maxStream = 64 << 20
	// lookBack is how many blocks before a cache marker the provider looks for what it has; one that
	// is more than farBlocks away may be missed.
	lookBack  = 20
	farBlocks = lookBack - 2
	// maxMarks is how many markers stand in the messages of an epoch. The provider takes four in a
	// request, and two are those of the head.
	maxMarks = 2
)

// errIdle is the cause of a stream that was given up.
var errIdle = errors.New("the stream was idle for too long")

// Stream sends a request and yields what comes back. Every error is a *[membrane.Error]. The last event
// is a [membrane.Done], whose fragment is the answer as it goes back.
func (m *Model) Stream(ctx context.Context, r membrane.Request) iter.Seq2[membrane.Event, error] {
	return func(yield func(membrane.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		idle := time.AfterFunc(m.cfg.IdleTimeout, func() { cancel(errIdle) })
		defer idle.Stop()
		// The consumer's time is not the server's.
		give := func(e membrane.Event) bool {
			idle.Stop()
			defer idle.Reset(m.cfg.IdleTimeout)
			return e == nil || yield(e, nil)
		}
		if err := m.ask(ctx, r, give); err != nil {
			yield(nil, m.finish(m.failed(ctx, err)))
		}
	}
}

// ask plays one request. give hears of every event, with nil where there is nothing to show, and is
// false when the consumer takes no more.
func (m *Model) ask(ctx context.Context, r membrane.Request, give func(membrane.Event) bool) error {
	resp, err := m.send(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	resp.Body = &bounded{ReadCloser: resp.Body, left: maxStream}
	events := ssestream.NewDecoder(resp)
	a := &assembler{model: m.model}
	for !a.ended && events.Next() {
		shown, err := m.event(a, events.Event())
		if err != nil {
			return err
		}
		if !give(shown) {
			return nil
		}
	}
	if err := events.Err(); err != nil && !a.ended {
		return err
	}
	if !a.ended {
		return unreadable("the answer ended in the middle")
	}
	done, err := m.done(a, r)
	if err != nil {
		return err
	}
	give(done)
	return nil
}

// send asks for the answer. What is no stream of events is an error.
func (m *Model) send(ctx context.Context, r membrane.Request) (*http.Response, error) {
	options := []option.RequestOption{
		option.WithRequestBody("application/json", []byte("{}")), // the transport puts ours in its place
		option.WithHeader("Accept", "text/event-stream"),
	}
	for _, beta := range m.cfg.Betas {
		options = append(options, option.WithHeaderAdd("anthropic-beta", beta))
	}
	if bytes.Contains(r.Head, []byte(`"block_binding":`)) {
		options = append(options, option.WithHeaderAdd("anthropic-beta", bindingBeta))
	}
	var resp *http.Response
	err := m.client.Post(membrane.Carry(ctx, r), "v1/messages", nil, &resp, options...)
	switch {
	case resp == nil && err == nil:
		return nil, unreadable("there was no answer")
	case resp == nil || err != nil && resp.StatusCode < http.StatusBadRequest: // such as a redirect that is not followed
		return nil, err
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && kind == "text/event-stream" && err == nil {
		return resp, nil
	}
	defer resp.Body.Close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, membrane.MaxErrorBody))
	return nil, m.answered(resp, body)
}

// event reads one event of the stream.
func (m *Model) event(a *assembler, raw ssestream.Event) (membrane.Event, error) {
	data := bytes.TrimSpace(raw.Data)
	if len(data) == 0 && !knows(raw.Type) {
		return nil, nil
	}
	var e wireEvent
	if err := json.Unmarshal(data, &e); err != nil {
		if raw.Type == "ping" {
			return nil, nil
		}
		return nil, unreadable("an event of type %.60q cannot be read: %.200s", raw.Type, data)
	}
	if e.Type == "" {
		e.Type = raw.Type
	}
	if e.Type == "error" {
		var wire wireError
		if json.Unmarshal(e.Error, &wire) != nil || wire.Type == "" {
			return nil, unreadable("the stream broke off with an error: %.200s", e.Error)
		}
		return nil, &membrane.Error{Kind: kindOf(0, wire.Type), Text: wire.text(e.RequestID)}
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
	var wire struct {
		Tools []struct{ Name, Description string }
	}
	out := map[string]string{}
	if json.Unmarshal(fmt.Appendf(nil, "%s]}", head), &wire) != nil {
		return out
	}
	for _, t := range wire.Tools {
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

// bounded reads a stream to its limit.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, &membrane.Error{Kind: membrane.InvalidRequest, Text: "the answer is longer than 64 MiB"}
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
