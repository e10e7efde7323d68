package bench

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// load is what one round stores: the model's message, its four calls, and four results of 16 KB together.
type load struct {
	message []byte
	args    []byte
	tools   [4]string
	results [4][]byte
	// fragment and wire are the message and the results as they went on the wire; nil under a host's own
	// loop, which keeps its requests itself.
	fragment, wire []byte
}

func newLoad(wire bool) load {
	l := load{
		message: bytes.Repeat([]byte("m"), 400), args: []byte(`{"path":"src/a.go","pattern":"func"}`),
		tools: [4]string{"grep", "read", "shell", "list"},
	}
	if wire {
		l.fragment = bytes.Repeat([]byte("f"), 500)
	}
	for i, size := range []int{700, 2_300, 4_200, 9_000} {
		l.results[i] = bytes.Repeat([]byte("a line of the result\n"), size/21+1)[:size]
		if wire {
			l.wire = append(l.wire, l.results[i]...)
		}
	}
	return l
}

// open opens a store that ends with the benchmark.
func open(b *testing.B, dir string, level sqlite.Synchronous) *sqlite.Store {
	b.Helper()
	s, err := sqlite.Open(context.Background(), dir, sqlite.Config{Synchronous: level})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

// driver writes rounds through the contract of package history, as the agent does.
type driver struct {
	store history.Store
	lease history.Lease
	load  load
	n     int
	sent  int64
}

func newDriver(b *testing.B, s history.Store, conversation string, l load) *driver {
	b.Helper()
	ctx := context.Background()
	lease, err := s.TakeLease(ctx, history.Take{
		Conversation: conversation, Create: &history.Conversation{ID: conversation}, Run: "bench", Now: time.Now(),
	})
	if err != nil {
		b.Fatal(err)
	}
	d := &driver{store: s, lease: lease, load: l}
	if l.fragment == nil {
		return d
	}
	d.sent = int64(len(l.fragment))
	_, err = s.BeginTurn(ctx, lease, history.Begin{Turn: 1, Append: history.Append{
		Messages:  []history.Message{{Seq: 1, Turn: 1, Role: "user", Codec: "bench", Body: l.message}},
		Epoch:     &history.Epoch{N: 1, Dialect: "bench", Reason: "start", Head: []byte(`{"messages":[`), Tail: []byte("]}")},
		Fragments: []history.Fragment{{Epoch: 1, Pos: 1, Seq: 1, Bytes: l.fragment}},
		Intent:    &history.Request{N: 1, Epoch: 1, LastPos: 1, MessageBytes: d.sent, TotalBytes: d.sent + 15},
	}})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// round opens a round with four calls and closes it with their results.
func (d *driver) round() error {
	ctx, now, n, l := context.Background(), time.Now(), d.n+1, d.load
	d.n = n
	opening := history.Opening{Round: n, Append: history.Append{Now: now}}
	closing := history.Closing{Round: n, Append: history.Append{Now: now}}
	for i, name := range l.tools {
		id := history.CallID{Round: n, Index: i + 1}
		opening.Calls = append(opening.Calls, history.Call{ID: id, ProviderID: "toolu_0123456789", Tool: name, Args: l.args, State: history.CallPending, Created: now})
		closing.Settled = append(closing.Settled, history.Settled{Result: history.Result{ID: id, Tool: name, Whole: l.results[i]}, Outcome: history.OutcomeDone, Now: now})
		closing.Shown = append(closing.Shown, history.Shown{ID: id, Same: true})
	}
	if l.fragment == nil {
		opening.Append.Messages = []history.Message{{Seq: int64(2*n - 1), Role: "assistant", Codec: "bench", Body: l.message, Round: n}}
		closing.Append.Messages = []history.Message{{Seq: int64(2 * n), Role: "results", Codec: "bench", Round: n}}
	} else {
		d.wire(&opening, &closing)
	}
	if _, err := d.store.OpenRound(ctx, d.lease, opening); err != nil {
		return err
	}
	_, err := d.store.CloseRound(ctx, d.lease, closing)
	return err
}

// wire adds what an agent stores of its requests.
func (d *driver) wire(opening *history.Opening, closing *history.Closing) {
	n, seq, l := d.n, int64(2*d.n), d.load
	pos := int(seq)
	d.sent += int64(len(l.fragment) + len(l.wire) + 2)
	opening.Turn = 1
	opening.Append.Outcomes = []history.Outcomes{{N: n, Outcome: "ok", Usage: history.Usage{In: 1000, Out: 100}}}
	opening.Append.Messages = []history.Message{{Seq: seq, Turn: 1, Role: "assistant", Codec: "bench", Body: l.message, Round: n}}
	opening.Append.Fragments = []history.Fragment{{Epoch: 1, Pos: pos, Seq: seq, Encoder: "1", Bytes: l.fragment}}
	closing.Append.Messages = []history.Message{{Seq: seq + 1, Turn: 1, Role: "results", Codec: "bench", Round: n}}
	closing.Append.Fragments = []history.Fragment{{Epoch: 1, Pos: pos + 1, Seq: seq + 1, Encoder: "1", Bytes: l.wire}}
	closing.Append.Intent = &history.Request{N: n + 1, Epoch: 1, LastPos: pos + 1, MessageBytes: d.sent, TotalBytes: d.sent + 15}
}

// settle gives a function that settles one round of no-op tools with the load of a host's own loop. With
// a lease the conversation is held by the caller, as the agent does; without one each round takes it and
// gives it back.
func settle(b *testing.B, s history.Store, conversation string, lease *history.Lease) func() error {
	b.Helper()
	ctx, l := context.Background(), newLoad(false)
	var tools []tool.Tool
	var calls []tool.Call
	for i, name := range l.tools {
		text := string(l.results[i])
		type in struct{ Path, Pattern string }
		t, err := tool.Func(name, "", func(context.Context, in) (string, error) { return text, nil })
		if err != nil {
			b.Fatal(err)
		}
		t.ReadOnly = true
		tools = append(tools, t)
		calls = append(calls, tool.Call{ID: "toolu_0123456789", Name: name, Args: []byte(`{"Path":"src/a.go","Pattern":"func"}`)})
	}
	settler, err := round.New(s, round.Config{Tools: tools})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	return func() error {
		n++
		settled, err := settler.Settle(ctx, round.Request{
			Conversation: conversation, Calls: calls, Lease: lease,
			Open: history.Append{Messages: []history.Message{{Seq: int64(2*n - 1), Role: "assistant", Codec: "bench", Body: l.message}}},
			Seal: func(r round.Round) (history.Append, error) {
				return history.Append{Messages: []history.Message{{Seq: int64(2 * n), Role: "results", Codec: "bench", Round: r.N}}}, nil
			},
		})
		if err == nil && (len(settled.Results) != 4 || settled.Results[3].Text != string(l.results[3])) {
			b.Fatalf("round %d gave %+v", n, settled)
		}
		return err
	}
}
