//go:build unix

package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// paused is the key of the process that a story has stopped.
type paused struct{}

// cmdPause is "pause PATTERN PROGRAM ARG…": it starts a program and stops it, as a debugger would, when a line
// of its output matches. What it writes is in the files pause.out and pause.err.
func cmdPause(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: pause PATTERN PROGRAM ARG…")
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	cmd := exec.CommandContext(ctx, path, args[2:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "WEIR_DIR="+ts.Getenv("WEIR_DIR"))
	out, err := os.Create(ts.MkAbs("pause.out"))
	ts.Check(err)
	errs, err := os.Create(ts.MkAbs("pause.err"))
	ts.Check(err)
	seen := make(chan struct{}, 100)
	cmd.Stdout, cmd.Stderr = &spy{w: out, pattern: pattern, seen: seen}, &spy{w: errs, pattern: pattern, seen: seen}
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ts.Defer(func() {
		cancel() // kills it when the story has not let it proceed
		if err := <-ended; err != nil {
			ts.Logf("paused: %v", err)
		}
		_ = out.Close()
		_ = errs.Close()
	})
	*ts.Value(paused{}).(*pausedProcess) = pausedProcess{cmd, ended}
	select {
	case <-seen:
		ts.Check(cmd.Process.Signal(syscall.SIGSTOP))
	case <-ctx.Done():
		ts.Fatalf("nothing matched %q", args[0])
	}
}

type pausedProcess struct {
	cmd   *exec.Cmd
	ended chan error
}

// cmdProceed is "proceed STATUS": the process that was stopped goes on and must end with this status.
func cmdProceed(ts *testscript.TestScript, neg bool, args []string) {
	p := ts.Value(paused{}).(*pausedProcess)
	if neg || len(args) != 1 || p.cmd == nil {
		ts.Fatalf("usage: proceed STATUS, after pause")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	ts.Check(p.cmd.Process.Signal(syscall.SIGCONT))
	err = <-p.ended
	p.ended <- err
	if got := p.cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit status %d (%v) instead of %d", got, err, want)
	}
}

// printWholes reads an export and prints the texts of results that lie in files.
func printWholes() error {
	var doc struct {
		Results []struct{ Path, Text string }
	}
	if err := json.NewDecoder(os.Stdin).Decode(&doc); err != nil {
		return err
	}
	for _, r := range doc.Results {
		if r.Path != "" {
			if _, err := fmt.Print(r.Text); err != nil {
				return err
			}
		}
	}
	return nil
}
