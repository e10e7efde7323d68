package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
)

func newChat(a *app) *cobra.Command {
	var f setupFlags
	var conversation string
	cmd := &cobra.Command{
		Use:   "chat -m MODEL [FLAGS]",
		Short: "Run turn after turn: what weir run does, with a prompt",
		Long: `chat asks for a text, runs a turn on it as weir run does, and asks again. With --conversation it goes on with one
that is there, and with what waits in it.

On a terminal the line can be edited, and what is pasted in several lines is one text. Ctrl-C cancels the turn that
runs and comes back to the prompt, a second one leaves at once; Ctrl-C at an empty prompt twice, or Ctrl-D, leaves.
What is typed while a turn runs is sent to it: the model reads it with its next request. Calls that wait for
an approval (--approve) are asked about: y lets one run, n does not, with the reason for the model behind it.

From a file or a pipe each line is a turn, or the answer to a question, and nothing is sent to a running turn; chat
ends at the first turn that fails. A turn that stays open (a failed request) is tried again by an empty line.`,
		Example: `  weir chat -m anthropic/claude-opus-5-5 --mount project=.
  weir chat --conversation latest
  weir chat -m scripted:script.json --approve ask <questions.txt`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.chat(cmd, f, conversation) },
	}
	f.bind(cmd.Flags())
	cmd.Flags().StringVar(&conversation, "conversation", "", "the conversation's `ID`, made when it is not there; latest goes on with the last one (default a new one)")
	_ = cmd.RegisterFlagCompletionFunc("conversation", a.completeConversation) // it fails only for a flag that is not there
	return cmd
}

// chat is a conversation that goes on turn after turn.
type chat struct {
	turn
	stage
	prompt   *prompt
	settings []byte
	// there says that the conversation is stored, open that its last turn has not ended, waiting that it waits
	// for approvals.
	there, open bool
	waiting     []waits
	// unsent is what was typed while a turn ran and could not be sent to it.
	unsent []string
}

func (a *app) chat(cmd *cobra.Command, f setupFlags, conversation string) (err error) {
	ctx := cmd.Context()
	if conversation != "" && conversation != latest {
		if err := checkID(conversation); err != nil {
			return err
		}
	}
	id, kept, found, err := a.begun(ctx, conversation)
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
	c := &chat{
		turn: turn{
			app: a, setup: made, conversation: id, chat: true,
			words: differing(kept, made, found, f.again(cmd)), reach: made.reach(),
		},
		prompt: a.newPrompt(), there: found,
	}
	if c.settings, err = made.encoded(); err != nil {
		return err
	}
	if c.stage, err = c.turn.stage(ctx); err != nil {
		return err
	}
	defer closing(c.store, &err)
	defer func() {
		if c.there {
			c.farewell(ctx)
		}
	}()
	return c.talk(ctx)
}

// talk asks and answers until somebody leaves.
func (c *chat) talk(ctx context.Context) error {
	if err := c.takeUp(ctx); err != nil {
		return err
	}
	left := false // Ctrl-C was typed once, with nothing behind it
	for {
		var text string
		var err error
		if len(c.waiting) > 0 {
			err = c.answer(ctx)
		} else if text, err = c.next(ctx); err == nil {
			err = c.say(ctx, text)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errCtrlC) && left:
			return &exit{status: statusInterrupted}
		case errors.Is(err, errCtrlC):
			left = true
			c.app.note("Ctrl-C again, or Ctrl-D, leaves")
			continue
		case err != nil && (!c.prompt.typed() || ctx.Err() != nil || errors.Is(err, errUnread)):
			return err
		case err != nil:
			c.app.complain(err.Error())
		}
		left = false
	}
}

// next is what is said next: what was typed while a turn ran, else what is typed now.
func (c *chat) next(ctx context.Context) (string, error) {
	if len(c.unsent) == 0 {
		return c.prompt.ask(ctx, "> ")
	}
	text := c.unsent[0]
	c.unsent = c.unsent[1:]
	c.app.note("> %s", clip(text, 200))
	return text, nil
}

// takeUp looks for a turn that has not ended. One that waits is taken up: its questions are asked again.
func (c *chat) takeUp(ctx context.Context) error {
	if !c.there {
		return nil
	}
	last, err := lastTurn(ctx, c.store, c.conversation)
	if err != nil || last.N == 0 || last.State == history.TurnEnded {
		return err
	}
	if last.State == history.TurnWaiting {
		return c.play(ctx, func(ctx context.Context) agent.Stream { return c.agent.Resume(ctx, c.conversation) })
	}
	c.open = true
	c.app.note("turn %d is still open: an empty line goes on with it, a message takes its place", last.N)
	return nil
}

// say runs a turn on what was typed.
func (c *chat) say(ctx context.Context, line string) error {
	line, err := text(strings.NewReader(line), "the line")
	switch {
	case err != nil:
		return err
	case strings.TrimSpace(line) == "" && c.open:
		return c.play(ctx, func(ctx context.Context) agent.Stream { return c.agent.Resume(ctx, c.conversation) })
	case strings.TrimSpace(line) == "":
		return nil
	}
	return c.play(ctx, func(ctx context.Context) agent.Stream {
		return c.agent.Run(ctx, agent.Turn{Conversation: c.conversation, Text: line, Settings: c.settings})
	})
}

// answer asks about what waits. The answers are stored together, when the last one is given.
func (c *chat) answer(ctx context.Context) error {
	if ahead := c.prompt.drop(); strings.TrimSpace(ahead) != "" {
		c.app.note("typed before it was asked, so it is no answer: %s", clip(ahead, 200))
	}
	var answers []agent.Answer
	for _, w := range c.waiting {
		for {
			line, err := c.prompt.ask(ctx, fmt.Sprintf("run %s %s? y, or n and why: ", w.Result, printable(w.Tool)))
			if err != nil {
				return err
			}
			given, err := parseAnswer(w.Result, line)
			if err == nil {
				answers = append(answers, given)
				break
			}
			if !c.prompt.typed() {
				return &exit{statusFailed, fmt.Errorf("%q is no answer to whether %s runs: %w", clip(line, 40), w.Result, err)}
			}
			c.app.note("%v", err)
		}
	}
	return c.play(ctx, func(ctx context.Context) agent.Stream { return c.agent.Resume(ctx, c.conversation, answers...) })
}

// play runs one turn, or the rest of one. Its error is that of the turn.
func (c *chat) play(ctx context.Context, start func(context.Context) agent.Stream) error {
	playing, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	first := true
	defer c.app.interrupts.caught(func() bool {
		if !first {
			c.app.leaveAtOnce()
		}
		first = false
		c.app.interrupts.stopping()
		cancel(errInterrupted)
		return true
	})()
	w := newWatcher(c.turn, c.store, c.model)
	unheard := c.hear(playing, w.screen)
	err := w.watch(playing, start(playing))
	unheard()
	err = w.close(playing, err)
	c.waiting = w.report.Waiting
	c.there = c.there || w.report.Turn > 0
	c.open = w.report.Turn > 0 && w.report.Reason == "" && len(c.waiting) == 0
	if c.prompt.typed() && ctx.Err() == nil && errors.Is(context.Cause(playing), errInterrupted) {
		return nil // it is told, and the prompt comes back
	}
	return err
}

// hear sends what is typed to the turn that runs, until the returned function is called. What the turn did not
// take any more is for the next question.
func (c *chat) hear(ctx context.Context, s *screen) func() {
	// A console of Windows that waits for a line cannot be told to give keys instead.
	if !c.prompt.typed() || runtime.GOOS == "windows" {
		return func() {}
	}
	s.hold() // it would write over what is being typed
	hearing, stop := context.WithCancel(ctx)
	// A message is stored, or comes back, by the end of its turn: it is not given up before.
	sending, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			line, err := c.prompt.feed.line(hearing)
			switch {
			case err != nil:
				return
			case strings.TrimSpace(line) == "":
			case c.agent.Send(sending, c.conversation, agent.Turn{Text: line}) != nil:
				c.unsent = append(c.unsent, line)
			default:
				s.line("sent: the model reads it with its next request")
			}
		}
	}()
	return func() {
		defer giveUp()
		stop()
		select {
		case <-done:
		case <-time.After(lastWord):
			giveUp()
			<-done
		}
	}
}

// lastWord is how long a message that was sent may take to come back after its turn.
const lastWord = 5 * time.Second

// farewell says how to go on.
func (c *chat) farewell(ctx context.Context) {
	w := watcher{turn: c.turn, store: c.store, report: report{Waiting: c.waiting}}
	id := w.short(ctx)
	var next []string
	if len(c.waiting) > 0 {
		next = w.answering(id)
	}
	words := slices.Clone(c.words) // they are those of weir resume
	for i, word := range words {
		if word == "--"+resumeApproveFlag {
			words[i] = "--approve"
		}
	}
	next = append(next, c.app.command(slices.Concat([]string{"chat", "--conversation", id}, words, c.reach)...))
	s := c.app.newScreen(false)
	s.next(next)
	s.close()
}
