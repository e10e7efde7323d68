package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
)

// runFlags are the flags of "weir run".
type runFlags struct {
	setupFlags
	conversation, key string
	asJSON            bool
}

func newRun(a *app) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run -m MODEL [FLAGS] PROMPT",
		Short: "Run one turn: ask a model, run its calls, store everything",
		Long: `run asks a model, runs the tools that it calls until it has answered, and stores every step before the
next one. The answer is streamed to stdout; calls, spilled results and a closing line go to stderr. The model
may read and search the stored results under tool-results/ and every folder that is mounted.

PROMPT is what the model is asked; - reads it from stdin. A conversation keeps its model, mounts, system text
and caps: they need not be named again to go on with it, and what is named holds for this turn.

With --approve calls wait until somebody has said that they may run. Then run ends with what waits, its exact
arguments and the commands that answer, with status 0; weir resume goes on, days later if need be.

Ctrl-C cancels the turn: every call is answered, then it ends. A second one leaves at once, and weir resume
goes on.

--json prints one object at the end instead:
` + reportFields,
		Example: `  weir run -m scripted:script.json "Where is the parser?"
  weir run -m scripted:script.json --mount project=. --max-chars 8000 "What is deprecated?"
  weir run --conversation latest "And who calls it?"
  git diff | weir run -m anthropic/claude-opus-5-5 --system review.txt -
  weir run -m scripted:script.json --approve ask "Tidy it up"`,
		Args: exactly(1, "one PROMPT (- reads stdin)"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.runTurn(cmd, f, args[0]) },
	}
	f.bind(cmd.Flags())
	cmd.Flags().StringVar(&f.conversation, "conversation", "", "the conversation's `ID`, made when it is not there; latest goes on with the last one (default a new one)")
	cmd.Flags().StringVar(&f.key, "key", "", "your own name for the turn: the same `KEY` again goes on with that turn and asks nothing twice")
	_ = cmd.RegisterFlagCompletionFunc("conversation", a.completeConversation) // it fails only for a flag that is not there
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object at the end instead of the text")
	return cmd
}

func (a *app) runTurn(cmd *cobra.Command, f runFlags, prompt string) (err error) {
	ctx := cmd.Context()
	if f.key != "" && f.conversation == "" {
		return misuse("--key names a turn of a conversation: give --conversation too")
	}
	if f.conversation != "" && f.conversation != latest {
		if err := checkID(f.conversation); err != nil {
			return err
		}
	}
	if prompt == "-" {
		if prompt, err = text(a.in, "stdin"); err != nil {
			return err
		}
		prompt = strings.TrimSuffix(prompt, "\n")
	} else if prompt, err = text(strings.NewReader(prompt), "the prompt"); err != nil {
		return err
	}
	if strings.TrimSpace(prompt) == "" {
		return misuse("the prompt is empty: say what the model is asked")
	}
	id, kept, found, err := a.begun(ctx, f.conversation)
	if err != nil && !(errors.Is(err, errSettings) && f.model != "") {
		return err
	}
	made, err := f.over(cmd.Flags(), kept)
	if err != nil {
		return err
	}
	if made.Model == "" {
		return errWhichModel()
	}
	t := turn{
		app: a, setup: made, conversation: id, asJSON: f.asJSON, key: f.key,
		words: differing(kept, made, found, f.again(cmd)), reach: made.reach(),
	}
	return t.drive(ctx, func(m *agent.Agent) (agent.Stream, error) {
		settings, err := made.encoded()
		if err != nil {
			return nil, err
		}
		return m.Run(ctx, agent.Turn{Conversation: id, Key: f.key, Text: prompt, Settings: settings}), nil
	})
}

// errWhichModel says that no model was named.
func errWhichModel() error {
	return misuse("which model? name it with -m, as in -m anthropic/claude-opus-5-5 or -m scripted:script.json")
}

// begun looks for a conversation that is to be gone on with and gives its setup; found is false when it
// will be a new one. Nothing is written.
func (a *app) begun(ctx context.Context, id string) (real string, s setup, found bool, err error) {
	if id == "" {
		made, err := uuid.NewV7()
		if err != nil {
			return "", s, false, fmt.Errorf("make an id: %w", err)
		}
		return made.String(), s, false, nil
	}
	store, err := a.openToRead(ctx)
	if errors.Is(err, errNoState) && id != latest {
		return id, s, false, nil
	}
	if err != nil {
		return "", s, false, err
	}
	defer closing(store, &err)
	c, err := a.find(ctx, store, id)
	if errors.Is(err, errNoConversation) && id != latest {
		return id, s, false, nil
	}
	if err != nil {
		return "", s, false, err
	}
	s, err = setupOf(c)
	return c.ID, s, true, err
}

// setupOf reads the setup that is stored with a conversation.
func setupOf(c history.Conversation) (setup, error) {
	s, err := stored(c.Settings)
	if err != nil {
		return setup{}, fmt.Errorf("conversation %s: %w", c.ID, err)
	}
	return s, nil
}

// reach gives the flags that every command on the conversation has to repeat.
func (s setup) reach() []string {
	if s.BaseURL == "" {
		return nil
	}
	return []string{"--base-url", s.BaseURL}
}

// differing gives the flags that a resume has to repeat: those of a turn that is not made as its
// conversation was.
func differing(kept, made setup, found bool, words []string) []string {
	was, err := json.Marshal(kept)
	is, err2 := json.Marshal(made)
	if !found || err != nil || err2 != nil || string(was) == string(is) {
		return nil
	}
	return words
}
