package responses

import (
	"encoding/json"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/openai/internal/form"
	"github.com/weir-run/weir/membrane/wire"
)

// maxItems is how many items an answer may have.
const maxItems = 10_000

// answer puts an answer together from the items that its stream closes. What came in pieces was shown;
// a message whose pieces are not what it was closed with is an error.
type answer struct {
	m       *Model
	request membrane.Request
	// items are the closed items by their number, texts what was shown of messages.
	items map[int]json.RawMessage
	texts map[int]*form.Joint
	// thoughts joins what was shown of reasoning.
	thoughts form.Joint
	closed   *response
}

// event is one event of the stream.
// Source: https://developers.openai.com/api/reference/resources/responses, the streaming events.
type event struct {
	Type     string          `json:"type"`
	Index    *int            `json:"output_index"`
	Summary  int             `json:"summary_index"`
	Delta    json.RawMessage `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response *response       `json:"response"`
	Error    json.RawMessage `json:"error"`
}

// response is the answer as the last event tells it.
type response struct {
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Error      json.RawMessage   `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage struct {
		In      int64 `json:"input_tokens"`
		Out     int64 `json:"output_tokens"`
		Details struct {
			Cached int64 `json:"cached_tokens"`
		} `json:"input_tokens_details"`
	} `json:"usage"`
}

// Read takes one event of the stream.
func (a *answer) Read(raw wire.Event) (shown []membrane.Event, whole bool, err error) {
	data := strings.TrimSpace(string(raw.Data))
	if data == "" || data == "[DONE]" {
		return nil, false, nil
	}
	var e event
	if err := json.Unmarshal([]byte(data), &e); err != nil {
		return nil, false, wire.Unreadable("an event of the answer cannot be read: %.200s", data)
	}
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		shown, err = a.text(e)
	case "response.reasoning_summary_part.added":
		if e.Summary > 0 {
			shown = []membrane.Event{membrane.ThinkingDelta{Text: "\n\n"}}
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		text, ok := a.thoughts.Add(e.Delta)
		if !ok {
			err = wire.Unreadable("a delta of type %s brings no text", e.Type)
		} else if text != "" {
			shown = []membrane.Event{membrane.ThinkingDelta{Text: text}}
		}
	case "response.output_item.done":
		shown, err = a.close(e)
	case "response.completed", "response.incomplete":
		if e.Response == nil {
			return nil, false, wire.Unreadable("the end of the answer cannot be read: %.200s", data)
		}
		a.closed = e.Response
		shown, err = a.rest()
		whole = true
	case "response.failed", "response.cancelled":
		if e.Response != nil {
			e.Error = e.Response.Error
		}
		err = form.Failure(e.Error, data)
	case "error", "":
		if e.Error == nil && e.Type == "error" {
			all, _ := object.Read([]byte(data))
			e.Error = object.Write(object.Without(all, "type"))
		}
		if e.Error != nil {
			err = form.Failure(e.Error, data)
		}
	}
	return shown, whole, err
}

// text shows a piece of a message.
func (a *answer) text(e event) ([]membrane.Event, error) {
	if e.Index == nil || *e.Index < 0 || *e.Index >= maxItems {
		return nil, wire.Unreadable("a piece of a text belongs to no item")
	}
	j := a.texts[*e.Index]
	if j == nil {
		j = &form.Joint{}
		a.texts[*e.Index] = j
	}
	text, ok := j.Add(e.Delta)
	switch {
	case !ok:
		return nil, wire.Unreadable("a delta of type %s brings no text", e.Type)
	case text == "":
		return nil, nil
	}
	return []membrane.Event{membrane.TextDelta{Text: text}}, nil
}

// close takes an item that is whole. A text that no piece brought is shown now.
func (a *answer) close(e event) ([]membrane.Event, error) {
	if e.Index == nil || *e.Index < 0 || *e.Index >= maxItems || a.items[*e.Index] != nil || canon.Kind(e.Item) != "object" {
		return nil, wire.Unreadable("an item of the answer is closed that is none: %.200s", e.Item)
	}
	a.items[*e.Index] = e.Item
	blocks, _, err := a.m.blocks(e.Item)
	if err != nil {
		return nil, wire.Unreadable("an item of the answer cannot be read: %v", err)
	}
	text := membrane.Message{Blocks: blocks}.PlainText()
	j := a.texts[*e.Index]
	switch {
	case j == nil && text != "":
		a.texts[*e.Index] = &form.Joint{}
		return []membrane.Event{membrane.TextDelta{Text: text}}, nil
	case j != nil && j.String() != text:
		return nil, wire.Unreadable("a message of the answer is not what was sent of it before: pieces were lost")
	}
	return nil, nil
}

// rest takes the items that only the end of the answer tells.
func (a *answer) rest() (shown []membrane.Event, err error) {
	for i, raw := range a.closed.Output {
		if a.items[i] != nil {
			continue
		}
		more, err := a.close(event{Index: &i, Item: raw})
		if err != nil {
			return nil, err
		}
		shown = append(shown, more...)
	}
	return shown, nil
}

// Done gives the whole answer.
func (a *answer) Done() (membrane.Done, error) {
	if a.closed == nil {
		return membrane.Done{}, wire.Unreadable("the answer ended in the middle")
	}
	count := len(a.items)
	for i := range a.texts {
		count = max(count, i+1)
	}
	msg := membrane.Message{Role: membrane.Assistant}
	refused := false
	for i := range count {
		raw := a.items[i]
		if raw == nil {
			return membrane.Done{}, wire.Unreadable("item %d of the answer was never closed", i)
		}
		blocks, no, err := a.m.blocks(raw)
		if err != nil {
			return membrane.Done{}, wire.Unreadable("an item of the answer cannot be read: %v", err)
		}
		refused = refused || no
		msg.Blocks = append(msg.Blocks, blocks...)
	}
	stop, err := a.stop(len(msg.Calls()) > 0, refused)
	if err != nil {
		return membrane.Done{}, err
	}
	msg.Blocks = membrane.FreshIDs(msg.Blocks, func(id string) bool { return a.request.Mentions(membrane.WireName(id)) })
	form.FullNames(msg.Blocks, func() map[string]string { return descriptions(a.request.Head) })
	u := a.closed.Usage
	cached := max(u.Details.Cached, 0)
	usage := membrane.Usage{In: max(u.In-cached, 0), Out: max(u.Out, 0), CacheRead: cached}
	return membrane.Done{Message: msg, Fragment: a.m.answerItems(msg.Blocks), Stop: stop, Usage: usage}, nil
}

// stop maps the state of the answer. A reason that is not known is an error: it might say that the answer
// is not whole.
func (a *answer) stop(calls, refused bool) (membrane.Stop, error) {
	if a.closed.Status == "incomplete" || a.closed.Incomplete.Reason != "" {
		switch a.closed.Incomplete.Reason {
		case "max_output_tokens", "max_tokens", "": // the reference lets the reason be null
			return membrane.StopCut, nil
		case "content_filter":
			return membrane.StopRefused, nil
		}
		return "", wire.Unknown("the answer is incomplete for the reason %.60q", a.closed.Incomplete.Reason)
	}
	switch {
	case calls:
		return membrane.StopCalls, nil
	case refused:
		return membrane.StopRefused, nil
	}
	return membrane.StopEnd, nil
}
