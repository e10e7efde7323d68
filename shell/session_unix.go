//go:build unix

package shell

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	terminate = syscall.SIGTERM
	kill      = syscall.SIGKILL
)

func supported() error { return nil }

// ownSession puts a command into a session of its own, and so into a process group of its own: all that
// it starts can be found and ended together, and none of it has a terminal to ask for a password on.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// status words how a process ended by itself.
func status(state *os.ProcessState) string {
	if state == nil {
		return "[it ended, but its exit status is not known]"
	}
	ws, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !ws.Signaled() {
		return fmt.Sprintf("[exit %d]", state.ExitCode())
	}
	if name := unix.SignalName(ws.Signal()); name != "" {
		return fmt.Sprintf("[killed by %s]", name)
	}
	return fmt.Sprintf("[killed by signal %d]", int(ws.Signal()))
}

// running reports whether a process of the session lives. One that has ended and was not waited for is
// not running: in a container without an init nobody ever waits for it.
func running(session int) bool {
	groups, err := processGroups(session)
	if err != nil {
		return !errors.Is(syscall.Kill(-session, 0), syscall.ESRCH)
	}
	return len(groups) > 0
}

// signal signals all processes of the session. They may be in several groups: timeout(1) and shells with
// job control make some.
func signal(session int, s syscall.Signal) {
	groups, err := processGroups(session)
	if err != nil {
		groups = []int{session}
	}
	for _, g := range groups {
		_ = syscall.Kill(-g, s) // one that is gone needs none
	}
}

// processGroups lists the process groups in which a process of the session lives. It fails on other systems
// than Linux, and without a /proc that numbers processes as they are numbered here; then the group that the
// command began with is all that is known.
func processGroups(session int) ([]int, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.ErrUnsupported
	}
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil, errors.New("/proc is not this system's")
	}
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var groups []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := unix.Getsid(pid); err != nil || s != session {
			continue // asking is far cheaper than reading, and most processes are others'
		}
		stat, err := os.ReadFile(filepath.Join("/proc", name, "stat"))
		if err != nil {
			continue // it has gone
		}
		if g := groupOf(stat); g > 1 && !slices.Contains(groups, g) {
			groups = append(groups, g)
		}
	}
	return groups, nil
}

// groupOf gives the process group of a process that runs, from its stat as proc(5) has it: pid (name)
// state ppid pgrp …, where the name may hold anything. It is 0 for one that has ended.
func groupOf(stat []byte) int {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 || bytes.ContainsAny(fields[0], "ZXx") {
		return 0
	}
	g, err := strconv.Atoi(string(fields[2]))
	if err != nil {
		return 0
	}
	return g
}
