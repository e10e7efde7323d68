package round

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/spill"
)

// Settle settles one round. The line is:
//
//	open    the calls, and whatever comes with them, are stored before any body runs
//	run     bodies run in parallel; each whole result is durable as it arrives
//	fit     when all are in: what is shown of each, so that each fits its cap and all fit the bound
//	close   what is shown is stored, with whatever Seal adds, in one commit
//
// It returns an error only when the runtime cannot go on: the store failed, the lease is gone, or the
// request does not fit what is stored. Everything that is wrong with a call is its result. When ctx ends,
// the calls that did not begin are answered as not started, running ones get their grace time, and the
// round is closed all the same.
func (s *Settler) Settle(ctx context.Context, r Request) (Round, error) {
	lease := r.Lease
	if lease == nil {
		held, driven, err := Hold(ctx, s.store, history.Take{
			Conversation: r.Conversation,
			Create:       &history.Conversation{ID: r.Conversation, CreatedAt: s.cfg.Now()},
		}, s.cfg.Now)
		if err != nil {
			return Round{}, err
		}
		defer func() { _ = held.Release(context.WithoutCancel(ctx)) }()
		l := held.Lease()
		lease, ctx = &l, driven
	}
	// What has been run must be stored, also after a cancel: the writes of a round outlive it.
	w := &work{
		settler: s, ctx: ctx, durable: context.WithoutCancel(ctx), lease: *lease, request: r, slots: newSlots(s.cfg.Parallel),
	}
	stored, err := w.open()
	if err != nil {
		return Round{}, fmt.Errorf("open a round of %s: %w", r.Conversation, err)
	}
	if stored != nil {
		return *stored, nil
	}
	if err := w.drive(); err != nil {
		return Round{}, fmt.Errorf("store the results of round %d of %s: %w", w.n, r.Conversation, err)
	}
	if waiting := w.waiting(); len(waiting) > 0 {
		if err := w.ask(waiting); err != nil {
			return Round{}, fmt.Errorf("ask about round %d of %s: %w", w.n, r.Conversation, err)
		}
		return Round{N: w.n, Key: w.request.Key, Waiting: ids(waiting)}, nil
	}
	closed, err := w.close()
	if err != nil {
		return Round{}, fmt.Errorf("close round %d of %s: %w", w.n, r.Conversation, err)
	}
	return closed, nil
}

// work is one round while it is being settled.
type work struct {
	settler *Settler
	// ctx ends when the round is cancelled; durable is for writes and does not. Both live as long as
	// Settle runs, which is why they may stand in a struct here.
	ctx, durable context.Context
	lease        history.Lease
	request      Request
	n            int
	calls        []*call
	// stop ends ctx; nil where nobody else does. heard takes what the call reports; nil is nobody.
	stop  context.CancelFunc
	heard func(text string)
	// watched is what was seen of loops; looped says why they end the turn.
	watched *watched
	looped  string
	// beside says that other rounds may be open at the same time.
	beside bool
	// slots are the places to run in, shared with the inner calls.
	slots *slots
}

// call is one call of the round.
type call struct {
	id       history.CallID
	prepared execute.Prepared
	state    history.CallState
	attempt  int
	// whole is what came back; nil while nothing did.
	whole   *execute.Whole
	outcome history.Outcome
	// record is the row for whole; stored says that it is in the store.
	record history.Result
	stored bool
	// ran says that whole is what its body gave, here.
	ran bool
	// unmarked says that its start is to be stored, approval what was asked and answered, wait that it waits.
	unmarked bool
	approval history.Approval
	wait     bool
	// spool took output while it was produced; nil when the tool asked for none.
	spool atomic.Pointer[spill.Spool]
	held  atomic.Pointer[heldOutput]
	// fatal is the error of a tool that ends the turn, stack that of a panic.
	fatal error
	stack string
	// images are those of a result that was read back.
	images []result.Payload
	// inner is what the call dispatches; nil while its body has not begun.
	inner *inner
	// subs is how many inner calls an earlier attempt made.
	subs int
	// reuse is the result that answers it without running; the zero value runs it.
	reuse history.CallID
	// fitted is what is shown of it beside the text.
	fitted execute.Shown
	// free gives its slot back; it may be called more than once.
	free func()
}

// open stores the round, or takes up the one that is stored under its key. A round that is closed is
// given back as it is stored.
func (w *work) open() (*Round, error) {
	found, err := w.find()
	if err != nil {
		return nil, err
	}
	if found != nil {
		return w.takeUp(*found)
	}
	if len(w.request.Calls) == 0 {
		return nil, fmt.Errorf("there are no calls to settle: %w", history.ErrNotFound)
	}
	return nil, w.create()
}

// create stores the round w.n with its calls.
func (w *work) create() error {
	opening := history.Opening{
		Round: w.n, Turn: w.request.Turn, Key: w.request.Key, Digest: digest(w.request), Append: w.request.Open, Beside: w.beside,
	}
	opening.Append.Now = w.settler.cfg.Now()
	if w.request.Seal != nil {
		// The message that opens the round says so; a results message will close it.
		opening.Append.Messages = slices.Clone(opening.Append.Messages)
		for i := range opening.Append.Messages {
			opening.Append.Messages[i].Round = w.n
		}
	}
	for i, c := range w.request.Calls {
		id := history.CallID{Round: w.n, Index: i + 1}
		w.calls = append(w.calls, &call{id: id, prepared: w.settler.set.Prepare(c), state: history.CallPending, attempt: 1})
	}
	if err := w.watch(); err != nil {
		return err
	}
	// What may not be repeated and starts at once is stored as running: a crash between this commit and
	// the body reads "unknown", never "not started".
	for _, c := range w.atOnce() {
		if !c.prepared.Tool.Repeatable() {
			c.state = history.CallRunning
		}
	}
	for _, c := range w.calls {
		opening.Calls = append(opening.Calls, history.Call{
			ID: c.id, ProviderID: c.prepared.Call.ID, Tool: c.prepared.Call.Name, Args: c.prepared.Call.Args,
			State: c.state, Attempt: c.attempt, Created: opening.Append.Now,
		})
	}
	receipt, err := w.settler.store.OpenRound(w.durable, w.lease, opening)
	if err != nil {
		return err
	}
	w.settler.notify(receipt.Events)
	return nil
}

// find looks for the round that the request means; nil when it is a new one, whose number it sets.
func (w *work) find() (*history.Round, error) {
	store, conversation := w.settler.store, w.request.Conversation
	latest, err := store.FindRound(w.durable, conversation, "")
	if errors.Is(err, history.ErrNotFound) {
		w.n = 1
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w.n = latest.N + 1
	if w.request.Latest || (w.request.Key != "" && latest.Key == w.request.Key) {
		return &latest, nil
	}
	if w.request.Key != "" {
		found, err := store.FindRound(w.durable, conversation, w.request.Key)
		if err == nil {
			return &found, nil
		}
		if !errors.Is(err, history.ErrNotFound) {
			return nil, err
		}
	}
	if !latest.Closed {
		return nil, w.leave(latest)
	}
	return nil, nil
}

// atOnce gives the calls that start as soon as the round is open: the first that have a slot, one of
// each serial tool. What is refused or settled takes no slot.
func (w *work) atOnce() []*call {
	var first []*call
	serial := map[string]bool{}
	for _, c := range w.calls {
		if len(first) == w.settler.cfg.Parallel {
			break
		}
		t := c.prepared.Tool
		if w.settler.cfg.Approve != nil || c.state == history.CallWaiting {
			continue // it is decided first whether it may run
		}
		if c.whole != nil || c.stored || w.request.Refuse != "" || c.prepared.Refusal != nil || (t.Serial && serial[t.Name]) {
			continue
		}
		serial[t.Name] = t.Serial
		first = append(first, c)
	}
	return first
}

// digest is the identity of a request's calls: a key cannot be used for others.
func digest(r Request) [32]byte {
	h := sha256.New()
	write := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	for _, c := range r.Calls {
		write([]byte(c.ID))
		write([]byte(c.Name))
		write(c.Args)
	}
	return [32]byte(h.Sum(nil))
}
