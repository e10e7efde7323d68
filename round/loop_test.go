package round_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// rounds settles one round after the other and says of each what ran, what was warned of, and what ended it.
func rounds(t *testing.T, s history.Store, cfg round.Config, fresh bool, calls ...string) []string {
	t.Helper()
	settler, err := round.New(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, name := range calls {
		if fresh { // as another process would
			if settler, err = round.New(s, cfg); err != nil {
				t.Fatal(err)
			}
		}
		name, args, _ := strings.Cut(name, " ")
		got, err := settler.Settle(t.Context(), round.Request{Conversation: "c", Calls: []tool.Call{{Name: name, Args: []byte(args)}}})
		if err != nil {
			t.Fatal(err)
		}
		word := "-"
		switch r := got.Results[0]; {
		case got.Loop != "":
			word = "end"
		case r.Loop != "":
			word = "warn"
			if !strings.HasSuffix(r.Text, "["+r.Loop+"]") {
				t.Errorf("%s: the warning is not in its text: %s", r.ID, r.Text)
			}
		}
		said = append(said, word)
	}
	sound(t, s, "c")
	return said
}

// The same call with the same result: warned at the third, answered from before at the fifth, ended at the
// eighth; also across restarts, and whatever else was called in between is not in the circle.
func TestLoops(t *testing.T) {
	again := func(n int, calls ...string) (all []string) {
		for range n {
			all = append(all, calls...)
		}
		return all
	}
	for _, c := range []struct {
		name  string
		calls []string
		want  string
		ran   int32
	}{
		{"read", again(8, "read {}"), "- - warn warn warn warn warn end", 4},
		{"order of keys", []string{`read {"a":1,"b":2}`, `read {"b":2, "a":1}`, `read {"a":1,"b":2}`}, "- - warn", 3},
		{"other arguments", []string{`read {"a":1}`, `read {"a":2}`, `read {"a":3}`, `read {"a":4}`}, "- - - -", 4},
		{"failing", again(4, "fail {}"), "- - warn warn", 4},
		{"circle of two", again(3, "read {}", "fail {}"), "- - - - - warn", 6},
		{"in a file", again(4, "long {}"), "- - warn warn", 4},
		{"changing", again(4, "count {}"), "- - - -", 4},
		{"poll", again(9, "poll {}"), "- - - - - - - - -", 9},
	} {
		for _, fresh := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, fresh %v", c.name, fresh), func(t *testing.T) {
				var ran atomic.Int32
				make := func(name string, traits tool.Traits, text func(n int32) tool.Result) tool.Tool {
					return body(name, traits, func(context.Context, tool.Call) (tool.Result, error) { return text(ran.Add(1)), nil })
				}
				now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
				cfg := round.Config{Loops: true, Tools: []tool.Tool{
					make("read", tool.Traits{ReadOnly: true}, func(int32) tool.Result { return tool.Text("the same") }),
					make("long", tool.Traits{ReadOnly: true}, func(int32) tool.Result { return tool.Text(strings.Repeat("a line of it\n", 3000)) }),
					make("fail", tool.Traits{ReadOnly: true}, func(int32) tool.Result { return tool.Error("no") }),
					make("count", tool.Traits{ReadOnly: true}, func(n int32) tool.Result { return tool.Text(fmt.Sprint(n)) }),
					make("poll", tool.Traits{ReadOnly: true, Pollable: true}, func(int32) tool.Result { return tool.Text("waiting") }),
				}, Now: func() time.Time { now = now.Add(20 * time.Second); return now }}
				got := strings.Join(rounds(t, open(t), cfg, fresh, c.calls...), " ")
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				if ran.Load() != c.ran {
					t.Errorf("%d bodies ran, want %d", ran.Load(), c.ran)
				}
			})
		}
	}
}

// Without being asked to, nobody watches.
func TestLoopsAreWatchedOnlyOnDemand(t *testing.T) {
	cfg := round.Config{Tools: []tool.Tool{says("t", "x")}}
	if got := strings.Join(rounds(t, open(t), cfg, false, "t {}", "t {}", "t {}", "t {}", "t {}", "t {}", "t {}", "t {}", "t {}"), ""); got != "---------" {
		t.Error(got)
	}
}

// A script that calls the same for ever is refused, in a result that it can read.
func TestAnInnerLoopIsRefused(t *testing.T) {
	var ran atomic.Int32
	same := body("same", tool.Traits{ReadOnly: true}, func(context.Context, tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text("same"), nil
	})
	script := outer("script", func(ctx context.Context, d tool.Dispatcher) (string, error) {
		for i := range 20 {
			w, err := d.Do(ctx, "same", nil)
			if err != nil {
				return "", err
			}
			if text := whole(t, w); w.IsError {
				return fmt.Sprint(i, " ", text), nil
			} else if text != "same" {
				return "", fmt.Errorf("a warning is in the data: %s", text)
			}
		}
		return "never", nil
	})
	got := settle(t, open(t), round.Request{Calls: []tool.Call{{Name: "script"}}}, round.Config{Loops: true, Tools: []tool.Tool{same, script}})
	if text := got.Results[0].Text; !strings.HasPrefix(text, "7 same was not run: ") || ran.Load() != 7 {
		t.Errorf("%d ran: %s", ran.Load(), text)
	}
}

// A tool with a policy is fitted to its budget: the whole is kept, its hint names where, and valid JSON
// stays valid; what fits is shown byte for byte.
func TestAToolWithAPolicyIsFitted(t *testing.T) {
	s := open(t)
	var rows []string
	for i := range 400 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d","note":"%s"}`, i, i, strings.Repeat("x", 40)))
	}
	large := `{"status":"active","rows":[` + strings.Join(rows, ",") + `]}`
	fitted := func(name, text string) tool.Tool {
		return body(name, tool.Traits{Fit: &tool.Fit{Primary: []string{"status"}}}, func(context.Context, tool.Call) (tool.Result, error) {
			return tool.JSON([]byte(text)), nil
		})
	}
	cfg := round.Config{MaxChars: 100_000, Tools: []tool.Tool{fitted("large", large), fitted("small", `{"b":1, "a":[1,2]}`)}, Fit: fitting}
	got := settle(t, s, round.Request{Calls: []tool.Call{{Name: "large"}, {Name: "small"}}}, cfg)
	first, second := got.Results[0], got.Results[1]
	if second.Text != `{"b":1, "a":[1,2]}` || second.Path != "" {
		t.Errorf("what fits was changed: %s", second.Text)
	}
	if first.Path != "tool-results/r1-1-large.txt" || !strings.Contains(first.Text, first.Path) || !strings.Contains(first.Text, "active") {
		t.Errorf("path %s, text %.600s", first.Path, first.Text)
	}
	if !valid(first.Text) || len(first.Text) > 20_000 || first.Fit.Stage < 2 {
		t.Errorf("stage %d, %d bytes, valid %v", first.Fit.Stage, len(first.Text), valid(first.Text))
	}
	wish := settle(t, s, round.Request{Calls: []tool.Call{{Name: "small", Wish: tool.Wish{MaxTokens: []byte(`0`)}}}}, cfg)
	if r := wish.Results[0]; !r.IsError || !strings.Contains(r.Text, "max_tokens") {
		t.Errorf("a budget of 0: %s", r.Text)
	}
	sound(t, s, "c")
}

var fitting = execute.Fitting{Contract: envelope.Bare}

func valid(text string) bool { return json.Valid([]byte(text)) }
