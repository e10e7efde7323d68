// Package agent is the loop: ask the model, settle the round, repeat; and resume after any stop.
//
// Everything that a request says was stored before it is sent, and is never made again: within an epoch
// the bytes of one request are a prefix of the next one's, across restarts too. Rounds are settled by
// package round, which hosts with a loop of their own use without this one.
package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Defaults of a turn's limits.
const (
	// DefaultRounds is how many tool rounds a turn may have.
	DefaultRounds = 50
	// DefaultTokens is how many tokens a turn may put out.
	DefaultTokens = 200_000
	// DefaultWall is how long a turn may be driven.
	DefaultWall = time.Hour
)

// Limits end a turn with a stated reason. What a turn has used counts on after a restart.
type Limits struct {
	// Rounds is the number of tool rounds; 0 means [DefaultRounds].
	Rounds int
	// Tokens is the number of output tokens; 0 means [DefaultTokens].
	Tokens int64
	// Wall is the time that the turn is driven; the time that it waits for an approval, or for a process
	// to take it up again, does not count. 0 means [DefaultWall].
	Wall time.Duration
}

// CallLimits are the limits of calls, as [round.Config] has them; 0 means its default.
type CallLimits struct {
	// MaxChars is the inline cap of one result, RoundChars that of all results of a round, in characters.
	MaxChars, RoundChars int
	// Parallel is how many calls of a round run at the same time.
	Parallel int
	// Timeout bounds one call, Grace is how long a stopped one may take to return.
	Timeout, Grace time.Duration
	// Budget is the budget in tokens of a result whose tool has a policy ([tool.Traits.Fit]); 0 means
	// [envelope.DefaultBudget]. Effort decides how early it is shortened.
	Budget int
	Effort envelope.Effort
	// Loops says what is done about calls that go round in circles; see [WatchLoops].
	Loops Loops
}

// Loops says what is done about calls that go round in circles.
type Loops int

const (
	// WatchLoops warns at the third repeat of the same calls with the same results, answers read-only ones
	// from before at the fifth, and ends the turn at the eighth. Repeats count, also of a circle of two or
	// three rounds.
	WatchLoops Loops = iota
	// IgnoreLoops lets calls repeat.
	IgnoreLoops
)

// Config says how an agent works. The zero value works: an agent that reads and searches its own stored
// results.
type Config struct {
	// System is the system text. Facts that change belong in [Turn.Context], not here: a change opens an
	// epoch and costs the prompt cache.
	System string
	// Tools are what the model may call, beside the workspace's.
	Tools []tool.Tool
	// Refresh gives further tools that may change, such as those of MCP servers; nil for none. It is asked
	// when a run begins and between two rounds: a changed list opens an epoch, and never changes the tools
	// of a round that runs. An error, or tools that cannot be used, leave the last list between rounds.
	Refresh func(context.Context) ([]tool.Tool, error)
	// Mounts are folders that the workspace tools serve, beside tool-results/.
	Mounts []workspace.Mount
	// Bare leaves the workspace tools out. Then a spilled result can be read only from outside.
	Bare bool
	// Calls are the limits of calls and of their results.
	Calls CallLimits
	// Limits end a turn.
	Limits Limits
	// Approve decides whether a call may run; nil lets every call run. With [round.Ask] the turn waits,
	// durably, until [Agent.Resume] is called with the answer.
	Approve func(context.Context, round.Question) (round.Decision, error)
	// Redact changes a result before anything of it is stored; nil changes nothing.
	Redact func(context.Context, tool.Call, tool.Result) tool.Result
	// Window is the model's context in tokens. A conversation that has filled [CompactAt] of it is
	// compacted before the next request; 0 compacts only when the model says that the context is full.
	Window int64
	// MaxTokens bounds one answer of the model; 0 leaves it to the model's adapter.
	MaxTokens int
	// KeepHead goes on with the stored head even when this Config would send another one; a model has always
	// a head of its own.
	KeepHead bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Tracer makes spans for runs, requests and calls (OpenTelemetry, GenAI semantic conventions); nil
	// makes none.
	Tracer trace.Tracer
	// Logger hears what nobody else is told; nil is silent.
	Logger *slog.Logger
}

// Agent runs conversations on one store with one model. It is safe for concurrent use; two runs of one
// conversation exclude each other.
type Agent struct {
	store history.Store
	model membrane.Model
	tools []tool.Tool
	cfg   Config
	sent  mailbox
}

// Errors that callers branch on.
var (
	// ErrNothingToResume says that the last turn of the conversation has ended.
	ErrNothingToResume = errors.New("nothing to resume: the last turn has ended")
	// ErrNoText says that a turn has no text and no content.
	ErrNoText = errors.New("a turn needs a text")
)

// New makes an agent. It fails on tools that are not usable, two tools of one name, mounts that do not
// exist, and caps below 1,000 characters.
func New(store history.Store, model membrane.Model, cfg Config) (*Agent, error) {
	if store == nil || model == nil {
		return nil, errors.New("an agent needs a store and a model")
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
	if cfg.Limits.Rounds <= 0 {
		cfg.Limits.Rounds = DefaultRounds
	}
	if cfg.Limits.Tokens <= 0 {
		cfg.Limits.Tokens = DefaultTokens
	}
	if cfg.Limits.Wall <= 0 {
		cfg.Limits.Wall = DefaultWall
	}
	a := &Agent{store: store, model: model, tools: cfg.Tools, cfg: cfg}
	if !cfg.Bare {
		ws, err := workspace.New(workspace.Config{
			Mounts: cfg.Mounts, Stored: workspace.Results(store, store.Spills()), Reads: workspace.Sights(store), Logger: cfg.Logger,
		})
		if err != nil {
			return nil, fmt.Errorf("open the workspace: %w", err)
		}
		served, err := ws.Tools()
		if err != nil {
			return nil, fmt.Errorf("make the workspace tools: %w", err)
		}
		a.tools = append(append([]tool.Tool{}, cfg.Tools...), served...)
	}
	settler, err := a.settler(a.tools, nil)
	if err != nil {
		return nil, err
	}
	a.tools = settler.Tools() // sorted: the order is part of the prompt
	return a, nil
}

// Tools gives what the model is always offered, sorted by name.
func (a *Agent) Tools() []tool.Tool { return append([]tool.Tool{}, a.tools...) }

func (a *Agent) settler(tools []tool.Tool, notify func(round.Notice)) (*round.Settler, error) {
	return round.New(a.store, round.Config{
		Tools: tools, MaxChars: a.cfg.Calls.MaxChars, RoundChars: a.cfg.Calls.RoundChars,
		Parallel: a.cfg.Calls.Parallel, Timeout: a.cfg.Calls.Timeout, Grace: a.cfg.Calls.Grace,
		Fit:   execute.Fitting{Budget: a.cfg.Calls.Budget, Effort: a.cfg.Calls.Effort, Contract: envelope.Bare},
		Loops: a.cfg.Calls.Loops == WatchLoops, Approve: a.cfg.Approve, Redact: a.cfg.Redact, Notify: notify, Now: a.cfg.Now, Tracer: a.cfg.Tracer, Logger: a.cfg.Logger,
	})
}

// Turn is what a user asks.
type Turn struct {
	// Conversation is the conversation's id; it is created when it is not there.
	Conversation string
	// Key is the caller's own name for the turn: running the same key again continues that turn and
	// appends nothing. Empty means a new turn each time.
	Key string
	// Text is what the user says.
	Text string
	// Context are facts that change (the date, a folder, a status); they stand before the text and are
	// stored with it, so a replay says what was true then.
	Context string
	// Content are images that the user shows; they stand between the context and the text.
	Content []membrane.Block
	// Settings are stored with a conversation that is created; the agent does not read them.
	Settings []byte
	// TakeOver takes the conversation from another process whose lease has expired while it lives, a
	// stopped one for example. From then on that process can write nothing.
	TakeOver bool
}

// Answer answers the question about a call that waits for an approval.
type Answer struct {
	// Call is the id of the call, such as r3-1.
	Call  string
	Grant bool
	// Reason is told to the model when the call is not granted.
	Reason string
}

// Run runs one turn: it yields what happens and ends when the model has answered, a limit is reached,
// the context ends, or the runtime cannot go on. An open turn of the conversation is settled first.
func (a *Agent) Run(ctx context.Context, t Turn) Stream {
	take := history.Take{
		Conversation: t.Conversation, TakeOver: t.TakeOver,
		Create: &history.Conversation{ID: t.Conversation, Title: title(t.Text), CreatedAt: a.cfg.Now(), Settings: t.Settings},
	}
	return a.stream(ctx, take, func(d *drive) error { return d.run(t) })
}

// Resume goes on with the open turn of a conversation: every call gets its answer, then the model is
// asked. Answers settle the questions about calls that wait for an approval. It fails with
// [ErrNothingToResume] when there is no open turn.
func (a *Agent) Resume(ctx context.Context, conversation string, answers ...Answer) Stream {
	return a.stream(ctx, history.Take{Conversation: conversation}, func(d *drive) error { return d.resume(answers...) })
}

// TakeOver is Resume for a conversation that another process holds: its lease must have expired.
func (a *Agent) TakeOver(ctx context.Context, conversation string, answers ...Answer) Stream {
	take := history.Take{Conversation: conversation, TakeOver: true}
	return a.stream(ctx, take, func(d *drive) error { return d.resume(answers...) })
}

// Events reads the record events of a conversation with a sequence number above after, as they were
// yielded when they happened.
func (a *Agent) Events(ctx context.Context, conversation string, after int64) ([]Event, error) {
	stored, err := a.store.Events(ctx, conversation, after)
	if err != nil {
		return nil, fmt.Errorf("read the events of %s: %w", conversation, err)
	}
	all := make([]Event, 0, len(stored))
	for _, e := range stored {
		all = append(all, decode(e))
	}
	return all, nil
}

// title makes a title of the first line of a text, at most 80 characters.
func title(text string) string {
	r := []rune(text)
	for i, c := range r {
		if c == '\n' || i == 80 {
			return string(r[:i])
		}
	}
	return text
}
