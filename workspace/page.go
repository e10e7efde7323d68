package workspace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// roomOf says how many characters a page may have.
func roomOf(room int) (int, error) {
	if room == 0 {
		return MaxPage, nil
	}
	if room < MinPage {
		return 0, fmt.Errorf("there is room for %d characters only, and a page needs %d: make fewer calls at once", room, MinPage)
	}
	return min(room, MaxPage), nil
}

// arg is one argument of a call, its value as JSON.
type arg struct{ name, value string }

func numberArg(name string, n int64) arg { return arg{name, strconv.FormatInt(n, 10)} }
func flagArg(name string, b bool) arg    { return arg{name, strconv.FormatBool(b)} }

func textArg(name, s string) arg {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return arg{name, strings.TrimSuffix(b.String(), "\n")}
}

// object writes arguments as a JSON object, in order.
func object(args ...arg) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = `"` + a.name + `":` + a.value
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// call writes the call that goes on: all of its arguments, or where those would take too much of the
// page only the ones that change.
func call(room int, tool string, same, change []arg) string {
	full := tool + " " + object(append(same[:len(same):len(same)], change...)...)
	if utf8.RuneCountInString(full) > room/4 {
		return "the same call with " + object(change...)
	}
	return full
}

// title is a path at the head of a page; one that would take too much of it is left out, since the
// caller has just written it.
func title(room int, path string) string {
	if p := shown(path); utf8.RuneCountInString(p) <= room/4 {
		return p + ": "
	}
	return ""
}

// writeClean writes text for a model: what is not valid UTF-8 as U+FFFD, NUL as U+2400, both one
// character for one, so that every count stays right.
func writeClean(b *bytes.Buffer, text []byte) {
	for len(text) > 0 {
		if c := text[0]; c < utf8.RuneSelf {
			end := 1
			for c != 0 && end < len(text) && text[end] < utf8.RuneSelf && text[end] != 0 {
				end++
			}
			if c == 0 {
				b.WriteRune('␀')
			} else {
				b.Write(text[:end])
			}
			text = text[end:]
			continue
		}
		r, size := utf8.DecodeRune(text)
		b.WriteRune(r)
		text = text[size:]
	}
}
