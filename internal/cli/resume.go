package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
)

func newResume(a *app) *cobra.Command {
	var f setupFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "resume [FLAGS] [ID]",
		Short: "Go on with a turn after a stop or a crash",
		Long: `resume goes on with the open turn of a conversation, by default of the one that was made last. Calls that have
their result keep it; calls that never started are run; a call that was running is run again only where its tool
allows that, and is answered with an error otherwise. Then the model is asked.

The agent is made again from the settings that are stored with the conversation; flags go before them.

--json prints one object at the end instead of the text, as for weir run.`,
		Example: `  weir resume
  weir resume 01990b6e-8f5c-7a4e-9d5e-2f1f4a3c1b7d`,
		Args:              between(0, 1, "at most one ID"),
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			id := latest
			if len(args) == 1 {
				id = args[0]
			}
			return a.resume(cmd, f, id, asJSON)
		},
	}
	f.bind(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object at the end instead of the text")
	return cmd
}

func (a *app) resume(cmd *cobra.Command, f setupFlags, id string, asJSON bool) error {
	ctx := cmd.Context()
	c, err := a.open(ctx, id)
	if err != nil {
		return err
	}
	kept, err := setupOf(c)
	if err != nil && f.model == "" {
		return err
	}
	made, err := f.over(cmd.Flags(), kept)
	if err != nil {
		return err
	}
	if made.Model == "" {
		return misuse("conversation %s was not begun by weir run and keeps no settings: name its model with -m", c.ID)
	}
	t := turn{
		app: a, setup: made, conversation: c.ID, asJSON: asJSON,
		words: differing(kept, made, true, f.again(cmd)),
	}
	return t.drive(ctx, func(m *agent.Agent) (agent.Stream, error) { return m.Resume(ctx, c.ID), nil })
}

// open finds a conversation with an open turn. Nothing is written.
func (a *app) open(ctx context.Context, id string) (c history.Conversation, err error) {
	store, err := a.openToRead(ctx)
	if err != nil {
		return c, err
	}
	defer closing(store, &err)
	if c, err = a.find(ctx, store, id); err != nil {
		return c, err
	}
	turns, err := store.TurnsOf(ctx, c.ID)
	if err != nil {
		return c, err
	}
	var last history.Turn
	if n := len(turns); n > 0 {
		last = turns[n-1]
	}
	if last.N == 0 || last.State == history.TurnEnded {
		return c, a.nothing(ctx, store, c, last)
	}
	return c, nil
}
