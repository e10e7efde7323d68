package historytest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weir-run/weir/history"
)

// testEpochs opens epochs on each other and reads each through its bases.
func testEpochs(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	a := history.Append{Now: start}
	c.open(&a, "[")
	for i := range 6 {
		c.add(&a, "user", "m", fmt.Sprintf("f%d", i+1), 0)
	}
	c.must(s.Append(c.ctx(), c.l, a))
	want := map[int][]string{1: {"f1", "f2", "f3", "f4", "f5", "f6"}}
	for _, e := range []struct {
		base, count int
		own         []string
	}{
		{1, 6, []string{"g7", "g8"}},   // 2: all of its base
		{2, 8, nil},                    // 3: nothing of its own
		{3, 8, []string{"h9"}},         // 4: through two bases
		{0, 0, []string{"i1", "", ""}}, // 5: a fresh start
		{4, 7, []string{"j8"}},         // 6: a part, of which some lies deeper
		{4, 3, []string{"k4"}},         // 7: a part that lies three epochs deep
		{1, 0, []string{"l1"}},         // 8: a base of which nothing is shared
	} {
		n := c.epoch + 1
		a := history.Append{Epoch: &history.Epoch{N: n, Base: e.base, BaseCount: e.count, Head: []byte(fmt.Sprint("head", n)), Reason: "tools"}}
		c.epoch, c.pos = n, e.count
		for _, own := range e.own {
			c.add(&a, "user", "m", own, 0)
		}
		c.must(s.Append(c.ctx(), c.l, a))
		want[n] = append(append([]string{}, want[e.base][:e.count]...), e.own...)
	}
	// An earlier epoch that goes on changes nothing for those that are based on it.
	a = history.Append{Fragments: []history.Fragment{{Epoch: 1, Pos: 7, Seq: 1, Bytes: []byte("f7")}}}
	c.must(s.Append(c.ctx(), c.l, a))
	want[1] = append(want[1], "f7")

	for n, texts := range want {
		for after := 0; after <= len(texts)+1; after++ {
			var got, expect []string
			chain := [32]byte{}
			for _, f := range fragments(t, s, "c1", n, after) {
				if f.Epoch != n || f.Pos != after+1+len(got) {
					t.Errorf("epoch %d after %d: fragment %d of epoch %d", n, after, f.Pos, f.Epoch)
				}
				got = append(got, string(f.Bytes))
				chain = f.Chain
			}
			if after < len(texts) {
				expect = texts[after:]
				is := [32]byte{}
				for _, text := range texts {
					is = history.Chain(is, []byte(text))
				}
				if chain != is {
					t.Errorf("epoch %d: the chain ends in %x, want %x", n, chain, is)
				}
			}
			same(t, fmt.Sprintf("epoch %d after %d", n, after), expect, got)
		}
	}
	sound(t, s, "c1")

	stop := errors.New("enough")
	seen := 0
	err := s.Fragments(c.ctx(), "c1", 4, 0, func(history.Fragment) error {
		if seen++; seen == 7 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || seen != 7 {
		t.Errorf("a reader that stops: %v after %d fragments, want its own error after 7", err, seen)
	}
}

func testRequests(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	a := history.Append{Now: start}
	c.open(&a, `{"messages":[{"role":"system"}`) // a head that ends in an element: a comma stands after it
	c.add(&a, "user", "m", "one", 0)
	c.add(&a, "user", "m", "", 0) // an empty fragment adds nothing
	c.add(&a, "user", "m", "two", 0)
	c.ask(&a, len(",one,two"))
	c.must(s.Append(c.ctx(), c.l, a))
	// A request may end before the last fragment; head and chain are the store's to compute.
	first := fragments(t, s, "c1", 1, 0)[0]
	c.must(s.Append(c.ctx(), c.l, history.Append{Intent: &history.Request{
		N: 2, Epoch: 1, LastPos: 1, Chain: first.Chain, MessageBytes: 4, TotalBytes: int64(len(c.head) + 4 + 2),
	}}))
	c.must(s.Append(c.ctx(), c.l, history.Append{Epoch: &history.Epoch{N: 2, Base: 1, BaseCount: 2, Head: []byte("[")}}))
	c.must(s.Append(c.ctx(), c.l, history.Append{Intent: &history.Request{N: 3, Epoch: 2, LastPos: 2, MessageBytes: 3, TotalBytes: 4}}))
	sound(t, s, "c1")
	requests, err := s.Requests(c.ctx(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	if requests[1].Chain != first.Chain || requests[1].HeadSHA != requests[0].HeadSHA || requests[2].HeadSHA == requests[0].HeadSHA {
		t.Errorf("heads and chains of the requests: %+v", requests)
	}
}

func testEvents(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	var want []history.Event
	for i := range 5 {
		a := history.Append{Events: []history.Event{{Seq: 99, Kind: "a", Data: []byte{byte(i)}}, {Kind: "b", Data: []byte{}}}}
		r := c.must(s.Append(c.ctx(), c.l, a))
		batch := []history.Event{{Seq: int64(2*i + 1), Kind: "a", Data: []byte{byte(i)}}, {Seq: int64(2*i + 2), Kind: "b", Data: []byte{}}}
		same(t, "receipt", history.Receipt{Events: batch}, r)
		want = append(want, batch...)
	}
	for after := range int64(12) {
		got, err := s.Events(c.ctx(), "c1", after)
		if err != nil {
			t.Fatal(err)
		}
		if after >= 10 {
			same(t, "events after the last", 0, len(got))
			continue
		}
		same(t, fmt.Sprintf("events after %d", after), want[after:], got)
	}
}

func testConversations(t *testing.T, s history.Store) {
	// The order is that of their making, whatever their names and clocks say.
	ids := []string{"m", "z", "a", "b"}
	for i, id := range ids {
		c := begin(t, s, "x-"+id)
		if i == 2 {
			if err := s.ReleaseLease(c.ctx(), c.l); err != nil {
				t.Fatal(err)
			}
			c.take(c.id())
		}
	}
	for limit, want := range map[int]string{0: "x-b x-a x-z x-m", 2: "x-b x-a", 9: "x-b x-a x-z x-m"} {
		list, err := s.Conversations(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range list {
			got = append(got, c.ID)
		}
		same(t, fmt.Sprintf("the newest %d", limit), want, strings.Join(got, " "))
	}
}

func testCallOrder(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.say("", "hello")
	tools := strings.Split("a b c d e f g h i j k l", " ") // more than nine: no order by text
	for range 11 {
		c.whole(tools...)
	}
	var last history.CallID
	calls, err := s.CallsOf(c.ctx(), "c1", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range calls {
		if call.ID.Round < last.Round || call.ID.Round == last.Round && call.ID.Index != last.Index+1 {
			t.Fatalf("call %s follows %s", call.ID, last)
		}
		last = call.ID
	}
	for what, n := range map[int]int{0: 132, 1: 12, 11: 12, 12: 0} {
		calls, err := s.CallsOf(c.ctx(), "c1", what)
		if err != nil {
			t.Fatal(err)
		}
		results, err := s.ResultsOf(c.ctx(), "c1", what)
		if err != nil {
			t.Fatal(err)
		}
		if len(calls) != n || len(results) != n {
			t.Errorf("round %d has %d calls and %d results, want %d", what, len(calls), len(results), n)
		}
	}
}

func testNotFound(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	_, conversation := s.Conversation(c.ctx(), "c9")
	_, result := s.ResultOf(c.ctx(), "c1", history.CallID{Round: 1, Index: 1})
	_, round := s.FindRound(c.ctx(), "c9", "")
	epoch := s.Fragments(c.ctx(), "c1", 1, 0, func(history.Fragment) error { return nil })
	_, verify := history.Verify(c.ctx(), s, "c9")
	for name, err := range map[string]error{"Conversation": conversation, "ResultOf": result, "FindRound": round, "Fragments": epoch, "Verify": verify} {
		if !errors.Is(err, history.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", name, err)
		}
	}
	all := read(t, s, "c1") // a list of nothing is no error
	if len(all.Turns)+len(all.Rounds)+len(all.Calls)+len(all.Messages)+len(all.Epochs)+len(all.Requests)+len(all.Events)+len(all.Spills) != 0 {
		t.Errorf("an empty conversation has %+v", all)
	}
}

func testAtOnce(t *testing.T, s history.Store) {
	var wg sync.WaitGroup
	for n := range 16 {
		c := begin(t, s, fmt.Sprintf("c%d", n))
		wg.Go(func() {
			c.say("", "hello")
			for r := range 5 {
				c.whole(fmt.Sprintf("%d of %d", r, n), strings.Repeat("x", 100*n))
			}
		})
	}
	wg.Wait()
	for n := range 16 {
		id := fmt.Sprintf("c%d", n)
		got := read(t, s, id)
		if len(got.Rounds) != 5 || len(got.Results) != 10 || len(got.Messages) != 11 {
			t.Errorf("%s has %d rounds, %d results, %d messages", id, len(got.Rounds), len(got.Results), len(got.Messages))
		}
		for i, r := range got.Results {
			if want := fmt.Sprintf("%d of %d", i/2, n); i%2 == 0 && string(r.Shown) != want {
				t.Errorf("%s: %s is shown as %q, want %q", id, r.ID, r.Shown, want)
			}
		}
		sound(t, s, id)
	}
}

// testOwnWrites reads each write back at once, while others write too.
func testOwnWrites(t *testing.T, s history.Store) {
	var wg sync.WaitGroup
	for n := range 4 {
		c := begin(t, s, fmt.Sprintf("c%d", n))
		wg.Go(func() {
			for i := int64(1); i <= 50; i++ {
				a := history.Append{Now: start, Events: []history.Event{{Kind: "k"}}}
				c.add(&a, "user", "m", "", 0)
				if _, err := s.Append(c.ctx(), c.l, a); err != nil {
					t.Error(err)
					return
				}
				messages, err := s.Messages(c.ctx(), c.id(), i-1)
				if err != nil || len(messages) != 1 || messages[0].Seq != i {
					t.Errorf("after message %d was stored: %v, %v", i, messages, err)
					return
				}
				events, err := s.Events(c.ctx(), c.id(), i-1)
				if err != nil || len(events) != 1 {
					t.Errorf("after event %d was stored: %v, %v", i, events, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// testCancelled: a caller that leaves gets its own context's error, takes nobody along, and what it asked
// for is stored whole or not at all.
func testCancelled(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	done, cancel := context.WithCancel(c.ctx())
	cancel()
	_, err := s.Append(done, c.l, history.Append{Events: []history.Event{{Kind: "k"}}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that had left: %v, want context.Canceled", err)
	}
	if events, err := s.Events(c.ctx(), "c1", 0); err != nil || len(events) != 0 {
		t.Errorf("a caller that had left stored %v, %v", events, err)
	}
	var wg sync.WaitGroup
	others := make([]*chat, 4)
	for n := range others {
		others[n] = begin(t, s, fmt.Sprintf("o%d", n))
		wg.Go(func() {
			o := others[n]
			o.say("", "hello")
			for range 10 {
				o.whole("x")
			}
		})
	}
	for i := range 40 {
		ctx, cancel := context.WithCancel(c.ctx())
		go cancel()
		before, err := s.Events(c.ctx(), "c1", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Append(ctx, c.l, history.Append{Events: []history.Event{{Kind: "a"}, {Kind: "b"}}})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("write %d: %v, want no error or context.Canceled", i, err)
		}
		// This waits behind what may still be on its way.
		c.must(s.Append(c.ctx(), c.l, history.Append{}))
		after, rerr := s.Events(c.ctx(), "c1", 0)
		if rerr != nil {
			t.Fatal(rerr)
		}
		if n := len(after) - len(before); n != 2 && (n != 0 || err == nil) {
			t.Fatalf("write %d ended with %v and stored %d of 2 events", i, err, n)
		}
		cancel()
	}
	wg.Wait()
	for _, o := range others {
		sound(t, s, o.id())
	}
	// A lease that was taken for a caller that left is not lost.
	for range 40 {
		ctx, cancel := context.WithCancel(c.ctx())
		go cancel()
		l, err := s.TakeLease(ctx, history.Take{Conversation: "left", Create: &history.Conversation{ID: "left"}, Run: "r", Now: start})
		switch {
		case err == nil:
			if err := s.ReleaseLease(c.ctx(), l); err != nil {
				t.Fatal(err)
			}
		case !errors.Is(err, context.Canceled):
			t.Fatal(err)
		}
		cancel()
	}
	begin(t, s, "left")
}

// testVerify looks for problems where there are none, also in the middle of everything.
func testVerify(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	sound(t, s, "c1")
	c.turn++
	a := history.Append{Now: start}
	c.open(&a, "[")
	c.add(&a, "user", "hello", "hello", 0)
	c.must(s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: 1, Append: a}))
	sound(t, s, "c1")
	c.whole("a", "b")
	c.must(s.OpenRound(c.ctx(), c.l, c.opening("a", "b")))
	sound(t, s, "c1")
	c.must(s.SettleCalls(c.ctx(), c.l, []history.Settled{c.result(2, "x")}, nil))
	sound(t, s, "c1")
}
