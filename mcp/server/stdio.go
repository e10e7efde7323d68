package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client over lines of JSON until it closes its side, or ctx ends. What the client
// asked for before it left is finished, stored and written, within [Config.Drain]. The calls are stored in
// a new conversation. Nothing but messages is written to out.
//
// A line that is no message is answered with an error and the connection goes on: garbage, invalid UTF-8,
// a line over [MaxFrame], a batch where the revision has none.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	id, err := uuid.NewV7()
	if err != nil {
		return err
	}
	link := &stdio{in: newFrames(in), out: out, server: s, ended: make(chan struct{}), answered: make(chan struct{}, 1)}
	d, err := s.desk("mcp-"+id.String(), link.left.Load)
	if err != nil {
		return err
	}
	p := s.protocol(func(*mcp.CallToolRequest) (*desk, error) { return d, nil })
	defer s.forget(p)
	session, err := p.Connect(ctx, link, nil)
	if err != nil {
		return fmt.Errorf("begin to serve: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = link.Close() })
	defer stop()
	err = session.Wait()
	s.release(context.WithoutCancel(ctx), d)
	if ctx.Err() != nil || link.left.Load() || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// stdio is the connection to one client.
type stdio struct {
	server *Server
	in     *frames
	write  sync.Mutex
	out    io.Writer

	// left says that the client closed its side; open counts its requests that have no answer yet.
	left     atomic.Bool
	open     atomic.Int64
	answered chan struct{}
	// revision is the one agreed on in the handshake.
	revision atomic.Pointer[string]

	once  sync.Once
	ended chan struct{}

	mu      sync.Mutex
	batches map[string]*batch
	queue   []jsonrpc.Message // read and not handed on yet; Read's alone
}

// Connect makes it the transport of its one session.
func (l *stdio) Connect(context.Context) (mcp.Connection, error) {
	go l.in.pump(l.ended)
	return l, nil
}

// SessionID is empty: a process has one session.
func (l *stdio) SessionID() string { return "" }

// Read gives the next message. What is no message is answered here.
func (l *stdio) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		if len(l.queue) > 0 {
			next := l.queue[0]
			l.queue = l.queue[1:]
			l.count(next)
			return next, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.ended:
			return nil, io.EOF
		case f := <-l.in.out:
			if f.err != nil {
				l.left.Store(true)
				l.finish(ctx)
				return nil, io.EOF
			}
			l.take(ctx, f)
		}
	}
}

// finish waits until the requests that are open are answered, within the drain time.
func (l *stdio) finish(ctx context.Context) {
	drain := time.NewTimer(l.server.cfg.Drain)
	defer drain.Stop()
	for l.open.Load() > 0 {
		select {
		case <-l.answered:
		case <-drain.C:
			return
		case <-ctx.Done():
			return
		case <-l.ended:
			return
		}
	}
}

func (l *stdio) count(m jsonrpc.Message) {
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		l.open.Add(1)
	}
}

// Write sends a message as one line.
func (l *stdio) Write(_ context.Context, m jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	r, answer := m.(*jsonrpc.Response)
	if answer {
		l.note(r)
		if line = l.gather(r, line); line == nil {
			l.settled()
			return nil
		}
	}
	err = l.line(line)
	if answer {
		l.settled()
	}
	return err
}

func (l *stdio) settled() {
	l.open.Add(-1)
	select {
	case l.answered <- struct{}{}:
	default:
	}
}

func (l *stdio) line(line []byte) error {
	l.write.Lock()
	defer l.write.Unlock()
	_, err := l.out.Write(append(line, '\n'))
	return err
}

// Close ends the connection. Streams of the process itself stay open: they are the process's.
func (l *stdio) Close() error {
	l.once.Do(func() { close(l.ended) })
	return nil
}
