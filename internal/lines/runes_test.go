package lines

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestHeadTail(t *testing.T) {
	t.Parallel()
	for _, tt := range texts {
		checkHeadTail(t, tt.text)
	}
	checkHeadTail(t, "h\u00e9llo \u65e5\u672c \U0001f600\U0001f468\u200d\U0001f469 z")
	checkHeadTail(t, "\xf0\x9f\x98\xf0\x9f\x98\x80\xed\xa0\xbd\xed\xb8\x80\x80\x80")
}

// checkHeadTail compares every cut of s with that of its runes.
func checkHeadTail(t *testing.T, s string) {
	t.Helper()
	var starts []int
	for i := range s {
		starts = append(starts, i)
	}
	starts = append(starts, len(s))
	n := len(starts) - 1
	for k := -1; k <= n+1; k++ {
		at := min(max(k, 0), n)
		if got := Head(s, k); got != starts[at] {
			t.Errorf("Head(%q, %d) = %d, want %d", s, k, got, starts[at])
		}
		if got := Tail(s, k); got != starts[n-at] {
			t.Errorf("Tail(%q, %d) = %d, want %d", s, k, got, starts[n-at])
		}
	}
}

// Every pair of bytes, followed by bytes of each sort, is counted as the
// standard library counts it.
func TestCountRunesOfEveryStart(t *testing.T) {
	t.Parallel()
	after := []byte{'a', 0x80, 0x9f, 0xbf, 0xc3, 0xed, 0xf0}
	text := make([]byte, 12)
	for pair := range 1 << 16 {
		for _, c := range after {
			for _, d := range after {
				copy(text, []byte{byte(pair >> 8), byte(pair), c, d, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'})
				if got, want := countRunes(text), utf8.RuneCount(text); got != want {
					t.Fatalf("countRunes(%q) = %d, want %d", text, got, want)
				}
			}
		}
	}
}

func TestHeadTailDoNotAllocate(t *testing.T) {
	s := strings.Repeat("a\u65e5\U0001f600", 1000)
	if n := testing.AllocsPerRun(20, func() { _ = Head(s, 1500) + Tail(s, 1500) }); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func FuzzHeadTail(f *testing.F) {
	f.Add("a\xed\xa0\x80\U0001f600")
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 2000 {
			return
		}
		checkHeadTail(t, s)
		if got, want := countRunes([]byte(s)), utf8.RuneCountInString(s); got != want {
			t.Errorf("countRunes(%q) = %d, want %d", s, got, want)
		}
	})
}
