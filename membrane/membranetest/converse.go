package membranetest

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

// modelName is the model of the suite; otherName is one that did not make its answers.
const (
	modelName = "suite-model"
	otherName = "other-model"
)

// played is what happened in a scenario.
type played struct {
	url      string
	recorded []Recorded
	answers  []answered
}

// answered is what became of one answer.
type answered struct {
	shown, thought string
	pieces         int
	done           *membrane.Done
	err            *membrane.Error
}

// told tells everything, a line each.
func (p *played) told() string {
	var out strings.Builder
	for i, a := range p.answers {
		fmt.Fprintf(&out, "answer %d\n", i+1)
		if a.thought != "" {
			fmt.Fprintf(&out, "thinking %q\n", a.thought)
		}
		if a.shown != "" {
			fmt.Fprintf(&out, "text %q\n", a.shown)
		}
		if a.err != nil {
			fmt.Fprintf(&out, "error %s status=%d retry_after=%s\n%s\n", a.err.Kind, a.err.Status, a.err.RetryAfter, a.err)
			continue
		}
		u := a.done.Usage
		body, err := membrane.Encode(a.done.Message)
		if err != nil {
			body = []byte(err.Error())
		}
		fmt.Fprintf(&out, "done %s in=%d out=%d cache_read=%d cache_write=%d\nmessage %s\nfragment %s\n",
			a.done.Stop, u.In, u.Out, u.CacheRead, u.CacheWrite, body, a.done.Fragment)
	}
	return strings.ReplaceAll(out.String(), p.url, "http://server")
}

// outcomes gives what happened in neutral terms; what want leaves open is left out.
func (p *played) outcomes(want []Outcome) []Outcome {
	var all []Outcome
	for i, a := range p.answers {
		o := Outcome{Shown: a.shown, Thought: a.thought}
		switch {
		case a.err != nil:
			o.Error, o.RetryAfter = a.err.Kind, a.err.RetryAfter
		default:
			o.Stop, o.Text = a.done.Stop, a.done.Message.PlainText()
			for _, c := range a.done.Message.Calls() {
				o.Calls = append(o.Calls, Called{Tool: c.Tool, Args: string(c.Args)})
			}
			if i < len(want) && want[i].Usage != nil {
				o.Usage = &membrane.Usage{In: a.done.Usage.In, Out: a.done.Usage.Out, CacheRead: a.done.Usage.CacheRead}
			}
		}
		all = append(all, o)
	}
	return all
}

// converse plays a scenario: a new model for each request, and only stored bytes in it.
func (a Adapter) converse(t *testing.T, s Scenario, script *transcript, piece int) *played {
	t.Helper()
	answers := script.answers(t, a.Frame)
	for i := range answers {
		answers[i].Piece = piece
	}
	server := Serve(t, answers...)
	first := a.New(t, server.URL, modelName)
	head, err := first.EncodeHead(suiteHead())
	if err != nil {
		t.Fatal(err)
	}
	r := membrane.Request{Head: head.Head, Tail: head.Tail}
	say := func(m membrane.Message) {
		t.Helper()
		fragment, err := a.New(t, server.URL, modelName).EncodeMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		r.Messages = membrane.Joined(r.Head, bytes.Clone(r.Messages), fragment)
	}
	users := s.users()
	for _, m := range s.Before {
		say(m)
	}
	say(users[0])
	users = users[1:]
	p := &played{url: server.URL}
	for range answers {
		seen := a.ask(t, server.URL, r)
		p.answers = append(p.answers, seen)
		if seen.err != nil {
			continue // the same is asked again
		}
		a.checkAnswer(t, s, server.URL, seen.done)
		r.Messages = membrane.Joined(r.Head, bytes.Clone(r.Messages), seen.done.Fragment)
		switch calls := seen.done.Message.Calls(); {
		case len(calls) > 0:
			say(s.results(calls))
		case seen.done.Stop == membrane.StopPaused:
		case len(users) > 0:
			say(users[0])
			users = users[1:]
		}
	}
	if p.recorded = server.Requests(); len(p.recorded) != len(answers) {
		t.Fatalf("%d requests for %d answers: an adapter asks once, the loop asks again", len(p.recorded), len(answers))
	}
	return p
}

// ask sends one request.
func (a Adapter) ask(t *testing.T, url string, r membrane.Request) (seen answered) {
	t.Helper()
	over := false
	for e, err := range a.New(t, url, modelName).Stream(t.Context(), r) {
		if over {
			t.Errorf("an event comes behind the last one: %v, %v", e, err)
		}
		switch e := e.(type) {
		case membrane.TextDelta:
			seen.shown += e.Text
			seen.pieces++
		case membrane.ThinkingDelta:
			seen.thought += e.Text
		case membrane.Done:
			seen.done, over = &e, true
		}
		if err == nil {
			continue
		}
		over = true
		if !errors.As(err, &seen.err) {
			t.Fatalf("an error of another type: %v", err)
		}
		line := err.Error()
		if strings.Contains(line, a.Secret) || strings.Contains(line, "\n") || len([]rune(seen.err.Text)) > membrane.MaxLine || !strings.Contains(line, modelName) {
			t.Errorf("the error is no bounded line that names the model and not the key: %q", line)
		}
	}
	if !over {
		t.Fatal("the stream ended without a last event and without an error")
	}
	return seen
}

// checkAnswer holds what is true of every whole answer.
func (a Adapter) checkAnswer(t *testing.T, s Scenario, url string, done *membrane.Done) {
	t.Helper()
	ids := map[string]bool{}
	for _, c := range done.Message.Calls() {
		if c.CallID == "" || ids[c.CallID] {
			t.Errorf("call id %q is empty, or comes twice", c.CallID)
		}
		ids[c.CallID] = true
	}
	body, err := membrane.Encode(done.Message)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := membrane.Decode(membrane.Codec, body)
	if err != nil {
		t.Fatal(err)
	}
	again, err := a.New(t, url, modelName).EncodeMessage(stored)
	if err != nil {
		t.Fatal(err)
	}
	live := done.Fragment
	if a.Unmarked != nil {
		live = a.Unmarked(live)
	}
	if diff := cmp.Diff(string(live), string(again)); diff != "" {
		t.Errorf("the stored answer encodes to another fragment (-live +again):\n%s", diff)
	}
	other, err := a.New(t, url, otherName).EncodeMessage(stored)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(other, []byte(Signature)) {
		t.Errorf("what one model signed goes to another: %s", other)
	}
	for _, kept := range s.Kept {
		if !bytes.Contains(live, []byte(kept)) {
			t.Errorf("the fragment lost %s: %s", kept, live)
		}
	}
}
