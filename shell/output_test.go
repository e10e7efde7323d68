//go:build unix

package shell

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pipe is a pipe whose reader has waited long enough.
func pipe(t *testing.T) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = read.Close(), write.Close() })
	if err := read.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	return read, write
}

// After the deadline the last that a pipe holds is still taken: a slow reader loses nothing.
func TestLastOfThePipe(t *testing.T) {
	t.Parallel()
	last := strings.Repeat("last words\n", 1000)
	for name, open := range map[string]bool{"nobody can write": false, "somebody holds the pipe": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read, write := pipe(t)
			if _, err := write.WriteString(last); err != nil {
				t.Fatal(err)
			}
			if !open {
				_ = write.Close()
			}
			var got bytes.Buffer
			out := newOutput(&got, 1<<40, func(string) {})
			out.copy(read)
			if d := cmp.Diff(last, got.String()); d != "" || out.held != open {
				t.Errorf("held %v, want %v (-want +got):\n%s", out.held, open, d)
			}
		})
	}
}

// Somebody who goes on writing is not read for ever.
func TestPipeWithoutEnd(t *testing.T) {
	t.Parallel()
	read, write := pipe(t)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			if _, err := write.Write(make([]byte, chunk)); err != nil {
				return
			}
		}
	}()
	var got bytes.Buffer
	out := newOutput(&got, 64<<20, func(string) {})
	out.copy(read)
	if out.over || !out.held || got.Len() > pipeSize+chunk {
		t.Errorf("%d bytes were read (over %v, held %v), want at most %d", got.Len(), out.over, out.held, pipeSize+chunk)
	}
	_ = read.Close()
	<-stopped
}
