// Package gateway puts Weir between any MCP host and any MCP servers: many servers behind one door.
//
// Every call is stored. With no rule and under the cap the host receives the bytes that the server sent,
// where both speak one revision; a result over the cap comes back as a preview whose whole is read and
// searched through the gateway's own tools. Rules of a file select, prune and render the results of single
// tools. What a server's tools promise is pinned when it is first seen: a tool that changes afterwards is
// withheld until somebody accepts it, and the others serve on.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/round"
)

// Defaults of a [Config].
const (
	// DefaultPoll is how often it is looked whether a server has another list of tools.
	DefaultPoll = time.Second
	// DefaultRetry is how often a server that cannot be used is tried again.
	DefaultRetry = 30 * time.Second
	// DefaultStart is how long one of several servers may take until its tools are listed: a host waits for
	// all of them. A server alone has [client.DefaultStart].
	DefaultStart = 25 * time.Second
	// MaxWait is how long a changed list is held back while calls run.
	MaxWait = 10 * time.Second
)

// Config says what stands behind the door and how it is served. The zero value serves no server.
type Config struct {
	// Servers are the servers behind the gateway.
	Servers client.Config
	// Plain keeps the names of the one server's tools as they are, except where they are Weir's own. Without
	// it, and with more than one server, tools are named server--tool.
	Plain bool
	// Client says how the servers are used.
	Client client.Options
	// Server says how the host is served. Server.Fit.Budget 0 shortens nothing below the cap, and
	// Server.Fit.Contract is set by Contract.
	Server server.Config
	// Contract is "lean" or "full", which write JSON results in that form; empty leaves results as they came.
	Contract string
	// Rules shape the results of single tools, by the name under which a tool is listed.
	Rules Rules
	// Pins is the file in which is kept what the servers' tools promised when they were approved; empty keeps
	// it for this process only.
	Pins string
	// Poll is how often it is looked for changed lists, Retry how often a server that cannot be used is
	// tried; 0 means the defaults.
	Poll, Retry time.Duration
	// Logger hears what nobody else is told; nil is silent.
	Logger *slog.Logger
}

// Gateway serves the tools of many servers to MCP hosts. It is safe for concurrent use.
type Gateway struct {
	cfg    Config
	set    *client.Set
	server *server.Server
	rules  map[string]shaper
	// running are the calls on their way to the servers.
	running atomic.Int64
	stop    context.CancelFunc
	polling sync.WaitGroup

	mu       sync.Mutex
	tools    map[string]target // by the name under which a tool is listed
	prompts  map[string]target
	offered  string // what was offered last, to tell a change
	pins     pins
	problems []string
}

// target is where a call goes.
type target struct {
	server, tool string
	// withheld says why it is not called; empty when it may be.
	withheld string
}

// New starts or reaches the servers and makes a gateway to them. A server that cannot be used keeps no
// other from serving: [Gateway.Problems] names it, and it is tried again. It fails for rules and pins that
// cannot be used, and when ctx ends.
func New(ctx context.Context, store history.Store, cfg Config) (*Gateway, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	g := &Gateway{cfg: cfg, tools: map[string]target{}, prompts: map[string]target{}}
	var err error
	if g.rules, err = cfg.Rules.compile(); err != nil {
		return nil, err
	}
	if g.pins, err = readPins(cfg.Pins); err != nil {
		return nil, err
	}
	if g.server, err = server.New(store, cfg.Server); err != nil {
		return nil, err
	}
	g.server.Back(g)
	if g.set, err = client.Connect(ctx, cfg.Servers, cfg.Client); err == nil {
		err = g.update()
	}
	if err != nil {
		return nil, errors.Join(err, g.Close(context.WithoutCancel(ctx)))
	}
	var life context.Context
	life, g.stop = context.WithCancel(context.WithoutCancel(ctx))
	for name := range cfg.Servers.Servers {
		g.polling.Go(func() { g.watch(life, name) })
	}
	return g, nil
}

func (c *Config) fill() error {
	if c.Poll <= 0 {
		c.Poll = DefaultPoll
	}
	if c.Retry <= 0 {
		c.Retry = DefaultRetry
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Client.Absolute <= 0 {
		c.Client.Absolute = client.DefaultAbsolute
	}
	if c.Client.Start <= 0 && len(c.Servers.Servers) > 1 {
		c.Client.Start = DefaultStart
	}
	if c.Plain && len(c.Servers.Servers) != 1 {
		return fmt.Errorf("serve tools under their plain names: there are %d servers, and it takes one", len(c.Servers.Servers))
	}
	if c.Server.MaxChars == 0 {
		c.Server.MaxChars = round.DefaultMaxChars
	}
	if c.Server.Name == "" {
		c.Server.Name = "weir-gateway"
	}
	if c.Server.Fit.Budget == 0 {
		// A character is at most about a token: the cap alone decides then.
		c.Server.Fit.Budget = c.Server.MaxChars
	}
	switch c.Contract {
	case "":
		c.Server.Fit.Contract = envelope.Bare
	case "lean":
		c.Server.Fit.Contract = envelope.Lean
	case "full":
		c.Server.Fit.Contract = envelope.Full
	default:
		return fmt.Errorf("the contract is %.40q: it is lean, full or empty", c.Contract)
	}
	return nil
}

// ServeStdio serves one host; see [server.Server.ServeStdio].
func (g *Gateway) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	return g.server.ServeStdio(ctx, in, out)
}

// Handler serves hosts over HTTP; see [server.Server.Handler].
func (g *Gateway) Handler(cfg server.HTTPConfig) (http.Handler, error) { return g.server.Handler(cfg) }

// Problems tells, in lines for people, what is wrong with servers, rules and pins.
func (g *Gateway) Problems() []string {
	var all []string
	for _, s := range g.set.Servers() {
		if s.Err != nil {
			all = append(all, fmt.Sprintf("MCP server %s cannot be used, and is tried again: %v", s.Name, s.Err))
		}
		for _, p := range s.Problems {
			all = append(all, "MCP server "+s.Name+": "+p)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return append(all, g.problems...)
}

// Close ends the calls that run, within the drain time, and then the servers. The store stays open.
func (g *Gateway) Close(ctx context.Context) error {
	if g.stop != nil {
		g.stop()
	}
	g.polling.Wait()
	err := g.server.Close(ctx)
	if g.set != nil {
		err = errors.Join(err, g.set.Close())
	}
	return err
}

// watch takes over a changed list of one server at a moment when no call runs, or after [MaxWait], and tries
// it again when it cannot be used.
func (g *Gateway) watch(ctx context.Context, name string) {
	poll := time.NewTicker(g.cfg.Poll)
	defer poll.Stop()
	tried := time.Now()
	var since time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
		if g.running.Load() > 0 {
			if since.IsZero() {
				since = time.Now()
			}
			if time.Since(since) < MaxWait {
				continue
			}
		}
		since = time.Time{}
		changed := g.set.RefreshServer(ctx, name)
		if time.Since(tried) >= g.cfg.Retry {
			changed = g.status(name).Err != nil && g.set.Retry(ctx, name) || changed
			tried = time.Now()
		}
		if changed {
			if err := g.update(); err != nil {
				g.cfg.Logger.Error("a changed list of tools was not taken over", "server", name, "err", err)
			}
		}
	}
}

// status finds how a server stands.
func (g *Gateway) status(name string) client.Status {
	all := g.set.Servers()
	i := slices.IndexFunc(all, func(s client.Status) bool { return s.Name == name })
	if i < 0 {
		return client.Status{Name: name}
	}
	return all[i]
}
