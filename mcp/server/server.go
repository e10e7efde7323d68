// Package server gives Weir's tools to other hosts over MCP: stdio and streamable HTTP, the stateless
// revision 2026-07-28 and the ones with a handshake (2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05).
//
// Every tools/call is a round of a conversation that has no messages: its call is stored before it runs,
// its whole result before anybody is shown anything, and what is over the cap comes back as a preview
// that names where the rest is and the calls that read it. One stdio process has one conversation, one
// session of stateful HTTP has one, and over stateless HTTP each authenticated principal has one; a client
// reaches only its own.
//
// The bytes of a result are the store's: text as it stands, structured content as the tool wrote it (key
// order, digits, no escapes that were not there), and the same JSON once more as text.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/envelope/fingerprint"
	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/mcp/server/internal/conformance"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

// Limits of a server.
const (
	// DefaultParallel is how many calls of one client run at the same time; more wait for their turn.
	DefaultParallel = 32
	// MaxFrame is the longest message that is read, in bytes.
	MaxFrame = 64 << 20
	// DefaultDrain is how long calls that still run may take to end when their client is gone.
	DefaultDrain = 10 * time.Second
	// DefaultSyncWait is how long a client waits for a call before it gets the handle of a job.
	DefaultSyncWait = 25 * time.Second
)

// Config says what is served. The zero value serves the stored results of the client's own conversation.
type Config struct {
	// Name and Version are what the server says of itself; "weir" and "dev" when empty.
	Name, Version string
	// Tools are offered beside the workspace's own, such as code_execution.
	Tools []tool.Tool
	// Mounts are folders that the workspace tools serve beside tool-results/.
	Mounts []workspace.Mount
	// MaxChars is the inline cap of one result in characters; 0 means [round.DefaultMaxChars].
	MaxChars int
	// Parallel is how many calls of one client run at the same time; 0 means [DefaultParallel].
	Parallel int
	// Timeout and Grace are the limits of one call; 0 means those of package execute.
	Timeout, Grace time.Duration
	// Drain is how long calls that still run may take when their client is gone, or the server is closed,
	// before they are cancelled; 0 means [DefaultDrain].
	Drain time.Duration
	// SyncWait is how long a call may take until its client gets the handle of a job instead of the result,
	// before the client's own time-out cuts it; 0 means [DefaultSyncWait].
	SyncWait time.Duration
	// Fit says how the results of tools with a policy, and those of other servers' tools, are fitted to a
	// budget; see [tool.Traits].
	Fit execute.Fitting
	// Redact changes a result before anything of it is stored; nil changes nothing.
	Redact func(context.Context, tool.Call, tool.Result) tool.Result
	// Conformance adds the tools, resources and prompts that the protocol's conformance suite calls for.
	Conformance bool
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Logger hears what nobody else is told; nil is silent.
	Logger *slog.Logger
}

// Server serves tools to MCP clients over one store. It is safe for concurrent use.
type Server struct {
	store history.Store
	cfg   Config
	space *workspace.Workspace
	// own are the tools of this server, without those of others that it serves on.
	own     []offer
	menu    atomic.Pointer[menu]
	backing Backing

	mu     sync.Mutex
	desks  map[string]*desk
	served []served
	// seen are the fingerprints that clients may have seen, the latest last.
	seen   []fingerprint.Print
	closed bool
}

// New makes a server. It fails on tools that are not usable, on two of one name, on a cap below
// [round.MinCap], and on an output schema whose root is not an object: clients of the revisions before
// 2026-07-28 refuse a whole list of tools for one of those.
func New(store history.Store, cfg Config) (*Server, error) {
	if cfg.Name == "" {
		cfg.Name = "weir"
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.Parallel <= 0 {
		cfg.Parallel = DefaultParallel
	}
	if cfg.Drain <= 0 {
		cfg.Drain = DefaultDrain
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.MaxChars == 0 {
		cfg.MaxChars = round.DefaultMaxChars
	}
	if cfg.SyncWait <= 0 {
		cfg.SyncWait = DefaultSyncWait
	}
	cfg.Fit.Structured = true
	s := &Server{store: store, cfg: cfg, desks: map[string]*desk{}}
	var err error
	s.space, err = workspace.New(workspace.Config{
		Mounts: cfg.Mounts, Stored: workspace.Results(store, store.Spills()), Reads: workspace.Sights(store), Logger: cfg.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("serve the workspace: %w", err)
	}
	if err := s.offer(); err != nil {
		return nil, errors.Join(err, s.space.Close())
	}
	return s, nil
}

// offer makes what is called of what is offered.
func (s *Server) offer() error {
	tools, err := s.space.Tools()
	if err != nil {
		return fmt.Errorf("make the tools of the workspace: %w", err)
	}
	for _, t := range append(tools, s.cfg.Tools...) {
		o, err := newOffer(t, s.cfg.MaxChars)
		if err != nil {
			return err
		}
		s.own = append(s.own, o)
	}
	answered, err := s.answered()
	if err != nil {
		return err
	}
	s.own = append(s.own, answered...)
	m, err := s.newMenu(s.own)
	if err != nil {
		return err
	}
	s.put(m)
	return nil
}

// Tools gives what is offered, sorted by name: the order of every listing.
func (s *Server) Tools() []tool.Tool {
	var all []tool.Tool
	for _, o := range s.menu.Load().offers {
		if !o.hidden {
			all = append(all, o.Tool)
		}
	}
	return all
}

// instructions tell a host's model how the pieces work together.
const instructions = "A result that is too long comes back as a preview of both its ends. The whole of it is kept " +
	"under the path that the preview names, below tool-results/: read it with workspace--read, search it with workspace--grep."

// protocol makes a server of the protocol whose calls are settled at the desk that is found for them.
func (s *Server) protocol(find finder) *mcp.Server {
	p := mcp.NewServer(&mcp.Implementation{Name: s.cfg.Name, Version: s.cfg.Version}, s.options())
	s.mu.Lock()
	for _, o := range s.menu.Load().offers {
		s.list(served{p, find}, o)
	}
	s.served = append(s.served, served{p, find})
	s.mu.Unlock()
	if s.cfg.Conformance {
		conformance.Add(p)
	}
	p.AddReceivingMiddleware(s.guard)
	return p
}

func (s *Server) options() *mcp.ServerOptions {
	o := &mcp.ServerOptions{
		Instructions: instructions, Logger: s.cfg.Logger, PageSize: 1000,
		// The list of its own tools never changes while the server runs.
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: s.backing != nil}},
	}
	if s.backing != nil {
		o.Capabilities.Prompts = &mcp.PromptCapabilities{}
		if said := s.backing.Instructions(); said != "" {
			o.Instructions += "\n\n" + said
		}
	}
	if s.cfg.Conformance {
		conformance.Options(o)
	}
	return o
}

// Close takes no more calls, lets those that run end within [Config.Drain], cancels what runs longer, and
// gives the conversations back. It does not close the store.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	desks := s.desks
	s.desks = map[string]*desk{}
	s.mu.Unlock()
	var leaving sync.WaitGroup
	for _, d := range desks {
		leaving.Go(func() { d.leave(ctx) })
	}
	leaving.Wait()
	return s.space.Close()
}

// desk finds the desk of a conversation, or sets it up.
func (s *Server) desk(conversation string, gone func() bool) (*desk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.desks[conversation]; d != nil {
		return d, nil
	}
	return s.newDesk(conversation, conversation, gone)
}

func (s *Server) newDesk(key, conversation string, gone func() bool) (*desk, error) {
	if s.closed {
		return nil, errClosed
	}
	d := &desk{server: s, key: key, conversation: conversation, gone: gone}
	s.desks[key] = d
	return d, nil
}

// release leaves the desk of a client that will not come back.
func (s *Server) release(ctx context.Context, d *desk) {
	s.mu.Lock()
	delete(s.desks, d.key)
	s.mu.Unlock()
	d.leave(ctx)
}
