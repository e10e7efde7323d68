package drill

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// rounds is how many tool rounds a conversation of the drill has.
const rounds = 12

// window is the context of the drill's model in tokens: a conversation is compacted a few times.
const window = 6_000

// ran is the file, outside of the store, to which a body that may not be repeated appends its key.
const ran = "ran.log"

// drive drives one conversation to its end, or until it is killed. It tells what it sees on standard
// output, one event a line.
func drive(o order) error {
	store, err := sqlite.Open(context.Background(), o.state(), sqlite.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	model, err := scripted.New(script(o.Conversation), scripted.Config{Bodies: filepath.Join(o.Dir, "bodies-"+o.Conversation)})
	if err != nil {
		return err
	}
	tools, err := bodies(o.Dir)
	if err != nil {
		return err
	}
	a, err := agent.New(store, model, agent.Config{
		Tools: tools, Calls: agent.CallLimits{Parallel: 3}, Window: window, Approve: askAboutGrave,
	})
	if err != nil {
		return err
	}
	return toItsEnd(a, agent.Turn{Conversation: o.Conversation, Key: o.Key, Text: "Go."})
}

func askAboutGrave(_ context.Context, q round.Question) (round.Decision, error) {
	if q.Tool.Name == "grave" {
		return round.Decision{Verdict: round.Ask}, nil
	}
	return round.Decision{Verdict: round.Allow}, nil
}

// toItsEnd drives a turn and answers what it asks. The same key begins the turn, and goes on with it
// after a kill.
func toItsEnd(a *agent.Agent, t agent.Turn) error {
	ctx := context.Background()
	waiting, err := tell(a.Run(ctx, t))
	for err == nil && len(waiting) > 0 {
		var answers []agent.Answer
		for i, call := range waiting {
			answers = append(answers, agent.Answer{Call: call, Grant: i%2 == 0, Reason: "not now"})
		}
		waiting, err = tell(a.Resume(ctx, t.Conversation, answers...))
	}
	return err
}

// tell writes what happens to standard output, one event a line, and gives the calls that wait.
func tell(run agent.Stream) (waiting []string, err error) {
	out := bufio.NewWriter(os.Stdout)
	for e, err := range run {
		if err != nil {
			return nil, err
		}
		switch e := e.(type) {
		case agent.Waiting:
			waiting = e.Calls
		case agent.CallSettled:
			_, _ = fmt.Fprintf(out, "settled %s %s %s %d\n", e.Result, e.Tool, e.Outcome, e.Bytes)
		case agent.RoundClosed:
			_, _ = fmt.Fprintf(out, "closed %d\n", e.Round)
		case agent.TurnEnded:
			_, _ = fmt.Fprintf(out, "ended %s\n", e.Reason)
		default:
			_, _ = fmt.Fprintln(out, "alive")
		}
		if err := out.Flush(); err != nil {
			return nil, err
		}
	}
	return waiting, nil
}

// script calls tools in a mix that only the conversation and the step decide: parallel calls, results
// that spill, pages of them, refusals and errors.
func script(conversation string) scripted.Script {
	play := func(seen scripted.Seen) (scripted.Step, error) {
		if last := seen.Messages[len(seen.Messages)-1]; strings.Contains(last.PlainText(), "Sum it up") {
			return scripted.Step{Text: "Notes were made."}, nil
		}
		if seen.Step > rounds {
			return scripted.Step{Text: "That is all."}, nil
		}
		var s scripted.Step
		s.Text = fmt.Sprintf("Step %d.", seen.Step)
		for i := range 1 + dice(conversation, seen.Step, "calls")%4 {
			s.Calls = append(s.Calls, pick(conversation, seen.Step, i))
		}
		return s, nil
	}
	return scripted.Script{Steps: []scripted.Step{{Play: play}}, AfterEnd: scripted.Repeat}
}

func pick(conversation string, step, i int) scripted.Call {
	args := []byte(fmt.Sprintf(`{"step":%d,"call":%d}`, step, i))
	switch n := dice(conversation, step, fmt.Sprint("call", i)) % 10; {
	case n < 4:
		return scripted.Call{Tool: "note", Args: args}
	case n < 5:
		return scripted.Call{Tool: "grave", Args: args}
	case n < 7:
		return scripted.Call{Tool: "look", Args: args}
	case n < 8:
		return scripted.Call{Tool: "dump", Args: args}
	case n < 9:
		return scripted.Call{Tool: "results--list", Args: []byte(`{}`)}
	}
	return scripted.Call{Tool: "note", Args: []byte(`{"step":"cut`)}
}

func dice(parts ...any) int {
	h := fnv.New32a()
	_, _ = fmt.Fprint(h, parts...)
	return int(h.Sum32() % 1000)
}

type input struct {
	Step int `json:"step"`
	Call int `json:"call"`
}

// bodies are the tools of the drill: one with an effect, one without, one with a large result.
func bodies(dir string) ([]tool.Tool, error) {
	note, err := tool.Func("note", "Note something, once.", func(ctx context.Context, in input) (string, error) {
		running, _ := tool.CallFrom(ctx)
		if err := appendLine(filepath.Join(dir, ran), running.Key); err != nil {
			return "", err
		}
		pause(running.Key)
		return fmt.Sprintf("noted %d.%d as %s", in.Step, in.Call, running.Result), nil
	})
	if err != nil {
		return nil, err
	}
	grave := note
	grave.Name = "grave"
	look, err := tool.Func("look", "Look at something.", func(ctx context.Context, in input) (string, error) {
		running, _ := tool.CallFrom(ctx)
		pause(running.Key)
		return fmt.Sprintf("seen %d.%d", in.Step, in.Call), nil
	})
	if err != nil {
		return nil, err
	}
	look.ReadOnly = true
	dump, err := tool.Func("dump", "Write a lot.", func(_ context.Context, in input) (json.RawMessage, error) {
		return json.RawMessage(`{"step":` + fmt.Sprint(in.Step) + `,"rows":[` + strings.Repeat(`"a row of the dump",`, 4000) + `"end"]}`), nil
	})
	if err != nil {
		return nil, err
	}
	dump.Idempotent = true
	return []tool.Tool{note, grave, look, dump}, nil
}

// pause gives a kill something to fall into.
func pause(key string) { time.Sleep(time.Duration(dice(key)%8) * time.Millisecond) }

func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(line + "\n"); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
