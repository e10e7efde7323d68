package round_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// outer is a tool whose body dispatches.
func outer(name string, run func(ctx context.Context, d tool.Dispatcher) (string, error)) tool.Tool {
	return body(name, tool.Traits{Dispatches: true}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		r, _ := tool.CallFrom(ctx)
		text, err := run(ctx, r.Dispatch)
		return tool.Text(text), err
	})
}

func whole(t testing.TB, w tool.Whole) string {
	t.Helper()
	text, err := io.ReadAll(io.NewSectionReader(w.Text, 0, w.Bytes))
	if err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	return string(text)
}

// An inner call gives its whole result, also one over the cap, is stored below its caller, and leaves what
// the model is shown alone.
func TestInnerCallsGiveTheWholeAndAreStored(t *testing.T) {
	s := open(t)
	long := strings.Repeat("a line of a long result\n", 5000)
	structured := body("structured", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Data: "text", Structured: []byte(`{"z":9007199254740993,"a":1}`)}, nil
	})
	script := outer("script", func(ctx context.Context, d tool.Dispatcher) (string, error) {
		waits := []func() (tool.Whole, error){
			d.Begin(ctx, "long", nil), d.Begin(ctx, "structured", nil), d.Begin(ctx, "nothing", nil), d.Begin(ctx, "script", nil),
		}
		var said []string
		for i, wait := range waits {
			w, err := wait()
			if err != nil {
				return "", err
			}
			text := whole(t, w)
			if i == 0 && text != long {
				t.Errorf("the long one came as %d of %d bytes", len(text), len(long))
			}
			said = append(said, fmt.Sprintf("%s %v %s %.40s", w.ID, w.IsError, w.Structured, text))
		}
		return strings.Join(said, "\n"), nil
	})
	got := settle(t, s, round.Request{Calls: []tool.Call{{ID: "a", Name: "script"}}},
		round.Config{Tools: []tool.Tool{says("long", long), structured, script}})
	want := []string{`r1-1.1 false  a line of a long result
a line of a long
r1-1.2 false {"z":9007199254740993,"a":1} text
r1-1.3 true  there is no tool named "nothing". The to
r1-1.4 true  script cannot be called from inside anot`}
	if d := cmp.Diff(want, texts(got)); d != "" {
		t.Errorf("what the script said (-want +got):\n%s", d)
	}
	calls, err := s.CallsOf(t.Context(), "c", 1)
	if err != nil {
		t.Fatal(err)
	}
	var stored []string
	for _, c := range calls {
		stored = append(stored, fmt.Sprintf("%s %s %s", c.ID, c.Tool, c.State))
	}
	wantCalls := []string{"r1-1 script answered", "r1-1.1 long answered", "r1-1.2 structured answered", "r1-1.3 nothing answered", "r1-1.4 script answered"}
	if d := cmp.Diff(wantCalls, stored); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	sound(t, s, "c")
}

// sound holds that what is stored holds together.
func sound(t testing.TB, s history.Store, conversation string) {
	t.Helper()
	problems, err := history.Verify(t.Context(), s, conversation)
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) > 0 {
		t.Errorf("verify: %v", problems)
	}
}

// Callers that wait for inner calls hold no slot: as many callers as there are slots do not lock up.
func TestCallersThatWaitHoldNoSlot(t *testing.T) {
	var most, now atomic.Int32
	leaf := body("leaf", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return tool.Text("leaf"), nil
	})
	script := outer("script", func(ctx context.Context, d tool.Dispatcher) (string, error) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				w, err := d.Do(ctx, "leaf", nil)
				if err != nil {
					t.Error(err)
					return
				}
				if text := whole(t, w); text != "leaf" {
					t.Errorf("%s: %s", w.ID, text)
				}
			})
		}
		wg.Wait()
		return "done", nil
	})
	var calls []tool.Call
	for i := range 8 {
		calls = append(calls, tool.Call{ID: fmt.Sprint(i), Name: "script"})
	}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	got, err := round.Settle(ctx, open(t), round.Request{Conversation: "c", Calls: calls},
		round.Config{Tools: []tool.Tool{leaf, script}, Parallel: 8})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range got.Results {
		if r.Text != "done" {
			t.Errorf("%s: %s", r.ID, r.Text)
		}
	}
	if n := most.Load(); n > 8 {
		t.Errorf("%d inner calls ran at a time, 8 are allowed", n)
	}
}

// A call that nobody waits for ends with its caller, and has its result.
func TestAForgottenInnerCallEndsWithItsCaller(t *testing.T) {
	s := open(t)
	begun := make(chan struct{})
	hang := body("hang", tool.Traits{}, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		close(begun)
		<-ctx.Done()
		time.Sleep(200 * time.Millisecond) // longer than a round takes to close
		return tool.Result{}, ctx.Err()
	})
	script := outer("script", func(ctx context.Context, d tool.Dispatcher) (string, error) {
		d.Begin(ctx, "hang", nil)
		<-begun
		return "left", nil
	})
	got := settle(t, s, round.Request{Calls: []tool.Call{{ID: "a", Name: "script"}}}, round.Config{Tools: []tool.Tool{hang, script}})
	if d := cmp.Diff([]string{"left"}, texts(got)); d != "" {
		t.Error(d)
	}
	r, err := s.ResultOf(t.Context(), "c", history.CallID{Round: 1, Index: 1, Sub: 1})
	if err != nil || !r.IsError {
		t.Errorf("the forgotten call has %v, %v", r.IsError, err)
	}
	sound(t, s, "c")
}

// Approvals hold for inner calls too; one that would have to be asked about is refused.
func TestInnerCallsAreApproved(t *testing.T) {
	var ran atomic.Int32
	write := body("write", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text("written"), nil
	})
	for _, c := range []struct {
		verdict round.Verdict
		want    string
		ran     int32
	}{
		{round.Allow, "written", 1},
		{round.Deny, "write was not run: it was not approved: no", 0},
		{round.Ask, "write was not run: it was not approved: it needs an approval, which cannot be asked for from inside another call; call it directly", 0},
	} {
		ran.Store(0)
		script := outer("script", func(ctx context.Context, d tool.Dispatcher) (string, error) {
			w, err := d.Do(ctx, "write", nil)
			if err != nil {
				return "", err
			}
			return whole(t, w), nil
		})
		got := settle(t, open(t), round.Request{Calls: []tool.Call{{ID: "a", Name: "script"}}}, round.Config{
			Tools: []tool.Tool{write, script},
			Approve: func(_ context.Context, q round.Question) (round.Decision, error) {
				if q.Tool.Name == "script" {
					return round.Decision{Verdict: round.Allow}, nil
				}
				return round.Decision{Verdict: c.verdict, Reason: "no"}, nil
			},
		})
		if d := cmp.Diff([]string{c.want}, texts(got)); d != "" || ran.Load() != c.ran {
			t.Errorf("verdict %d: ran %d times, %s", c.verdict, ran.Load(), d)
		}
	}
}

// A caller that crashed is run again only when all that it called may be: what it did must not happen twice.
func TestACallerIsRunAgainOnlyWhenItsCallsMayBe(t *testing.T) {
	for _, c := range []struct {
		name   string
		inner  string
		starts int32
		want   string
	}{
		{"reads", "read", 2, "done"},
		{"writes", "write", 1, "script has no result: it was interrupted: the process stopped while it ran. It may have taken effect, and it was not repeated: find out before you call it again."},
		{"nothing", "", 2, "done"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			var starts atomic.Int32
			read := body("read", tool.Traits{ReadOnly: true}, func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("read"), nil })
			write := says("write", "written")
			script := outer("script", func(ctx context.Context, d tool.Dispatcher) (string, error) {
				starts.Add(1)
				if c.inner != "" {
					w, err := d.Do(ctx, c.inner, nil)
					if err != nil {
						return "", err
					}
					_ = w.Close()
				}
				return "done", nil
			})
			cfg := round.Config{Tools: []tool.Tool{read, write, script}}
			dying := &closing{Store: s}
			if _, err := round.Settle(t.Context(), dying, round.Request{Conversation: "c", Key: "k", Calls: []tool.Call{{ID: "a", Name: "script"}}}, cfg); !errors.Is(err, errCrash) {
				t.Fatalf("the crash came as %v", err)
			}
			got := settle(t, s, round.Request{Key: "k"}, cfg)
			if d := cmp.Diff([]string{c.want}, texts(got)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if starts.Load() != c.starts {
				t.Errorf("begun %d times, want %d", starts.Load(), c.starts)
			}
			sound(t, s, "c")
		})
	}
}

// closing is a store whose process stops when a round is to be closed.
type closing struct{ history.Store }

func (c *closing) CloseRound(context.Context, history.Lease, history.Closing) (history.Receipt, error) {
	return history.Receipt{}, errCrash
}

// A script lists the results of earlier rounds and opens each whole, whatever the model saw of it.
func TestStoredResultsAreReadWhole(t *testing.T) {
	s := open(t)
	long := strings.Repeat("0123456789\n", 10_000)
	script := outer("script", func(ctx context.Context, d tool.Dispatcher) (string, error) {
		for { // what stands beside it in its round can be opened, and is not listed: it is there or not, as it happens
			w, err := d.Result(ctx, "r2-1")
			if err == nil {
				_ = w.Close()
				break
			}
			if !errors.Is(err, tool.ErrNoResult) {
				return "", err
			}
			time.Sleep(time.Millisecond)
		}
		all, err := d.Results(ctx)
		if err != nil {
			return "", err
		}
		var said []string
		for _, r := range all {
			w, err := d.Result(ctx, r.ID)
			if err != nil {
				return "", err
			}
			said = append(said, fmt.Sprintf("%s %s %s %d %d %s", r.ID, r.Tool, r.Args, r.Chars, len(whole(t, w)), w.Path))
		}
		_, err = d.Result(ctx, "r9-9")
		said = append(said, fmt.Sprint(errors.Is(err, tool.ErrNoResult), " ", err))
		_, err = d.Result(ctx, "nine")
		said = append(said, fmt.Sprint(errors.Is(err, tool.ErrNoResult), " ", err))
		return strings.Join(said, "\n"), nil
	})
	cfg := round.Config{Tools: []tool.Tool{says("long", long), says("short", "s"), script}}
	settle(t, s, round.Request{Calls: []tool.Call{{ID: "a", Name: "long", Args: []byte(`{"n": 1}`)}, {ID: "b", Name: "short"}}}, cfg)
	got := settle(t, s, round.Request{Calls: []tool.Call{{ID: "a", Name: "short"}, {ID: "b", Name: "script"}}}, cfg)
	want := []string{"s", `r1-1 long {"n": 1} 110000 110000 tool-results/r1-1-long.txt
r1-2 short  1 1 tool-results/r1-2-short.txt
true there is no result "r9-9"; the latest are r1-1, r1-2
true result id "nine": an id looks like r3-1`}
	if d := cmp.Diff(want, texts(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
