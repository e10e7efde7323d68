package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/workspace"
)

// turn is one turn that is run or resumed.
type turn struct {
	app          *app
	setup        setup
	conversation string
	key          string
	asJSON       bool
	// words are flags that a resume has to repeat, reach those that every command has to.
	words, reach []string
	// chat says that it is one of many, with a prompt behind it.
	chat bool
}

// stage is an agent that is made, on a store that is open.
type stage struct {
	store history.Store
	agent *agent.Agent
	model string
}

// stage makes the agent. Everything that can be refused is refused before the state is opened.
func (t turn) stage(ctx context.Context) (s stage, err error) {
	model, calls, err := t.app.model(t.setup)
	if err != nil {
		return s, err
	}
	if err := t.app.reachServers(ctx, t.setup); err != nil {
		return s, err
	}
	if err := t.app.equip(t.setup); err != nil {
		return s, err
	}
	tools, err := t.app.toolsOf(t.setup)
	if err != nil {
		return s, err
	}
	if err := checkCalls(calls, tools); err != nil {
		return s, err
	}
	if err := checkPolicy(t.setup.Approve, tools); err != nil {
		return s, err
	}
	store, err := t.app.openToWrite(ctx)
	if err != nil {
		return s, err
	}
	made, err := agent.New(store, model, t.app.config(t.setup))
	if err != nil {
		return s, errors.Join(err, store.Close())
	}
	return stage{store: store, agent: made, model: model.Name()}, nil
}

// drive makes the agent, runs the stream that start gives and tells what happens.
func (t turn) drive(ctx context.Context, start func(*agent.Agent) (agent.Stream, error)) (err error) {
	s, err := t.stage(ctx)
	if err != nil {
		return err
	}
	defer closing(s.store, &err)
	stream, err := start(s.agent)
	if err != nil {
		return err
	}
	w := newWatcher(t, s.store, s.model)
	err = w.watch(ctx, stream)
	if err == nil && w.report.Text == "" && t.key != "" && len(w.report.Waiting) == 0 {
		err = w.recall(ctx, s.agent)
	}
	return w.close(ctx, err)
}

// toolsOf names the tools of a setup and refuses mounts that are not there.
func (a *app) toolsOf(s setup) ([]string, error) {
	ws, err := workspace.New(workspace.Config{Mounts: s.workspace(), Stored: workspace.Results(nil, nil)})
	if err != nil {
		return nil, misuse("%w", err)
	}
	defer ws.Close()
	served, err := ws.Tools()
	if err != nil {
		return nil, err
	}
	var names []string
	if a.servers != nil {
		served = append(served, a.servers.Tools()...)
	}
	for _, t := range append(served, a.tools...) {
		names = append(names, t.Name)
	}
	slices.Sort(names)
	return names, nil
}

// watch follows a stream to its end. When the output cannot be written any more the turn is cancelled
// and settled.
func (w *watcher) watch(ctx context.Context, stream agent.Stream) error {
	told := context.AfterFunc(ctx, func() {
		w.screen.line("stopping: every call is being answered; Ctrl-C again leaves at once")
	})
	defer told()
	for e, err := range stream {
		if err != nil {
			return err
		}
		if err := w.see(ctx, e); err != nil {
			w.report.Reason = "cancelled"
			if errors.Is(err, errUnread) {
				return &exit{statusFailed, errors.New("nobody reads the output any more: the turn was cancelled")}
			}
			return fmt.Errorf("%w: the turn was cancelled", err)
		}
	}
	return nil
}

// recall reads the answer of a turn that had ended before, which is not asked again.
func (w *watcher) recall(ctx context.Context, a *agent.Agent) error {
	events, err := a.Events(ctx, w.report.Conversation, 0)
	if err != nil {
		return err
	}
	within := false
	for _, e := range events {
		switch e := e.(type) {
		case agent.TurnBegun:
			within = e.Turn == w.report.Turn
		case agent.Answered:
			if within {
				w.report.Text = e.Text
			}
		}
	}
	w.screen.line("turn %d has ended before: this is its stored answer", w.report.Turn)
	return w.screen.say(w.report.Text)
}

// verdict is the error that a turn's end is, nil for one that went well.
func verdict(reason string) error {
	switch reason {
	case "", "done", "a tool ended the turn":
		return nil
	}
	return fmt.Errorf("the turn ended: %s", reason)
}

// nothing says that there is nothing to resume, and where there is.
func (a *app) nothing(ctx context.Context, store history.Reader, c history.Conversation, last history.Turn) error {
	why := "its last turn has ended"
	if last.Reason != "" {
		why += " (" + last.Reason + ")"
	}
	if last.N == 0 {
		why = "it has no turn"
	}
	const most = 50 // conversations that are looked at
	list, err := store.Conversations(ctx, most)
	if err != nil {
		return err
	}
	for _, other := range list {
		turns, err := store.TurnsOf(ctx, other.ID)
		if err != nil {
			return err
		}
		if n := len(turns); n > 0 && turns[n-1].State != history.TurnEnded {
			return fmt.Errorf("nothing to resume in conversation %s: %s; another one is open: %s", c.ID, why, a.command("resume", other.ID))
		}
	}
	return fmt.Errorf("nothing to resume in conversation %s: %s", c.ID, why)
}
