package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// familyApprovals are the items of family K.
func familyApprovals() map[string]item {
	return map[string]item{"K01": boundToTheArguments, "K02": whatWillRun, "K03": guardAtResume, "K04": usedOnce}
}

// asked is a world whose turn waits for an approval of one call of the tool pay, with what the tool was
// given each time that it ran.
func asked(t *testing.T, args string) (w *world, ran *[]string, out agent.Outcome) {
	t.Helper()
	ran = &[]string{}
	w = quick(t, handler("pay", func(_ context.Context, c tool.Call) (tool.Result, error) {
		*ran = append(*ran, string(c.Args))
		return tool.Text("paid"), nil
	}))
	w.config.Approve = approving("pay")
	w.steps = []scripted.Step{{Calls: []scripted.Call{asks("", "pay", args)}}, {Text: "Done."}}
	out = w.turn("Go on.")
	if !slices.Equal(out.Waiting, []string{"r1-1"}) || len(*ran) != 0 {
		t.Fatalf("waiting %v, ran %v", out.Waiting, *ran)
	}
	return w, ran, out
}

var grant = agent.Answer{Call: "r1-1", Grant: true}

func boundToTheArguments(t *testing.T) {
	w, ran, _ := asked(t, `{"amount":1}`)
	// Somebody changes what the call asks for, from outside of the program, between the question and the answer.
	trigger := w.value("SELECT sql FROM sqlite_schema WHERE name = 'calls_fixed'")
	w.sql("DROP TRIGGER calls_fixed", `UPDATE calls SET args = CAST('{"amount":1000000}' AS BLOB)`)
	out := resumed(t, w, grant)
	if len(*ran) != 0 || !slices.Equal(out.Waiting, []string{"r1-1"}) {
		t.Errorf("with other arguments than were approved: ran %v, waiting %v, ended as %q", *ran, out.Waiting, out.Reason)
	}
	w.sql(`UPDATE calls SET args = CAST('{"amount":1}' AS BLOB)`, trigger)
	for range 2 { // asked again, for what it is now
		if out = resumed(t, w, grant); len(out.Waiting) == 0 {
			break
		}
	}
	if d := fmt.Sprint(*ran); d != `[{"amount":1}]` || out.Text != "Done." {
		t.Errorf("in the end: ran %s, ended as %q", d, out.Text)
	}
}

func whatWillRun(t *testing.T) {
	const args = ` {"amount": 1.0,  "to":"<a&b> \u00e9"} `
	var questions []string
	w, ran, out := asked(t, args)
	w.config.Approve = func(_ context.Context, q round.Question) (round.Decision, error) {
		questions = append(questions, string(q.Call.Args))
		return round.Decision{Verdict: round.Allow}, nil
	}
	for _, e := range out.Events {
		if e, ok := e.(agent.ApprovalAsked); ok {
			questions = append(questions, e.Args)
		}
	}
	resumed(t, w, grant)
	for _, q := range append(questions, *ran...) {
		if q != args {
			t.Errorf("asked or run is %q, the model wrote %q", q, args)
		}
	}
	if len(questions) == 0 || len(*ran) != 1 {
		t.Errorf("%d questions, %d runs", len(questions), len(*ran))
	}
}

func guardAtResume(t *testing.T) {
	// The policy has changed while the turn waited: the guard denies now what was granted, or asks again.
	for verdict, want := range map[round.Verdict]string{round.Deny: "the policy has changed", round.AskAgain: ""} {
		w, ran, _ := asked(t, `{"amount":1}`)
		w.config.Approve = func(context.Context, round.Question) (round.Decision, error) {
			return round.Decision{Verdict: verdict, Reason: "the policy has changed"}, nil
		}
		out := resumed(t, w, grant)
		if len(*ran) != 0 {
			t.Errorf("verdict %d: it ran although the guard does not allow it any more", verdict)
			continue
		}
		if want == "" && !slices.Equal(out.Waiting, []string{"r1-1"}) {
			t.Errorf("verdict %d: waiting %v", verdict, out.Waiting)
		}
		if want != "" && !strings.Contains(*w.shown()[0].Text, want) {
			t.Errorf("verdict %d: answered %q", verdict, *w.shown()[0].Text)
		}
	}
}

func usedOnce(t *testing.T) {
	// An approval of another schema is none.
	w, ran, _ := asked(t, `{"amount":1}`)
	schema := w.tools[0].Schema
	w.tools[0].Schema = []byte(`{"type":"object","properties":{"amount":{"type":"integer"}}}`)
	if out := resumed(t, w, grant); len(*ran) != 0 || len(out.Waiting) != 1 {
		t.Errorf("with another schema: ran %v, waiting %v", *ran, out.Waiting)
	}
	w.tools[0].Schema = schema
	// The start uses it up: a second start with it is refused by the store.
	w, _, _ = asked(t, `{"amount":1}`)
	var second atomic.Value
	w.tools[0].Run = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		s := w.open()
		defer func() { _ = s.Close() }()
		approvals, err := s.ApprovalsOf(ctx, talk, 1)
		if err != nil || len(approvals) != 1 || approvals[0].State != history.ApprovalUsed {
			second.Store(fmt.Sprintf("while it runs the approvals are %+v, %v", approvals, err))
		}
		return tool.Text("paid"), nil
	}
	resumed(t, w, grant)
	if said := second.Load(); said != nil {
		t.Error(said)
	}
	w.process(func(a *agent.Agent, s *sqlite.Store) {
		if _, err := a.Resume(t.Context(), talk, grant).Collect(); !errors.Is(err, agent.ErrNothingToResume) {
			t.Errorf("answered once more: %v", err)
		}
		lease, err := s.TakeLease(t.Context(), history.Take{Conversation: talk, Run: "again", Now: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		approvals, err := s.ApprovalsOf(t.Context(), talk, 1)
		if err != nil || len(approvals) != 1 {
			t.Fatalf("%v, %v", approvals, err)
		}
		err = s.StartCalls(t.Context(), lease, []history.Start{{ID: resultOf(t, "r1-1"), Attempt: 2, Approval: approvals[0].Digest, Now: time.Now()}})
		if !errors.Is(err, history.ErrConflict) {
			t.Errorf("a second start with the same approval: %v", err)
		}
		if err := s.ReleaseLease(t.Context(), lease); err != nil {
			t.Error(err)
		}
	})
	if n := len(w.received()); n != 2 {
		t.Errorf("%d requests were sent", n)
	}
}
