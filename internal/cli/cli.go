// Package cli is the commands of weir, one file each.
//
// A command reads flags, calls the packages below and says what happened: text and listings on stdout,
// what a person wants to know beside them on stderr. Every command that lists or shows takes --json. An
// error is one line that says what is wrong and what to do. The exit status is 0 done, 1 the run failed,
// 2 usage, 130 interrupted.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

// Exit statuses.
const (
	statusDone        = 0
	statusFailed      = 1
	statusUsage       = 2
	statusInterrupted = 130
)

// defaultDir is where the state lies below the current folder.
const defaultDir = ".weir"

// app is what every command stands on: where it reads and writes, and where the state lies.
type app struct {
	in  io.Reader
	out io.Writer
	err io.Writer
	env func(string) string
	// tools are what weir run offers beside the workspace's tools.
	tools []tool.Tool
	// sandbox runs scripts, once one may be asked for.
	sandbox *scripting.Scripting
	// servers are the MCP servers of this process, once they are reached.
	servers *client.Set
	// dirFlag is --dir; empty when it was not given.
	dirFlag string
	// interrupts is what a Ctrl-C does.
	interrupts interrupts
}

// Main runs the command that the program was called with and gives its exit status.
func Main() int {
	return newApp().main(os.Args[1:])
}

// newApp is the app of this process.
func newApp() *app {
	return &app{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv}
}

// main runs one command line and heeds signals.
func (a *app) main(args []string) int {
	ctx, stop := a.interruptible(context.Background())
	defer stop()
	return a.run(ctx, args)
}

// run runs one command line.
func (a *app) run(ctx context.Context, args []string) (status int) {
	defer func() {
		if p := recover(); p != nil {
			status = a.panicked(p)
		}
	}()
	defer a.leaveServers()
	root := newRoot(a)
	root.SetArgs(args)
	return a.finish(ctx, root.ExecuteContext(ctx))
}

// panicked tells of a bug in one line; the stack only to who asks for it.
func (a *app) panicked(p any) int {
	a.complain(fmt.Sprintf("a bug in weir stopped it: %v: set WEIR_DEBUG=1 to see where, and report it", p))
	if a.env("WEIR_DEBUG") != "" {
		fmt.Fprintf(a.err, "%s", debug.Stack())
	}
	return statusFailed
}

// dir is the state folder: --dir, else WEIR_DIR, else .weir below the current folder.
func (a *app) dir() string {
	switch {
	case a.dirFlag != "":
		return a.dirFlag
	case a.env("WEIR_DIR") != "":
		return a.env("WEIR_DIR")
	}
	return defaultDir
}
