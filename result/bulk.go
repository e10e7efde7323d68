package result

import "encoding/base64"

// Limits of base64 runs, in characters of base64.
const (
	// minBulk is the shortest run that is taken out of JSON.
	minBulk = 1024
	// minWrap and maxWrap are the lengths of line at which base64 is wrapped (64 and 76 are common).
	minWrap, maxWrap = 60, 256
)

// bulk finds the base64 runs in JSON text, keeps what they hold and adds a mark for each; offset is
// where the text will stand in the whole.
//
// A run is at least minBulk characters of one base64 alphabet (RFC 4648 section 4 or 5) with upper case,
// lower case and digits among them: so a long word, a hexadecimal dump and a row of one letter are none.
// It is read as JSON writes it: \/ and \u002b are one character, and escaped line breaks belong to it
// when its lines are of one length.
func (c *collector) bulk(text string, offset int, marks []Mark) []Mark {
	for from := 0; ; {
		start, end := stretch(text, from)
		if start < 0 {
			return marks
		}
		for at := start; at < end; {
			r := readRun(text[at:end])
			if r.isBulk() {
				m := c.keep("base64", "", r.decode())
				m.At, m.Len = offset+at+r.start, r.end-r.start
				marks = append(marks, m)
			}
			at += r.next
		}
		from = end
	}
}

// stretch returns the next at least minBulk bytes that hold nothing but base64 and escapes, or -1. Of
// text without one it looks at every minBulk-th byte and a few before it.
func stretch(text string, from int) (start, end int) {
	for start = from; start+minBulk <= len(text); {
		end = start + minBulk
		at := end - 1
		for at >= start && mayBeBulk(text[at]) {
			at--
		}
		if at >= start {
			start = at + 1
			continue
		}
		for end < len(text) && mayBeBulk(text[end]) {
			end++
		}
		return start, end
	}
	return -1, -1
}

// mayBeBulk tells which bytes a base64 run inside a JSON string is written with. Of what may follow a
// backslash only the quotation mark is none of them, so a stretch never begins inside an escape.
func mayBeBulk(c byte) bool { return inAlphabet(c) || c == '=' || c == '\\' }

// inAlphabet reports whether c is a character of a base64 alphabet.
func inAlphabet(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '+' || c == '/' || c == '-' || c == '_'
}

// run is what may be a base64 run.
type run struct {
	start, end int    // the bytes that it covers
	next       int    // where to read on
	chars      []byte // its characters without escapes, line breaks and padding
	padding    int

	upper, lower, digit, std, url bool // what is among them
}

// readRun reads one run from the start of s.
func readRun(s string) run {
	var r run
	line, width := 0, 0 // characters of this line, and of those before it
	for i := 0; i < len(s); {
		c, n := unit(s[i:])
		switch {
		case c == '\n' && r.padding == 0 && line >= minWrap && line <= maxWrap && (width == 0 || line == width):
			width, line = line, 0
		case c == '=' && len(r.chars) > 0 && r.padding < 2:
			r.padding++
			r.end = i + n
		case inAlphabet(c) && r.padding == 0 && (width == 0 || line < width):
			if len(r.chars) == 0 {
				r.start = i
			}
			r.add(c)
			line++
			r.end = i + n
		case inAlphabet(c):
			r.next = i // never 0: something came before
			return r
		default:
			r.next = i + n
			return r
		}
		i += n
	}
	r.next = len(s)
	return r
}

// unit decodes the character at the start of s, which holds base64 and escapes only: a line break is
// '\n', and 0 is what no run holds.
func unit(s string) (c byte, size int) {
	switch {
	case s[0] != '\\':
		return s[0], 1
	case len(s) == 1:
		return 0, 1
	case s[1] == '/':
		return '/', 2
	case s[1] == 'n':
		return '\n', 2
	case s[1] == 'r' && len(s) >= 4 && s[2:4] == `\n`:
		return '\n', 4
	case s[1] != 'u' || len(s) < 6:
		return 0, 2
	}
	switch s[2:6] {
	case "002b", "002B":
		return '+', 6
	case "002f", "002F":
		return '/', 6
	case "003d", "003D":
		return '=', 6
	default:
		return 0, 6
	}
}

// add takes one character.
func (r *run) add(c byte) {
	r.chars = append(r.chars, c)
	switch {
	case c >= 'a' && c <= 'z':
		r.lower = true
	case c >= 'A' && c <= 'Z':
		r.upper = true
	case c >= '0' && c <= '9':
		r.digit = true
	case c == '+' || c == '/':
		r.std = true
	default:
		r.url = true
	}
}

// isBulk reports whether the run is taken out.
func (r *run) isBulk() bool {
	return len(r.chars)+r.padding >= minBulk && r.upper && r.lower && r.digit && !(r.std && r.url)
}

// decode returns what the run holds.
func (r *run) decode() []byte {
	encoding := base64.RawStdEncoding
	if r.url {
		encoding = base64.RawURLEncoding
	}
	data := make([]byte, encoding.DecodedLen(len(r.chars)))
	n, _ := encoding.Decode(data, r.chars) // it fails only for a single character at the end, which is no byte
	return data[:n]
}
