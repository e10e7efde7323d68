package openai

import (
	"encoding/json"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/openai/internal/form"
	"github.com/weir-run/weir/membrane/wire"
)

// maxParts is how many parts, and how many calls, an answer may have.
const maxParts = 10_000

// answer puts an answer together from the chunks of its stream: what is known is joined, everything else
// is joined by its own form, and what can be neither is an error.
type answer struct {
	m        *Model
	request  membrane.Request
	content  []*piece
	refusal  form.Joint
	thoughts []*thought
	rest     form.Rest
	calls    []*call
	reason   string
	usage    membrane.Usage
	ended    bool
}

// piece is a text of the content, or a part of it that is more than that.
type piece struct {
	text form.Joint
	part []object.Member
}

// thought is a member in which reasoning comes.
type thought struct {
	key  string
	text form.Joint
}

// chunk is one event of the stream.
// Source: https://developers.openai.com/api/reference/resources/chat, the streaming events.
type chunk struct {
	Choices []struct {
		Index        int             `json:"index"`
		Delta        json.RawMessage `json:"delta"`
		FinishReason *string         `json:"finish_reason"`
		Error        json.RawMessage `json:"error"`
	} `json:"choices"`
	Usage *wireUsage      `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// Read takes one event of the stream.
func (a *answer) Read(e wire.Event) (shown []membrane.Event, whole bool, err error) {
	data := strings.TrimSpace(string(e.Data))
	if data == "[DONE]" {
		a.ended = true
		return nil, true, nil
	}
	if data == "" {
		return nil, false, nil
	}
	var c chunk
	if err := json.Unmarshal([]byte(data), &c); err != nil {
		return nil, false, wire.Unreadable("an event of the answer cannot be read: %.200s", data)
	}
	if e.Type == "error" && c.Error == nil {
		c.Error = []byte(data)
	}
	if err := failure(c.Error); err != nil {
		return nil, false, err
	}
	if c.Usage != nil {
		a.usage = c.Usage.neutral()
	}
	for _, choice := range c.Choices {
		if err := failure(choice.Error); err != nil {
			return nil, false, err
		}
		if choice.Index != 0 {
			return nil, false, wire.Unknown("the server sent a second answer")
		}
		if canon.Kind(choice.Delta) == "object" {
			if shown, err = a.delta(choice.Delta, shown); err != nil {
				return nil, false, err
			}
		}
		if choice.FinishReason != nil && *choice.FinishReason != "" {
			a.reason = *choice.FinishReason
		}
	}
	return shown, false, nil
}

// failure makes the error that stands in a stream; nil for none.
func failure(raw json.RawMessage) error {
	if kind := canon.Kind(raw); len(raw) == 0 || kind == "null" || kind == "" {
		return nil
	}
	return form.Failure(raw, string(raw))
}

// delta joins what a chunk brings.
func (a *answer) delta(raw json.RawMessage, shown []membrane.Event) ([]membrane.Event, error) {
	all, err := object.Read(raw)
	if err != nil {
		return nil, wire.Unreadable("a delta of the answer cannot be read: %v", err)
	}
	for _, d := range all {
		if canon.Kind(d.Value) == "null" {
			continue
		}
		switch d.Key {
		case "role":
		case "content":
			shown, err = a.contentDelta(d.Value, shown)
		case "refusal":
			shown, err = join(&a.refusal, d, shown, false)
		case "reasoning_content", "reasoning":
			if canon.Kind(d.Value) != "string" {
				err = rest(&a.rest, d)
				break
			}
			t := a.thought(d.Key)
			before := shown
			if shown, err = join(&t.text, d, shown, true); t != a.thoughts[0] {
				shown = before // the same under another name
			}
		case "tool_calls":
			err = a.callDeltas(d.Value)
		case "function_call":
			err = wire.Unknown("the server calls a function in the form that was given up in 2023")
		default:
			err = rest(&a.rest, d)
		}
		if err != nil {
			return nil, err
		}
	}
	return shown, nil
}

// join adds a text and shows it.
func join(to *form.Joint, d object.Member, shown []membrane.Event, thinking bool) ([]membrane.Event, error) {
	text, ok := to.Add(d.Value)
	switch {
	case !ok:
		return nil, wire.Unreadable("%s of the answer is no text", d.Key)
	case text == "":
		return shown, nil
	case thinking:
		return append(shown, membrane.ThinkingDelta{Text: text}), nil
	}
	return append(shown, membrane.TextDelta{Text: text}), nil
}

// rest adds a member that this build does not know.
func rest(to *form.Rest, d object.Member) error {
	if err := to.Add(d.Key, d.Value); err != nil {
		return wire.Unknown("the answer cannot be joined: %v", err)
	}
	return nil
}

func (a *answer) thought(key string) *thought {
	for _, t := range a.thoughts {
		if t.key == key {
			return t
		}
	}
	a.thoughts = append(a.thoughts, &thought{key: key})
	return a.thoughts[len(a.thoughts)-1]
}

// contentDelta takes a piece of the content: a text, or parts of a list.
func (a *answer) contentDelta(raw json.RawMessage, shown []membrane.Event) ([]membrane.Event, error) {
	if canon.Kind(raw) == "string" {
		return join(a.plain(), object.Of("content", raw), shown, false)
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil, wire.Unreadable("the content of the answer is neither a text nor a list: %.100s", raw)
	}
	for _, part := range list {
		all, err := object.Read(part)
		if err != nil || len(a.content) >= maxParts {
			return nil, wire.Unreadable("a part of the answer cannot be read: %.100s", part)
		}
		kind, _ := canon.Unquote(object.Find(all, "type"))
		text := object.Find(all, "text")
		switch plain := len(object.Without(all, "type", "text")) == 0; {
		case kind == "text" && plain:
			if shown, err = join(a.plain(), object.Of("content", text), shown, false); err != nil {
				return nil, err
			}
		default:
			p := &piece{part: all}
			a.content = append(a.content, p)
			if kind == "text" {
				if shown, err = join(&p.text, object.Of("content", text), shown, false); err != nil {
					return nil, err
				}
			}
			if kind == "thinking" {
				if text := thinking(all); text != "" {
					shown = append(shown, membrane.ThinkingDelta{Text: text})
				}
			}
		}
	}
	return shown, nil
}

// plain is the text that goes on.
func (a *answer) plain() *form.Joint {
	if n := len(a.content); n == 0 || a.content[n-1].part != nil {
		a.content = append(a.content, &piece{})
	}
	return &a.content[len(a.content)-1].text
}

// thinking is the text of a part of thinking: a text, or a list of parts of text.
func thinking(part []object.Member) string {
	raw := object.Find(part, "thinking")
	if text, ok := canon.Unquote(raw); ok {
		return text
	}
	var list []struct{ Text string }
	_ = json.Unmarshal(raw, &list)
	var b strings.Builder
	for _, t := range list {
		b.WriteString(t.Text)
	}
	return b.String()
}

// wireUsage counts tokens; what was read from the cache and what was written to it are part of the
// prompt. DeepSeek tells what it read in a member of its own.
type wireUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Details    struct {
		Cached  int64 `json:"cached_tokens"`
		Written int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	Hit int64 `json:"prompt_cache_hit_tokens"`
}

func (u wireUsage) neutral() membrane.Usage {
	read := max(u.Details.Cached, u.Hit, 0)
	written := max(u.Details.Written, 0)
	return membrane.Usage{In: max(u.Prompt-read-written, 0), Out: max(u.Completion, 0), CacheRead: read, CacheWrite: written}
}
