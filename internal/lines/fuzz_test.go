package lines

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzIndex holds an index that was built in random pieces to the naive rule.
// pad sets how many bytes stand before the text, so that it meets the edges of
// blocks.
func FuzzIndex(f *testing.F) {
	for _, tt := range texts {
		f.Add([]byte(tt.text), uint32(0), uint64(1))
		f.Add([]byte(tt.text), uint32(BlockSize-2), uint64(2))
	}
	f.Fuzz(func(t *testing.T, text []byte, pad uint32, seed uint64) {
		if len(text) > 4<<10 {
			return
		}
		text = append(bytes.Repeat([]byte{'.'}, int(pad%(2*BlockSize+8))), text...)
		rnd := rand.New(rand.NewPCG(seed, 0))
		var x Indexer
		for rest := text; len(rest) > 0; {
			n := 1 + rnd.IntN(len(rest))
			if rnd.IntN(2) == 0 {
				n = min(1+rnd.IntN(5), len(rest))
			}
			if len(rest) > 3*len(text)/4 && len(text) > BlockSize {
				n = min(len(rest), BlockSize-4+rnd.IntN(8))
			}
			_, _ = x.Write(rest[:n])
			rest = rest[n:]
		}
		ix := x.Index()
		if diff := cmp.Diff(Of(text), ix); diff != "" {
			t.Fatalf("in pieces (-whole +pieces):\n%s", diff)
		}
		checkIndex(t, text, ix, func(n int64) []int64 {
			if n <= 20 {
				return all(n)
			}
			out := []int64{1, 2, n - 1, n}
			for range 16 {
				out = append(out, 1+rnd.Int64N(n))
			}
			return out
		})
		data, _ := ix.Counts.MarshalBinary()
		var counts Counts
		if err := counts.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		back, err := Restore(ix.Bytes, ix.Lines, ix.Chars, counts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ix, back); diff != "" {
			t.Errorf("restored (-want +got):\n%s", diff)
		}
	})
}

// FuzzHostileIndex hands Seek and Range an index that was never checked.
func FuzzHostileIndex(f *testing.F) {
	f.Add([]byte("a\nb\n"), int64(4), int64(9), []byte{2, 0, 0, 0}, int64(3))
	f.Fuzz(func(t *testing.T, text []byte, size, n int64, data []byte, line int64) {
		var counts Counts
		if err := counts.UnmarshalBinary(data); err != nil {
			return
		}
		ix := Index{Bytes: size, Lines: n, Counts: counts}
		if off, err := ix.Seek(bytes.NewReader(text), line); err == nil && (off < 0 || off > int64(len(text))) {
			t.Errorf("Seek = %d beyond a text of %d bytes", off, len(text))
		}
		_, _, _ = ix.Range(bytes.NewReader(text), line, line+1)
		if ix, err := Restore(size, n, size, counts); err == nil {
			_, _ = ix.Seek(bytes.NewReader(text), line)
		}
	})
}
