package drill

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// hold drives the conversation of a fence, which calls the tools that its key names. It says "at" with the
// id of each call whose slow body has begun, "busy" when somebody else has the conversation, and "stale" or
// "stopped" with the error that ended it. Before it leaves it waits for a line.
func hold(o order) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, o.state(), sqlite.Config{})
	if err != nil {
		return err
	}
	a, err := holding(store, o)
	if err != nil {
		return err
	}
	var busy *history.BusyError
	switch err := held(ctx, a, o); {
	case errors.As(err, &busy):
		fmt.Println("busy", busy.Here, busy)
	case errors.Is(err, history.ErrStale):
		fmt.Println("stale", err)
	case err != nil:
		fmt.Println("stopped", err)
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // a line, or the end
	return store.Close()
}

func held(ctx context.Context, a *agent.Agent, o order) error {
	run := a.Run(ctx, agent.Turn{Conversation: o.Conversation, Key: o.Key, Text: "Go.", TakeOver: o.TakeOver})
	if o.Resume {
		run = a.Resume(ctx, o.Conversation)
		if o.TakeOver {
			run = a.TakeOver(ctx, o.Conversation)
		}
	}
	_, err := tell(run)
	return err
}

// holding is the agent of a fence: the first answer calls the tools that the key names, the second ends.
func holding(store history.Store, o order) (*agent.Agent, error) {
	first := scripted.Step{}
	for i, name := range strings.Split(o.Key, "+") {
		first.Calls = append(first.Calls, scripted.Call{Tool: name, Args: []byte(fmt.Sprintf(`{"step":1,"call":%d}`, i+1))})
	}
	model, err := scripted.New(
		scripted.Script{Steps: []scripted.Step{first, {Text: "Done."}}},
		scripted.Config{Bodies: filepath.Join(o.Dir, "bodies-"+o.Conversation)},
	)
	if err != nil {
		return nil, err
	}
	tools, err := slow(o)
	if err != nil {
		return nil, err
	}
	return agent.New(store, model, agent.Config{Tools: tools, Now: o.now, Calls: agent.CallLimits{Grace: time.Minute}})
}

// slow are tools that run until they are let go, whatever their context says: once has an effect, once-big
// has a large result too, again-big may be repeated, of serial one runs at a time, quick does not wait, and
// heeds ends with its context.
// Whoever takes over does not wait for anything.
func slow(o order) ([]tool.Tool, error) {
	body := func(ctx context.Context, in input) (string, error) {
		running, _ := tool.CallFrom(ctx)
		fmt.Println("at", running.Result)
		if o.TakeOver {
			return "of the one who took over", nil
		}
		until(filepath.Join(o.Dir, "go-"+running.Result), nil)
		return lateText(running.Result), nil
	}
	large := func(ctx context.Context, in input) (string, error) {
		text, err := body(ctx, in)
		return strings.Repeat(text+"\n", 3000), err
	}
	heeds := func(ctx context.Context, _ input) (string, error) {
		running, _ := tool.CallFrom(ctx)
		fmt.Println("at", running.Result)
		until(filepath.Join(o.Dir, "go-"+running.Result), ctx.Done())
		return "", fmt.Errorf("it was told to end: %w", context.Cause(ctx))
	}
	quick := func(context.Context, input) (string, error) { return "quick", nil }
	var tools []tool.Tool
	for _, t := range []struct {
		name   string
		traits tool.Traits
		run    func(context.Context, input) (string, error)
	}{
		{"once", tool.Traits{}, body},
		{"once-big", tool.Traits{}, large},
		{"again-big", tool.Traits{Idempotent: true}, large},
		{"heeds", tool.Traits{}, heeds},
		{"serial", tool.Traits{Serial: true}, body},
		{"quick", tool.Traits{ReadOnly: true}, quick},
	} {
		made, err := tool.Func(t.name, "Work slowly.", t.run)
		if err != nil {
			return nil, err
		}
		made.Traits = t.traits
		tools = append(tools, made)
	}
	return tools, nil
}

// lateText is what a slow body gives in the end.
func lateText(result string) string { return "the effect of " + result + " took place" }

// until waits for a file, or for an end.
func until(path string, end <-chan struct{}) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(path); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-end:
			return
		}
	}
}
