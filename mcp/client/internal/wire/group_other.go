//go:build !unix

package wire

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr { return nil }

func askToStop(p *os.Process) { _ = p.Kill() } // there is no asking on these systems
func killGroup(p *os.Process) { _ = p.Kill() }
