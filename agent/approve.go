package agent

import (
	"fmt"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
)

// Kinds of record events about approvals; package round's asks.
const (
	kindApprovalAsked    = round.EventAsked
	kindApprovalAnswered = "approval_answered"
)

// ApprovalAsked says that a call waits for an approval.
type ApprovalAsked struct {
	Record
	// Result is the id of the call, such as r3-1; [Answer.Call] takes it.
	Result string `json:"result"`
	Tool   string `json:"tool"`
	// Args are the exact arguments that would be used.
	Args string `json:"args"`
}

// ApprovalAnswered says that a question was answered.
type ApprovalAnswered struct {
	Record
	Result  string `json:"result"`
	Granted bool   `json:"granted"`
	Reason  string `json:"reason,omitempty"`
}

// Waiting is the last event of a run whose turn waits for approvals. It is live: the questions are
// record events.
type Waiting struct {
	Turn int
	// Calls are the ids of the calls that wait.
	Calls []string
}

func (ApprovalAsked) event()    {}
func (ApprovalAnswered) event() {}
func (Waiting) event()          {}

// answers stores what was answered.
func (d *drive) answers(given []Answer) error {
	if len(given) == 0 {
		return nil
	}
	now := d.a.cfg.Now()
	add := history.Append{Now: now}
	var rows []history.Answer
	for _, g := range given {
		id, err := history.ParseCallID(g.Call)
		if err != nil {
			return err
		}
		rows = append(rows, history.Answer{ID: id, Granted: g.Grant, Reason: g.Reason, Now: now})
		add.Events = append(add.Events, event(kindApprovalAnswered, ApprovalAnswered{Result: g.Call, Granted: g.Grant, Reason: g.Reason}))
	}
	receipt, err := d.a.store.AnswerApprovals(d.durable, d.held.Lease(), rows, add)
	if err != nil {
		return fmt.Errorf("answer in %s: %w", d.conversation, err)
	}
	d.emit(receipt)
	return nil
}

// pause lets the turn wait for its approvals.
func (d *drive) pause(settled round.Round) error {
	if d.turn.State != history.TurnWaiting {
		receipt, err := d.a.store.SetTurn(d.durable, d.held.Lease(), history.TurnChange{
			Turn: d.turn.N, State: history.TurnWaiting, Append: history.Append{Now: d.a.cfg.Now()},
		})
		if err != nil {
			return fmt.Errorf("let turn %d of %s wait: %w", d.turn.N, d.conversation, err)
		}
		d.emit(receipt)
		d.turn.State = history.TurnWaiting
	}
	w := Waiting{Turn: d.turn.N}
	for _, id := range settled.Waiting {
		w.Calls = append(w.Calls, id.String())
	}
	d.events <- w
	return nil
}

// goOn opens the turn again after its approvals were answered.
func (d *drive) goOn() error {
	if d.turn.State != history.TurnWaiting {
		return nil
	}
	_, err := d.a.store.SetTurn(d.durable, d.held.Lease(), history.TurnChange{
		Turn: d.turn.N, State: history.TurnOpen, Append: history.Append{Now: d.a.cfg.Now()},
	})
	if err != nil {
		return fmt.Errorf("open turn %d of %s again: %w", d.turn.N, d.conversation, err)
	}
	d.turn.State = history.TurnOpen
	return nil
}
