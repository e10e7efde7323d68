package child

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/weir-run/weir/scripting/internal/pipe"
)

// final is how long a process that was killed may take to be gone.
const final = 500 * time.Millisecond

// Command is the program that script processes are made from.
type Command struct {
	// Path is the program, Args stand before the arguments that make it a script process.
	Path string
	Args []string
	// Same says that it is the running program itself.
	Same bool
}

// SelfCommand is the running program.
func SelfCommand() (Command, error) {
	path, err := self()
	if err != nil {
		return Command{}, fmt.Errorf("find the running program: %w", err)
	}
	return Command{Path: path, Same: true}, nil
}

// Process is a script process that is ready.
type Process struct {
	Writer *pipe.Writer
	Reader *pipe.Reader

	proc  *os.Process
	in    *os.File // its standard input
	out   *os.File // its standard output
	heap  int64
	words *words

	ended chan struct{}
	state *os.ProcessState // once ended is closed
	once  sync.Once
}

// Start starts a script process and waits until it is ready. The error says in one line what is wrong.
func Start(ctx context.Context, c Command, here Build, heap int64) (*Process, error) {
	p, err := start(c, heap)
	if err != nil {
		return nil, fmt.Errorf("start a script process from %s: %w", c.Path, err)
	}
	greeted := make(chan error, 1)
	go func() { greeted <- p.greet(c, here) }()
	timer := time.NewTimer(Ready)
	defer timer.Stop()
	select {
	case err = <-greeted:
	case <-timer.C:
		err = fmt.Errorf("it was not ready within %s", Ready)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err == nil {
		return p, nil
	}
	p.Close()
	if said := p.words.lastLine(); said != "" {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	return nil, fmt.Errorf("start a script process from %s: %w", c.Path, err)
}

// start starts the process with its three pipes.
func start(c Command, heap int64) (*Process, error) {
	p := &Process{heap: heap, words: &words{}, ended: make(chan struct{})}
	var files []*os.File // the process's ends, then ours
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		files = append(files, r, w)
	}
	theirs := []*os.File{files[0], files[3], files[5]}
	ours := []*os.File{files[1], files[2], files[4]}
	argv := append(append([]string{c.Path}, c.Args...), marker, strconv.FormatInt(heap, 10))
	if c.Same {
		argv[0] = os.Args[0]
	}
	proc, err := os.StartProcess(c.Path, argv, &os.ProcAttr{Env: []string{}, Files: theirs, Sys: ownGroup()})
	if err != nil {
		return nil, err
	}
	files = theirs
	p.proc, p.in, p.out = proc, ours[0], ours[1]
	p.Writer, p.Reader = pipe.NewWriter(p.in), pipe.NewReader(p.out, pipe.MaxFromScript)
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer ours[2].Close()
		_, _ = io.Copy(p.words, ours[2])
	}()
	go func() {
		p.state, _ = proc.Wait() // fails only for a process that somebody else waited for
		select {
		case <-heard: // its last words
		case <-time.After(final):
		}
		close(p.ended)
	}()
	return p, nil
}

// greet waits for the first frame and compares what is at the other end.
func (p *Process) greet(c Command, here Build) error {
	noise, err := p.Reader.SkipToMagic()
	var f pipe.Frame
	if err == nil {
		f, err = p.Reader.Next()
	}
	if err != nil {
		_, _ = p.words.Write(noise)
		return errors.New("it ended, or said something else, before it was ready: its main must begin with scripting.Main()")
	}
	var g pipe.Greeting
	if f.Kind != pipe.KindHello || f.Into(&g) != nil {
		return errors.New("what it said first is no greeting: it must be of the same version")
	}
	if g.Protocol != pipe.Protocol {
		return fmt.Errorf("it speaks protocol %d, this program %d: use one version of %s for both", g.Protocol, pipe.Protocol, module)
	}
	return here.fits(Build{Weir: g.Weir, Build: g.Build}, c.Same)
}

// Ended is closed when the process is gone.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Kill ends the process at once.
func (p *Process) Kill() { _ = p.proc.Kill() }

// Close ends the process and waits, briefly, until it is gone.
func (p *Process) Close() {
	p.once.Do(func() {
		p.Kill()
		select {
		case <-p.ended:
		case <-time.After(final):
		}
		_ = p.in.Close()
		_ = p.out.Close()
	})
}

// Reason says why a process that should not have ended did: one line for a model, and what it said itself,
// for a log. It must have ended.
func (p *Process) Reason() (reason, said string) {
	said = p.words.first()
	lower := strings.ToLower(said)
	code, signal := -1, ""
	if p.state != nil {
		code, signal = p.state.ExitCode(), bySignal(p.state)
	}
	switch {
	case code == exitMemory, holds(lower, "out of memory", "cannot allocate memory", "failed to allocate",
		"pthread_create failed", "failed to create new os thread"): // a thread's stack is memory too
		return fmt.Sprintf("it used more memory than its limit of %d MiB", p.heap>>20), said
	case holds(lower, "stack exceeds", "stack overflow"):
		return "it nested too deeply for the engine's call stack", said
	case signal != "":
		return "its process was ended from outside (" + signal + ")", said
	case holds(lower, "panic:", "fatal error:", "goroutine "):
		return "its process crashed, which is a fault of the engine", said
	}
	return fmt.Sprintf("its process ended before the script did (exit status %d)", code), said
}

// holds reports whether a text holds one of several.
func holds(text string, several ...string) bool {
	return slices.ContainsFunc(several, func(s string) bool { return strings.Contains(text, s) })
}

// words keeps the beginning and the end of what a process says on its standard error.
type words struct {
	mu         sync.Mutex
	head, tail []byte
}

const kept = 4 << 10

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if room := kept - len(w.head); room > 0 {
		w.head = append(w.head, b[:min(room, len(b))]...)
	}
	if w.tail = append(w.tail, b[max(0, len(b)-kept):]...); len(w.tail) > kept {
		w.tail = append(w.tail[:0], w.tail[len(w.tail)-kept:]...)
	}
	return len(b), nil
}

func (w *words) first() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.head)
}

// lastLine is the last line that is not blank, at most 300 bytes of it, as it can be shown.
func (w *words) lastLine() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := bytes.TrimSpace(w.tail)
	text = text[bytes.LastIndexByte(text, '\n')+1:]
	shown := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(text), ""))
	if len(shown) > 300 {
		shown = strings.ToValidUTF8(shown[:300], "") + "…"
	}
	return shown
}
