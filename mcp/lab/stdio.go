package lab

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxLine is the longest line that a client of the lab may send, in bytes: no tool takes arguments.
const MaxLine = 1 << 20

// drain is how long answers are waited for when the client has closed its side.
const drain = 5 * time.Second

// ServeStdio serves one client over lines of JSON until it closes its side or ctx ends; what it asked for
// before is answered. A line that is no JSON object is left out, and the connection goes on; one over [MaxLine]
// ends it. heard is told every line before it is acted on, and whether it is a message; nil is nobody. Nothing
// but messages is written to out.
func ServeStdio(ctx context.Context, p *mcp.Server, in io.Reader, out io.Writer, heard func(line []byte, message bool)) error {
	read, write := io.Pipe()
	defer func() { _ = read.Close() }()
	if heard == nil {
		heard = func([]byte, bool) {}
	}
	l := &link{in: in, out: out, heard: heard, open: map[string]bool{}, answered: make(chan struct{}, 1)}
	go func() { _ = write.CloseWithError(l.sift(ctx, write)) }()
	err := p.Run(ctx, &mcp.IOTransport{Reader: read, Writer: l, MaxLineLength: MaxLine + 1})
	switch {
	case l.fault() != nil:
		return fmt.Errorf("serve the lab: %w", l.fault())
	case err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe):
		return fmt.Errorf("serve the lab: %w", err)
	}
	return nil
}

// link is the connection to one client. It knows the requests that have no answer yet.
type link struct {
	in    io.Reader
	out   io.Writer
	heard func(line []byte, message bool)

	mu       sync.Mutex
	open     map[string]bool // by the id of the request
	failed   error
	answered chan struct{}
}

// sift passes the lines on that are JSON objects, and ends when they are over and answered.
func (l *link) sift(ctx context.Context, to io.Writer) error {
	lines := bufio.NewScanner(l.in)
	lines.Buffer(make([]byte, 64<<10), MaxLine)
	for lines.Scan() {
		line := bytes.TrimSpace(lines.Bytes())
		switch {
		case len(line) == 0:
		case line[0] == '{' && json.Valid(line):
			l.heard(line, true)
			l.came(line)
			if _, err := to.Write(append(bytes.Clone(line), '\n')); err != nil {
				return err
			}
		default:
			l.heard(line, false)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		l.fail(fmt.Errorf("a line is longer than %d bytes", MaxLine))
	}
	ctx, stop := context.WithTimeout(ctx, drain)
	defer stop()
	for l.waiting() {
		select {
		case <-l.answered:
		case <-ctx.Done():
			return io.EOF
		}
	}
	return io.EOF
}

// came notes a request, and went an answer. A subscription is a request that has no end.
func (l *link) came(line []byte) {
	if m := envelopeOf(line); m.ID != nil && m.Method != "" && !strings.HasPrefix(m.Method, "subscriptions/") {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.open[string(m.ID)] = true
	}
}

func (l *link) went(line []byte) {
	m := envelopeOf(line)
	if m.ID == nil || m.Method != "" {
		return
	}
	l.mu.Lock()
	delete(l.open, string(m.ID))
	l.mu.Unlock()
	select {
	case l.answered <- struct{}{}:
	default:
	}
}

// envelope is what of a message says which request it is, or is the answer of.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func envelopeOf(line []byte) envelope {
	var m envelope
	if json.Unmarshal(line, &m) != nil {
		return envelope{}
	}
	return m
}

func (l *link) waiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.open) > 0
}

func (l *link) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
}

func (l *link) fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Write writes one message of the server.
func (l *link) Write(b []byte) (int, error) {
	n, err := l.out.Write(b)
	l.went(b)
	return n, err
}

// Close leaves the writer open: it is the process's own.
func (l *link) Close() error { return nil }
