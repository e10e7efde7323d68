package round_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

func open(t *testing.T) *sqlite.Store {
	t.Helper()
	return openAt(t, t.TempDir())
}

func openAt(t *testing.T, dir string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func body(name string, traits tool.Traits, run tool.Handler) tool.Tool {
	return tool.Tool{Name: name, Schema: []byte(`{"type":"object"}`), Traits: traits, Run: run}
}

func says(name, text string) tool.Tool {
	return body(name, tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(text), nil })
}

func settle(t *testing.T, s history.Store, r round.Request, cfg round.Config) round.Round {
	t.Helper()
	if r.Conversation == "" {
		r.Conversation = "c"
	}
	got, err := round.Settle(t.Context(), s, r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func texts(r round.Round) []string {
	var all []string
	for _, s := range r.Results {
		all = append(all, s.Text)
	}
	return all
}

// Results stand in call order whatever order they finished in, each with its own call's id.
func TestLaw05EveryCallIsAnsweredOnceInCallOrder(t *testing.T) {
	second := make(chan struct{})
	slow := body("slow", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		<-second
		return tool.Text("slow"), nil
	})
	fast := body("fast", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		close(second)
		return tool.Text("fast"), nil
	})
	panics := body("panics", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) { panic("oh") })
	fails := body("fails", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, errors.New("no")
	})
	got := settle(t, open(t), round.Request{Calls: []tool.Call{
		{ID: "a", Name: "slow"},
		{ID: "b", Name: "fast"},
		{ID: "c", Name: "nobody"},
		{ID: "d", Name: "panics"},
		{ID: "e", Name: "fails"},
		{ID: "f", Name: "slow", Args: []byte(`{"cut`)},
	}}, round.Config{Tools: []tool.Tool{slow, fast, panics, fails}})
	var ids []string
	for i, s := range got.Results {
		ids = append(ids, s.Call.ID)
		if want := fmt.Sprintf("r1-%d", i+1); s.ID.String() != want {
			t.Errorf("result %d is %s, want %s", i, s.ID, want)
		}
	}
	if d := cmp.Diff([]string{"a", "b", "c", "d", "e", "f"}, ids); d != "" {
		t.Errorf("order (-want +got):\n%s", d)
	}
	want := []string{"slow", "fast", "no tool named", "it panicked: oh", "no", "not valid JSON"}
	for i, text := range texts(got) {
		if !strings.Contains(text, want[i]) {
			t.Errorf("result %d: %q, want %q", i, text, want[i])
		}
		if (i >= 2) != got.Results[i].IsError {
			t.Errorf("result %d: is error %v", i, got.Results[i].IsError)
		}
	}
}

func TestNCallsGiveNResults(t *testing.T) {
	for _, n := range []int{1, 2, 7, 8, 9, 16, 64} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var calls []tool.Call
			for i := range n {
				calls = append(calls, tool.Call{ID: fmt.Sprint(i), Name: "t"})
			}
			got := settle(t, open(t), round.Request{Calls: calls}, round.Config{Tools: []tool.Tool{says("t", "x")}})
			if len(got.Results) != n {
				t.Errorf("%d results for %d calls", len(got.Results), n)
			}
		})
	}
}

// What is stored as shown is what Settle gives back, byte for byte, and the whole text is there too.
func TestLaw02WhatIsStoredIsWhatWasGivenBack(t *testing.T) {
	s := open(t)
	long := strings.Repeat("line of output\n", 5000)
	got := settle(t, s, round.Request{Calls: []tool.Call{{Name: "short"}, {Name: "long"}, {Name: "nul"}, {Name: "empty"}}},
		round.Config{Tools: []tool.Tool{says("short", "a < b & \"c\"\n"), says("long", long), says("nul", "a\x00b"), says("empty", "")}})
	wholes := []string{"a < b & \"c\"\n", long, "a\x00b", ""}
	for i, r := range got.Results {
		stored, err := s.ResultOf(t.Context(), "c", r.ID)
		if err != nil {
			t.Fatal(err)
		}
		shown := stored.Shown
		if stored.Same {
			shown = stored.Whole
		}
		if string(shown) != r.Text {
			t.Errorf("%s: stored %.60q, given %.60q", r.ID, shown, r.Text)
		}
		whole := string(stored.Whole)
		if stored.Spill != nil {
			f, err := s.Spills().Open(t.Context(), stored.Spill.File)
			if err != nil {
				t.Fatal(err)
			}
			b := make([]byte, f.Size())
			if _, err := f.ReadAt(b, 0); err != nil && f.Size() > 0 {
				t.Fatal(err)
			}
			_ = f.Close()
			whole = string(b)
		}
		if whole != wholes[i] {
			t.Errorf("%s: the whole is %.60q, want %.60q", r.ID, whole, wholes[i])
		}
	}
	if got.Results[1].Path != "tool-results/r1-2-long.txt" || !strings.Contains(got.Results[1].Text, "tool-results/c/r1-2-long.f1.txt") {
		t.Errorf("path %q; without tools to read it the notice names the file on disk: %s", got.Results[1].Path, got.Results[1].Text)
	}
	problems, err := history.Verify(t.Context(), s, "c")
	if err != nil || len(problems) > 0 {
		t.Errorf("verify: %v %v", problems, err)
	}
}

// The same key gives what is stored and runs nothing; other calls under it are refused.
func TestKeyNamesTheRound(t *testing.T) {
	s := open(t)
	var ran atomic.Int32
	cfg := round.Config{Tools: []tool.Tool{body("t", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Text(fmt.Sprint("run ", ran.Add(1))), nil
	})}}
	r := round.Request{Key: "m1", Calls: []tool.Call{{ID: "1", Name: "t"}}}
	first, second := settle(t, s, r, cfg), settle(t, s, r, cfg)
	if d := cmp.Diff(texts(first), texts(second)); d != "" || !second.Stored || ran.Load() != 1 {
		t.Errorf("run %d times, stored %v, %s", ran.Load(), second.Stored, d)
	}
	r.Conversation, r.Calls = "c", []tool.Call{{ID: "1", Name: "t", Args: []byte(`{"a":1}`)}}
	if _, err := round.Settle(t.Context(), s, r, cfg); !errors.Is(err, round.ErrOtherCalls) {
		t.Errorf("other calls under a key: %v", err)
	}
	if third := settle(t, s, round.Request{Key: "m2", Calls: r.Calls}, cfg); third.N != 2 {
		t.Errorf("round %d, want 2", third.N)
	}
}

func TestRoundBoundShortensTheLargestFirst(t *testing.T) {
	s := open(t)
	tools := []tool.Tool{says("a", strings.Repeat("a\n", 10000)), says("b", strings.Repeat("b\n", 11000)), says("small", "ok")}
	got := settle(t, s, round.Request{Calls: []tool.Call{{Name: "a"}, {Name: "b"}, {Name: "b"}, {Name: "small"}}},
		round.Config{Tools: tools, RoundChars: 50000})
	sum := 0
	for _, r := range got.Results {
		sum += utf8.RuneCountInString(r.Text)
	}
	if sum > 50000 {
		t.Errorf("%d characters are shown, the bound is 50000", sum)
	}
	for i, want := range []bool{false, true, true, false} {
		if got := got.Results[i].Path != ""; got != want {
			t.Errorf("result %d spilled: %v, want %v", i+1, got, want)
		}
	}
}

func TestRoomsAreDeterministicAndFair(t *testing.T) {
	s := open(t)
	var calls []tool.Call
	for range 200 {
		calls = append(calls, tool.Call{Name: "t"})
	}
	got := settle(t, s, round.Request{Calls: calls}, round.Config{Tools: []tool.Tool{says("t", strings.Repeat("z", 3000))}})
	for _, r := range got.Results {
		if n := utf8.RuneCountInString(r.Text); n > 1000 || n < 500 {
			t.Fatalf("%s has %d characters; with 200 calls each has the lowest cap, 1000", r.ID, n)
		}
	}
}

func TestSerialToolsRunOneAtATimeOthersInParallel(t *testing.T) {
	var now, most atomic.Int32
	count := func(context.Context, tool.Call) (tool.Result, error) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(20 * time.Millisecond)
		now.Add(-1)
		return tool.Text("x"), nil
	}
	calls := []tool.Call{{Name: "t"}, {Name: "t"}, {Name: "t"}, {Name: "t"}}
	settle(t, open(t), round.Request{Calls: calls}, round.Config{Tools: []tool.Tool{body("t", tool.Traits{Serial: true}, count)}})
	if most.Load() != 1 {
		t.Errorf("%d calls of a serial tool ran at once", most.Load())
	}
	most.Store(0)
	settle(t, open(t), round.Request{Calls: calls}, round.Config{Tools: []tool.Tool{body("t", tool.Traits{}, count)}, Parallel: 3})
	if most.Load() != 3 {
		t.Errorf("%d calls ran at once, want 3", most.Load())
	}
}

func TestACancelAnswersEveryCall(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	stuck := body("stuck", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		cancel()
		select {}
	})
	done := body("done", tool.Traits{ReadOnly: true}, func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("done"), nil })
	var calls []tool.Call
	for range 3 {
		calls = append(calls, tool.Call{Name: "stuck"})
	}
	began := time.Now()
	got, err := round.Settle(ctx, s, round.Request{Conversation: "c", Calls: append(calls, tool.Call{Name: "done"})},
		round.Config{Tools: []tool.Tool{stuck, done}, Parallel: 1, Grace: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if time.Since(began) > 5*time.Second {
		t.Errorf("took %v", time.Since(began))
	}
	outcomes := []history.Outcome{}
	for _, r := range got.Results {
		outcomes = append(outcomes, r.Outcome)
	}
	want := []history.Outcome{history.OutcomeCancelled, history.OutcomeNotStarted, history.OutcomeNotStarted, history.OutcomeNotStarted}
	if d := cmp.Diff(want, outcomes); d != "" {
		t.Errorf("outcomes (-want +got):\n%s", d)
	}
	if r, err := s.FindRound(t.Context(), "c", ""); err != nil || !r.Closed {
		t.Errorf("the round is not closed: %v", err)
	}
}

// A spill folder that cannot be written is no reason to stop: the notice says what was not kept.
func TestLaw04AFolderThatRefusesIsSaid(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, "tool-results"), 0o700); err != nil {
		t.Fatal(err)
	}
	// A file where the conversation's folder should be refuses also for root.
	if err := os.WriteFile(filepath.Join(dir, "tool-results", "c"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	got := settle(t, s, round.Request{Calls: []tool.Call{{Name: "t"}}}, round.Config{
		Tools: []tool.Tool{says("t", strings.Repeat("row\n", 20000))},
		Notify: func(n round.Notice) {
			if n.Event != nil {
				kinds = append(kinds, n.Event.Kind)
			}
		},
	})
	if text := got.Results[0].Text; !strings.Contains(text, "NOT kept") || strings.Contains(text, "tool-results/r1-1") {
		t.Errorf("the notice: %s", text)
	}
	if d := cmp.Diff([]string{round.EventSettled, round.EventUnkept, round.EventClosed}, kinds); d != "" {
		t.Errorf("events (-want +got):\n%s", d)
	}
}

// An image whose file cannot be kept is told of without naming a file.
func TestLaw04APayloadThatIsNotKeptIsNotNamed(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, "tool-results"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tool-results", "c"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	shot := body("shot", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Blocks(tool.Content{Type: "image", MIMEType: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}), nil
	})
	got := settle(t, s, round.Request{Calls: []tool.Call{{Name: "shot"}}}, round.Config{Tools: []tool.Tool{shot}})
	if text := got.Results[0].Text; !strings.HasPrefix(text, "[image: image/png, 8B") || strings.Contains(text, "tool-results") {
		t.Errorf("the model is shown %q", text)
	}
}

func TestCapsBelowTheLowestAreRefused(t *testing.T) {
	s := open(t)
	for name, cfg := range map[string]round.Config{
		"MaxChars":   {MaxChars: 999},
		"RoundChars": {RoundChars: 500},
		"tool t":     {Tools: []tool.Tool{body("t", tool.Traits{MaxChars: 10}, func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil })}},
	} {
		if _, err := round.New(s, cfg); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "1000") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A redaction that panics lets nothing through, and the process goes on.
func TestARedactionThatPanicsLetsNothingThrough(t *testing.T) {
	s := open(t)
	got := settle(t, s, round.Request{Calls: []tool.Call{{Name: "t"}}}, round.Config{
		Tools:  []tool.Tool{says("t", "the secret")},
		Redact: func(context.Context, tool.Call, tool.Result) tool.Result { panic("the secret") },
	})
	if r := got.Results[0]; !r.IsError || strings.Contains(r.Text, "secret") || !strings.Contains(r.Text, "withheld") {
		t.Errorf("%+v", r)
	}
	sound(t, s, "c")
}
