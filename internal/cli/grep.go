package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/workspace"
)

// searchTime is how long a command may search.
const searchTime = time.Hour

// grepFlags are the flags of "weir grep".
type grepFlags struct {
	conversation             string
	literal, ignoreCase, all bool
}

func newGrep(a *app) *cobra.Command {
	var f grepFlags
	cmd := &cobra.Command{
		Use:   "grep [-F] [-i] [--all] [--conversation ID] PATTERN [PATH]",
		Short: "Search the stored results and the mounts, line by line",
		Long: `grep prints each line that matches as path:line:text, as grep -Hn would, the path as the model sees it. PATTERN
is in RE2 syntax (Go regexp), or the text itself with -F. PATH is a file, a folder, a mount or the id of a result;
without one everything is searched: tool-results/ and the mounts of the conversation.

The exit status is 0 when a line matched, 1 when none did and 2 when it could not search. What was not searched
(binary, unreadable, ignored by .gitignore …) is counted on stderr. A search ends after one hour.`,
		Example: `  weir grep -F 'func main' r3-1
  weir grep -i 'warning|error'
  weir grep Deprecated: project/src --conversation latest`,
		Args: between(1, 2, "a PATTERN and at most one PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := ""
			if len(args) == 2 {
				path = args[1]
			}
			err := a.grep(cmd.Context(), f, args[0], path)
			var known *exit
			if err == nil || errors.As(err, &known) || errors.Is(err, errUnread) || cmd.Context().Err() != nil {
				return err
			}
			return &exit{statusUsage, err}
		},
	}
	a.bindConversation(cmd, &f.conversation)
	cmd.Flags().BoolVarP(&f.literal, "fixed-strings", "F", false, "take PATTERN as the text itself")
	cmd.Flags().BoolVarP(&f.ignoreCase, "ignore-case", "i", false, "let letters match in either case")
	cmd.Flags().BoolVar(&f.all, "all", false, "search what .gitignore names too")
	return cmd
}

func (a *app) grep(ctx context.Context, f grepFlags, pattern, path string) (err error) {
	d, err := a.desk(ctx, f.conversation)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	out := bufio.NewWriterSize(outlet{a.out}, 64<<10)
	live := terminal(a.out)
	var line []byte
	found, err := d.Search(ctx, workspace.GrepRequest{
		Conversation: d.id, Pattern: pattern, Literal: f.literal, IgnoreCase: f.ignoreCase, Path: pathOf(path), All: f.all,
	}, func(m workspace.Match) error {
		line = append(append(line[:0], printable(m.Path)...), ':')
		line = append(strconv.AppendInt(line, m.Line, 10), ':')
		line = append(append(line, m.Text...), '\n')
		if _, err := out.Write(line); err != nil || !live {
			return err
		}
		return out.Flush()
	})
	if err = errors.Join(err, out.Flush()); err != nil {
		return a.explain(d, path, err)
	}
	a.skipped(found)
	switch {
	case found.TimedOut:
		return fmt.Errorf("the search took longer than %s: name a PATH", took(found.Deadline))
	case found.Matches == 0:
		return quiet(statusFailed)
	}
	return nil
}

// skipped says on stderr what was not searched.
func (a *app) skipped(found workspace.Found) {
	for _, s := range found.Skipped {
		names := strings.Join(s.Names, ", ")
		if s.Count > int64(len(s.Names)) {
			names += ", …"
		}
		a.note("weir: not searched, %s: %s (%s)", s.Reason, number(s.Count), names)
	}
}
