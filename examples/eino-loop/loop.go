package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// host runs one question on an eino graph.
type host struct {
	model        model.ToolCallingChatModel
	store        history.Store
	settler      *round.Settler
	conversation string
	// rounds counts those that were settled in this run, stored ones among them.
	rounds int
}

// run asks until the model calls no more tools. The conversation is named after the question: asked
// again, the graph begins with the answers that are stored and what their rounds give once more, which
// are the bytes that are stored. A round that was interrupted is finished.
func (h *host) run(ctx context.Context, question string) (string, error) {
	h.conversation = fmt.Sprintf("q-%.6x", sha256.Sum256([]byte(question)))
	stored, err := h.store.Messages(ctx, h.conversation, 0)
	if err != nil && !errors.Is(err, history.ErrNotFound) {
		return "", err
	}
	messages := []*schema.Message{schema.UserMessage(question)}
	for _, m := range stored {
		if m.Role != "assistant" {
			continue
		}
		answer := &schema.Message{}
		if err := json.Unmarshal(m.Body, answer); err != nil {
			return "", fmt.Errorf("read message %d: %w", m.Seq, err)
		}
		results, err := h.settle(ctx, answer)
		if err != nil {
			return "", err
		}
		messages = append(append(messages, answer), results...)
	}
	graph, err := h.graph(ctx)
	if err != nil {
		return "", err
	}
	answer, err := graph.Invoke(ctx, messages)
	if err != nil {
		return "", err
	}
	return answer.Content, nil
}

// settle stands where eino's tools node would: the answer with its calls is stored before any of them
// runs, and what it returns is stored before the model is sent it.
func (h *host) settle(ctx context.Context, answer *schema.Message) ([]*schema.Message, error) {
	h.rounds++
	body, err := json.Marshal(answer)
	if err != nil {
		return nil, err
	}
	var calls []tool.Call
	for _, c := range answer.ToolCalls {
		calls = append(calls, tool.Call{ID: c.ID, Name: c.Function.Name, Args: []byte(c.Function.Arguments)})
	}
	settled, err := h.settler.Settle(ctx, round.Request{
		Conversation: h.conversation, Key: strconv.Itoa(h.rounds), Calls: calls,
		Open: history.Append{Messages: []history.Message{{Seq: int64(2*h.rounds - 1), Role: "assistant", Codec: "eino", Body: body}}},
		Seal: func(r round.Round) (history.Append, error) { // its content is the results' rows
			return history.Append{Messages: []history.Message{{Seq: int64(2 * h.rounds), Role: "results", Codec: "eino", Round: r.N}}}, nil
		},
	})
	if err = cmp.Or(err, settled.Fatal, ctx.Err()); err != nil {
		return nil, err
	}
	var results []*schema.Message
	for _, r := range settled.Results {
		fmt.Fprintf(os.Stderr, "%s %s: %d characters, whole: %s, stored before: %t\n", r.ID, r.Call.Name, r.Chars, cmp.Or(r.Path, "inline"), settled.Stored)
		results = append(results, schema.ToolMessage(r.Text, r.Call.ID, schema.WithToolName(r.Call.Name)))
	}
	return results, nil
}

// turn is the state of the graph: all messages of the question.
type turn struct{ messages []*schema.Message }

// graph is eino's loop with the round in the place of the tools node.
func (h *host) graph(ctx context.Context) (compose.Runnable[[]*schema.Message, *schema.Message], error) {
	asked, err := offered(h.model, h.settler.Tools())
	if err != nil {
		return nil, err
	}
	g := compose.NewGraph[[]*schema.Message, *schema.Message](compose.WithGenLocalState(func(context.Context) *turn { return &turn{} }))
	before := func(_ context.Context, in []*schema.Message, t *turn) ([]*schema.Message, error) {
		t.messages = append(t.messages, in...)
		return t.messages, nil
	}
	after := func(_ context.Context, in *schema.Message, t *turn) (*schema.Message, error) {
		t.messages = append(t.messages, in)
		return in, nil
	}
	next := func(_ context.Context, answer *schema.Message) (string, error) {
		if len(answer.ToolCalls) == 0 {
			return compose.END, nil
		}
		return "round", nil
	}
	err = errors.Join(
		g.AddChatModelNode("model", asked, compose.WithStatePreHandler(before)),
		g.AddLambdaNode("round", compose.InvokableLambda(h.settle), compose.WithStatePreHandler(after)),
		g.AddEdge(compose.START, "model"),
		g.AddEdge("round", "model"),
		g.AddBranch("model", compose.NewGraphBranch(next, map[string]bool{"round": true, compose.END: true})),
	)
	if err != nil {
		return nil, err
	}
	return g.Compile(ctx, compose.WithMaxRunSteps(41)) // 20 rounds
}
