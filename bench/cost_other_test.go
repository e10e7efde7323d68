//go:build !linux

package bench

import (
	"os"
	"time"
)

// processCPU is not known here.
func processCPU() time.Duration { return 0 }

// datasync makes the bytes of a file durable.
func datasync(f *os.File) error { return f.Sync() }
