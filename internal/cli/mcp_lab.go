package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/lab"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tokens"
)

// newMCPLab is "weir mcp lab".
func newMCPLab(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lab COMMAND",
		Short: "See what hosts make of a tool's result",
		Long: `lab has eight tools whose text and structured content agree, disagree, or miss each other. Serve them to a host to
see what its model is shown, compute the same from the policies of hosts that are known, or ask the tools of any
server.`,
		Example: `  weir mcp lab hosts
  weir mcp lab probe -- npx -y @modelcontextprotocol/server-memory`,
	}
	return group(cmd, newLabServe(a), newLabRecord(a), newLabHosts(a), newLabProbe(a))
}

// labFlags are the flags of a lab that is served.
type labFlags struct {
	serveFlags
	all, asJSON bool
	out         string
}

func (f *labFlags) bind(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.http, "http", "", "listen for streamable HTTP on `ADDR`, such as 127.0.0.1:3939")
	flags.BoolVar(&f.all, "all", false, "offer the further variants too, behind the eight tools")
	flags.StringVar(&f.token, "token", "", "the bearer `TOKEN` that HTTP requests must bear, at least 16 characters (better in "+tokenEnv+")")
	flags.StringArrayVar(&f.hosts, "allow-host", nil, "let in what comes under this host `NAME`, such as a tunnel's; may be repeated")
}

func newLabServe(a *app) *cobra.Command {
	var f labFlags
	cmd := &cobra.Command{
		Use:   "serve [--http ADDR [--allow-host NAME]… [--token TOKEN]] [--all]",
		Short: "Serve the lab's tools to a host",
		Long: `serve offers the eight tools, which take no arguments and always answer with the same bytes, broken ones too.
Nothing is stored.

Without --http it speaks on stdin and stdout with the host that started it. With --http it listens on ADDR (path
/mcp). On the loopback, under a loopback name, no token is needed: the tools do nothing and know nothing. Whoever lets
others in, by --allow-host or another address, needs one: that of --token or ` + tokenEnv + `, else one is made and printed
on stderr.`,
		Example: `  weir mcp lab serve
  weir mcp lab serve --http 127.0.0.1:3939 --all`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.labServe(cmd.Context(), f, nil) },
	}
	f.bind(cmd)
	return cmd
}

func newLabRecord(a *app) *cobra.Command {
	var f labFlags
	cmd := &cobra.Command{
		Use:   "record [--http ADDR [--allow-host NAME]… [--token TOKEN]] [--out FILE] [--json] [--all]",
		Short: "Serve the lab and write down what the client sends",
		Long: `record serves the lab as serve does, and writes a line for each message of the client: who it says it is, which
revision and which capabilities, what it lists and calls. At the end, when the client leaves or on Ctrl-C, it writes a
column to fill in: the tools, how often each was called, and room for what the model said that it was shown.

It writes to stderr, since stdout is the client's over stdio, or to the FILE of --out; where a host shows no stderr, use
that. --json writes one JSON object a line, {method, params}, and at the end {column {client, called [{tool, times}],
unlisted}}.`,
		Example: `  weir mcp lab record --out record.txt
  weir mcp lab record --http 127.0.0.1:3939`,
		Args: exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.labRecord(cmd.Context(), f) },
	}
	f.bind(cmd)
	cmd.Flags().StringVar(&f.out, "out", "", "write the record to `FILE` in the place of stderr")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write JSON, one object a line")
	return cmd
}

// labTools are the lab's tools, all or the eight.
func labTools(all bool) []lab.Tool {
	if all {
		return lab.All()
	}
	return lab.Matrix()
}

// labServe serves the lab, and tells r, when there is one, what the client sends.
func (a *app) labServe(ctx context.Context, f labFlags, r *lab.Recorder) error {
	if _, err := f.setup(); err != nil {
		return err
	}
	p := lab.Protocol(readRelease().Version, labTools(f.all))
	if f.http == "" {
		heard := func(line []byte, message bool) {
			if !message {
				a.note("weir: a line that is no message is left out: %s", clip(string(line), 60))
			}
		}
		if r != nil {
			heard = r.Heard
		}
		if f, ok := a.in.(*os.File); ok && terminal(f) {
			a.note("weir: speaking MCP on stdin and stdout, as a host expects that starts this command; Ctrl-C ends it")
		}
		return lab.ServeStdio(ctx, p, a.in, a.out, heard)
	}
	l, err := listen(ctx, f.http)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	f.open = len(f.hosts) == 0 && loopback(l)
	mount := func(cfg server.HTTPConfig) (http.Handler, error) {
		h, err := server.Mount(p, cfg, nil)
		if err != nil || r == nil {
			return h, err
		}
		return r.Handler(h), nil
	}
	if len(f.hosts) > 0 && loopback(l) {
		a.note("weir: %s becomes public by what forwards to it: whoever has the token can call the lab's tools", portOf(l))
	}
	return a.serveHTTP(ctx, mounted(mount), l, f.serveFlags)
}

// mounted is a server that is there already.
type mounted func(server.HTTPConfig) (http.Handler, error)

// Handler serves it.
func (m mounted) Handler(cfg server.HTTPConfig) (http.Handler, error) { return m(cfg) }

// portOf names a listener's port.
func portOf(l net.Listener) string {
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		return fmt.Sprintf("port %d", tcp.Port)
	}
	return l.Addr().String()
}

// labRecord serves the lab with a recorder, and writes the column at the end.
func (a *app) labRecord(ctx context.Context, f labFlags) (err error) {
	out := a.err
	if f.out != "" {
		file, err := os.Create(f.out)
		if err != nil {
			return misuse("--out: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out = file
	}
	if !f.asJSON {
		out = plainLines{out}
	}
	r := lab.NewRecorder(out, labTools(f.all), f.asJSON)
	if err := a.labServe(ctx, f, r); err != nil {
		return err
	}
	if err := writeColumn(out, r, f.asJSON); err != nil {
		return err
	}
	return r.Err()
}

func writeColumn(out io.Writer, r *lab.Recorder, asJSON bool) error {
	text := "\n" + r.Column()
	if asJSON {
		raw, err := canon.Marshal(struct {
			Column lab.Filled `json:"column"`
		}{r.Filled()})
		if err != nil {
			return err
		}
		text = string(raw) + "\n"
	}
	if _, err := io.WriteString(out, text); err != nil {
		return fmt.Errorf("write the column: %w", err)
	}
	return nil
}

// plainLines writes what a terminal does not act on: what a client sends may hold anything.
type plainLines struct{ w io.Writer }

// Write writes the harmless part of p and counts all of it.
func (p plainLines) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.w, harmless(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}

// counter counts tokens exactly.
func counter() (func(string) int, error) {
	e, err := tokens.New(tokens.O200K)
	if err != nil {
		return nil, err
	}
	return e.Count, nil
}
