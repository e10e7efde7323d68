package cli

import (
	"context"
	"time"

	"github.com/weir-run/weir/history"
)

// idle finds the conversations in which nothing has happened since a time. Nothing is written.
func (a *app) idle(ctx context.Context, before time.Time) (old []removed, err error) {
	store, err := a.openToRead(ctx)
	if err != nil {
		return nil, err
	}
	defer closing(store, &err)
	all, err := store.Conversations(ctx, 0)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		r, err := weigh(ctx, store, c, before)
		if err != nil {
			return nil, err
		}
		if r != nil {
			old = append(old, *r)
		}
	}
	return old, nil
}

// weigh says what a conversation holds; nil when something has happened in it since.
func weigh(ctx context.Context, store history.Store, c history.Conversation, before time.Time) (*removed, error) {
	r := removed{ID: c.ID, Title: c.Title, active: c.CreatedAt}
	seen := func(times ...time.Time) bool {
		for _, t := range times {
			if t.After(r.active) {
				r.active = t
			}
		}
		return r.active.Before(before)
	}
	if !seen() {
		return nil, nil
	}
	turns, err := store.TurnsOf(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	for _, t := range turns {
		r.State = string(t.State)
		seen(t.StartedAt)
	}
	asked, err := store.ApprovalsOf(ctx, c.ID, 0)
	if err != nil {
		return nil, err
	}
	for _, q := range asked {
		seen(q.Asked, q.Answered)
	}
	rounds, err := store.RoundsOf(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	r.Rounds = len(rounds)
	for _, round := range rounds {
		calls, err := store.CallsOf(ctx, c.ID, round.N)
		if err != nil {
			return nil, err
		}
		for _, call := range calls {
			seen(call.Created, call.Started, call.Settled)
		}
	}
	if !seen() {
		return nil, nil
	}
	r.LastActivity = stamp(r.active)
	return &r, r.measure(ctx, store)
}

// measure adds up the results.
func (r *removed) measure(ctx context.Context, store history.Store) error {
	results, err := store.ResultsOf(ctx, r.ID, 0)
	if err != nil {
		return err
	}
	for _, x := range results {
		if x.Spill == nil {
			r.TextBytes += x.Bytes
		}
	}
	files, err := store.SpillsOf(ctx, r.ID)
	if err != nil {
		return err
	}
	r.Files = len(files)
	for _, f := range files {
		r.FileBytes += f.Index.Bytes
	}
	return nil
}
