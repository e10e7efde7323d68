package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
)

// A request is asked again only while nothing was shown, for as long as the provider asked, and its body
// is the same each time.
func TestRetriesBeforeAnythingWasShown(t *testing.T) {
	w := newWorld(t, scripted.Step{Text: "fine", Fail: &scripted.Failure{Kind: membrane.RateLimited, RetryAfter: 10 * time.Millisecond, Times: 2}})
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		retries, text := 0, ""
		for e, err := range a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			switch e := e.(type) {
			case agent.Retrying:
				retries++
				if e.Kind != "rate_limited" || e.Wait != 10*time.Millisecond {
					t.Errorf("%+v", e)
				}
			case agent.Answered:
				text = e.Text
			}
		}
		if retries != 2 || text != "fine" {
			t.Errorf("%d retries, %q", retries, text)
		}
	})
	bodies := membranetest.Bodies(t, w.bodies)
	if len(bodies) != 3 || string(bodies[0]) != string(bodies[2]) {
		t.Errorf("%d bodies; those of a retry must be equal", len(bodies))
	}
}

func TestNoRetryOnceSomethingWasShown(t *testing.T) {
	w := newWorld(t, scripted.Step{Text: "one two three four", Fail: &scripted.Failure{Kind: membrane.Network, AfterChunks: 2}})
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		partial := ""
		for e, err := range a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}) {
			if err != nil && !strings.Contains(err.Error(), "network") {
				t.Fatal(err)
			}
			switch e := e.(type) {
			case agent.Retrying:
				t.Error("it was asked again after something was shown")
			case agent.RequestFailed:
				partial = e.Partial
			}
		}
		if partial == "" || !strings.HasPrefix("one two three four", partial) {
			t.Errorf("what was shown is not kept: %q", partial)
		}
	})
}

// Retries are bounded: a model that never answers ends the run, not the turn.
func TestRetriesAreBounded(t *testing.T) {
	dir := t.TempDir()
	model, err := scripted.New(scripted.Script{Steps: []scripted.Step{{Fail: &scripted.Failure{Kind: membrane.Overloaded}}}}, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), dir, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	a, err := agent.New(s, model, agent.Config{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if _, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}).Collect(); err == nil {
		t.Error("no error")
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
}

// A panic of a model's adapter is the run's error, and the conversation can be resumed.
func TestAPanicOfTheModelIsAnError(t *testing.T) {
	panics := true
	w := newWorld(t, scripted.Step{Play: func(scripted.Seen) (scripted.Step, error) {
		if panics {
			panic("the adapter is broken")
		}
		return scripted.Step{Text: "fine"}, nil
	}})
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}).Collect(); err == nil || !strings.Contains(err.Error(), "the adapter is broken") {
			t.Fatalf("got %v", err)
		}
		panics = false
		if out, err := a.Resume(t.Context(), "c").Collect(); err != nil || out.Text != "fine" {
			t.Errorf("resumed to %q, %v", out.Text, err)
		}
	})
	w.verify()
}
