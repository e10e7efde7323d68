package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// longestKeyed is how many characters a line that is edited takes; more are not taken.
const longestKeyed = 4096

// prompt asks for lines: with a line that can be edited where both sides are a terminal, else line by line.
type prompt struct {
	app  *app
	feed feed
	// keyboard is the terminal that is typed on, nil for a file or a pipe.
	keyboard *os.File
	// editor edits lines; it is made anew after a line that was given up. keys are what it reads.
	editor  *term.Terminal
	keys    *keys
	history term.History
}

func (a *app) newPrompt() *prompt {
	p := &prompt{app: a, feed: feed{in: a.in}}
	p.keys = &keys{feed: &p.feed}
	if f, ok := a.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) && terminal(a.err) {
		p.keyboard = f
	}
	return p
}

// typed says whether a person types the lines.
func (p *prompt) typed() bool { return p.keyboard != nil }

// ask asks for a text. io.EOF is the end, errCtrlC a Ctrl-C on a terminal. What was pasted in several lines is
// one text, up to the Enter that was typed.
//
// On a terminal every key comes by itself meanwhile. It is as it was afterwards, also when the process ends
// at once.
func (p *prompt) ask(ctx context.Context, question string) (string, error) {
	if !p.typed() {
		return p.feed.line(ctx)
	}
	fd := int(p.keyboard.Fd())
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", err
	}
	defer p.app.interrupts.before(func() {
		p.app.write(pasteOff)
		_ = term.Restore(fd, before) // there is nothing else to do for a terminal that is gone
	})()
	p.app.write(pasteOn)
	p.keys.ctx = ctx
	p.ready(fd)
	return p.edit(question)
}

// drop takes away what was typed before a question was asked, and gives it back. What is piped in stays.
func (p *prompt) drop() string {
	if !p.typed() {
		return ""
	}
	p.editor = nil // it may hold some too
	fd := int(p.keyboard.Fd())
	before, err := term.MakeRaw(fd) // so that a line that is not ended comes too
	if err != nil {
		return ""
	}
	defer p.app.interrupts.before(func() { _ = term.Restore(fd, before) })()
	var ahead []byte
	for len(ahead) < maxText {
		soon, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		b, err := p.feed.more(soon)
		cancel()
		if err != nil {
			break
		}
		ahead = append(ahead, b...)
	}
	return string(ahead)
}

// ready makes the editor and tells it how large the terminal is.
func (p *prompt) ready(fd int) {
	if p.editor == nil {
		p.editor = term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{p.keys, p.app.err}, "")
		if p.history == nil {
			p.history = p.editor.History
		}
		p.editor.History = p.history
	}
	if w, h, err := term.GetSize(fd); err == nil && w > 0 {
		_ = p.editor.SetSize(w, h) // it draws, and what cannot be drawn is told by what follows
	}
}

// edit takes a text from the editor.
func (p *prompt) edit(question string) (string, error) {
	var pasted []string
	for {
		p.editor.SetPrompt(question)
		line, err := p.editor.ReadLine()
		if len([]rune(line)) >= longestKeyed {
			p.app.write("the line is cut at " + number(longestKeyed) + " characters: pipe a longer one into weir run\r\n")
		}
		if errors.Is(err, term.ErrPasteIndicator) {
			pasted, question = append(pasted, line), "… "
			continue
		}
		if err != nil {
			p.editor = nil // what stands there is given up
			p.app.write("\r\n")
			return "", err
		}
		return strings.Join(append(pasted, line), "\n"), nil
	}
}

// What tells a terminal to mark what is pasted, and not to.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// write writes to the terminal as it is.
func (a *app) write(text string) { _, _ = io.WriteString(a.err, text) }
