package tokens

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCut(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("word ", 20) + "\n" // 101 bytes
	for _, c := range []struct {
		name, text string
		want       int
	}{
		{"short", "a b\nc", 5},
		{"at the end of a line", strings.Repeat(line, 100), 81 * 101},
		{"lines that are empty stay together", strings.Repeat("w ", 4000) + strings.Repeat("\n", 500) + "x", 7999},
		{"at white space", strings.Repeat("word ", 2000), 8189},
		{"no break", strings.Repeat("a", 600), 512},
		{"white space", strings.Repeat(" ", 600), 512},
		{"no break after a line", "a line\n" + strings.Repeat("a", 600), 7 + 512},
		{"within a character", strings.Repeat("漢", 300), 510},
		{"no character", strings.Repeat("\x80", 600), 512},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, cut(c.text)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestCutCosts compares the sum over pieces with the count of the whole: each cut may add one token.
func TestCutCosts(t *testing.T) {
	t.Parallel()
	e, err := New(O200K)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"lines":    strings.Repeat("func (e *Encoding) Count(text string) int {\n\n\treturn 0\n}\n", 1000),
		"words":    strings.Repeat("the quick brown fox, it jumps. ", 2000),
		"no break": strings.Repeat("abcXYZ123+/", 400),
		"indented": strings.Repeat("\n\n        x", 3000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pieces, rest := 0, text
			for len(rest) > 0 {
				rest = rest[cut(rest):]
				pieces++
			}
			got, want := e.Count(text), len(e.bpe.EncodeOrdinary(text))
			if got < want || got > want+pieces {
				t.Errorf("%d tokens in %d pieces, %d in one", got, pieces, want)
			}
		})
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a b\n", 3000)
	f.Add("漢", 300)
	f.Add("\x80", 9000)
	f.Fuzz(func(t *testing.T, unit string, n int) {
		if unit == "" || n < 0 || n*len(unit) > 1<<16 {
			return
		}
		text := strings.Repeat(unit, n)
		valid := utf8.ValidString(text)
		for len(text) > 0 {
			end := cut(text)
			if end <= 0 || end > maxPiece {
				t.Fatalf("a piece of %d bytes", end)
			}
			if valid && !utf8.ValidString(text[:end]) {
				t.Fatal("a character was cut in two")
			}
			text = text[end:]
		}
	})
}
