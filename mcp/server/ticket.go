package server

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/tool"
)

// ticket is what is known of the request that a call came with.
type ticket struct {
	session *mcp.ServerSession
	token   any // of the progress that the client asked for; nil when it did not

	mu sync.Mutex
	n  float64
	// silent says that the request was answered, after which nothing may be reported.
	silent bool
	passed *passed
	// raw says that progress is passed on as another server reports it.
	raw bool
}

// passed is what another server answered, as it came.
type passed struct {
	raw      json.RawMessage
	revision string
	failure  *jsonrpc.Error
}

type ticketKey struct{}

func newTicket(req *mcp.CallToolRequest) *ticket {
	return &ticket{session: req.Session, token: req.Params.GetProgressToken()}
}

// idOf is the identity that the client gave to a call: the token of its progress, which it picks for each
// call anew. The id of the request itself is the transport's.
func idOf(req *mcp.CallToolRequest) string {
	if token := req.Params.GetProgressToken(); token != nil {
		return fmt.Sprint(token)
	}
	return ""
}

// reporting sends what a running call reports to the client that asked for it.
func reporting(ctx context.Context) context.Context {
	t, ok := ctx.Value(ticketKey{}).(*ticket)
	r, running := tool.CallFrom(ctx)
	if !ok || !running || t.token == nil {
		return ctx
	}
	report := r.Progress
	r.Progress = func(text string) {
		report(text)
		t.mu.Lock()
		raw := t.raw
		t.mu.Unlock()
		if !raw {
			t.progress(ctx, text)
		}
	}
	return tool.WithCall(ctx, r)
}

// progress tells the client that its call is alive. The numbers grow by one, as the protocol wants them to
// grow. A client that cannot be told hears of the result.
func (t *ticket) progress(ctx context.Context, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.silent {
		return
	}
	t.n++
	_ = t.session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: t.token, Progress: t.n, Message: text})
}

// Progress passes on what another server reports of the call that is running: the params of
// notifications/progress, under the token of this server's client.
func Progress(ctx context.Context, params json.RawMessage) {
	t, ok := ctx.Value(ticketKey{}).(*ticket)
	r, running := tool.CallFrom(ctx)
	if !ok || !running || t.token == nil || strings.Contains(r.Result, ".") {
		return
	}
	var p mcp.ProgressNotificationParams
	if json.Unmarshal(params, &p) != nil {
		return
	}
	p.ProgressToken = t.token
	t.mu.Lock()
	defer t.mu.Unlock()
	t.raw = true
	if !t.silent && p.Progress > t.n { // it must grow
		t.n = p.Progress
		_ = t.session.NotifyProgress(ctx, &p) // a client that cannot be told hears of the result
	}
}

// silence ends the reports: the request has its answer.
func (t *ticket) silence() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.silent = true
}

// answered gives what another server answered; nil when none was asked.
func (t *ticket) answered() *passed {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.passed
}

// pass keeps what another server answered for the call that is running. That of a call inside another one
// is no answer to the client.
func pass(ctx context.Context, p *passed) {
	t, ok := ctx.Value(ticketKey{}).(*ticket)
	r, running := tool.CallFrom(ctx)
	if !ok || !running || strings.Contains(r.Result, ".") {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.passed = p
}

// guard turns a panic of whatever handles a request into an error of that request, so that the process goes
// on, and gives results their exact bytes.
func (s *Server) guard(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				s.cfg.Logger.Error("a handler panicked", "method", method, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
				res, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the server failed on this request; it goes on"}
			}
		}()
		if res, err = s.prompt(ctx, method, req, next); err == nil {
			res = exactly(res)
		}
		return res, err
	}
}
