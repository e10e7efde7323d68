// Package client makes tools of the tools of MCP servers.
//
// A [Set] holds the servers of a [Config]: each is started or reached, its tools are listed over all pages
// and become tools named server--tool. What a server answers is kept as the bytes that it
// sent; a [View] decides what of it a model is shown. A server that is down, slow, hostile or dead fails by
// name and alone: every call to it is answered, the other servers serve on.
package client

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/weir-run/weir/tool"
)

// Defaults of [Options].
const (
	// DefaultStart is how long a server may take until its tools are listed.
	DefaultStart = 60 * time.Second
	// DefaultIdle is how long a call may run without a report of progress.
	DefaultIdle = 120 * time.Second
	// DefaultAbsolute is how long a call may run.
	DefaultAbsolute = 30 * time.Minute
	// MaxRestarts is how often a server that died is started again; one that served for a while begins anew.
	MaxRestarts = 3
	// MaxPages is how many pages of a list are read.
	MaxPages = 1000
	// MaxTools is how many tools of one server are taken.
	MaxTools = 2000
	// MaxTrips is how often a call is sent when the server asks for input or for a retry.
	MaxTrips = 10
)

// Options say how the servers are used. The zero value works.
type Options struct {
	// View decides what of a result the model is shown; nil means [Default].
	View *View
	// Start bounds the start of a server, Idle the time between two reports of progress of a call, Absolute
	// a whole call; 0 means the defaults.
	Start, Idle, Absolute time.Duration
	// Backoff is the wait before the first restart, doubled for each further one; 0 means 500 ms.
	Backoff time.Duration
	// Elicit asks a person for what a server wants to know: it gets the params of elicitation/create and
	// gives its result, both as they are on the wire. Nil declares that nobody can be asked.
	Elicit func(ctx context.Context, server string, params json.RawMessage) (json.RawMessage, error)
	// Logger hears of servers that fail, noise and bad tools; nil is silent.
	Logger *slog.Logger
	// Version is what the servers are told of this program; empty means "dev".
	Version string
}

// Set is the servers of one configuration. It is safe for concurrent use.
type Set struct {
	opts    Options
	servers []*server // by name

	mu    sync.Mutex
	tools []tool.Tool
	names map[string]address // by the name that a model calls
}

// address is where a call goes.
type address struct{ server, tool string }

// Status is how a server stands.
type Status struct {
	// Name is the server's, Title and Version what it says of itself, Protocol the revision that is spoken.
	Name, Title, Version, Protocol string
	// Instructions are what it says about its use; a claim of its author.
	Instructions string
	// Err says why it cannot be used; nil when it can.
	Err error
	// Tools is how many of its tools are offered.
	Tools int
	// Problems are what is wrong with it: bad tools, noise on its output, lists that repeat. Sorted as found.
	Problems []string
}

// Connect starts or reaches all servers at once and lists their tools. A server that fails does not keep
// the others from serving: its failure stands in [Set.Servers]. It fails only when ctx ends or a server
// cannot be used by its configuration.
func Connect(ctx context.Context, c Config, o Options) (*Set, error) {
	o = o.filled()
	s := &Set{opts: o}
	names := make([]string, 0, len(c.Servers))
	for name := range c.Servers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		spec := c.Servers[name]
		if err := spec.check(name); err != nil {
			return nil, fmt.Errorf("connect MCP server %.60q: %w", name, err)
		}
		s.servers = append(s.servers, newServer(name, spec, o))
	}
	s.each(func(v *server) { v.refresh(ctx, true) })
	if err := ctx.Err(); err != nil {
		_ = s.Close() // the servers end either way
		return nil, fmt.Errorf("connect MCP servers: %w", context.Cause(ctx))
	}
	s.snapshot()
	return s, nil
}

// filled gives the options with their defaults.
func (o Options) filled() Options {
	if o.View == nil {
		v := Default()
		o.View = &v
	}
	for _, d := range []struct {
		value *time.Duration
		zero  time.Duration
	}{{&o.Start, DefaultStart}, {&o.Idle, DefaultIdle}, {&o.Absolute, DefaultAbsolute}, {&o.Backoff, 500 * time.Millisecond}} {
		if *d.value <= 0 {
			*d.value = d.zero
		}
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// each does something with all servers at once.
func (s *Set) each(do func(*server)) {
	var wg sync.WaitGroup
	for _, v := range s.servers {
		wg.Go(func() { do(v) })
	}
	wg.Wait()
}

// Tools gives the tools of all servers, sorted by server, then in the order of the server. It is a snapshot:
// what a server changes is seen only after [Set.Refresh].
func (s *Set) Tools() []tool.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tools)
}

// Refresh lists the tools anew of those servers that said that their list has changed, or that were started
// again, and reports whether [Set.Tools] is another list now. A loop calls it between two rounds, so that
// the tools of a round never change under it.
func (s *Set) Refresh(ctx context.Context) bool {
	var mu sync.Mutex
	changed := false
	s.each(func(v *server) {
		if v.refresh(ctx, false) {
			mu.Lock()
			changed = true
			mu.Unlock()
		}
	})
	return changed && s.snapshot()
}

// RefreshServer is [Set.Refresh] of one server alone, so that no other one is waited for.
func (s *Set) RefreshServer(ctx context.Context, server string) bool {
	v, err := s.find(server)
	return err == nil && v.refresh(ctx, false) && s.snapshot()
}

// Retry tries a server that cannot be used once more, however often it has died before, and lists its tools
// when it can be used again. It reports whether [Set.Tools] is another list now.
func (s *Set) Retry(ctx context.Context, server string) bool {
	v, err := s.find(server)
	if err != nil || v.current() != nil {
		return false
	}
	v.mu.Lock()
	v.starts, v.changed = 0, true
	v.mu.Unlock()
	return v.refresh(ctx, true) && s.snapshot()
}

// Current refreshes the set and gives its tools: what a loop asks for between two rounds.
func (s *Set) Current(ctx context.Context) ([]tool.Tool, error) {
	s.Refresh(ctx)
	return s.Tools(), ctx.Err()
}

// snapshot takes over the tools that the servers have now, and reports whether they differ.
func (s *Set) snapshot() bool {
	var tools []tool.Tool
	names := map[string]address{}
	for _, v := range s.servers {
		taken := 0
		for _, r := range v.offered() {
			name := Name(v.name, r.Name)
			if at, twice := names[name]; twice {
				v.problem(fmt.Sprintf("tool %.80q is left out: its name %s is that of %s of server %s", r.Name, name, at.tool, at.server))
				continue
			}
			names[name] = address{v.name, r.Name}
			tools = append(tools, v.tool(name, r))
			taken++
		}
		v.taken(taken)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	same := slices.EqualFunc(s.tools, tools, func(a, b tool.Tool) bool { return Contract(a) == Contract(b) })
	s.tools, s.names = tools, names
	return !same
}

// Servers tells how each server stands, sorted by name.
func (s *Set) Servers() []Status {
	all := make([]Status, 0, len(s.servers))
	for _, v := range s.servers {
		all = append(all, v.status())
	}
	return all
}

// Origin says which server and which of its tools a name stands for.
func (s *Set) Origin(name string) (server, remote string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.names[name]
	return a.server, a.tool, ok
}

// find gives a server by its name.
func (s *Set) find(name string) (*server, error) {
	for _, v := range s.servers {
		if v.name == name {
			return v, nil
		}
	}
	return nil, fmt.Errorf("there is no MCP server named %.60q", name)
}

// Close ends all connections and all children. Calls that run end at once.
func (s *Set) Close() error {
	s.each((*server).close)
	return nil
}
