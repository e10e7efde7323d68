package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/history"
)

// newHistory is the group of commands about what is stored. All but fork write nothing, and the state folder
// need not be writable for them.
func newHistory(a *app) *cobra.Command {
	return group(&cobra.Command{
		Use:   "history",
		Short: "List, show, verify, export and fork what is stored",
		Long: `history reads what is stored: it lists the conversations, shows one with its rounds, requests and epochs,
writes one as a document, and proves that nothing was changed. Only fork writes; the state folder need not be
writable for the others.`,
		Example: `  weir history list
  weir history show latest
  weir history verify`,
	}, newList(a), newShow(a), newVerify(a), newExport(a), newFork(a))
}

// listed is one conversation in a listing. The names of its members are stable.
type listed struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	CreatedAt string `json:"created_at"`
	Parent    string `json:"parent,omitempty"`
	Turns     int    `json:"turns"`
	Rounds    int    `json:"rounds"`
	// State and Reason are those of the last turn; empty where there is none.
	State  string `json:"state"`
	Reason string `json:"reason"`
}

func newList(a *app) *cobra.Command {
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [--limit N] [--json]",
		Short: "List the conversations, the newest first",
		Long: `list prints one line for each conversation, the newest first: its id, when it was begun (UTC), its turns and
rounds, how its last turn stands, and its title.

--json prints {conversations: [{id, title, created_at, parent, turns, rounds, state, reason}]}.`,
		Example: `  weir history list
  weir history list --limit 0 --json`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return misuse("--limit is %d: give a number from 0, which lists all", limit)
			}
			return a.list(cmd.Context(), limit, asJSON)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 20, "list the newest `N`; 0 lists all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) list(ctx context.Context, limit int, asJSON bool) (err error) {
	store, err := a.openToRead(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	// One more than asked for tells whether there are more.
	most := limit
	if limit > 0 {
		most++
	}
	conversations, err := store.Conversations(ctx, most)
	if err != nil {
		return err
	}
	more := limit > 0 && len(conversations) > limit
	if more {
		conversations = conversations[:limit]
	}
	all := []listed{}
	for _, c := range conversations {
		l, err := list(ctx, store, c)
		if err != nil {
			return err
		}
		all = append(all, l)
	}
	if asJSON {
		return a.emitJSON(map[string]any{"conversations": all})
	}
	if len(all) == 0 {
		a.note("no conversation is stored in %s yet: weir run begins one", a.dir())
		return nil
	}
	t := &table{}
	t.add("CONVERSATION", "BEGUN", ">TURNS", ">ROUNDS", "LAST TURN", "TITLE")
	for i, l := range all {
		t.add(l.ID, at(conversations[i].CreatedAt), number(l.Turns), number(l.Rounds), standing(l.State, l.Reason), clip(printable(l.Title), 60))
	}
	if err := a.emit([]byte(t.String())); err != nil {
		return err
	}
	if more {
		a.note("there are more: --limit 0 lists all")
	}
	return nil
}

func list(ctx context.Context, store history.Reader, c history.Conversation) (listed, error) {
	l := listed{ID: c.ID, Title: c.Title, CreatedAt: stamp(c.CreatedAt), Parent: c.Parent}
	turns, err := store.TurnsOf(ctx, c.ID)
	if err != nil {
		return l, err
	}
	rounds, err := store.RoundsOf(ctx, c.ID)
	if err != nil {
		return l, err
	}
	l.Turns, l.Rounds = len(turns), len(rounds)
	if n := len(turns); n > 0 {
		l.State, l.Reason = string(turns[n-1].State), turns[n-1].Reason
	}
	return l, nil
}

// standing says how a turn stands: why it ended, or that it did not.
func standing(state, reason string) string {
	switch {
	case state == string(history.TurnEnded) && reason != "":
		return clip(printable(reason), 40)
	case state == "":
		return "-"
	}
	return state
}

// note writes a line for people to stderr.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.err, printable(fmt.Sprintf(format, args...)))
}
