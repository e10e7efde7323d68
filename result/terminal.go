package result

import "strings"

// Control characters that move a terminal's cursor or begin a sequence (ECMA-48, fifth edition).
const (
	bel, bs, cr, can, sub, esc = 0x07, 0x08, 0x0D, 0x18, 0x1A, 0x1B

	// The 8-bit controls U+0080 to U+009F are two bytes of UTF-8: c1Lead and the code itself.
	c1Lead = 0xC2

	c1IND, c1NEL, c1RI  = 0x84, 0x85, 0x8D
	c1DCS, c1SOS, c1CSI = 0x90, 0x98, 0x9B
	c1ST, c1OSC         = 0x9C, 0x9D
	c1PM, c1APC         = 0x9E, 0x9F
)

// PlainTerminal returns a terminal's output as text: escape sequences are dropped in their 7-bit and
// 8-bit forms (ECMA-48: CSI, OSC, DCS, SOS, PM, APC and single ones), and a line that was drawn over
// is left as the terminal would leave it. One that was drawn over at least twice shows its first and its
// last state with the number of those between them; lines that were drawn and wiped away, one after the
// other, show the first of them with the number of the others. Overwriting by carriage return,
// backspace, erasing and moving up to a line again all count.
//
// Lines without escape sequences stay as they are, line endings included. A terminal is 200 lines high
// here: what is further up is final. Clearing the screen and going to an absolute line begin a new line,
// so nothing on the screen is lost. Every character takes one column. The work is linear in the length
// of the text. Text that has nothing to clean is returned as it is.
func PlainTerminal(text string) string {
	if !drawn(text) {
		return text
	}
	s := newScreen(len(text))
	for i := 0; i < len(text); {
		end := plainEnd(text, i)
		if end > i {
			s.print(text[i:end])
			i = end
			continue
		}
		i += s.control(text[i:])
	}
	return s.finish()
}

// drawn reports whether text has anything that a terminal would not show as it is.
func drawn(text string) bool {
	if strings.IndexByte(text, esc) >= 0 || strings.IndexByte(text, bs) >= 0 {
		return true
	}
	for rest := text; ; {
		at := strings.IndexByte(rest, cr)
		if at < 0 {
			break
		}
		rest = strings.TrimLeft(rest[at:], "\r")
		if rest == "" || rest[0] != '\n' {
			return true
		}
	}
	for rest := text; ; {
		at := strings.IndexByte(rest, c1Lead)
		if at < 0 || at+1 >= len(rest) {
			return false
		}
		if isC1(rest[at+1]) {
			return true
		}
		rest = rest[at+1:]
	}
}

// isC1 reports whether c is the second byte of an 8-bit control.
func isC1(c byte) bool { return c >= 0x80 && c <= 0x9F }

// plainEnd returns where the characters from i on end that are just shown.
func plainEnd(text string, i int) int {
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n', c == cr, c == bs, c == esc:
			return i
		case c == c1Lead && i+1 < len(text) && isC1(text[i+1]):
			return i
		}
	}
	return i
}

// control does what the control at the start of s says and returns how many bytes it takes.
func (t *screen) control(s string) int {
	switch c := s[0]; c {
	case '\n':
		t.feed("\n")
		return 1
	case cr:
		n := len(s) - len(strings.TrimLeft(s, "\r"))
		if n < len(s) && s[n] == '\n' {
			t.feed(s[:n+1])
			return n + 1
		}
		t.column(0)
		return n
	case bs:
		t.backspace()
		return 1
	case esc:
		return t.escape(s)
	default: // U+0080 to U+009F
		return 2 + t.c1(s[1], s[2:])
	}
}

// escape does a sequence that begins with ESC.
func (t *screen) escape(s string) int {
	if len(s) == 1 {
		return 1
	}
	c := s[1]
	switch {
	case c >= 0x40 && c <= 0x5F:
		return 2 + t.c1(c+0x40, s[2:]) // the 7-bit form of an 8-bit control
	case c == '7':
		t.save()
	case c == '8':
		t.restore()
	case c == 'c':
		t.clear()
	case c >= 0x20 && c <= 0x2F:
		n := 2
		for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2F {
			n++
		}
		if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7E {
			n++
		}
		return n
	case c < 0x30 || c > 0x7E:
		return 1 // ESC before something that is no part of a sequence
	}
	return 2
}

// c1 does the control c, to which s is what follows, and returns how much of s belongs to it.
func (t *screen) c1(c byte, s string) int {
	switch c {
	case c1CSI:
		return t.csi(s)
	case c1OSC:
		return stringEnd(s, true)
	case c1DCS, c1SOS, c1PM, c1APC:
		if n := len("tmux;"); strings.HasPrefix(s, "tmux;") {
			return n // what tmux passes through is a sequence of its own
		}
		return stringEnd(s, false)
	case c1IND:
		t.index()
	case c1NEL:
		t.feed("\n")
	case c1RI:
		t.up(1)
	}
	return 0
}

// stringEnd returns how many bytes a control string and its terminator take. A string without one takes
// none, so that what only looks like a control string stays readable; and since it ends at the next
// control, no byte is read more than twice.
func stringEnd(s string, osc bool) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c == esc:
			if i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
			return 0
		case c == c1Lead && i+1 < len(s) && isC1(s[i+1]):
			if s[i+1] == c1ST {
				return i + 2
			}
			return 0
		case c == bel && osc:
			return i + 1
		case c == can || c == sub || c == '\n' && osc:
			return 0
		}
	}
	return 0
}

// csi does a control sequence, of which s is what follows the introducer.
func (t *screen) csi(s string) int {
	n := 0
	for n < len(s) && s[n] >= 0x30 && s[n] <= 0x3F {
		n++
	}
	params := s[:n]
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2F {
		n++
	}
	if n == len(s) || s[n] < 0x40 || s[n] > 0x7E {
		return n
	}
	plain := n == len(params) && (params == "" || params[0] < '<') // no intermediate, not private
	if plain {
		t.command(s[n], params)
	}
	return n + 1
}

// command does a control sequence by its final byte. Of the parameters only the first matters here.
func (t *screen) command(final byte, params string) {
	n := number(params)
	times := max(n, 1)
	switch final {
	case 'A':
		t.up(times)
	case 'B':
		t.down(times)
	case 'C', 'a':
		t.column(t.col + times)
	case 'D':
		t.column(t.col - times)
	case 'E':
		t.down(times)
		t.column(0)
	case 'F':
		t.up(times)
		t.column(0)
	case 'G', '`':
		t.column(times - 1)
	case 'H', 'f', 'd':
		t.clear()
	case 'J':
		if n == 0 {
			t.eraseBelow()
		} else if n > 1 {
			t.clear()
		}
	case 'K':
		t.erase(n)
	case 's':
		t.save()
	case 'u':
		if params == "" {
			t.restore()
		}
	}
}

// number is the first parameter, 0 when there is none.
func number(params string) int {
	const most = 1 << 20
	n := 0
	for i := 0; i < len(params) && params[i] >= '0' && params[i] <= '9'; i++ {
		n = min(n*10+int(params[i]-'0'), most)
	}
	return n
}
