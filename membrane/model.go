package membrane

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"time"
)

// Model is one model behind one wire format.
type Model interface {
	// Dialect names the wire format, unversioned, such as "anthropic". Epochs of one dialect can share
	// fragments.
	Dialect() string
	// Name is the model's own name, such as "anthropic/claude-x"; a change opens an epoch.
	Name() string
	// Encoder is the version of the encoder; it is stored for information and never compared.
	Encoder() string
	// EncodeHead makes what stands before and after the messages of a request, once per epoch.
	EncodeHead(h Head) (Envelope, error)
	// EncodeMessage makes zero or more elements of the messages array, joined by a comma, once per
	// epoch that needs it. From then on the stored fragment is used.
	EncodeMessage(m Message) ([]byte, error)
	// Stream sends a request and yields what comes back. The last event is a [Done] or the error is
	// not nil; a stream that ends otherwise is an error, never a short answer.
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
}

// Tuned is a [Model] that puts parameters of its own into a head.
type Tuned interface {
	// Settings are those parameters as JSON, always the same bytes for the same meaning; empty when they
	// are what a model of this dialect has by itself. A change opens an epoch, as a change of the head
	// does.
	Settings() json.RawMessage
}

// Noting is a [Model] that tells what tools lose on the way to its wire.
type Noting interface {
	// Notes says, a line each, which tools of a head are offered otherwise than they are given, and which
	// are left out because the provider would refuse the whole request.
	Notes(h Head) []string
}

// Head is what a request says beside its messages.
type Head struct {
	System string
	// Tools are sorted by name.
	Tools []ToolSpec
	// MaxTokens bounds the output; 0 leaves it to the adapter.
	MaxTokens int
	// Settings are further parameters of the provider, as a JSON object; nil for none.
	Settings json.RawMessage
}

// ToolSpec is a tool as the model is told of it.
type ToolSpec struct {
	Name        string
	Description string
	// Schema is the input schema in its own key order.
	Schema json.RawMessage
}

// Envelope is what stands around the messages of a request body. Head ends in "[" or in an element.
type Envelope struct {
	Head, Tail []byte
}

// Request is one request: a body that is assembled from stored bytes and never marshalled again.
type Request struct {
	// Head, Messages and Tail are sent one after the other. Messages is shared with the caller and
	// must not be changed.
	Head, Messages, Tail []byte
}

// Len is the length of the body in bytes.
func (r Request) Len() int64 {
	return int64(len(r.Head)) + int64(len(r.Messages)) + int64(len(r.Tail))
}

// Body reads the body without copying it. It may be called again, for a retry.
func (r Request) Body() io.Reader {
	return io.MultiReader(bytes.NewReader(r.Head), bytes.NewReader(r.Messages), bytes.NewReader(r.Tail))
}

// Event is something that a stream yields: [TextDelta], [ThinkingDelta] or [Done].
type Event interface{ event() }

// TextDelta is a further piece of the answer's text.
type TextDelta struct{ Text string }

// ThinkingDelta is a further piece of the model's reasoning, where the provider shows it.
type ThinkingDelta struct{ Text string }

// Done is the last event of a stream that went well.
type Done struct {
	// Message is the whole answer.
	Message Message
	// Fragment is the answer as it goes back on the wire, made from the provider's own bytes.
	Fragment []byte
	Stop     Stop
	Usage    Usage
}

func (TextDelta) event()     {}
func (ThinkingDelta) event() {}
func (Done) event()          {}

// Stop says why a model stopped.
type Stop string

// The reasons to stop: a closed set.
const (
	StopEnd         Stop = "end"
	StopCalls       Stop = "calls"
	StopCut         Stop = "cut"
	StopRefused     Stop = "refused"
	StopPaused      Stop = "paused"
	StopContextFull Stop = "context_full"
)

// Usage is what the provider counted for one response, in tokens. Cache reads and writes are not part
// of In.
type Usage struct {
	In, Out, CacheRead, CacheWrite int64
}

// Kind classifies an error of a provider.
type Kind string

// The kinds of an error: a closed set.
const (
	RateLimited    Kind = "rate_limited"
	Overloaded     Kind = "overloaded"
	ContextTooLong Kind = "context_too_long"
	InvalidRequest Kind = "invalid_request"
	Auth           Kind = "auth"
	Network        Kind = "network"
	Timeout        Kind = "timeout"
	Refused        Kind = "refused"
	Cancelled      Kind = "cancelled"
)

// Error is what a provider answered instead of a message. It is classified by status and by the
// provider's own type field, never by words in a text.
type Error struct {
	Kind Kind
	// Model is the name of the model that was asked.
	Model string
	// Status is the HTTP status, 0 for none.
	Status int
	// RetryAfter is how long the provider asks to wait; 0 when it does not say.
	RetryAfter time.Duration
	// Text says what happened, in one line of at most 500 characters.
	Text string
	Err  error
}

// Error gives one line: the model, the kind and what happened.
func (e *Error) Error() string {
	text := Line(e.Text)
	if text == "" && e.Err != nil {
		text = Line(e.Err.Error())
	}
	if text == "" {
		text = "no reason was given"
	}
	return "model " + e.Model + ": " + string(e.Kind) + ": " + text
}

// Unwrap gives the error underneath.
func (e *Error) Unwrap() error { return e.Err }

// Joined appends a fragment to message bytes: a comma stands between parts that are not empty and
// nowhere else. The head decides whether the first fragment needs one: a head that ends in "[" does not.
func Joined(head, messages, fragment []byte) []byte {
	if len(fragment) == 0 {
		return messages
	}
	open := len(messages) == 0 && (len(head) == 0 || head[len(head)-1] == '[')
	if !open {
		messages = append(messages, ',')
	}
	return append(messages, fragment...)
}
