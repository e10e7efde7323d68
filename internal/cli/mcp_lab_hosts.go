package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/weir-run/weir/mcp/lab"
)

// tableFlags are the flags of a command that prints a table of the lab.
type tableFlags struct {
	tools, hosts     []string
	all              bool
	asJSON, markdown bool
}

func (f *tableFlags) bind(cmd *cobra.Command, what string) {
	cmd.Flags().StringArrayVar(&f.tools, "tool", nil, "only this `NAME`; may be repeated")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print "+what+" as a JSON array")
	cmd.Flags().BoolVar(&f.markdown, "markdown", false, "print a Markdown table")
}

// form refuses two forms at once.
func (f *tableFlags) form() error {
	if f.asJSON && f.markdown {
		return misuse("--json and --markdown were both given: give one of them")
	}
	return nil
}

func newLabHosts(a *app) *cobra.Command {
	var f tableFlags
	cmd := &cobra.Command{
		Use:   "hosts [--tool NAME]… [--host NAME]… [--all] [--json | --markdown]",
		Short: "Print what the models of known hosts are shown of each tool",
		Long: `hosts applies the policy of each known host to the lab's tools. Under each tool it groups the hosts whose model
is shown the same: text, json (the structured content), both, an error, or nothing; with what they leave out.

A policy is what was seen or read at one time, which the end of the list names; it is no promise about today. Serve
the lab to a host of your own to see: weir mcp lab record.

--json prints [{tool, host, shown, value, code, dropped, tokens, observed, seen}]: shown is text, json, both, error
or nothing, value is what the model sees, code -32602 or -32600 when the host refuses the result, else 0, and tokens
(o200k_base) are those of value.`,
		Example: `  weir mcp lab hosts --tool with_schema__text_and_structured_mismatched
  weir mcp lab hosts --host claude-code --host vscode --markdown`,
		Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error { return a.labHosts(f) },
	}
	f.bind(cmd, "the cells")
	cmd.Flags().StringArrayVar(&f.hosts, "host", nil, "only this host `NAME`; may be repeated")
	cmd.Flags().BoolVar(&f.all, "all", false, "the further variants too, behind the eight tools")
	return cmd
}

func (a *app) labHosts(f tableFlags) error {
	if err := f.form(); err != nil {
		return err
	}
	// A variant that is named is meant, with --all or without.
	tools, unknown := lab.Find(labTools(f.all || len(f.tools) > 0), f.tools)
	if len(unknown) > 0 {
		return misuse("the lab has no tool %q: weir mcp lab hosts --all lists them", clip(unknown[0], 60))
	}
	hosts, err := pickHosts(f.hosts)
	if err != nil {
		return err
	}
	count, err := counter()
	if err != nil {
		return err
	}
	cells := lab.Table(tools, hosts, count)
	switch {
	case f.asJSON:
		return a.emitJSON(cells)
	case f.markdown:
		return a.emit([]byte(lab.Markdown(cells)))
	}
	return a.emit([]byte(hostBlocks(cells, hosts, a.columns())))
}

// pickHosts gives the hosts of these names; all when there are none.
func pickHosts(names []string) ([]lab.Host, error) {
	all := lab.Hosts()
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, h := range all {
		known = append(known, h.Name)
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, misuse("there is no host %q: name one of %s", clip(n, 60), strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(h lab.Host) bool { return !slices.Contains(names, h.Name) }), nil
}

// shownTo is what several hosts show alike.
type shownTo struct {
	cell  lab.Cell
	hosts []string
}

// hostBlocks lists, below each tool, what is shown and to the models of which hosts.
func hostBlocks(cells []lab.Cell, hosts []lab.Host, width int) string {
	const indent = "          "
	var b strings.Builder
	for i := 0; i < len(cells); i += len(hosts) {
		var groups []shownTo
		for _, c := range cells[i : i+len(hosts)] {
			at := slices.IndexFunc(groups, func(g shownTo) bool {
				return g.cell.Shown == c.Shown && g.cell.Value == c.Value && slices.Equal(g.cell.Dropped, c.Dropped)
			})
			if at < 0 {
				at = len(groups)
				groups = append(groups, shownTo{cell: c})
			}
			groups[at].hosts = append(groups[at].hosts, c.Host)
		}
		b.WriteString(cells[i].Tool + "\n")
		for _, g := range groups {
			value := g.cell.Value
			if value == "" {
				value = "–"
			}
			lines := folded(value, width-len(indent), 3)
			fmt.Fprintf(&b, "  %-7s %s\n", g.cell.Shown, lines[0])
			for _, l := range lines[1:] {
				b.WriteString(indent + l + "\n")
			}
			who := fmt.Sprintf("%s: %s", plural(g.cell.Tokens, "token"), strings.Join(g.hosts, ", "))
			if len(g.cell.Dropped) > 0 {
				who += " (not shown: " + strings.Join(g.cell.Dropped, ", ") + ")"
			}
			for _, l := range folded("→ "+who, width-len(indent), 4) {
				b.WriteString(indent + l + "\n")
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("Where this is from:\n")
	for _, h := range hosts {
		how := "read in source"
		if h.Observed {
			how = "observed"
		}
		for i, l := range folded(how+" "+h.Seen+": "+h.Source, width-18, 3) {
			fmt.Fprintf(&b, "  %-15s %s\n", []string{h.Name, ""}[min(i, 1)], l)
		}
	}
	return b.String()
}

// folded breaks a text into lines of at most width characters, at spaces where there are any, and cuts it
// after most lines. There is at least one.
func folded(text string, width, most int) []string {
	width = max(width, 20)
	rest := []rune(strings.TrimSpace(printable(text)))
	var lines []string
	for len(rest) > width && len(lines) < most-1 {
		at := width
		for i := width; i > width/2; i-- {
			if rest[i] == ' ' {
				at = i
				break
			}
		}
		lines = append(lines, string(rest[:at]))
		rest = []rune(strings.TrimLeft(string(rest[at:]), " "))
	}
	return append(lines, clip(string(rest), width))
}

// columns is how wide a listing may be: the terminal's width, or 100 where there is none.
func (a *app) columns() int {
	if f, ok := a.out.(*os.File); ok && terminal(f) {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w >= 40 {
			return w
		}
	}
	return 100
}
