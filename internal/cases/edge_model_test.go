package cases

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// edgeModels are the edge cases of what a model says, costs and fails with.
func edgeModels() map[string]item {
	return map[string]item{
		"34": countedOnce, "35": compactedWithinATurn, "36": lastCallIsTheSize, "37": refusedOrBroken,
		"38": noStreamIsLeft, "57": hugeProviderError, "58": endsInTheMiddle, "68": kindsNotWords,
	}
}

func (m otherModel) Stream(ctx context.Context, r membrane.Request) iter.Seq2[membrane.Event, error] {
	if m.stream != nil {
		return m.stream(ctx, r)
	}
	return m.Model.Stream(ctx, r)
}

func countedOnce(t *testing.T) {
	w := quick(t, gives("t", tool.Text("ran")))
	use := func(in, out, read, write int64) *membrane.Usage {
		return &membrane.Usage{In: in, Out: out, CacheRead: read, CacheWrite: write}
	}
	call := []scripted.Call{asks("", "t", "{}")}
	first := w.turn("Go on.", scripted.Step{Calls: call, Usage: use(100, 7, 1, 2)}, scripted.Step{Calls: call, Usage: use(200, 11, 3, 4)}, scripted.Step{Text: "Done.", Usage: use(300, 13, 5, 6)})
	w.turn("More.", scripted.Step{Text: "Fine.", Usage: use(400, 17, 0, 0)})
	var sum history.Usage
	for _, e := range first.Events {
		if e, ok := e.(agent.Answered); ok {
			sum.In, sum.Out, sum.CacheRead, sum.CacheWrite = sum.In+e.In, sum.Out+e.Out, sum.CacheRead+e.CacheRead, sum.CacheWrite+e.CacheWrite
		}
	}
	if d := cmp.Diff(history.Usage{In: 600, Out: 31, CacheRead: 9, CacheWrite: 12}, sum); d != "" {
		t.Errorf("the events of the first turn (-want +got):\n%s", d)
	}
	w.look(func(s *sqlite.Store) {
		turns, err := s.TurnsOf(t.Context(), talk)
		if err != nil || len(turns) != 2 || turns[0].Tokens != 31 || turns[1].Tokens != 17 || turns[0].Rounds != 2 {
			t.Errorf("the turns: %+v, %v", turns, err)
		}
		requests, err := s.Requests(t.Context(), talk)
		if err != nil || len(requests) != 4 {
			t.Fatalf("%d requests, %v", len(requests), err)
		}
		for i, want := range []history.Usage{{In: 100, Out: 7, CacheRead: 1, CacheWrite: 2}, {In: 200, Out: 11, CacheRead: 3, CacheWrite: 4}, {In: 300, Out: 13, CacheRead: 5, CacheWrite: 6}, {In: 400, Out: 17}} {
			if d := cmp.Diff(want, requests[i].Usage); d != "" || requests[i].Outcome != "ok" {
				t.Errorf("request %d ended as %s (-want +got):\n%s", i+1, requests[i].Outcome, d)
			}
		}
	})
}

func compactedWithinATurn(t *testing.T) {
	var ran atomic.Int32
	w := quick(t, handler("t", func(context.Context, tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text(strings.Repeat("a row of the result\n", 1000)), nil
	}))
	w.config.Window = 20_000
	var steps []scripted.Step
	for range 6 {
		steps = append(steps, scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}})
	}
	out := w.turn("Go on.", append(steps, scripted.Step{Text: "Done."})...)
	if n := ran.Load(); n != 6 || out.Text != "Done." || out.Reason != "done" || out.Rounds != 6 {
		t.Errorf("the tool ran %d times in %d rounds, the turn ended as %q, %s", n, out.Rounds, out.Text, out.Reason)
	}
	if k := kinds(out); k["epoch compaction"] == 0 || k["request_failed"] != 0 {
		t.Errorf("events: %v; want compactions that are no failures", k)
	}
}

func lastCallIsTheSize(t *testing.T) {
	for _, c := range []struct {
		last        int64
		compactions bool
	}{{40_000, false}, {95_000, true}} {
		w := quick(t, gives("t", tool.Text("ran")))
		w.config.Window = 100_000
		// Together they are far over the window; what counts is how long the last request was.
		var steps []scripted.Step
		for i := range 6 {
			in := int64(40_000)
			if i == 5 {
				in = c.last
			}
			steps = append(steps, scripted.Step{Calls: []scripted.Call{asks("", "t", "{}")}, Usage: &membrane.Usage{In: in - 20_000, CacheRead: 20_000, Out: 10}})
		}
		play := scripted.Step{Play: func(seen scripted.Seen) (scripted.Step, error) {
			return scripted.Step{Text: "Done.", Usage: &membrane.Usage{In: 1000, Out: 10}}, nil
		}}
		out := w.turn("Go on.", append(steps, play, play)...)
		if n := kinds(out)["epoch compaction"]; (n > 0) != c.compactions {
			t.Errorf("a last request of %d tokens in a window of 100,000: %d compactions", c.last, n)
		}
	}
}

func refusedOrBroken(t *testing.T) {
	// A refusal ends the turn. It is not asked again, and what was said stands in the history as it was said.
	w := quick(t)
	out := w.turn("Go on.", scripted.Step{Text: "I will not.", Stop: membrane.StopRefused})
	if out.Reason != "refused" || len(w.received()) != 1 {
		t.Errorf("ended as %s after %d requests", out.Reason, len(w.received()))
	}
	w.turn("Why?", scripted.Step{Text: "Fine."})
	if d := cmp.Diff([]string{`user "Go on."`, `assistant "I will not."`, `user "Why?"`}, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("the next request (-want +got):\n%s", d)
	}
	// What a broken answer showed is in no message, and whoever has shown it is told to drop it.
	w.steps = append(w.steps, scripted.Step{Text: "half of an answer", Fail: &scripted.Failure{Kind: membrane.Network, Text: "gone", AfterChunks: 2}})
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		var failed *membrane.Error
		_, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Again."}).Collect()
		if !errors.As(err, &failed) || failed.Kind != membrane.Network {
			t.Fatalf("the broken answer: %v", err)
		}
		events, err := a.Events(t.Context(), talk, 0)
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := events[len(events)-1].(agent.RequestFailed); !ok || e.Partial != "half of " || e.Kind != "network" {
			t.Errorf("the last event: %+v", events[len(events)-1])
		}
	})
	w.steps[len(w.steps)-1] = scripted.Step{Text: "A whole answer."}
	if out := resumed(t, w); out.Text != "A whole answer." {
		t.Errorf("resumed to %q", out.Text)
	}
	if strings.Contains(string(w.last()), "half of") {
		t.Error("the half answer was sent")
	}
}

func noStreamIsLeft(t *testing.T) {
	ends := tool.Text("over")
	ends.EndTurn = true
	w := quick(t, gives("ends", ends), gives("t", tool.Text("ran")))
	var open, opened atomic.Int32
	w.steps = []scripted.Step{{Text: "I say.", Calls: []scripted.Call{asks("a", "t", "{}"), asks("b", "ends", "{}")}}, {Text: "Heard."}}
	w.with(func(m *scripted.Model) membrane.Model {
		return otherModel{Model: m, stream: func(ctx context.Context, r membrane.Request) stream {
			return func(yield func(membrane.Event, error) bool) {
				open.Add(1)
				opened.Add(1)
				defer open.Add(-1)
				for e, err := range m.Stream(ctx, r) {
					if !yield(e, err) {
						return
					}
				}
			}
		}}
	}, func(a *agent.Agent, _ *sqlite.Store) {
		out, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect()
		if err != nil || out.Reason != "a tool ended the turn" || open.Load() != 0 || opened.Load() != 1 {
			t.Fatalf("ended as %q, %v, with %d of %d streams open", out.Reason, err, open.Load(), opened.Load())
		}
		// Nor when somebody stops listening in the middle of one.
		for e, err := range a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "More."}) {
			if err != nil {
				t.Error(err)
			}
			if _, ok := e.(agent.TextDelta); ok {
				break
			}
		}
		if open.Load() != 0 || opened.Load() != 2 {
			t.Errorf("%d of %d streams are open", open.Load(), opened.Load())
		}
	})
	w.look(func(s *sqlite.Store) {
		requests, err := s.Requests(t.Context(), talk)
		if err != nil || slices.ContainsFunc(requests, func(r history.Request) bool { return r.Outcome == "" }) {
			t.Errorf("a request has no outcome: %+v, %v", requests, err)
		}
	})
}

// echoes is 1.7 MB, as a provider gives a request back in its error.
var echoes = strings.Repeat("what was sent ", 121_000)

func hugeProviderError(t *testing.T) {
	for name, e := range map[string]error{
		"typed": &membrane.Error{Kind: membrane.InvalidRequest, Model: "m", Status: 400, Text: echoes}, "plain": errors.New(echoes),
	} {
		var log warnings
		w := quick(t, gives("t", tool.Text("ran")))
		w.config.Logger = slog.New(slog.NewTextHandler(&log, nil))
		w.steps = []scripted.Step{{Text: "Fine."}}
		w.with(func(m *scripted.Model) membrane.Model {
			return otherModel{Model: m, stream: func(context.Context, membrane.Request) stream {
				return func(yield func(membrane.Event, error) bool) { yield(nil, e) }
			}}
		}, func(a *agent.Agent, s *sqlite.Store) {
			_, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect()
			if err == nil || name == "typed" && len(err.Error()) > 2000 {
				t.Errorf("%s: the run's error has %d bytes", name, len(err.Error()))
			}
			events, err := s.Events(t.Context(), talk, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range events {
				if len(x.Data) > 4000 {
					t.Errorf("%s: the event %s has %d bytes", name, x.Kind, len(x.Data))
				}
			}
		})
		if len(log.String()) > 4000 {
			t.Errorf("%s: the log has %d bytes", name, len(log.String()))
		}
		resumed(t, w)
		if len(w.last()) > 20_000 || bytes.Contains(w.last(), []byte("what was sent what was sent")) {
			t.Errorf("%s: the context has %d bytes", name, len(w.last()))
		}
	}
}

func endsInTheMiddle(t *testing.T) {
	for name, end := range map[string]error{
		"no last event": nil, "error frame": &membrane.Error{Kind: membrane.Overloaded, Model: "m", Text: "overloaded in the middle"},
	} {
		w := quick(t)
		w.steps = []scripted.Step{{Text: "A whole answer."}}
		w.with(func(m *scripted.Model) membrane.Model {
			return otherModel{Model: m, stream: func(context.Context, membrane.Request) stream {
				return func(yield func(membrane.Event, error) bool) {
					if yield(membrane.TextDelta{Text: "Half"}, nil) && end != nil {
						yield(nil, end)
					}
				}
			}}
		}, func(a *agent.Agent, s *sqlite.Store) {
			var failed *membrane.Error
			out, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect()
			if !errors.As(err, &failed) || out.Reason != "" {
				t.Errorf("%s: ended as %q, %v", name, out.Reason, err)
			}
			messages, err := s.Messages(t.Context(), talk, 0)
			turns, err2 := s.TurnsOf(t.Context(), talk)
			if err := errors.Join(err, err2); err != nil || len(messages) != 1 || turns[0].State != history.TurnOpen {
				t.Errorf("%s: %d messages, turn %s, %v", name, len(messages), turns[0].State, err)
			}
		})
		if out := resumed(t, w); out.Text != "A whole answer." || out.Reason != "done" {
			t.Errorf("%s: resumed to %q, %s", name, out.Text, out.Reason)
		}
	}
}

func kindsNotWords(t *testing.T) {
	// Whatever the words are, an invalid request is not asked again and a full context is compacted by its
	// kind alone.
	for _, text := range []string{"could not generate: rate of 429", "the author is not authorised", "context window exceeded, too long, 529 overloaded timeout"} {
		w := quick(t)
		w.steps = []scripted.Step{{Fail: &scripted.Failure{Kind: membrane.InvalidRequest, Text: text, Status: 400}}}
		w.process(func(a *agent.Agent, _ *sqlite.Store) {
			var failed *membrane.Error
			_, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Go on."}).Collect()
			if !errors.As(err, &failed) || failed.Kind != membrane.InvalidRequest || failed.Text != text {
				t.Errorf("%s: %v", text, err)
			}
		})
		if n := len(w.received()); n != 1 {
			t.Errorf("%s: it was asked %d times", text, n)
		}
	}
}
