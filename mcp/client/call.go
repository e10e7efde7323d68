package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/client/internal/wire"
	"github.com/weir-run/weir/tool"
)

// RPCError is a JSON-RPC error that a server answered with.
type RPCError struct {
	// Code and Message are the error's, Data what came with it, as it came; nil when nothing did.
	Code    int64
	Message string
	Data    json.RawMessage
}

func (e *RPCError) Error() string { return fmt.Sprintf("MCP error %d: %s", e.Code, e.Message) }

// Lost says that a call has no answer.
type Lost struct {
	// Server is the server's name, Why how the answer was lost.
	Server string
	Why    error
	// Sent says that the call may have reached the server: its outcome is unknown then, else it was not
	// started.
	Sent bool
}

func (e *Lost) Error() string {
	if e.Sent {
		return fmt.Sprintf("outcome unknown: MCP server %s: %v", e.Server, e.Why)
	}
	return fmt.Sprintf("not started: MCP server %s: %v", e.Server, e.Why)
}

func (e *Lost) Unwrap() error { return e.Why }

// The two limits of a call, told apart.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

// tokens numbers the progress tokens of this process; they must differ among the calls that run.
var tokens atomic.Int64

type progressKey struct{}

// WithProgress gives a context whose calls hand each report of progress to heard, as the params of
// notifications/progress came, before it is told as text. The token in it is this process's own.
func WithProgress(ctx context.Context, heard func(params json.RawMessage)) context.Context {
	return context.WithValue(ctx, progressKey{}, heard)
}

// send sends one request and gives its result as it came, or the error that the server answered with. Any
// other ending is a [*Lost], or ctx's own error when ctx ended. tool names the tool of a tools/call.
func (s *server) send(ctx context.Context, l *live, ex *wire.Exchange, name string) (json.RawMessage, *RPCError, error) {
	call, end := context.WithCancelCause(ctx)
	defer end(nil)
	idle := time.AfterFunc(s.opts.Idle, func() {
		end(&limitError{fmt.Sprintf("no answer and no report of progress for %s, which is the limit", s.opts.Idle)})
	})
	defer idle.Stop()
	absolute := time.AfterFunc(s.opts.Absolute, func() {
		end(&limitError{fmt.Sprintf("it ran longer than its limit of %s", s.opts.Absolute)})
	})
	defer absolute.Stop()
	ex.Token = "weir-" + strconv.FormatInt(tokens.Add(1), 10)
	ex.Progress = func(params json.RawMessage) {
		idle.Reset(s.opts.Idle)
		if heard, ok := ctx.Value(progressKey{}).(func(json.RawMessage)); ok {
			heard(params)
		}
		tool.Report(ctx, progressText(params))
	}
	defer l.filter.Done(ex)
	done := make(chan error, 1)
	go func() { done <- l.request(wire.With(call, ex), ex, name) }()
	var err error
	select {
	case err = <-done:
	case <-call.Done():
		err = context.Cause(call)
	case <-l.dead:
		select { // the answer may have come before the end
		case err = <-done:
		case <-time.After(100 * time.Millisecond):
			err = l.why
		}
	}
	if answer, ok := ex.Answer(); ok {
		return s.answered(answer)
	}
	var rpc *jsonrpc.Error
	var limit *limitError
	switch {
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	case errors.As(context.Cause(call), &limit):
		return nil, nil, &Lost{Server: s.name, Why: limit, Sent: ex.Sent()}
	case ex.Stale():
		return nil, nil, &Lost{Server: s.name, Why: errStale}
	case errors.As(err, &rpc) && rpc.Code != codeRejected:
		return nil, &RPCError{Code: rpc.Code, Message: rpc.Message, Data: rpc.Data}, nil
	case err == nil:
		err = errors.New("its answer could not be told apart")
	}
	sent := ex.Sent() && !unreached(err)
	if why := l.ended(); why != nil && sent {
		err = why
	}
	return nil, nil, &Lost{Server: s.name, Why: err, Sent: sent}
}

// codeRejected is how the SDK marks a request that its transport gave up; it is no answer of the server.
const codeRejected = -32005

// unreached reports whether a request cannot have reached the server: nobody took the connection.
func unreached(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

var errStale = errors.New("it does not know the session any more")

// ended gives why the connection has ended, soon after its end; nil while it lives.
func (l *live) ended() error {
	select {
	case <-l.dead:
		return l.why
	case <-time.After(50 * time.Millisecond):
		return nil
	}
}

// request lets the SDK send a request: it knows what each revision wants beside the params.
func (l *live) request(ctx context.Context, ex *wire.Exchange, name string) error {
	var err error
	switch ex.Method {
	case "tools/call":
		params := &mcp.CallToolParams{Name: name}
		for _, m := range ex.Params {
			if m.Key == "arguments" {
				params.Arguments = m.Value // some of them are repeated in headers
			}
		}
		_, err = l.session.CallTool(ctx, params)
	case "tools/list":
		_, err = l.session.ListTools(ctx, &mcp.ListToolsParams{})
	case "prompts/list":
		_, err = l.session.ListPrompts(ctx, &mcp.ListPromptsParams{})
	case "prompts/get":
		_, err = l.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: name})
	default:
		err = fmt.Errorf("the method %.40q is not sent", ex.Method)
	}
	return err
}

// answered reads an answer.
func (s *server) answered(a wire.Answer) (json.RawMessage, *RPCError, error) {
	switch {
	case a.Broken != "":
		return nil, nil, &Lost{Server: s.name, Why: errors.New(a.Broken), Sent: true}
	case a.Error != nil && a.Result == nil:
		e, ok := object(a.Error)
		if !ok {
			return nil, &RPCError{Code: -32603, Message: "an error that is no object: " + excerpt(a.Error)}, nil
		}
		code, err := strconv.ParseInt(string(e["code"]), 10, 64)
		if err != nil {
			code = -32603
		}
		message, ok := canon.Unquote(e["message"])
		if !ok {
			message = excerpt(a.Error)
		}
		return nil, &RPCError{Code: code, Message: message, Data: e["data"]}, nil
	}
	return a.Result, nil, nil
}

// progressText words a report of progress for people.
func progressText(params json.RawMessage) string {
	p, _ := object(params)
	text, _ := canon.Unquote(p["message"])
	at, of := string(p["progress"]), string(p["total"])
	if of != "" && of != "null" {
		at += " of " + of
	}
	if text == "" {
		text = at
	} else if at != "" {
		text = at + ": " + text
	}
	if r := []rune(text); len(r) > 200 {
		text = string(r[:200]) + "…"
	}
	return text
}

// once sends a request on a living connection. Where it was not sent, since the connection had ended, or was not
// run, since the server has forgotten the session, it is sent once more, on a new one.
func (s *server) once(ctx context.Context, method, name string, params []wire.Member) (json.RawMessage, *RPCError, error) {
	for again := false; ; again = true {
		l, err := s.connection(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, context.Cause(ctx)
			}
			return nil, nil, &Lost{Server: s.name, Why: err}
		}
		result, rpc, err := s.send(ctx, l, &wire.Exchange{Method: method, Params: params}, name)
		var lost *Lost
		if !again && errors.As(err, &lost) && !lost.Sent && (errors.Is(err, errStale) || errors.Is(err, mcp.ErrConnectionClosed)) {
			s.drop(l, errors.Is(err, errStale))
			continue
		}
		return result, rpc, err
	}
}

// drop gives up a connection that has ended, or whose session the server has forgotten.
func (s *server) drop(l *live, forgotten bool) {
	s.mu.Lock()
	if s.live == l {
		s.live = nil
		if forgotten {
			s.starts = max(0, s.starts-1) // it has not died
		}
	}
	s.mu.Unlock()
	go l.close()
}
