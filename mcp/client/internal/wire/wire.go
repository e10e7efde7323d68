// Package wire carries the messages of one MCP connection and keeps the raw bytes of what is answered.
//
// The SDK drives the protocol (versions, handshakes, headers, cancelling), but it decodes results into
// values that lose digits, key order and whole calls. So every frame passes a [Filter] on its way: the raw
// result of a request that carries an [Exchange] is kept there, and the SDK is given a small result that
// stands for it. [Stream] and [Command] carry frames over pipes, [Carrier] over HTTP.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/weir-run/weir/internal/canon"
)

// Limits of a connection.
const (
	// MaxFrame is the longest message that is read, in bytes.
	MaxFrame = 64 << 20
	// maxNoise is how many lines that are no message are remembered, and maxLine how much of each, in bytes.
	maxNoise, maxLine = 5, 300
)

// Exchange is one request whose answer is kept as it came. It is used once.
type Exchange struct {
	// Method is the request's.
	Method string
	// Params are what the request carries beside its _meta, as members of a JSON object in their order;
	// nil leaves the SDK's params as they are.
	Params []Member
	// Token is the progress token that is sent; empty sends none.
	Token string
	// Progress hears each report of progress, its params as they came; nil is nobody.
	Progress func(params json.RawMessage)
	// StandIn makes what the SDK is given in the place of the result; nil gives it an empty result.
	StandIn func(result json.RawMessage) json.RawMessage

	mu     sync.Mutex
	sent   bool
	stale  bool
	answer *Answer
}

// Member is one member of a JSON object.
type Member struct {
	Key   string
	Value json.RawMessage
}

// Answer is what came back for a request.
type Answer struct {
	// Result is the result as it was received; nil when there was none.
	Result json.RawMessage
	// Error is the error object as it was received; nil when there was none.
	Error json.RawMessage
	// Broken says why the answer could not be read; empty when it could.
	Broken string
}

// Answer gives what came back, and false when nothing did.
func (e *Exchange) Answer() (Answer, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answer == nil {
		return Answer{}, false
	}
	return *e.answer, true
}

// Sent reports whether the request may have reached the server.
func (e *Exchange) Sent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.sent
}

// Stale reports whether the server did not know the session: then it has not run the request.
func (e *Exchange) Stale() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stale
}

func (e *Exchange) set(a Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.answer == nil {
		e.answer = &a
	}
}

func (e *Exchange) mark(flag *bool, to bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	*flag = to
}

type exchangeKey struct{}

// With gives a context whose next request of the exchange's method is that exchange.
func With(ctx context.Context, e *Exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, e)
}

func from(ctx context.Context) *Exchange {
	e, _ := ctx.Value(exchangeKey{}).(*Exchange)
	return e
}

// Filter sees every frame of one connection. It is safe for concurrent use.
type Filter struct {
	// Changed hears that a list of the server has changed: "tools", "prompts" or "resources". It must not
	// block; nil is nobody.
	Changed func(list string)

	mu      sync.Mutex
	pending map[string]*Exchange // by the request's id, as JSON
	tokens  map[string]*Exchange // by progress token
	noise   []string
	skipped int
}

// Noise gives how many lines that are no message were skipped, and the first of them.
func (f *Filter) Noise() (skipped int, first []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.skipped, append([]string{}, f.noise...)
}

// Done forgets an exchange: what still comes for it is ignored.
func (f *Filter) Done(e *Exchange) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, p := range f.pending {
		if p == e {
			delete(f.pending, id)
		}
	}
	if f.tokens[e.Token] == e {
		delete(f.tokens, e.Token)
	}
}

// out is called for every message that is sent. It gives the bytes to send.
func (f *Filter) out(ctx context.Context, frame []byte) []byte {
	e := from(ctx)
	if e == nil {
		return frame
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(frame, &m); err != nil || m.Method != e.Method || len(m.ID) == 0 {
		return frame
	}
	f.mu.Lock()
	if f.pending == nil {
		f.pending, f.tokens = map[string]*Exchange{}, map[string]*Exchange{}
	}
	f.pending[string(m.ID)] = e
	if e.Token != "" {
		f.tokens[e.Token] = e
	}
	f.mu.Unlock()
	e.mark(&e.sent, true)
	if e.Params == nil && e.Token == "" {
		return frame
	}
	return Object([]Member{
		{"jsonrpc", json.RawMessage(`"2.0"`)}, {"id", m.ID}, {"method", quote(m.Method)}, {"params", e.params(m.Params)},
	})
}

// params puts the exchange's own members in the place of the SDK's, whose _meta is kept.
func (e *Exchange) params(sdk json.RawMessage) json.RawMessage {
	theirs, _ := Members(sdk)
	var meta, rest []Member
	for _, m := range theirs {
		if m.Key == "_meta" {
			meta, _ = Members(m.Value)
			continue
		}
		rest = append(rest, m)
	}
	if e.Params != nil {
		rest = e.Params
	}
	if e.Token != "" {
		meta = append(meta, Member{"progressToken", quote(e.Token)})
	}
	if len(meta) > 0 {
		rest = append([]Member{{"_meta", Object(meta)}}, rest...)
	}
	return Object(rest)
}

// in is called for every frame that is received. It gives the messages to hand to the SDK.
func (f *Filter) in(frame []byte) [][]byte {
	frame = bytes.TrimSpace(frame)
	if len(frame) == 0 {
		return nil
	}
	if frame[0] == '[' { // a batch, which revision 2025-03-26 allows
		var out [][]byte
		elements, ok := Elements(frame)
		if !ok {
			f.skip(frame)
		}
		for _, e := range elements {
			if len(e) > 0 && e[0] == '{' {
				out = append(out, f.in(e)...)
			}
		}
		return out
	}
	members, ok := Members(frame)
	if !ok {
		f.skip(frame)
		if frame, members, ok = behindNoise(frame); !ok {
			return nil
		}
	}
	m := last(members)
	if m["jsonrpc"] == nil || m["method"] == nil && m["id"] == nil {
		f.skip(frame)
		return nil
	}
	if m["method"] != nil {
		method, _ := canon.Unquote(m["method"])
		if m["id"] == nil {
			return f.notified(method, m["params"], frame)
		}
		return [][]byte{frame}
	}
	f.mu.Lock()
	e := f.pending[string(m["id"])]
	delete(f.pending, string(m["id"]))
	f.mu.Unlock()
	if e == nil {
		return [][]byte{frame}
	}
	a := Answer{Result: bytes.Clone(m["result"]), Error: bytes.Clone(m["error"])}
	if string(a.Error) == "null" {
		a.Error = nil
	}
	if a.Result == nil && a.Error == nil {
		a.Broken = "the answer has neither a result nor an error"
	}
	return [][]byte{f.answered(e, m["id"], a)}
}

// maxStarts is how often a message is looked for in a line that something else was written to first.
const maxStarts = 4

// behindNoise finds a message in a line that something else was written to first; false when there is none.
func behindNoise(line []byte) ([]byte, []Member, bool) {
	for range maxStarts {
		at := 0
		for _, start := range []string{`{"jsonrpc"`, `{"result"`, `{"id"`, `{"method"`} {
			if i := bytes.Index(line[min(1, len(line)):], []byte(start)) + 1; i > 0 && (at == 0 || i < at) {
				at = i
			}
		}
		if at == 0 {
			return nil, nil, false
		}
		line = line[at:]
		if members, ok := Members(line); ok {
			return line, members, true
		}
	}
	return nil, nil, false
}

// answered keeps an answer and makes what the SDK is given for it.
func (f *Filter) answered(e *Exchange, id json.RawMessage, a Answer) []byte {
	e.set(a)
	stand := json.RawMessage(`{}`)
	if e.StandIn != nil && a.Result != nil {
		stand = e.StandIn(a.Result)
	}
	return Object([]Member{{"jsonrpc", json.RawMessage(`"2.0"`)}, {"id", id}, {"result", stand}})
}

// broken answers an exchange whose answer cannot be read.
func (f *Filter) broken(id json.RawMessage, why string) ([]byte, bool) {
	f.mu.Lock()
	e := f.pending[string(id)]
	delete(f.pending, string(id))
	f.mu.Unlock()
	if e == nil {
		return nil, false
	}
	return f.answered(e, id, Answer{Broken: why}), true
}

// waiting are the ids of the requests that wait for their answers.
func (f *Filter) waiting() []json.RawMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	var ids []json.RawMessage
	for id := range f.pending {
		ids = append(ids, json.RawMessage(id))
	}
	return ids
}

// notified hears a notification. Only those that end a request of the server's own go on to the SDK.
func (f *Filter) notified(method string, params json.RawMessage, frame []byte) [][]byte {
	switch method {
	case "notifications/progress":
		members, _ := Members(params)
		token, _ := canon.Unquote(last(members)["progressToken"])
		f.mu.Lock()
		e := f.tokens[token]
		f.mu.Unlock()
		if e != nil && e.Progress != nil {
			e.Progress(params)
		}
	case "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed":
		if f.Changed != nil {
			f.Changed(method[len("notifications/") : len(method)-len("/list_changed")])
		}
	case "notifications/cancelled", "notifications/elicitation/complete":
		return [][]byte{frame}
	}
	return nil
}

// skip remembers a line that is no message.
func (f *Filter) skip(line []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.skipped++
	if len(f.noise) < maxNoise {
		f.noise = append(f.noise, head(line))
	}
}

func head(line []byte) string {
	s, _ := canon.CleanUTF8(string(line[:min(len(line), maxLine)]))
	if len(line) > maxLine {
		s += fmt.Sprintf("… (%d bytes)", len(line))
	}
	return s
}
