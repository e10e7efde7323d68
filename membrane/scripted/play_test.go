package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

func kind(err error) membrane.Kind {
	var typed *membrane.Error
	if errors.As(err, &typed) {
		return typed.Kind
	}
	return ""
}

func said(deltas []membrane.Event) string {
	var text strings.Builder
	for _, d := range deltas {
		if d, ok := d.(membrane.TextDelta); ok {
			text.WriteString(d.Text)
		}
	}
	return text.String()
}

func TestAfterEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after scripted.AfterEnd
		want  []string
	}{
		{"", []string{"one", "two", `script: script has 2 steps and all of them were played: the request holds 2 answers; add a step, or set after_end`}},
		{scripted.Refuse, []string{"one", "two", `script: script has 2 steps and all of them were played: the request holds 2 answers; add a step, or set after_end`}},
		{scripted.Repeat, []string{"one", "two", "two", "two"}},
		{scripted.Loop, []string{"one", "two", "one", "two", "one"}},
	} {
		t.Run(string(c.after), func(t *testing.T) {
			t.Parallel()
			k := newTalk(t, scripted.Script{AfterEnd: c.after, Steps: []scripted.Step{{Text: "one"}, {Text: "two"}}}, scripted.Config{})
			for i, want := range c.want {
				k.say(membrane.UserText("Go on."))
				deltas, done, err := k.ask()
				if err != nil {
					if got := "script: " + errors.Unwrap(err).Error(); got != want || kind(err) != membrane.InvalidRequest {
						t.Errorf("answer %d: error %q, want %q", i+1, got, want)
					}
					return
				}
				k.bytes = membrane.Joined(k.env.Head, k.bytes, done.Fragment)
				if got := said(deltas); got != want {
					t.Errorf("answer %d: %q, want %q", i+1, got, want)
				}
			}
		})
	}
}

// TestResume has each answer come from a new model, as from a new process, and compacts on the way.
func TestResume(t *testing.T) {
	t.Parallel()
	s := scripted.Script{}
	for i := range 6 {
		s.Steps = append(s.Steps, scripted.Step{Text: fmt.Sprintf("answer %d", i+1)})
	}
	s.Steps[2] = scripted.Step{} // an answer without content counts as well
	fresh := func() *talk { return newTalk(t, s, scripted.Config{}) }
	k := fresh()
	var answers []membrane.Message
	for i := range 4 {
		k.say(membrane.UserText("Go on."))
		next := fresh()
		next.bytes = k.bytes
		k = next
		done := k.next()
		answers = append(answers, done.Message)
		if want := s.Steps[i].Text; done.Message.PlainText() != want {
			t.Fatalf("answer %d: %q, want %q", i+1, done.Message.PlainText(), want)
		}
		fragment, err := k.model.EncodeMessage(done.Message)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(done.Fragment), string(fragment)); diff != "" {
			t.Errorf("encoded anew (-want +got):\n%s", diff)
		}
	}

	compacted := fresh()
	compacted.say(membrane.UserText("What was said before: little."))
	compacted.say(answers[3])
	compacted.say(membrane.UserText("Go on."))
	if got := compacted.next().Message.PlainText(); got != "answer 5" {
		t.Errorf("after a compaction: %q, want answer 5", got)
	}
	compacted.say(membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{{Type: membrane.Text, Text: "from elsewhere"}}})
	_, _, err := compacted.ask()
	if err == nil || !strings.Contains(err.Error(), "holds 6 answers") {
		t.Errorf("an answer without a number does not count: %v", err)
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	k := newTalk(t, script(t, `{"steps": [
		{"text": "one two three", "error": {"kind": "overloaded", "text": "busy\nnow", "status": 529, "retry_after_ms": 20, "times": 2, "after_chunks": 2}},
		{"thinking": "Hm.", "text": "never", "error": {"kind": "auth", "text": "no key"}}
	]}`), scripted.Config{})
	k.say(membrane.UserText("Go on."))
	for range 2 {
		deltas, _, err := k.ask()
		if diff := cmp.Diff("one two ", said(deltas)); diff != "" {
			t.Errorf("before the error (-want +got):\n%s", diff)
		}
		var typed *membrane.Error
		if !errors.As(err, &typed) {
			t.Fatalf("error %v", err)
		}
		if diff := cmp.Diff(&membrane.Error{
			Kind: membrane.Overloaded, Model: "scripted/test.json", Status: 529, RetryAfter: 20 * time.Millisecond, Text: "busy now",
		}, typed); diff != "" {
			t.Errorf("error (-want +got):\n%s", diff)
		}
	}
	other := open(t, k.model) // another conversation fails on its own account
	other.say(membrane.UserText("Hello."))
	if _, _, err := other.ask(); kind(err) != membrane.Overloaded {
		t.Errorf("another request: %v", err)
	}
	if got := k.next().Message.PlainText(); got != "one two three" {
		t.Errorf("after the errors: %q", got)
	}
	k.say(membrane.UserText("Go on."))
	for range 3 {
		deltas, _, err := k.ask()
		if kind(err) != membrane.Auth || len(deltas) > 0 {
			t.Errorf("an error without end: %v after %v", err, deltas)
		}
	}
}

func TestDelayAndStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := newTalk(t, scripted.Script{Steps: []scripted.Step{{Text: "late", Delay: 3 * time.Second}, {Text: "first words", Stall: true}}}, scripted.Config{})
		k.say(membrane.UserText("Go on."))
		start := time.Now()
		k.next()
		if got := time.Since(start); got != 3*time.Second {
			t.Errorf("the delay took %v", got)
		}
		start = time.Now()
		k.say(membrane.UserText("Go on."))
		deltas, _, err := k.ask()
		if kind(err) != membrane.Timeout || said(deltas) != "first words" {
			t.Errorf("a stall that nobody ends: %v after %q", err, said(deltas))
		}
		if got := time.Since(start); got != scripted.MaxWait {
			t.Errorf("the stall took %v", got)
		}
	})
}

func TestContext(t *testing.T) {
	t.Parallel()
	slow := []scripted.Step{{Text: "one two", Delay: time.Minute}}
	stalled := []scripted.Step{{Text: "one two", Stall: true}}
	for _, c := range []struct {
		name     string
		steps    []scripted.Step
		deadline bool
		want     membrane.Kind
		said     string
	}{
		{"cancelled in a delay", slow, false, membrane.Cancelled, ""},
		{"too late in a delay", slow, true, membrane.Timeout, ""},
		{"cancelled in a stall", stalled, false, membrane.Cancelled, "one two"},
		{"too late in a stall", stalled, true, membrane.Timeout, "one two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := newTalk(t, scripted.Script{Steps: c.steps}, scripted.Config{})
				k.say(membrane.UserText("Go on."))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				cause, stop := context.DeadlineExceeded, context.CancelFunc(func() {})
				if c.deadline {
					ctx, stop = context.WithTimeout(ctx, time.Second)
				} else {
					cause = context.Canceled
					time.AfterFunc(time.Second, cancel)
				}
				defer stop()
				start, events, text := time.Now(), 0, ""
				var last error
				for e, err := range k.model.Stream(ctx, k.request()) {
					events++
					last = err
					if d, ok := e.(membrane.TextDelta); ok {
						text += d.Text
					}
				}
				if kind(last) != c.want || !errors.Is(last, cause) || text != c.said {
					t.Errorf("error %v after %q", last, text)
				}
				if got := time.Since(start); got != time.Second {
					t.Errorf("it took %v", got)
				}
			})
		})
	}
}

func TestContextBetweenEvents(t *testing.T) {
	t.Parallel()
	k := newTalk(t, scripted.Script{Steps: []scripted.Step{{Text: "one two three"}}}, scripted.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for e, err := range k.model.Stream(ctx, k.request()) {
		cancel()
		if err != nil {
			got = append(got, string(kind(err)))
		} else {
			got = append(got, fmt.Sprint(e))
		}
	}
	if diff := cmp.Diff([]string{"{one }", "cancelled"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, err := range k.model.Stream(ctx, k.request()) {
		if kind(err) != membrane.Cancelled {
			t.Errorf("a request that was cancelled before: %v", err)
		}
	}
	for _, err := range k.model.Stream(t.Context(), k.request()) {
		if err != nil {
			t.Error(err)
		}
		break // must end without another event
	}
}

func TestPlay(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	k := newTalk(t, scripted.Script{Steps: []scripted.Step{
		{Play: func(seen scripted.Seen) (scripted.Step, error) {
			return scripted.Step{Text: fmt.Sprintf("step %d, %s, %d tools, %q", seen.Step, seen.System, len(seen.Tools), seen.Text()), Calls: []scripted.Call{{ID: "1", Tool: "a", Args: []byte(`{"n": 1}`)}}}, nil
		}},
		{
			Expect: []scripted.Expect{{Result: 1, Contains: "41"}},
			Play: func(seen scripted.Seen) (scripted.Step, error) {
				return scripted.Step{Text: seen.Results()[0].Text + "+1", Expect: []scripted.Expect{{Contains: "4"}}}, nil
			},
		},
		{Play: func(seen scripted.Seen) (scripted.Step, error) {
			if len(seen.Messages) != 5 || seen.Messages[1].Blocks[1].Tool != "a" || string(seen.Messages[1].Blocks[1].Args) != `{"n": 1}` {
				return scripted.Step{}, fmt.Errorf("seen %+v", seen.Messages)
			}
			return scripted.Step{}, boom
		}},
	}}, scripted.Config{})
	k.say(membrane.UserText("What is it?"))
	if diff := cmp.Diff(`step 1, Be careful., 2 tools, "What is it?"`, k.next().Message.PlainText()); diff != "" {
		t.Error(diff)
	}
	k.say(membrane.Message{Role: membrane.Results, Results: []membrane.Result{{CallID: "1", Tool: "a", Text: "41"}}})
	if diff := cmp.Diff("41+1", k.next().Message.PlainText()); diff != "" {
		t.Error(diff)
	}
	k.say(membrane.UserText("And?"))
	if _, _, err := k.ask(); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
}

func TestPlayRefuses(t *testing.T) {
	t.Parallel()
	play := func(s scripted.Step) scripted.Step {
		return scripted.Step{Play: func(scripted.Seen) (scripted.Step, error) { return s, nil }}
	}
	for _, c := range []struct {
		name string
		step scripted.Step
		want string
	}{
		{"a Play in a Play", play(play(scripted.Step{})), "step 1: its Play gave a step that has a Play itself"},
		{"a step that cannot be played", play(scripted.Step{Calls: []scripted.Call{{}}}), "step 1: its Play gave a step that cannot be played: call 1 has no name"},
		{"unmet", play(scripted.Step{Expect: []scripted.Expect{{Contains: "x"}}}), `step 1: expectation 1 is not met: what is new contains "x"; shown: ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := newTalk(t, scripted.Script{Steps: []scripted.Step{c.step}}, scripted.Config{}).ask()
			if err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
	both := play(scripted.Step{})
	both.Text = "more"
	if _, err := scripted.New(scripted.Script{Steps: []scripted.Step{both}}, scripted.Config{}); err == nil {
		t.Error("a step with Play and a text was taken")
	}
}
