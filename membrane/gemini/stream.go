package gemini

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/wire"
)

// maxParts is how many parts an answer may have.
const maxParts = 10_000

// Stream sends a request and yields what comes back. Every error is a *[membrane.Error]. The last event
// is a [membrane.Done], whose fragment is the answer as it goes back. A request is sent once: whoever
// drives the conversation asks again.
func (m *Model) Stream(ctx context.Context, r membrane.Request) iter.Seq2[membrane.Event, error] {
	return m.client.Stream(ctx, wire.Post{
		Path: m.path(), Request: r,
		Answer: func() wire.Answer { return &answer{of: m, request: r} },
	})
}

// answer puts an answer together from the chunks of its stream.
type answer struct {
	of      *Model
	request membrane.Request
	parts   []*part
	// reason is why the model stopped, said what it says of that; blocked why the prompt was refused.
	reason, said, blocked string
	usage                 membrane.Usage
}

// chunk is one event of the stream, an answer of its own. What of it is not read, such as ratings and
// sources, is no part of the conversation.
// Source: https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse.
type chunk struct {
	Error      *status `json:"error"`
	Candidates []struct {
		Index   int `json:"index"`
		Content struct {
			Parts []json.RawMessage `json:"parts"`
		} `json:"content"`
		FinishReason  string `json:"finishReason"`
		FinishMessage string `json:"finishMessage"`
	} `json:"candidates"`
	PromptFeedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage *struct {
		Prompt   int64 `json:"promptTokenCount"`
		Tools    int64 `json:"toolUsePromptTokenCount"`
		Cached   int64 `json:"cachedContentTokenCount"`
		Answer   int64 `json:"candidatesTokenCount"`
		Thoughts int64 `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
}

// Read takes one event. None is known to be the last: the answer is whole when the stream has ended and the
// reason to stop was there.
func (a *answer) Read(raw wire.Event) (shown []membrane.Event, whole bool, err error) {
	data := bytes.TrimSpace(raw.Data)
	if len(data) == 0 {
		return nil, false, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, false, wire.Unreadable("an event cannot be read: %.200s", data)
	}
	if c.Error != nil {
		return nil, false, c.Error.fault().Err(0)
	}
	for _, candidate := range c.Candidates {
		if candidate.Index != 0 {
			a.of.log.Warn("an answer beside the first is left out", slog.String("model", a.of.Name()))
			continue
		}
		for _, raw := range candidate.Content.Parts {
			e, err := a.add(raw)
			if err != nil {
				return shown, false, err
			}
			if e != nil {
				shown = append(shown, e)
			}
		}
		if candidate.FinishReason != "" {
			a.reason, a.said = candidate.FinishReason, candidate.FinishMessage
		}
	}
	if c.PromptFeedback.BlockReason != "" {
		a.blocked = c.PromptFeedback.BlockReason
	}
	if u := c.Usage; u != nil { // each counts from the start of the answer on
		a.usage = membrane.Usage{In: max(0, u.Prompt+u.Tools-u.Cached), Out: u.Answer + u.Thoughts, CacheRead: u.Cached}
	}
	return shown, false, nil
}

// add takes a part, and gives what of it can be shown.
func (a *answer) add(raw json.RawMessage) (membrane.Event, error) {
	next, err := newPart(raw)
	if err != nil {
		return nil, err
	}
	text := next.text.String()
	if n := len(a.parts); n > 0 && a.parts[n-1].joins(next) {
		a.parts[n-1].text.WriteString(text)
	} else if n >= maxParts {
		return nil, wire.Unreadable("the answer has more than %d parts", maxParts)
	} else {
		a.parts = append(a.parts, next)
	}
	switch {
	case text == "":
		return nil, nil
	case next.thought:
		return membrane.ThinkingDelta{Text: text}, nil
	}
	return membrane.TextDelta{Text: text}, nil
}

// Done gives the whole answer.
func (a *answer) Done() (membrane.Done, error) {
	message := membrane.Message{Role: membrane.Assistant}
	for _, p := range a.parts {
		b, err := p.block(a.of.model)
		if err != nil {
			return membrane.Done{}, err
		}
		if b.Type != membrane.Text || b.Text != "" || b.Raw != nil {
			message.Blocks = append(message.Blocks, b)
		}
	}
	stop, err := a.stop(len(message.Calls()) > 0)
	if err != nil {
		return membrane.Done{}, err
	}
	message.Blocks = membrane.FreshIDs(message.Blocks, func(id string) bool { return a.request.Mentions(membrane.WireName(id)) })
	fullNames(message.Blocks, a.request.Head)
	return membrane.Done{
		Message: message, Fragment: content("model", a.of.answerParts(message.Blocks)), Stop: stop, Usage: a.usage,
	}, nil
}

// stop maps the provider's reason. One that is not known is an error: it might say that the answer is not
// whole.
// Source: https://ai.google.dev/api/generate-content#FinishReason.
func (a *answer) stop(calls bool) (membrane.Stop, error) {
	switch a.reason {
	case "STOP":
		if calls {
			return membrane.StopCalls, nil
		}
		return membrane.StopEnd, nil
	case "MAX_TOKENS":
		return membrane.StopCut, nil
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		a.of.log.Warn("the provider withheld the rest of the answer", slog.String("model", a.of.Name()), slog.String("reason", a.reason))
		return membrane.StopRefused, nil
	case "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "OTHER":
		return "", wire.Unreadable("the answer stopped with %s: the model wrote what cannot be used; ask again: %.200s", a.reason, a.said)
	case "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "NO_IMAGE", "IMAGE_OTHER":
		return "", &membrane.Error{Kind: membrane.InvalidRequest, Text: fmt.Sprintf("the answer stopped with %s: %.200s", a.reason, a.said)}
	case "", "FINISH_REASON_UNSPECIFIED":
		if a.blocked != "" {
			a.of.log.Warn("the provider refused the prompt", slog.String("model", a.of.Name()), slog.String("reason", a.blocked))
			return membrane.StopRefused, nil
		}
		return "", wire.Unreadable("the answer ended in the middle")
	}
	return "", wire.Unknown("the answer stopped for the reason %.60q", a.reason)
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
		Tools []struct {
			Declarations []struct{ Name, Description string } `json:"functionDeclarations"`
		}
	}
	out := map[string]string{}
	if json.Unmarshal(fmt.Appendf(nil, "%s]}", head), &said) != nil {
		return out
	}
	for _, t := range said.Tools {
		for _, d := range t.Declarations {
			out[d.Name] = d.Description
		}
	}
	return out
}
