//go:build darwin || netbsd || openbsd

package child

import "golang.org/x/sys/unix"

// limitSystem bounds what this system can: files. Memory is left to the watcher, which is best effort.
func limitSystem(int64) {
	for _, l := range []struct {
		what int
		most uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}} {
		_ = unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.most, Max: l.most})
	}
}
