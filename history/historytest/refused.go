package historytest

import (
	"errors"
	"testing"

	"github.com/weir-run/weir/history"
)

// testRefused tries writes that do not fit what is stored, at three points of a conversation. Each is
// ErrConflict, names what was expected where that is a number, and leaves everything as it was.
func testRefused(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.turn++
	a := history.Append{Now: c.now}
	c.open(&a, "[")
	c.add(&a, "user", "hello", "hello", 0)
	c.ask(&a, 5)
	c.must(s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: 1, Append: a}))

	opening := func(change func(*history.Opening)) error {
		keep := *c
		o := c.opening("a", "b")
		*c = keep
		change(&o)
		_, err := s.OpenRound(c.ctx(), c.l, o)
		return err
	}
	add := func(a history.Append) error { _, err := s.Append(c.ctx(), c.l, a); return err }
	message := func(m history.Message) error { return add(history.Append{Messages: []history.Message{m}}) }
	fragment := func(f history.Fragment) error { return add(history.Append{Fragments: []history.Fragment{f}}) }
	epoch := func(e history.Epoch) error { return add(history.Append{Epoch: &e}) }
	intent := func(r history.Request) error { return add(history.Append{Intent: &r}) }
	outcome := func(n int, name string) error {
		return add(history.Append{Outcomes: []history.Outcomes{{N: n, Outcome: name}}})
	}
	closing := func(change func(*history.Closing)) error {
		keep := *c
		cl := c.closing(2)
		cl.Settled = []history.Settled{c.result(1, "x"), c.result(2, "y")}
		*c = keep
		change(&cl)
		_, err := s.CloseRound(c.ctx(), c.l, cl)
		return err
	}
	state := func(turn int, state history.TurnState) error {
		_, err := s.SetTurn(c.ctx(), c.l, history.TurnChange{Turn: turn, State: state})
		return err
	}
	turn := func(n int) error { _, err := s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: n}); return err }
	begun := func(st history.Start) error { return s.StartCalls(c.ctx(), c.l, []history.Start{st}) }
	id := func(r, i int) history.CallID { return history.CallID{Round: r, Index: i} }

	check := func(at string, writes map[string]func() error) {
		t.Helper()
		before := read(t, s, "c1")
		for name, write := range writes {
			if err := write(); !errors.Is(err, history.ErrConflict) {
				t.Errorf("%s, %s: %v, want ErrConflict", at, name, err)
			}
			same(t, "what is stored, "+at+", after "+name, before, read(t, s, "c1"))
		}
	}

	check("with no round open", map[string]func() error{
		"message 3":                  func() error { return message(history.Message{Seq: 3, Turn: 1}) },
		"message 1 again":            func() error { return message(history.Message{Seq: 1, Turn: 1}) },
		"message of a later turn":    func() error { return message(history.Message{Seq: 2, Turn: 2}) },
		"fragment 3":                 func() error { return fragment(history.Fragment{Epoch: 1, Pos: 3, Seq: 1}) },
		"fragment 1 again":           func() error { return fragment(history.Fragment{Epoch: 1, Pos: 1, Seq: 1}) },
		"fragment of no epoch":       func() error { return fragment(history.Fragment{Epoch: 2, Pos: 1, Seq: 1}) },
		"fragment of no message":     func() error { return fragment(history.Fragment{Epoch: 1, Pos: 2, Seq: 2}) },
		"fragment with a bad chain":  func() error { return fragment(history.Fragment{Epoch: 1, Pos: 2, Seq: 1, Chain: [32]byte{1}}) },
		"epoch 3":                    func() error { return epoch(history.Epoch{N: 3}) },
		"epoch 1 again":              func() error { return epoch(history.Epoch{N: 1}) },
		"epoch on itself":            func() error { return epoch(history.Epoch{N: 2, Base: 2}) },
		"epoch on too many":          func() error { return epoch(history.Epoch{N: 2, Base: 1, BaseCount: 2}) },
		"epoch on fewer than none":   func() error { return epoch(history.Epoch{N: 2, Base: 1, BaseCount: -1}) },
		"epoch on some of nothing":   func() error { return epoch(history.Epoch{N: 2, BaseCount: 1}) },
		"epoch with a bad head hash": func() error { return epoch(history.Epoch{N: 2, HeadSHA: [32]byte{1}}) },
		"request 3":                  func() error { return intent(history.Request{N: 3, Epoch: 1, LastPos: 1}) },
		"request of no epoch":        func() error { return intent(history.Request{N: 2, Epoch: 2, LastPos: 1}) },
		"request of no fragment":     func() error { return intent(history.Request{N: 2, Epoch: 1, LastPos: 2}) },
		"request of another chain":   func() error { return intent(history.Request{N: 2, Epoch: 1, LastPos: 1, Chain: [32]byte{1}}) },
		"request of another head":    func() error { return intent(history.Request{N: 2, Epoch: 1, LastPos: 1, HeadSHA: [32]byte{1}}) },
		"outcome of no request":      func() error { return outcome(2, "ok") },
		"outcome without a name":     func() error { return outcome(1, "") },
		"outcome twice": func() error {
			return add(history.Append{Outcomes: []history.Outcomes{{N: 1, Outcome: "ok"}, {N: 1, Outcome: "ok"}}})
		},
		"a turn in an open turn":  func() error { return turn(2) },
		"a change of no turn":     func() error { return state(2, history.TurnEnded) },
		"round 2":                 func() error { return opening(func(o *history.Opening) { o.Round = 2 }) },
		"round 0":                 func() error { return opening(func(o *history.Opening) { o.Round = 0 }) },
		"a round of another turn": func() error { return opening(func(o *history.Opening) { o.Turn = 2 }) },
		"a round with no calls":   func() error { return opening(func(o *history.Opening) { o.Calls = nil }) },
		"calls out of order": func() error {
			return opening(func(o *history.Opening) { o.Calls[0], o.Calls[1] = o.Calls[1], o.Calls[0] })
		},
		"calls of another round": func() error { return opening(func(o *history.Opening) { o.Calls[1].ID.Round = 2 }) },
		"a call that is settled": func() error { return opening(func(o *history.Opening) { o.Calls[1].State = history.CallSettled }) },
		"a call in no state":     func() error { return opening(func(o *history.Opening) { o.Calls[1].State = "" }) },
		"a close":                func() error { return closing(func(cl *history.Closing) { cl.Round = 1 }) },
		"a start":                func() error { return begun(history.Start{ID: id(1, 1)}) },
	})

	c.must(s.OpenRound(c.ctx(), c.l, c.opening("a", "b")))
	if err := begun(history.Start{ID: id(1, 1), Attempt: 2}); err != nil {
		t.Fatal(err)
	}
	check("with a round open", map[string]func() error{
		"another round":            func() error { return opening(func(*history.Opening) {}) },
		"the end of the turn":      func() error { return state(1, history.TurnEnded) },
		"a close of another round": func() error { return closing(func(cl *history.Closing) { cl.Round = 2 }) },
		"a close without a result": func() error { return closing(func(cl *history.Closing) { cl.Settled = cl.Settled[:1] }) },
		"one call not shown":       func() error { return closing(func(cl *history.Closing) { cl.Shown = cl.Shown[:1] }) },
		"shown out of order": func() error {
			return closing(func(cl *history.Closing) { cl.Shown[0], cl.Shown[1] = cl.Shown[1], cl.Shown[0] })
		},
		"no results message":         func() error { return closing(func(cl *history.Closing) { cl.Append = history.Append{} }) },
		"a results message too far":  func() error { return closing(func(cl *history.Closing) { cl.Append.Messages[0].Seq++ }) },
		"another text as the same":   func() error { return closing(func(cl *history.Closing) { cl.Shown[0].Text = []byte("z") }) },
		"an unknown outcome":         func() error { return closing(func(cl *history.Closing) { cl.Settled[0].Outcome = "odd" }) },
		"no outcome":                 func() error { return closing(func(cl *history.Closing) { cl.Settled[0].Outcome = "" }) },
		"a result of no call":        func() error { return closing(func(cl *history.Closing) { cl.Settled[0].Result.ID = id(1, 3) }) },
		"a result of another round":  func() error { return closing(func(cl *history.Closing) { cl.Settled[0].Result.ID = id(2, 1) }) },
		"a start of no call":         func() error { return begun(history.Start{ID: id(1, 3)}) },
		"a start of another round":   func() error { return begun(history.Start{ID: id(2, 1)}) },
		"an attempt before the last": func() error { return begun(history.Start{ID: id(1, 1), Attempt: 1}) },
	})

	cl := c.closing(2)
	cl.Settled = []history.Settled{c.result(1, "x"), c.result(2, "y")}
	c.must(s.CloseRound(c.ctx(), c.l, cl))
	c.must(s.SetTurn(c.ctx(), c.l, history.TurnChange{Turn: 1, State: history.TurnEnded}))
	check("after the turn", map[string]func() error{
		"a close again":         func() error { return closing(func(cl *history.Closing) { cl.Round = 1 }) },
		"a start":               func() error { return begun(history.Start{ID: id(1, 1), Attempt: 3}) },
		"a round in that turn":  func() error { return opening(func(*history.Opening) {}) },
		"turn 1 again":          func() error { return turn(1) },
		"turn 3":                func() error { return turn(3) },
		"a change of that turn": func() error { return state(1, history.TurnOpen) },
	})

	// A round under somebody else's loop must be closed before a turn begins.
	c.round++
	foreign := history.Opening{Round: 2, Calls: []history.Call{{ID: id(2, 1), State: history.CallPending}}}
	c.must(s.OpenRound(c.ctx(), c.l, foreign))
	check("with a round of no turn open", map[string]func() error{
		"turn 2": func() error { return turn(2) },
	})
}
