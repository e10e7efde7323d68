package lines

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestCountsBinary(t *testing.T) {
	t.Parallel()
	for _, want := range []Counts{nil, {0}, {1, 2, 3}, {BlockSize, 0, 258}} {
		data, err := want.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		var got Counts
		if err := got.UnmarshalBinary(data); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after a round trip (-want +got):\n%s", diff)
		}
	}
	data, _ := Counts{1, 258}.MarshalBinary()
	if diff := cmp.Diff([]byte{1, 0, 0, 0, 2, 1, 0, 0}, data); diff != "" {
		t.Errorf("stored form (-want +got):\n%s", diff)
	}
}

func TestCountsHostileBinary(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, data, want string }{
		{"cut", "\x01\x00\x00", "read line counts: 3 bytes are no multiple of 4"},
		{"too many", "\x01\x00\x00\x00\x01\x00\x01\x00", "read line counts: block 1 has 65537 newlines, more than its 65536 bytes"},
		{"all ones", "\xff\xff\xff\xff", "read line counts: block 0 has 4294967295 newlines, more than its 65536 bytes"},
	} {
		c := Counts{7}
		err := c.UnmarshalBinary([]byte(tt.data))
		if err == nil {
			t.Fatalf("%s: no error", tt.name)
		}
		if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(Counts{7}, c); diff != "" {
			t.Errorf("%s: the counts after an error (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	for _, tt := range texts {
		want := Of([]byte(tt.text))
		got, err := Restore(want.Bytes, want.Lines, want.Chars, want.Counts)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestRestoreHostile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                string
		bytes, lines, chars int64
		counts              Counts
	}{
		{"negative bytes", -1, 0, 0, nil},
		{"negative characters", 3, 1, -1, Counts{0}},
		{"more characters than bytes", 3, 1, 4, Counts{0}},
		{"no characters", 3, 1, 0, Counts{0}},
		{"lines of nothing", 0, 1, 0, nil},
		{"no count", 3, 1, 3, nil},
		{"a count too many", 3, 1, 3, Counts{0, 0}},
		{"counts of nothing", 0, 0, 0, Counts{0}},
		{"a line too many", 3, 3, 3, Counts{1}},
		{"a line too few", 3, 0, 3, Counts{1}},
		{"more newlines than bytes", 3, 4, 3, Counts{4}},
		{"more newlines than the last block has bytes", BlockSize + 1, 3, BlockSize + 1, Counts{1, 2}},
		{"negative lines", 3, -1, 3, Counts{0}},
		{"largest", 1<<63 - 1, 1<<63 - 1, 1<<63 - 1, Counts{BlockSize}},
	} {
		if _, err := Restore(tt.bytes, tt.lines, tt.chars, tt.counts); !errors.Is(err, ErrStale) {
			t.Errorf("%s: error %v, want ErrStale", tt.name, err)
		}
	}
}

// A text that changed after its index was made is noticed where it shows, and
// never read past.
func TestStaleIndex(t *testing.T) {
	t.Parallel()
	text := bytes.Repeat([]byte("0123456789012345678901234567890\n"), 10_000)
	ix := Of(text)
	for _, tt := range []struct {
		name string
		r    io.ReaderAt
		ix   Index
	}{
		{"shorter", bytes.NewReader(text[:len(text)/4]), ix},
		{"empty", strings.NewReader(""), ix},
		{"no newlines", bytes.NewReader(bytes.Repeat([]byte("x"), len(text))), ix},
		{"counts are missing", bytes.NewReader(text), Index{Bytes: ix.Bytes, Lines: ix.Lines, Counts: ix.Counts[:1]}},
		{"counts without bytes", bytes.NewReader(text), Index{Bytes: 5, Lines: ix.Lines, Counts: ix.Counts}},
		{"no counts", bytes.NewReader(text), Index{Bytes: ix.Bytes, Lines: ix.Lines}},
	} {
		m := &meter{r: tt.r}
		if _, err := tt.ix.Seek(m, ix.Lines/2); !errors.Is(err, ErrStale) {
			t.Errorf("%s: Seek gives %v, want ErrStale", tt.name, err)
		}
		if m.bytes > BlockSize {
			t.Errorf("%s: Seek reads %d bytes, want at most %d", tt.name, m.bytes, BlockSize)
		}
		if _, _, err := tt.ix.Range(tt.r, ix.Lines/2, ix.Lines/2+9); !errors.Is(err, ErrStale) {
			t.Errorf("%s: Range gives %v, want ErrStale", tt.name, err)
		}
	}
}

// broken is a reader whose disk has gone.
type broken struct{ err error }

func (b broken) ReadAt([]byte, int64) (int, error) { return 0, b.err }

func TestReadErrorIsKept(t *testing.T) {
	t.Parallel()
	ix := Of([]byte("a\nb\nc\n"))
	_, err := ix.Seek(broken{iotest.ErrTimeout}, 2)
	if !errors.Is(err, iotest.ErrTimeout) || errors.Is(err, ErrStale) {
		t.Fatalf("error %v, want the reader's own", err)
	}
	if diff := cmp.Diff("seek line 2: read at byte 0: timeout", err.Error()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if _, _, err := ix.Range(broken{iotest.ErrTimeout}, 1, 2); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("Range: error %v, want the reader's own", err)
	}
}

// eager is a reader that reports io.EOF together with the last bytes, as
// io.ReaderAt allows.
type eager struct{ text []byte }

func (e eager) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, e.text[off:])
	if int(off)+n == len(e.text) {
		return n, io.EOF
	}
	return n, nil
}

func TestReaderThatEndsEagerly(t *testing.T) {
	t.Parallel()
	text := []byte("a\nb\nc\n")
	from, to, err := Of(text).Range(eager{text}, 2, 3)
	if err != nil || from != 2 || to != 6 {
		t.Errorf("Range = %d, %d, %v, want 2, 6", from, to, err)
	}
}
