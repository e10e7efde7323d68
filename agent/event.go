package agent

import (
	"encoding/json"
	"iter"
	"time"

	"github.com/weir-run/weir/history"
)

// Event is something that happens in a run. Record events ([TurnBegun], [EpochOpened], [Answered],
// [CallSettled], [RoundClosed], [ApprovalAsked], [ApprovalAnswered], [RequestFailed], [Trouble],
// [TurnEnded]) are yielded after their commit, carry a sequence number and can be read again with [Agent.Events]. Live events ([TextDelta],
// [ThinkingDelta], [CallStarted], [Progress], [Restarted], [Retrying], [Waiting]) have none and may be lost.
type Event interface{ event() }

// Record is the part that every record event has.
type Record struct {
	// Seq is the event's sequence number in its conversation.
	Seq int64 `json:"-"`
}

// The kinds of record events, as they are stored. Those of a round are package round's.
const (
	kindTurnBegun     = "turn_begun"
	kindEpochOpened   = "epoch_opened"
	kindAnswered      = "answered"
	kindRequestFailed = "request_failed"
	kindTurnEnded     = "turn_ended"
	kindCallSettled   = "call_settled"
	kindRoundClosed   = "round_closed"
	kindLoop          = "loop"
)

// TurnBegun says that a turn was stored.
type TurnBegun struct {
	Record
	Turn int    `json:"turn"`
	Key  string `json:"key,omitempty"`
}

// EpochOpened says that requests have a new head from now on, and why. Bytes is how much of the prompt
// a provider's cache will not have: the new head, and the messages unless they are shared. Notes are lines
// that say which tools the model is offered otherwise than they are given, or not at all, and why.
type EpochOpened struct {
	Record
	Epoch  int      `json:"epoch"`
	Reason string   `json:"reason"`
	Bytes  int64    `json:"bytes"`
	Notes  []string `json:"notes,omitempty"`
}

// Answered says that an answer of the model was stored.
type Answered struct {
	Record
	Message int64  `json:"message"`
	Request int    `json:"request"`
	Text    string `json:"text,omitempty"`
	Stop    string `json:"stop"`
	Calls   int    `json:"calls,omitempty"`
	// In, Out, CacheRead and CacheWrite are tokens as the provider counted them.
	In         int64 `json:"in"`
	Out        int64 `json:"out"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
}

// CallSettled says that the whole result of a call is durable.
type CallSettled struct {
	Record
	// Result is the result's id, such as r3-1.
	Result  string `json:"result"`
	Tool    string `json:"tool"`
	Outcome string `json:"outcome"`
	IsError bool   `json:"is_error,omitempty"`
	// Bytes, Lines and Chars are those of the whole text.
	Bytes int64 `json:"bytes"`
	Lines int64 `json:"lines"`
	Chars int64 `json:"chars"`
	// Path is where the whole lies when it was spilled.
	Path       string `json:"path,omitempty"`
	DurationMS int64  `json:"duration_ms"`
}

// RoundClosed says that what the model is shown is stored.
type RoundClosed struct {
	Record
	Round int `json:"round"`
	Calls int `json:"calls"`
	// Shown are the characters that the model is shown of all results, Spilled the number of results
	// that lie in a file.
	Shown   int64 `json:"shown"`
	Spilled int   `json:"spilled,omitempty"`
}

// Looping reports that calls go round in circles: the same calls with the same results.
type Looping struct {
	Record
	Round int `json:"round"`
	// Tools are those of the circle, sorted; Cycle is how many rounds it has, Repeats how often it was gone round.
	Tools   []string `json:"tools"`
	Repeats int      `json:"repeats"`
	Cycle   int      `json:"cycle"`
	// Burst says that the last repeats came within ten seconds, Ended that the turn ends for it.
	Burst bool `json:"burst"`
	Ended bool `json:"ended"`
}

// RequestFailed says that a request to the model ended without an answer, with what it had shown.
type RequestFailed struct {
	Record
	Request int    `json:"request"`
	Kind    string `json:"kind"`
	Text    string `json:"text"`
	Partial string `json:"partial,omitempty"`
}

// Trouble is a record event that people should look at: a result that could not be kept, a panic, a
// result that came late. Kind says which.
type Trouble struct {
	Record
	Kind string          `json:"-"`
	Data json.RawMessage `json:"-"`
}

// TurnEnded says that a turn is over, and why: done, refused, cancelled, a limit and so on.
type TurnEnded struct {
	Record
	Turn   int    `json:"turn"`
	Reason string `json:"reason"`
	Rounds int    `json:"rounds"`
}

// TextDelta is a further piece of the answer that is being made.
type TextDelta struct {
	Request int
	Text    string
}

// ThinkingDelta is a further piece of the model's reasoning.
type ThinkingDelta struct {
	Request int
	Text    string
}

// Restarted tells to drop what a request has shown: it is asked again.
type Restarted struct{ Request int }

// Retrying says that a request failed before anything of its answer was shown, and is asked again.
type Retrying struct {
	Request int
	// Kind is the kind of the error, as [membrane.Kind] has them; Text is its one line.
	Kind, Text string
	// Wait is how long the pause is.
	Wait time.Duration
}

// CallStarted says that a body has begun.
type CallStarted struct {
	Result string
	Tool   string
}

// Progress is what a running call reports.
type Progress struct {
	Result string
	Tool   string
	Text   string
}

func (TurnBegun) event()     {}
func (EpochOpened) event()   {}
func (Answered) event()      {}
func (CallSettled) event()   {}
func (RoundClosed) event()   {}
func (Looping) event()       {}
func (RequestFailed) event() {}
func (Trouble) event()       {}
func (TurnEnded) event()     {}
func (TextDelta) event()     {}
func (ThinkingDelta) event() {}
func (Restarted) event()     {}
func (Retrying) event()      {}
func (CallStarted) event()   {}
func (Progress) event()      {}

// Stream yields what happens in a run. It can be ranged over once; at most one error is not nil, and it
// is last. Breaking out of the range cancels the turn and settles it before the range returns.
type Stream iter.Seq2[Event, error]

// Outcome is what a run came to.
type Outcome struct {
	// Text is the text of the last answer.
	Text string
	// Reason is why the turn ended.
	Reason string
	// Rounds is how many tool rounds the turn had.
	Rounds int
	// Waiting are the calls that wait for an approval; then the turn has not ended and Reason is empty.
	Waiting []string
	// Events are the record events of the run.
	Events []Event
}

// Collect runs the stream to its end.
func (s Stream) Collect() (Outcome, error) {
	var o Outcome
	for e, err := range s {
		if err != nil {
			return o, err
		}
		switch e := e.(type) {
		case Answered:
			o.Text = e.Text
		case TurnEnded:
			o.Reason, o.Rounds = e.Reason, e.Rounds
		case Waiting:
			o.Waiting = e.Calls
			continue
		case TextDelta, ThinkingDelta, Restarted, Retrying, CallStarted, Progress:
			continue
		}
		o.Events = append(o.Events, e)
	}
	return o, nil
}

// decode reads a stored event. A kind that this program does not know, or that was damaged, is given
// back as it is stored.
func decode(e history.Event) Event {
	rec := Record{Seq: e.Seq}
	switch e.Kind {
	case kindTurnBegun:
		return read(e, func(x TurnBegun) Event { x.Record = rec; return x })
	case kindEpochOpened:
		return read(e, func(x EpochOpened) Event { x.Record = rec; return x })
	case kindAnswered:
		return read(e, func(x Answered) Event { x.Record = rec; return x })
	case kindCallSettled:
		return read(e, func(x CallSettled) Event { x.Record = rec; return x })
	case kindRoundClosed:
		return read(e, func(x RoundClosed) Event { x.Record = rec; return x })
	case kindLoop:
		return read(e, func(x Looping) Event { x.Record = rec; return x })
	case kindRequestFailed:
		return read(e, func(x RequestFailed) Event { x.Record = rec; return x })
	case kindApprovalAsked:
		return read(e, func(x ApprovalAsked) Event { x.Record = rec; return x })
	case kindApprovalAnswered:
		return read(e, func(x ApprovalAnswered) Event { x.Record = rec; return x })
	case kindTurnEnded:
		return read(e, func(x TurnEnded) Event { x.Record = rec; return x })
	}
	return Trouble{Record: rec, Kind: e.Kind, Data: e.Data}
}

func read[T any](e history.Event, with func(T) Event) Event {
	var x T
	if json.Unmarshal(e.Data, &x) != nil {
		return Trouble{Record: Record{Seq: e.Seq}, Kind: e.Kind, Data: e.Data}
	}
	return with(x)
}
