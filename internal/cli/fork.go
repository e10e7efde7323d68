package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/weir-run/weir/history"
)

// forked is what "history fork --json" prints.
type forked struct {
	Conversation string   `json:"conversation"`
	Parent       string   `json:"parent"`
	ForkRound    int      `json:"fork_round"`
	Next         []string `json:"next"`
}

func newFork(a *app) *cobra.Command {
	var at int
	var to string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "fork [--at ROUND] [--to NEWID] ID|latest",
		Short: "Copy a conversation up to a round, to go on from there otherwise",
		Long: `fork makes a new conversation of the rounds of another one, up to a closed round; without --at, of all that is
said and settled. The new one is complete on its own: either of the two can go on, or be removed, without the
other. Files are shared where the file system can, not copied. Nothing is changed in the first one.

The id of the new conversation is printed on stdout.

--json prints {conversation, parent, fork_round, next [commands]}.`,
		Example: `  weir history fork latest --at 3
  weir history fork c1 --to c2
  weir run --conversation "$(weir history fork latest --at 3)" "Try it without the cache"`,
		Args:              exactly(1, "an ID, or latest"),
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("at") && at < 1 {
				return misuse("--at is %d: rounds count from 1, weir history show lists them", at)
			}
			if cmd.Flags().Changed("to") {
				if err := checkID(to); err != nil {
					return err
				}
			}
			return a.fork(cmd.Context(), args[0], at, to, asJSON)
		},
	}
	cmd.Flags().IntVar(&at, "at", 0, "the last `ROUND` that is copied (default all)")
	cmd.Flags().StringVar(&to, "to", "", "the `NEWID` of the copy (default a new one)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) fork(ctx context.Context, id string, round int, to string, asJSON bool) (err error) {
	c, err := a.forkable(ctx, id, round, to)
	if err != nil {
		return err
	}
	if to == "" {
		made, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("make an id: %w", err)
		}
		to = made.String()
	}
	store, err := a.openToWrite(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	child := history.Conversation{ID: to, Title: c.Title, CreatedAt: time.Now(), Settings: c.Settings}
	if err := store.Fork(ctx, c.ID, round, child); err != nil {
		return err
	}
	made, err := store.Conversation(ctx, to)
	if err != nil {
		return err
	}
	reach := []string{}
	if s, err := stored(c.Settings); err == nil {
		reach = s.reach()
	}
	f := forked{Conversation: to, Parent: c.ID, ForkRound: made.ForkRound, Next: []string{
		a.command("history", "show", to),
		a.command(append([]string{"run", "--conversation", to}, reach...)...) + " PROMPT",
	}}
	if asJSON {
		return a.emitJSON(f)
	}
	if err := a.emit([]byte(to + "\n")); err != nil {
		return err
	}
	a.note("forked from %s at round %d", c.ID, f.ForkRound)
	a.newScreen(false).next(f.Next)
	return nil
}

// forkable finds the conversation, and says what is in the way of its fork. Nothing is written.
func (a *app) forkable(ctx context.Context, id string, round int, to string) (c history.Conversation, err error) {
	store, err := a.openToRead(ctx)
	if err != nil {
		return c, err
	}
	defer closing(store, &err)
	if c, err = a.find(ctx, store, id); err != nil {
		return c, err
	}
	if to != "" {
		_, err := store.Conversation(ctx, to)
		if !errors.Is(err, history.ErrNotFound) {
			return c, errors.Join(err, fmt.Errorf("conversation %s is there already: give the copy another id with --to", to))
		}
	}
	rounds, err := store.RoundsOf(ctx, c.ID)
	if err != nil || round == 0 {
		return c, err
	}
	if round > len(rounds) {
		return c, fmt.Errorf("conversation %s has no round %d: it has %s, weir history show lists them", c.ID, round, plural(len(rounds), "round"))
	}
	if !rounds[round-1].Closed {
		return c, fmt.Errorf("round %d of conversation %s is open: fork at an earlier one, or resume it first", round, c.ID)
	}
	return c, nil
}
