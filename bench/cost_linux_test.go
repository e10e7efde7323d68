package bench

import (
	"os"
	"syscall"
	"time"
)

// processCPU is the processor time that this process has used.
func processCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// datasync makes the bytes of a file durable.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
