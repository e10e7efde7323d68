package server

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

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
	// running are the calls on their way. None is added once closed is set.
	running sync.WaitGroup
}

// errClosed says that the server is going down.
var errClosed = errors.New("the server is stopping: start it again and repeat the call")

// answer settles one call and gives what the client is sent.
func (d *desk) answer(ctx context.Context, o offer, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	settled, err := d.settle(ctx, req)
	if err != nil {
		if ctx.Err() == nil {
			d.server.cfg.Logger.Error("a call was not answered", "conversation", d.conversation, "tool", o.Name, "err", err)
		}
		return nil, failed(fmt.Sprintf("%s was not answered: %s", o.Name, said(err)))
	}
	return encode(o, versionOf(req), settled), nil
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

// settle runs one call. The client's cancel ends it; a client that is only gone does not.
func (d *desk) settle(ctx context.Context, req *mcp.CallToolRequest) (round.Settled, error) {
	running, cancel := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), ticketKey{}, newTicket(req)))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if !d.gone() {
			cancel()
		}
	})()
	for {
		line, err := d.enter(ctx)
		if err != nil {
			return round.Settled{}, err
		}
		settled, err := line.Do(running, tool.Call{ID: idOf(req), Name: req.Params.Name, Args: req.Params.Arguments})
		d.running.Done()
		if !errors.Is(err, round.ErrLineEnded) || !d.lost(ctx, line) {
			return settled, err
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
		line, err := d.server.settler.Line(ctx, d.conversation)
		if err != nil {
			return nil, err
		}
		d.line = line
	}
	d.running.Add(1)
	return d.line, nil
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
