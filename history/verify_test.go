package history_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/spill"
)

// memory is a conversation that can be spoilt anywhere, behind the interfaces that Verify reads.
type memory struct {
	turns     []history.Turn
	rounds    []history.Round
	calls     []history.Call
	results   map[history.CallID]*history.Result
	messages  []history.Message
	epochs    []history.Epoch
	fragments map[int][]history.Fragment // an epoch's own
	requests  []history.Request
	events    []history.Event
	spills    []spill.Ref
	files     map[string]string
	// broken makes reading itself fail.
	broken error
}

func (m *memory) Conversations(context.Context, int) ([]history.Conversation, error) { return nil, nil }

func (m *memory) Conversation(_ context.Context, id string) (history.Conversation, error) {
	if id != "c1" {
		return history.Conversation{}, history.ErrNotFound
	}
	return history.Conversation{ID: id}, nil
}

func (m *memory) TurnsOf(context.Context, string) ([]history.Turn, error)   { return m.turns, nil }
func (m *memory) RoundsOf(context.Context, string) ([]history.Round, error) { return m.rounds, nil }

func (m *memory) FindRound(context.Context, string, string) (history.Round, error) {
	return history.Round{}, history.ErrNotFound
}

func (m *memory) CallsAfter(ctx context.Context, conversation string, _ int) ([]history.Call, error) {
	return m.CallsOf(ctx, conversation, 0)
}

func (m *memory) CallsOf(_ context.Context, _ string, round int) ([]history.Call, error) {
	var out []history.Call
	for _, c := range m.calls {
		if round == 0 || c.ID.Round == round {
			out = append(out, c)
		}
	}
	return out, nil
}

func (m *memory) ResultsOf(context.Context, string, int) ([]history.Result, error) { return nil, nil }

func (m *memory) ResultOf(_ context.Context, _ string, id history.CallID) (history.Result, error) {
	r := m.results[id]
	if r == nil {
		return history.Result{}, history.ErrNotFound
	}
	return *r, nil
}

func (m *memory) Messages(context.Context, string, int64) ([]history.Message, error) {
	return m.messages, m.broken
}
func (m *memory) Epochs(context.Context, string) ([]history.Epoch, error) { return m.epochs, nil }

func (m *memory) Fragments(_ context.Context, _ string, epoch, after int, yield func(history.Fragment) error) error {
	for _, f := range m.fragments[epoch] {
		if f.Pos <= after {
			continue
		}
		if err := yield(f); err != nil {
			return err
		}
	}
	return nil
}

func (m *memory) Requests(context.Context, string) ([]history.Request, error) { return m.requests, nil }

func (m *memory) Events(context.Context, string, int64) ([]history.Event, error) {
	return m.events, nil
}

func (m *memory) SpillsOf(context.Context, string) ([]spill.Ref, error) { return m.spills, nil }

func (m *memory) Spills() spill.Store { return (*memoryFiles)(m) }

// memoryFiles is the memory's kept files.
type memoryFiles memory

func (m *memoryFiles) Create(context.Context, spill.Name) (spill.Writer, error) {
	return nil, spill.ErrQuota
}

func (m *memoryFiles) Share(context.Context, string, string) (string, error) {
	return "", spill.ErrQuota
}
func (m *memoryFiles) Remove(context.Context, string) error { return nil }

func (m *memoryFiles) Open(_ context.Context, file string) (spill.File, error) {
	text, ok := m.files[file]
	if !ok {
		return nil, spill.ErrNotFound
	}
	return memoryFile{strings.NewReader(text)}, nil
}

type memoryFile struct{ *strings.Reader }

func (f memoryFile) Close() error { return nil }

// ref keeps a text as a file.
func (m *memory) ref(name, text string) spill.Ref {
	r := spill.Ref{Name: name, File: "c1/" + name, SHA256: sha256.Sum256([]byte(text)), Index: lines.Of([]byte(text)), Complete: true}
	m.spills = append(m.spills, r)
	m.files[r.File] = text
	return r
}

func (m *memory) message(role string, turn, round int) int64 {
	seq := int64(len(m.messages) + 1)
	m.messages = append(m.messages, history.Message{Seq: seq, Turn: turn, Role: role, Round: round})
	return seq
}

// fragment adds one to an epoch.
func (m *memory) fragment(epoch, base int, seq int64, text string) {
	own := m.fragments[epoch]
	pos, chain := base+1, [32]byte{}
	if len(own) > 0 {
		pos, chain = own[len(own)-1].Pos+1, own[len(own)-1].Chain
	} else if e := m.epochs[epoch-1]; e.Base > 0 && base > 0 {
		chain = m.chain(e.Base, base)
	}
	m.fragments[epoch] = append(own, history.Fragment{Epoch: epoch, Pos: pos, Seq: seq, Bytes: []byte(text), Chain: history.Chain(chain, []byte(text))})
}

func (m *memory) chain(epoch, pos int) [32]byte {
	for _, f := range m.fragments[epoch] {
		if f.Pos == pos {
			return f.Chain
		}
	}
	return [32]byte{}
}

func (m *memory) epoch(base, count int, head string) {
	m.epochs = append(m.epochs, history.Epoch{
		N: len(m.epochs) + 1, Base: base, BaseCount: count, Head: []byte(head), Tail: []byte("]}"), HeadSHA: sha256.Sum256([]byte(head)),
	})
}

func (m *memory) result(id history.CallID, r history.Result, text string) {
	index := lines.Of([]byte(text))
	r.ID, r.Bytes, r.Lines, r.Chars, r.SHA256 = id, index.Bytes, index.Lines, index.Chars, sha256.Sum256([]byte(text))
	m.results[id] = &r
}

// sound is a conversation of one turn with a closed round and an open one, in two epochs.
func sound() *memory {
	m := &memory{results: map[history.CallID]*history.Result{}, fragments: map[int][]history.Fragment{}, files: map[string]string{}}
	m.turns = []history.Turn{{N: 1, FirstSeq: 1, State: history.TurnEnded}, {N: 2, FirstSeq: 4, State: history.TurnOpen}}
	m.epoch(0, 0, "[")
	m.fragment(1, 0, m.message("user", 1, 0), "one")
	m.fragment(1, 0, m.message("assistant", 1, 1), "")
	m.fragment(1, 0, m.message("results", 1, 1), "three")
	m.epoch(1, 3, `{"messages":[{}`) // ends in an element: a comma stands after it
	m.fragment(2, 3, m.message("user", 2, 0), "four")
	m.fragment(2, 3, m.message("assistant", 2, 2), "five")
	request := func(epoch, pos int, messages int64) {
		e := m.epochs[epoch-1]
		m.requests = append(m.requests, history.Request{
			N: len(m.requests) + 1, Epoch: epoch, LastPos: pos, HeadSHA: e.HeadSHA, Chain: m.chain(epoch, pos),
			MessageBytes: messages, TotalBytes: messages + int64(len(e.Head)+len(e.Tail)),
		})
	}
	request(1, 1, 3)
	request(1, 3, 9)
	request(2, 4, 15)
	m.rounds = []history.Round{{N: 1, Turn: 1, Seq: 2, ResultsSeq: 3, Closed: true, Calls: 2}, {N: 2, Turn: 2, Seq: 5, Calls: 2}}
	id := func(r, i, sub int) history.CallID { return history.CallID{Round: r, Index: i, Sub: sub} }
	m.calls = []history.Call{
		{ID: id(1, 1, 0), State: history.CallAnswered},
		{ID: id(1, 1, 1), State: history.CallAnswered},
		{ID: id(1, 1, 2), State: history.CallRunning},
		{ID: id(1, 2, 0), State: history.CallAnswered},
		{ID: id(2, 1, 0), State: history.CallSettled},
		{ID: id(2, 2, 0), State: history.CallPending},
	}
	long := strings.Repeat("a line\n", 30_000)
	kept := m.ref("r1-2-grep.txt", long)
	m.ref("r1-2-grep.png", "\x89PNG")
	m.result(id(1, 1, 0), history.Result{Whole: []byte("a\nb"), Same: true}, "a\nb")
	m.result(id(1, 1, 1), history.Result{Whole: []byte("inner")}, "inner")
	m.result(id(1, 2, 0), history.Result{Spill: &kept, Shown: []byte("preview"), ShownSHA256: sha256.Sum256([]byte("preview"))}, long)
	m.result(id(2, 1, 0), history.Result{Whole: []byte{}}, "")
	m.events = []history.Event{{Seq: 1}, {Seq: 2}}
	for i := range m.messages {
		m.messages[i].SHA256 = sha256.Sum256(m.messages[i].Body)
	}
	for i := range m.calls {
		m.calls[i].ArgsSHA256 = sha256.Sum256(m.calls[i].Args)
	}
	return m
}

func TestVerifySound(t *testing.T) {
	t.Parallel()
	problems, err := history.Verify(t.Context(), sound(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]history.Problem(nil), problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if _, err := history.Verify(t.Context(), sound(), "c2"); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("no such conversation: %v, want ErrNotFound", err)
	}
	m := sound()
	m.broken = io.ErrUnexpectedEOF
	if _, err := history.Verify(t.Context(), m, "c1"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a store that cannot be read: %v, want its error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := history.Verify(ctx, sound(), "c1"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v, want context.Canceled", err)
	}
}

// Every way to spoil a conversation is found, and named.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	id := func(r, i int) history.CallID { return history.CallID{Round: r, Index: i} }
	tests := []struct {
		name  string
		spoil func(*memory)
		want  string // kind, where
	}{
		{"a byte of a fragment", func(m *memory) { m.fragments[1][0].Bytes[0] ^= 1 }, "chain, epoch 1 fragment 1"},
		{"a byte of a fragment of another epoch", func(m *memory) { m.fragments[2][1].Bytes[0] ^= 1 }, "chain, epoch 2 fragment 5"},
		{"a chain", func(m *memory) { m.fragments[1][2].Chain[0] ^= 1 }, "chain, epoch 1 fragment 3"},
		{"a fragment that is gone", func(m *memory) { m.fragments[1] = m.fragments[1][:2] }, "sequence, epoch 2"},
		{"a fragment in between that is gone", func(m *memory) { m.fragments[2] = m.fragments[2][1:] }, "sequence, epoch 2 fragment 5"},
		{"a fragment of no message", func(m *memory) { m.fragments[1][0].Seq = 9 }, "sequence, epoch 1 fragment 1"},
		{"a byte of a head", func(m *memory) { m.epochs[0].Head = []byte("{") }, "head, epoch 1"},
		{"the hash of a head", func(m *memory) { m.epochs[1].HeadSHA[0] ^= 1 }, "head, epoch 2"},
		{"an epoch's number", func(m *memory) { m.epochs[1].N = 3 }, "sequence, epoch 3"},
		{"a base that is not there", func(m *memory) { m.epochs[1].Base = 7 }, "sequence, epoch 2"},
		{"a base that is too short", func(m *memory) { m.epochs[1].BaseCount = 9 }, "sequence, epoch 2"},
		{"a request's head", func(m *memory) { m.requests[0].HeadSHA[0] ^= 1 }, "request, request 1"},
		{"a request's chain", func(m *memory) { m.requests[2].Chain[0] ^= 1 }, "request, request 3"},
		{"a request's message bytes", func(m *memory) { m.requests[1].MessageBytes++ }, "request, request 2"},
		{"a request's bytes", func(m *memory) { m.requests[2].TotalBytes-- }, "request, request 3"},
		{"a request's fragment", func(m *memory) { m.requests[2].LastPos = 9 }, "request, request 3"},
		{"a request's epoch", func(m *memory) { m.requests[2].Epoch = 9 }, "request, request 3"},
		{"a request's number", func(m *memory) { m.requests[1].N = 9 }, "sequence, request 9"},
		{"a byte of a message", func(m *memory) { m.messages[1].Body = []byte("spoiled") }, "message, message 2"},
		{"a byte of a call's arguments", func(m *memory) { m.calls[3].Args = []byte("spoiled") }, "message, r1-2"},
		{"a message that is gone", func(m *memory) { m.messages = append(m.messages[:3:3], m.messages[4]) }, "sequence, message 5"},
		{"an event that is gone", func(m *memory) { m.events = m.events[1:] }, "sequence, event 2"},
		{"a turn that is gone", func(m *memory) { m.turns = m.turns[1:] }, "sequence, turn 2"},
		{"a turn that did not end", func(m *memory) { m.turns[0].State = history.TurnOpen }, "sequence, turn 1"},
		{"a turn of no message", func(m *memory) { m.turns[1].FirstSeq = 9 }, "sequence, turn 2"},
		{"a round's number", func(m *memory) { m.rounds[1].N = 3 }, "sequence, round 3"},
		{"a round without its results message", func(m *memory) { m.rounds[0].ResultsSeq = 0 }, "round, round 1"},
		{"a round with another message", func(m *memory) { m.rounds[0].ResultsSeq = 4 }, "round, round 1"},
		{"a round that another opened", func(m *memory) { m.rounds[1].Seq = 4 }, "round, round 2"},
		{"an open round before another", func(m *memory) { m.rounds[0].Closed = false }, "round, round 1"},
		{"a round's number of calls", func(m *memory) { m.rounds[1].Calls = 3 }, "round, round 2"},
		{"a call that is not answered", func(m *memory) { m.calls[0].State = history.CallSettled }, "round, r1-1"},
		{"a call that is answered too early", func(m *memory) { m.calls[4].State = history.CallAnswered }, "round, r2-1"},
		{"a call that is gone", func(m *memory) { m.calls = m.calls[3:] }, "sequence, r1-2"},
		{"an answer that is gone", func(m *memory) { m.results[id(1, 1)].Same = false }, "result, r1-1"},
		{"a result that is gone", func(m *memory) { delete(m.results, id(1, 1)) }, "result, r1-1"},
		{"a result too early", func(m *memory) { m.results[id(2, 2)] = m.results[id(2, 1)] }, "result, r2-2"},
		{"a byte of a result", func(m *memory) { m.results[id(1, 1)].Whole[0] ^= 1 }, "result, r1-1"},
		{"a byte of what was shown", func(m *memory) { m.results[id(1, 2)].Shown[0] ^= 1 }, "result, r1-2"},
		{"a result's bytes", func(m *memory) { m.results[id(1, 1)].Bytes++ }, "result, r1-1"},
		{"a result's lines", func(m *memory) { m.results[id(1, 1)].Lines++ }, "result, r1-1"},
		{"a result's characters", func(m *memory) { m.results[id(1, 1)].Chars++ }, "result, r1-1"},
		{"a result's hash", func(m *memory) { m.results[id(1, 1)].SHA256[0] ^= 1 }, "result, r1-1"},
		{"a result that is nowhere", func(m *memory) { m.results[id(1, 1)].Whole = nil }, "result, r1-1"},
		{"a spilled result's hash", func(m *memory) { m.results[id(1, 2)].SHA256[0] ^= 1 }, "spill, r1-2"},
		{"a file that is gone", func(m *memory) { delete(m.files, "c1/r1-2-grep.txt") }, "spill, r1-2"},
		{"a file that is short", func(m *memory) { m.files["c1/r1-2-grep.txt"] = "short" }, "spill, r1-2"},
		{"a byte of a file", func(m *memory) { m.files["c1/r1-2-grep.txt"] = "A" + m.files["c1/r1-2-grep.txt"][1:] }, "spill, r1-2"},
		{"a payload that is gone", func(m *memory) { delete(m.files, "c1/r1-2-grep.png") }, "spill, tool-results/r1-2-grep.png"},
		{"a byte of a payload", func(m *memory) { m.files["c1/r1-2-grep.png"] = "\x89PNg" }, "spill, tool-results/r1-2-grep.png"},
		{"a file's lines", func(m *memory) { m.results[id(1, 2)].Spill.Index.Lines++ }, "spill, r1-2"},
		{"a file's index", func(m *memory) {
			ref := m.results[id(1, 2)].Spill
			ref.Index.Counts = append(lines.Counts{}, ref.Index.Counts...)
			ref.Index.Counts[1]++
		}, "spill, r1-2"},
		{"a file of a part", func(m *memory) { m.results[id(1, 2)].Spill.Complete = false }, "spill, r1-2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := sound()
			tt.spoil(m)
			problems, err := history.Verify(t.Context(), m, "c1")
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range problems {
				if p.Kind+", "+p.Where == tt.want && p.What != "" && !strings.Contains(p.String(), "\n") {
					return
				}
			}
			t.Errorf("problems %q, want one of %s", problems, tt.want)
		})
	}
}

func TestVerifyIsBounded(t *testing.T) {
	t.Parallel()
	m := sound()
	for range 3000 {
		m.events = append(m.events, history.Event{})
	}
	problems, err := history.Verify(t.Context(), m, "c1")
	if err != nil {
		t.Fatal(err)
	}
	if len(problems) != 1001 || problems[1000].Kind != history.ProblemMore {
		t.Errorf("%d problems, the last is %v, want 1000 and one that says that there are more", len(problems), problems[len(problems)-1])
	}
}

// The chain is a length in 8 bytes between two hashes: known values, so that no other program differs.
func TestChain(t *testing.T) {
	t.Parallel()
	first := history.Chain([32]byte{}, []byte("hello"))
	want := sha256.Sum256(append(make([]byte, 32), "\x00\x00\x00\x00\x00\x00\x00\x05hello"...))
	if first != want {
		t.Errorf("Chain(0, hello) = %x, want %x", first, want)
	}
	if history.Chain(first, nil) == first || history.Chain([32]byte{}, []byte("hell")) == first {
		t.Error("different fragments have the same chain")
	}
	// What stands in two fragments is not what stands in one.
	a := history.Chain(history.Chain([32]byte{}, []byte("ab")), []byte("c"))
	b := history.Chain(history.Chain([32]byte{}, []byte("a")), []byte("bc"))
	if a == b {
		t.Error("the border between two fragments does not count")
	}
}

func TestCallID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]history.CallID{
		"r1-1": {Round: 1, Index: 1}, "r12-345": {Round: 12, Index: 345}, "r3-1.2": {Round: 3, Index: 1, Sub: 2},
	} {
		got, err := history.ParseCallID(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("ParseCallID(%q) = %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "r", "r1", "1-1", "r1-", "r-1", "r0-1", "r1-0", "r1-1.0", "r1-1.", "r01-1", "r1-+1", "r1-1.2.3", "R1-1", "r1-1 ", "r99999999999999999999-1"} {
		if id, err := history.ParseCallID(text); err == nil {
			t.Errorf("ParseCallID(%q) = %v, want an error", text, id)
		}
	}
}

func FuzzParseCallID(f *testing.F) {
	for _, text := range []string{"r1-1", "r3-1.2", "r0-1", "r1-1.", "x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := history.ParseCallID(text)
		if err == nil && id.String() != text {
			t.Errorf("ParseCallID(%q) = %+v, which is written %s", text, id, id)
		}
		if err != nil && strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("the error is more than a line: %q", err)
		}
	})
}

// A chain over a stream costs no copy of it.
func BenchmarkChain(b *testing.B) {
	text := bytes.Repeat([]byte("x"), 16<<10)
	b.SetBytes(int64(len(text)))
	chain := [32]byte{}
	for b.Loop() {
		chain = history.Chain(chain, text)
	}
	_ = fmt.Sprint(chain)
}
