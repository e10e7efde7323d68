package sqlite

import (
	"context"
	"fmt"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
)

// AskApprovals marks calls as waiting and stores the questions about them, in one commit. Asking again
// replaces a question that was not used.
func (s *Store) AskApprovals(ctx context.Context, l history.Lease, asked []history.Approval, a history.Append) (history.Receipt, error) {
	return s.write(ctx, l, "ask for approvals", size(a), func(ctx context.Context, st *step) error {
		for _, q := range asked {
			c, err := st.unsettled(q.ID)
			if err != nil {
				return err
			}
			n, err := st.q.AskApproval(ctx, db.AskApprovalParams{
				Conversation: l.Conversation, Round: int64(q.ID.Round), Idx: int64(q.ID.Index), Sub: int64(q.ID.Sub),
				Digest: q.Digest[:], AskedAt: ms(q.Asked),
			})
			switch {
			case err != nil:
				return err
			case n == 0:
				return refuse("the approval of call %s was used", q.ID)
			}
			if err := st.start(ctx, history.Start{ID: q.ID, Attempt: c.attempt, Waiting: true}); err != nil {
				return err
			}
		}
		return st.append(ctx, a)
	})
}

// AnswerApprovals stores answers. [history.ErrNotFound] for a call that was not asked about,
// [history.ErrConflict] for one that was answered before or is not waiting.
func (s *Store) AnswerApprovals(ctx context.Context, l history.Lease, answers []history.Answer, a history.Append) (history.Receipt, error) {
	return s.write(ctx, l, "answer approvals", size(a), func(ctx context.Context, st *step) error {
		for _, answer := range answers {
			if err := st.answerApproval(ctx, answer); err != nil {
				return err
			}
		}
		return st.append(ctx, a)
	})
}

func (st *step) answerApproval(ctx context.Context, a history.Answer) error {
	key := db.HasApprovalParams{
		Conversation: st.l.Conversation, Round: int64(a.ID.Round), Idx: int64(a.ID.Index), Sub: int64(a.ID.Sub),
	}
	there, err := st.q.HasApproval(ctx, key)
	switch {
	case err != nil:
		return err
	case !there:
		return fmt.Errorf("call %s was not asked about: %w", a.ID, history.ErrNotFound)
	}
	c, err := st.unsettled(a.ID)
	switch {
	case err != nil:
		return err
	case c.state != history.CallWaiting:
		return refuse("call %s is %s, not waiting", a.ID, c.state)
	}
	state := history.ApprovalDenied
	if a.Granted {
		state = history.ApprovalGranted
	}
	n, err := st.q.AnswerApproval(ctx, db.AnswerApprovalParams{
		State: string(state), Reason: a.Reason, AnsweredAt: ms(a.Now), Conversation: key.Conversation, Round: key.Round, Idx: key.Idx, Sub: key.Sub,
	})
	if err == nil && n == 0 {
		err = refuse("the question about call %s was answered", a.ID)
	}
	return err
}

// ApprovalsOf lists the questions of a conversation in call order; round 0 means all rounds.
func (s *Store) ApprovalsOf(ctx context.Context, conversation string, round int) ([]history.Approval, error) {
	first, last := span(round)
	rows, err := s.read.Approvals(ctx, db.ApprovalsParams{Conversation: conversation, First: first, Last: last})
	if err != nil {
		return nil, fmt.Errorf("list approvals of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Approval, 0, len(rows))
	for _, r := range rows {
		out = append(out, history.Approval{
			ID: history.CallID{Round: int(r.Round), Index: int(r.Idx), Sub: int(r.Sub)}, Digest: hash(r.Digest),
			State: history.ApprovalState(r.State), Reason: r.Reason, Asked: fromMS(r.AskedAt), Answered: fromMS(r.AnsweredAt),
		})
	}
	return out, nil
}
