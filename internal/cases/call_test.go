package cases

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// callCases are calls and results that have to find each other: topics result-count, duplicate-id and
// wrong-call.
func callCases() map[string]runner {
	return map[string]runner{
		"C069": oneMessage,
		"C073": idTwice,
		"C074": idEmpty,
		"C077": byOwnID,
		"C078": lateResult,
	}
}

// lines counts the lines of a file.
func lines(t *testing.T, path string) int {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(raw, []byte("\n"))
}

// texts gives the results of the last message of a body, as id=text.
func texts(t *testing.T, body []byte) (all []string) {
	t.Helper()
	messages := parseBody(t, body).Messages
	for _, b := range messages[len(messages)-1].Content {
		all = append(all, b.ID+"="+*b.Text)
	}
	return all
}

func oneMessage(t *testing.T, c field) {
	events := story(t, c, "call", "call", "result", "result", "next_request")
	// The second is done before the first: the order stays that of the calls.
	second := make(chan struct{})
	w := newWorld(t, handler("f", func(_ context.Context, c tool.Call) (tool.Result, error) {
		if string(c.Args) == string(events[0].Args) {
			<-second
			return tool.Text(events[2].Text), nil
		}
		defer close(second)
		return tool.Text(events[3].Text), nil
	}))
	w.round(asks(events[0].id(), "f", string(events[0].Args)), asks(events[1].id(), "f", string(events[1].Args)))
	if d := cmp.Diff([]string{`user "Go on."`, "assistant c1 c2", "results c1 c2"}, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("the next request (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"c1=a", "c2=b"}, texts(t, w.last())); d != "" {
		t.Errorf("the results (-want +got):\n%s", d)
	}
}

func idTwice(t *testing.T, c field) {
	events := story(t, c, "call", "call", "result", "result", "next_request")
	var bodies [2]string
	for run := range bodies {
		w := newWorld(t, gives("a", tool.Text(events[2].Text)), gives("b", tool.Text(events[3].Text)))
		got := w.round(asks(events[0].id(), "a", "{}"), asks(events[1].id(), "b", "{}"))
		if d := cmp.Diff([]string{`user "Go on."`, "assistant c1 c1-2", "results c1 c1-2"}, parseBody(t, w.last()).outline()); d != "" {
			t.Errorf("the next request (-want +got):\n%s", d)
		}
		if d := cmp.Diff([]string{"c1=ra", "c1-2=rb"}, texts(t, w.last())); d != "" {
			t.Errorf("the results (-want +got):\n%s", d)
		}
		if got[0].call.ProviderID != "c1" || got[1].call.ProviderID != "c1-2" {
			t.Errorf("stored as %q and %q", got[0].call.ProviderID, got[1].call.ProviderID)
		}
		// The same id again in a later round is a third one.
		if again := w.round(asks("c1", "b", "{}"))[0]; again.call.ProviderID != "c1-3" || again.text != "rb" {
			t.Errorf("in a later round: %q with %q", again.call.ProviderID, again.text)
		}
		bodies[run] = string(w.last())
	}
	if d := cmp.Diff(bodies[0], bodies[1]); d != "" {
		t.Errorf("the new ids are not the same each time:\n%s", d)
	}
}

func idEmpty(t *testing.T, c field) {
	events := story(t, c, "call", "call", "call", "result", "result")
	w := newWorld(t, gives("a", tool.Text("r0")), gives("b", tool.Text(events[3].Text)), gives("c", tool.Text(events[4].Text)))
	var calls []scripted.Call
	for _, e := range events[:3] {
		calls = append(calls, asks(e.id(), e.Name, string(e.Args)))
	}
	w.round(calls...)
	if d := cmp.Diff([]string{"call-1=r0", "x=r1", "x-2=r2"}, texts(t, w.last())); d != "" {
		t.Errorf("the results (-want +got):\n%s", d)
	}
	// A second result for a call that has one changes nothing: it is refused, or noted as a late one.
	before := w.dump(repair)
	s := w.open()
	defer func() { _ = s.Close() }()
	lease, err := s.TakeLease(t.Context(), history.Take{Conversation: talk, Run: "again", Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	second := history.Settled{
		Result: history.Result{ID: resultOf(t, "r1-2"), Tool: "b", Whole: []byte("another")}, Outcome: history.OutcomeDone, Now: time.Now(),
	}
	if _, err := s.SettleCalls(t.Context(), lease, []history.Settled{second}, nil); !errors.Is(err, history.ErrConflict) || !strings.Contains(err.Error(), "r1-2") {
		t.Errorf("a second result: %v", err)
	}
	second.Outcome = history.OutcomeLate
	receipt, err := s.SettleCalls(t.Context(), lease, []history.Settled{second}, nil)
	if err != nil || len(receipt.Events) != 1 || receipt.Events[0].Kind != "late_result" || !bytes.Contains(receipt.Events[0].Data, []byte(`"r1-2"`)) {
		t.Errorf("a late result is noted as %v, %v", receipt.Events, err)
	}
	if d := cmp.Diff(before, w.dump(repair)); d != "" {
		t.Errorf("a second result changed what is stored:\n%s", d)
	}
	if err := s.ReleaseLease(t.Context(), lease); err != nil {
		t.Error(err)
	}
}

func byOwnID(t *testing.T, c field) {
	events := story(t, c, "call", "call", "call", "finish", "finish", "finish")
	// Each finishes after the one before it in the order of the case: B, A, C.
	answers, after := map[string]string{}, map[string]chan struct{}{}
	done := map[string]chan struct{}{}
	first := make(chan struct{})
	close(first)
	before := first
	for _, e := range events[3:] {
		args := string(e.Args)
		answers[args], after[args], done[args] = e.Text, before, make(chan struct{})
		before = done[args]
	}
	w := newWorld(t, handler("temp", func(_ context.Context, c tool.Call) (tool.Result, error) {
		<-after[string(c.Args)]
		defer close(done[string(c.Args)])
		return tool.Text(answers[string(c.Args)]), nil
	}))
	var calls []scripted.Call
	for _, e := range events[:3] {
		calls = append(calls, asks(e.id(), e.Name, string(e.Args)))
	}
	for i, a := range w.round(calls...) {
		if want := answers[string(calls[i].Args)]; a.text != want || string(a.call.Args) != string(calls[i].Args) {
			t.Errorf("%s with %s is answered %q, want %q", a.row.ID, a.call.Args, a.text, want)
		}
	}
	if d := cmp.Diff([]string{"call-1=72", "call-2=10", "call-3=22"}, texts(t, w.last())); d != "" {
		t.Errorf("the results (-want +got):\n%s", d)
	}
}

func lateResult(t *testing.T, c field) {
	events := story(t, c, "batch", "call", "cancel", "batch", "call", "result", "result")
	var cancel atomic.Pointer[context.CancelFunc]
	var store atomic.Pointer[sqlite.Store]
	release := make(chan struct{})
	var calls atomic.Int32
	// The first call does not hear that it is cancelled; it comes back while the second one runs.
	w := newWorld(t, handler("sh", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		if calls.Add(1) == 1 {
			(*cancel.Load())()
			<-release
			return tool.Text(events[5].Text), nil
		}
		close(release)
		for range 1000 {
			all, err := store.Load().Events(ctx, talk, 0)
			if err != nil {
				return tool.Result{}, err
			}
			for _, e := range all {
				if e.Kind == "late_result" {
					return tool.Text(events[6].Text), nil
				}
			}
			time.Sleep(5 * time.Millisecond)
		}
		return tool.Error("the late result was not noted"), nil
	}))
	w.config.Calls.Grace = 20 * time.Millisecond
	w.steps = []scripted.Step{
		{Calls: []scripted.Call{asks(events[1].id(), "sh", "{}")}}, {Calls: []scripted.Call{asks(events[4].id(), "sh", "{}")}}, {Text: "Done."},
	}
	w.process(func(a *agent.Agent, s *sqlite.Store) {
		store.Store(s)
		ctx, end := context.WithCancel(t.Context())
		defer end()
		cancel.Store(&end)
		if _, err := a.Run(ctx, agent.Turn{Conversation: talk, Text: "One."}).Collect(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Two."}).Collect(); err != nil {
			t.Fatal(err)
		}
	})
	want := []string{`user "One."`, "assistant a1", "results a1!", `user "Two."`, "assistant b1", "results b1"}
	if d := cmp.Diff(want, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("the last request (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"b1=NEW"}, texts(t, w.last())); d != "" {
		t.Errorf("the results (-want +got):\n%s", d)
	}
	for i, body := range w.received() {
		if bytes.Contains(body, []byte("OLD")) {
			t.Errorf("body %d has the late result", i+1)
		}
	}
	if a := w.answer(resultOf(t, "r1-1")); !strings.Contains(a.text, "cancelled") || strings.Contains(a.whole, "OLD") {
		t.Errorf("the cancelled call is answered %q, stored %q", a.text, a.whole)
	}
}
