package wire

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/internal/canon"
)

// How a child is ended: its stdin is closed, after polite it is asked to stop, after as long again killed.
const (
	polite = 2 * time.Second
	// drain is how long what a dead child has left behind is still read.
	drain = 500 * time.Millisecond
	// lastLines is how many lines of stderr are kept, maxError how much of each, in bytes.
	lastLines, maxError = 20, 500
)

// Command is a transport to a child process, over its stdin and stdout.
type Command struct {
	// Path is the program, Args are its arguments, Env its whole environment, Dir where it runs.
	Path string
	Args []string
	Env  []string
	Dir  string
	// Filter sees every message.
	Filter *Filter

	stderr tail
	mu     sync.Mutex
	cmd    *exec.Cmd
	stdin  io.Closer
	gone   chan struct{} // closed when the child has ended; nil while there is none
	heard  chan struct{} // closed when its stderr was read to the end
}

// Connect starts the child. What it leaves running is ended with it, on systems that can.
func (c *Command) Connect(ctx context.Context) (mcp.Connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.cmd = exec.Command(c.Path, c.Args...) //nolint:noctx // it outlives the context of its start; Close ends it
	c.cmd.Env, c.cmd.Dir = c.Env, c.Dir
	c.cmd.SysProcAttr = ownGroup()
	var pipes [3][2]*os.File
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(pipes)
			return nil, fmt.Errorf("make a pipe: %w", err)
		}
		pipes[i] = [2]*os.File{r, w}
	}
	in, out, errs := pipes[0], pipes[1], pipes[2]
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = in[0], out[1], errs[1]
	if err := c.cmd.Start(); err != nil {
		closeAll(pipes)
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	for _, f := range []*os.File{in[0], out[1], errs[1]} {
		_ = f.Close() // the child has its own
	}
	c.gone, c.heard, c.stdin = make(chan struct{}), make(chan struct{}), in[1]
	go func() {
		c.stderr.read(errs[0])
		close(c.heard)
	}()
	go func() {
		_ = c.cmd.Wait() // how it ended stands in its state
		close(c.gone)
		time.Sleep(drain)
		_ = out[0].Close() // what it left behind may hold the other end open for ever
		_ = errs[0].Close()
	}()
	s := &Stream{Reader: out[0], Writer: in[1], Filter: c.Filter, Ended: c.ended, Stop: c.Stop}
	return s.Connect(ctx)
}

func closeAll(pipes [3][2]*os.File) {
	for _, p := range pipes {
		for _, f := range p {
			if f != nil {
				_ = f.Close()
			}
		}
	}
}

// ended says how the child ended.
func (c *Command) ended(err error) error {
	select {
	case <-c.gone:
		select { // its last words may say why
		case <-c.heard:
		case <-time.After(drain):
		}
		return fmt.Errorf("the server's process has ended (%s)", c.cmd.ProcessState)
	case <-time.After(polite):
		return fmt.Errorf("the server has closed its output: %w", err)
	}
}

// Stop ends the child and what it started. A child that was not started needs none.
func (c *Command) Stop() {
	c.mu.Lock()
	gone, stdin := c.gone, c.stdin
	c.mu.Unlock()
	if gone == nil {
		return
	}
	_ = stdin.Close() // that tells it to end; a second time does no harm
	for _, end := range []func(*os.Process){func(*os.Process) {}, askToStop, killGroup} {
		end(c.cmd.Process)
		select {
		case <-gone:
			killGroup(c.cmd.Process) // what it has left behind
			return
		case <-time.After(polite):
		}
	}
}

// Stderr gives the last lines that the child wrote there, empty when it wrote none.
func (c *Command) Stderr() string { return c.stderr.String() }

// tail keeps the last lines of what is read.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) read(r io.Reader) {
	b := bufio.NewReaderSize(r, 4<<10)
	var whole []byte
	for {
		part, more, err := b.ReadLine()
		if len(whole) < maxError {
			whole = append(whole, part...)
		}
		if more && err == nil {
			continue
		}
		if len(whole) > 0 {
			t.add(whole)
			whole = whole[:0]
		}
		if err != nil {
			return
		}
	}
}

func (t *tail) add(line []byte) {
	s, _ := canon.CleanUTF8(string(line[:min(len(line), maxError)]))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines = append(t.lines, s); len(t.lines) > lastLines {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
