package historytest

import (
	"errors"
	"testing"

	"github.com/weir-run/weir/history"
)

func testTurnStates(t *testing.T, s history.Store) {
	const open, cancelling, waiting, ended = history.TurnOpen, history.TurnCancelling, history.TurnWaiting, history.TurnEnded
	allowed := map[history.TurnState][]history.TurnState{
		open:       {open, cancelling, waiting, ended},
		waiting:    {open, cancelling, waiting, ended},
		cancelling: {cancelling, ended},
		ended:      {},
	}
	for from, to := range allowed {
		for _, next := range []history.TurnState{open, cancelling, waiting, ended, "odd", ""} {
			c := begin(t, s, "c-"+string(from)+"-"+string(next)+"x")
			c.say("", "hello")
			if from != open {
				c.must(s.SetTurn(c.ctx(), c.l, history.TurnChange{Turn: 1, State: from, Reason: "first"}))
			}
			want := history.Turn{N: 1, FirstSeq: 1, State: from, Reason: "first", StartedAt: start}
			if from == open {
				want.Reason = ""
			}
			_, err := s.SetTurn(c.ctx(), c.l, history.TurnChange{Turn: 1, State: next, Reason: "second"})
			may := false
			for _, a := range to {
				may = may || a == next
			}
			switch {
			case may && err != nil:
				t.Errorf("from %s to %s: %v", from, next, err)
			case !may && !errors.Is(err, history.ErrConflict):
				t.Errorf("from %s to %q: %v, want ErrConflict", from, next, err)
			case may:
				want.State, want.Reason = next, "second"
			}
			turns, err := s.TurnsOf(c.ctx(), c.id())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "turns from "+string(from)+" to "+string(next), []history.Turn{want}, turns)
		}
	}
}

func testTurnKey(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.say("k1", "hello")
	c.must(s.SetTurn(c.ctx(), c.l, history.TurnChange{Turn: 1, State: history.TurnEnded, Reason: "done"}))
	c.say("", "without a key")
	before := read(t, s, "c1")
	// The key is what a caller asks for first: it decides before numbers and states do.
	for _, turn := range []int{1, 3} {
		a := history.Append{Messages: []history.Message{{Seq: 3, Turn: turn}}}
		_, err := s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: turn, Key: "k1", Append: a})
		if !errors.Is(err, history.ErrTurnExists) {
			t.Errorf("turn %d with the key of turn 1: %v, want ErrTurnExists", turn, err)
		}
	}
	same(t, "what is stored", before, read(t, s, "c1"))
	c.must(s.SetTurn(c.ctx(), c.l, history.TurnChange{Turn: 2, State: history.TurnEnded}))
	c.say("", "without a key again")
	other := begin(t, s, "c2")
	other.say("k1", "a key is the conversation's own")
}

func testTurnCounters(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.turn++
	a := history.Append{Now: c.now}
	c.open(&a, "[")
	c.add(&a, "user", "hello", "hello", 0)
	c.ask(&a, 5)
	c.must(s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: 1, Append: a}))
	for range 2 {
		o := c.opening("a")
		o.Append.Outcomes = []history.Outcomes{{N: c.request, Outcome: "ok", Usage: history.Usage{In: 10, Out: 7, CacheRead: 3, CacheWrite: 2}}}
		c.must(s.OpenRound(c.ctx(), c.l, o))
		cl := c.closing(1)
		cl.Settled = []history.Settled{c.result(1, "x")}
		c.ask(&cl.Append, 21+16*(c.round-1))
		c.must(s.CloseRound(c.ctx(), c.l, cl))
	}
	end := history.Append{Now: c.now, Outcomes: []history.Outcomes{{N: c.request, Outcome: "cancelled", Usage: history.Usage{Out: 1}}}}
	c.must(s.SetTurn(c.ctx(), c.l, history.TurnChange{Turn: 1, State: history.TurnEnded, Reason: "cancelled", Append: end}))
	turns, err := s.TurnsOf(c.ctx(), c.id())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "turns", []history.Turn{{
		N: 1, FirstSeq: 1, State: history.TurnEnded, Reason: "cancelled", Rounds: 2, Tokens: 15, StartedAt: start,
	}}, turns)
	sound(t, s, "c1")

	// What a request of the turn before cost is not the new turn's.
	a = history.Append{Now: c.now}
	c.ask(&a, 37)
	c.must(s.Append(c.ctx(), c.l, a))
	c.turn++
	a = history.Append{Now: c.now, Outcomes: []history.Outcomes{{N: c.request, Outcome: "failed", Usage: history.Usage{Out: 100}}}}
	c.add(&a, "user", "again", "again", 0)
	c.must(s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: 2, Append: a}))
	if turns, err = s.TurnsOf(c.ctx(), c.id()); err != nil {
		t.Fatal(err)
	}
	if turns[0].Tokens != 115 || turns[1].Tokens != 0 {
		t.Errorf("tokens of the turns are %d and %d, want 115 and 0", turns[0].Tokens, turns[1].Tokens)
	}
}
