package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/lab"
)

// probeFlags are the flags of "weir mcp lab probe".
type probeFlags struct {
	tableFlags
	config string
	env    []string
}

func newLabProbe(a *app) *cobra.Command {
	var f probeFlags
	cmd := &cobra.Command{
		Use:   "probe [--tool NAME]… [--json | --markdown] (--config FILE | -- COMMAND…)",
		Short: "Call a server's tools and say whether their two channels agree",
		Long: `probe calls the tools of any server with empty arguments, and prints for each a verdict, what came over the wire,
and what its text and its structured content cost in tokens (o200k_base). The verdicts:

  agree     text and structured content say the same, or there is only one of them
  disagree  one says something that the other does not; of prose, numbers and strings are compared
  violates  the structured content does not fit the tool's output schema
  missing   an output schema is declared, and no structured content was sent
  lost      what was sent is not what a result is made of, and clients drop it
  failed    there was no result
  skipped   the tool says that it destroys something; --tool calls it

It calls every other tool, those with effects too: use --tool where a call is not harmless.

The exit status is 1 when a server cannot be used. --json prints [{server, tool, wire, bytes, verdict, detail,
text_tokens, structured_tokens}], wire with the first 2,000 of its bytes.`,
		Example: `  weir mcp lab probe -- npx -y @modelcontextprotocol/server-memory
  weir mcp lab probe --config .mcp.json --tool memory--read_graph`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at := cmd.ArgsLenAtDash(); len(args) > 0 && at != 0 {
				return misuse("%s is no flag: write -- before the command of a server", clip(args[0], 40))
			}
			return a.labProbe(cmd.Context(), f, args)
		},
	}
	f.bind(cmd, "the findings")
	cmd.Flags().StringVar(&f.config, "config", "", "a `FILE` of MCP servers, \"mcpServers\" as other hosts have it")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "a variable for COMMAND, `NAME` of weir's own or NAME=VALUE; may be repeated")
	return cmd
}

func (a *app) labProbe(ctx context.Context, f probeFlags, command []string) error {
	if err := f.form(); err != nil {
		return err
	}
	count, err := counter()
	if err != nil {
		return err
	}
	config, err := a.probed(f, command)
	if err != nil {
		return err
	}
	set, err := client.Connect(ctx, config, client.Options{Version: readRelease().Version})
	if err != nil {
		return err
	}
	defer func() { _ = set.Close() }() // the servers end either way
	down := false
	for _, s := range set.Servers() {
		for _, problem := range s.Problems {
			a.complain("MCP server " + s.Name + ": " + problem)
		}
		down = down || s.Err != nil
	}
	findings, err := lab.Probe(ctx, set, f.tools, count)
	switch {
	case err != nil && ctx.Err() == nil && down:
		// A tool that is not found may be one of a server that is down.
		return errors.Join(err, a.tellFindings(f, findings))
	case err != nil && ctx.Err() == nil:
		return misuse("%w", err)
	case err != nil:
		return err
	}
	if err := a.tellFindings(f, findings); err != nil {
		return err
	}
	if down {
		return quiet(statusFailed)
	}
	return nil
}

// probed are the servers that are meant.
func (a *app) probed(f probeFlags, command []string) (client.Config, error) {
	switch {
	case len(command) > 0 && f.config != "":
		return client.Config{}, misuse("--config and the command of a server were both given: give one of them")
	case len(command) == 0 && f.config == "":
		return client.Config{}, misuse("which server? name a file of servers with --config, or one server's command after --")
	case len(command) > 0:
		env, err := a.variables(f.env)
		if err != nil {
			return client.Config{}, err
		}
		return client.Config{Servers: map[string]client.Server{onlyServer: {Command: command[0], Args: command[1:], Env: env}}}, nil
	case len(f.env) > 0:
		return client.Config{}, misuse("--env is for the command of a server after --: write \"env\" into the file of servers")
	}
	config, err := client.Load(f.config)
	if err != nil {
		return config, misuse("%w", err)
	}
	return config, nil
}

func (a *app) tellFindings(f probeFlags, findings []lab.Finding) error {
	switch {
	case f.asJSON:
		if findings == nil {
			findings = []lab.Finding{}
		}
		return a.emitJSON(findings)
	case f.markdown:
		return a.emit([]byte(lab.FindingsMarkdown(findings)))
	}
	return a.emit([]byte(findingBlocks(findings, a.columns())))
}

// findingBlocks lists what was found of each tool, and how often each verdict was given.
func findingBlocks(findings []lab.Finding, width int) string {
	const indent = "            "
	var b strings.Builder
	var order []string
	times := map[string]int{}
	for _, f := range findings {
		if times[f.Verdict]++; times[f.Verdict] == 1 {
			order = append(order, f.Verdict)
		}
		b.WriteString(clip(printable(f.Title()), width) + "\n")
		head := "–"
		if f.Bytes > 0 {
			head = fmt.Sprintf("text %s, structured %s, %s on the wire", plural(f.TextTokens, "token"), plural(f.StructuredTokens, "token"), plural(f.Bytes, "byte"))
		}
		if len(f.Detail) > 0 && f.Bytes == 0 {
			head, f.Detail = f.Detail[0], f.Detail[1:]
		}
		for i, l := range folded(head, width-len(indent), 4) {
			b.WriteString([]string{fmt.Sprintf("  %-9s ", f.Verdict), indent}[min(i, 1)] + l + "\n")
		}
		for _, d := range f.Detail {
			for _, l := range folded("! "+d, width-len(indent), 3) {
				b.WriteString(indent + l + "\n")
			}
		}
		if f.Wire != "" {
			for _, l := range folded(f.Wire, width-len(indent), 3) {
				b.WriteString(indent + l + "\n")
			}
		}
		b.WriteString("\n")
	}
	var sums []string
	for _, verdict := range order {
		sums = append(sums, fmt.Sprintf("%s %s", number(times[verdict]), verdict))
	}
	fmt.Fprintf(&b, "%s: %s\n", plural(len(findings), "finding"), or(strings.Join(sums, ", ")))
	return b.String()
}
