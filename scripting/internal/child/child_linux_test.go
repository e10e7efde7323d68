package child

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// The process has nothing of the program's: no environment, no descriptor but its pipes, a group of its
// own, limits in place before it read anything.
func TestProcessIsBare(t *testing.T) {
	// Not parallel: it opens a descriptor that children would inherit.
	if err := os.Setenv("WEIR_TEST_SECRET", "leak"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Unsetenv("WEIR_TEST_SECRET") }()
	leak, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	if _, err := unix.FcntlInt(leak.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	p := own(t, 64<<20)
	proc := fmt.Sprintf("/proc/%d/", p.proc.Pid)
	env, err := os.ReadFile(proc + "environ")
	if err != nil {
		t.Fatal(err)
	}
	if len(env) > 0 {
		t.Errorf("the environment is %q", env)
	}
	group, err := unix.Getpgid(p.proc.Pid)
	if group != p.proc.Pid || err != nil {
		t.Errorf("process %d is in group %d (%v)", p.proc.Pid, group, err)
	}
	if raced {
		return // the limits, and what is closed with them, are off
	}
	fds, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, fd := range fds {
		target, err := os.Readlink(proc + "fd/" + fd.Name())
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(target, ":")
		if kind != "anon_inode" { // the poller of the runtime
			kinds = append(kinds, kind)
		}
	}
	if d := cmp.Diff([]string{"pipe", "pipe", "pipe"}, kinds); d != "" {
		t.Errorf("descriptors (-want +got):\n%s", d)
	}
	var limit unix.Rlimit
	for what, want := range map[int]uint64{unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0, unix.RLIMIT_NOFILE: 32} {
		if err := unix.Prlimit(p.proc.Pid, what, nil, &limit); err != nil || limit.Max != want || limit.Cur != want {
			t.Errorf("limit %d is %d of %d (%v), want %d", what, limit.Cur, limit.Max, err, want)
		}
	}
	// The heap and what the process comes to need, beside what it began with.
	err = unix.Prlimit(p.proc.Pid, unix.RLIMIT_DATA, nil, &limit)
	if began := int64(limit.Max) - 64<<20 - spare; err != nil || limit.Cur != limit.Max || began < 16<<20 || began > 256<<20 {
		t.Errorf("the data may have %d of %d bytes (%v), want heap and spare beside 16 to 256 MiB", limit.Cur, limit.Max, err)
	}
}

// A script process whose program is killed is gone, also while a script keeps it busy.
func TestGoneWithItsProgram(t *testing.T) {
	t.Parallel()
	program := exec.CommandContext(t.Context(), os.Args[0], "hostile", "program")
	out, err := program.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, 0); err != nil {
		t.Fatalf("the script process is not there: %v", err)
	}
	if err := program.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = program.Wait()
	for end := time.Now().Add(5 * time.Second); !gone(pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			_ = unix.Kill(pid, unix.SIGKILL)
			t.Fatal("the script process lives on")
		}
	}
}

// gone reports whether a process has ended; one that nobody has waited for yet counts.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
}
