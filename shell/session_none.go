//go:build !unix

package shell

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

func supported() error {
	return fmt.Errorf("make %s: %s is not supported: commands are run on Unix systems, which can end a command with all that it started; leave this tool out", Name, runtime.GOOS)
}

// New refuses to make the tool on these systems, so that nothing below is ever called.

func ownSession() *syscall.SysProcAttr { return nil }

func status(state *os.ProcessState) string { return fmt.Sprintf("[exit %d]", state.ExitCode()) }

func running(int) bool { return false }

func signal(int, syscall.Signal) {}
