package spill

import (
	"bytes"
	"encoding/binary"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/internal/canon"
)

// decode decodes a stream that comes in pieces of the given sizes, the last of which repeats.
func decode(t testing.TB, raw []byte, sizes ...int) (text string, replaced int64, same bool) {
	t.Helper()
	var d decoder
	var came, out []byte
	same = true
	step := func(p []byte, end bool) {
		// The piece is overwritten afterwards, as a tool's buffer is.
		own := bytes.Clone(p)
		c, o, s := d.next(own, end)
		came, out = append(came, c...), append(out, o...)
		same = same && s
		if s && !bytes.Equal(c, o) {
			t.Fatalf("%q is said to be the same as %q", c, o)
		}
		for i := range own {
			own[i] = '?'
		}
	}
	rest := raw
	for i := 0; len(rest) > 0; i++ {
		n := min(max(sizes[min(i, len(sizes)-1)], 1), len(rest))
		step(rest[:n], false)
		rest = rest[n:]
	}
	step(nil, true)
	if !bytes.Equal(came, raw) {
		t.Fatalf("%q went in, %q is said to have come", raw, came)
	}
	if !utf8.Valid(out) {
		t.Fatalf("%q is not valid UTF-8", out)
	}
	return string(out), d.replaced, same
}

func units(order binary.ByteOrder, mark bool, s string) []byte {
	var b []byte
	if mark {
		b, _ = binary.Append(b, order, uint16(0xFEFF))
	}
	b, _ = binary.Append(b, order, utf16.Encode([]rune(s)))
	return b
}

func TestDecode(t *testing.T) {
	t.Parallel()
	le, be := binary.LittleEndian, binary.BigEndian
	for _, tt := range []struct {
		name     string
		raw      []byte
		want     string
		replaced int64
		same     bool
	}{
		{"empty", nil, "", 0, true},
		{"plain", []byte("plain"), "plain", 0, true},
		{"wide", []byte("aé日😀"), "aé日😀", 0, true},
		{"genuine U+FFFD", []byte("a\ufffdb"), "a\ufffdb", 0, true},
		{"NUL and controls", []byte("a\x00\x1b[1m\r\nb"), "a\x00\x1b[1m\r\nb", 0, true},
		{"mark", []byte("\xef\xbb\xbfa"), "a", 0, false},
		{"mark alone", []byte("\xef\xbb\xbf"), "", 0, false},
		{"mark inside", []byte("a\xef\xbb\xbfb"), "a\ufeffb", 0, true},
		{"half a mark", []byte("\xef\xbb"), "\ufffd", 1, false},
		{"a byte like a mark's", []byte("\xff"), "\ufffd", 1, false},
		{"invalid bytes", []byte("a\xff\xfeb"), "a\ufffd\ufffdb", 2, false},
		{"cut at the end", []byte("a\xe6\x97"), "a\ufffd", 1, false},
		{"overlong", []byte("a\xc0\x80b"), "a\ufffd\ufffdb", 2, false},
		{"lone surrogate", []byte("a\xed\xa0\xbdb"), "a\ufffdb", 1, false},
		{"lone surrogate at the end", []byte("a\xed\xa0\xbd"), "a\ufffd", 1, false},
		{"pair of surrogates", []byte("a\xed\xa0\xbd\xed\xb8\x80b"), "a😀b", 0, false},
		{"half pair", []byte("a\xed\xa0\xbd\xed\xb8"), "a\ufffd\ufffd\ufffd", 3, false},
		{"UTF-16 LE", units(le, true, "aé日😀\r\n"), "aé日😀\r\n", 0, false},
		{"UTF-16 BE", units(be, true, "aé日😀\r\n"), "aé日😀\r\n", 0, false},
		{"UTF-16 mark alone", units(le, true, ""), "", 0, false},
		{"UTF-16 odd", append(units(le, true, "a"), 'b'), "a\ufffd", 1, false},
		{"UTF-16 lone high", append(units(le, true, "a"), 0x3D, 0xD8, 'b', 0), "a\ufffdb", 1, false},
		{"UTF-16 lone low", append(units(le, true, "a"), 0x00, 0xDE, 'b', 0), "a\ufffdb", 1, false},
		{"UTF-16 high at the end", append(units(le, true, "a"), 0x3D, 0xD8), "a\ufffd", 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, sizes := range [][]int{{1}, {2}, {3}, {1, 5}, {4}, {5}, {2, 1}, {3, 1}, {1000}} {
				got, replaced, same := decode(t, tt.raw, sizes...)
				if diff := cmp.Diff([]any{tt.want, tt.replaced, tt.same}, []any{got, replaced, same}); diff != "" {
					t.Errorf("pieces of %v (-want +got):\n%s", sizes, diff)
				}
			}
		})
	}
}

// A stream in pieces of any size is the text that the whole would be.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\xed\xa0\xbd\xed\xb8\x80b"), 1, 4)
	f.Add([]byte("\xff\xfe\x3d\xd8\x00\xde"), 3, 1)
	f.Add([]byte("日\xe6\x97\xf0\x9f\x98"), 2, 2)
	f.Fuzz(func(t *testing.T, raw []byte, a, b int) {
		got, replaced, same := decode(t, raw, a%8, b%8)
		want, n, whole := decode(t, raw, 1<<20)
		if got != want || replaced != n || same != whole {
			t.Fatalf("%q in pieces is %q (%d), at once %q (%d)", raw, got, replaced, want, n)
		}
		if bytes.HasPrefix(raw, []byte("\xff\xfe")) || bytes.HasPrefix(raw, []byte("\xfe\xff")) {
			return
		}
		body, _ := bytes.CutPrefix(raw, []byte("\xef\xbb\xbf"))
		clean, bad := canon.CleanUTF8(string(body))
		if got != clean || replaced != int64(bad) || same != (clean == string(raw)) {
			t.Fatalf("%q is %q (%d), want %q (%d)", raw, got, replaced, clean, bad)
		}
	})
}
