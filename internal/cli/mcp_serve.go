package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/round"
)

// tokenEnv is the variable that names the bearer token of "weir mcp serve --http".
const tokenEnv = "WEIR_MCP_TOKEN"

// serveFlags are the flags of "weir mcp serve".
type serveFlags struct {
	http, token   string
	hosts, mounts []string
	maxChars      int
	noScripts     bool
	agent, base   string
	conformance   bool
	// open takes requests without a token when there is none, on the loopback under its own names.
	open bool
}

func newMCPServe(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve [--http ADDR [--token TOKEN] [--allow-host NAME]…] [--mount NAME=DIR]… [--agent MODEL]",
		Short: "Offer weir's tools to an MCP host, over stdio or HTTP",
		Long: `serve offers workspace--read, workspace--grep, workspace--glob, workspace--list, results--list, code_execution, jobs--*
and session--prepare to an MCP host. Every call is stored. A result over the cap comes back as a preview of both its ends that names
where the whole is and the calls that read it.

Without --http it speaks on stdin and stdout with the one host that started it, in a conversation of its own.
With --http it listens on ADDR (path /mcp) and wants the bearer token of --token or ` + tokenEnv + `; without either it
makes one and prints it on stderr. Requests must address it by a loopback name, or one of --allow-host.

--agent MODEL offers agent--run too: a client gives a task to an agent with a model of its own and the same tools,
and gets its answer. Whoever can call it spends what that model costs.

weir history list shows the conversations, whose ids begin with mcp-.

--conformance is for the protocol's own test suite: it adds the tools, resources and prompts that the suite calls
for, and takes HTTP requests without a token, on the loopback only.`,
		Example: `  weir mcp serve --mount project=.
  weir mcp serve --http 127.0.0.1:3939 --mount project=.`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.mcpServe(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.http, "http", "", "listen for streamable HTTP on `ADDR`, such as 127.0.0.1:3939")
	flags.StringVar(&f.token, "token", "", "the bearer `TOKEN` that HTTP requests must bear, at least 16 characters (better in "+tokenEnv+")")
	flags.StringArrayVar(&f.hosts, "allow-host", nil, "a host `NAME` beside the loopback's own under which it is addressed; may be repeated")
	flags.StringArrayVar(&f.mounts, "mount", nil, "a folder to serve, as `NAME=DIR`, and with :rw behind it to write to; may be repeated")
	flags.IntVar(&f.maxChars, "max-chars", 0, fmt.Sprintf("the inline cap of one result in `N` characters (default %d)", round.DefaultMaxChars))
	flags.BoolVar(&f.noScripts, "no-scripts", false, "do not offer code_execution")
	flags.StringVar(&f.agent, "agent", "", "offer "+agentName+", an agent with this `MODEL`, as weir run -m takes it")
	flags.StringVar(&f.base, "base-url", "", "the `URL` of a server that speaks the model's language, in the place of its provider's")
	flags.BoolVar(&f.conformance, "conformance", false, "serve what the protocol's conformance suite calls for")
	return cmd
}

func (a *app) mcpServe(ctx context.Context, f serveFlags) (err error) {
	set, err := f.setup()
	if err != nil {
		return err
	}
	if err := a.offerScripts(set); err != nil {
		return err
	}
	var listener net.Listener
	if f.http != "" {
		if listener, err = listen(ctx, f.http); err != nil {
			return err
		}
		defer func() { _ = listener.Close() }()
	}
	store, err := a.openToWrite(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	cfg := server.Config{
		Version: readRelease().Version, Mounts: set.workspace(), Tools: a.tools, MaxChars: f.maxChars, Conformance: f.conformance,
	}
	if set.Model != "" {
		runs, err := a.agentTool(store, set)
		if err != nil {
			return err
		}
		cfg.Tools = append(slices.Clone(cfg.Tools), runs)
	}
	s, err := server.New(store, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close(context.WithoutCancel(ctx))) }()
	if listener != nil {
		return a.serveHTTP(ctx, s, listener, f)
	}
	return s.ServeStdio(ctx, a.in, a.out)
}

// setup checks the flags and makes a setup of them; its model is that of the agent, empty for none.
func (f serveFlags) setup() (setup, error) {
	set := setup{NoScripts: f.noScripts}
	if f.maxChars != 0 && f.maxChars < round.MinCap {
		return set, misuse("--max-chars is %d characters: it must be at least %d", f.maxChars, round.MinCap)
	}
	if f.http == "" && (f.token != "" || len(f.hosts) > 0) {
		return set, misuse("--token and --allow-host are for --http: over stdio the host that started the server is the only client")
	}
	for _, word := range f.mounts {
		m, err := parseMount(word)
		if err != nil {
			return set, err
		}
		set.Mounts = append(set.Mounts, m)
	}
	if f.base != "" {
		if err := checkURL("--base-url", f.base); err != nil {
			return set, err
		}
		set.BaseURL = f.base
	}
	if f.agent == "" {
		if f.base != "" {
			return set, misuse("--base-url is where the model of --agent is reached: give --agent too")
		}
		return set, nil
	}
	var err error
	set.Model, err = resolveModel(f.agent)
	return set, err
}

// listen says in one line why it cannot.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program: stop it, or name another port with --http", addr)
	case err != nil:
		return nil, misuse("listen on %s: %w: write HOST:PORT, as in 127.0.0.1:3939", clip(addr, 60), unwrapped(err))
	}
	return l, nil
}

// unwrapped is the reason inside a network error, which repeats the address.
func unwrapped(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// loopback reports whether only this machine can reach the listener.
func loopback(l net.Listener) bool {
	tcp, ok := l.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// handled is what is served over HTTP: weir's own tools, or those of servers.
type handled interface {
	Handler(cfg server.HTTPConfig) (http.Handler, error)
}

// serveHTTP serves until it is interrupted.
func (a *app) serveHTTP(ctx context.Context, s handled, l net.Listener, f serveFlags) error {
	token := f.token
	if token == "" {
		token = a.env(tokenEnv)
	}
	open := f.conformance || f.open && token == ""
	made := token == "" && !open
	if made {
		token = strings.ToLower(rand.Text())
	}
	if f.conformance && !loopback(l) {
		return misuse("--conformance takes requests without a token: listen on the loopback, as in --http 127.0.0.1:3939")
	}
	cfg := server.HTTPConfig{Hosts: f.hosts, Open: open}
	if !cfg.Open {
		cfg.Tokens = map[string]string{token: "default"}
	}
	h, err := s.Handler(cfg)
	if err != nil {
		return misuse("%w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", h)
	a.note("weir: serving MCP on http://%s/mcp", l.Addr())
	if made {
		a.note("weir: bearer token: %s", token)
	}
	if !loopback(l) {
		a.note("weir: this address can be reached from other machines, and what they send is not encrypted")
	}
	web := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	done := make(chan error, 1)
	go func() { done <- web.Serve(l) }()
	select {
	case err = <-done:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), server.DefaultDrain)
	defer stop()
	if web.Shutdown(ending) != nil {
		_ = web.Close() // streams that stay open end with their connection
	}
	return nil
}
