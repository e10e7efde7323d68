package anthropic

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
)

// bindingBeta is the value of anthropic-beta that thinking.block_binding needs.
const bindingBeta = "thinking-binding-controls-2026-08-01"

// EncodeHead makes what stands around the messages: model, max_tokens, stream, system, tools sorted by
// name, cache_control, then the settings. The cache is asked for at the end of the system text (or of
// the tools) and, by the top-level field, at the end of the messages.
//
// It fails for settings that are no object or that name what stands in the head already, and for two
// tools of one name. A tool that the provider would refuse is changed or left out, see [Model.Notes].
func (m *Model) EncodeHead(h membrane.Head) (membrane.Envelope, error) {
	settings, err := m.settings(h)
	if err != nil {
		return membrane.Envelope{}, fmt.Errorf("encode the head: %w", err)
	}
	tools, notes, err := encodeTools(h.Tools)
	if err != nil {
		return membrane.Envelope{}, fmt.Errorf("encode the head: %w", err)
	}
	for _, note := range notes {
		m.log.Warn("a tool was changed for the provider", slog.String("model", m.Name()), slog.String("note", note))
	}
	limit := h.MaxTokens
	if limit <= 0 {
		limit = m.cfg.MaxTokens
	}
	mark := m.mark()
	head := canon.AppendString([]byte(`{"model":`), m.model)
	head = strconv.AppendInt(append(head, `,"max_tokens":`...), int64(limit), 10)
	head = append(head, `,"stream":true`...)
	if !blank(h.System) {
		head = canon.AppendString(append(head, `,"system":[{"type":"text","text":`...), h.System)
		head = append(append(head, mark...), `}]`...)
	}
	if len(tools) > 0 {
		if blank(h.System) {
			last := tools[len(tools)-1]
			tools[len(tools)-1] = append(append(last[:len(last)-1:len(last)-1], mark...), '}')
		}
		head = append(append(head, `,"tools":[`...), bytes.Join(tools, []byte(","))...)
		head = append(head, ']')
	}
	if mark != "" {
		head = append(head, shortMark...)
	}
	for _, s := range settings {
		head = append(canon.AppendString(append(head, ','), s.Key), ':')
		head = append(head, s.Value...)
	}
	head, _ = canon.CleanJSON(append(head, `,"messages":[`...))
	return membrane.Envelope{Head: head, Tail: []byte("]}")}, nil
}

// Notes says, a line each, which of the tools are offered otherwise than they are given, and which are
// left out because the provider would refuse the whole request.
func (m *Model) Notes(h membrane.Head) []string {
	_, notes, err := encodeTools(h.Tools)
	if err != nil {
		return append(notes, err.Error())
	}
	return notes
}

// mark is the member that asks for the cache of tools and system text, with a comma before it; empty
// for none.
func (m *Model) mark() string {
	switch m.cfg.Cache {
	case CacheOff:
		return ""
	case CacheLong:
		return longMark
	}
	return shortMark
}

// settings gives the parameters of a head: those of the Config, and in their place or behind them those
// of the head.
func (m *Model) settings(h membrane.Head) ([]object.Member, error) {
	all, err := settingsOf(m.cfg.Settings)
	if err != nil {
		return nil, err
	}
	own, err := settingsOf(h.Settings)
	if err != nil {
		return nil, err
	}
	for _, s := range own {
		if at := slices.IndexFunc(all, func(o object.Member) bool { return o.Key == s.Key }); at >= 0 {
			all[at] = s
			continue
		}
		all = append(all, s)
	}
	thinks := slices.ContainsFunc(all, func(s object.Member) bool { return s.Key == "thinking" })
	if !thinks && m.cfg.BaseURL == "" && bindsThinking(m.model) {
		all = append(all, object.Of("thinking", []byte(`{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`)))
	}
	return all, nil
}

// bindsThinking reports whether a model refuses thinking of its own behind bytes that were changed.
// Both think always and adaptively, so naming that changes nothing.
// Source: https://platform.claude.com/docs/en/build-with-claude/preserved-thinking.
func bindsThinking(model string) bool {
	return strings.HasPrefix(model, "claude-opus-5-5") || strings.HasPrefix(model, "claude-fable-5-1")
}

// settingsOf reads settings: no member may be one that the head writes itself.
func settingsOf(raw []byte) ([]object.Member, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	all, err := object.Read(raw)
	if err != nil {
		return nil, fmt.Errorf("the settings are not a JSON object: %w", err)
	}
	seen := map[string]bool{}
	for _, s := range all {
		switch s.Key {
		case "model", "max_tokens", "stream", "system", "tools", "messages":
			return nil, fmt.Errorf("the settings hold %q, which the head has already", s.Key)
		case "cache_control":
			return nil, errors.New(`the settings hold "cache_control": set Cache in the Config instead`)
		}
		if seen[s.Key] {
			return nil, fmt.Errorf("the settings hold %.40q twice", s.Key)
		}
		seen[s.Key] = true
	}
	return all, nil
}
