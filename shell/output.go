package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

const (
	chunk = 64 << 10
	// recent is how much of the last output is looked at to see where the cursor stands.
	recent = 32 << 10
	// every is the shortest time between two reports of progress.
	every = 100 * time.Millisecond
	// pipeSize is the most that a pipe holds on Linux, and rest how long the last of it may take to read.
	pipeSize = 1 << 20
	rest     = 50 * time.Millisecond
)

// output takes what a command prints.
type output struct {
	to     io.Writer
	report func(string)
	most   int64
	full   chan struct{} // closed when more than most bytes came

	bytes    int64
	over     bool   // more than most bytes came
	held     bool   // somebody goes on holding the pipe
	last     []byte // the last bytes, at least recent of them where there are
	reported time.Time
}

func newOutput(to io.Writer, most int64, report func(string)) *output {
	return &output{to: to, report: report, most: most, full: make(chan struct{})}
}

// copy takes all that comes through a pipe, until nobody can write to it any more, more came than may, or
// the deadline of the pipe has passed. Then it takes what the pipe still holds and no more: somebody who
// goes on writing is not waited for.
func (o *output) copy(from *os.File) {
	buf := make([]byte, chunk)
	for left := pipeSize; left > 0; {
		n, err := from.Read(buf)
		o.take(buf[:n])
		switch {
		case o.over:
			return
		case errors.Is(err, os.ErrDeadlineExceeded) && !o.held:
			o.held = true
		case errors.Is(err, io.EOF):
			o.held = false // it was only slow
			return
		case err != nil:
			return
		case o.held:
			left -= n
		}
		if o.held && from.SetReadDeadline(time.Now().Add(rest)) != nil {
			return
		}
	}
}

// take takes one chunk. A place that takes no more (the call was answered without waiting for its end)
// does not stop the command; whoever closed it does.
func (o *output) take(p []byte) {
	if room := o.most - o.bytes; int64(len(p)) > room {
		o.over = true
		p = p[:room]
		defer close(o.full)
	}
	if len(p) == 0 {
		return
	}
	o.bytes += int64(len(p))
	_, _ = o.to.Write(p)
	if o.last = append(o.last, p...); len(o.last) > recent+chunk {
		o.last = append(o.last[:0], o.last[len(o.last)-recent:]...)
	}
	if now := time.Now(); now.Sub(o.reported) >= every {
		o.reported = now
		o.report(lastLine(p))
	}
}

// end words what stands behind the output, each line on its own, the last of them at the very end. Where
// the output leaves a terminal's cursor in the middle of what it has drawn (a progress bar that was stopped)
// the cursor is sent to the end first: in the model's text the lines would be drawn over the output.
func (o *output) end(lines ...string) string {
	text := strings.Join(lines, "\n")
	if o.bytes == 0 {
		return text
	}
	behind := text
	if o.last[len(o.last)-1] != '\n' {
		behind = "\n" + text
	}
	seen := strings.ToValidUTF8(string(o.last), "\uFFFD")
	before, ok := strings.CutSuffix(result.PlainTerminal(seen+behind), "\n"+text)
	if alone := result.PlainTerminal(seen); !ok || strings.TrimRight(before, " \r\n") != strings.TrimRight(alone, " \r\n") {
		return "\x1b[999H\n" + text
	}
	return behind
}

// lastLine is the last line of a chunk that shows something, for people who watch.
func lastLine(p []byte) string {
	const near, most = 1 << 10, 120
	text := result.PlainTerminal(strings.ToValidUTF8(string(p[max(0, len(p)-near):]), "\uFFFD"))
	text = strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	text = strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return text
}

// ends holds both ends of an output where there is no spool, which is outside of a round: a tool that is
// called by hand.
type ends struct {
	head, tail []byte
	bytes      int64
	newlines   int
}

// heldEnd is how many bytes each end has.
const heldEnd = 512 << 10

// Write takes everything.
func (e *ends) Write(p []byte) (int, error) {
	n := len(p)
	e.bytes += int64(n)
	e.newlines += bytes.Count(p, []byte{'\n'})
	room := min(heldEnd-len(e.head), n)
	e.head = append(e.head, p[:room]...)
	if e.tail = append(e.tail, p[room:]...); len(e.tail) > 2*heldEnd {
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-heldEnd:]...)
	}
	return n, nil
}

// whole is the output, or both ends of it with what is missing between them.
func (e *ends) whole() []byte {
	tail := e.tail[max(0, len(e.tail)-heldEnd):]
	if int64(len(e.head)+len(tail)) == e.bytes {
		return append(e.head, tail...)
	}
	gap := fmt.Sprintf("\n[%d of %d bytes (%d lines) are left out here and were not kept: nothing keeps output where this was called]\n",
		e.bytes-int64(len(e.head)+len(tail)), e.bytes, e.newlines)
	return append(append(e.head, gap...), tail...)
}

// place is where a call's output goes, and what makes a result of it with what stands behind it.
func place(c tool.Running) (to io.Writer, finish func(end string) any) {
	if c.Spool != nil {
		if s := c.Spool(); s != nil {
			return s, func(end string) any { return tool.Spooled{Tail: end} }
		}
	}
	held := &ends{}
	return held, func(end string) any { return append(held.whole(), end...) }
}
