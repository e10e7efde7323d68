package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/result/shape"
	"github.com/weir-run/weir/tokens"
	"github.com/weir-run/weir/tool"
)

// whole is what stands behind the name of a tool whose results are shaped, for the tool itself.
const whole = ".whole"

// shaper shapes the results of one tool.
type shaper struct {
	form   shape.Name
	shaper *shape.Shaper
	output json.RawMessage
	budget int
}

// over gives the tool that shapes and, hidden, the one that is shaped. The whole result is that of a call
// which the first makes of the second: it is stored under an id of its own, and read from there.
func (s shaper) over(t tool.Tool, entry json.RawMessage) []server.Remote {
	inner := t
	inner.Name += whole
	outer := t
	outer.Dispatches = true
	outer.Output = s.output
	if s.form == shape.Raw {
		outer.Output = t.Output
	}
	if s.budget > 0 {
		fit := *t.Fit
		fit.Budget = s.budget
		outer.Fit = &fit
	}
	outer.Run = func(ctx context.Context, c tool.Call) (tool.Result, error) { return s.run(ctx, t.Name, inner.Name, c) }
	return []server.Remote{{Tool: outer, Entry: entry}, {Tool: inner, Hidden: true}}
}

// run calls the tool and shapes what it gives.
func (s shaper) run(ctx context.Context, name, inner string, c tool.Call) (tool.Result, error) {
	r, ok := tool.CallFrom(ctx)
	if !ok || r.Dispatch == nil {
		return tool.Errorf("%s cannot be run here, since it calls another tool: call %s", name, inner), nil
	}
	w, err := r.Dispatch.Do(ctx, inner, c.Args)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = w.Close() }() // it was read to its end
	text, err := io.ReadAll(io.NewSectionReader(w.Text, 0, min(w.Bytes, shape.MaxDocument+1)))
	if err != nil {
		return tool.Result{}, fmt.Errorf("read the result of %s: %w", inner, err)
	}
	if w.IsError {
		return tool.Error(string(text)), nil
	}
	doc := text
	if kind := canon.Kind(w.Structured); kind == "object" || kind == "array" {
		doc = w.Structured
	}
	made, err := s.shaper.Render(ctx, doc, s.form)
	switch {
	case err != nil:
		return tool.Result{}, err
	case made.IsError:
		return tool.Errorf("the rule for %s failed: %s\nThe call itself was done. Its whole result is %s (%d lines): read it with workspace--read, "+
			"search it with workspace--grep, and do not repeat the call.", name, made.Text, w.Path, w.Lines), nil
	}
	note := fmt.Sprintf("[shaped by a rule: about %d of %d tokens; the whole is %s, %d lines]",
		tokens.Estimate(made.Text), tokens.Estimate(string(text)), w.Path, w.Lines)
	if made.Note != "" {
		note += "\n[" + made.Note + "]"
	}
	texts := []string{note, made.Text} // JSON is a block of its own behind it
	if s.form == shape.Markdown || s.form == shape.Raw {
		texts = []string{made.Text, note}
	}
	out := tool.Text(texts[0] + "\n" + texts[1])
	out.Structured = made.Structured
	if s.form == shape.Raw {
		out.Structured = w.Structured
	}
	return out, nil
}
