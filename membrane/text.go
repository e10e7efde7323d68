package membrane

import (
	"strings"
	"unicode"
)

// MaxLine is the most characters (Unicode code points) that [Line] gives.
const MaxLine = 500

// Line makes one line of at most [MaxLine] characters of what a provider sent, for an error's text:
// runs of white space and control characters become one space, bytes that are no UTF-8 become U+FFFD,
// and what was cut ends in "…".
func Line(text string) string {
	var line []rune
	space := false
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			space = len(line) > 0
			continue
		}
		if space {
			line = append(line, ' ')
			space = false
		}
		if line = append(line, r); len(line) > MaxLine {
			return strings.TrimRight(string(line[:MaxLine-1]), " ") + "…"
		}
	}
	return string(line)
}
