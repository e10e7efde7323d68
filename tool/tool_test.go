package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weir-run/weir/tool"
)

func TestAbsent(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"": true, " ": true, "\t\r\n": true, "null": true, " null\n": true,
		"{}": false, "0": false, `""`: false, "nul": false, "nullx": false, "[]": false, "Null": false,
	} {
		if got := tool.Absent(json.RawMessage(args)); got != want {
			t.Errorf("Absent(%q) = %v, want %v", args, got, want)
		}
	}
	if !tool.Absent(nil) {
		t.Error("nil arguments are not absent")
	}
}

func TestFatal(t *testing.T) {
	t.Parallel()
	if tool.Fatal(nil) != nil {
		t.Error("a nil error became one")
	}
	err := tool.Fatal(fmt.Errorf("read state: %w", io.ErrUnexpectedEOF))
	wrapped := fmt.Errorf("call: %w", err)
	if !tool.IsFatal(err) || !tool.IsFatal(wrapped) || !tool.IsFatal(errors.Join(io.EOF, wrapped)) {
		t.Error("the mark is lost")
	}
	if tool.IsFatal(nil) || tool.IsFatal(io.EOF) {
		t.Error("an error that nobody marked is fatal")
	}
	if err.Error() != "read state: unexpected EOF" || !errors.Is(wrapped, io.ErrUnexpectedEOF) {
		t.Errorf("the error is hidden: %v", err)
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	runs := func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }
	for name, c := range map[string]struct {
		tl   tool.Tool
		says string
	}{
		"good":                     {tool.Tool{Name: "files--read_1.x", Schema: json.RawMessage(`{"type":"object"}`), Run: runs}, ""},
		"no schema":                {tool.Tool{Name: "a", Run: runs}, ""},
		"no name":                  {tool.Tool{Run: runs}, "needs a name"},
		"space":                    {tool.Tool{Name: "a b", Run: runs}, `found ' '`},
		"letter of another kind":   {tool.Tool{Name: "né", Run: runs}, `found 'é'`},
		"bad byte":                 {tool.Tool{Name: "a\xff", Run: runs}, "only A-Z"},
		"long":                     {tool.Tool{Name: strings.Repeat("n", 5000), Run: runs}, "5000 bytes"},
		"no function":              {tool.Tool{Name: "a"}, "no function"},
		"schema that is no JSON":   {tool.Tool{Name: "a", Schema: json.RawMessage(`{`), Run: runs}, "not a JSON object"},
		"schema that is no object": {tool.Tool{Name: "a", Schema: json.RawMessage(`[]`), Run: runs}, "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.tl.Check()
			if c.says == "" {
				if err != nil {
					t.Errorf("Check = %v, want nil", err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 300 {
				t.Errorf("Check = %v, want a short error that says %q", err, c.says)
			}
		})
	}
}

func TestRepeatable(t *testing.T) {
	t.Parallel()
	for traits, want := range map[tool.Traits]bool{
		{}: false, {Serial: true, Pollable: true}: false, {ReadOnly: true}: true, {Idempotent: true}: true,
	} {
		if traits.Repeatable() != want {
			t.Errorf("%+v: Repeatable = %v, want %v", traits, !want, want)
		}
	}
}

// TestRunning holds that a call knows about itself inside of its context and that nothing breaks outside.
func TestRunning(t *testing.T) {
	t.Parallel()
	if _, ok := tool.CallFrom(t.Context()); ok {
		t.Error("there is a call outside of one")
	}
	tool.Report(t.Context(), "nobody hears")
	tool.Report(tool.WithCall(t.Context(), tool.Running{}), "nobody hears")
	var heard []string
	ctx := tool.WithCall(t.Context(), tool.Running{
		Result: "r3-1", Call: tool.Call{ID: "c1"},
		Progress: func(s string) { heard = append(heard, s) },
	})
	tool.Report(ctx, "half")
	if r, ok := tool.CallFrom(ctx); !ok || r.Result != "r3-1" || r.Call.ID != "c1" || strings.Join(heard, "|") != "half" {
		t.Errorf("call %+v, progress %q", r, heard)
	}
}
