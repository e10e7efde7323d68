// Package historytest is one suite for every store behind the contract of package history.
//
// An implementation passes when Run passes; what only it promises (processes, files, a disk that fails) is
// for its own tests.
package historytest

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/spill"
)

// Run runs every test of the suite, each on a store of its own. open returns an empty store and sees to it
// that it is closed when the test ends.
func Run(t *testing.T, open func(t *testing.T) history.Store) {
	t.Helper()
	tests := map[string]func(*testing.T, history.Store){
		"Lease/create":           testCreate,
		"Lease/exclusive":        testExclusive,
		"Lease/fence":            testFence,
		"Lease/stale":            testStale,
		"Lease/take-over":        testTakeOver,
		"Approval/once":          testApprovals,
		"Turn/states":            testTurnStates,
		"Turn/key":               testTurnKey,
		"Turn/counters":          testTurnCounters,
		"Round/two commits":      testRound,
		"Round/one by one":       testOneByOne,
		"Round/key":              testRoundKey,
		"Round/inner calls":      testInner,
		"Round/settled once":     testSettledOnce,
		"Round/late":             testLate,
		"Round/interrupted":      testInterrupted,
		"Round/somebody's loop":  testForeignLoop,
		"Round/beside":           testBeside,
		"Job/once":               testJobs,
		"Seen/last":              testSeen,
		"Refused/nothing stored": testRefused,
		"Bytes/bodies":           testBodies,
		"Bytes/large":            testLarge,
		"Bytes/figures":          testFigures,
		"Bytes/spills":           testSpills,
		"Replay/epochs":          testEpochs,
		"Replay/requests":        testRequests,
		"Replay/events":          testEvents,
		"Order/conversations":    testConversations,
		"Order/calls":            testCallOrder,
		"Not found":              testNotFound,
		"At once/conversations":  testAtOnce,
		"At once/own writes":     testOwnWrites,
		"Cancelled/caller":       testCancelled,
		"Verify/sound":           testVerify,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// start is the clock of the suite; a store keeps milliseconds.
var start = time.Date(2026, 11, 29, 10, 0, 0, 123_000_000, time.UTC)

// chat drives one conversation and numbers what it appends.
type chat struct {
	t *testing.T
	s history.Store
	l history.Lease

	now                 time.Time
	seq                 int64
	turn, round         int
	epoch, pos, request int
	head                string
}

// begin takes a new conversation.
func begin(t *testing.T, s history.Store, id string) *chat {
	t.Helper()
	c := &chat{t: t, s: s, now: start}
	c.take(id)
	return c
}

func (c *chat) take(id string) {
	c.t.Helper()
	l, err := c.s.TakeLease(c.t.Context(), history.Take{
		Conversation: id, Create: &history.Conversation{ID: id, Title: "about " + id, CreatedAt: start}, Run: "run of " + c.t.Name(), Now: c.now,
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.l = l
}

func (c *chat) id() string { return c.l.Conversation }

func (c *chat) ctx() context.Context { return c.t.Context() }

// add plans a message with its fragment in the current epoch, if there is one.
func (c *chat) add(a *history.Append, role, body, fragment string, round int) {
	c.seq++
	a.Now = c.now
	a.Messages = append(a.Messages, history.Message{
		Seq: c.seq, Turn: c.turn, Role: role, Codec: "test/1", Body: orNil(body), Round: round,
	})
	if c.epoch > 0 {
		c.pos++
		a.Fragments = append(a.Fragments, history.Fragment{Epoch: c.epoch, Pos: c.pos, Seq: c.seq, Encoder: "e1", Bytes: orNil(fragment)})
	}
}

// orNil is a text's bytes, nil for none: a store must not take that for something that is missing.
func orNil(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}

// open plans an epoch with no base.
func (c *chat) open(a *history.Append, head string) {
	c.epoch++
	c.pos, c.head = 0, head
	a.Epoch = &history.Epoch{N: c.epoch, Dialect: "test", Reason: "start", Head: []byte(head), Tail: []byte("]}"), Fingerprint: []byte{1}}
}

// ask plans the next request.
func (c *chat) ask(a *history.Append, messages int) {
	c.request++
	a.Intent = &history.Request{
		N: c.request, Epoch: c.epoch, LastPos: c.pos, MessageBytes: int64(messages), TotalBytes: int64(len(c.head) + messages + 2),
	}
}

// say begins a turn with one user message.
func (c *chat) say(key, body string) {
	c.t.Helper()
	c.turn++
	a := history.Append{Now: c.now}
	c.add(&a, "user", body, body, 0)
	c.must(c.s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: c.turn, Key: key, Append: a}))
}

// opening plans a round with an assistant message and pending calls of these tools.
func (c *chat) opening(tools ...string) history.Opening {
	c.round++
	o := history.Opening{Round: c.round, Turn: c.turn, Digest: [32]byte{byte(c.round)}}
	c.add(&o.Append, "assistant", "calls", `{"a":1}`, c.round)
	for i, tool := range tools {
		o.Calls = append(o.Calls, history.Call{
			ID: history.CallID{Round: c.round, Index: i + 1}, ProviderID: "p" + tool, Tool: tool, Args: []byte(`{"x": 1}`), State: history.CallPending,
		})
	}
	return o
}

// result is a whole result as it arrives.
func (c *chat) result(index int, text string) history.Settled {
	return history.Settled{
		Result: history.Result{
			ID: history.CallID{Round: c.round, Index: index}, Whole: []byte(text), Tokens: int64(len(text) / 4), Duration: 1500 * time.Microsecond,
		},
		Outcome: history.OutcomeDone, Now: c.now.Add(time.Second),
	}
}

// closing plans the end of the open round: each call is shown its whole text.
func (c *chat) closing(calls int) history.Closing {
	cl := history.Closing{Round: c.round}
	for i := range calls {
		cl.Shown = append(cl.Shown, history.Shown{ID: history.CallID{Round: c.round, Index: i + 1}, Same: true})
	}
	c.add(&cl.Append, "results", "", `{"r":1}`, c.round)
	return cl
}

// whole runs a round whose results come together.
func (c *chat) whole(texts ...string) {
	c.t.Helper()
	tools := make([]string, len(texts))
	for i := range texts {
		tools[i] = "tool"
	}
	c.must(c.s.OpenRound(c.ctx(), c.l, c.opening(tools...)))
	cl := c.closing(len(texts))
	for i, text := range texts {
		cl.Settled = append(cl.Settled, c.result(i+1, text))
	}
	c.must(c.s.CloseRound(c.ctx(), c.l, cl))
}

func (c *chat) must(r history.Receipt, err error) history.Receipt {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

// stored is everything a store has of a conversation.
type stored struct {
	Conversation history.Conversation
	Turns        []history.Turn
	Rounds       []history.Round
	Calls        []history.Call
	Results      []history.Result
	Messages     []history.Message
	Epochs       []history.Epoch
	Fragments    []history.Fragment
	Requests     []history.Request
	Events       []history.Event
	Spills       []spill.Ref
}

// read reads all of it. Results come with their bodies.
func read(t *testing.T, s history.Store, id string) stored {
	t.Helper()
	ctx := t.Context()
	var all stored
	var err error
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	all.Conversation, err = s.Conversation(ctx, id)
	check(err)
	all.Turns, err = s.TurnsOf(ctx, id)
	check(err)
	all.Rounds, err = s.RoundsOf(ctx, id)
	check(err)
	all.Calls, err = s.CallsOf(ctx, id, 0)
	check(err)
	list, err := s.ResultsOf(ctx, id, 0)
	check(err)
	for _, r := range list {
		full, err := s.ResultOf(ctx, id, r.ID)
		check(err)
		all.Results = append(all.Results, full)
	}
	all.Messages, err = s.Messages(ctx, id, 0)
	check(err)
	all.Epochs, err = s.Epochs(ctx, id)
	check(err)
	for _, e := range all.Epochs {
		all.Fragments = append(all.Fragments, fragments(t, s, id, e.N, 0)...)
	}
	all.Requests, err = s.Requests(ctx, id)
	check(err)
	all.Events, err = s.Events(ctx, id, 0)
	check(err)
	all.Spills, err = s.SpillsOf(ctx, id)
	check(err)
	return all
}

// fragments copies what is streamed.
func fragments(t *testing.T, s history.Store, id string, epoch, after int) []history.Fragment {
	t.Helper()
	var out []history.Fragment
	err := s.Fragments(t.Context(), id, epoch, after, func(f history.Fragment) error {
		f.Bytes = append([]byte{}, f.Bytes...)
		out = append(out, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// same fails the test when two values differ.
//
// Wants are written without the hashes that the store computes; sound holds those to their bytes.
func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, hashed); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// hashed leaves the store's own hashes of bodies out of a comparison.
var hashed = cmp.FilterPath(func(p cmp.Path) bool {
	field, ok := p.Last().(cmp.StructField)
	owner := p.Index(-2).Type()
	return ok && (owner == reflect.TypeFor[history.Message]() && field.Name() == "SHA256" ||
		owner == reflect.TypeFor[history.Call]() && field.Name() == "ArgsSHA256")
}, cmp.Ignore())

// sound fails the test when the conversation contradicts itself.
func sound(t *testing.T, s history.Store, id string) {
	t.Helper()
	problems, err := history.Verify(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("verify: %s", p)
	}
}
