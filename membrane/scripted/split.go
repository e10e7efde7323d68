package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
)

// Split takes a body apart into what stands before its messages, the messages and what follows, so
// that recorded bodies can be compared with [membrane.Prefixed]. The parts share the memory of body.
// A body that is not JSON, or has no array of messages, is an error that says where.
func Split(body []byte) (membrane.Request, error) {
	l, err := layOut(body)
	if err != nil {
		return membrane.Request{}, err
	}
	return membrane.Request{Head: body[:l.open], Messages: body[l.open:l.closed], Tail: body[l.closed:]}, nil
}

// layout is where things are in a body.
type layout struct {
	open, closed int // the offsets after the [ and of the ] of the messages
	elements     [][]byte
}

// layOut reads a body once, to its end, and finds its messages.
func layOut(body []byte) (layout, error) {
	var out layout
	lexer := canon.NewLexer(body)
	named, inside, done, start := false, false, false, 0
	for first := true; ; first = false {
		t, err := lexer.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return layout{}, fmt.Errorf("read the request: %w", err)
		}
		switch {
		case first && t.Kind != '{':
			return layout{}, errors.New("read the request: it is not a JSON object")
		case t.Depth == 1 && t.Key:
			named = string(t.Raw) == `"messages"`
			if named && done {
				return layout{}, errors.New("read the request: it has messages twice")
			}
		case t.Depth == 1 && named && t.Kind == '[':
			inside, out.open = true, t.Start+1
		case t.Depth == 1 && inside && t.Kind == ']':
			inside, done, out.closed = false, true, t.Start
		case t.Depth == 2 && inside && t.Kind == '{':
			start = t.Start
		case t.Depth == 2 && inside && t.Kind == '}':
			out.elements = append(out.elements, body[start:t.Start+1])
		case t.Depth == 2 && inside:
			return layout{}, fmt.Errorf("read the request: at byte %d stands a message that is not a JSON object", t.Start)
		}
	}
	if !done {
		return layout{}, errors.New("read the request: it has no array of messages")
	}
	return out, nil
}

// answered gives how many answers the elements hold and where the last of them stands (-1 for none).
// An answer that carries a number counts as that many.
func answered(elements [][]byte) (count, last int, err error) {
	last = -1
	for i, raw := range elements {
		if bytes.HasPrefix(raw, []byte(`{"role":"user"`)) || bytes.HasPrefix(raw, []byte(`{"role":"results"`)) {
			continue
		}
		var e struct {
			Role membrane.Role `json:"role"`
			Step int           `json:"step"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return 0, 0, fmt.Errorf("read message %d: %w", i+1, err)
		}
		switch {
		case e.Role != membrane.Assistant:
			continue
		case e.Step > 0:
			count = e.Step
		default:
			count++
		}
		last = i
	}
	return count, last, nil
}
