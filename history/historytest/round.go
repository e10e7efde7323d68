package historytest

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
)

// testRound runs one round in two commits and reads every record back.
func testRound(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.turn++
	a := history.Append{Now: c.now, Events: []history.Event{{Kind: "turn", Data: []byte(`{}`)}}}
	c.open(&a, `{"m":[`)
	c.add(&a, "user", "hello", `"hello"`, 0)
	c.ask(&a, 7)
	same(t, "receipt of the turn", history.Receipt{Turn: 1, Events: []history.Event{{Seq: 1, Kind: "turn", Data: []byte(`{}`)}}},
		c.must(s.BeginTurn(c.ctx(), c.l, history.Begin{Turn: 1, Key: "k", Append: a})))

	o := c.opening("grep", "shell", "read")
	o.Key = "m1"
	o.Calls[1].State, o.Calls[1].Attempt = history.CallRunning, 1
	o.Calls[2].Created = start.Add(time.Minute)
	o.Append.Outcomes = []history.Outcomes{{N: 1, Outcome: "ok", Usage: history.Usage{In: 100, Out: 20, CacheRead: 50, CacheWrite: 5}, Latency: 1234567}}
	o.Append.Events = []history.Event{{Kind: "open", Data: []byte("1")}, {Kind: "open", Data: []byte("2")}}
	same(t, "receipt of the opening", history.Receipt{Events: []history.Event{
		{Seq: 2, Kind: "open", Data: []byte("1")}, {Seq: 3, Kind: "open", Data: []byte("2")},
	}}, c.must(s.OpenRound(c.ctx(), c.l, o)))

	c.now = start.Add(2 * time.Second)
	cl := c.closing(3)
	cl.Settled = []history.Settled{c.result(3, ""), c.result(1, "one\ntwo"), c.result(2, "boom")}
	cl.Settled[1].Result.Structured, cl.Settled[1].Result.Notes = []byte(`null`), []byte(`{"n": 1}`)
	cl.Settled[2].Result.IsError, cl.Settled[2].Outcome = true, history.OutcomeFailed
	cl.Shown[0] = history.Shown{ID: cl.Shown[0].ID, Text: []byte("[…] two")}
	cl.Shown[1].Text = []byte("boom") // the whole, said and given
	c.ask(&cl.Append, 7+1+7+1+7)
	c.must(s.CloseRound(c.ctx(), c.l, cl))

	want := roundAsStored()
	got := read(t, s, "c1")
	if len(got.Spills) == 0 {
		got.Spills = nil
	}
	same(t, "what is stored", want, got)
	sound(t, s, "c1")
	list, err := s.ResultsOf(c.ctx(), "c1", 1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want.Results {
		r := &want.Results[i]
		r.Whole, r.Structured, r.Notes, r.Shown = nil, nil, nil, nil
	}
	same(t, "the list of results", want.Results, list)
}

// roundAsStored is everything that testRound stores.
func roundAsStored() stored {
	chain1 := history.Chain([32]byte{}, []byte(`"hello"`))
	chain2 := history.Chain(chain1, []byte(`{"a":1}`))
	chain3 := history.Chain(chain2, []byte(`{"r":1}`))
	head := sha256.Sum256([]byte(`{"m":[`))
	return stored{
		Conversation: history.Conversation{ID: "c1", Title: "about c1", CreatedAt: start},
		Turns:        []history.Turn{{N: 1, Key: "k", FirstSeq: 1, State: history.TurnOpen, Rounds: 1, Tokens: 20, StartedAt: start}},
		Rounds:       []history.Round{{N: 1, Turn: 1, Key: "m1", Digest: [32]byte{1}, Seq: 2, ResultsSeq: 3, Closed: true, Calls: 3}},
		Calls:        callsAsStored(),
		Results:      resultsAsStored(),
		Messages: []history.Message{
			{Seq: 1, Turn: 1, Role: "user", Codec: "test/1", Body: []byte("hello")},
			{Seq: 2, Turn: 1, Role: "assistant", Codec: "test/1", Body: []byte("calls"), Round: 1},
			{Seq: 3, Turn: 1, Role: "results", Codec: "test/1", Body: []byte{}, Round: 1},
		},
		Epochs: []history.Epoch{{
			N: 1, Dialect: "test", Reason: "start", Head: []byte(`{"m":[`), Tail: []byte("]}"), HeadSHA: head, Fingerprint: []byte{1},
		}},
		Fragments: []history.Fragment{
			{Epoch: 1, Pos: 1, Seq: 1, Encoder: "e1", Bytes: []byte(`"hello"`), Chain: chain1},
			{Epoch: 1, Pos: 2, Seq: 2, Encoder: "e1", Bytes: []byte(`{"a":1}`), Chain: chain2},
			{Epoch: 1, Pos: 3, Seq: 3, Encoder: "e1", Bytes: []byte(`{"r":1}`), Chain: chain3},
		},
		Requests: []history.Request{
			{
				N: 1, Epoch: 1, LastPos: 1, HeadSHA: head, Chain: chain1, MessageBytes: 7, TotalBytes: 15, Outcome: "ok",
				Usage: history.Usage{In: 100, Out: 20, CacheRead: 50, CacheWrite: 5}, Latency: 1234567,
			},
			{N: 2, Epoch: 1, LastPos: 3, HeadSHA: head, Chain: chain3, MessageBytes: 23, TotalBytes: 31},
		},
		Events: []history.Event{
			{Seq: 1, Kind: "turn", Data: []byte(`{}`)}, {Seq: 2, Kind: "open", Data: []byte("1")}, {Seq: 3, Kind: "open", Data: []byte("2")},
		},
	}
}

func callsAsStored() []history.Call {
	call := func(i int, tool string, attempt int, outcome history.Outcome, started time.Time) history.Call {
		return history.Call{
			ID: history.CallID{Round: 1, Index: i}, ProviderID: "p" + tool, Tool: tool, Args: []byte(`{"x": 1}`), State: history.CallAnswered,
			Outcome: outcome, Attempt: attempt, Fence: 1, Created: start, Started: started, Settled: start.Add(3 * time.Second),
		}
	}
	third := call(3, "read", 0, history.OutcomeDone, time.Time{})
	third.Created = start.Add(time.Minute)
	return []history.Call{
		call(1, "grep", 0, history.OutcomeDone, time.Time{}), call(2, "shell", 1, history.OutcomeFailed, start), third,
	}
}

func resultsAsStored() []history.Result {
	const took = 1500 * time.Microsecond
	sum := func(s string) [32]byte { return sha256.Sum256([]byte(s)) }
	id := func(i int) history.CallID { return history.CallID{Round: 1, Index: i} }
	return []history.Result{
		{
			ID: id(1), Tool: "grep", Whole: []byte("one\ntwo"), Structured: []byte("null"), Notes: []byte(`{"n": 1}`), Bytes: 7, Lines: 2, Chars: 7,
			SHA256: sum("one\ntwo"), Tokens: 1, Duration: took, Shown: []byte("[…] two"), ShownSHA256: sum("[…] two"),
		},
		{
			ID: id(2), Tool: "shell", Whole: []byte("boom"), IsError: true, Bytes: 4, Lines: 1, Chars: 4,
			SHA256: sum("boom"), Tokens: 1, Duration: took, Shown: []byte("boom"), Same: true,
		},
		{ID: id(3), Tool: "read", Whole: []byte{}, SHA256: sum(""), Duration: took, Shown: []byte{}, Same: true},
	}
}

// testOneByOne settles results as they come, and shows them in the end.
func testOneByOne(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.say("", "hello")
	o := c.opening("a", "b", "c")
	c.must(s.OpenRound(c.ctx(), c.l, o))
	first, second := history.CallID{Round: 1, Index: 1}, history.CallID{Round: 1, Index: 2}
	err := s.StartCalls(c.ctx(), c.l, []history.Start{
		{ID: second, Waiting: true, Now: start.Add(time.Second)}, {ID: first, Attempt: 1, Now: start.Add(2 * time.Second)},
	})
	if err != nil {
		t.Fatal(err)
	}
	states := func(want ...history.CallState) {
		t.Helper()
		calls, err := s.CallsOf(c.ctx(), "c1", 1)
		if err != nil {
			t.Fatal(err)
		}
		var got []history.CallState
		for _, c := range calls {
			got = append(got, c.State)
		}
		same(t, "states", want, got)
	}
	states(history.CallRunning, history.CallWaiting, history.CallPending)
	receipt := c.must(s.SettleCalls(c.ctx(), c.l, []history.Settled{c.result(1, "first")}, []history.Event{{Kind: "settled"}}))
	same(t, "receipt", history.Receipt{Events: []history.Event{{Seq: 1, Kind: "settled"}}}, receipt)
	r, err := s.ResultOf(c.ctx(), "c1", first)
	if err != nil || r.Shown != nil || r.Same || string(r.Whole) != "first" {
		t.Errorf("a result before its round is closed: shown %q, same %t, whole %q, %v", r.Shown, r.Same, r.Whole, err)
	}
	if err := s.StartCalls(c.ctx(), c.l, []history.Start{{ID: second, Attempt: 1}}); err != nil {
		t.Fatal(err)
	}
	c.must(s.SettleCalls(c.ctx(), c.l, []history.Settled{c.result(2, "second")}, nil))
	states(history.CallSettled, history.CallSettled, history.CallPending)
	cl := c.closing(3)
	cl.Shown[1] = history.Shown{ID: second, Text: []byte{}}
	cl.Settled = []history.Settled{c.result(3, "third")}
	c.must(s.CloseRound(c.ctx(), c.l, cl))
	states(history.CallAnswered, history.CallAnswered, history.CallAnswered)
	for i, want := range []string{"first", "", "third"} {
		r, err := s.ResultOf(c.ctx(), "c1", history.CallID{Round: 1, Index: i + 1})
		if err != nil || r.Shown == nil || string(r.Shown) != want || r.Same != (i != 1) {
			t.Errorf("result %d is shown as %q, same %t, %v, want %q", i+1, r.Shown, r.Same, err, want)
		}
	}
	sound(t, s, "c1")
}

func testRoundKey(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	if _, err := s.FindRound(c.ctx(), "c1", ""); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("the latest of no rounds: %v, want ErrNotFound", err)
	}
	c.say("", "hello")
	first := c.opening("a")
	first.Key = "m1"
	c.must(s.OpenRound(c.ctx(), c.l, first))
	again := func(when string) {
		t.Helper()
		before := read(t, s, "c1")
		for name, change := range map[string]func(*history.Opening){
			"the same":       func(*history.Opening) {},
			"other calls":    func(o *history.Opening) { o.Digest = [32]byte{9} },
			"another number": func(o *history.Opening) { o.Round, o.Calls[0].ID.Round = 2, 2; o.Append = history.Append{} },
		} {
			o := first
			o.Calls = append([]history.Call(nil), first.Calls...)
			change(&o)
			if _, err := s.OpenRound(c.ctx(), c.l, o); !errors.Is(err, history.ErrRoundExists) {
				t.Errorf("%s key %s: %v, want ErrRoundExists", name, when, err)
			}
		}
		same(t, "what is stored "+when, before, read(t, s, "c1"))
	}
	again("while the round is open")
	cl := c.closing(1)
	cl.Settled = []history.Settled{c.result(1, "x")}
	c.must(s.CloseRound(c.ctx(), c.l, cl))
	again("after it is closed")
	want := history.Round{N: 1, Turn: 1, Key: "m1", Digest: [32]byte{1}, Seq: 2, ResultsSeq: 3, Closed: true, Calls: 1}
	got, err := s.FindRound(c.ctx(), "c1", "m1")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the round of the key", want, got)
	c.must(s.OpenRound(c.ctx(), c.l, c.opening("b")))
	if got, err = s.FindRound(c.ctx(), "c1", ""); err != nil || got.N != 2 || got.Closed {
		t.Errorf("the latest round is %+v, %v, want round 2, open", got, err)
	}
	if _, err := s.FindRound(c.ctx(), "c1", "m2"); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("a key that is not there: %v, want ErrNotFound", err)
	}
}

func testInner(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.say("", "hello")
	o := c.opening("code_execution", "grep")
	o.Calls[0].State = history.CallRunning
	c.must(s.OpenRound(c.ctx(), c.l, o))
	inner := func(parent history.CallID, subs ...int) error {
		o := history.Opening{Round: 1, Turn: 1, Parent: parent, Append: history.Append{Now: start, Events: []history.Event{{Kind: "inner"}}}}
		for _, sub := range subs {
			o.Calls = append(o.Calls, history.Call{
				ID: history.CallID{Round: 1, Index: parent.Index, Sub: sub}, Tool: "read", Args: []byte("{}"), State: history.CallRunning,
			})
		}
		_, err := s.OpenRound(c.ctx(), c.l, o)
		return err
	}
	script := history.CallID{Round: 1, Index: 1}
	for _, step := range []struct {
		name   string
		parent history.CallID
		subs   []int
		ok     bool
	}{
		{"two at once", script, []int{1, 2}, true},
		{"not the next", script, []int{4}, false},
		{"one again", script, []int{2}, false},
		{"below an inner call", history.CallID{Round: 1, Index: 1, Sub: 2}, []int{3}, true},
		{"below the other call", history.CallID{Round: 1, Index: 2}, []int{1}, true},
		{"below a call that is not there", history.CallID{Round: 1, Index: 3}, []int{1}, false},
		{"in another round", history.CallID{Round: 2, Index: 1}, []int{1}, false},
		{"none", script, nil, false},
	} {
		if err := inner(step.parent, step.subs...); step.ok && err != nil || !step.ok && !errors.Is(err, history.ErrConflict) {
			t.Errorf("%s: %v, allowed: %t", step.name, err, step.ok)
		}
	}
	settle := func(sub int) history.Settled {
		r := c.result(1, "inner")
		r.Result.ID.Sub = sub
		return r
	}
	c.must(s.SettleCalls(c.ctx(), c.l, []history.Settled{settle(2), settle(3)}, nil))
	cl := c.closing(2)
	cl.Settled = []history.Settled{c.result(1, "script"), c.result(2, "grep"), settle(1)}
	c.must(s.CloseRound(c.ctx(), c.l, cl))
	if err := inner(script, 4); !errors.Is(err, history.ErrConflict) {
		t.Errorf("an inner call of a closed round: %v, want ErrConflict", err)
	}
	// The one whose result never came stays as it was.
	var got []string
	calls, err := s.CallsOf(c.ctx(), "c1", 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		got = append(got, c.ID.String()+" "+string(c.State))
	}
	same(t, "calls", []string{"r1-1 answered", "r1-1.1 answered", "r1-1.2 answered", "r1-1.3 answered", "r1-2 answered", "r1-2.1 running"}, got)
	rounds, err := s.RoundsOf(c.ctx(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	if rounds[0].Calls != 2 {
		t.Errorf("the round has %d calls, want the 2 that the model made", rounds[0].Calls)
	}
	sound(t, s, "c1")
}

func testSettledOnce(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.say("", "hello")
	c.must(s.OpenRound(c.ctx(), c.l, c.opening("a", "b")))
	c.must(s.SettleCalls(c.ctx(), c.l, []history.Settled{c.result(1, "first")}, nil))
	before := read(t, s, "c1")
	for name, settled := range map[string][]history.Settled{
		"the same":       {c.result(1, "first")},
		"another text":   {c.result(1, "other")},
		"with a new one": {c.result(2, "second"), c.result(1, "other")},
		"twice at once":  {c.result(2, "second"), c.result(2, "second")},
	} {
		_, err := s.SettleCalls(c.ctx(), c.l, settled, []history.Event{{Kind: "k"}})
		if !errors.Is(err, history.ErrConflict) {
			t.Errorf("settle %s: %v, want ErrConflict", name, err)
		}
		cl := history.Closing{Round: 1, Settled: settled, Shown: []history.Shown{{ID: history.CallID{Round: 1, Index: 1}}, {ID: history.CallID{Round: 1, Index: 2}}}}
		if _, err := s.CloseRound(c.ctx(), c.l, cl); !errors.Is(err, history.ErrConflict) {
			t.Errorf("close with %s: %v, want ErrConflict", name, err)
		}
	}
	same(t, "what is stored", before, read(t, s, "c1"))
}

// testLate: a result that comes after its call was answered is told in an event and changes nothing, also
// when its driver was taken over meanwhile.
func testLate(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.say("", "hello")
	c.whole("cancelled")
	before := read(t, s, "c1")
	ended := c.result(1, "it came after all")
	if _, err := s.SettleCalls(c.ctx(), c.l, []history.Settled{ended}, []history.Event{{Kind: "settled"}}); !errors.Is(err, history.ErrConflict) {
		t.Fatalf("a second result: %v, want ErrConflict", err)
	}
	same(t, "what is stored", before, read(t, s, "c1"))
	late := ended
	late.Outcome = history.OutcomeLate
	r := c.must(s.SettleCalls(c.ctx(), c.l, []history.Settled{late}, nil))
	if len(r.Events) != 1 || r.Events[0].Seq != 1 || r.Events[0].Kind != "late_result" {
		t.Fatalf("receipt of a late result: %+v, want one event of kind late_result", r)
	}
	var data struct {
		ID    string
		Bytes int
	}
	if err := json.Unmarshal(r.Events[0].Data, &data); err != nil || data.ID != "r1-1" || data.Bytes != 17 {
		t.Errorf("the event says %s, %v", r.Events[0].Data, err)
	}
	after := read(t, s, "c1")
	same(t, "events", r.Events, after.Events)
	after.Events = before.Events
	same(t, "everything but the event", before, after)

	// Another driver goes on; what the old one still has to say falls between.
	old := c.l
	if err := s.ReleaseLease(c.ctx(), old); err != nil {
		t.Fatal(err)
	}
	c.take("c1")
	c.must(s.OpenRound(c.ctx(), c.l, c.opening("b")))
	event := []history.Event{{Kind: "k"}}
	c.must(s.Append(c.ctx(), c.l, history.Append{Events: event}))
	c.must(s.SettleCalls(c.ctx(), old, []history.Settled{late}, nil))
	r = c.must(s.Append(c.ctx(), c.l, history.Append{Events: event}))
	if r.Events[0].Seq != 4 {
		t.Errorf("the event after it has number %d, want 4", r.Events[0].Seq)
	}
	pending, never := late, late
	pending.Result.ID = history.CallID{Round: 2, Index: 1}
	never.Result.ID = history.CallID{Round: 1, Index: 7}
	ahead := c.l
	ahead.Fence++
	current := c.result(1, "in time")
	for name, w := range map[string]struct {
		l       history.Lease
		settled []history.Settled
		events  []history.Event
		want    error
	}{
		"of a call that has none yet":      {c.l, []history.Settled{pending}, nil, history.ErrConflict},
		"of no call":                       {c.l, []history.Settled{never}, nil, history.ErrConflict},
		"of a lease that never was":        {ahead, []history.Settled{late}, nil, history.ErrStale},
		"with one that is not, taken over": {old, []history.Settled{late, current}, nil, history.ErrStale},
		"with events, taken over":          {old, []history.Settled{late}, event, history.ErrStale},
	} {
		if _, err := s.SettleCalls(c.ctx(), w.l, w.settled, w.events); !errors.Is(err, w.want) {
			t.Errorf("a late result %s: %v, want %v", name, err, w.want)
		}
	}
	c.must(s.SettleCalls(c.ctx(), c.l, []history.Settled{late, current}, event))
	got, err := s.Events(c.ctx(), "c1", 4)
	if err != nil || len(got) != 2 || got[0].Kind != "late_result" || got[1].Kind != "k" {
		t.Errorf("events of a late result with one in time: %+v, %v", got, err)
	}
}

// testInterrupted leaves a round in the middle; whoever takes the conversation next goes on with it.
func testInterrupted(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	c.say("k", "hello")
	o := c.opening("a", "b", "c", "d")
	o.Calls[1].State, o.Calls[1].Attempt = history.CallRunning, 1
	o.Calls[2].State = history.CallWaiting
	c.must(s.OpenRound(c.ctx(), c.l, o))
	c.must(s.SettleCalls(c.ctx(), c.l, []history.Settled{c.result(4, "kept")}, nil))
	if err := s.ReleaseLease(c.ctx(), c.l); err != nil {
		t.Fatal(err)
	}
	c.take("c1")
	round, err := s.FindRound(c.ctx(), "c1", "")
	if err != nil || round.Closed || round.Calls != 4 {
		t.Fatalf("the round that was left is %+v, %v", round, err)
	}
	got := read(t, s, "c1")
	var states []history.CallState
	for _, call := range got.Calls {
		states = append(states, call.State)
	}
	same(t, "states", []history.CallState{history.CallPending, history.CallRunning, history.CallWaiting, history.CallSettled}, states)
	if got.Turns[0].State != history.TurnOpen || got.Turns[0].Rounds != 1 {
		t.Errorf("the turn is %+v, want it open with one round", got.Turns[0])
	}
	second := history.CallID{Round: 1, Index: 2}
	if err := s.StartCalls(c.ctx(), c.l, []history.Start{{ID: second, Attempt: 2, Now: start}}); err != nil {
		t.Fatal(err)
	}
	cl := c.closing(4)
	cl.Settled = []history.Settled{c.result(1, "a"), c.result(2, "b"), c.result(3, "c")}
	cl.Settled[1].Outcome = history.OutcomeUnknown
	c.must(s.CloseRound(c.ctx(), c.l, cl))
	calls, err := s.CallsOf(c.ctx(), "c1", 1)
	if err != nil {
		t.Fatal(err)
	}
	if calls[1].Attempt != 2 || calls[1].Fence != 2 || calls[1].Outcome != history.OutcomeUnknown {
		t.Errorf("the call that was begun again is %+v", calls[1])
	}
	r, err := s.ResultOf(c.ctx(), "c1", history.CallID{Round: 1, Index: 4})
	if err != nil || string(r.Shown) != "kept" || !r.Same {
		t.Errorf("the result that was kept is shown as %q, %v", r.Shown, err)
	}
	sound(t, s, "c1")
}

// testForeignLoop runs rounds of somebody else's loop: no turn, no message, no fragment.
func testForeignLoop(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	for n := 1; n <= 2; n++ {
		c.round = n
		_, err := s.OpenRound(c.ctx(), c.l, history.Opening{Round: n, Key: "m" + string(rune('0'+n)), Append: history.Append{Now: start}, Calls: []history.Call{
			{ID: history.CallID{Round: n, Index: 1}, Tool: "a", State: history.CallPending},
		}})
		if err != nil {
			t.Fatal(err)
		}
		cl := history.Closing{Round: n, Settled: []history.Settled{c.result(1, "x")}, Shown: []history.Shown{{ID: history.CallID{Round: n, Index: 1}, Same: true}}}
		c.must(s.CloseRound(c.ctx(), c.l, cl))
	}
	got := read(t, s, "c1")
	same(t, "rounds", []history.Round{{N: 1, Key: "m1", Closed: true, Calls: 1}, {N: 2, Key: "m2", Closed: true, Calls: 1}}, got.Rounds)
	same(t, "args", []byte{}, got.Calls[0].Args)
	sound(t, s, "c1")
}
