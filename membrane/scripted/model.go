package scripted

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"sync"

	"github.com/weir-run/weir/membrane"
)

// Config is what a model may be told beside its script; the zero value works.
type Config struct {
	// Name is the model's name; empty means "scripted/" and the name of the script.
	Name string
	// Bodies is a folder in which each request body is kept as NNN.json before it is answered, under
	// the next free number; empty keeps none.
	Bodies string
	// Logger is told which step is played; nil is silent.
	Logger *slog.Logger
}

// Model plays a script. It is safe for concurrent use.
type Model struct {
	script Script
	name   string
	bodies *bodies
	log    *slog.Logger

	mu sync.Mutex
	// failed counts the errors that were played, by step and request.
	failed map[failure]int
}

var _ membrane.Model = (*Model)(nil)

type failure struct {
	step int
	body [sha256.Size]byte
}

// New makes a model of a script, after [Script.Check].
func New(script Script, config Config) (*Model, error) {
	if err := script.Check(); err != nil {
		return nil, err
	}
	m := &Model{script: script, name: config.Name, log: config.Logger, failed: map[failure]int{}}
	if m.name == "" {
		m.name = Dialect + "/" + strings.TrimPrefix(script.name(), "script ")
	}
	if config.Bodies != "" {
		m.bodies = &bodies{dir: config.Bodies}
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	return m, nil
}

// Dialect is "scripted".
func (m *Model) Dialect() string { return Dialect }

// Name is the name from the Config.
func (m *Model) Name() string { return m.name }

// Encoder is the version of the wire form.
func (m *Model) Encoder() string { return "1" }

// EncodeHead makes what stands around the messages; tools are sorted by name. It fails for a schema
// that is not JSON, for two tools of one name and for settings that are no object.
func (m *Model) EncodeHead(h membrane.Head) (membrane.Envelope, error) { return encodeHead(m.name, h) }

// EncodeMessage makes the one element of a message.
func (m *Model) EncodeMessage(msg membrane.Message) ([]byte, error) { return encodeMessage(msg) }

// errBroken tells that the caller takes no more events.
var errBroken = errors.New("the caller takes no more events")

// Stream plays the step that the request asks for. Every error is a *[membrane.Error]; an expectation
// that is not met is an [*Unmet] in it.
func (m *Model) Stream(ctx context.Context, r membrane.Request) iter.Seq2[membrane.Event, error] {
	return func(yield func(membrane.Event, error) bool) {
		err := m.answer(ctx, r, func(e membrane.Event) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if !yield(e, nil) {
				return errBroken
			}
			return nil
		})
		if err != nil && !errors.Is(err, errBroken) {
			yield(nil, m.typed(ctx, err))
		}
	}
}

// typed makes every error one of membrane's, by what it is.
func (m *Model) typed(ctx context.Context, err error) error {
	var typed *membrane.Error
	switch {
	case errors.As(err, &typed):
		return err
	case ctx.Err() != nil && errors.Is(err, context.DeadlineExceeded):
		return &membrane.Error{Kind: membrane.Timeout, Model: m.name, Text: "the time for the request is over", Err: err}
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return &membrane.Error{Kind: membrane.Cancelled, Model: m.name, Text: "the request was cancelled", Err: err}
	}
	return &membrane.Error{Kind: membrane.InvalidRequest, Model: m.name, Text: membrane.Line(err.Error()), Err: err}
}

// answer plays one request.
func (m *Model) answer(ctx context.Context, r membrane.Request, emit func(membrane.Event) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	body, err := io.ReadAll(r.Body())
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	if m.bodies != nil {
		if err := m.bodies.keep(body); err != nil {
			return err
		}
	}
	l, err := layOut(body)
	if err != nil {
		return err
	}
	played, last, err := answered(l.elements)
	if err != nil {
		return err
	}
	index, err := m.script.at(played)
	if err != nil {
		return err
	}
	m.log.DebugContext(ctx, "play a step", slog.String("script", m.script.Name), slog.Int("step", index+1), slog.Int("bytes", len(body)))
	step, err := m.resolve(index, played+1, last, body, l)
	if err != nil {
		return err
	}
	if err := wait(ctx, step.Delay); err != nil {
		return err
	}
	return m.perform(ctx, index, played+1, step, body, r, emit)
}

// at gives the index of the step after so many answers.
func (s Script) at(played int) (int, error) {
	n := len(s.Steps)
	switch {
	case played < n:
		return played, nil
	case s.AfterEnd == Repeat:
		return n - 1, nil
	case s.AfterEnd == Loop:
		return played % n, nil
	}
	return 0, fmt.Errorf("%s has %d steps and all of them were played: the request holds %d answers; add a step, or set after_end", s.name(), n, played)
}

// resolve checks what a step expects and computes one that has a Play. Messages are decoded only as
// far back as somebody looks.
func (m *Model) resolve(index, number, last int, body []byte, l layout) (Step, error) {
	step := m.script.Steps[index]
	for range 2 { // the step, then what its Play gave
		if len(step.Expect) == 0 && step.Play == nil {
			return step, nil
		}
		from := last + 1
		if step.Play != nil || step.looksBack() {
			from = 0
		}
		seen, err := see(body, l, from)
		if err != nil {
			return Step{}, err
		}
		seen.Step = number
		for i, e := range step.Expect {
			if ok, shown := e.met(seen); !ok {
				return Step{}, &Unmet{Script: m.script.name(), Step: index + 1, Number: i + 1, Expect: e, Shown: shown}
			}
		}
		if step.Play == nil {
			return step, nil
		}
		if step, err = step.Play(seen); err != nil {
			return Step{}, fmt.Errorf("%s: step %d: compute it: %w", m.script.name(), index+1, err)
		}
		if step.Play != nil {
			return Step{}, fmt.Errorf("%s: step %d: its Play gave a step that has a Play itself", m.script.name(), index+1)
		}
		if err := step.check(); err != nil {
			return Step{}, fmt.Errorf("%s: step %d: its Play gave a step that cannot be played: %w", m.script.name(), index+1, err)
		}
	}
	return step, nil
}

func (s Step) looksBack() bool {
	for _, e := range s.Expect {
		if e.In == InAll {
			return true
		}
	}
	return false
}
