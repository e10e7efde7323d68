package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tool"
)

// overResults lets a tool see other stored results than those of the round that it runs in.
func overResults(run tool.Handler, from reading) tool.Handler {
	return func(ctx context.Context, c tool.Call) (tool.Result, error) {
		r, _ := tool.CallFrom(ctx)
		if r.Dispatch != nil {
			r.Dispatch = results{r.Dispatch, from}
			ctx = tool.WithCall(ctx, r)
		}
		return run(ctx, c)
	}
}

// results is a dispatcher with the results of another conversation.
type results struct {
	tool.Dispatcher
	from reading
}

func (r results) Results(ctx context.Context) ([]tool.Stored, error) { return r.from.list(ctx) }

func (r results) Result(ctx context.Context, id string) (tool.Whole, error) {
	return r.from.open(ctx, id)
}

// reading reads the stored results of a conversation.
type reading struct {
	store history.Store
	id    string
}

// list lists the results that a model's calls gave.
func (r reading) list(ctx context.Context) ([]tool.Stored, error) {
	rows, err := r.store.ResultsOf(ctx, r.id, 0)
	if err != nil {
		return nil, fmt.Errorf("list the results of %s: %w", r.id, err)
	}
	calls, err := r.store.CallsOf(ctx, r.id, 0)
	if err != nil {
		return nil, fmt.Errorf("list the calls of %s: %w", r.id, err)
	}
	var all []tool.Stored
	for _, row := range rows {
		if row.ID.Sub == 0 {
			all = append(all, described(row, calls))
		}
	}
	return all, nil
}

// open opens one result.
func (r reading) open(ctx context.Context, id string) (tool.Whole, error) {
	parsed, err := history.ParseCallID(strings.TrimSpace(id))
	if err != nil {
		return tool.Whole{}, &tool.NoResult{Text: err.Error()}
	}
	row, err := r.store.ResultOf(ctx, r.id, parsed)
	if errors.Is(err, history.ErrNotFound) {
		return tool.Whole{}, &tool.NoResult{Text: fmt.Sprintf("there is no result %s in conversation %s", parsed, r.id)}
	}
	if err != nil {
		return tool.Whole{}, fmt.Errorf("read the result %s of %s: %w", parsed, r.id, err)
	}
	calls, err := r.store.CallsOf(ctx, r.id, parsed.Round)
	if err != nil {
		return tool.Whole{}, fmt.Errorf("read the call of %s: %w", parsed, err)
	}
	whole := tool.Whole{Stored: described(row, calls), Structured: row.Structured}
	if row.Spill == nil {
		whole.Text, whole.Close = bytes.NewReader(row.Whole), func() error { return nil }
		return whole, nil
	}
	f, err := r.store.Spills().Open(ctx, row.Spill.File)
	if err != nil {
		return tool.Whole{}, fmt.Errorf("open the whole of %s: %w", parsed, err)
	}
	whole.Text, whole.Close, whole.Path = f, f.Close, row.Spill.Path()
	return whole, nil
}

// described is a row as a tool sees it.
func described(row history.Result, calls []history.Call) tool.Stored {
	s := tool.Stored{
		ID: row.ID.String(), Tool: row.Tool, Round: row.ID.Round,
		Bytes: row.Bytes, Chars: row.Chars, Lines: row.Lines, IsError: row.IsError,
	}
	if i := slices.IndexFunc(calls, func(c history.Call) bool { return c.ID == row.ID }); i >= 0 {
		s.Args = calls[i].Args
	}
	if base, err := (spill.Name{Result: s.ID, Tool: row.Tool}).Base(); err == nil {
		s.Path = spill.Mount + "/" + base
	}
	return s
}
