package lines

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// meter counts what is read through it.
type meter struct {
	r     io.ReaderAt
	bytes int64
}

func (m *meter) ReadAt(p []byte, off int64) (int, error) {
	m.bytes += int64(len(p))
	return m.r.ReadAt(p, off)
}

// big returns about n bytes of lines of uneven length, with CRLF, empty lines,
// long lines and characters of every width.
func big(n int, seed uint64) []byte {
	rnd := rand.New(rand.NewPCG(seed, 1))
	pieces := []string{"x", "ab", "\u00e9", "\u65e5\u672c", "\U0001f600", "\xff", "\xed\xa0\x80", "\r", " "}
	var b bytes.Buffer
	for b.Len() < n {
		length := rnd.IntN(60)
		if rnd.IntN(200) == 0 {
			length = rnd.IntN(40_000)
		}
		for range length {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		if rnd.IntN(4) == 0 {
			b.WriteByte('\r')
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// checkIndex compares an index of text, and every line asked of it, with the
// naive rule.
func checkIndex(t *testing.T, text []byte, ix Index, pick func(n int64) []int64) {
	t.Helper()
	parts := split(text)
	want := Index{
		Bytes: int64(len(text)), Lines: int64(len(parts)),
		Chars:  int64(utf8.RuneCount(text)),
		EndsNL: bytes.HasSuffix(text, []byte("\n")),
	}
	got := ix
	got.Counts = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("totals (-want +got):\n%s", diff)
	}
	for i, c := range ix.Counts {
		block := text[i*BlockSize : min((i+1)*BlockSize, len(text))]
		if n := bytes.Count(block, []byte("\n")); n != int(c) {
			t.Fatalf("block %d counts %d, want %d", i, c, n)
		}
	}
	starts := []int64{0}
	for _, p := range parts {
		starts = append(starts, starts[len(starts)-1]+int64(len(p)))
	}
	r := bytes.NewReader(text)
	for _, a := range pick(ix.Lines) {
		off, err := ix.Seek(r, a)
		if err != nil || off != starts[a-1] {
			t.Fatalf("Seek(%d) = %d, %v, want %d", a, off, err, starts[a-1])
		}
		for _, b := range []int64{a, min(a+1, ix.Lines), min(a+500, ix.Lines), ix.Lines} {
			from, to, err := ix.Range(r, a, b)
			if err != nil || from != starts[a-1] || to != starts[b] {
				t.Fatalf("Range(%d, %d) = %d, %d, %v, want %d, %d", a, b, from, to, err, starts[a-1], starts[b])
			}
			if !bytes.Equal(Slice(text, a, b), text[from:to]) {
				t.Fatalf("Slice(%d, %d) is not what Range names", a, b)
			}
		}
	}
}

// all asks for every line.
func all(n int64) []int64 {
	out := make([]int64, 0, n)
	for i := int64(1); i <= n; i++ {
		out = append(out, i)
	}
	return out
}

func TestIndexOfTexts(t *testing.T) {
	t.Parallel()
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			checkIndex(t, []byte(tt.text), Of([]byte(tt.text)), all)
		})
	}
}

func TestIndexAtBlockEdges(t *testing.T) {
	t.Parallel()
	for _, size := range []int{BlockSize - 1, BlockSize, BlockSize + 1, 2 * BlockSize, 2*BlockSize + 1} {
		for _, at := range []int{BlockSize - 2, BlockSize - 1, BlockSize, BlockSize + 1} {
			text := bytes.Repeat([]byte("x"), size)
			if at < len(text) {
				text[at] = '\n'
			}
			checkIndex(t, text, Of(text), all)
		}
		checkIndex(t, bytes.Repeat([]byte("\n"), size), Of(bytes.Repeat([]byte("\n"), size)),
			func(n int64) []int64 { return []int64{1, 2, BlockSize - 1, n - 1, n} })
	}
}

func TestIndexInPiecesEqualsWhole(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(7, 7))
	text := big(300_000, 3)
	want := Of(text)
	for _, most := range []int{1, 2, 3, 5, 100, 5000, BlockSize, 200_000} {
		var x Indexer
		for rest := text; len(rest) > 0; {
			n := min(1+rnd.IntN(most), len(rest))
			if m, err := x.Write(rest[:n]); m != n || err != nil {
				t.Fatalf("Write = %d, %v, want %d", m, err, n)
			}
			rest = rest[n:]
		}
		if diff := cmp.Diff(want, x.Index()); diff != "" {
			t.Errorf("pieces of up to %d bytes (-want +got):\n%s", most, diff)
		}
	}
	checkIndex(t, text, want, func(n int64) []int64 {
		out := []int64{1, 2, n - 1, n}
		for range 400 {
			out = append(out, 1+rnd.Int64N(n))
		}
		return out
	})
}

// Every way to cut a run of broken and whole characters in three pieces counts
// the same, at every point of the stream.
func TestCharsAcrossCuts(t *testing.T) {
	t.Parallel()
	text := []byte("a\xf0\x9f\x98\x80\xe6\x97\xa5\xe6\x97\xe6\xf0\x9f\xff\xed\xa0\x80\xc3\xa9\xc0\x80\xf4\x90\x80\x80\xe2\x82")
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j++ {
			var x Indexer
			for _, end := range []int{i, j, len(text)} {
				_, _ = x.Write(text[x.bytes:end])
				if got, want := x.Index().Chars, int64(utf8.RuneCount(text[:end])); got != want {
					t.Fatalf("cut at %d and %d: %d characters in the first %d bytes, want %d", i, j, got, end, want)
				}
			}
		}
	}
}

func TestIndexIsASnapshot(t *testing.T) {
	t.Parallel()
	var x Indexer
	_, _ = x.Write([]byte("a\nb"))
	before := x.Index()
	_, _ = x.Write([]byte("\n\n"))
	if diff := cmp.Diff(Index{Bytes: 3, Lines: 2, Chars: 3, Counts: Counts{1}}, before); diff != "" {
		t.Errorf("the first index after a later write (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Index{Bytes: 5, Lines: 3, Chars: 5, Counts: Counts{3}, EndsNL: true}, x.Index()); diff != "" {
		t.Errorf("the second index (-want +got):\n%s", diff)
	}
}

func TestSeekReadsOneBlock(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100_000, 1_000_000, 10_000_000} {
		text := bytes.Repeat([]byte("0123456789012345678901234567890\n"), size/32)
		ix := Of(text)
		for _, line := range []int64{1, 2, ix.Lines / 2, ix.Lines} {
			m := &meter{r: bytes.NewReader(text)}
			if _, err := ix.Seek(m, line); err != nil {
				t.Fatal(err)
			}
			if m.bytes > BlockSize {
				t.Errorf("Seek(%d) of %d bytes read %d, want at most %d", line, size, m.bytes, BlockSize)
			}
		}
	}
}

func TestRangeDoesNotReadWhatLiesBetween(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("0123456789012345678901234567890\n"), 300_000)
	ix := Of(text)
	m := &meter{r: bytes.NewReader(text)}
	from, to, err := ix.Range(m, 100, ix.Lines-100)
	if err != nil {
		t.Fatal(err)
	}
	if m.bytes > 2*BlockSize {
		t.Errorf("a range of %d bytes read %d, want at most %d", to-from, m.bytes, 2*BlockSize)
	}
	m = &meter{r: bytes.NewReader(text)}
	if _, _, err := ix.Range(m, 1, ix.Lines); err != nil || m.bytes != 0 {
		t.Errorf("the whole text read %d bytes (%v), want none", m.bytes, err)
	}
}

func TestOutOfRange(t *testing.T) {
	t.Parallel()
	three, none := Of([]byte("a\nb\nc")), Of(nil)
	for _, tt := range []struct {
		ix          Index
		first, last int64
		want        string
	}{
		{three, 0, 0, "line 0 out of range: valid lines are 1 to 3"},
		{three, -1, -1, "line -1 out of range: valid lines are 1 to 3"},
		{three, 4, 4, "line 4 out of range: valid lines are 1 to 3"},
		{three, 2, 4, "lines 2 to 4 out of range: valid lines are 1 to 3"},
		{three, 3, 2, "lines 3 to 2 out of range: the last is before the first"},
		{none, 1, 1, "line 1 out of range: the text has no lines"},
	} {
		r := strings.NewReader("a\nb\nc")
		_, _, err := tt.ix.Range(r, tt.first, tt.last)
		checkRangeError(t, err, tt.first, tt.last, tt.ix.Lines, tt.want)
		if tt.first == tt.last {
			_, err := tt.ix.Seek(r, tt.first)
			checkRangeError(t, err, tt.first, tt.last, tt.ix.Lines, tt.want)
		}
	}
}

func checkRangeError(t *testing.T, err error, first, last, lines int64, text string) {
	t.Helper()
	var re *RangeError
	if !errors.As(err, &re) || !errors.Is(err, ErrRange) {
		t.Fatalf("error %v, want a *RangeError that is ErrRange", err)
	}
	if diff := cmp.Diff(RangeError{first, last, lines}, *re); diff != "" {
		t.Errorf("range error (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(text, err.Error()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}
