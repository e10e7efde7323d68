// Package form is what both of the provider's protocols have in common: strings that come in pieces,
// members that no build knows, tools, images, ids and errors.
package form

import (
	"strings"

	"github.com/weir-run/weir/internal/canon"
)

// Joint joins JSON strings. A character outside the basic plane may be escaped as two halves that come
// in two strings, so a first half waits for the next.
type Joint struct {
	text    strings.Builder
	waiting string
	// Any says that a string came, be it empty.
	Any bool
}

// Add takes one JSON string and gives its text; false for what is no string.
func (j *Joint) Add(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	inner := j.waiting + string(raw[1:len(raw)-1])
	j.waiting = ""
	if at := len(inner) - 6; at >= 0 && openHalf(inner[at:]) && backslashes(inner[:at])%2 == 0 {
		inner, j.waiting = inner[:at], inner[at:]
	}
	text, ok := canon.Unquote([]byte(`"` + inner + `"`))
	if !ok {
		return "", false
	}
	j.Any = true
	j.text.WriteString(text)
	return text, true
}

// String gives all of it; a half that was left alone is U+FFFD.
func (j *Joint) String() string {
	if j.waiting != "" {
		return j.text.String() + "\ufffd"
	}
	return j.text.String()
}

// openHalf reports whether s is the escape of the first half of a character.
func openHalf(s string) bool {
	return len(s) == 6 && s[0] == '\\' && s[1] == 'u' && (s[2] == 'd' || s[2] == 'D') && strings.IndexByte("89abAB", s[3]) >= 0
}

func backslashes(s string) int { return len(s) - len(strings.TrimRight(s, `\`)) }
