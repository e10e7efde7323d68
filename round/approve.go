package round

import (
	"fmt"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/tool"
)

// EventAsked reports that a call waits for an approval.
const EventAsked = "approval_asked"

// Verdict is whether a call may run.
type Verdict int

// The verdicts on a call.
const (
	// Ask stores the question and lets the call wait, for days if need be.
	Ask Verdict = iota
	// Allow lets the call run.
	Allow
	// Deny answers the call with an error result instead of running it.
	Deny
	// AskAgain stores a new question even for a call that was granted, because the policy has changed
	// since. For a call that was not asked about it is Ask.
	AskAgain
)

// Decision is a verdict with its reason.
type Decision struct {
	Verdict Verdict
	// Reason is told to the model when the verdict is Deny.
	Reason string
}

// Question is a call whose running is to be decided, exactly as it would run.
type Question struct {
	ID   history.CallID
	Tool tool.Tool
	Call tool.Call
	// Digest is what an approval is bound to: the tool's name, its description, its schema and the exact arguments.
	Digest [32]byte
	// Granted says that the call was asked about and granted. It runs then unless the verdict is Deny or
	// [AskAgain].
	Granted bool
}

// asked is the data of [EventAsked].
type asked struct {
	Result string `json:"result"`
	Tool   string `json:"tool"`
	Args   string `json:"args"`
}

// questions reads what was asked about the calls of an interrupted round.
func (w *work) questions() error {
	stored, err := w.settler.store.ApprovalsOf(w.durable, w.request.Conversation, w.n)
	if err != nil {
		return err
	}
	for _, a := range stored {
		for _, c := range w.calls {
			if c.id == a.ID {
				c.approval = a
			}
		}
	}
	return nil
}

// granted is the digest of the approval that a start uses up; all zeros when it needs none.
func (c *call) granted() [32]byte {
	if c.approval.State == history.ApprovalGranted {
		return c.approval.Digest
	}
	return [32]byte{}
}

// approved decides whether a call may run. When it may not, the call has its result, or it waits.
func (w *work) approved(c *call) bool {
	// An answer is good only for what was asked about: the same schema, the same arguments.
	if c.approval.Digest == c.prepared.Digest {
		switch c.approval.State {
		case history.ApprovalGranted:
			return w.granted(c)
		case history.ApprovalDenied:
			w.denied(c, c.approval.Reason)
			return false
		case history.ApprovalAsked:
			return w.waits(c)
		}
	}
	c.approval = history.Approval{ID: c.id, Digest: c.prepared.Digest}
	if w.settler.cfg.Approve == nil {
		if c.state == history.CallWaiting {
			return w.waits(c)
		}
		return true
	}
	d, err := w.settler.cfg.Approve(w.ctx, c.question(false))
	switch {
	case w.ctx.Err() != nil:
		w.notStarted(c)
		return false
	case err != nil:
		w.denied(c, fmt.Sprintf("it could not be decided: %v", err))
		return false
	case d.Verdict == Allow:
		return true
	case d.Verdict == Deny:
		w.denied(c, d.Reason)
		return false
	}
	return w.waits(c)
}

// granted runs a call that was granted, unless the policy has changed since.
func (w *work) granted(c *call) bool {
	c.unmarked = true // the start uses the approval up
	if w.settler.cfg.Approve == nil {
		return true
	}
	d, err := w.settler.cfg.Approve(w.ctx, c.question(true))
	switch {
	case err != nil:
		w.denied(c, fmt.Sprintf("it could not be decided: %v", err))
		return false
	case d.Verdict == Deny:
		w.denied(c, d.Reason)
		return false
	case d.Verdict == AskAgain:
		c.approval = history.Approval{ID: c.id, Digest: c.prepared.Digest}
		return w.waits(c)
	}
	return true
}

// question is a call as the host decides about it.
func (c *call) question(granted bool) Question {
	return Question{ID: c.id, Tool: c.prepared.Tool, Call: c.prepared.Call, Digest: c.prepared.Digest, Granted: granted}
}

// denied answers a call that may not run.
func (w *work) denied(c *call, reason string) {
	text := fmt.Sprintf("%s was not run: it was not approved.", c.prepared.Call.Name)
	if reason != "" {
		text = fmt.Sprintf("%s was not run: it was not approved: %s", c.prepared.Call.Name, reason)
	}
	w.whole(c, execute.Ran{Outcome: execute.Failed, Result: tool.Error(text)})
	c.outcome = history.OutcomeNotStarted
}

// waits lets a call wait for its answer, where somebody will give one.
func (w *work) waits(c *call) bool {
	if w.request.Unasked || w.ctx.Err() != nil {
		w.denied(c, "nobody answered before the conversation went on")
		return false
	}
	c.wait = true
	return false
}

// waiting are the calls that wait for an approval.
func (w *work) waiting() []*call {
	var all []*call
	for _, c := range w.calls {
		if c.wait {
			all = append(all, c)
		}
	}
	return all
}

// ask stores the questions that were not stored yet.
func (w *work) ask(waiting []*call) error {
	now := w.settler.cfg.Now()
	add := history.Append{Now: now}
	var questions []history.Approval
	for _, c := range waiting {
		if c.state == history.CallWaiting && c.approval.State == history.ApprovalAsked {
			continue
		}
		questions = append(questions, history.Approval{ID: c.id, Digest: c.prepared.Digest, State: history.ApprovalAsked, Asked: now})
		add.Events = append(add.Events, event(EventAsked, asked{
			Result: c.id.String(), Tool: c.prepared.Call.Name, Args: string(c.prepared.Call.Args),
		}))
	}
	if len(questions) == 0 {
		return nil
	}
	receipt, err := w.settler.store.AskApprovals(w.durable, w.lease, questions, add)
	if err != nil {
		return err
	}
	w.settler.notify(receipt.Events)
	return nil
}

func ids(calls []*call) []history.CallID {
	var all []history.CallID
	for _, c := range calls {
		all = append(all, c.id)
	}
	return all
}
