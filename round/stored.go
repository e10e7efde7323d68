package round

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tool"
)

// Results lists the stored results of earlier rounds.
func (in *inner) Results(ctx context.Context) ([]tool.Stored, error) {
	w := in.w
	results, err := w.settler.store.ResultsOf(ctx, w.request.Conversation, 0)
	if err != nil {
		return nil, fmt.Errorf("list the results of %s: %w", w.request.Conversation, err)
	}
	calls, err := w.settler.store.CallsOf(ctx, w.request.Conversation, 0)
	if err != nil {
		return nil, fmt.Errorf("list the calls of %s: %w", w.request.Conversation, err)
	}
	args := make(map[history.CallID]history.Call, len(calls))
	for _, c := range calls {
		args[c.ID] = c
	}
	var all []tool.Stored
	for _, r := range results {
		// What stands beside this call in its round would be there or not, as it happens.
		if r.ID.Sub == 0 && r.ID.Round < w.n {
			all = append(all, storedOf(r, args[r.ID].Args))
		}
	}
	return all, nil
}

// Result opens one stored result.
func (in *inner) Result(ctx context.Context, id string) (tool.Whole, error) {
	w := in.w
	parsed, err := history.ParseCallID(strings.TrimSpace(id))
	if err != nil {
		return tool.Whole{}, &tool.NoResult{Text: err.Error()}
	}
	r, err := w.settler.store.ResultOf(ctx, w.request.Conversation, parsed)
	if errors.Is(err, history.ErrNotFound) {
		return tool.Whole{}, in.unknown(ctx, id)
	}
	if err != nil {
		return tool.Whole{}, fmt.Errorf("read the result %s: %w", parsed, err)
	}
	calls, err := w.settler.store.CallsOf(ctx, w.request.Conversation, parsed.Round)
	if err != nil {
		return tool.Whole{}, fmt.Errorf("read the call of %s: %w", parsed, err)
	}
	whole := tool.Whole{Structured: r.Structured}
	for _, c := range calls {
		if c.ID == parsed {
			whole.Stored = storedOf(r, c.Args)
		}
	}
	return w.reading(ctx, whole, r.Spill, r.Whole)
}

// unknown says which results there are.
func (in *inner) unknown(ctx context.Context, id string) error {
	all, err := in.Results(ctx)
	switch {
	case err != nil:
		return err
	case len(all) == 0:
		return &tool.NoResult{Text: fmt.Sprintf("there is no result %.40q, and none of an earlier round is stored", id)}
	}
	const most = 8
	var last []string
	for _, r := range all[max(0, len(all)-most):] {
		last = append(last, r.ID)
	}
	return &tool.NoResult{Text: fmt.Sprintf("there is no result %.40q; the latest are %s", id, strings.Join(last, ", "))}
}

func storedOf(r history.Result, args []byte) tool.Stored {
	s := tool.Stored{
		ID: r.ID.String(), Tool: r.Tool, Args: args, Round: r.ID.Round,
		Bytes: r.Bytes, Chars: r.Chars, Lines: r.Lines, IsError: r.IsError,
	}
	// Every stored result is served under its name, kept as a file or not.
	if base, err := (spill.Name{Result: s.ID, Tool: r.Tool}).Base(); err == nil {
		s.Path = spill.Mount + "/" + base
	}
	return s
}

// wholeOf gives the whole result of a call that this round has just settled.
func (w *work) wholeOf(c *call) (tool.Whole, error) {
	whole := tool.Whole{Stored: storedOf(c.record, c.prepared.Call.Args), Structured: c.record.Structured}
	return w.reading(w.durable, whole, c.record.Spill, c.record.Whole)
}

// reading gives a result its text: from its file, or from its row.
func (w *work) reading(ctx context.Context, whole tool.Whole, file *spill.Ref, text []byte) (tool.Whole, error) {
	if file == nil {
		whole.Text, whole.Close = bytes.NewReader(text), func() error { return nil }
		return whole, nil
	}
	f, err := w.settler.store.Spills().Open(ctx, file.File)
	if err != nil {
		return tool.Whole{}, fmt.Errorf("open the whole of %s: %w", whole.ID, err)
	}
	whole.Text, whole.Close, whole.Path = f, f.Close, file.Path()
	return whole, nil
}
