package gemini

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/internal/schema"
)

// EncodeHead makes what stands around the messages: systemInstruction, tools sorted by name,
// generationConfig, then the other settings. The model is named in the address, not in the body. The
// provider's cache is implicit: it finds what begins with the same bytes.
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
	var all []object.Member
	if h.System != "" {
		parts := object.List([][]byte{textPart(h.System)})
		all = append(all, object.Of("systemInstruction", object.Write([]object.Member{object.Of("parts", parts)})))
	}
	if len(tools) > 0 {
		declarations := object.Write([]object.Member{object.Of("functionDeclarations", object.List(tools))})
		all = append(all, object.Of("tools", object.List([][]byte{declarations})))
	}
	head := object.Write(append(all, settings...))
	head = head[:len(head)-1] // the contents come, and then its end
	if len(head) > 1 {
		head = append(head, ',')
	}
	head, _ = canon.CleanJSON(append(head, `"contents":[`...))
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

// encodeTools makes the declarations of the offered tools, sorted by name, and a note for each one that is
// changed or left out.
func encodeTools(specs []membrane.ToolSpec) (tools [][]byte, notes []string, err error) {
	var taken []membrane.ToolSpec
	for _, t := range specs {
		if first := membrane.WireName(t.Name)[0]; first == '-' || '0' <= first && first <= '9' {
			notes = append(notes, fmt.Sprintf("tool %.80s is left out: the provider takes no name that begins with %q, only a letter or _", t.Name, first))
			continue
		}
		taken = append(taken, t)
	}
	offered, more, err := schema.Offer(taken, fit)
	for _, t := range offered {
		all := []object.Member{object.Text("name", t.Name)}
		if strings.TrimSpace(t.Description) != "" {
			all = append(all, object.Text("description", t.Description))
		}
		if t.Schema != nil {
			all = append(all, object.Of("parametersJsonSchema", t.Schema))
		}
		clean, _ := canon.CleanJSON(object.Write(all))
		tools = append(tools, clean)
	}
	return tools, append(notes, more...), err
}

// settings gives the parameters of a head: those of the Config, and in their place or behind them those
// of the head; generationConfig is joined, and holds the limit of tokens.
func (m *Model) settings(h membrane.Head) ([]object.Member, error) {
	all, err := settingsOf(m.cfg.Settings)
	if err != nil {
		return nil, err
	}
	own, err := settingsOf(h.Settings)
	if err != nil {
		return nil, err
	}
	generation, _ := object.Read(object.Find(all, "generationConfig"))
	mine, _ := object.Read(object.Find(own, "generationConfig"))
	generation = replaced(generation, mine)
	limit := h.MaxTokens
	if limit <= 0 {
		limit = m.cfg.MaxTokens
	}
	if limit > 0 {
		generation = append(generation, object.Of("maxOutputTokens", strconv.AppendInt(nil, int64(limit), 10)))
	}
	all = replaced(object.Without(all, "generationConfig"), object.Without(own, "generationConfig"))
	if len(generation) > 0 {
		all = append([]object.Member{object.Of("generationConfig", object.Write(generation))}, all...)
	}
	return all, nil
}

// replaced puts members in the place of those of the same name, or behind them.
func replaced(all, more []object.Member) []object.Member {
	for _, s := range more {
		if at := slices.IndexFunc(all, func(o object.Member) bool { return o.Key == s.Key }); at >= 0 {
			all[at] = s
			continue
		}
		all = append(all, s)
	}
	return all
}

// settingsOf reads settings: no member may be one that the head writes itself.
func settingsOf(raw []byte) ([]object.Member, error) {
	if strings.TrimSpace(string(raw)) == "" {
		return nil, nil
	}
	all, err := object.Read(raw)
	if err != nil {
		return nil, fmt.Errorf("the settings are not a JSON object: %w", err)
	}
	seen := map[string]bool{}
	for _, s := range all {
		switch s.Key {
		case "model", "contents", "systemInstruction", "system_instruction", "tools":
			return nil, fmt.Errorf("the settings hold %q, which the head has already", s.Key)
		case "generationConfig":
			if err := checkGeneration(s.Value); err != nil {
				return nil, err
			}
		}
		if seen[s.Key] {
			return nil, fmt.Errorf("the settings hold %.40q twice", s.Key)
		}
		seen[s.Key] = true
	}
	return all, nil
}

func checkGeneration(raw []byte) error {
	all, err := object.Read(raw)
	if err != nil {
		return fmt.Errorf("the generationConfig of the settings is not a JSON object: %w", err)
	}
	for _, key := range object.Keys(all) {
		switch key {
		case "maxOutputTokens":
			return errors.New(`the settings hold "maxOutputTokens": set MaxTokens in the Config instead`)
		case "candidateCount":
			return errors.New(`the settings hold "candidateCount": only one answer is read`)
		}
	}
	return nil
}
