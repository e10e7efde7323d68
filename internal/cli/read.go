package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/internal/lines"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/workspace"
)

func newRead(a *app) *cobra.Command {
	var conversation string
	var numbers bool
	cmd := &cobra.Command{
		Use:   "read [-n] [--conversation ID] PATH[:A-B]",
		Short: "Print lines of a stored result or a mounted file, byte for byte",
		Long: `read prints lines A to B of a file, as sed -n 'A,Bp' would: the file's own bytes. A alone is one line, A- goes
to the end, and without lines the whole is printed. -n puts the number and a tab before each line.

PATH is a path as the model sees it, tool-results/r3-1-grep.txt or a file of a mount of the conversation, or just
the id of a result.`,
		Example: `  weir read r3-1:100-120
  weir read -n tool-results/r3-1-grep.txt:5-
  weir read project/main.go --conversation latest`,
		Args: exactly(1, "one PATH"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.read(cmd.Context(), conversation, args[0], numbers)
		},
	}
	a.bindConversation(cmd, &conversation)
	cmd.Flags().BoolVarP(&numbers, "number", "n", false, "put the number and a tab before each line")
	return cmd
}

// bindConversation adds --conversation to a command that reads.
func (a *app) bindConversation(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "conversation", latest, "the conversation's `ID`")
	_ = cmd.RegisterFlagCompletionFunc("conversation", a.completeConversation) // it fails only for a flag that is not there
}

// desk is a conversation's workspace, open to read.
type desk struct {
	*workspace.Workspace
	id    string
	store history.Store
}

// desk opens the workspace of a conversation: its results, and the mounts of its settings that are still
// there.
func (a *app) desk(ctx context.Context, id string) (*desk, error) {
	store, err := a.openToRead(ctx)
	if err != nil {
		return nil, err
	}
	d, err := a.deskOf(ctx, store, id)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return d, nil
}

func (a *app) deskOf(ctx context.Context, store history.Store, id string) (*desk, error) {
	c, err := a.find(ctx, store, id)
	if err != nil {
		return nil, err
	}
	s, err := stored(c.Settings)
	if err != nil {
		s = setup{} // settings of another program name no mounts
	}
	mounts := s.workspace()
	for i := range mounts {
		mounts[i].Write = false
	}
	results := workspace.Results(store, store.Spills())
	ws, err := workspace.New(workspace.Config{Stored: results, Deadline: searchTime, Mounts: mounts})
	if err != nil {
		// A folder that is gone keeps nobody from what is stored.
		a.note("weir: %v: only %s can be read", err, spill.Mount)
		if ws, err = workspace.New(workspace.Config{Stored: results, Deadline: searchTime}); err != nil {
			return nil, err
		}
	}
	return &desk{Workspace: ws, id: c.ID, store: store}, nil
}

// Close closes the workspace and the store.
func (d *desk) Close() error { return errors.Join(d.Workspace.Close(), d.store.Close()) }

// pathOf gives the path of what was named: a result's id stands for its text.
func pathOf(word string) string {
	if _, err := history.ParseCallID(word); err == nil {
		return spill.Mount + "/" + word
	}
	return word
}

// rangeShape is a range of lines behind a path.
var rangeShape = regexp.MustCompile(`^(.+):([0-9]+)(-([0-9]*))?$`)

// span are lines, counted from 1; last 0 is the end.
type span struct{ first, last int64 }

// parseSpan splits PATH:A-B.
func parseSpan(word string) (path string, s span, err error) {
	m := rangeShape.FindStringSubmatch(word)
	if m == nil {
		return word, span{}, nil
	}
	bad := func(why string) (string, span, error) {
		return "", span{}, misuse("lines %s: %s: write A, A-B or A-, counted from 1", strings.TrimPrefix(word, m[1]+":"), why)
	}
	if s.first, err = strconv.ParseInt(m[2], 10, 64); err != nil {
		return bad("that is no line number")
	}
	switch {
	case m[3] == "":
		s.last = s.first
	case m[4] != "":
		if s.last, err = strconv.ParseInt(m[4], 10, 64); err != nil {
			return bad("that is no line number")
		}
	}
	switch {
	case s.first == 0 || m[4] != "" && s.last == 0:
		return bad("there is no line 0")
	case s.last != 0 && s.last < s.first:
		return bad("the last is before the first")
	}
	return m[1], s, nil
}

func (a *app) read(ctx context.Context, conversation, word string, numbers bool) (err error) {
	path, want, err := parseSpan(word)
	if err != nil {
		return err
	}
	d, err := a.desk(ctx, conversation)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	err = d.WriteLines(ctx, outlet{a.out}, workspace.LineRange{
		Conversation: d.id, Path: pathOf(path), First: want.first, Last: want.last, Number: numbers,
	})
	return a.explain(d, path, err)
}

// outlet is stdout as a stream; its errors are those of the output, not of what is read.
type outlet struct{ w io.Writer }

func (o outlet) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	return n, written(n, err)
}

// explain gives what the workspace says in the words of the command line.
func (a *app) explain(d *desk, path string, err error) error {
	var out *lines.RangeError
	var failed *outputError
	_, isID := history.ParseCallID(path)
	switch {
	case err == nil || errors.Is(err, errUnread):
		return err
	case errors.As(err, &failed):
		return failed
	case errors.As(err, &out) && out.Lines == 0:
		return fmt.Errorf("%s has no lines: it is empty", path)
	case errors.As(err, &out):
		return fmt.Errorf("%s has no line %d: it has lines 1 to %d", path, out.First, out.Lines)
	case errors.Is(err, fs.ErrNotExist) && (isID == nil || strings.HasPrefix(path, spill.Mount+"/")):
		return fmt.Errorf("conversation %s has no result %s: %s shows those that it has", d.id, path, a.command("history", "show", d.id))
	}
	return err
}
