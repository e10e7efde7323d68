//go:build unix

package shell_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/shell"
	"github.com/weir-run/weir/tool"
)

const (
	cancelled = "[stopped: the call was cancelled]"
	ceased    = "[what it left running in the background was stopped]"
	runsOn    = "[something in a session of its own runs on; what it prints is not read any more]"
)

// alive lists the processes that were started with an argument.
func alive(t *testing.T, argument string) (pids []int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("looks for processes in /proc")
	}
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		line, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		for _, a := range bytes.Split(line, []byte{0}) {
			if string(a) == argument {
				pid, err := strconv.Atoi(filepath.Base(filepath.Dir(p)))
				if err != nil {
					t.Fatal(err)
				}
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed here", program)
	}
}

// Each command has a number of seconds of its own, to be found by.
func TestStopped(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{})
	for name, c := range map[string]struct {
		command, sleeps, want, needs string
	}{
		"what was printed is kept":    {"echo before; printf half; sleep 31.01", "31.01", "before\nhalf\n", ""},
		"nothing was printed":         {"sleep 31.02", "31.02", "", ""},
		"last words":                  {"trap 'echo bye; exit 0' TERM; sleep 31.03 & wait", "31.03", "bye\n", ""},
		"it will not be told":         {"trap '' TERM; echo no; sleep 31.04; sleep 31.04; sleep 31.04", "31.04", "no\n", ""},
		"children":                    {"sleep 31.05 | sleep 31.05 | sleep 31.05", "31.05", "", ""},
		"in the background":           {"sleep 31.06 >/dev/null 2>&1 & sleep 31.06", "31.06", "", ""},
		"groups of job control":       {"set -m 2>/dev/null; sleep 31.07 & sleep 31.07 & wait", "31.07", "", ""},
		"timeout(1) makes its group":  {"timeout 31.08 sleep 31.08", "31.08", "", "timeout"},
		"it is suspended":             {"echo x; kill -STOP $$; sleep 31.09", "31.09", "x\n", ""},
		"it closed its streams":       {"exec >/dev/null 2>&1; sleep 31.10", "31.10", "", ""},
		"it makes ever new processes": {"trap '' TERM; while :; do sleep 31.11 & sleep 0.01; done", "31.11", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.needs != "" {
				needs(t, c.needs)
			}
			began := time.Now()
			got := say(t, t.Context(), one, args(c.command, 1000))
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
			if d := cmp.Diff(said{c.want + "[stopped: it ran longer than its limit of 1s]", true}, got); d != "" {
				t.Errorf("result (-want +got):\n%s", d)
			}
			if left := alive(t, c.sleeps); len(left) > 0 {
				t.Errorf("%v are still running", left)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	ctx = tool.WithCall(ctx, tool.Running{Progress: func(text string) {
		if text == "begun" {
			cancel()
		}
	}})
	got := say(t, ctx, one, args("echo begun; sleep 32.01", 0))
	if d := cmp.Diff(said{"begun\n" + cancelled, true}, got); d != "" {
		t.Errorf("result (-want +got):\n%s", d)
	}
	if left := alive(t, "32.01"); len(left) > 0 {
		t.Errorf("%v are still running", left)
	}
	mark := filepath.Join(t.TempDir(), "mark")
	if _, err := one.Run(ctx, tool.Call{Args: args("touch "+mark, 0)}); !errors.Is(err, context.Canceled) {
		t.Errorf("after the cancel: %v", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a call that was cancelled before was run")
	}
}

// C146: a background child that keeps the pipe open does not keep the call.
func TestLeftInTheBackground(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{})
	for name, c := range map[string]struct {
		command, sleeps, want string
	}{
		"holds the pipe":      {"sleep 33.01 & echo done", "33.01", "done\n" + ceased + "\n[exit 0]"},
		"holds nothing":       {"sleep 33.02 >/dev/null 2>&1 & echo done; exit 4", "33.02", "done\n" + ceased + "\n[exit 4]"},
		"ends by itself":      {"(sleep 0.05; echo late) & echo done", "33.03", "done\nlate\n[exit 0]"},
		"will not be told":    {"(trap '' TERM; sleep 33.04; sleep 33.04) & echo done", "33.04", "done\n" + ceased + "\n[exit 0]"},
		"has last words":      {"(trap 'echo bye; exit' TERM; sleep 33.05 & wait) & echo done", "33.05", "done\nbye\n" + ceased + "\n[exit 0]"},
		"ignores a hang-up":   {"nohup sleep 33.06 2>/dev/null & printf done", "33.06", "done\n" + ceased + "\n[exit 0]"},
		"the shell is killed": {"sleep 33.07 & kill -KILL $$", "33.07", ceased + "\n[killed by SIGKILL]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			got := say(t, t.Context(), one, args(c.command, 30_000))
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
			if d := cmp.Diff(said{c.want, false}, got); d != "" {
				t.Errorf("result (-want +got):\n%s", d)
			}
			if left := alive(t, c.sleeps); len(left) > 0 {
				t.Errorf("%v are still running", left)
			}
		})
	}
}

// A process in a session of its own is left alone, and not waited for, even if it prints for ever.
func TestOwnSession(t *testing.T) {
	t.Parallel()
	needs(t, "setsid")
	one := given(t, shell.Config{})
	got := say(t, t.Context(), one, args("setsid sleep 34.01 & echo done", 20_000))
	if d := cmp.Diff(said{"done\n" + runsOn + "\n[exit 0]", false}, got); d != "" {
		t.Errorf("result (-want +got):\n%s", d)
	}
	left := alive(t, "34.01")
	if len(left) != 1 {
		t.Errorf("%v are running, want one", left)
	}
	for _, pid := range left {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	got = say(t, t.Context(), one, args("setsid sleep 34.02 >/dev/null 2>&1 & sleep 0.2; echo done", 20_000))
	if d := cmp.Diff(said{"done\n[exit 0]", false}, got); d != "" {
		t.Errorf("result (-want +got):\n%s", d)
	}
	for _, pid := range alive(t, "34.02") {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
	}
	began := time.Now()
	got = say(t, t.Context(), one, args("setsid sh -c 'while :; do echo 34.03; done' & sleep 0.1", 20_000))
	if took := time.Since(began); took > 10*time.Second || !strings.HasSuffix(got.Text, "34.03\n"+runsOn+"\n[exit 0]") {
		t.Errorf("took %s, ends in %q", took, got.Text[max(0, len(got.Text)-200):])
	}
}

func TestOutputLimit(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{MaxOutput: 1000})
	const says = "[stopped: it printed more than its limit of 1000 bytes]"
	for name, c := range map[string]struct {
		command string
		want    said
	}{
		"for ever":      {"yes", said{strings.Repeat("y\n", 500) + says, true}},
		"one byte more": {"head -c 1001 /dev/zero | tr '\\0' x", said{strings.Repeat("x", 1000) + "\n" + says, true}},
		"just so many":  {"head -c 1000 /dev/zero | tr '\\0' x", said{strings.Repeat("x", 1000) + "\n[exit 0]", false}},
		"afterwards":    {"(sleep 0.1; head -c 1001 /dev/zero | tr '\\0' x) &", said{strings.Repeat("x", 1000) + "\n" + says, true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(c.want, say(t, t.Context(), one, args(c.command, 30_000))); d != "" {
				t.Errorf("result (-want +got):\n%s", d)
			}
		})
	}
}

// Called by hand there is no spool; both ends are held then, and the rest is accounted for.
func TestWithoutASpool(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{})
	const n = 5_000_000
	got := say(t, t.Context(), one, args(fmt.Sprintf("yes abcdefg | head -c %d; echo end", n), 0))
	end := fmt.Sprintf("[%d of %d bytes (%d lines) are left out here and were not kept: nothing keeps output where this was called]\n",
		n+4-1<<20, n+4, n/8+1)
	if !strings.HasPrefix(got.Text, "abcdefg\n") || !strings.HasSuffix(got.Text, "abcdefg\nend\n[exit 0]") || !strings.Contains(got.Text, end) || len(got.Text) != 1<<20+1+len(end)+len("[exit 0]") {
		t.Errorf("%d bytes, ends in %q; want %q", len(got.Text), got.Text[len(got.Text)-100:], end)
	}
	whole := say(t, t.Context(), one, args("yes abcdefg | head -c 1048576", 0))
	if whole.Text != strings.Repeat("abcdefg\n", 1<<17)+"[exit 0]" {
		t.Errorf("just so many: %d bytes", len(whole.Text))
	}
}

func TestProgress(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{})
	var heard []string
	ctx := tool.WithCall(t.Context(), tool.Running{Progress: func(text string) { heard = append(heard, text) }})
	command := `printf 'one\n \n'; sleep 0.3; printf '\033[1mtwo\033[0m 10%%\rtwo 90%%'; sleep 0.3; printf 'a\001\377b'; sleep 0.3; printf 'ü%.0s' $(seq 300)`
	say(t, ctx, one, args(command, 20_000))
	want := []string{"one", "two 90%", "a \uFFFDb", strings.Repeat("ü", 120) + "…"}
	if d := cmp.Diff(want, heard); d != "" {
		t.Errorf("progress (-want +got):\n%s", d)
	}
	heard = nil
	say(t, ctx, one, args("yes | head -c 20000000", 0))
	if len(heard) == 0 || len(heard) > 200 {
		t.Errorf("%d reports of a flood", len(heard))
	}
}

// Whatever a command does, it leaves no file open, no goroutine waiting and no zombie. Not parallel: it
// counts what the process has.
func TestNothingIsLeftBehind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("counts in /proc")
	}
	one := given(t, shell.Config{MaxOutput: 100_000})
	gone := given(t, shell.Config{Shell: []string{"/bin/sh", "-c", "--"}, Env: []string{"A=" + strings.Repeat("x", 1<<18)}})
	round := func() {
		for _, command := range []string{"true", "echo x", "exit 3", "kill -9 $$", "sleep 35 & true", "sleep 35", "yes", "sleep 0.01 &"} {
			say(t, t.Context(), one, args(command, 100))
		}
		if got := say(t, t.Context(), gone, args("true", 0)); !strings.Contains(got.Text, "could not be started") {
			t.Errorf("got %+v", got)
		}
	}
	count := func() (files, routines int) {
		open, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(open), runtime.NumGoroutine()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // it would close forgotten files
	round()
	files, routines := count()
	for range 3 {
		round()
	}
	var f, g int
	for range 50 { // a goroutine that has done its work takes a moment to be gone
		if f, g = count(); f <= files && g <= routines {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if f > files || g > routines {
		t.Errorf("%d files and %d goroutines, after the first time it were %d and %d", f, g, files, routines)
	}
	if zombies := children(t); len(zombies) > 0 {
		t.Errorf("children are left: %v", zombies)
	}
}

// children lists the children of this process.
func children(t *testing.T) (all []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range stats {
		stat, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if fields[1] == strconv.Itoa(os.Getpid()) {
			all = append(all, string(stat))
		}
	}
	return all
}
