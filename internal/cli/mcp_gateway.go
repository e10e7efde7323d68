package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/gateway"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/round"
)

// The files that "weir mcp gateway" reads when they are there and no others are named, and the one in the
// state folder that holds what was approved.
const (
	serversFile = ".mcp.json"
	rulesFile   = "weir.yaml"
	pinsFile    = "mcp-pins.json"
	onlyServer  = "server"
)

// gatewayFlags are the flags of "weir mcp gateway".
type gatewayFlags struct {
	serveFlags
	config, rules, effort string
	env                   []string
	budget                int
	syncWait              time.Duration
	accept                bool
}

func newMCPGateway(a *app) *cobra.Command {
	var f gatewayFlags
	cmd := &cobra.Command{
		Use:   "gateway [--config FILE | -- COMMAND…] [--rules FILE] [--http ADDR]",
		Short: "Put weir between an MCP host and MCP servers",
		Long: `gateway serves the tools and prompts of MCP servers to a host. Every call is stored. A result that is not too
long comes as the server sent it; one that is comes as a preview whose whole is read and searched with workspace--read
and workspace--grep, and by scripts. A call that takes longer than --sync-wait becomes a job.

The servers are those of --config (default ` + serversFile + `), whose tools are named server--tool, or the one that
COMMAND starts, whose tools keep their names. A server that is down keeps no other from serving.

--rules (default ` + rulesFile + `, when it is there) selects, prunes and renders the results of single tools. --budget,
--effort and WEIR_EFFORT_LEVEL shorten results below the cap, and WEIR_RESPONSE_CONTRACT=lean or full writes JSON
results in that form; a call may ask for its own with max_tokens, _effort and _lean.

What the tools promise is kept with the first start. One that changes later is withheld, and the others serve on;
--accept shows what has changed, accepts it, and ends.`,
		Example: `  weir mcp gateway -- npx -y @modelcontextprotocol/server-filesystem .
  weir mcp gateway --config .mcp.json --http 127.0.0.1:3940
  weir mcp gateway --accept`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); len(args) > 0 && at != 0 {
				return misuse("%s is no flag: write -- before the command of a server", clip(args[0], 40))
			}
			return a.mcpGateway(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "a `FILE` of MCP servers, \"mcpServers\" as other hosts have it (default "+serversFile+")")
	flags.StringArrayVar(&f.env, "env", nil, "a variable for COMMAND, `NAME` of weir's own or NAME=VALUE; may be repeated (it gets PATH, HOME and the like anyway)")
	flags.StringVar(&f.rules, "rules", "", "a `FILE` of rules for single tools (default "+rulesFile+", when it is there)")
	flags.StringVar(&f.http, "http", "", "listen for streamable HTTP on `ADDR`, such as 127.0.0.1:3940")
	flags.StringVar(&f.token, "token", "", "the bearer `TOKEN` that HTTP requests must bear, at least 16 characters (better in "+tokenEnv+")")
	flags.StringArrayVar(&f.hosts, "allow-host", nil, "a host `NAME` beside the loopback's own under which it is addressed; may be repeated")
	flags.StringArrayVar(&f.mounts, "mount", nil, "a folder to serve too, as `NAME=DIR`; may be repeated")
	flags.IntVar(&f.maxChars, "max-chars", 0, fmt.Sprintf("the inline cap of one result in `N` characters (default %d)", round.DefaultMaxChars))
	flags.IntVar(&f.budget, "budget", 0, "the most `TOKENS` of one result (default: the cap alone)")
	flags.StringVar(&f.effort, "effort", "", "`low`, medium or high: how early a budget shortens (default WEIR_EFFORT_LEVEL, else high)")
	flags.DurationVar(&f.syncWait, "sync-wait", 0, fmt.Sprintf("how long a call may take before it becomes a job, a `TIME` such as 25s (default %s)", server.DefaultSyncWait))
	flags.BoolVar(&f.noScripts, "no-scripts", false, "do not offer code_execution")
	flags.BoolVar(&f.accept, "accept", false, "accept what the servers' tools promise now, and end")
	return cmd
}

func (a *app) mcpGateway(ctx context.Context, f gatewayFlags, command []string) (err error) {
	set, err := f.setup()
	if err != nil {
		return err
	}
	cfg, err := a.gatewayConfig(f, command)
	if err != nil {
		return err
	}
	if f.accept {
		return a.acceptServers(ctx, cfg)
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
	cfg.Server.Tools, cfg.Server.Mounts = a.tools, set.workspace()
	g, err := gateway.New(ctx, store, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close(context.WithoutCancel(ctx))) }()
	for _, problem := range g.Problems() {
		a.complain(problem)
	}
	if listener != nil {
		return a.serveHTTP(ctx, g, listener, f.serveFlags)
	}
	return g.ServeStdio(ctx, a.in, a.out)
}

// gatewayConfig makes what the gateway is from flags, environment and files.
func (a *app) gatewayConfig(f gatewayFlags, command []string) (gateway.Config, error) {
	version := readRelease().Version
	cfg := gateway.Config{
		Client: client.Options{Version: version}, Pins: filepath.Join(a.dir(), pinsFile),
		Server: server.Config{Version: version, MaxChars: f.maxChars, SyncWait: f.syncWait},
	}
	var err error
	switch {
	case len(command) > 0 && f.config != "":
		return cfg, misuse("--config and the command of a server were both given: give one of them")
	case len(command) > 0:
		cfg.Plain = true
		env, err := a.variables(f.env)
		if err != nil {
			return cfg, err
		}
		cfg.Servers.Servers = map[string]client.Server{onlyServer: {Command: command[0], Args: command[1:], Env: env}}
	case len(f.env) > 0:
		return cfg, misuse("--env is for the command of a server after --: write \"env\" into the file of servers")
	default:
		file := f.config
		if file == "" {
			file = serversFile
			if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
				return cfg, misuse("there is no %s here: name a file of servers with --config, or one server's command after --", serversFile)
			}
		}
		if cfg.Servers, err = client.Load(file); err != nil {
			return cfg, misuse("%w", err)
		}
	}
	if cfg.Rules, err = rulesOf(f.rules); err != nil {
		return cfg, misuse("%w", err)
	}
	return cfg, a.gatewayForm(f, &cfg)
}

// variables reads NAME=VALUE, and NAME for a variable of this process.
func (a *app) variables(words []string) (map[string]string, error) {
	env := map[string]string{}
	for _, word := range words {
		name, value, given := strings.Cut(word, "=")
		if !given {
			value = a.env(name)
		}
		if name == "" || !given && value == "" {
			return nil, misuse("--env %s: write NAME=VALUE, or the NAME of a variable that is set", clip(word, 40))
		}
		env[name] = value
	}
	return env, nil
}

// gatewayForm reads in which form results are given.
func (a *app) gatewayForm(f gatewayFlags, cfg *gateway.Config) error {
	if f.budget < 0 {
		return misuse("--budget is %d tokens: it must be at least 1", f.budget)
	}
	if f.syncWait < 0 {
		return misuse("--sync-wait is %s: it cannot be negative", f.syncWait)
	}
	env := a.env("WEIR_EFFORT_LEVEL")
	effort, err := envelope.ResolveEffort(f.effort, "", env)
	if err != nil {
		return misuse("%w", err)
	}
	cfg.Server.Fit.Effort, cfg.Server.Fit.Budget = effort, f.budget
	if f.budget == 0 && strings.TrimSpace(f.effort+env) != "" {
		cfg.Server.Fit.Budget = envelope.DefaultBudget // an effort is one of a budget
	}
	if word := strings.ToLower(strings.TrimSpace(a.env("WEIR_RESPONSE_CONTRACT"))); word == "lean" || word == "full" {
		cfg.Contract = word
	}
	return nil
}

// rulesOf reads the rules that were named, or those that are there.
func rulesOf(file string) (gateway.Rules, error) {
	if file == "" {
		if _, err := os.Stat(rulesFile); err != nil {
			return nil, nil
		}
		file = rulesFile
	}
	return gateway.LoadRules(file)
}

// acceptServers accepts what the servers list now, and says what that changes.
func (a *app) acceptServers(ctx context.Context, cfg gateway.Config) error {
	store, err := a.openToWrite(ctx) // it makes the state folder
	if err != nil {
		return err
	}
	if err := store.Close(); err != nil {
		return err
	}
	changes, failed := gateway.Accept(ctx, cfg)
	for _, c := range changes {
		line := strings.TrimSpace(c.Server+" "+c.Tool) + ": " + c.What
		if len(c.Members) > 0 {
			line += " (" + strings.Join(c.Members, ", ") + ")"
		}
		if err := a.emit([]byte(printable(line) + "\n")); err != nil {
			return err
		}
	}
	if failed == nil && len(changes) == 0 {
		return a.emit([]byte("nothing has changed\n"))
	}
	return failed
}
