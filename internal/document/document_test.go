package document_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/document"
	"github.com/weir-run/weir/internal/lines"
)

func TestNew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, raw, text string
		form            document.Form
		mark            int64
		binary          bool
	}{
		{"plain", "héllo\n", "héllo\n", document.Plain, 0, false},
		{"empty", "", "", document.Plain, 0, false},
		{"mark", "\xef\xbb\xbfa\n", "a\n", document.Marked, 3, false},
		{"second mark is text", "\xef\xbb\xbf\xef\xbb\xbfa", "\ufeffa", document.Marked, 3, false},
		{"half a mark", "\xef\xbb", "\xef\xbb", document.Plain, 0, false},
		{"UTF-16LE", "\xff\xfea\x00\xac\x20", "a€", document.UTF16LE, 2, false},
		{"UTF-16BE", "\xfe\xff\x00a\xd8\x3d\xde\x00", "a😀", document.UTF16BE, 2, false},
		{"lone high surrogate", "\xfe\xff\xd8\x3d\x00a", "\ufffda", document.UTF16BE, 2, false},
		{"lone low surrogate", "\xff\xfe\x00\xdea\x00", "\ufffda", document.UTF16LE, 2, false},
		{"half a unit", "\xff\xfea\x00b", "a\ufffd", document.UTF16LE, 2, false},
		{"only a UTF-16 mark", "\xff\xfe", "", document.UTF16LE, 2, false},
		{"NUL", "a\x00b", "a\x00b", document.Plain, 0, true},
		{"UTF-32 is binary", "\xff\xfe\x00\x00a\x00\x00\x00", "\xff\xfe\x00\x00a\x00\x00\x00", document.Plain, 0, true},
		{"NUL at the end of what is looked at", strings.Repeat("x", document.Sniffed-1) + "\x00", "", document.Plain, 0, true},
		{"NUL behind it", strings.Repeat("x", document.Sniffed) + "\x00", strings.Repeat("x", document.Sniffed) + "\x00", document.Plain, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			size := int64(len(tt.raw))
			d, err := document.New(strings.NewReader(tt.raw), size, false)
			if tt.binary {
				var be *document.BinaryError
				if !errors.Is(err, document.ErrBinary) || !errors.As(err, &be) || be.Bytes != size {
					t.Fatalf("error %v", err)
				}
				if tt.text == "" {
					return
				}
				d, err = document.New(strings.NewReader(tt.raw), size, true)
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(io.NewSectionReader(d.Text, 0, d.Size))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%q %v %d %d", text, d.Form, d.Mark, d.Disk)
			if want := fmt.Sprintf("%q %v %d %d", tt.text, tt.form, tt.mark, size); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestTooLargeToDecode(t *testing.T) {
	t.Parallel()
	_, err := document.New(strings.NewReader("\xff\xfea\x00"), document.MaxDecoded+1, true)
	if err == nil || !strings.Contains(err.Error(), "at most 67108864 are decoded") {
		t.Errorf("error %v", err)
	}
}

// TestChanged: a text that has become shorter is told, not read as if nothing were.
func TestChanged(t *testing.T) {
	t.Parallel()
	if _, err := document.Build(t.Context(), strings.NewReader("abc"), 4); !errors.Is(err, document.ErrChanged) {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := document.Build(ctx, strings.NewReader("abc"), 3); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// FuzzChars holds the places of characters to those of the runes of the whole text.
func FuzzChars(f *testing.F) {
	f.Add([]byte("aé日😀\xff\xe6\x97b"), uint16(3), uint32(5))
	f.Add([]byte("\xe6\x97\xe6\x97\xa5\xf0\x9f\x98\x80\xf0\x9f"), uint16(7), uint32(70000))
	f.Add([]byte("日"), uint16(0), uint32(65536/3))
	f.Fuzz(func(t *testing.T, piece []byte, lead uint16, at uint32) {
		if len(piece) == 0 || len(piece) > 200 {
			return
		}
		text := append([]byte(strings.Repeat("x", int(lead%9))), []byte(strings.Repeat(string(piece), 150_000/len(piece)))...)
		ix, err := document.Build(t.Context(), strings.NewReader(string(text)), int64(len(text)))
		if err != nil {
			t.Fatal(err)
		}
		if n := int64(utf8.RuneCount(text)); ix.Chars != n {
			t.Fatalf("%d characters, want %d", ix.Chars, n)
		}
		for _, want := range []int64{int64(at) % ix.Chars, 0, ix.Chars - 1, ix.Chars} {
			byteAt := int64(document.SkipRunes(text, want))
			got, err := ix.Byte(t.Context(), strings.NewReader(string(text)), want)
			if err != nil || got != byteAt {
				t.Errorf("character %d is at byte %d, %v; want %d", want, got, err, byteAt)
			}
			char, err := ix.Char(t.Context(), strings.NewReader(string(text)), byteAt)
			if err != nil || char != want {
				t.Errorf("byte %d is character %d, %v; want %d", byteAt, char, err, want)
			}
		}
	})
}

func TestCache(t *testing.T) {
	t.Parallel()
	c := document.NewCache(2)
	old := time.Now().Add(-time.Hour)
	ix := map[string]*document.Index{}
	for _, key := range []string{"a", "b", "c"} {
		ix[key] = document.NewIndex(lines.Of([]byte(key)))
	}
	c.Put("a", 1, old, ix["a"])
	c.Put("b", 1, old, ix["b"])
	if c.Get("a", 1, old) != ix["a"] {
		t.Error("a is not kept")
	}
	c.Put("c", 1, old, ix["c"])
	got := []bool{c.Get("a", 1, old) != nil, c.Get("b", 1, old) != nil, c.Get("c", 1, old) != nil}
	if diff := cmp.Diff([]bool{true, false, true}, got); diff != "" {
		t.Errorf("the one that was used last longest ago goes (-want +got):\n%s", diff)
	}
	if c.Get("a", 2, old) != nil || c.Get("a", 1, old) != nil {
		t.Error("a file of another size has the index still")
	}
	if c.Get("c", 1, old.Add(1)) != nil {
		t.Error("a file that changed has the index still")
	}
	c.Put("d", 1, time.Now(), ix["a"])
	if c.Get("d", 1, time.Now()) != nil {
		t.Error("the index of a file that has just changed is kept")
	}
	c.Put("e", 1, time.Time{}, ix["a"])
	if c.Get("e", 1, time.Time{}) != ix["a"] {
		t.Error("the index of what never changes is not kept")
	}
}

// TestSum holds that the hash made beside an index is that of the file's own bytes, in every form, and the
// index the one that is made without it.
func TestSum(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{"", "one\ntwo", "\xef\xbb\xbfone\n", "\xff\xfea\x00\n\x00", "\xfe\xff\x00a", strings.Repeat("a line\n", 100_000)} {
		d, err := document.New(strings.NewReader(raw), int64(len(raw)), false)
		if err != nil {
			t.Fatal(err)
		}
		ix, err := document.BuildSum(t.Context(), d)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := document.Build(t.Context(), d.Text, d.Size)
		if err != nil {
			t.Fatal(err)
		}
		if want := sha256.Sum256([]byte(raw)); ix.Sum != want {
			t.Errorf("%.20q: hash %x, want %x", raw, ix.Sum, want)
		}
		if d := cmp.Diff(plain.Index, ix.Index); d != "" {
			t.Errorf("%.20q: index (-want +got):\n%s", raw, d)
		}
		if sum, err := document.Sum(t.Context(), strings.NewReader(raw), int64(len(raw))); err != nil || sum != ix.Sum {
			t.Errorf("%.20q: Sum gives %x, %v", raw, sum, err)
		}
	}
}
