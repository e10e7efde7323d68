package historytest

import (
	"errors"
	"testing"

	"github.com/weir-run/weir/history"
)

// testRefused tries writes that do not fit what is stored, at four points of a conversation. Each is
// ErrConflict and leaves everything as it was.
func testRefused(t *testing.T, s history.Store) {
	c := &refuser{chat: begin(t, s, "c1")}
	c.turn++
	a := history.Append{Now: c.now}
	c.open(&a, "[")
	c.add(&a, "user", "hello", "hello", 0)
	c.ask(&a, 5)
	c.must(s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: 1, Append: a}))
	c.check("with no round open", c.appends())
	c.check("with no round open", c.openings())

	c.must(s.OpenRound(c.ctx(), c.l, c.chat.opening("a", "b")))
	if err := c.start(1, 1, 2); err != nil {
		t.Fatal(err)
	}
	c.check("with a round open", c.closings())

	cl := c.chat.closing(2)
	cl.Settled = []history.Settled{c.result(1, "x"), c.result(2, "y")}
	c.must(s.CloseRound(c.ctx(), c.l, cl))
	c.must(s.SetTurn(c.ctx(), c.l, history.TurnChange{Turn: 1, State: history.TurnEnded}))
	c.check("after the turn", map[string]func() error{
		"a close again":         func() error { return c.closing(func(cl *history.Closing) { cl.Round = 1 }) },
		"a start":               func() error { return c.start(1, 1, 3) },
		"a round in that turn":  func() error { return c.opening(func(*history.Opening) {}) },
		"turn 1 again":          func() error { return c.begin(1) },
		"turn 3":                func() error { return c.begin(3) },
		"a change of that turn": func() error { return c.state(1, history.TurnOpen) },
	})

	// A round under somebody else's loop must be closed before a turn begins.
	foreign := history.Opening{Round: 2, Calls: []history.Call{{ID: history.CallID{Round: 2, Index: 1}, State: history.CallPending}}}
	c.must(s.OpenRound(c.ctx(), c.l, foreign))
	c.check("with a round of no turn open", map[string]func() error{
		"turn 2": func() error { return c.begin(2) },
	})
}

// refuser is a chat whose next steps can be spoilt.
type refuser struct{ *chat }

func (c *refuser) check(at string, writes map[string]func() error) {
	c.t.Helper()
	before := read(c.t, c.s, c.id())
	for name, write := range writes {
		if err := write(); !errors.Is(err, history.ErrConflict) {
			c.t.Errorf("%s, %s: %v, want ErrConflict", at, name, err)
		}
		same(c.t, "what is stored, "+at+", after "+name, before, read(c.t, c.s, c.id()))
	}
}

// opening tries the next round with a change.
func (c *refuser) opening(change func(*history.Opening)) error {
	keep := *c.chat
	o := c.chat.opening("a", "b")
	*c.chat = keep
	change(&o)
	_, err := c.s.OpenRound(c.ctx(), c.l, o)
	return err
}

// closing tries the end of the round with a change.
func (c *refuser) closing(change func(*history.Closing)) error {
	keep := *c.chat
	cl := c.chat.closing(2)
	cl.Settled = []history.Settled{c.result(1, "x"), c.result(2, "y")}
	*c.chat = keep
	change(&cl)
	_, err := c.s.CloseRound(c.ctx(), c.l, cl)
	return err
}

func (c *refuser) append(a history.Append) error {
	_, err := c.s.Append(c.ctx(), c.l, a)
	return err
}

func (c *refuser) state(turn int, state history.TurnState) error {
	_, err := c.s.SetTurn(c.ctx(), c.l, history.TurnChange{Turn: turn, State: state})
	return err
}

func (c *refuser) begin(n int) error {
	_, err := c.s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: n})
	return err
}

func (c *refuser) start(round, index, attempt int) error {
	return c.s.StartCalls(c.ctx(), c.l, []history.Start{{ID: history.CallID{Round: round, Index: index}, Attempt: attempt}})
}

// appends are wrong from the first message on: message 1, fragment 1, epoch 1 and request 1 are stored.
func (c *refuser) appends() map[string]func() error {
	message := func(m history.Message) func() error {
		return func() error { return c.append(history.Append{Messages: []history.Message{m}}) }
	}
	fragment := func(f history.Fragment) func() error {
		return func() error { return c.append(history.Append{Fragments: []history.Fragment{f}}) }
	}
	epoch := func(e history.Epoch) func() error {
		return func() error { return c.append(history.Append{Epoch: &e}) }
	}
	intent := func(r history.Request) func() error {
		return func() error { return c.append(history.Append{Intent: &r}) }
	}
	outcomes := func(o ...history.Outcomes) func() error {
		return func() error { return c.append(history.Append{Outcomes: o}) }
	}
	return map[string]func() error{
		"message 3":                  message(history.Message{Seq: 3, Turn: 1}),
		"message 1 again":            message(history.Message{Seq: 1, Turn: 1}),
		"message of a later turn":    message(history.Message{Seq: 2, Turn: 2}),
		"fragment 3":                 fragment(history.Fragment{Epoch: 1, Pos: 3, Seq: 1}),
		"fragment 1 again":           fragment(history.Fragment{Epoch: 1, Pos: 1, Seq: 1}),
		"fragment of no epoch":       fragment(history.Fragment{Epoch: 2, Pos: 1, Seq: 1}),
		"fragment of no message":     fragment(history.Fragment{Epoch: 1, Pos: 2, Seq: 2}),
		"fragment with a bad chain":  fragment(history.Fragment{Epoch: 1, Pos: 2, Seq: 1, Chain: [32]byte{1}}),
		"epoch 3":                    epoch(history.Epoch{N: 3}),
		"epoch 1 again":              epoch(history.Epoch{N: 1}),
		"epoch on itself":            epoch(history.Epoch{N: 2, Base: 2}),
		"epoch on too many":          epoch(history.Epoch{N: 2, Base: 1, BaseCount: 2}),
		"epoch on fewer than none":   epoch(history.Epoch{N: 2, Base: 1, BaseCount: -1}),
		"epoch on some of nothing":   epoch(history.Epoch{N: 2, BaseCount: 1}),
		"epoch with a bad head hash": epoch(history.Epoch{N: 2, HeadSHA: [32]byte{1}}),
		"request 3":                  intent(history.Request{N: 3, Epoch: 1, LastPos: 1}),
		"request of no epoch":        intent(history.Request{N: 2, Epoch: 2, LastPos: 1}),
		"request of no fragment":     intent(history.Request{N: 2, Epoch: 1, LastPos: 2}),
		"request of another chain":   intent(history.Request{N: 2, Epoch: 1, LastPos: 1, Chain: [32]byte{1}}),
		"request of another head":    intent(history.Request{N: 2, Epoch: 1, LastPos: 1, HeadSHA: [32]byte{1}}),
		"outcome of no request":      outcomes(history.Outcomes{N: 2, Outcome: "ok"}),
		"outcome without a name":     outcomes(history.Outcomes{N: 1}),
		"outcome twice":              outcomes(history.Outcomes{N: 1, Outcome: "ok"}, history.Outcomes{N: 1, Outcome: "ok"}),
	}
}

// openings are wrong while turn 1 is open and no round is.
func (c *refuser) openings() map[string]func() error {
	open := func(change func(*history.Opening)) func() error {
		return func() error { return c.opening(change) }
	}
	return map[string]func() error{
		"a turn in an open turn":  func() error { return c.begin(2) },
		"a change of no turn":     func() error { return c.state(2, history.TurnEnded) },
		"round 2":                 open(func(o *history.Opening) { o.Round = 2 }),
		"round 0":                 open(func(o *history.Opening) { o.Round = 0 }),
		"a round of another turn": open(func(o *history.Opening) { o.Turn = 2 }),
		"a round with no calls":   open(func(o *history.Opening) { o.Calls = nil }),
		"calls out of order":      open(func(o *history.Opening) { o.Calls[0], o.Calls[1] = o.Calls[1], o.Calls[0] }),
		"calls of another round":  open(func(o *history.Opening) { o.Calls[1].ID.Round = 2 }),
		"a call that is settled":  open(func(o *history.Opening) { o.Calls[1].State = history.CallSettled }),
		"a call in no state":      open(func(o *history.Opening) { o.Calls[1].State = "" }),
		"a close":                 func() error { return c.closing(func(cl *history.Closing) { cl.Round = 1 }) },
		"a start":                 func() error { return c.start(1, 1, 0) },
	}
}

// closings are wrong while round 1 is open, and its first call was begun for the second time.
func (c *refuser) closings() map[string]func() error {
	closing := func(change func(*history.Closing)) func() error {
		return func() error { return c.closing(change) }
	}
	return map[string]func() error{
		"another round":              func() error { return c.opening(func(*history.Opening) {}) },
		"the end of the turn":        func() error { return c.state(1, history.TurnEnded) },
		"a close of another round":   closing(func(cl *history.Closing) { cl.Round = 2 }),
		"a close without a result":   closing(func(cl *history.Closing) { cl.Settled = cl.Settled[:1] }),
		"one call not shown":         closing(func(cl *history.Closing) { cl.Shown = cl.Shown[:1] }),
		"shown out of order":         closing(func(cl *history.Closing) { cl.Shown[0], cl.Shown[1] = cl.Shown[1], cl.Shown[0] }),
		"no results message":         closing(func(cl *history.Closing) { cl.Append = history.Append{} }),
		"a results message too far":  closing(func(cl *history.Closing) { cl.Append.Messages[0].Seq++ }),
		"another text as the same":   closing(func(cl *history.Closing) { cl.Shown[0].Text = []byte("z") }),
		"an unknown outcome":         closing(func(cl *history.Closing) { cl.Settled[0].Outcome = "odd" }),
		"no outcome":                 closing(func(cl *history.Closing) { cl.Settled[0].Outcome = "" }),
		"a result of no call":        closing(func(cl *history.Closing) { cl.Settled[0].Result.ID = history.CallID{Round: 1, Index: 3} }),
		"a result of another round":  closing(func(cl *history.Closing) { cl.Settled[0].Result.ID = history.CallID{Round: 2, Index: 1} }),
		"a start of no call":         func() error { return c.start(1, 3, 0) },
		"a start of another round":   func() error { return c.start(2, 1, 0) },
		"an attempt before the last": func() error { return c.start(1, 1, 1) },
	}
}
