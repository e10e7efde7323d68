package historytest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
)

func testCreate(t *testing.T, s history.Store) {
	ctx := t.Context()
	_, err := s.TakeLease(ctx, history.Take{Conversation: "c1", Run: "a", Now: start})
	if !errors.Is(err, history.ErrNotFound) {
		t.Errorf("a conversation that is not there: %v, want ErrNotFound", err)
	}
	want := history.Conversation{
		ID: "c1", Title: "größer \x00 < & >", CreatedAt: start, Parent: "p", ForkRound: 3, Settings: []byte("{\"a\": \x00}"),
	}
	l, err := s.TakeLease(ctx, history.Take{Conversation: "c1", Create: &want, Run: "a", Now: start})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "lease", history.Lease{
		Conversation: "c1", Holder: l.Holder, Run: "a", Fence: 1, Expires: start.Add(history.LeaseTime),
	}, l)
	got, err := s.Conversation(ctx, "c1")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "conversation", want, got)
	if err := s.ReleaseLease(ctx, l); err != nil {
		t.Fatal(err)
	}
	other := want
	other.Title = "another"
	if _, err := s.TakeLease(ctx, history.Take{Conversation: "c1", Create: &other, Run: "b", Now: start}); err != nil {
		t.Fatal(err)
	}
	if got, err = s.Conversation(ctx, "c1"); err != nil {
		t.Fatal(err)
	}
	same(t, "a conversation that was there", want, got)

	for _, id := range []string{"", ".", ".hidden", "a/b", "a\\b", "a b", "ä", "a\x00", strings.Repeat("x", 101)} {
		_, err := s.TakeLease(ctx, history.Take{Conversation: id, Create: &history.Conversation{ID: id}, Run: "r", Now: start})
		if !errors.Is(err, history.ErrConflict) {
			t.Errorf("create %q: %v, want ErrConflict", id, err)
		}
	}
	_, err = s.TakeLease(ctx, history.Take{Conversation: "c3", Create: &history.Conversation{ID: "c2"}, Run: "r", Now: start})
	if !errors.Is(err, history.ErrConflict) {
		t.Errorf("create c2 as c3: %v, want ErrConflict", err)
	}
}

func testExclusive(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	// Whether the lease has expired or not: its holder lives.
	for _, now := range []time.Time{start, start.Add(time.Hour)} {
		_, err := s.TakeLease(t.Context(), history.Take{Conversation: "c1", Run: "other", Now: now})
		var busy *history.BusyError
		if !errors.As(err, &busy) {
			t.Fatalf("a second run: %v, want *BusyError", err)
		}
		same(t, "busy", history.BusyError{
			Conversation: "c1", Holder: c.l.Holder, Until: start.Add(history.LeaseTime), Here: true,
		}, *busy)
	}
	begin(t, s, "c2") // another conversation is free
}

// testTakeOver: a live holder is left its lease until it expires, and then only who asks for it gets it.
func testTakeOver(t *testing.T, s history.Store) {
	ctx := t.Context()
	c := begin(t, s, "c1")
	c.say("", "hello")
	old, end := c.l, start.Add(history.LeaseTime)
	for name, k := range map[string]history.Take{
		"before its end": {Now: end.Add(-time.Millisecond), TakeOver: true},
		"not asked for":  {Now: end.Add(time.Hour)},
	} {
		k.Conversation, k.Run = "c1", "other"
		var busy *history.BusyError
		if _, err := s.TakeLease(ctx, k); !errors.As(err, &busy) {
			t.Errorf("take-over %s: %v, want *BusyError", name, err)
		}
	}
	l, err := s.TakeLease(ctx, history.Take{Conversation: "c1", Run: "other", Now: end, TakeOver: true})
	if err != nil || l.Fence != 2 {
		t.Fatalf("take-over of an expired lease: fence %d, %v, want 2", l.Fence, err)
	}
	if _, err := s.Append(ctx, old, history.Append{Events: []history.Event{{Kind: "k"}}}); !errors.Is(err, history.ErrStale) {
		t.Errorf("the driver that was taken over: %v, want ErrStale", err)
	}
	if _, err := s.RenewLease(ctx, old, end); !errors.Is(err, history.ErrStale) {
		t.Errorf("its renewal: %v, want ErrStale", err)
	}
	if err := s.ReleaseLease(ctx, old); err != nil {
		t.Errorf("its release: %v", err)
	}
	c.l = l
	c.whole("the new driver goes on")
	sound(t, s, "c1")
}

func testFence(t *testing.T, s history.Store) {
	ctx := t.Context()
	c := begin(t, s, "c1")
	renewed, err := s.RenewLease(ctx, c.l, start.Add(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	want := c.l
	want.Expires = start.Add(10*time.Second + history.LeaseTime)
	same(t, "renewed lease", want, renewed)
	c.l = renewed
	c.say("", "hello") // a renewed lease writes
	for fence := int64(2); fence < 5; fence++ {
		if err := s.ReleaseLease(ctx, c.l); err != nil {
			t.Fatal(err)
		}
		c.take("c1")
		if c.l.Fence != fence {
			t.Fatalf("fence %d after it was released, want %d", c.l.Fence, fence)
		}
	}
}

func testStale(t *testing.T, s history.Store) {
	ctx := t.Context()
	c := begin(t, s, "c1")
	c.say("", "hello")
	c.must(s.OpenRound(ctx, c.l, c.opening("a")))
	old := c.l
	if err := s.ReleaseLease(ctx, old); err != nil {
		t.Fatal(err)
	}
	before := read(t, s, "c1")
	refused := func(when string) {
		t.Helper()
		a := history.Append{Now: start, Events: []history.Event{{Kind: "k"}}}
		_, renew := s.RenewLease(ctx, old, start)
		_, begin := s.BeginTurn(ctx, old, history.Begin{Turn: 2, Append: a})
		_, add := s.Append(ctx, old, a)
		_, set := s.SetTurn(ctx, old, history.TurnChange{Turn: 1, State: history.TurnCancelling})
		_, open := s.OpenRound(ctx, old, history.Opening{Round: 2})
		begun := s.StartCalls(ctx, old, []history.Start{{ID: history.CallID{Round: 1, Index: 1}}})
		_, settle := s.SettleCalls(ctx, old, []history.Settled{c.result(1, "x")}, nil)
		_, closing := s.CloseRound(ctx, old, history.Closing{Round: 1, Settled: []history.Settled{c.result(1, "x")}})
		for name, err := range map[string]error{
			"RenewLease": renew, "BeginTurn": begin, "Append": add, "SetTurn": set, "OpenRound": open,
			"StartCalls": begun, "SettleCalls": settle, "CloseRound": closing,
		} {
			if !errors.Is(err, history.ErrStale) {
				t.Errorf("%s %s: %v, want ErrStale", name, when, err)
			}
		}
	}
	refused("after the release")
	c.take("c1")
	refused("after another took it")
	for name, l := range map[string]history.Lease{
		"another holder": {Conversation: "c1", Holder: "x", Run: c.l.Run, Fence: c.l.Fence},
		"another run":    {Conversation: "c1", Holder: c.l.Holder, Run: "x", Fence: c.l.Fence},
		"a newer fence":  {Conversation: "c1", Holder: c.l.Holder, Run: c.l.Run, Fence: c.l.Fence + 1},
		"a conversation that is not there": {
			Conversation: "c9", Holder: c.l.Holder, Run: c.l.Run, Fence: c.l.Fence,
		},
	} {
		if _, err := s.Append(ctx, l, history.Append{}); !errors.Is(err, history.ErrStale) {
			t.Errorf("%s: %v, want ErrStale", name, err)
		}
	}
	same(t, "what is stored", before, read(t, s, "c1"))
	if err := s.ReleaseLease(ctx, old); err != nil {
		t.Errorf("release of a lease that was taken over: %v, want no error", err)
	}
	c.must(s.SettleCalls(ctx, c.l, []history.Settled{c.result(1, "x")}, nil))
}
