//go:build unix

package child

import (
	"os"
	"runtime"
	"syscall"
)

// ownGroup keeps the signals of a terminal away from a script process.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// self is the running program itself, also when its file was replaced.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// bySignal is the signal that ended a process; empty when none did.
func bySignal(state *os.ProcessState) string {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return s.Signal().String()
	}
	return ""
}
