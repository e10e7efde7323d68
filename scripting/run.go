package scripting

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/weir-run/weir/scripting/internal/child"
	"github.com/weir-run/weir/scripting/internal/pipe"
	"github.com/weir-run/weir/scripting/internal/realm"
	"github.com/weir-run/weir/tool"
)

const (
	// late is how long after its time a script may take to end by itself before its process is ended.
	late = 250 * time.Millisecond
	// rest is how long what was printed before the end may take to be read, and what still runs for the
	// script to stop.
	rest = time.Second
	// asks is how many reads of stored results are served at once.
	asks = 4
)

// ending is how a script ended.
type ending struct {
	hasValue bool
	failure  string // a line that says what is off
	failed   bool
	timeIsUp bool
	stopped  string // why it was stopped, in words
}

// run runs one script to its end, its limit or the end of ctx, whichever is first.
func (s *Scripting) run(ctx context.Context, j job, running tool.Running) (tool.Result, error) {
	out := newOutput(running, s.limits.Output)
	h := newHost(running.Dispatch, s.limits, out)
	inner, stop := context.WithCancel(ctx)
	defer stop()
	var e ending
	var err error
	if s.inPlace {
		e = s.runHere(inner, j, h)
	} else {
		e, err = s.runApart(inner, j, h)
	}
	stop() // no inner call goes on
	if err != nil {
		if ctx.Err() != nil {
			return tool.Result{}, context.Cause(ctx)
		}
		return tool.Errorf("%s: the script was not run: %v", Name, err), nil
	}
	if cause := h.stopped(); tool.IsFatal(cause) {
		return tool.Result{}, cause
	}
	return e.result(h, j, ctx.Err() != nil), nil
}

// result words the end.
func (e ending) result(h *host, j job, cancelled bool) tool.Result {
	cause := h.stopped()
	switch {
	case cancelled:
		e.stopped = "the call was cancelled"
	case h.out.isOver():
		e.stopped = fmt.Sprintf("it printed and returned more than its limit of %s characters", count(h.limits.Output))
	case cause != nil && errors.Is(cause, errInner):
		e.stopped = fmt.Sprintf("it made more than its limit of %s tool calls", count(int64(h.limits.Calls)))
	case cause != nil:
		e.stopped = cause.Error()
	case e.timeIsUp:
		e.stopped = fmt.Sprintf("it ran longer than its limit of %s", j.wall)
	}
	switch {
	case e.stopped != "":
		return tool.Result{Data: h.out.finish("[stopped: " + e.stopped + "]"), IsError: true}
	case e.failure != "":
		return tool.Result{Data: h.out.finish("[" + e.failure + "]"), IsError: e.failed}
	case h.out.empty() && !e.hasValue:
		return tool.Result{Data: h.out.finish("[the script ended; it printed and returned nothing]")}
	}
	return tool.Result{Data: h.out.finish()}
}

// runHere runs a script in this process.
func (s *Scripting) runHere(ctx context.Context, j job, h *host) ending {
	timed, stop := context.WithTimeout(ctx, j.wall)
	defer stop()
	done := make(chan realm.Outcome, 1)
	go func() {
		defer h.close()
		defer func() {
			if v := recover(); v != nil {
				s.log.Error("script crashed", "stack", string(debug.Stack()))
				done <- realm.Outcome{Failed: true, Failure: "stopped: the engine crashed, which is a fault of it"}
			}
		}()
		done <- realm.Run(timed, j.script, inPlace{h})
	}()
	limit := time.NewTimer(j.wall + late)
	defer limit.Stop()
	select {
	case o := <-done:
		if o.Failed && timed.Err() != nil && ctx.Err() == nil {
			return ending{failed: true, timeIsUp: true}
		}
		h.out.value(o.Value, true)
		return ending{hasValue: o.HasValue, failure: o.Failure, failed: o.Failed}
	case <-h.out.full:
	case <-ctx.Done():
	case <-limit.C:
		return ending{failed: true, timeIsUp: true} // it goes on in the background until it looks; see InProcess
	}
	return ending{failed: true}
}

// session is one script in a process of its own.
type session struct {
	h       *host
	process *child.Process
	ctx     context.Context // ends the inner calls; a session is one call
	serving sync.WaitGroup
	asks    chan struct{}
	done    chan pipe.Ending // has the script's own ending
	broken  chan error       // has why nothing more can be read
}

// runApart runs a script in a process of its own.
func (s *Scripting) runApart(ctx context.Context, j job, h *host) (ending, error) {
	process, err := s.pool.take(ctx)
	if err != nil {
		return ending{}, err
	}
	defer s.pool.leave()
	defer process.Close()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c := &session{
		h: h, process: process, ctx: ctx, asks: make(chan struct{}, asks),
		done: make(chan pipe.Ending, 1), broken: make(chan error, 1),
	}
	limit := time.NewTimer(j.wall + late)
	defer limit.Stop()
	c.serving.Go(c.listen)
	sent := make(chan error, 1)
	go func() {
		sent <- process.Writer.Send(pipe.KindStart, 0, pipe.Job{
			Args: j.script.Args, Tools: j.script.Tools, Seed: j.script.Seed, Now: j.script.Now,
			Limits: j.script.Limits, Wall: j.wall,
		}, []byte(j.script.Code))
	}()
	e := s.await(ctx, c, limit.C)
	stop()
	process.Close()
	c.wait()
	return e, nil
}

// await waits for the end of a script, or for a reason to end it.
func (s *Scripting) await(ctx context.Context, c *session, limit <-chan time.Time) ending {
	over := c.h.over
	var patience <-chan time.Time
	for {
		select {
		case done := <-c.done:
			return endingOf(done)
		case <-c.h.out.full:
			return ending{failed: true}
		case <-ctx.Done():
			return ending{failed: true}
		case <-limit:
			return ending{failed: true, timeIsUp: true}
		case err := <-c.broken:
			select {
			case done := <-c.done: // it ended, and was gone before anybody looked
				return endingOf(done)
			default:
				return s.crashed(c.process, err)
			}
		case <-over: // the script is told, and ends by itself; one that does not is ended
			over, patience = nil, time.After(rest)
		case <-patience:
			return ending{failed: true}
		}
	}
}

func endingOf(e pipe.Ending) ending {
	return ending{hasValue: e.HasValue, failure: e.Failure, failed: e.Failed, timeIsUp: e.Late}
}

// crashed says why a process is not there any more.
func (s *Scripting) crashed(process *child.Process, err error) ending {
	if errors.Is(err, pipe.ErrFrame) || errors.Is(err, pipe.ErrLong) {
		s.log.Error("script process broke the protocol", "err", err)
		return ending{failed: true, stopped: "its process said something that is not part of the protocol"}
	}
	select {
	case <-process.Ended():
	case <-time.After(rest):
		return ending{failed: true, stopped: "its process closed its output before the script ended"}
	}
	reason, said := process.Reason()
	s.log.Warn("script process ended early", "reason", reason, "said", said)
	return ending{failed: true, stopped: reason}
}

// wait waits, briefly, for what was still printed and for what still runs for the script.
func (c *session) wait() {
	gone := make(chan struct{})
	go func() {
		c.serving.Wait()
		c.h.close()
		close(gone)
	}()
	select {
	case <-gone:
	case <-time.After(rest):
	}
}

// listen serves the process until its output ends.
func (c *session) listen() {
	first := true
	for {
		f, err := c.process.Reader.Next()
		if err != nil {
			c.broken <- err
			return
		}
		switch f.Kind {
		case pipe.KindPrint:
			c.h.out.add(string(f.Text))
		case pipe.KindValue:
			c.h.out.value(string(f.Text), first)
			first = false
		case pipe.KindDone:
			var e pipe.Ending
			if err := f.Into(&e); err != nil {
				c.broken <- pipe.ErrFrame
				return
			}
			select {
			case c.done <- e:
			default:
			}
		case pipe.KindCall, pipe.KindList, pipe.KindGet, pipe.KindRead, pipe.KindGrep:
			c.serve(f)
		default:
			c.broken <- pipe.ErrFrame
			return
		}
	}
}

// serve answers one request; a call beside everything else, a read beside a few others.
func (c *session) serve(f pipe.Frame) {
	var q pipe.Request
	if err := f.Into(&q); err != nil {
		c.reply(f.ID, pipe.Reply{Error: "the request cannot be read"})
		return
	}
	if f.Kind == pipe.KindCall {
		if c.h.stopped() != nil {
			return // the script ends
		}
		wait := c.h.begin(c.ctx, q.Name, f.Text)
		c.serving.Go(func() { c.call(f.ID, wait) })
		return
	}
	select {
	case c.asks <- struct{}{}:
	case <-c.ctx.Done():
		return
	}
	c.serving.Go(func() {
		defer func() { <-c.asks }()
		c.read(f, q)
	})
}

// call answers with the result of one call.
func (c *session) call(id uint32, wait func() (tool.Whole, error)) {
	whole, err := wait()
	var no refused
	switch {
	case errors.As(err, &no):
		c.send(id, pipe.Reply{Of: pipe.Stored{IsError: true}}, []byte(no), nil, 0)
	case err != nil:
		c.reply(id, pipe.Reply{Error: err.Error()})
	default:
		c.whole(id, whole)
	}
}

// read answers a request for what is stored.
func (c *session) read(f pipe.Frame, q pipe.Request) {
	var r pipe.Reply
	var text string
	var err error
	switch f.Kind {
	case pipe.KindList:
		var list []tool.Stored
		list, err = c.h.List(c.ctx)
		for _, s := range list {
			r.List = append(r.List, pipe.Pack(s))
		}
	case pipe.KindGet:
		var whole tool.Whole
		if whole, err = c.h.get(c.ctx, q.ID); err == nil {
			c.whole(f.ID, whole)
			return
		}
	case pipe.KindRead:
		text, err = c.h.Read(c.ctx, q.ID, q.From, q.To)
	case pipe.KindGrep:
		r.Lines, err = c.h.Grep(c.ctx, q.ID, q.Pattern, q.Flags)
	}
	if err != nil {
		r = pipe.Reply{Error: err.Error()}
	}
	c.send(f.ID, r, []byte(text), nil, 0)
}

// whole answers with a result, which is read on its way and closed.
func (c *session) whole(id uint32, w tool.Whole) {
	defer func() { _ = w.Close() }()
	r := pipe.Reply{Of: pipe.Pack(w.Stored)}
	if r.Large = c.h.large(w); r.Large {
		c.reply(id, r)
		return
	}
	r.HasStructured, r.Structured = w.Structured != nil, len(w.Structured)
	c.send(id, r, w.Structured, &w, w.Bytes)
}

func (c *session) reply(id uint32, r pipe.Reply) { c.send(id, r, nil, nil, 0) }

// send sends an answer. Where that fails the process is gone, or a result could not be read: the script
// cannot go on then.
func (c *session) send(id uint32, r pipe.Reply, prefix []byte, w *tool.Whole, size int64) {
	var err error
	if w == nil {
		err = c.process.Writer.Send(pipe.KindAnswer, id, r, prefix)
	} else {
		err = c.process.Writer.Stream(pipe.KindAnswer, id, r, prefix, w.Text, size)
	}
	select {
	case <-c.process.Ended():
	case <-c.ctx.Done():
	default:
		if err != nil {
			_ = c.h.fail(fmt.Errorf("a result could not be handed over: %w", err))
			c.process.Kill()
		}
	}
}
