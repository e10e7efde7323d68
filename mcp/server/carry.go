package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/round"
)

// carrier is where the handler of a call leaves the bytes that are to be sent.
type carrier struct{ raw json.RawMessage }

type carrierKey struct{}

// rawResult is a result that is written as it came.
type rawResult struct {
	*mcp.CallToolResult
	raw json.RawMessage
}

// MarshalJSON gives the bytes.
func (r *rawResult) MarshalJSON() ([]byte, error) { return r.raw, nil }

// carried lets a request be answered, with the bytes that its handler left in the place of the result.
func (s *Server) carried(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	var c carrier
	res, err := next(context.WithValue(ctx, carrierKey{}, &c), method, req)
	if err == nil && c.raw != nil {
		return &rawResult{&mcp.CallToolResult{}, c.raw}, nil
	}
	return res, err
}

// asCame gives the bytes of another server's result where they can be sent: nothing was shortened, nothing
// is to be said beside it but what add holds, and a client of this revision can take it. Else it is nil.
func (o offer) asCame(r round.Settled, p *passed, version string, bare bool, add added) json.RawMessage {
	switch {
	case p == nil || p.raw == nil || !bare || r.Loop != "" || r.Fit.Stage != 1 || r.Fit.Signals != nil:
		return nil
	case utf8.RuneCount(r.Structured) > o.cap:
		return nil
	case r.Fit.Structured != nil && string(r.Fit.Structured) != string(canon.Compact(r.Structured)):
		return nil
	case p.revision == version && add.nothing():
		return p.raw
	}
	return o.rewritten(r, p.raw, version, add)
}

// rewritten gives a result for a client of another revision, or with something added: member by member,
// each as it came.
func (o offer) rewritten(r round.Settled, raw json.RawMessage, version string, add added) json.RawMessage {
	members, ok := membersOf(raw)
	if !ok || canon.Kind(r.Structured) != "object" && r.Structured != nil && version < Stateless {
		return nil
	}
	out := []byte{'{'}
	put := func(key string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(canon.AppendString(out, key), ':'), value...)
	}
	if version >= Stateless {
		put("resultType", []byte(`"complete"`))
	}
	meta, content := false, false
	for _, m := range members {
		switch m.key {
		case "resultType":
			continue
		case "_meta":
			if add.signals != nil && canon.Kind(m.value) == "object" {
				m.value, meta = add.into(m.value), true
			}
		case "content":
			if canon.Kind(m.value) == "array" {
				m.value, content = add.after(m.value), true
			}
		}
		put(m.key, m.value)
	}
	if !content && len(add.blocks) > 0 {
		return nil
	}
	if !meta && add.signals != nil {
		put("_meta", add.into([]byte(`{}`)))
	}
	return append(out, '}')
}

// typed gives a result with the type that a revision demands, or without one.
func typed(raw json.RawMessage, version string) json.RawMessage {
	members, ok := membersOf(raw)
	if !ok || version < Stateless {
		return raw
	}
	for _, m := range members {
		if m.key == "resultType" {
			return raw
		}
	}
	if len(members) == 0 {
		return json.RawMessage(`{"resultType":"complete"}`)
	}
	body := canon.Compact(raw)
	return append([]byte(`{"resultType":"complete",`), body[1:]...)
}

// added is what this server says beside a result.
type added struct {
	blocks  []string
	signals json.RawMessage // an object
}

func (a added) nothing() bool { return len(a.blocks) == 0 && a.signals == nil }

// to adds it to a result.
func (a added) to(res *mcp.CallToolResult) *mcp.CallToolResult {
	for _, text := range a.blocks {
		res.Content = append(res.Content, &mcp.TextContent{Text: text})
	}
	if a.signals != nil {
		before, _ := res.Meta[metaSignals].(json.RawMessage)
		res.Meta[metaSignals] = joined(before, a.signals)
	}
	return res
}

// after adds the blocks to an array of content.
func (a added) after(content []byte) []byte {
	if len(a.blocks) == 0 {
		return content
	}
	content = canon.Compact(content)
	out := append([]byte{}, content[:len(content)-1]...)
	for _, text := range a.blocks {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(canon.AppendString(append(out, `{"type":"text","text":`...), text), '}')
	}
	return append(out, ']')
}

// into adds the signals to a _meta object.
func (a added) into(meta []byte) []byte {
	return joined(meta, append(append([]byte(`{"`+metaSignals+`":`), a.signals...), '}'))
}

// joined puts the members of b behind those of a.
func joined(a, b json.RawMessage) json.RawMessage {
	a, b = canon.Compact(a), canon.Compact(b)
	switch {
	case len(a) <= 2:
		return b
	case len(b) <= 2:
		return a
	}
	return append(append(append([]byte{}, a[:len(a)-1]...), ','), b[1:]...)
}

// member is one member of an object, its value as it is written, and where it stands.
type member struct {
	key        string
	value      []byte
	start, end int // from its key to the end of its value
}

// membersOf gives the members of an object in their order; false when raw is none.
func membersOf(raw []byte) ([]member, bool) {
	l := canon.NewLexer(raw)
	t, err := l.Next()
	if err != nil || t.Kind != '{' {
		return nil, false
	}
	var all []member
	var m member
	begin := 0
	value := func(end int) {
		m.value, m.end = raw[begin:end], end
		all = append(all, m)
	}
	for deep := 1; deep > 0; {
		t, err = l.Next()
		switch {
		case err != nil:
			return nil, false
		case t.Kind == '{' || t.Kind == '[':
			if deep == 1 {
				begin = t.Start
			}
			deep++
		case t.Kind == '}' || t.Kind == ']':
			if deep--; deep == 1 {
				value(t.Start + 1)
			}
		case t.Key && deep == 1:
			m = member{start: t.Start}
			m.key, _ = canon.Unquote(t.Raw)
		case deep == 1:
			begin = t.Start
			value(t.Start + len(t.Raw))
		}
	}
	_, err = l.Next()
	return all, errors.Is(err, io.EOF)
}
