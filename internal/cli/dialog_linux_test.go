package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdDialog is "dialog FILE STATUS PROGRAM ARG…": it runs the program on a terminal and talks to it as FILE
// says, a line each: "expect REGEXP" waits until what was written since the last match matches, "send TEXT"
// types (a Go string without its quotes), "kill SIGNAL" sends TERM or INT. Then the program must end with this
// status and leave the terminal as it was. What it wrote is in the file dialog.out.
func cmdDialog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: dialog FILE STATUS PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	path, err := exec.LookPath(args[2])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	master, slave, err := openTerminal()
	ts.Check(err)
	defer master.Close()
	before := settingsOf(slave)
	cmd := exec.CommandContext(ctx, path, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "WEIR_DIR="+ts.Getenv("WEIR_DIR"), "TERM=xterm", "NO_COLOR=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(cmd.Start())
	heard := newEar(master)
	fail := func(format string, args ...any) {
		cancel()
		_ = cmd.Wait()
		ts.Fatalf("%s\nwhat was written:\n%s", fmt.Sprintf(format, args...), heard.all())
	}
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "expect":
			if !heard.wait(regexp.MustCompile(rest), time.Minute) {
				fail("nothing matched %q within a minute", rest)
			}
		case "send":
			text, err := strconv.Unquote(`"` + rest + `"`)
			if err == nil {
				_, err = master.WriteString(text)
			}
			if err != nil {
				fail("send %s: %v", rest, err)
			}
		case "kill":
			if err := cmd.Process.Signal(map[string]os.Signal{"TERM": syscall.SIGTERM, "INT": os.Interrupt}[rest]); err != nil {
				fail("kill %s: %v", rest, err)
			}
		case "", "#":
		default:
			fail("%q is no line of a dialog", word)
		}
	}
	err = cmd.Wait()
	after := settingsOf(slave)
	ts.Check(slave.Close())
	<-heard.done
	ts.Check(os.WriteFile(ts.MkAbs("dialog.out"), heard.all(), 0o600))
	switch {
	case cmd.ProcessState.ExitCode() != want:
		fail("exit status %d (%v) instead of %d", cmd.ProcessState.ExitCode(), err, want)
	case before != after:
		fail("the terminal is not as it was: %+v instead of %+v", after, before)
	}
}

// openTerminal makes a terminal of 80 columns; the first file is where a person would sit.
func openTerminal() (master, slave *os.File, err error) {
	if master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		return nil, nil, err
	}
	var n, zero uint32
	size := struct{ rows, columns, x, y uint16 }{24, 80, 0, 0}
	err = errors.Join(
		ioctl(master, syscall.TIOCSPTLCK, unsafe.Pointer(&zero)),
		ioctl(master, syscall.TIOCGPTN, unsafe.Pointer(&n)),
		ioctl(master, syscall.TIOCSWINSZ, unsafe.Pointer(&size)),
	)
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(n)), os.O_RDWR|syscall.O_NOCTTY, 0)
	return master, slave, err
}

func ioctl(f *os.File, what uintptr, arg unsafe.Pointer) error {
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), what, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

func settingsOf(f *os.File) (t syscall.Termios) {
	_ = ioctl(f, syscall.TCGETS, unsafe.Pointer(&t)) // then it is all zeros, which is not as it was
	return t
}

// ear hears all that is written to a terminal.
type ear struct {
	mu    sync.Mutex
	heard bytes.Buffer
	from  int
	more  chan struct{}
	done  chan struct{}
}

func newEar(f *os.File) *ear {
	e := &ear{more: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		defer close(e.done)
		b := make([]byte, 4096)
		for {
			n, err := f.Read(b)
			e.mu.Lock()
			e.heard.Write(b[:n])
			e.mu.Unlock()
			select {
			case e.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return e
}

func (e *ear) all() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return bytes.Clone(e.heard.Bytes())
}

// wait waits until what was not matched yet matches.
func (e *ear) wait(pattern *regexp.Regexp, most time.Duration) bool {
	deadline := time.After(most)
	for {
		e.mu.Lock()
		at := pattern.FindIndex(e.heard.Bytes()[e.from:])
		if at != nil {
			e.from += at[1]
		}
		e.mu.Unlock()
		if at != nil {
			return true
		}
		select {
		case <-e.more:
		case <-e.done:
			return false
		case <-deadline:
			return false
		}
	}
}

// TestEar: what was matched is not matched again.
func TestEar(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	e := newEar(r)
	if _, err := w.WriteString("one two one"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		pattern string
		want    bool
	}{{"one", true}, {"one", true}, {"one", false}} {
		if got := e.wait(regexp.MustCompile(c.pattern), time.Second); got != c.want {
			t.Errorf("%s: %v, want %v", c.pattern, got, c.want)
		}
	}
}
