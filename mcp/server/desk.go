package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// desk is where the calls of one client are settled: one conversation, taken with the first call. Each call
// is a round of its own, numbered on arrival; a long one keeps no other waiting.
type desk struct {
	server *Server
	// key is what the server finds it by, conversation the one that it drives.
	key, conversation string
	// gone says that the client left without cancelling: what it asked for is finished and kept.
	gone func() bool

	mu     sync.Mutex
	line   *round.Line
	closed bool
	// kept are the jobs whose handles were given out, the latest last.
	kept []*pending
	// running are the calls on their way. None is added once closed is set.
	running sync.WaitGroup
}

// errClosed says that the server is going down.
var errClosed = errors.New("the server is stopping: start it again and repeat the call")

// answer settles one call and gives what the client is sent: its result, or the handle of a job when that
// takes longer than a client is kept waiting.
func (d *desk) answer(ctx context.Context, o offer, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	asked := o.ask(req.Params.Arguments, metaOf(req))
	asked.wish = d.server.wish(asked.wish)
	add := d.server.stale(asked.known)
	if o.here != nil {
		return o.here(ctx, d, req, asked.args, add)
	}
	p, err := d.begin(ctx, o, asked, req)
	if err != nil {
		return nil, d.unanswered(ctx, o, err)
	}
	if !p.wait(ctx, d.server.cfg.SyncWait) {
		if err := p.job.HandOut(ctx); err == nil {
			p.ticket.silence()
			d.keep(p)
			return add.to(handle(o, p.job)), nil
		}
		// A job that cannot be listed is waited for: its result is not lost.
		d.server.cfg.Logger.Error("a job was not stored", "conversation", d.conversation, "job", p.job.ID.String())
		<-p.job.Done()
	}
	return d.result(ctx, p, RevisionOf(req.Session), add)
}

// result gives what the client is sent of a call that has ended.
func (d *desk) result(ctx context.Context, p *pending, version string, add added) (*mcp.CallToolResult, error) {
	settled, err := p.job.Wait(context.WithoutCancel(ctx))
	if err != nil {
		return nil, d.unanswered(ctx, p.offer, err)
	}
	came := p.ticket.answered()
	if came != nil && came.failure != nil && settled.Loop == "" {
		return nil, came.failure
	}
	bare := p.lean == nil && d.server.cfg.Fit.Contract == envelope.Bare
	if raw := p.offer.asCame(settled, came, version, bare, add); raw != nil {
		if c, ok := ctx.Value(carrierKey{}).(*carrier); ok {
			c.raw = raw
			return &mcp.CallToolResult{}, nil
		}
	}
	return add.to(encode(p.offer, version, settled)), nil
}

// unanswered words what the runtime could not do.
func (d *desk) unanswered(ctx context.Context, o offer, err error) error {
	if ctx.Err() == nil {
		d.server.cfg.Logger.Error("a call was not answered", "conversation", d.conversation, "tool", o.Name, "err", err)
	}
	return failed(fmt.Sprintf("%s was not answered: %s", o.Name, said(err)))
}

// said words an error for a client, which has no use for the name of its conversation.
func said(err error) string {
	var busy *history.BusyError
	if errors.As(err, &busy) {
		return "its results are stored in a conversation that another process of this server drives: stop that one, or wait for it to end"
	}
	return err.Error()
}

// failed is an error of the protocol: the server, not the call, is at fault.
func failed(why string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: why}
}

// begin lets one call run. The client's cancel ends it; a client that is only gone does not.
func (d *desk) begin(ctx context.Context, o offer, asked asked, req *mcp.CallToolRequest) (*pending, error) {
	t := newTicket(req)
	running, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), ticketKey{}, t))
	for {
		line, err := d.enter(ctx)
		if err != nil {
			cancel()
			return nil, err
		}
		job, err := line.Start(running, tool.Call{ID: idOf(req), Name: o.Name, Args: asked.args, Wish: asked.wish})
		if err == nil {
			go func() {
				<-job.Done()
				d.running.Done()
				cancel()
			}()
			return &pending{offer: o, job: job, ticket: t, lean: asked.wish.Lean, gone: d.gone, cancel: cancel}, nil
		}
		d.running.Done()
		if !errors.Is(err, round.ErrLineEnded) || !d.lost(ctx, line) {
			cancel()
			return nil, err
		}
	}
}

// enter counts a call in and gives the line, which is taken with the first call.
func (d *desk) enter(ctx context.Context) (*round.Line, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errClosed
	}
	if d.line == nil {
		line, err := d.server.menu.Load().settler.Line(ctx, d.conversation)
		if err != nil {
			return nil, err
		}
		d.line = line
	}
	d.running.Add(1)
	return d.line, nil
}

// use lets the calls to come be settled by another settler.
func (d *desk) use(settler *round.Settler) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.line != nil {
		d.line.Use(settler)
	}
}

// lost forgets a line whose conversation was taken over, so that the call, of which nothing was stored, can
// be made on another one. It reports whether there can be another one.
func (d *desk) lost(ctx context.Context, line *round.Line) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || ctx.Err() != nil {
		return false
	}
	if d.line == line {
		d.line = nil
		go func() { _ = line.Close(context.WithoutCancel(ctx)) }() // it is another's: there is nothing to give back
	}
	return true
}

// leave takes no more calls, lets those that run end within the drain time, stops the others, and gives
// the conversation back.
func (d *desk) leave(ctx context.Context) {
	d.mu.Lock()
	d.closed = true
	line := d.line
	d.mu.Unlock()
	if line == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		d.running.Wait()
		close(done)
	}()
	drain := time.NewTimer(d.server.cfg.Drain)
	defer drain.Stop()
	select {
	case <-done:
	case <-drain.C:
	}
	if err := line.Close(ctx); err != nil {
		d.server.cfg.Logger.Warn("a conversation was not given back", "conversation", d.conversation, "err", err)
	}
}
