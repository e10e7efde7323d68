package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/history"
)

// exportFields says what "history export" prints as JSON.
const exportFields = `  format (1),
  conversation {id, title, created_at, parent, fork_round, settings},
  turns [{turn, key, state, reason, rounds, tokens_out, first_message, started_at}],
  epochs [{epoch, reason, dialect, head, tail, head_sha256, fingerprint, base, base_count}],
  messages [{message, turn, role, round, codec, blocks [{type, text, call_id, tool, args, mime_type, data, raw}]}],
  rounds [{round, turn, key, closed, message, results_message, calls}],
  calls [{result, provider_id, tool, args, state, outcome, attempt, created_at, started_at, settled_at,
    approval {state, reason, asked_at, answered_at}}],
  results [{result, tool, is_error, bytes, lines, chars, tokens, sha256, duration_ms, path, structured, notes,
    same, shown_text, text}],
  requests [{request, epoch, fragments, outcome, bytes, message_bytes, head_sha256, chain,
    tokens {in, out, cache_read, cache_write}, latency_ms}],
  events [{event, kind, data}], files [{path, bytes, lines, chars, sha256, complete}].`

func newExport(a *app) *cobra.Command {
	var format string
	var whole bool
	cmd := &cobra.Command{
		Use:   "export [--format json|markdown] [--whole] ID|latest",
		Short: "Write a whole conversation as one document",
		Long: `export writes all that is stored of a conversation to stdout: as JSON for programs, or as markdown to read.

The markdown is what was said, with each call and its result as the model was shown it.

The JSON is one object:
` + exportFields + `
Arguments are strings, exactly as the model wrote them (args_base64 where they are no UTF-8). text is a whole
result; one that lies in a file has its path and its figures instead, unless --whole is given. shown_text is what
the model was sent, where that is not the whole.`,
		Example: `  weir history export latest --format markdown >talk.md
  weir history export latest | jq -r '.calls[].args'
  weir history export latest --whole | gzip >conversation.json.gz`,
		Args:              exactly(1, "an ID, or latest"),
		ValidArgsFunction: a.completeID,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case format != "json" && format != "markdown":
				return misuse("--format is %q: give json or markdown", clip(format, 40))
			case whole && format != "json":
				return misuse("--whole is for --format json: markdown has results as they were shown")
			}
			return a.export(cmd.Context(), args[0], format, whole)
		},
	}
	cmd.Flags().StringVar(&format, "format", "json", "`json` or markdown")
	cmd.Flags().BoolVar(&whole, "whole", false, "put the text of results that lie in files into the JSON too")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"json", "markdown"}, cobra.ShellCompDirectiveNoFileComp)) // it fails only for a flag that is not there
	return cmd
}

func (a *app) export(ctx context.Context, id, format string, whole bool) (err error) {
	store, err := a.openToRead(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	c, err := a.find(ctx, store, id)
	if err != nil {
		return err
	}
	if whole {
		if err := checkFiles(ctx, store, c.ID); err != nil {
			return err
		}
	}
	var to io.Writer = outlet{a.out}
	if terminal(a.out) {
		to = &tame{w: to}
	}
	out := bufio.NewWriterSize(to, 64<<10)
	if format == "markdown" {
		err = (&transcript{store: store, w: out}).write(ctx, c)
	} else {
		err = (&exporter{store: store, json: jsonStream{w: out}, whole: whole}).write(ctx, c)
	}
	if err = errors.Join(err, out.Flush()); err != nil && !errors.Is(err, errUnread) {
		return fmt.Errorf("export conversation %s: %w", c.ID, err)
	}
	return err
}

// checkFiles refuses an export of whole results of which one is not there, before anything is written.
func checkFiles(ctx context.Context, store history.Store, id string) error {
	results, err := store.ResultsOf(ctx, id, 0)
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Spill == nil {
			continue
		}
		f, err := store.Spills().Open(ctx, r.Spill.File)
		if err != nil {
			return fmt.Errorf("result %s of conversation %s cannot be read whole (%w): weir history verify says more, and without --whole the rest is exported", r.ID, id, err)
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

// tame takes out of a text what would move the cursor of a terminal or change it.
type tame struct {
	w    io.Writer
	held []byte
}

// Write passes on what is harmless. The first half of a character waits for the second.
func (t *tame) Write(p []byte) (int, error) {
	text := append(t.held, p...)
	t.held = nil
	if n := len(text); n > 0 && text[n-1] == 0xc2 {
		text, t.held = text[:n-1], []byte{0xc2}
	}
	if _, err := io.WriteString(t.w, harmless(string(text))); err != nil {
		return 0, err
	}
	return len(p), nil
}
