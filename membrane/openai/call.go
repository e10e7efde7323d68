package openai

import (
	"encoding/json"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/openai/internal/form"
	"github.com/weir-run/weir/membrane/wire"
)

// call is one call while it is put together.
type call struct {
	index    int // -1 when the server counts none
	id, name string
	args     form.Joint
	// whole are arguments that came as JSON and not as a text.
	whole json.RawMessage
	// rest are further members of the call, inner those of its function.
	rest, inner form.Rest
}

// callDelta is a piece of a call.
type callDelta struct {
	index    int // -1 for none
	id, name string
	// args holds the arguments, inner the further members of the function, outer those of the call.
	args, inner, outer []object.Member
}

// callDeltas joins pieces of calls.
func (a *answer) callDeltas(raw json.RawMessage) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return wire.Unreadable("the calls of the answer are no list: %.100s", raw)
	}
	for _, piece := range list {
		d, err := readCall(piece)
		if err != nil {
			return err
		}
		c, err := a.callOf(d)
		if err != nil {
			return err
		}
		if err := c.join(d); err != nil {
			return err
		}
	}
	return nil
}

func readCall(raw json.RawMessage) (callDelta, error) {
	d := callDelta{index: -1}
	all, err := object.Read(raw)
	if err != nil {
		return d, wire.Unreadable("a call of the answer cannot be read: %.100s", raw)
	}
	for _, m := range all {
		if canon.Kind(m.Value) == "null" {
			continue
		}
		text, _ := canon.Unquote(m.Value)
		switch m.Key {
		case "index":
			if json.Unmarshal(m.Value, &d.index) != nil || d.index < 0 {
				return d, wire.Unreadable("a call of the answer has the number %.40s", m.Value)
			}
		case "id":
			d.id = text
		case "type":
			if text != "function" && text != "" {
				return d, wire.Unknown("a call of the answer is of type %.60q", text)
			}
		case "function":
			inner, err := object.Read(m.Value)
			if err != nil {
				return d, wire.Unreadable("a call of the answer cannot be read: %v", err)
			}
			d.name, _ = canon.Unquote(object.Find(inner, "name"))
			d.args = inner
			d.inner = object.Without(inner, "name", "arguments")
		default:
			d.outer = append(d.outer, m)
		}
	}
	return d, nil
}

// callOf finds the call that a piece belongs to. Some servers give all calls one number, or none: a new
// id with a name begins a new call, and so does a name where nothing is counted.
func (a *answer) callOf(d callDelta) (*call, error) {
	var c *call
	for i := len(a.calls) - 1; i >= 0 && c == nil; i-- {
		if d.index < 0 || a.calls[i].index == d.index {
			c = a.calls[i]
		}
	}
	begins := c == nil
	if c != nil && d.name != "" {
		other := d.id != "" && c.id != "" && d.id != c.id
		begins = other || d.index < 0 && (d.id == "" || d.id != c.id)
	}
	if !begins {
		return c, nil
	}
	if d.index < 0 && d.name == "" {
		return nil, wire.Unreadable("a piece of a call belongs to no call")
	}
	if len(a.calls) >= maxParts {
		return nil, wire.Unreadable("the answer has more than %d calls", maxParts)
	}
	c = &call{index: d.index}
	a.calls = append(a.calls, c)
	return c, nil
}

func (c *call) join(d callDelta) error {
	if c.id == "" {
		c.id = d.id
	}
	if d.name != c.name { // some servers repeat it
		c.name += d.name
	}
	args := object.Find(d.args, "arguments")
	switch kind := canon.Kind(args); {
	case len(args) == 0 || kind == "null":
	case kind == "string" && c.whole == nil:
		if _, ok := c.args.Add(args); !ok {
			return wire.Unreadable("the arguments of a call are no text")
		}
	case kind != "string" && c.whole == nil && c.args.String() == "":
		c.whole = args
	case !canon.Equal(args, c.whole):
		return wire.Unknown("the arguments of a call begin as a text and go on as JSON, or the other way round")
	}
	for _, m := range d.inner {
		if err := rest(&c.inner, m); err != nil {
			return err
		}
	}
	for _, m := range d.outer {
		if err := rest(&c.rest, m); err != nil {
			return err
		}
	}
	return nil
}

// block gives the call in its neutral form.
func (c *call) block(m *Model) membrane.Block {
	b := membrane.Block{Type: membrane.Call, CallID: c.id, Tool: c.name, Args: c.whole}
	if text := c.args.String(); text != "" {
		b.Args = []byte(text)
	}
	all := c.rest.Members()
	if inner := c.inner.Members(); len(inner) > 0 {
		all = append(all, object.Of("function", object.Write(inner)))
	}
	if len(all) > 0 {
		b.Raw = m.keep("call", object.Write(all))
	}
	return b
}

// keep marks what the neutral form cannot hold of a block as this model's: see [kept].
func (m *Model) keep(key string, value []byte) json.RawMessage {
	clean, _ := canon.CleanJSON(object.Write([]object.Member{object.Of(key, value)}))
	return membrane.Own(Dialect, m.model, clean)
}
