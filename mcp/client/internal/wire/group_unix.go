//go:build unix

package wire

import (
	"os"
	"syscall"
)

// ownGroup puts a child into a group of its own, so that what it starts can be ended with it.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func askToStop(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGTERM) } // one that is gone needs none
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
