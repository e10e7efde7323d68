package openai

import (
	"encoding/json"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/openai/internal/form"
	"github.com/weir-run/weir/membrane/wire"
)

// Done gives the whole answer.
func (a *answer) Done() (membrane.Done, error) {
	switch {
	case !a.ended && (a.reason == "" || a.m.quirks.DoneNeeded):
		return membrane.Done{}, wire.Unreadable("the answer ended in the middle")
	case a.reason == "":
		return membrane.Done{}, wire.Unreadable("the answer ended without a reason to stop")
	}
	stop, err := a.stop()
	if err != nil {
		return membrane.Done{}, err
	}
	message := membrane.Message{Role: membrane.Assistant, Blocks: a.blocks()}
	ids := a.m.quirks.ids()
	message.Blocks = membrane.FreshIDs(message.Blocks, func(id string) bool { return a.request.Mentions(ids.Wire(id)) })
	form.FullNames(message.Blocks, func() map[string]string { return descriptions(a.request.Head) })
	return membrane.Done{Message: message, Fragment: a.m.answerElement(message.Blocks), Stop: stop, Usage: a.usage}, nil
}

// stop maps the reason to stop. One that is not known is an error: it might say that the answer is not
// whole.
// Sources: the provider's reference; those of Mistral (model_length, error), DeepSeek
// (insufficient_system_resource), vLLM (abort) and Text Generation Inference (eos_token, stop_sequence).
func (a *answer) stop() (membrane.Stop, error) {
	switch a.reason {
	case "stop", "tool_calls", "function_call", "eos_token", "stop_sequence":
		switch {
		case len(a.calls) > 0:
			return membrane.StopCalls, nil
		case a.refusal.String() != "":
			return membrane.StopRefused, nil
		case a.reason == "tool_calls" && len(a.content) == 0:
			return "", wire.Unreadable("the answer ended for its calls and has none")
		}
		return membrane.StopEnd, nil
	case "length":
		return membrane.StopCut, nil
	case "content_filter":
		return membrane.StopRefused, nil
	case "model_length":
		return membrane.StopContextFull, nil
	case "error", "abort":
		return "", wire.Unreadable("the server gave the answer up (%s)", a.reason)
	case "insufficient_system_resource":
		return "", &membrane.Error{Kind: membrane.Overloaded, Text: "the server gave the answer up (insufficient_system_resource): ask again later"}
	}
	return "", wire.Unknown("the answer stopped for the reason %.60q", a.reason)
}

// blocks gives the answer in its neutral form.
func (a *answer) blocks() []membrane.Block {
	var out []membrane.Block
	for _, t := range a.thoughts {
		if text := t.text.String(); text != "" {
			out = append(out, membrane.Block{Type: membrane.Thinking, Text: text, Raw: a.m.keep("in", canon.AppendString(nil, t.key))})
		}
	}
	for _, p := range a.content {
		if b := p.block(a.m); b.Type != membrane.Text || b.Text != "" {
			out = append(out, b)
		}
	}
	if text := a.refusal.String(); text != "" {
		out = append(out, membrane.Block{Type: membrane.Text, Text: text, Raw: a.m.keep("in", []byte(`"refusal"`))})
	}
	for _, c := range a.calls {
		out = append(out, c.block(a.m))
	}
	if all := a.rest.Members(); len(all) > 0 {
		out = append(out, membrane.Block{Type: membrane.Other, Raw: a.m.keep("message", object.Write(all))})
	}
	return out
}

// block gives a piece of the content in its neutral form.
func (p *piece) block(m *Model) membrane.Block {
	if p.part == nil {
		return membrane.Block{Type: membrane.Text, Text: p.text.String()}
	}
	switch kind, _ := canon.Unquote(object.Find(p.part, "type")); kind {
	case "text":
		return membrane.Block{Type: membrane.Text, Text: p.text.String(), Raw: m.keep("part", object.Write(object.Without(p.part, "text")))}
	case "thinking":
		return membrane.Block{Type: membrane.Thinking, Text: thinking(p.part), Raw: m.keep("part", object.Write(p.part))}
	}
	return membrane.Block{Type: membrane.Other, Raw: m.keep("part", object.Write(p.part))}
}

// withText puts the text of a part back behind its type.
func withText(part json.RawMessage, text string) json.RawMessage {
	all, err := object.Read(part)
	if err != nil {
		return textPart(text)
	}
	out := []object.Member{object.Text("type", "text"), object.Text("text", text)}
	return object.Write(append(out, object.Without(all, "type", "text")...))
}

// written gives arguments as the model wrote them; none is an empty object.
func written(args []byte) string {
	if string(membrane.ObjectArgs(args)) == "{}" {
		return "{}"
	}
	return string(args)
}
