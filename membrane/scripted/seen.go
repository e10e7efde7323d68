package scripted

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-run/weir/membrane"
)

// Seen is what the model is shown in one request, read back from the body.
type Seen struct {
	// Step is the number, from 1, of the answer that is asked for. In a script that repeats or loops
	// it goes on beyond the number of steps.
	Step int
	// System is the system text, Tools what is offered, in the order of the wire.
	System string
	Tools  []membrane.ToolSpec
	// Messages are the messages as they stand on the wire.
	Messages []membrane.Message
	// Body is the whole request. It must not be changed.
	Body []byte
}

// New gives the messages since the last answer.
func (s Seen) New() []membrane.Message {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].Role == membrane.Assistant {
			return s.Messages[i+1:]
		}
	}
	return s.Messages
}

// Results gives the results since the last answer, in call order.
func (s Seen) Results() []membrane.Result {
	var results []membrane.Result
	for _, m := range s.New() {
		results = append(results, m.Results...)
	}
	return results
}

// Text gives all texts and results since the last answer, each on lines of its own.
func (s Seen) Text() string { return textOf(s.New()) }

func (s Seen) names() []string {
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = t.Name
	}
	return names
}

// textOf joins what the messages say by newlines: texts, calls with their arguments, results.
func textOf(messages []membrane.Message) string {
	var parts []string
	for _, m := range messages {
		for _, b := range m.Blocks {
			switch b.Type {
			case membrane.Text, membrane.Thinking:
				parts = append(parts, b.Text)
			case membrane.Call:
				parts = append(parts, b.Tool+" "+string(b.Args))
			}
		}
		for _, r := range m.Results {
			parts = append(parts, r.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// see reads what a body shows, with the messages from the given one on.
func see(body []byte, l layout, from int) (Seen, error) {
	s := Seen{Body: body}
	// The head ends in the messages' bracket; closed, it is JSON of its own.
	var head headWire
	if err := json.Unmarshal(append(body[:l.open:l.open], "]}"...), &head); err != nil {
		return Seen{}, fmt.Errorf("read the head: %w", err)
	}
	s.System = head.System
	for _, t := range head.Tools {
		s.Tools = append(s.Tools, membrane.ToolSpec(t))
	}
	for i, raw := range l.elements[from:] {
		m, err := readElement(raw)
		if err != nil {
			return Seen{}, fmt.Errorf("read message %d: %w", from+i+1, err)
		}
		s.Messages = append(s.Messages, m)
	}
	return s, nil
}

func readElement(raw []byte) (membrane.Message, error) {
	var e struct {
		Role    membrane.Role     `json:"role"`
		Content []json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return membrane.Message{}, err
	}
	m := membrane.Message{Role: e.Role}
	for _, part := range e.Content {
		switch e.Role {
		case membrane.User, membrane.Assistant:
			var w blockWire
			if err := json.Unmarshal(part, &w); err != nil {
				return membrane.Message{}, err
			}
			m.Blocks = append(m.Blocks, w.block())
		case membrane.Results:
			var w resultWire
			if err := json.Unmarshal(part, &w); err != nil {
				return membrane.Message{}, err
			}
			r := membrane.Result{CallID: w.ID, Tool: w.Tool, Text: w.Text, IsError: w.IsError}
			for _, image := range w.Images {
				r.Images = append(r.Images, image.block())
			}
			m.Results = append(m.Results, r)
		default:
			return membrane.Message{}, fmt.Errorf("its role is %.40q", e.Role)
		}
	}
	return m, nil
}

func (w blockWire) block() membrane.Block {
	b := membrane.Block{Type: w.Type, CallID: w.ID, Tool: w.Tool, Args: w.Args, MIMEType: w.MIME, Data: w.Data}
	if w.Text != nil {
		b.Text = *w.Text
	}
	return b
}
