package tokens_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/weir-run/weir/tokens"
)

func encoding(tb testing.TB, name string) *tokens.Encoding {
	tb.Helper()
	e, err := tokens.New(name)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// TestCount has counts of the reference implementation.
func TestCount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text          string
		o200k, cl100k int
	}{
		{"", 0, 0},
		{"hello world", 2, 2},
		{"tiktoken is great!", 6, 6},
		{"2 + 2 = 4", 7, 7},
		{"antidisestablishmentarianism", 6, 6},
		{"お誕生日おめでとう", 8, 9},
		{"<|endoftext|>", 7, 7},
		{"\xff", 1, 1},
	} {
		if got := encoding(t, tokens.O200K).Count(c.text); got != c.o200k {
			t.Errorf("o200k_base: %q has %d tokens, want %d", c.text, got, c.o200k)
		}
		if got := encoding(t, tokens.CL100K).Count(c.text); got != c.cl100k {
			t.Errorf("cl100k_base: %q has %d tokens, want %d", c.text, got, c.cl100k)
		}
	}
}

// TestCountOfInvalidBytes has each of them count as the character that stands for it.
func TestCountOfInvalidBytes(t *testing.T) {
	t.Parallel()
	e := encoding(t, tokens.CL100K)
	if got, want := e.Count(strings.Repeat("a\xff\xfe", 3000)), e.Count(strings.Repeat("a\ufffd\ufffd", 3000)); got != want {
		t.Errorf("%d tokens, want %d", got, want)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if got := encoding(t, tokens.O200K).Name(); got != "o200k_base" {
		t.Errorf("name %q", got)
	}
	want := `token encoding "gpt-4" is not known: use o200k_base or cl100k_base`
	if _, err := tokens.New("gpt-4"); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// TestCountAtOnce counts in several goroutines, the first of which load the vocabulary.
func TestCountAtOnce(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			e, err := tokens.New(tokens.CL100K)
			if err != nil {
				t.Error(err)
				return
			}
			for range 50 {
				if n := e.Count("The same text, again and again."); n != 8 {
					t.Errorf("%d tokens, want 8", n)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkCount(b *testing.B) {
	for _, name := range []string{tokens.O200K, tokens.CL100K} {
		e, text := encoding(b, name), appLog()
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				e.Count(text)
			}
		})
	}
}
