package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
)

// resumeApproveFlag is the flag of weir resume that decides which calls are asked about: --approve answers.
const resumeApproveFlag = "approval"

func newResume(a *app) *cobra.Command {
	f := setupFlags{approveFlag: resumeApproveFlag}
	var g answerFlags
	var takeOver, asJSON bool
	cmd := &cobra.Command{
		Use:   "resume [FLAGS] [ID]",
		Short: "Go on with a turn after a stop or a crash, or answer an approval",
		Long: `resume goes on with the open turn of a conversation, by default of the one that was made last. Calls that have
their result keep it; calls that never started are run; a call that was running is run again only where its tool
allows that, and is answered with an error otherwise. Then the model is asked.

--approve and --deny answer for calls that wait, by their ids; both may be repeated. An approval is good for
exactly the arguments that were shown, and once. What is not answered waits on: resume ends with status 0 and
says what waits.

The agent is made again from the settings that are stored with the conversation; flags go before them.

--take-over takes the conversation from a process that lives but has stopped (a debugger, a suspended machine),
once its lease has expired, 30 seconds after it last gave a sign. From then on that process can write nothing.

--json prints one object at the end instead of the text, as for weir run.`,
		Example: `  weir resume
  weir resume latest --approve r3-1 --approve r3-2
  weir resume latest --deny r3-1 --reason "not on a Friday"
  weir resume 01990b6e-8f5c-7a4e-9d5e-2f1f4a3c1b7d --take-over`,
		Args:              between(0, 1, "at most one ID"),
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			id := latest
			if len(args) == 1 {
				id = args[0]
			}
			answers, err := g.answers()
			if err != nil {
				return err
			}
			r := resumption{answers: answers, takeOver: takeOver, asJSON: asJSON}
			return a.resume(cmd, f, id, r)
		},
	}
	cmd.Flags().StringArrayVar(&g.approve, "approve", nil, "let the `CALL` of this id run, as in r3-1; may be repeated")
	cmd.Flags().StringArrayVar(&g.deny, "deny", nil, "do not let the `CALL` of this id run; may be repeated")
	cmd.Flags().StringVar(&g.reason, "reason", "", "the `TEXT` that the model is told of what is denied")
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "take the conversation from a process whose lease has expired")
	f.bind(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object at the end instead of the text")
	return cmd
}

// resumption is how a turn is resumed.
type resumption struct {
	answers          []agent.Answer
	takeOver, asJSON bool
}

func (a *app) resume(cmd *cobra.Command, f setupFlags, id string, r resumption) error {
	ctx := cmd.Context()
	c, err := a.open(ctx, id, r.answers)
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
		app: a, setup: made, conversation: c.ID, asJSON: r.asJSON,
		words: differing(kept, made, true, f.again(cmd)), reach: made.reach(),
	}
	return a.held(t.drive(ctx, func(m *agent.Agent) (agent.Stream, error) {
		if r.takeOver {
			return m.TakeOver(ctx, c.ID, r.answers...), nil
		}
		return m.Resume(ctx, c.ID, r.answers...), nil
	}), r.takeOver)
}

// held says when a conversation that somebody else drives can be taken over.
func (a *app) held(err error, tried bool) error {
	var busy *history.BusyError
	switch {
	case !errors.As(err, &busy):
		return err
	case tried:
		return &exit{statusFailed, fmt.Errorf("%w; its lease lasts until %s unless it is renewed: it can be taken over after that", busy, at(busy.Until))}
	}
	return &exit{statusFailed, fmt.Errorf("%w; if it hangs, %s takes it once its lease has expired", busy, a.command("resume", busy.Conversation, "--take-over"))}
}

// open finds a conversation with an open turn in which these answers can be given. Nothing is written.
func (a *app) open(ctx context.Context, id string, answers []agent.Answer) (c history.Conversation, err error) {
	store, err := a.openToRead(ctx)
	if err != nil {
		return c, err
	}
	defer closing(store, &err)
	if c, err = a.find(ctx, store, id); err != nil {
		return c, err
	}
	last, err := lastTurn(ctx, store, c.ID)
	if err != nil {
		return c, err
	}
	if last.N == 0 || last.State == history.TurnEnded {
		return c, a.nothing(ctx, store, c, last)
	}
	return c, checkAnswers(ctx, store, c.ID, answers)
}

// lastTurn is the last turn of a conversation; its zero value when there is none.
func lastTurn(ctx context.Context, store history.Reader, id string) (history.Turn, error) {
	turns, err := store.TurnsOf(ctx, id)
	if err != nil || len(turns) == 0 {
		return history.Turn{}, err
	}
	return turns[len(turns)-1], nil
}
