package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/mcp/client/internal/wire"
)

const (
	// legacy is the newest revision with a handshake, healthy how long a server serves until its restarts
	// are forgotten, maxProblems how many problems of a server are kept.
	legacy      = "2025-11-25"
	healthy     = 5 * time.Minute
	maxProblems = 100
	// probe is how long a server may take to answer in the stateless era before the handshake is tried.
	probe = 15 * time.Second
	// farewell is how long the SDK may take to close a connection in order.
	farewell = time.Second
)

// server is one server over all its connections.
type server struct {
	name string
	spec Server
	opts Options
	turn chan struct{} // held while it is connected or listed

	mu       sync.Mutex
	live     *live
	starts   int // connections that were tried since it last served for a while
	err      error
	closed   bool
	changed  bool // its list is to be read anew
	listed   []remote
	raw      []json.RawMessage
	told     Status
	problems []string
}

// live is one connection.
type live struct {
	session *mcp.ClientSession
	filter  *wire.Filter
	command *wire.Command // nil over HTTP
	began   time.Time
	end     context.CancelFunc
	once    sync.Once
	dead    chan struct{}
	why     error // readable when dead is closed
}

// die ends the connection for everybody who waits for an answer.
func (l *live) die(why error) {
	l.once.Do(func() {
		l.why = why
		close(l.dead)
	})
}

func newServer(name string, spec Server, o Options) *server {
	return &server{name: name, spec: spec, opts: o, turn: make(chan struct{}, 1), changed: true}
}

// lock waits for its turn.
func (s *server) lock(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *server) unlock() { <-s.turn }

// connection gives a living connection, made anew when there is none.
func (s *server) connection(ctx context.Context) (*live, error) {
	if l := s.current(); l != nil {
		return l, nil
	}
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.unlock()
	if l := s.current(); l != nil {
		return l, nil
	}
	wait, err := s.mayStart()
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		pause := time.NewTimer(wait)
		defer pause.Stop()
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	l, err := s.connect(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.closed {
		go l.close()
		err = errClosed
	}
	if s.err = err; err != nil {
		return nil, err
	}
	s.live, s.changed = l, true
	return l, nil
}

var errClosed = errors.New("the connections were closed")

// current gives the connection if it lives.
func (s *server) current() *live {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return nil
	}
	select {
	case <-s.live.dead:
		if time.Since(s.live.began) > healthy {
			s.starts = 1
		}
		s.err, s.live = s.live.why, nil
		return nil
	default:
		return s.live
	}
}

// mayStart says how long to wait before the next start, and fails when there is none left.
func (s *server) mayStart() (time.Duration, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errClosed
	}
	if s.starts > MaxRestarts {
		return 0, fmt.Errorf("it was started %d times and ended each time, so it is not started again: %w", s.starts, s.err)
	}
	s.starts++
	if s.starts <= 1 {
		return 0, nil
	}
	return s.opts.Backoff << (s.starts - 2), nil
}

// connect makes one connection. A server of the handshake era may wait for its handshake and answer nothing
// else: when it is silent, the handshake is tried on a connection of its own. A server over HTTP that knows
// no streamable HTTP is tried with the transport of 2024-11-05.
func (s *server) connect(ctx context.Context) (*live, error) {
	ctx, stop := context.WithTimeout(ctx, s.opts.Start)
	defer stop()
	if s.spec.Protocol != "" {
		return s.dial(ctx, s.spec.Protocol, s.spec.Type)
	}
	first, end := context.WithTimeout(ctx, min(probe, s.opts.Start/2))
	l, err := s.dial(first, "", s.spec.Type)
	silent := first.Err() != nil && ctx.Err() == nil
	end()
	switch {
	case err == nil:
		return l, nil
	case silent && s.spec.Type != "sse":
		return s.dial(ctx, legacy, s.spec.Type)
	case s.spec.Type == "http" && ctx.Err() == nil:
		if l, err2 := s.dial(ctx, legacy, "sse"); err2 == nil {
			return l, nil
		}
	}
	return nil, err
}

// dial makes one connection over one transport.
func (s *server) dial(ctx context.Context, protocol, kind string) (*live, error) {
	// The connection outlives the context of its start: it ends when it is closed.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	l := &live{began: time.Now(), end: end, dead: make(chan struct{}), filter: &wire.Filter{Changed: s.listChanged}}
	client := mcp.NewClient(&mcp.Implementation{Name: "weir", Version: s.opts.Version}, s.clientOptions())
	var options *mcp.ClientSessionOptions
	if protocol != "" {
		options = &mcp.ClientSessionOptions{ProtocolVersion: protocol}
	}
	type made struct {
		session *mcp.ClientSession
		err     error
	}
	done := make(chan made, 1)
	transport := s.transport(l, kind)
	go func() {
		session, err := client.Connect(life, transport, options)
		done <- made{session, err}
	}()
	select {
	case m := <-done:
		if m.err != nil {
			end()
			l.stop()
			return nil, l.explained(m.err)
		}
		l.session = m.session
	case <-ctx.Done():
		end()
		l.stop()
		go func() {
			if m := <-done; m.session != nil {
				_ = m.session.Close() // nobody uses it
			}
			l.stop()
		}()
		return nil, l.explained(fmt.Errorf("it did not answer in time: %w", context.Cause(ctx)))
	}
	go func() {
		err := l.session.Wait()
		if err == nil {
			err = errors.New("the connection was closed")
		}
		l.die(l.explained(err))
		end()
	}()
	return l, nil
}

func (s *server) clientOptions() *mcp.ClientOptions {
	o := &mcp.ClientOptions{
		Capabilities:   &mcp.ClientCapabilities{},
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true}, // done here, on the raw bytes
		// That lists change is heard on the wire; these ask the server to tell.
		ToolListChangedHandler:   func(context.Context, *mcp.ToolListChangedRequest) {},
		PromptListChangedHandler: func(context.Context, *mcp.PromptListChangedRequest) {},
	}
	if s.opts.Elicit != nil {
		o.ElicitationHandler = s.elicited
	}
	return o
}

// transport gives the way to the server.
func (s *server) transport(l *live, kind string) mcp.Transport {
	if kind == "stdio" {
		l.command = &wire.Command{Path: s.spec.Command, Args: s.spec.Args, Env: s.spec.environ(), Dir: s.spec.Cwd, Filter: l.filter}
		return l.command
	}
	header := http.Header{}
	for k, v := range s.spec.Headers {
		header.Set(k, v)
	}
	carrier := &wire.Carrier{Header: header, Filter: l.filter}
	if u, err := url.Parse(s.spec.URL); err == nil {
		carrier.Origin = u.Scheme + "://" + u.Host
	}
	web := &http.Client{Transport: carrier}
	if kind == "sse" {
		return &mcp.SSEClientTransport{Endpoint: s.spec.URL, HTTPClient: web}
	}
	return &mcp.StreamableClientTransport{Endpoint: s.spec.URL, HTTPClient: web, MaxRetries: 2}
}

// explained adds what a child last wrote to its stderr.
func (l *live) explained(err error) error {
	if l.command == nil {
		return err
	}
	if text := l.command.Stderr(); text != "" {
		return fmt.Errorf("%w. The last that it wrote to stderr:\n%s", err, text)
	}
	return err
}

// stop ends the child of a connection that was not made.
func (l *live) stop() {
	if l.command != nil {
		l.command.Stop()
	}
}

// close ends the connection and the child. The SDK waits for the calls that run; they have ended by die.
func (l *live) close() {
	l.die(errClosed)
	closed := make(chan struct{})
	go func() {
		_ = l.session.Close() // it is over either way
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(farewell):
	}
	l.end()
	l.stop()
}

// close ends the server's connection for good.
func (s *server) close() {
	s.mu.Lock()
	l := s.live
	s.live, s.closed, s.err = nil, true, errClosed
	s.mu.Unlock()
	if l != nil {
		l.close()
	}
}

// listChanged hears that the server has another list now.
func (s *server) listChanged(list string) {
	if list != "tools" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
}

// problem keeps one thing that is wrong with the server, once.
func (s *server) problem(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.problems, text) || len(s.problems) >= maxProblems {
		return
	}
	s.problems = append(s.problems, text)
	s.opts.Logger.Warn("MCP server", "server", s.name, "problem", text)
}

func (s *server) taken(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told.Tools = n
}

// status tells how the server stands.
func (s *server) status() Status {
	l := s.current()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.told
	st.Name, st.Err = s.name, s.err
	st.Problems = slices.Clone(s.problems)
	if l == nil {
		return st
	}
	if n, first := l.filter.Noise(); n > 0 {
		st.Problems = append(st.Problems, fmt.Sprintf("%d lines of its output are no messages and were skipped; the first: %s", n, strings.Join(first, " | ")))
	}
	if r := l.session.InitializeResult(); r != nil {
		st.Protocol, st.Instructions = r.ProtocolVersion, r.Instructions
		if r.ServerInfo != nil {
			st.Title, st.Version = r.ServerInfo.Name, r.ServerInfo.Version
		}
	}
	return st
}
