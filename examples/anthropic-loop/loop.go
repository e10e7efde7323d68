package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// maxRounds bounds the loop.
const maxRounds = 20

// host is a program with a loop of its own.
type host struct {
	client  anthropic.Client
	model   string
	store   history.Store
	settler *round.Settler
}

// run asks until the model calls no more tools. The conversation is named after the question: asked
// again, it begins with the answers that are stored, and settles their rounds once more. A settled round
// gives the bytes that are stored, one that was interrupted is finished.
func (h host) run(ctx context.Context, question string) (string, error) {
	conversation := fmt.Sprintf("q-%.6x", sha256.Sum256([]byte(question)))
	stored, err := h.store.Messages(ctx, conversation, 0)
	if err != nil && !errors.Is(err, history.ErrNotFound) {
		return "", err
	}
	stored = slices.DeleteFunc(stored, func(m history.Message) bool { return m.Role != "assistant" })
	messages := []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(question))}
	for n := range maxRounds {
		answer, err := h.answer(ctx, messages, stored, n)
		if err != nil {
			return "", fmt.Errorf("ask the model: %w", err)
		}
		calls, text := parts(answer)
		if len(calls) == 0 {
			return text, nil
		}
		settled, err := h.settler.Settle(ctx, round.Request{
			Conversation: conversation, Key: answer.ID, Calls: calls,
			Open: history.Append{Messages: []history.Message{{
				Seq: int64(2*n + 1), Role: "assistant", Codec: "anthropic", Body: []byte(answer.RawJSON()),
			}}},
			Seal: func(r round.Round) (history.Append, error) { // its content is the results' rows
				return history.Append{Messages: []history.Message{{Seq: int64(2*n + 2), Role: "results", Codec: "anthropic", Round: r.N}}}, nil
			},
		})
		if err = cmp.Or(err, settled.Fatal, ctx.Err()); err != nil {
			return "", err
		}
		var results []anthropic.ContentBlockParamUnion
		for _, r := range settled.Results {
			fmt.Fprintf(os.Stderr, "%s %s: %d characters, %s\n", r.ID, r.Call.Name, r.Chars, where(r, settled.Stored))
			results = append(results, anthropic.NewToolResultBlock(r.Call.ID, r.Text, r.IsError))
		}
		messages = append(messages, answer.ToParam(), anthropic.NewUserMessage(results...))
	}
	return "", fmt.Errorf("the model still calls tools after %d rounds", maxRounds)
}

// answer gives the model's n-th answer: the stored one, or else a new one.
func (h host) answer(ctx context.Context, messages []anthropic.MessageParam, stored []history.Message, n int) (*anthropic.Message, error) {
	if n < len(stored) {
		answer := &anthropic.Message{}
		return answer, json.Unmarshal(stored[n].Body, answer)
	}
	return h.client.Messages.New(ctx, anthropic.MessageNewParams{
		Model: h.model, MaxTokens: 4096, Messages: messages, Tools: offered(h.settler.Tools()),
	})
}

// parts are the calls of an answer, their arguments byte for byte, and its text.
func parts(answer *anthropic.Message) (calls []tool.Call, text string) {
	for _, block := range answer.Content {
		switch b := block.AsAny().(type) {
		case anthropic.ToolUseBlock:
			calls = append(calls, tool.Call{ID: b.ID, Name: b.Name, Args: b.Input})
		case anthropic.TextBlock:
			text += b.Text
		}
	}
	return calls, text
}
