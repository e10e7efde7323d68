package cli

import (
	"context"
	"fmt"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/tool"
)

// agentName is the name of the tool that runs an agent for a client.
const agentName = "agent--run"

// agentArgs are the arguments of agent--run.
type agentArgs struct {
	Prompt   string `json:"prompt" jsonschema:"what the agent is asked to do"`
	Continue string `json:"continue,omitempty" jsonschema:"the result id of an earlier agent--run, such as r3-1, whose conversation goes on; default a new one"`
}

// agentTool makes agent--run: an agent with this setup's model and tools, whose turns are stored in the same
// state. Its conversations belong to the client's own, whose name theirs begin with.
func (a *app) agentTool(store history.Store, s setup) (tool.Tool, error) {
	model, calls, err := a.model(s)
	if err != nil {
		return tool.Tool{}, err
	}
	names, err := a.toolsOf(s)
	if err != nil {
		return tool.Tool{}, err
	}
	if err := checkCalls(calls, names); err != nil {
		return tool.Tool{}, err
	}
	runs, err := agent.New(store, model, a.config(s))
	if err != nil {
		return tool.Tool{}, err
	}
	settings, err := s.encoded()
	if err != nil {
		return tool.Tool{}, err
	}
	made, err := tool.Func(agentName, "Give a task to an agent with a model and tools of its own, and get its answer. "+
		"Its steps are stored and do not pass through you. A result id of an earlier call goes on with its conversation.",
		func(ctx context.Context, in agentArgs) (tool.Result, error) {
			return runAgent(ctx, store, runs, in, settings)
		})
	if err != nil {
		return tool.Tool{}, err
	}
	made.Timeout = agentTime
	return made, nil
}

// agentTime is how long an agent may take: its turns end themselves within an hour.
const agentTime = agent.DefaultWall + agent.DefaultWall/10

// runAgent runs one turn and gives its answer.
func runAgent(ctx context.Context, store history.Reader, runs *agent.Agent, in agentArgs, settings []byte) (tool.Result, error) {
	call, ok := tool.CallFrom(ctx)
	if !ok || in.Prompt == "" {
		return tool.Error("the prompt is empty: say what the agent is asked to do"), nil
	}
	handle := call.Result
	if in.Continue != "" {
		id, err := history.ParseCallID(in.Continue)
		if err != nil {
			return tool.Error("continue: " + err.Error()), nil
		}
		handle = id.String()
	}
	conversation := call.Conversation + "." + handle
	if in.Continue != "" {
		if _, err := store.Conversation(ctx, conversation); err != nil {
			return tool.Errorf("continue: %s began no conversation of an agent: leave it out to begin one", handle), nil
		}
	}
	var o agent.Outcome
	stream := runs.Run(ctx, agent.Turn{Conversation: conversation, Key: call.Key, Text: in.Prompt, Settings: settings})
	for e, err := range stream {
		if err != nil {
			return tool.Result{}, fmt.Errorf("the agent of %s stopped: %w", handle, err)
		}
		switch e := e.(type) {
		case agent.Answered:
			o.Text = e.Text
		case agent.TurnEnded:
			o.Reason, o.Rounds = e.Reason, e.Rounds
		case agent.CallStarted:
			tool.Report(ctx, "runs "+e.Tool)
		}
	}
	text := o.Text
	if text != "" {
		text += "\n"
	}
	text += fmt.Sprintf("[the agent of %s ended: %s, after %s]", handle, o.Reason, plural(o.Rounds, "round"))
	switch o.Reason {
	case "done", "a tool ended the turn":
		return tool.Text(text), nil
	}
	return tool.Error(text), nil
}
