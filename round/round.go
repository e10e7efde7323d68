// Package round drives the steps of a call over the calls of a round, with the writes between them:
// here are calls from any provider, settle them durably and give what the model is shown.
//
// It is the layer for hosts that have a loop of their own. The order of writes is its promise: the calls
// are stored before any of them runs, each whole result is durable as it arrives, and what the model is
// shown is stored before anybody is shown it. settle.go is that line as code.
package round

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Defaults of a round.
const (
	// DefaultMaxChars is the inline cap of one result in characters. On one production corpus 24,000
	// kept 88 % of the results inline.
	DefaultMaxChars = 24_000
	// DefaultRoundChars bounds the inline characters of all results of a round together.
	DefaultRoundChars = 120_000
	// DefaultParallel is how many calls of a round run at the same time.
	DefaultParallel = 8
	// MaxAttempts is how often one call is begun, over any number of restarts.
	MaxAttempts = 3
)

// Config says how rounds are settled. The zero value works, without tools.
type Config struct {
	// Tools are what may be called.
	Tools []tool.Tool
	// MaxChars is the inline cap of one result in characters; 0 means [DefaultMaxChars], less than
	// [MinCap] is an error.
	MaxChars int
	// RoundChars bounds the results of one round together; 0 means [DefaultRoundChars], less than
	// [MinCap] is an error.
	RoundChars int
	// Parallel is how many calls run at the same time; 0 means [DefaultParallel].
	Parallel int
	// Timeout and Grace are the limits of one call; see [execute.DefaultTimeout], [execute.DefaultGrace].
	Timeout, Grace time.Duration
	// Fit says how results of tools with a policy are fitted to a budget.
	Fit execute.Fitting
	// Loops watches for calls that go round in circles: they are warned of in their results at the third
	// repeat, read-only ones are answered from before at the fifth, and the eighth ends the turn.
	Loops bool
	// Approve decides whether a call may run; nil lets every call run.
	Approve func(context.Context, Question) (Decision, error)
	// Redact changes a result before anything of it is stored; nil changes nothing. Streamed output is
	// then held until it ends, at most [MaxRedact] bytes of it.
	Redact func(context.Context, tool.Call, tool.Result) tool.Result
	// Notify hears what happens, in order: record events after their commit, live ones as they come.
	// It must not block for long. Nil is nobody.
	Notify func(Notice)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Tracer makes a span for each call (OpenTelemetry, GenAI semantic conventions); nil makes none.
	Tracer trace.Tracer
	// Logger hears what nobody else is told; nil is silent.
	Logger *slog.Logger
}

// Notice is something that happened in a round. Exactly one of its parts is set.
type Notice struct {
	// Event is a record event, after its commit.
	Event *history.Event
	// Progress is what a running call reported; live, and it may be lost.
	Progress *Progress
}

// Progress is what a running call reported.
type Progress struct {
	Call history.CallID
	Tool string
	// Text is for people.
	Text string
	// Started is true when the call has just begun; Text is then empty.
	Started bool
}

// Request asks for one round.
type Request struct {
	// Conversation is created when it is not there.
	Conversation string
	// Key names the round: the host's message id. The same key returns what is stored, runs what never
	// started, and refuses other calls under it. Empty means a new round each time.
	Key string
	// Latest takes up the latest round of the conversation, whatever its key is.
	Latest bool
	// Calls are the calls in the model's order. With a key whose round is stored they may be left out.
	Calls []tool.Call
	// Refuse answers every call with this error instead of running it; empty runs them.
	Refuse string
	// Unasked answers calls that wait for an approval as not approved, instead of waiting on.
	Unasked bool
	// Turn is the turn that the round belongs to; 0 under a host's own loop.
	Turn int
	// Lease drives the conversation; nil takes one for the time of the round.
	Lease *history.Lease
	// Open is stored with the calls, in one commit: the assistant's message and its fragment.
	Open history.Append
	// Seal makes what is stored when the round is closed, in one commit with what is shown: the results
	// message, its fragment, the intent of the next request. Nil stores nothing more.
	Seal func(Round) (history.Append, error)
}

// Round is a settled round.
type Round struct {
	N   int
	Key string
	// Results are in call order.
	Results []Settled
	// Waiting are the calls that wait for an approval. While there are any the round is open: the other
	// results are stored, and nothing is shown to the model.
	Waiting []history.CallID
	// EndTurn says that a tool asked to end the turn.
	EndTurn bool
	// Fatal is the error of a tool that ends the turn; nil otherwise.
	Fatal error
	// Loop says why the turn ends when its calls go round in circles; empty otherwise.
	Loop string
	// Stored says that the round was closed before and nothing was run.
	Stored bool
}

// ErrOtherCalls says that a round with the same key is stored for other calls.
var ErrOtherCalls = errors.New("this key belongs to a round of other calls")

// Settled is one call with what the model is shown for it.
type Settled struct {
	// ID is the result's id, such as r3-1.
	ID   history.CallID
	Call tool.Call
	// Text is what the model is shown, byte for byte as it is stored.
	Text    string
	IsError bool
	Outcome history.Outcome
	// Structured is the machine's view; nil when absent.
	Structured []byte
	// Path is where the whole lies below tool-results/ when Text is not all of it; empty otherwise.
	Path string
	// Chars, Lines and Bytes are those of the whole text.
	Chars, Lines, Bytes int64
	// Images are the images of the result, for dialects that take them beside the text.
	Images []result.Payload
	// Fit is what else is shown of a result whose tool has a policy; its zero value for any other, and for
	// one that is read back.
	Fit execute.Shown
	// Loop is the warning that stands in the text when the call goes round in circles.
	Loop string
}

// Settler settles rounds on one store. It is safe for concurrent use.
type Settler struct {
	store history.Store
	set   *execute.Set
	cfg   Config

	circlesMu sync.Mutex
	circles   map[string]*circle
}

// New makes a settler. It fails on tools that are not usable and on caps below [MinCap].
func New(store history.Store, cfg Config) (*Settler, error) {
	set, err := execute.NewSet(cfg.Tools)
	if err != nil {
		return nil, err
	}
	for _, c := range []struct {
		name      string
		value     *int
		otherwise int
	}{{"MaxChars", &cfg.MaxChars, DefaultMaxChars}, {"RoundChars", &cfg.RoundChars, DefaultRoundChars}} {
		if *c.value == 0 {
			*c.value = c.otherwise
		}
		if *c.value < MinCap {
			return nil, fmt.Errorf("%s is %d characters; it must be at least %d", c.name, *c.value, MinCap)
		}
	}
	for _, t := range cfg.Tools {
		if t.MaxChars != 0 && t.MaxChars < MinCap {
			return nil, fmt.Errorf("tool %s has a cap of %d characters; it must be at least %d", t.Name, t.MaxChars, MinCap)
		}
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = DefaultParallel
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Tracer == nil {
		cfg.Tracer = noop.NewTracerProvider().Tracer("")
	}
	return &Settler{store: store, set: set, cfg: cfg, circles: map[string]*circle{}}, nil
}

// Tools gives the tools, sorted by name.
func (s *Settler) Tools() []tool.Tool { return s.set.Tools() }

// Settle settles one round: [New] and [Settler.Settle] in one call.
func Settle(ctx context.Context, store history.Store, r Request, cfg Config) (Round, error) {
	s, err := New(store, cfg)
	if err != nil {
		return Round{}, err
	}
	return s.Settle(ctx, r)
}

func (s *Settler) notify(events []history.Event) {
	if s.cfg.Notify == nil {
		return
	}
	for i := range events {
		s.cfg.Notify(Notice{Event: &events[i]})
	}
}
