package child

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// limitSystem lets the kernel hold the limits: RLIMIT_DATA counts what the heap is made of (RLIMIT_AS would
// count addresses, of which Go reserves far more than it uses), beside what is there already: the runtime's
// tables, and with cgo 8 MiB for each thread, whether it is touched or not. No file can be written, none opened beyond
// a few, no core is left behind.
func limitSystem(heap int64) {
	closeInherited()
	for _, l := range []struct {
		what int
		most uint64
	}{
		{unix.RLIMIT_DATA, used() + uint64(heap) + spare},
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_NOFILE, 32},
	} {
		// A limit that is below it already is as good.
		_ = unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.most, Max: l.most})
	}
}

// unknown stands for what is used where the system does not say.
const unknown = 128 << 20

// used is what RLIMIT_DATA counts of this process so far, in bytes (proc_pid_statm(5): the sixth number, in
// pages).
func used() uint64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return unknown
	}
	fields := strings.Fields(string(text))
	if len(fields) < 6 {
		return unknown
	}
	pages, err := strconv.ParseUint(fields[5], 10, 32)
	if err != nil {
		return unknown
	}
	return pages * uint64(os.Getpagesize())
}

// closeInherited closes the descriptors that the program was started with beyond the three pipes. Those of
// the runtime itself (its poller) stay.
func closeInherited() {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= 2 {
			continue
		}
		target, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil || strings.HasPrefix(target, "anon_inode:") {
			continue // the folder itself is closed by now
		}
		_ = unix.Close(fd)
	}
}
