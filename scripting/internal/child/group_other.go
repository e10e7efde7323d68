//go:build !unix

package child

import (
	"os"
	"syscall"
)

// ownGroup asks for nothing here.
func ownGroup() *syscall.SysProcAttr { return nil }

// self is the running program.
func self() (string, error) { return os.Executable() }

// bySignal is the signal that ended a process; there are none here.
func bySignal(*os.ProcessState) string { return "" }
