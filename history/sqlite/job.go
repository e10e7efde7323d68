package sqlite

import (
	"context"
	"fmt"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
)

// PutJob stores a job, or its next state.
func (s *Store) PutJob(ctx context.Context, l history.Lease, j history.Job) error {
	_, err := s.write(ctx, l, fmt.Sprintf("put job %s", j.ID), len(j.Args), func(ctx context.Context, st *step) error {
		switch j.State {
		case history.JobRunning, history.JobEnded, history.JobCancelled:
		default:
			return refuse("a job cannot be %q", j.State)
		}
		n, err := st.q.PutJob(ctx, db.PutJobParams{
			Conversation: l.Conversation, ID: j.ID.String(), Tool: j.Tool, State: string(j.State), CreatedAt: ms(j.Created),
			StartedAt: ms(j.Started), EndedAt: ms(j.Ended), Args: full(j.Args),
		})
		if err == nil && n == 0 {
			err = refuse("job %s has ended", j.ID)
		}
		return err
	})
	return err
}

// JobsOf lists the jobs of a conversation.
func (s *Store) JobsOf(ctx context.Context, conversation string) ([]history.Job, error) {
	rows, err := s.read.Jobs(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("list jobs of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Job, 0, len(rows))
	for _, r := range rows {
		id, err := history.ParseCallID(r.ID)
		if err != nil {
			return nil, fmt.Errorf("list jobs of conversation %.100q: %w: %w", conversation, err, history.ErrCorrupt)
		}
		out = append(out, history.Job{
			ID: id, Tool: r.Tool, Args: r.Args, State: history.JobState(r.State), Created: fromMS(r.CreatedAt),
			Started: fromMS(r.StartedAt), Ended: fromMS(r.EndedAt),
		})
	}
	return out, nil
}
