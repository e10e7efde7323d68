package round

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/weir-run/weir/envelope/loop"
	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/tool"
)

// inner are the calls that one running call makes itself. They take the path of every call and are stored
// below it; the model is not shown them.
type inner struct {
	w      *work
	parent *call
	// ctx ends with the parent's body, which is why it may stand in a struct here.
	ctx  context.Context
	stop context.CancelFunc
	// running are the calls that are not settled yet.
	running sync.WaitGroup

	mu sync.Mutex
	// ring sees calls that go round in circles; its clock begins with the parent.
	ring  loop.Ring
	began time.Time
	// sub is the number of the last call; ended says that no more are taken.
	sub   int
	ended bool
	// queue are calls that wait to be stored, in order; opening says that somebody stores.
	queue   []*begun
	opening bool
}

// begun is an inner call on its way into the store.
type begun struct {
	call   *call
	opened chan struct{}
	err    error
}

func newInner(w *work, parent *call) *inner {
	in := &inner{w: w, parent: parent, sub: parent.subs, began: w.settler.cfg.Now()}
	in.ctx, in.stop = context.WithCancel(w.ctx)
	return in
}

// dispatcher is what a body may call; nil for a call that is an inner one itself.
func (c *call) dispatcher() tool.Dispatcher {
	if c.inner == nil {
		return nil
	}
	return c.inner
}

// end stops the calls that still run and waits until all are settled, each of which is bounded.
func (in *inner) end() {
	in.mu.Lock()
	in.ended = true
	in.mu.Unlock()
	in.stop()
	in.running.Wait()
}

// Do runs one inner call to its whole result.
func (in *inner) Do(ctx context.Context, name string, args json.RawMessage) (tool.Whole, error) {
	return in.Begin(ctx, name, args)()
}

// Begin numbers one inner call and lets it run.
func (in *inner) Begin(ctx context.Context, name string, args json.RawMessage) func() (tool.Whole, error) {
	b := &begun{opened: make(chan struct{}), call: &call{
		prepared: in.w.settler.set.Prepare(tool.Call{Name: name, Args: args}), state: history.CallPending, attempt: 1,
	}}
	p := &b.call.prepared
	if p.Tool.Dispatches && p.Refusal == nil {
		refusal := tool.Errorf("%s cannot be called from inside another call: end this one and call it directly.", name)
		p.Refusal = &refusal
	}
	if p.Refusal == nil && !p.Tool.Repeatable() && in.w.settler.cfg.Approve == nil {
		b.call.state = history.CallRunning // it may have begun from here on, whatever happens
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended {
		return func() (tool.Whole, error) {
			return tool.Whole{}, fmt.Errorf("call %s: the call that makes it has ended: %w", name, context.Canceled)
		}
	}
	in.sub++
	b.call.id = history.CallID{Round: in.parent.id.Round, Index: in.parent.id.Index, Sub: in.sub}
	in.queue = append(in.queue, b)
	in.running.Add(1)
	if !in.opening {
		in.opening = true
		go in.open()
	}
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		defer in.running.Done()
		err = in.run(ctx, b)
	}()
	return func() (tool.Whole, error) {
		<-done
		if err != nil {
			return tool.Whole{}, err
		}
		return in.w.wholeOf(b.call)
	}
}

// open stores the calls that wait, in order; what came together shares a commit.
func (in *inner) open() {
	for {
		in.mu.Lock()
		batch := in.queue
		in.queue = nil
		if len(batch) == 0 {
			in.opening = false
			in.mu.Unlock()
			return
		}
		in.mu.Unlock()
		err := in.store(batch)
		for _, b := range batch {
			b.err = err
			close(b.opened)
		}
	}
}

func (in *inner) store(batch []*begun) error {
	o := history.Opening{Round: in.parent.id.Round, Parent: in.parent.id}
	o.Append.Now = in.w.settler.cfg.Now()
	for _, b := range batch {
		p := b.call.prepared.Call
		o.Calls = append(o.Calls, history.Call{
			ID: b.call.id, Tool: p.Name, Args: p.Args, State: b.call.state, Attempt: 1, Created: o.Append.Now,
		})
	}
	receipt, err := in.w.settler.store.OpenRound(in.w.durable, in.w.lease, o)
	if err != nil {
		return fmt.Errorf("store %d inner calls of %s: %w", len(batch), in.parent.id, err)
	}
	in.w.settler.notify(receipt.Events)
	return nil
}

// run brings one inner call to its stored result. The caller's ctx and the end of the parent stop it.
func (in *inner) run(ctx context.Context, b *begun) error {
	<-b.opened
	if b.err != nil {
		return b.err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(in.ctx, stop)()
	w := *in.w // the same round, under another context
	w.ctx = ctx
	// The parent waits from here on: it holds no slot, or calls that wait for each other could take all.
	in.parent.free()
	step := in.watch(b.call)
	w.innerOne(b.call)
	in.observe(step, b.call)
	if err := in.w.store([]*call{b.call}); err != nil {
		return fmt.Errorf("store the result of %s: %w", b.call.id, err)
	}
	return nil
}

// watch refuses a call that has gone round in circles long enough. A script has no turn to end, and a
// warning in a result would be data to it, so that is all.
func (in *inner) watch(c *call) loop.Step {
	if !in.w.settler.cfg.Loops || c.prepared.Refusal != nil {
		return loop.Step{}
	}
	t := c.prepared.Tool
	step := loop.Step{
		At: in.w.settler.cfg.Now().Sub(in.began), Calls: []loop.Call{seen(t.Name, c.prepared.Call.Args, t)},
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if v := in.ring.Next(step); v.Action == loop.End {
		refusal := tool.Errorf("%s was not run: %s", t.Name, v.Reason)
		c.prepared.Refusal = &refusal
	}
	return step
}

func (in *inner) observe(step loop.Step, c *call) {
	if len(step.Calls) == 0 || c.whole == nil {
		return
	}
	step.Calls[0].Result, step.Calls[0].IsError = sameAs(c.whole.Text, c.record), c.record.IsError
	in.mu.Lock()
	defer in.mu.Unlock()
	in.ring.Observe(step)
}

// innerOne brings one inner call to its whole result.
func (w *work) innerOne(c *call) {
	if c.prepared.Refusal != nil {
		w.whole(c, execute.Run(w.ctx, c.prepared, execute.Env{}))
		return
	}
	if !w.allowed(c) {
		return
	}
	if c.free = w.slots.take(w.ctx, c.prepared.Tool); c.free == nil {
		w.notStarted(c)
		return
	}
	defer c.free()
	if c.state != history.CallRunning && !c.prepared.Tool.Repeatable() {
		mark := history.Start{ID: c.id, Attempt: c.attempt, Now: w.settler.cfg.Now()}
		if err := w.settler.store.StartCalls(w.durable, w.lease, []history.Start{mark}); err != nil {
			w.failed(c, err)
			return
		}
		c.state = history.CallRunning
	}
	ran := w.run(w.ctx, c)
	c.ran = !ran.Abandoned
	w.whole(c, ran)
}

// allowed decides whether an inner call may run. Nobody can be asked about one, since its caller waits in
// a process that cannot wait for days.
func (w *work) allowed(c *call) bool {
	if w.settler.cfg.Approve == nil {
		return true
	}
	d, err := w.settler.cfg.Approve(w.ctx, c.question(false))
	switch {
	case w.ctx.Err() != nil:
		w.notStarted(c)
	case err != nil:
		w.denied(c, fmt.Sprintf("it could not be decided: %v", err))
	case d.Verdict == Allow:
		return true
	case d.Verdict == Deny:
		w.denied(c, d.Reason)
	default:
		w.denied(c, "it needs an approval, which cannot be asked for from inside another call; call it directly")
	}
	return false
}
