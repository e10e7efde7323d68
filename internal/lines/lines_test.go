package lines

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// split is the rule of a line said naively: pieces that end at \n, the empty
// piece after a final \n left out.
func split(text []byte) [][]byte {
	parts := bytes.SplitAfter(text, []byte{'\n'})
	if len(parts[len(parts)-1]) == 0 {
		parts = parts[:len(parts)-1]
	}
	return parts
}

var texts = []struct {
	name, text string
	lines      int64
}{
	{"empty", "", 0},
	{"one newline", "\n", 1},
	{"two newlines", "\n\n", 2},
	{"no final newline", "a", 1},
	{"final newline", "a\n", 1},
	{"two lines, last open", "a\nb", 2},
	{"CRLF", "a\r\nb\r\n", 2},
	{"lone CR ends nothing", "a\rb\rc", 1},
	{"CR at the end", "a\r", 1},
	{"LF CR", "a\n\r", 2},
	{"U+2028, U+2029, NEL, VT, FF end nothing", "a\u2028b\u2029c\u0085d\ve\ff\n", 1},
	{"NUL", "\x00\n\x00", 2},
	{"invalid UTF-8", "\xff\n\xed\xa0\x80\nz", 3},
}

func TestCount(t *testing.T) {
	t.Parallel()
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Count([]byte(tt.text)); got != tt.lines {
				t.Errorf("Count(%q) = %d, want %d", tt.text, got, tt.lines)
			}
			if got := int64(len(split([]byte(tt.text)))); got != tt.lines {
				t.Errorf("the naive rule says %d of %q, want %d", got, tt.text, tt.lines)
			}
			if got := Of([]byte(tt.text)).Lines; got != tt.lines {
				t.Errorf("Of(%q).Lines = %d, want %d", tt.text, got, tt.lines)
			}
		})
	}
}

func TestSlice(t *testing.T) {
	t.Parallel()
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text := []byte(tt.text)
			parts := split(text)
			for a := int64(-1); a <= tt.lines+2; a++ {
				for b := int64(-1); b <= tt.lines+2; b++ {
					lo, hi := max(a, 1)-1, min(b, tt.lines)
					var want []byte
					if lo < hi {
						want = bytes.Join(parts[lo:hi], nil)
					}
					got := Slice(text, a, b)
					if diff := cmp.Diff(string(want), string(got)); diff != "" {
						t.Errorf("Slice(%q, %d, %d) (-want +got):\n%s", tt.text, a, b, diff)
					}
				}
			}
		})
	}
}

func TestSliceDoesNotShareRoom(t *testing.T) {
	t.Parallel()
	text := []byte("a\nb\nc\n")
	_ = append(Slice(text, 1, 1), "XX"...)
	if diff := cmp.Diff("a\nb\nc\n", string(text)); diff != "" {
		t.Errorf("append to a slice reached the text (-want +got):\n%s", diff)
	}
}

func TestTrimEnding(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line, body string
		crlf       bool
	}{
		{"", "", false},
		{"\n", "", false},
		{"\r\n", "", true},
		{"a\n", "a", false},
		{"a\r\n", "a", true},
		{"a\r\r\n", "a\r", true},
		{"a\r", "a\r", false},
		{"a", "a", false},
		{"a\r\nb\n", "a\r\nb", false},
	} {
		body, crlf := TrimEnding([]byte(tt.line))
		if string(body) != tt.body || crlf != tt.crlf {
			t.Errorf("TrimEnding(%q) = %q, %t, want %q, %t", tt.line, body, crlf, tt.body, tt.crlf)
		}
	}
}
