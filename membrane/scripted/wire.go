package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
)

// Dialect names the wire format of this package.
const Dialect = "scripted"

// headWire is what stands before the messages. The order of the members is the wire format.
type headWire struct {
	Model     string          `json:"model"`
	System    string          `json:"system"`
	Tools     []toolWire      `json:"tools"`
	MaxTokens int             `json:"max_tokens,omitempty"`
	Settings  json.RawMessage `json:"settings,omitempty"`
}

type toolWire struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

// elementWire is one element of the messages: of the user, of the model, or the results of a round.
type elementWire struct {
	Role membrane.Role `json:"role"`
	// Step is the number, from 1, of the step that made an answer; 0 when it came from elsewhere.
	Step    int   `json:"step,omitempty"`
	Content []any `json:"content"`
}

type blockWire struct {
	Type membrane.BlockType `json:"type"`
	Text *string            `json:"text,omitempty"`
	ID   string             `json:"id,omitempty"`
	Tool string             `json:"tool,omitempty"`
	Args json.RawMessage    `json:"args,omitempty"`
	MIME string             `json:"mime,omitempty"`
	Data []byte             `json:"data,omitempty"`
}

type resultWire struct {
	ID      string      `json:"id"`
	Tool    string      `json:"tool"`
	Text    string      `json:"text"`
	IsError bool        `json:"is_error,omitempty"`
	Images  []blockWire `json:"images,omitempty"`
}

// encodeHead makes what stands around the messages.
func encodeHead(model string, h membrane.Head) (membrane.Envelope, error) {
	w := headWire{Model: model, System: h.System, Tools: []toolWire{}, MaxTokens: h.MaxTokens, Settings: h.Settings}
	if w.Settings != nil && (canon.Kind(w.Settings) != "object" || !canon.Valid(w.Settings)) {
		return membrane.Envelope{}, errors.New("encode the head: the settings are not a JSON object")
	}
	for _, t := range h.Tools {
		schema := t.Schema
		if len(bytes.TrimSpace(schema)) == 0 {
			schema = json.RawMessage(`{"type":"object"}`)
		}
		if !canon.Valid(schema) {
			return membrane.Envelope{}, fmt.Errorf("encode the head: the schema of tool %s is not JSON", t.Name)
		}
		w.Tools = append(w.Tools, toolWire{Name: t.Name, Description: t.Description, Schema: schema})
	}
	slices.SortStableFunc(w.Tools, func(a, b toolWire) int { return strings.Compare(a.Name, b.Name) })
	for i := 1; i < len(w.Tools); i++ {
		if w.Tools[i].Name == w.Tools[i-1].Name {
			return membrane.Envelope{}, fmt.Errorf("encode the head: there are two tools named %s", w.Tools[i].Name)
		}
	}
	head, err := canon.Marshal(w)
	if err != nil {
		return membrane.Envelope{}, fmt.Errorf("encode the head: %w", err)
	}
	head = append(bytes.TrimSuffix(head, []byte("}")), `,"messages":[`...)
	return membrane.Envelope{Head: head, Tail: []byte("]}")}, nil
}

// encodeMessage makes the one element of a message. What only another dialect understands is left out.
func encodeMessage(m membrane.Message) ([]byte, error) {
	e := elementWire{Role: m.Role, Content: []any{}}
	switch m.Role {
	case membrane.User, membrane.Assistant:
		for _, b := range m.Blocks {
			if w, ok := wireOf(b); ok {
				e.Content = append(e.Content, w)
			}
			if n := stepOf(b.Raw); n > 0 && m.Role == membrane.Assistant {
				e.Step = n
			}
		}
	case membrane.Results:
		for _, r := range m.Results {
			w := resultWire{ID: r.CallID, Tool: r.Tool, Text: r.Text, IsError: r.IsError}
			for _, b := range r.Images {
				if image, ok := wireOf(b); ok {
					w.Images = append(w.Images, image)
				}
			}
			e.Content = append(e.Content, w)
		}
	default:
		return nil, fmt.Errorf("encode a message: its role is %.40q, which this dialect does not have", m.Role)
	}
	out, err := canon.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode a message: %w", err)
	}
	return out, nil
}

func wireOf(b membrane.Block) (blockWire, bool) {
	switch b.Type {
	case membrane.Text, membrane.Thinking:
		return blockWire{Type: b.Type, Text: &b.Text}, true
	case membrane.Call:
		return blockWire{Type: b.Type, ID: b.CallID, Tool: b.Tool, Args: membrane.ObjectArgs(b.Args)}, true
	case membrane.Image:
		return blockWire{Type: b.Type, MIME: b.MIMEType, Data: b.Data}, true
	}
	return blockWire{}, false
}

// stepMark is what the first block of an answer carries in its Raw, so that an answer that is encoded
// anew keeps its number.
type stepMark struct {
	Step int `json:"scripted_step"`
}

func markOf(step int) json.RawMessage {
	return fmt.Appendf(nil, `{"scripted_step":%d}`, step)
}

// stepOf gives the number in the mark of a block; 0 for what carries none.
func stepOf(raw json.RawMessage) int {
	var mark stepMark
	if !bytes.Contains(raw, []byte(`"scripted_step"`)) || json.Unmarshal(raw, &mark) != nil {
		return 0
	}
	return max(mark.Step, 0)
}
