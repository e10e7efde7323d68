package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/openai/internal/form"
)

// reserved are the parameters that the head writes itself, and those that would change what an answer is.
var reserved = []string{"model", "messages", "stream", "stream_options", "tools", "max_tokens", "max_completion_tokens", "n", "functions", "function_call"}

// EncodeHead makes what stands around the messages: model, stream, the bound of the answer where there is
// one, the settings, tools sorted by name, and the system text as the first message.
//
// It fails for settings that are no object or that name what stands in the head already, and for two
// tools of one name. A tool that the provider would refuse is changed or left out, see [Model.Notes].
func (m *Model) EncodeHead(h membrane.Head) (membrane.Envelope, error) {
	base, err := form.Settings(m.cfg.Settings, reserved...)
	if err != nil {
		return membrane.Envelope{}, fmt.Errorf("encode the head: %w", err)
	}
	own, err := form.Settings(h.Settings, reserved...)
	if err != nil {
		return membrane.Envelope{}, fmt.Errorf("encode the head: %w", err)
	}
	tools, notes, err := form.Offer(h.Tools, m.quirks.MaxTools)
	if err != nil {
		return membrane.Envelope{}, fmt.Errorf("encode the head: %w", err)
	}
	for _, note := range notes {
		m.log.Warn("a tool was changed for the provider", slog.String("model", m.Name()), slog.String("note", note))
	}
	head := canon.AppendString([]byte(`{"model":`), m.model)
	head = append(head, `,"stream":true`...)
	if !m.quirks.NoStreamOptions {
		head = append(head, `,"stream_options":{"include_usage":true}`...)
	}
	limit := h.MaxTokens
	if limit <= 0 {
		limit = m.cfg.MaxTokens
	}
	if limit > 0 {
		head = append(canon.AppendString(append(head, ','), m.quirks.MaxTokens), ':')
		head = strconv.AppendInt(head, int64(limit), 10)
	}
	for _, s := range form.Over(base, own) {
		head = append(canon.AppendString(append(head, ','), s.Key), ':')
		head = append(head, s.Value...)
	}
	var offered [][]byte
	for _, t := range tools {
		function := []object.Member{object.Text("name", t.Name)}
		if t.Description != "" {
			function = append(function, object.Text("description", t.Description))
		}
		function = append(function, object.Of("parameters", t.Schema))
		offered = append(offered, object.Write([]object.Member{object.Text("type", "function"), object.Of("function", object.Write(function))}))
	}
	if len(offered) > 0 {
		head = append(append(head, `,"tools":`...), object.List(offered)...)
	}
	head = append(head, `,"messages":[`...)
	if strings.TrimSpace(h.System) != "" {
		head = append(head, object.Write([]object.Member{object.Text("role", m.quirks.System), object.Text("content", h.System)})...)
	}
	head, _ = canon.CleanJSON(head)
	return membrane.Envelope{Head: head, Tail: []byte("]}")}, nil
}

// Notes says, a line each, which of the tools are offered otherwise than they are given, and which are
// left out because the provider would refuse the whole request.
func (m *Model) Notes(h membrane.Head) []string {
	_, notes, err := form.Offer(h.Tools, m.quirks.MaxTools)
	if err != nil {
		return append(notes, err.Error())
	}
	return notes
}

// descriptions reads the tools of a head that was sent.
func descriptions(head []byte) map[string]string {
	var sent struct {
		Tools []struct {
			Function struct{ Name, Description string }
		}
	}
	out := map[string]string{}
	if json.Unmarshal(append(bytes.Clone(head), "]}"...), &sent) != nil {
		return out
	}
	for _, t := range sent.Tools {
		out[t.Function.Name] = t.Function.Description
	}
	return out
}
