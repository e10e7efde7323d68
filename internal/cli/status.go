package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/history"
)

// exit is an error that knows its exit status. Without an error of its own everything was said already.
type exit struct {
	status int
	err    error
}

// Error is what is wrong; empty when it was said already.
func (e *exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

// Unwrap gives the error underneath.
func (e *exit) Unwrap() error { return e.err }

// misuse is an error of who typed the command: status 2.
func misuse(format string, args ...any) error {
	return &exit{status: statusUsage, err: fmt.Errorf(format, args...)}
}

// quiet ends with a status and says nothing more.
func quiet(status int) error { return &exit{status: status} }

// errInterrupted is why the context ended when a person or the system stopped the command.
var errInterrupted = errors.New("interrupted")

// errUnread ends a command whose output nobody reads any more, as in "weir read … | head".
var errUnread = errors.New("nobody reads the output")

// finish says what went wrong, in one line, and gives the exit status.
func (a *app) finish(ctx context.Context, err error) int {
	var known *exit
	var busy *history.BusyError
	switch {
	case err == nil, errors.Is(err, errUnread):
		return statusDone
	case errors.As(err, &known):
		if known.err != nil {
			a.complain(known.Error())
		}
		return known.status
	case errors.Is(context.Cause(ctx), errInterrupted):
		a.complain("interrupted")
		return statusInterrupted
	case errors.As(err, &busy):
		err = busy
	}
	a.complain(err.Error())
	return statusFailed
}

// complain writes one line to stderr.
func (a *app) complain(text string) { fmt.Fprintf(a.err, "weir: %s\n", oneLine(text)) }

// emit writes to stdout. A reader that has gone away is errUnread.
func (a *app) emit(b []byte) error { return written(a.out.Write(b)) }

// outputError says that the output could not be written.
type outputError struct{ err error }

// Error says why.
func (e *outputError) Error() string {
	var at *fs.PathError
	if errors.As(e.err, &at) {
		return "write the output: " + at.Err.Error()
	}
	return "write the output: " + e.err.Error()
}

// Unwrap gives the reason.
func (e *outputError) Unwrap() error { return e.err }

// written tells an error of writing the output from all others.
func written(_ int, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.EPIPE):
		return errUnread
	}
	return &outputError{err}
}

// oneLine makes one printable line of a text that may hold anything: lines are joined by "; ", and what a
// terminal would act on becomes a space.
func oneLine(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(printable(line)); line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// printable takes out what a terminal would act on: control and format characters become spaces.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// clip cuts a text at n characters, for a column or a line.
func clip(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:n-1]) + "…"
}

// exactly takes so many arguments; what says which, as in "a PROMPT".
func exactly(n int, what string) cobra.PositionalArgs {
	return between(n, n, what)
}

// between takes from least to most arguments; what says which.
func between(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return misuse("%s needs %s: see %s --help", cmd.CommandPath(), what, cmd.CommandPath())
		case len(args) > most && most == 0:
			return misuse("%s takes no arguments, and %q is one: see %s --help", cmd.CommandPath(), clip(args[0], 40), cmd.CommandPath())
		case len(args) > most:
			return misuse("%s takes %s, and %q is one too many (put a text with spaces in quotes): see %s --help",
				cmd.CommandPath(), what, clip(args[most], 40), cmd.CommandPath())
		}
		return nil
	}
}
