package cli

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/history"
)

// verified is what "history verify --json" prints. The names of its members are stable.
type verified struct {
	Clean         bool           `json:"clean"`
	Conversations []verifiedOne  `json:"conversations"`
	Counts        verifiedCounts `json:"counts"`
}

type verifiedOne struct {
	ID       string    `json:"id"`
	Problems []problem `json:"problems"`
}

type problem struct {
	Kind string `json:"kind"`
	// Where names the row or the result, such as "r3-1" or "epoch 2 fragment 14".
	Where string `json:"where"`
	What  string `json:"what"`
}

// verifiedCounts is how much was gone through.
type verifiedCounts struct {
	Conversations int `json:"conversations"`
	Rounds        int `json:"rounds"`
	Results       int `json:"results"`
	Files         int `json:"files"`
	Requests      int `json:"requests"`
	Problems      int `json:"problems"`
}

func newVerify(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify [--json] [ID|latest]",
		Short: "Prove that what is stored is what was sent, and that nothing is lost",
		Long: `verify recomputes what is stored of a conversation, by default of all: every hash of a result, every kept
file to its last byte, the chain of every fragment, and that each request is made of the stored bytes. Each
problem is one line that names the row or the result; the exit status is then 1.

--json prints {clean, conversations: [{id, problems: [{kind, where, what}]}],
  counts: {conversations, rounds, results, files, requests, problems}}.`,
		Example: `  weir history verify
  weir history verify latest --json`,
		Args:              between(0, 1, "at most one ID"),
		ValidArgsFunction: a.completeID,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.verify(cmd.Context(), args, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) verify(ctx context.Context, ids []string, asJSON bool) (err error) {
	store, err := a.openToRead(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	conversations, err := a.chosen(ctx, store, ids)
	if err != nil {
		return err
	}
	v := verified{Conversations: []verifiedOne{}}
	for _, c := range conversations {
		one, err := v.one(ctx, store, c.ID)
		if err != nil {
			return err
		}
		if asJSON {
			continue
		}
		for _, p := range one.Problems {
			line := printable(fmt.Sprintf("conversation %s: %s: %s", c.ID, p.Where, p.What))
			if err := a.emit([]byte(line + "\n")); err != nil {
				return err
			}
		}
	}
	v.Clean = v.Counts.Problems == 0
	if asJSON {
		err = a.emitJSON(v)
	} else {
		err = a.emit([]byte(v.String() + "\n"))
	}
	if err == nil && !v.Clean {
		return quiet(statusFailed)
	}
	return err
}

// chosen are the conversations of the ids, or all of them.
func (a *app) chosen(ctx context.Context, store history.Reader, ids []string) ([]history.Conversation, error) {
	if len(ids) == 0 {
		return store.Conversations(ctx, 0)
	}
	c, err := a.find(ctx, store, ids[0])
	return []history.Conversation{c}, err
}

// one verifies a conversation and counts what it holds.
func (v *verified) one(ctx context.Context, store history.Store, id string) (verifiedOne, error) {
	one := verifiedOne{ID: id, Problems: []problem{}}
	found, err := history.Verify(ctx, store, id)
	if err != nil {
		return one, err
	}
	for _, p := range found {
		one.Problems = append(one.Problems, problem{p.Kind, p.Where, p.What})
	}
	rounds, err := store.RoundsOf(ctx, id)
	if err != nil {
		return one, err
	}
	results, err := store.ResultsOf(ctx, id, 0)
	if err != nil {
		return one, err
	}
	files, err := store.SpillsOf(ctx, id)
	if err != nil {
		return one, err
	}
	requests, err := store.Requests(ctx, id)
	if err != nil {
		return one, err
	}
	v.Conversations = append(v.Conversations, one)
	v.Counts.Conversations++
	v.Counts.Rounds += len(rounds)
	v.Counts.Results += len(results)
	v.Counts.Files += len(files)
	v.Counts.Requests += len(requests)
	v.Counts.Problems += len(found)
	return one, nil
}

// String is the verdict in one line.
func (v verified) String() string {
	how := "clean"
	if !v.Clean {
		how = plural(v.Counts.Problems, "problem")
	}
	c := v.Counts
	return how + ": " + strings.Join([]string{
		plural(c.Conversations, "conversation"), plural(c.Rounds, "round"), plural(c.Results, "result"),
		plural(c.Files, "file"), plural(c.Requests, "request"),
	}, ", ")
}

func hexed(sum [32]byte) string { return hex.EncodeToString(sum[:]) }
