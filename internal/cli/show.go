package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

func newShow(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [--json] ID|latest",
		Short: "Show a conversation: turns, results by round, requests, epochs",
		Long: `show prints what is stored of a conversation as tables: its turns and how they ended; each call with its
outcome, the figures of its whole result, how many characters of it the model was shown and where the whole lies;
each request with its size and the tokens that the provider counted; each epoch with the reason why it was opened.

--json prints one object:
` + shownFields,
		Example: `  weir history show latest
  weir history show latest --json | jq '.rounds[].calls[].result'`,
		Args:              exactly(1, "an ID, or latest"),
		ValidArgsFunction: a.completeID,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.show(cmd.Context(), args[0], asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func (a *app) show(ctx context.Context, id string, asJSON bool) (err error) {
	store, err := a.openToRead(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	c, err := a.find(ctx, store, id)
	if err != nil {
		return err
	}
	s, err := gather(ctx, store, c)
	if err != nil {
		return fmt.Errorf("show conversation %s: %w", c.ID, err)
	}
	if asJSON {
		return a.emitJSON(s)
	}
	return a.emit([]byte(s.String()))
}

// String is the conversation as tables.
func (s shown) String() string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-13s %s\n", name, clip(printable(value), 200))
		}
	}
	field("conversation", s.ID)
	field("title", s.Title)
	field("begun", strings.Replace(s.CreatedAt, "T", " ", 1))
	if s.Parent != "" {
		field("fork of", fmt.Sprintf("%s at round %d", s.Parent, s.ForkRound))
	}
	field("model", s.Settings.Model)
	field("address", s.Settings.BaseURL)
	field("approvals", strings.Join(s.Settings.Approve, ", "))
	for _, m := range s.Settings.Mounts {
		how := ""
		if m.Write {
			how = ":rw"
		}
		field("mount", m.Name+"="+m.Dir+how)
	}
	if n := len([]rune(s.Settings.System)); n > 0 {
		field("system text", plural(n, "character"))
	}
	for _, part := range []*table{s.turnTable(), s.callTable(), s.requestTable(), s.epochTable()} {
		if len(part.rows) > 1 {
			b.WriteString("\n" + part.String())
		}
	}
	return b.String()
}

func (s shown) turnTable() *table {
	t := &table{}
	t.add(">TURN", "STATE", "REASON", ">ROUNDS", ">TOKENS OUT", "BEGUN", "KEY")
	for _, x := range s.Turns {
		t.add(number(x.Turn), x.State, or(clip(printable(x.Reason), 60)), number(x.Rounds), number(x.TokensOut),
			at(x.started), printable(x.Key))
	}
	return t
}

func (s shown) callTable() *table {
	t := &table{}
	t.add(">ROUND", "RESULT", "TOOL", "OUTCOME", ">CHARS", ">LINES", ">TOKENS", ">SHOWN", ">TIME", "WHOLE")
	for _, r := range s.Rounds {
		for i, c := range r.Calls {
			round := ""
			if i == 0 {
				round = number(r.Round)
			}
			row := []string{round, c.Result, clip(printable(c.Tool), 40), c.standing()}
			if c.Text == nil {
				t.add(append(row, "-", "-", "-", "-", "-", "-")...)
				continue
			}
			seen := "-"
			if c.Text.Shown != nil {
				seen = number(*c.Text.Shown)
			}
			t.add(append(row, number(c.Text.Chars), number(c.Text.Lines), number(c.Text.Tokens), seen,
				took(c.Text.duration), c.Text.where())...)
		}
	}
	return t
}

func (s shown) requestTable() *table {
	t := &table{}
	t.add(">REQUEST", ">EPOCH", "OUTCOME", ">BYTES", ">IN", ">OUT", ">CACHE READ", ">CACHE WRITE", ">TIME")
	for _, r := range s.Requests {
		t.add(number(r.Request), number(r.Epoch), or(r.Outcome), number(r.Bytes), number(r.Tokens.In), number(r.Tokens.Out),
			number(r.Tokens.CacheRead), number(r.Tokens.CacheWrite), took(r.latency))
	}
	return t
}

func (s shown) epochTable() *table {
	t := &table{}
	t.add(">EPOCH", "REASON", "DIALECT", ">HEAD BYTES", "MESSAGES SHARED")
	for _, e := range s.Epochs {
		base := "-"
		if e.Base > 0 {
			base = fmt.Sprintf("%s of epoch %d", number(e.BaseCount), e.Base)
		}
		t.add(number(e.Epoch), e.Reason, e.Dialect, number(e.HeadBytes), base)
	}
	return t
}
