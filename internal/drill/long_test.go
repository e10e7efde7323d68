package drill

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
	"github.com/weir-run/weir/membrane/gemini"
	"github.com/weir-run/weir/membrane/openai"
	"github.com/weir-run/weir/membrane/openai/responses"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// The size of a long conversation: 60 rounds.
const (
	longTurns  = 6
	turnRounds = 10
)

// changedColon stands between a key and its value in what a changed build writes.
const changedColon = " : "

// long drives a long conversation to its end, or until it is killed. From the middle on the host offers one
// tool more.
func long(o order) error {
	store, err := sqlite.Open(context.Background(), o.state(), sqlite.Config{})
	if err != nil {
		return err
	}
	for n := 1; n <= longTurns; n++ {
		model, err := longModel(o, n)
		if err != nil {
			return err
		}
		tools, err := longTools(o.Dir, n > longTurns/2)
		if err != nil {
			return err
		}
		encoder, converted := build(model, tools)
		a, err := agent.New(store, encoder, agent.Config{
			System: "Be brief.", Tools: converted, Approve: askAboutGrave,
			Calls: agent.CallLimits{Parallel: 3, MaxChars: 2000},
		})
		if err != nil {
			return err
		}
		// What is true now is stored with the turn, so that nobody makes it again.
		turn := agent.Turn{
			Conversation: o.Conversation, Key: fmt.Sprint("turn-", n), Text: fmt.Sprintf("Go on with part %d.", n),
			Context: fmt.Sprintf("The process is %d.", os.Getpid()),
		}
		if err := toItsEnd(a, turn); err != nil {
			return err
		}
	}
	return store.Close()
}

// moving is a conversation that goes from model to model, and back; moves are the models of its turns.
const moving = "moving"

func moves() []string {
	return []string{"anthropic/claude-a", "openai-responses/gpt-a", "gemini/gemini-3-a", "anthropic/claude-a", "anthropic/claude-b", "anthropic/claude-a"}
}

// longModel is the model of a turn: the conversation is named after its dialect.
func longModel(o order, turn int) (membrane.Model, error) {
	dialect, name := o.Conversation, "a-model"
	if o.Conversation == moving {
		dialect, name, _ = strings.Cut(moves()[turn-1], "/")
	}
	switch dialect {
	case "anthropic":
		return anthropic.New(name, anthropic.Config{APIKey: "a-key", BaseURL: o.URL})
	case "openai-responses":
		return responses.New(name, responses.Config{APIKey: "a-key", BaseURL: o.URL})
	case "openai-chat":
		return openai.New(name, openai.Config{APIKey: "a-key", BaseURL: o.URL})
	case "gemini":
		return gemini.New(name, gemini.Config{APIKey: "a-key", BaseURL: o.URL})
	}
	play := func(seen scripted.Seen) (scripted.Step, error) {
		return scripted.Step{Text: fmt.Sprintf("Step %d.", seen.Step), Calls: planned(o.Conversation, seen.Step)}, nil
	}
	return scripted.New(
		scripted.Script{Steps: []scripted.Step{{Play: play}}, AfterEnd: scripted.Repeat},
		scripted.Config{Bodies: filepath.Join(o.Dir, "bodies-"+o.Conversation)},
	)
}

// planned are the calls of a step, none in the last step of a turn: the drill's, some that fail, and some
// of a tool that is offered only in the second half.
func planned(conversation string, step int) []scripted.Call {
	if step%(turnRounds+1) == 0 {
		return nil
	}
	var calls []scripted.Call
	for i := range 1 + dice(conversation, step, "calls")%4 {
		switch n := dice(conversation, step, "planned", i) % 10; {
		case n < 1:
			calls = append(calls, scripted.Call{Tool: "fail", Args: []byte(fmt.Sprintf(`{"step":%d,"call":%d}`, step, i))})
		case n < 3:
			calls = append(calls, scripted.Call{Tool: "more", Args: []byte(fmt.Sprintf(`{"step":%d,"call":%d}`, step, i))})
		default:
			calls = append(calls, pick(conversation, step, i))
		}
	}
	return calls
}

func longTools(dir string, second bool) ([]tool.Tool, error) {
	tools, err := bodies(dir)
	if err != nil {
		return nil, err
	}
	fail, err := tool.Func("fail", "Fail.", func(_ context.Context, in input) (string, error) {
		return "", fmt.Errorf("%d.%d: the disk is \"full\" <&>\nand \u2028 more", in.Step, in.Call)
	})
	if err != nil {
		return nil, err
	}
	more, err := tool.Func("more", "Give more.", func(_ context.Context, in input) (string, error) {
		return strings.Repeat(fmt.Sprintf("more \"%d.%d\" <&>\t\\\n", in.Step, in.Call), 3), nil
	})
	more.ReadOnly = true
	if second {
		tools = append(tools, more)
	}
	return append(tools, fail), err
}
