package scripted

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-run/weir/membrane"
)

// MaxWait bounds the delay of a step and how long one stalls.
const MaxWait = 10 * time.Minute

// AfterEnd says what a request gets when every step of its script was played.
type AfterEnd string

// What comes after the last step.
const (
	// Refuse makes such a request an error; it is the zero value's meaning.
	Refuse AfterEnd = "refuse"
	// Repeat plays the last step again.
	Repeat AfterEnd = "repeat"
	// Loop goes on with the first step.
	Loop AfterEnd = "loop"
)

// Script is a list of steps. [Load] and [Parse] read one, a program may also build one; [New] checks
// it either way.
type Script struct {
	// Name names the script in errors, such as the base name of its file; "script" when it is empty.
	Name  string
	Steps []Step
	// AfterEnd says what follows the last step; empty means Refuse.
	AfterEnd AfterEnd
}

// Step is one answer of the model.
type Step struct {
	// Text and Thinking are what is said and what is thought before it.
	Text     string
	Thinking string
	Calls    []Call
	// Stop is the reason to stop; empty means by content.
	Stop membrane.Stop
	// Usage is what the answer costs; nil means a quarter of the bytes, rounded up.
	Usage *membrane.Usage
	// Expect must all hold, or the request fails.
	Expect []Expect
	// Fail makes the request fail.
	Fail *Failure
	// Delay is waited first; at most MaxWait.
	Delay time.Duration
	// Stall says the text and then nothing, until the request is cancelled or MaxWait is over.
	Stall bool
	// Play computes the step from what the model is shown; it is called after Expect was checked and
	// all other members but Expect must be empty. The step that it gives must have no Play.
	Play func(Seen) (Step, error)
}

// Call is a call in a step.
type Call struct {
	// ID may be empty or repeat another: as from any model, it is then replaced by a fresh one.
	ID   string
	Tool string
	// Args are sent as they are; nil means that the model left them out.
	Args []byte
}

// Failure is an error that a step plays.
type Failure struct {
	Kind   membrane.Kind
	Text   string
	Status int
	// RetryAfter is what the error asks to wait; at most MaxWait.
	RetryAfter time.Duration
	// Times is how often one and the same request fails before its step is played; 0 means always.
	Times int
	// AfterChunks is how many pieces of the text come before the error.
	AfterChunks int
}

// Tools are the names of the tools that the steps call, sorted, each once. What a step computes in
// Play is not known before.
func (s Script) Tools() []string {
	var names []string
	for _, step := range s.Steps {
		for _, c := range step.Calls {
			names = append(names, c.Tool)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func (s Script) name() string {
	if s.Name == "" {
		return "script"
	}
	return "script " + s.Name
}

// Check reports the first thing that makes the script unusable; the error names the step.
func (s Script) Check() error {
	switch s.AfterEnd {
	case "", Refuse, Repeat, Loop:
	default:
		return fmt.Errorf("%s: after_end is %.40q; it must be %s, %s or %s", s.name(), s.AfterEnd, Refuse, Repeat, Loop)
	}
	if len(s.Steps) == 0 {
		return fmt.Errorf("%s: it has no steps; a script needs at least one", s.name())
	}
	for i, step := range s.Steps {
		if err := step.check(); err != nil {
			return fmt.Errorf("%s: step %d: %w", s.name(), i+1, err)
		}
	}
	return nil
}

func (s Step) check() error {
	for i, e := range s.Expect {
		if err := e.check(); err != nil {
			return fmt.Errorf("expectation %d: %w", i+1, err)
		}
	}
	for i, c := range s.Calls {
		if c.Tool == "" {
			return fmt.Errorf("call %d has no name", i+1)
		}
	}
	switch {
	case s.Play != nil && s.content():
		return errors.New("a step with Play has nothing but Expect beside it")
	case !slices.Contains([]membrane.Stop{
		"", membrane.StopEnd, membrane.StopCalls, membrane.StopCut, membrane.StopRefused, membrane.StopPaused, membrane.StopContextFull,
	}, s.Stop):
		return fmt.Errorf("stop is %.40q, which is no reason to stop", s.Stop)
	case s.Delay < 0 || s.Delay > MaxWait:
		return fmt.Errorf("its delay is %v; it must be between 0 and %v", s.Delay, MaxWait)
	case s.Stall && len(s.Calls) > 0:
		return errors.New("a step that stalls never gets to its calls; leave one of them out")
	case s.Stall && s.Fail != nil:
		return errors.New("a step that stalls never gets to its error; leave one of them out")
	}
	if s.Fail != nil {
		return s.Fail.check()
	}
	return nil
}

// content reports whether the step has anything of its own to play.
func (s Step) content() bool {
	return s.Text != "" || s.Thinking != "" || len(s.Calls) > 0 || s.Stop != "" || s.Usage != nil ||
		s.Fail != nil || s.Delay != 0 || s.Stall
}

func (f Failure) check() error {
	switch {
	case !slices.Contains([]membrane.Kind{
		membrane.RateLimited, membrane.Overloaded, membrane.ContextTooLong, membrane.InvalidRequest, membrane.Auth,
		membrane.Network, membrane.Timeout, membrane.Refused, membrane.Cancelled,
	}, f.Kind):
		return fmt.Errorf("the kind of its error is %.40q, which membrane does not have", f.Kind)
	case f.RetryAfter < 0 || f.RetryAfter > MaxWait:
		return fmt.Errorf("its error asks to wait %v; it must be between 0 and %v", f.RetryAfter, MaxWait)
	case f.Times < 0 || f.AfterChunks < 0:
		return errors.New("times and after_chunks of its error must not be negative")
	}
	return nil
}
