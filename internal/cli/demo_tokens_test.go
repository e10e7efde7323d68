package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/weir-run/weir/tokens"
)

// TestWeighed holds counting in pieces to counting at once.
func TestWeighed(t *testing.T) {
	t.Parallel()
	encoding, err := tokens.New(tokens.O200K)
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("net/http/server.go:2345:method Server.Serve\n", 800<<10/44)
	texts := []string{long, "", "häh?", strings.Repeat("é", 256<<10)}
	wantTokens, wantBytes := 0, int64(0)
	for _, text := range texts {
		wantTokens += encoding.Count(text)
		wantBytes += int64(len(text))
	}
	n, length, err := weighed(t.Context(), encoding, texts, func(_, _ int64) {})
	if err != nil || length != wantBytes {
		t.Errorf("%d bytes, want %d: %v", length, wantBytes, err)
	}
	if n < wantTokens-10 || n > wantTokens+10 {
		t.Errorf("%d tokens, want about %d", n, wantTokens)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := weighed(ctx, encoding, texts, func(_, _ int64) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled count: %v", err)
	}
}

// FuzzScale holds the sum over the parts to the count of the whole.
func FuzzScale(f *testing.F) {
	for _, text := range []string{
		"", "a.go:3:const A\nb.go:30:func B\n", "a:b::c:\n:d\n\n\ne", "it's:we'll:\nx's:1", "x \n y:\n\tz\n0:1:2\n",
		"}\n/a:b\n/\n/c", "é:é:a\né\na", "1234:5678:a12:b\r\nc\r\n", "a :b: c\n d", "\xff:a\n\xff",
	} {
		f.Add(text)
	}
	encoding, err := tokens.New(tokens.O200K)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 500 { // beyond that Count itself may part a text
			text = text[:500]
		}
		s := &scale{encoding: encoding, known: map[string]int{}}
		want := encoding.Count(text)
		if got := s.count(text); got != want {
			t.Errorf("%q: %d tokens, want %d", text, got, want)
		}
		if got := s.count(text); got != want {
			t.Errorf("%q: %d tokens the second time, want %d", text, got, want)
		}
	})
}
