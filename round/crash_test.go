package round_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// errCrash is what a store answers once the process is said to be gone.
var errCrash = errors.New("the process is gone")

// crashing is a store whose process stops before a certain write: from then on nothing is written.
type crashing struct {
	history.Store
	left atomic.Int32
}

func (c *crashing) write() error {
	if c.left.Add(-1) < 0 {
		return errCrash
	}
	return nil
}

func (c *crashing) OpenRound(ctx context.Context, l history.Lease, o history.Opening) (history.Receipt, error) {
	if err := c.write(); err != nil {
		return history.Receipt{}, err
	}
	return c.Store.OpenRound(ctx, l, o)
}

func (c *crashing) StartCalls(ctx context.Context, l history.Lease, s []history.Start) error {
	if err := c.write(); err != nil {
		return err
	}
	return c.Store.StartCalls(ctx, l, s)
}

func (c *crashing) SettleCalls(ctx context.Context, l history.Lease, s []history.Settled, e []history.Event) (history.Receipt, error) {
	if err := c.write(); err != nil {
		return history.Receipt{}, err
	}
	return c.Store.SettleCalls(ctx, l, s, e)
}

func (c *crashing) CloseRound(ctx context.Context, l history.Lease, x history.Closing) (history.Receipt, error) {
	if err := c.write(); err != nil {
		return history.Receipt{}, err
	}
	return c.Store.CloseRound(ctx, l, x)
}

// Stop a round before each of its writes and go on with the same key: every call is answered, one that
// may not be repeated ran at most once, and a result that was stored stays.
func TestLaw05ACrashBeforeAnyWrite(t *testing.T) {
	for before := range 8 {
		t.Run(fmt.Sprint(before), func(t *testing.T) {
			s := open(t)
			var once, again atomic.Int32
			tools := []tool.Tool{
				body("once", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
					return tool.Text(fmt.Sprint("once ", once.Add(1))), nil
				}),
				body("again", tool.Traits{Idempotent: true}, func(context.Context, tool.Call) (tool.Result, error) {
					again.Add(1)
					return tool.Text("again"), nil
				}),
				body("long", tool.Traits{ReadOnly: true}, func(context.Context, tool.Call) (tool.Result, error) {
					return tool.Text(strings.Repeat("row\n", 10000)), nil
				}),
			}
			r := round.Request{Conversation: "c", Key: "m", Calls: []tool.Call{{Name: "once"}, {Name: "again"}, {Name: "once"}, {Name: "long"}}}
			cfg := round.Config{Tools: tools, Parallel: 1}
			broken := &crashing{Store: s}
			broken.left.Store(int32(before))
			first, err := round.Settle(t.Context(), broken, r, cfg)
			if err != nil && !errors.Is(err, errCrash) {
				t.Fatal(err)
			}
			stored, err := s.ResultsOf(t.Context(), "c", 0)
			if err != nil && !errors.Is(err, history.ErrNotFound) {
				t.Fatal(err)
			}
			got := settle(t, s, r, cfg)
			if len(got.Results) != 4 {
				t.Fatalf("%d results for 4 calls", len(got.Results))
			}
			if once.Load() > 2 {
				t.Errorf("two calls that may not be repeated ran %d times", once.Load())
			}
			if len(first.Results) > 0 {
				if d := cmp.Diff(texts(first), texts(got)); d != "" {
					t.Errorf("what was given back changed:\n%s", d)
				}
			}
			for _, old := range stored {
				now, err := s.ResultOf(t.Context(), "c", old.ID)
				if err != nil || now.SHA256 != old.SHA256 {
					t.Errorf("%s was stored and is not what it was: %v", old.ID, err)
				}
			}
			for _, i := range []int{0, 2} {
				text := got.Results[i].Text
				if !strings.HasPrefix(text, "once ") && !strings.Contains(text, "It may have taken effect") {
					t.Errorf("r1-%d: %s", i+1, text)
				}
			}
			if problems, err := history.Verify(t.Context(), s, "c"); err != nil || len(problems) > 0 {
				t.Errorf("verify: %v %v", problems, err)
			}
		})
	}
}

// A call that stops the process each time it is begun is not begun for ever.
func TestACallIsBegunAtMostThreeTimes(t *testing.T) {
	s := open(t)
	var ran atomic.Int32
	bad := body("bad", tool.Traits{Idempotent: true}, func(context.Context, tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text("x"), nil
	})
	r := round.Request{Conversation: "c", Key: "m", Calls: []tool.Call{{Name: "bad"}}}
	cfg := round.Config{Tools: []tool.Tool{bad}}
	for range 6 {
		broken := &crashing{Store: s}
		broken.left.Store(1) // the first write is stored, that of the result is not
		if _, err := round.Settle(t.Context(), broken, r, cfg); err == nil {
			break
		}
	}
	got := settle(t, s, r, cfg)
	if ran.Load() != round.MaxAttempts || !strings.Contains(got.Results[0].Text, "begun 3 times") {
		t.Errorf("begun %d times: %s", ran.Load(), got.Results[0].Text)
	}
}

// A round that its host does not come back to is answered before the next one; nothing of it is run.
func TestANewRoundAnswersTheOneThatWasLeft(t *testing.T) {
	s := open(t)
	var ran atomic.Int32
	one := body("t", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text("x"), nil
	})
	cfg := round.Config{Tools: []tool.Tool{one}, Parallel: 1}
	broken := &crashing{Store: s}
	broken.left.Store(1)
	_, _ = round.Settle(t.Context(), broken, round.Request{Conversation: "c", Calls: []tool.Call{{Name: "t"}, {Name: "t"}}}, cfg)
	before := ran.Load()
	got := settle(t, s, round.Request{Calls: []tool.Call{{Name: "t"}}}, cfg)
	if got.N != 2 || ran.Load() != before+1 {
		t.Errorf("round %d, %d bodies ran, want %d", got.N, ran.Load(), before+1)
	}
	left, err := s.FindRound(t.Context(), "c", "")
	if err != nil || left.N != 2 || !left.Closed {
		t.Errorf("latest round %+v, %v", left, err)
	}
	calls, err := s.CallsOf(t.Context(), "c", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if c.State != history.CallAnswered {
			t.Errorf("%s is %s", c.ID, c.State)
		}
	}
}
