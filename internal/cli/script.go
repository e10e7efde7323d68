package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

// noConversation is the conversation of a script that is run without one.
const noConversation = "none"

// scriptFlags are the flags of "weir script run".
type scriptFlags struct {
	conversation string
	timeout      time.Duration
	// given says that a timeout was.
	given bool
}

func newScript(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "script",
		Short: "Run a script as a model would",
	}
	return group(cmd, newScriptRun(a))
}

func newScriptRun(a *app) *cobra.Command {
	var f scriptFlags
	cmd := &cobra.Command{
		Use:   "run [--conversation ID] [--timeout 2s] FILE",
		Short: "Run a script against a conversation's results and tools",
		Long: fmt.Sprintf(`run gives a script to %s and prints exactly what a model would get of it. The script sees the stored
results of the conversation and can call its tools; without --conversation there are no results, and only the tools
of every run. FILE is JavaScript, the body of an async function; - reads it from stdin.

The conversation itself is not changed, and the script's calls are not kept. Mounts that the model may write to can
be written to by the script.

The exit status is 0 when the script came to its end, and 1 when it failed or hit a limit.`, scripting.Name),
		Example: `  weir script run count.js
  weir script run --conversation latest --timeout 2s count.js
  echo 'return results.list()' | weir script run --conversation latest -`,
		Args: exactly(1, "a FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.given = cmd.Flags().Changed("timeout")
			return a.script(cmd.Context(), f, args[0])
		},
	}
	cmd.Flags().StringVar(&f.conversation, "conversation", "", "the conversation whose results and tools are used, by `ID`, or latest")
	cmd.Flags().DurationVar(&f.timeout, "timeout", scripting.DefaultWall, "the script's time limit as a `DURATION`")
	return cmd
}

// script runs one script and prints its result.
func (a *app) script(ctx context.Context, f scriptFlags, path string) (err error) {
	code, err := a.source(path)
	if err != nil {
		return err
	}
	if f.given && f.timeout < time.Millisecond {
		return misuse("--timeout is %s: it must be at least 1ms", f.timeout)
	}
	s, id, stored := setup{}, noConversation, history.Store(nil)
	if f.conversation != "" {
		if stored, err = a.openToRead(ctx); err != nil {
			return err
		}
		defer closing(stored, &err)
		c, err := a.find(ctx, stored, f.conversation)
		if err != nil {
			return err
		}
		id = c.ID
		if s, err = toolsFor(c); err != nil {
			return err
		}
	}
	r, err := a.scriptOn(ctx, s, id, stored, scriptCall(code, f))
	if err != nil {
		return err
	}
	text := r.Text
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	if err := a.emit([]byte(text)); err != nil {
		return err
	}
	if r.IsError {
		return &exit{statusFailed, errors.New("the script did not get to its end")}
	}
	return nil
}

// toolsFor reads the setup of a conversation; that of another program names no tools.
func toolsFor(c history.Conversation) (setup, error) {
	s, err := stored(c.Settings)
	if err != nil {
		return setup{}, nil //nolint:nilerr // settings of another program name no mounts and no tools
	}
	return s, nil
}

// source reads the script.
func (a *app) source(path string) (string, error) {
	from := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", misuse("read the script: %w", err)
		}
		defer f.Close()
		from = f
	}
	b, err := io.ReadAll(io.LimitReader(from, scripting.MaxCode+1))
	switch {
	case err != nil:
		return "", misuse("read the script: %w", err)
	case len(b) > scripting.MaxCode:
		return "", misuse("%s is longer than %d bytes: a script reads what it works on from results, or has it in a mount", path, scripting.MaxCode)
	}
	return string(bytes.ToValidUTF8(b, []byte("\uFFFD"))), nil
}

// scriptCall is the call that a model would make.
func scriptCall(code string, f scriptFlags) tool.Call {
	args := canon.AppendString([]byte(`{"code":`), code)
	if f.given {
		args = fmt.Appendf(args, `,"timeout_ms":%d`, f.timeout.Milliseconds())
	}
	return tool.Call{ID: "script", Name: scripting.Name, Args: append(args, '}')}
}

// scriptOn settles the call in a store of its own that is thrown away, so that the conversation stays as
// it is. Its results come from the conversation's own store, nil for none.
func (a *app) scriptOn(ctx context.Context, s setup, id string, from history.Store, c tool.Call) (_ round.Settled, err error) {
	if err := a.equip(s); err != nil {
		return round.Settled{}, err
	}
	cfg := workspace.Config{Mounts: s.workspace()}
	if from != nil {
		cfg.Stored = workspace.Results(from, from.Spills())
	}
	ws, err := workspace.New(cfg)
	if err != nil {
		return round.Settled{}, misuse("%w", err)
	}
	defer func() { err = errors.Join(err, ws.Close()) }()
	tools, err := ws.Tools()
	if err != nil {
		return round.Settled{}, err
	}
	if len(s.Mounts) == 0 && from == nil {
		tools = nil // there is nothing to read
	}
	tools = append(tools, a.tools...)
	if from != nil {
		for i, t := range tools {
			if t.Name == scripting.Name {
				tools[i].Run = overResults(t.Run, reading{from, id})
			}
		}
	}
	dir, err := os.MkdirTemp("", "weir-script-")
	if err != nil {
		return round.Settled{}, fmt.Errorf("make a folder for the script's calls: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		return round.Settled{}, err
	}
	defer closing(store, &err)
	settled, err := round.Settle(ctx, store, round.Request{Conversation: id, Calls: []tool.Call{c}}, round.Config{
		Tools: tools, MaxChars: s.MaxChars, RoundChars: s.RoundChars, Approve: s.allow(),
	})
	if err != nil {
		return round.Settled{}, err
	}
	if len(settled.Results) != 1 {
		return round.Settled{}, errors.New("the script has no result")
	}
	r := settled.Results[0]
	if r.Path != "" {
		a.note("weir: the output has %s characters, of which a model is shown this; it is not kept here", number(r.Chars))
	}
	return r, nil
}

// allow decides like decide, but lets the script itself run: whoever runs the command has asked for it.
func (s setup) allow() func(context.Context, round.Question) (round.Decision, error) {
	decide := s.decide()
	if decide == nil {
		return nil
	}
	return func(ctx context.Context, q round.Question) (round.Decision, error) {
		if q.Call.Name == scripting.Name {
			return round.Decision{Verdict: round.Allow}, nil
		}
		return decide(ctx, q)
	}
}

// offerScripts offers code_execution beside the other tools of a setup, which its description names. One
// sandbox serves all turns of the process.
func (a *app) offerScripts(s setup) error {
	others := slices.DeleteFunc(slices.Clone(a.tools), func(t tool.Tool) bool { return t.Name == scripting.Name })
	a.tools = others
	if s.NoScripts {
		return nil
	}
	names, err := a.toolsOf(s)
	if err != nil {
		return err
	}
	if a.sandbox == nil {
		if a.sandbox, err = scripting.New(scripting.Config{}); err != nil {
			return err
		}
	}
	a.tools = append(others, a.sandbox.Tool(names...))
	return nil
}
