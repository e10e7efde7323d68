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

// desk is where the calls of one client are settled: one conversation, which it alone drives. Each call is
// a round, numbered in the order in which the calls arrive.
type desk struct {
	server *Server
	// key is what the server finds it by, conversation the one that it drives.
	key, conversation string
	// gone says that the client left without cancelling: what it asked for is finished and kept.
	gone func() bool
	// turn is held while a round is numbered and opened.
	turn chan struct{}

	mu      sync.Mutex
	held    *round.Held
	driven  context.Context // ends when the lease was lost; lives as long as the lease
	stop    context.CancelFunc
	calls   int
	closed  bool
	running sync.WaitGroup
}

func newDesk(s *Server, key, conversation string, gone func() bool) *desk {
	return &desk{server: s, key: key, conversation: conversation, gone: gone, turn: make(chan struct{}, 1)}
}

// errClosed says that the server is going down.
var errClosed = errors.New("the server is stopping: start it again and repeat the call")

// answer settles one call and gives what the client is sent.
func (d *desk) answer(ctx context.Context, o offer, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	switch err := d.enter(); {
	case errors.Is(err, errClosed):
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	case err != nil:
		return refused(err.Error()), nil
	}
	defer d.exit()
	settled, err := d.settle(ctx, req)
	if err != nil {
		if ctx.Err() == nil {
			d.server.cfg.Logger.Error("a call could not be settled", "conversation", d.conversation, "tool", o.Name, "err", err)
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: fmt.Sprintf("%s was not answered: %v", o.Name, err)}
	}
	return d.server.encode(o, versionOf(req), settled), nil
}

func (d *desk) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return errClosed
	case d.calls >= MaxWaiting:
		return fmt.Errorf("this call was not run: %d calls of this client are on their way already. Wait for some of them to end", d.calls)
	}
	d.calls++
	d.running.Add(1)
	return nil
}

func (d *desk) exit() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls--
	d.running.Done()
}

// settle runs one call as a round. The client's cancel ends it; a client that is only gone does not.
func (d *desk) settle(ctx context.Context, req *mcp.CallToolRequest) (round.Settled, error) {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return round.Settled{}, context.Cause(ctx)
	}
	opened := sync.OnceFunc(func() { <-d.turn })
	defer opened()
	driven, lease, err := d.drive(ctx)
	if err != nil {
		return round.Settled{}, err
	}
	running, cancel := context.WithCancel(context.WithValue(driven, ticketKey{}, newTicket(req)))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if !d.gone() {
			cancel()
		}
	})()
	r, err := d.server.settler.Settle(running, round.Request{
		Conversation: d.conversation, Lease: &lease,
		Calls: []tool.Call{{ID: fmt.Sprint(idOf(req)), Name: req.Params.Name, Args: req.Params.Arguments}},
	})
	if errors.Is(err, history.ErrStale) {
		d.lost()
	}
	if err != nil {
		return round.Settled{}, err
	}
	return r.Results[0], nil
}

// drive gives the lease of the conversation, which is taken with the first call and kept.
func (d *desk) drive(ctx context.Context) (context.Context, history.Lease, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil && d.driven.Err() == nil {
		return d.driven, d.held.Lease(), nil
	}
	s := d.server
	base, stop := context.WithCancel(context.WithoutCancel(ctx))
	held, driven, err := round.Hold(base, s.store, history.Take{
		Conversation: d.conversation, TakeOver: true,
		Create: &history.Conversation{ID: d.conversation, Title: "MCP client of " + s.cfg.Name, CreatedAt: s.cfg.Now()},
	}, s.cfg.Now)
	if err != nil {
		stop()
		return nil, history.Lease{}, err
	}
	d.held, d.driven, d.stop = held, driven, stop
	return driven, held.Lease(), nil
}

// lost forgets a lease that was taken over; the next call takes it again.
func (d *desk) lost() {
	d.mu.Lock()
	held, driven, stop := d.held, d.driven, d.stop
	d.held = nil
	d.mu.Unlock()
	if held != nil {
		stop()
		_ = held.Release(context.WithoutCancel(driven)) // it is another's: nothing can be lost here
	}
}

// await waits for the calls that run. After the drain time they are told to stop, which is bounded.
func (d *desk) await(done <-chan struct{}) {
	drain := time.NewTimer(d.server.cfg.Drain)
	defer drain.Stop()
	select {
	case <-done:
		return
	case <-drain.C:
	}
	d.mu.Lock()
	stop := d.stop
	d.mu.Unlock()
	if stop != nil {
		stop()
	}
	<-done
}

// leave takes no more calls, lets those that run end, or stops them, and gives the conversation back.
func (d *desk) leave() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	done := make(chan struct{})
	go func() {
		d.running.Wait()
		close(done)
	}()
	d.await(done)
	d.mu.Lock()
	held, driven, stop := d.held, d.driven, d.stop
	d.held = nil
	d.mu.Unlock()
	if held == nil {
		return
	}
	if err := held.Release(context.WithoutCancel(driven)); err != nil {
		d.server.cfg.Logger.Warn("a conversation was not given back", "conversation", d.conversation, "err", err)
	}
	stop()
}

// refused is a result for a call that could not become a round.
func refused(why string) *mcp.CallToolResult {
	r := &mcp.CallToolResult{IsError: true}
	r.Content = append(r.Content, &mcp.TextContent{Text: why})
	return r
}
