package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// screen is what a person sees of a run: the model's text on stdout and lines about it on stderr. On a
// terminal one more line tells what goes on now; elsewhere there are plain lines only.
type screen struct {
	mu       sync.Mutex
	out, err io.Writer
	// silent leaves out the lines, and the text too.
	silent bool
	// moving says that stderr is a terminal on which a line can be drawn again.
	moving bool
	// strip says that stdout is a terminal, both that stderr is one too: they share its lines.
	strip, both bool
	dim         bool
	// within says that the last of the text did not end its line.
	within bool
	// drawn says that the line of what goes on stands there.
	drawn bool
	// held says that none is drawn.
	held  bool
	doing string
	since time.Time
	turns int
	stop  chan struct{}
	done  chan struct{}
}

func (a *app) newScreen(silent bool) *screen {
	s := &screen{out: a.out, err: a.err, silent: silent, stop: make(chan struct{}), done: make(chan struct{})}
	s.moving = terminal(a.err) && a.env("TERM") != "dumb" && !silent
	s.strip = terminal(a.out)
	s.both = s.strip && terminal(a.err)
	s.dim = s.moving && a.env("NO_COLOR") == ""
	if s.moving {
		go s.turn()
	} else {
		close(s.done)
	}
	return s
}

// terminal says whether what is written goes to a terminal.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// close takes the moving line away.
func (s *screen) close() {
	if s.moving {
		close(s.stop)
	}
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
}

// say writes a piece of the model's text to stdout, byte for byte; on a terminal what would move the
// cursor or change the terminal is left out.
func (s *screen) say(text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent || text == "" {
		return nil
	}
	s.clear()
	if s.strip {
		text = harmless(text)
	}
	s.within = !strings.HasSuffix(text, "\n")
	return written(io.WriteString(s.out, text))
}

// endLine ends the line of the model's text, if it is not ended.
func (s *screen) endLine() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent || !s.within {
		return nil
	}
	s.within = false
	return written(io.WriteString(s.out, "\n"))
}

// line writes a line for people to stderr.
func (s *screen) line(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.silent {
		return
	}
	s.clear()
	if s.both && s.within {
		fmt.Fprintln(s.err)
		s.within = false
	}
	text := printable(fmt.Sprintf(format, args...))
	if s.dim {
		text = "\x1b[2m" + text + "\x1b[0m"
	}
	fmt.Fprintln(s.err, text)
}

// next names the commands that one would type now.
func (s *screen) next(commands []string) {
	for i, command := range commands {
		s.line("%-5s %s", []string{"next:", ""}[min(i, 1)], command)
	}
}

// now says what goes on; empty for nothing.
func (s *screen) now(doing string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if doing != s.doing {
		s.doing, s.since = doing, time.Now()
	}
	if doing == "" {
		s.clear()
	}
}

// hold draws no moving line any more.
func (s *screen) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.held = true
}

// clear takes away the moving line.
func (s *screen) clear() {
	if s.drawn {
		fmt.Fprint(s.err, "\r\x1b[K")
		s.drawn = false
	}
}

// turn draws the moving line ten times a second, once something takes longer than a moment.
func (s *screen) turn() {
	defer close(s.done)
	const wheel = `⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏`
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
		}
		s.mu.Lock()
		if going := time.Since(s.since); s.doing != "" && !s.held && !(s.both && s.within) && going > 200*time.Millisecond {
			s.turns++
			sign := []rune(wheel)[s.turns%10]
			text := clip(printable(fmt.Sprintf("%c %s · %s", sign, s.doing, took(going))), s.width())
			fmt.Fprint(s.err, "\r\x1b[K"+text)
			s.drawn = true
		}
		s.mu.Unlock()
	}
}

// width is how many characters a line of the terminal holds.
func (s *screen) width() int {
	if f, ok := s.err.(*os.File); ok {
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			return w - 1
		}
	}
	return 79
}

// harmless takes control characters out of a piece of text, all but newlines and tabs. A character that is
// split between two pieces stays whole.
func harmless(text string) string {
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == 0xc2 && i+1 < len(text) && text[i+1] >= 0x80 && text[i+1] < 0xa0:
			i++ // U+0080 to U+009F
		case c < 0x20 && c != '\n' && c != '\t', c == 0x7f:
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
