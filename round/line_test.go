package round_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

func line(t *testing.T, s history.Store, cfg round.Config) *round.Line {
	t.Helper()
	settler, err := round.New(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	l, err := settler.Line(t.Context(), "mcp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(context.WithoutCancel(t.Context())) })
	return l
}

// Each call is a round, numbered on arrival; a long one keeps no other waiting.
func TestALineNumbersCallsOnArrival(t *testing.T) {
	s := open(t)
	begun, let := make(chan struct{}), make(chan struct{})
	slow := body("slow", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		close(begun)
		<-let
		return tool.Text("slow"), nil
	})
	l := line(t, s, round.Config{Tools: []tool.Tool{slow, says("fast", "fast")}})
	var first round.Settled
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if first, err = l.Do(t.Context(), tool.Call{Name: "slow"}); err != nil {
			t.Error(err)
		}
	})
	<-begun
	second, err := l.Do(t.Context(), tool.Call{Name: "fast"})
	if err != nil {
		t.Fatal(err)
	}
	close(let)
	wg.Wait()
	got := []string{first.ID.String(), first.Text, second.ID.String(), second.Text}
	if d := cmp.Diff([]string{"r1-1", "slow", "r2-1", "fast"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	sound(t, s, "mcp")
}

// Many at once all get their result, and what is stored holds together.
func TestALineTakesManyCalls(t *testing.T) {
	s := open(t)
	l := line(t, s, round.Config{Tools: []tool.Tool{says("t", "text")}})
	seen := make([]bool, 201)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 200 {
		wg.Go(func() {
			r, err := l.Do(t.Context(), tool.Call{Name: "t"})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if seen[r.ID.Round] {
				t.Errorf("two calls are %s", r.ID)
			}
			seen[r.ID.Round] = true
		})
	}
	wg.Wait()
	sound(t, s, "mcp")
}

// What a crash leaves open is answered by the next process: what ran is unknown, and is not repeated.
func TestALineAnswersWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	settler, err := round.New(&closing{Store: s}, round.Config{Tools: []tool.Tool{says("t", "text")}})
	if err != nil {
		t.Fatal(err)
	}
	dying, err := settler.Line(t.Context(), "mcp")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := dying.Do(t.Context(), tool.Call{Name: "t"}); !errors.Is(err, errCrash) {
			t.Fatalf("the crash came as %v", err)
		}
	}
	if err := dying.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := line(t, s, round.Config{Tools: []tool.Tool{says("t", "text")}})
	next, err := l.Do(t.Context(), tool.Call{Name: "t"})
	if err != nil || next.ID.String() != "r4-1" {
		t.Fatalf("the next call is %s, %v", next.ID, err)
	}
	calls, err := s.CallsOf(t.Context(), "mcp", 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range calls {
		got = append(got, fmt.Sprintf("%s %s %s", c.ID, c.State, c.Outcome))
	}
	want := []string{"r1-1 answered unknown", "r2-1 answered unknown", "r3-1 answered unknown", "r4-1 answered done"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	sound(t, s, "mcp")
}

// A line has its conversation to itself, and gives it back.
func TestALineEnds(t *testing.T) {
	s := open(t)
	started := make(chan struct{})
	hang := body("hang", tool.Traits{}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(started)
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	})
	cfg := round.Config{Tools: []tool.Tool{hang}}
	l := line(t, s, cfg)
	settler, err := round.New(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := settler.Line(t.Context(), "mcp"); !errors.As(err, new(*history.BusyError)) {
		t.Errorf("a second line: %v", err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		r, err := l.Do(t.Context(), tool.Call{Name: "hang"})
		if err != nil || !r.IsError {
			t.Errorf("the call that was ended: %+v, %v", r, err)
		}
	})
	<-started
	if err := l.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	if _, err := l.Do(t.Context(), tool.Call{Name: "hang"}); !errors.Is(err, round.ErrLineEnded) {
		t.Errorf("a call after the end: %v", err)
	}
	again, err := settler.Line(t.Context(), "mcp")
	if err != nil {
		t.Fatalf("the conversation was not given back: %v", err)
	}
	_ = again.Close(t.Context())
	sound(t, s, "mcp")
}
