package client

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// cap cuts a text to the view's cap. What is shown says how much is missing, beside the cap: it is how a
// host words it that the cap does not count.
func (v View) cap(text string, count func(string) int) (string, bool) {
	if count == nil {
		count = func(s string) int { return (utf8.RuneCountInString(s) + 3) / 4 }
	}
	chars := utf8.RuneCountInString(text)
	room := chars
	if v.MaxChars > 0 {
		room = min(room, v.MaxChars)
	}
	if v.MaxTokens > 0 {
		if n := count(text); n > v.MaxTokens {
			room = min(room, fitting(text, v.MaxTokens, count))
		}
	}
	lines := strings.Count(text, "\n") + 1
	if v.MaxLines > 0 && lines > v.MaxLines {
		room = min(room, lineRoom(text, v.MaxLines))
	}
	if room >= chars {
		return text, false
	}
	left := chars - room
	switch v.Overflow {
	case File:
		return fmt.Sprintf("[the result is %d characters long: it was saved to a file, whose path is shown]", chars), true
	case Refuse:
		return fmt.Sprintf("[error: the result is %d characters long, which is over the limit]", chars), true
	case Tail:
		return fmt.Sprintf("[… %d of %d characters left out]\n", left, chars) + last(text, room), true
	case Middle:
		return first(text, (room+1)/2) + fmt.Sprintf("\n[… %d of %d characters left out …]\n", left, chars) + last(text, room/2), true
	}
	return first(text, room) + fmt.Sprintf("\n[… %d of %d characters left out]", left, chars), true
}

// fitting is the most characters from the start of a text that have at most limit tokens.
func fitting(text string, limit int, count func(string) int) int {
	low, high := 0, utf8.RuneCountInString(text)
	for low < high {
		mid := (low + high + 1) / 2
		if count(first(text, mid)) <= limit {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}

// lineRoom is how many characters the first lines have.
func lineRoom(text string, lines int) int {
	at := 0
	for range lines {
		at += strings.IndexByte(text[at:], '\n') + 1
	}
	return utf8.RuneCountInString(text[:at-1])
}

// first and last are the n first and last characters of a text.
func first(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

func last(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return text[at:]
}
