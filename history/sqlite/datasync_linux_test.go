package sqlite_test

import (
	"os"
	"syscall"
)

// datasync makes what was written to a file durable.
func datasync(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
