package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// A message to a running turn stands behind the results of the round that was running, never between a
// call and its result; one that comes at the end keeps the turn going.
func TestSendIsTakenAtTheRoundBoundary(t *testing.T) {
	w := newWorld(t,
		scripted.Step{Calls: []scripted.Call{call("t", `{}`), call("t", `{}`)}},
		scripted.Step{Text: "I saw it.", Expect: []scripted.Expect{{Contains: "also this"}}},
	)
	sent := make(chan error, 1)
	var once sync.Once
	var send func() error
	w.tools = []tool.Tool{handler("t", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		once.Do(func() { go func() { sent <- send() }() })
		// Send returns only when the message is stored, which is after this round: a moment is all that can be
		// given to it.
		time.Sleep(300 * time.Millisecond)
		return tool.Text("x"), nil
	})}
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		send = func() error { return a.Send(t.Context(), "c", agent.Turn{Text: "also this"}) }
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}).Collect(); err != nil {
			t.Fatal(err)
		}
		if err := <-sent; err != nil {
			t.Errorf("send: %v", err)
		}
		if err := a.Send(t.Context(), "c", agent.Turn{Text: "late"}); !errors.Is(err, agent.ErrNotRunning) {
			t.Errorf("send to a turn that ended: %v", err)
		}
	})
	bodies := membranetest.Bodies(t, w.bodies)
	membranetest.Prefix(t, scripted.Split, bodies...)
	if last := string(bodies[len(bodies)-1]); strings.Index(last, "also this") < strings.LastIndex(last, `"results"`) {
		t.Error("the message stands before the results")
	}
	w.verify()
}

// Context and content stand before the text, and are stored with it.
func TestContextAndContentAreStored(t *testing.T) {
	w := newWorld(t, scripted.Step{Text: "ok", Expect: []scripted.Expect{{Contains: "It is Monday."}, {Contains: "Hello"}}}, scripted.Step{Text: "ok"})
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		image := membrane.Block{Type: membrane.Image, MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}
		_, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Context: "It is Monday.", Content: []membrane.Block{image}, Text: "Hello"}).Collect()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: "c"}).Collect(); !errors.Is(err, agent.ErrNoText) {
			t.Errorf("an empty turn: %v", err)
		}
	})
	w.run("again")
	membranetest.Prefix(t, scripted.Split, membranetest.Bodies(t, w.bodies)...)
}
