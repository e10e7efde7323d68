package membranetest

import (
	"slices"
	"time"

	"github.com/weir-run/weir/membrane"
)

// Words that a transcript uses.
const (
	// Signature stands in whatever the provider signs or encrypts.
	Signature = "U0lHTkFUVVJF"
	// Unknown stands in fields, blocks and events that no build knows.
	Unknown = "from-the-future"
)

// Scenario is something that can happen between a loop and a provider.
type Scenario struct {
	// Name is also the transcript's; About says what the provider answers in it.
	Name, About string
	// Before are messages that the conversation begins with; Users those that the user says, one after
	// the other; none means "Go.".
	Before, Users []membrane.Message
	// Results gives the result of a call by the number of the call in its round; nil means a short text.
	Results func(i int, call membrane.Block) membrane.Result
	// Want is what must become of each answer.
	Want []Outcome
	// Sent must stand in the last request, and Unsent must not.
	Sent, Unsent []string
	// Kept must stand in the fragment of each answer.
	Kept []string
}

// Outcome is what became of one answer, in neutral terms.
type Outcome struct {
	// Shown and Thought are the deltas of the text and of the thinking, joined.
	Shown, Thought string
	// Text and Calls are those of the message.
	Text  string
	Calls []Called
	Stop  membrane.Stop
	// Usage is nil when the scenario leaves it open; cache writes are never compared.
	Usage *membrane.Usage
	// Error is the kind of the error that came instead of a message, RetryAfter the wait that it asks for.
	Error      membrane.Kind
	RetryAfter time.Duration
}

// Called is a call: its arguments are the model's own bytes.
type Called struct{ Tool, Args string }

// Scenarios are all scenarios of the suite.
func Scenarios() []Scenario {
	return slices.Concat(answerScenarios(), callScenarios(), argumentScenarios(), resultScenarios(), endScenarios(), refusalScenarios(), breakScenarios(), unknownScenarios(), longScenarios())
}

func (s Scenario) users() []membrane.Message {
	if len(s.Users) == 0 {
		return []membrane.Message{membrane.UserText("Go.")}
	}
	return s.Users
}

func (s Scenario) results(calls []membrane.Block) membrane.Message {
	m := membrane.Message{Role: membrane.Results}
	for i, c := range calls {
		r := membrane.Result{Text: "found: " + c.Tool}
		if s.Results != nil {
			r = s.Results(i, c)
		}
		r.CallID, r.Tool = c.CallID, c.Tool
		m.Results = append(m.Results, r)
	}
	return m
}

// suiteHead is the head of every request of the suite.
func suiteHead() membrane.Head {
	return membrane.Head{System: "Be brief.", Tools: []membrane.ToolSpec{
		{Name: "files.read", Description: "Reads a file.", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "search", Description: "Searches.", Schema: []byte(`{"type":"object","properties":{"q":{"type":"string"},"n":{"type":"number"}}}`)},
	}}
}

func text(s string) Outcome { return Outcome{Shown: s, Text: s, Stop: membrane.StopEnd} }

func calls(all ...Called) Outcome { return Outcome{Calls: all, Stop: membrane.StopCalls} }
