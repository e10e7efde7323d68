package responses

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

// reserved are the parameters that the head writes itself, and those that would have the provider keep
// the conversation.
var reserved = []string{"model", "input", "instructions", "stream", "store", "tools", "max_output_tokens", "previous_response_id", "conversation", "background"}

// EncodeHead makes what stands around the messages: model, stream, store, what to include, the bound of
// the answer where there is one, the system text as instructions, the settings, and tools sorted by name.
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
	tools, notes, err := form.Offer(h.Tools, maxTools)
	if err != nil {
		return membrane.Envelope{}, fmt.Errorf("encode the head: %w", err)
	}
	for _, note := range notes {
		m.log.Warn("a tool was changed for the provider", slog.String("model", m.Name()), slog.String("note", note))
	}
	settings := form.Over(base, own)
	head := canon.AppendString([]byte(`{"model":`), m.model)
	head = append(head, `,"stream":true,"store":false`...)
	if m.reasoning && object.Find(settings, "include") == nil {
		head = append(head, `,"include":["reasoning.encrypted_content"]`...)
	}
	limit := h.MaxTokens
	if limit <= 0 {
		limit = m.cfg.MaxTokens
	}
	if limit > 0 {
		head = strconv.AppendInt(append(head, `,"max_output_tokens":`...), int64(limit), 10)
	}
	if strings.TrimSpace(h.System) != "" {
		head = canon.AppendString(append(head, `,"instructions":`...), h.System)
	}
	for _, s := range settings {
		head = append(canon.AppendString(append(head, ','), s.Key), ':')
		head = append(head, s.Value...)
	}
	var offered [][]byte
	for _, t := range tools {
		all := []object.Member{object.Text("type", "function"), object.Text("name", t.Name)}
		if t.Description != "" {
			all = append(all, object.Text("description", t.Description))
		}
		offered = append(offered, object.Write(append(all, object.Of("parameters", t.Schema), object.Of("strict", []byte("false")))))
	}
	if len(offered) > 0 {
		head = append(append(head, `,"tools":`...), object.List(offered)...)
	}
	head, _ = canon.CleanJSON(append(head, `,"input":[`...))
	return membrane.Envelope{Head: head, Tail: []byte("]}")}, nil
}

// Notes says, a line each, which of the tools are offered otherwise than they are given, and which are
// left out because the provider would refuse the whole request.
func (m *Model) Notes(h membrane.Head) []string {
	_, notes, err := form.Offer(h.Tools, maxTools)
	if err != nil {
		return append(notes, err.Error())
	}
	return notes
}

// descriptions reads the tools of a head that was sent.
func descriptions(head []byte) map[string]string {
	var sent struct {
		Tools []struct{ Name, Description string }
	}
	out := map[string]string{}
	if json.Unmarshal(append(bytes.Clone(head), "]}"...), &sent) != nil {
		return out
	}
	for _, t := range sent.Tools {
		out[t.Name] = t.Description
	}
	return out
}
