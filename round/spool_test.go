package round_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// streams is a tool that writes its output as it is produced.
func streams(t *testing.T, result tool.Result, err error, writes ...string) tool.Tool {
	return body("t", tool.Traits{}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		running, ok := tool.CallFrom(ctx)
		if !ok {
			t.Error("the call is not known")
		}
		for _, w := range writes {
			if _, err := running.Spool().Write([]byte(w)); err != nil {
				t.Error(err)
			}
		}
		return result, err
	})
}

func TestStreamedOutput(t *testing.T) {
	long := strings.Repeat("a line that is streamed\n", 5000)
	for name, c := range map[string]struct {
		tool  tool.Tool
		whole string
		path  bool
		fails bool
	}{
		"short":       {streams(t, tool.Result{Data: tool.Spooled{}}, nil, "a", "b\n"), "ab\n", false, false},
		"with a tail": {streams(t, tool.Result{Data: tool.Spooled{Tail: "[exit 2]"}}, nil, "out\n"), "out\n[exit 2]", false, false},
		"split":       {streams(t, tool.Result{Data: tool.Spooled{}}, nil, "\xe2", "\x89", "\xa4\n"), "≤\n", false, false},
		"long":        {streams(t, tool.Result{Data: tool.Spooled{Tail: "[exit 1]"}, IsError: true}, nil, long, long), long + long + "[exit 1]", true, true},
		"then fails":  {streams(t, tool.Result{}, errors.New("it broke"), "half of it"), "half of it\nit broke", false, true},
		"nothing":     {streams(t, tool.Result{Data: tool.Spooled{}}, nil, ""), "", false, false},
		"other data":  {streams(t, tool.Text("and this"), nil, "out"), "out\nand this", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			got := settle(t, s, round.Request{Calls: []tool.Call{{Name: "t"}}}, round.Config{Tools: []tool.Tool{c.tool}})
			r, err := s.ResultOf(t.Context(), "c", got.Results[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			whole := string(r.Whole)
			if r.Spill != nil {
				whole = string(read(t, s, r.Spill.File))
			}
			if whole != c.whole {
				t.Errorf("the whole is %.80q (%d bytes), want %.80q (%d bytes)", whole, len(whole), c.whole, len(c.whole))
			}
			if (r.Spill != nil) != c.path || got.Results[0].IsError != c.fails {
				t.Errorf("spilled %v, error %v", r.Spill != nil, got.Results[0].IsError)
			}
			if c.path && !strings.HasSuffix(got.Results[0].Text, "[exit 1]") {
				t.Errorf("the end is not shown: …%.80q", got.Results[0].Text[len(got.Results[0].Text)-80:])
			}
			if problems, err := history.Verify(t.Context(), s, "c"); err != nil || len(problems) > 0 {
				t.Errorf("verify: %v %v", problems, err)
			}
		})
	}
}

// Output of a tool that was stopped is kept up to where it came.
func TestOutputBeforeATimeoutIsKept(t *testing.T) {
	s := open(t)
	slow := body("t", tool.Traits{Timeout: 30 * time.Millisecond}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		running, _ := tool.CallFrom(ctx)
		_, _ = fmt.Fprintln(running.Spool(), "before the stop")
		select {}
	})
	got := settle(t, s, round.Request{Calls: []tool.Call{{Name: "t"}}}, round.Config{Tools: []tool.Tool{slow}, Grace: 10 * time.Millisecond})
	if text := got.Results[0].Text; !strings.HasPrefix(text, "before the stop\n") || !strings.Contains(text, "limit of 30ms") {
		t.Errorf("got %q", text)
	}
}

func read(t *testing.T, s history.Store, file string) []byte {
	t.Helper()
	f, err := s.Spills().Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	b := make([]byte, f.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return b
}
