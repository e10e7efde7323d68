package tokens

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestLaw10CountEnds counts the texts that a plain encoder takes minutes for, since its time grows with
// the square of a run without a break.
func TestLaw10CountEnds(t *testing.T) {
	t.Parallel()
	e, err := New(O200K)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range worst(1 << 16) {
		start := time.Now()
		n := e.Count(w.text)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s took %v", w.name, took)
		}
		if n < len(w.text)/200 || n > 3*len(w.text) {
			t.Errorf("%s: %d bytes have %d tokens", w.name, len(w.text), n)
		}
	}
}

// TestCountOfALongRun cuts it, within a character never.
func TestCountOfALongRun(t *testing.T) {
	t.Parallel()
	e, err := New(O200K)
	if err != nil {
		t.Fatal(err)
	}
	e.most = 1 << 10
	for _, unit := range []string{"a", "漢", " "} {
		size := e.most * 8
		text := strings.Repeat(unit, size/len(unit))
		var whole int
		for rest := text; rest != ""; {
			end := e.end(rest, 0)
			if end > e.most || !utf8.ValidString(rest[:end]) {
				t.Fatalf("%q: a piece of %d bytes", unit, end)
			}
			whole += e.Count(rest[:end])
			rest = rest[end:]
		}
		if n := e.Count(text); n != whole {
			t.Errorf("%q: %d tokens, its pieces have %d", unit, n, whole)
		}
	}
}

// worst are texts of a size that are hard to count.
func worst(size int) []sample {
	var all []sample
	add := func(name, text string) { all = append(all, sample{name, text}) }
	for _, unit := range []string{"a", "aB", " ", "\n", " \n", "\n ", "  \t\n ", "=", "é", "漢", "\xff", "'", "1"} {
		add(fmt.Sprintf("%q", unit), strings.Repeat(unit, size/len(unit)))
	}
	r := chance()
	random := func(from string) string {
		b := make([]byte, size)
		for i := range b {
			b[i] = from[r.IntN(len(from))]
		}
		return string(b)
	}
	var octets [256]byte
	for i := range octets {
		octets[i] = byte(i)
	}
	add("random letters", random("abcdefghijklmnopqrstuvwxyz"))
	add("random spaces", random(" \t\n\r"))
	add("random bytes", random(string(octets[:])))
	add("base64", base64.StdEncoding.EncodeToString([]byte(random(string(octets[:]))))[:size])
	han := make([]rune, size/3)
	for i := range han {
		han[i] = rune(0x4E00 + r.IntN(20000))
	}
	add("random Chinese", string(han))
	return all
}

// TestMemory bounds what the tables and the count of the hardest text take together: a quarter of a
// megabyte may take a quarter of 64 MB beside the tables.
func TestMemory(t *testing.T) {
	text := strings.Repeat("a", 1<<18)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	words, err := unpack(o200kFile)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	words.long(text, func(string) { n++ })
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 12<<20+64<<20/4 {
		t.Errorf("%d MB were allocated", took>>20)
	}
	if n == 0 {
		t.Error("no token")
	}
}
