package scripting

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/weir-run/weir/internal/search"
	"github.com/weir-run/weir/tool"
)

// watched is a runtime that notes what it is asked to call.
type watched struct {
	tool.Dispatcher
	called []string
}

func (w *watched) Begin(_ context.Context, name string, _ json.RawMessage) func() (tool.Whole, error) {
	w.called = append(w.called, name)
	return func() (tool.Whole, error) { return tool.Whole{}, nil }
}

// A script process is not trusted: the tool itself, and calls over the limit, never reach the runtime,
// whatever the process asks for.
func TestHostRefuses(t *testing.T) {
	t.Parallel()
	w := &watched{}
	h := newHost(w, Limits{Calls: 2}, newOutput(tool.Running{}, 10))
	var no refused
	if _, err := h.begin(t.Context(), Name, nil)(); !errors.As(err, &no) || !strings.Contains(err.Error(), "cannot be called from a script") {
		t.Errorf("the tool itself: %v", err)
	}
	for range 5 {
		_, _ = h.begin(t.Context(), "t", nil)()
	}
	if len(w.called) != 2 || h.stopped() == nil {
		t.Errorf("called: %q, stopped: %v", w.called, h.stopped())
	}
	alone := newHost(nil, Limits{Calls: 2}, newOutput(tool.Running{}, 10))
	if _, err := alone.begin(t.Context(), "t", nil)(); !errors.As(err, &no) {
		t.Errorf("without a runtime: %v", err)
	}
	if _, err := alone.Read(t.Context(), "r1-1", 1, 2); err == nil {
		t.Error("without a runtime: a result was read")
	}
}

// Patterns are JavaScript's as far as both know them; what only JavaScript knows is an error that says so.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ pattern, flags, text string }{
		{`a\/b`, "", "a/b"}, {`\u00e4+`, "u", "ää"}, {`\u{1F600}`, "u", "😀"}, {`(?<year>\d{4})`, "", "2026"}, {`ABC`, "gi", "abc"}, {`^x$`, "m", "x"},
	} {
		p, err := compile(c.pattern, c.flags)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
			continue
		}
		stats, err := p.Scan(t.Context(), strings.NewReader(c.text), int64(len(c.text)), func(search.Line) search.Action { return search.Count })
		if err != nil || stats.Matches != 1 {
			t.Errorf("%s: %d matches in %q (%v)", c.pattern, stats.Matches, c.text, err)
		}
	}
	for _, pattern := range []string{`(?=x)`, `(a)\1`, `(`} {
		if _, err := compile(pattern, ""); err == nil || !strings.Contains(err.Error(), "RE2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
