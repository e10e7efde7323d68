package historytest

import (
	"errors"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
)

// testApprovals asks, answers and uses approvals, each step once.
func testApprovals(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.say("", "hello")
	c.must(s.OpenRound(c.ctx(), c.l, c.opening("a", "b", "c")))
	id := func(i int) history.CallID { return history.CallID{Round: 1, Index: i} }
	asked := func(i int, digest byte) history.Approval {
		return history.Approval{ID: id(i), Digest: [32]byte{digest}, Asked: start.Add(time.Duration(i) * time.Second)}
	}
	event := history.Append{Events: []history.Event{{Kind: "k"}}}
	answer := func(i int, granted bool) error {
		_, err := s.AnswerApprovals(c.ctx(), c.l, []history.Answer{{ID: id(i), Granted: granted, Reason: "why", Now: start.Add(time.Minute)}}, event)
		return err
	}
	begun := func(i int, digest byte) error {
		return s.StartCalls(c.ctx(), c.l, []history.Start{{ID: id(i), Attempt: 1, Approval: [32]byte{digest}, Now: start}})
	}
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("an answer to no question", answer(1, true), history.ErrNotFound)
	check("a start with no approval", begun(1, 1), history.ErrConflict)
	r := c.must(s.AskApprovals(c.ctx(), c.l, []history.Approval{asked(2, 2), asked(1, 1)}, event))
	if len(r.Events) != 1 {
		t.Errorf("receipt of the questions: %+v", r)
	}
	check("a start that was not granted", begun(1, 1), history.ErrConflict)
	c.must(s.AskApprovals(c.ctx(), c.l, []history.Approval{asked(1, 9)}, history.Append{})) // again, of other arguments
	check("the answer", answer(1, true), nil)
	check("a second answer", answer(1, false), history.ErrConflict)
	check("a denial", answer(2, false), nil)
	check("a start that was denied", begun(2, 2), history.ErrConflict)
	check("a start of the old question", begun(1, 1), history.ErrConflict)
	list := func() []history.Approval {
		t.Helper()
		got, err := s.ApprovalsOf(c.ctx(), "c1", 0)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := []history.Approval{
		{ID: id(1), Digest: [32]byte{9}, State: history.ApprovalGranted, Reason: "why", Asked: start.Add(time.Second), Answered: start.Add(time.Minute)},
		{ID: id(2), Digest: [32]byte{2}, State: history.ApprovalDenied, Reason: "why", Asked: start.Add(2 * time.Second), Answered: start.Add(time.Minute)},
	}
	same(t, "approvals", want, list())
	check("the start", begun(1, 9), nil)
	check("a second start", begun(1, 9), history.ErrConflict)
	_, err := s.AskApprovals(c.ctx(), c.l, []history.Approval{asked(1, 9)}, event)
	check("a question after the approval was used", err, history.ErrConflict)
	want[0].State = history.ApprovalUsed
	same(t, "approvals", want, list())
	if got, err := s.ApprovalsOf(c.ctx(), "c1", 2); err != nil || len(got) != 0 {
		t.Errorf("approvals of another round: %v, %v", got, err)
	}
	calls, err := s.CallsOf(c.ctx(), "c1", 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, state := range []history.CallState{history.CallRunning, history.CallWaiting, history.CallPending} {
		if calls[i].State != state {
			t.Errorf("call %d is %s, want %s", i+1, calls[i].State, state)
		}
	}
	_, err = s.AskApprovals(c.ctx(), c.l, []history.Approval{asked(3, 3), asked(4, 4)}, event)
	check("a question about no call", err, history.ErrConflict)
	if got := list(); len(got) != 2 {
		t.Errorf("a refused question left %d approvals, want 2", len(got))
	}
	sound(t, s, "c1")
}
