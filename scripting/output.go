package scripting

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/weir-run/weir/tool"
)

// every is the shortest time between two reports of progress.
const every = 100 * time.Millisecond

// output takes what a script prints and returns, up to its limit.
type output struct {
	mu     sync.Mutex
	to     io.Writer
	held   *strings.Builder // what to is, where nothing else takes output
	most   int64
	chars  int64
	open   bool // the last line has not ended
	over   bool
	closed bool
	full   chan struct{} // closed when it printed more than it may

	report   func(string)
	reported time.Time
}

// newOutput sends to the call's own place for output, or holds it.
func newOutput(r tool.Running, most int64) *output {
	o := &output{most: most, full: make(chan struct{}), report: r.Progress}
	if r.Spool != nil {
		if s := r.Spool(); s != nil {
			o.to = s
			return o
		}
	}
	o.held = &strings.Builder{}
	o.to = o.held
	return o
}

// add takes text, and as much of it as there is room for where it is too much.
func (o *output) add(text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.write(text)
}

func (o *output) write(text string) {
	if o.closed || o.over || text == "" {
		return
	}
	if n := int64(utf8.RuneCountInString(text)); n > o.most-o.chars {
		text, o.over = head(text, o.most-o.chars), true
		o.chars = o.most
		close(o.full)
	} else {
		o.chars += n
	}
	if text != "" {
		o.open = !strings.HasSuffix(text, "\n")
		_, _ = io.WriteString(o.to, text) // a place that takes no more was given up by its owner
	}
	if now := time.Now(); o.report != nil && now.Sub(o.reported) >= every {
		o.reported = now
		o.report(lastLine(text))
	}
}

// value takes a piece of the returned value, which begins on a line of its own.
func (o *output) value(text string, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if first && o.open && !o.over {
		o.line()
	}
	o.write(text)
}

// line ends the last line. The lock is held.
func (o *output) line() {
	if o.open && !o.closed {
		_, _ = io.WriteString(o.to, "\n")
		o.open = false
	}
}

// finish closes the output, with status lines behind it, and gives the result's data.
func (o *output) finish(status ...string) any {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(status) > 0 {
		o.line()
	}
	o.closed = true
	tail := strings.Join(status, "\n")
	if o.held == nil {
		return tool.Spooled{Tail: tail}
	}
	return o.held.String() + tail
}

func (o *output) isOver() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.over
}

func (o *output) empty() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.chars == 0
}

// head is the first n characters of text.
func head(text string, n int64) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// lastLine is the last line of text that is not blank, as far as one line of progress goes.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return head(text[strings.LastIndexByte(text, '\n')+1:], 120)
}

// count writes a number for people: 1,000,000.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
