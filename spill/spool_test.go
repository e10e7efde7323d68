package spill

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/internal/lines"
)

// creator begins the files of one result in a store.
func creator(t testing.TB, s Store, n Name) func(string) (Writer, error) {
	return func(ext string) (Writer, error) {
		n.Ext = ext
		return s.Create(t.Context(), n)
	}
}

// feed writes raw to a spool in pieces of up to most bytes.
func feed(t testing.TB, s *Spool, raw []byte, most int) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(uint64(len(raw)), uint64(most)))
	for len(raw) > 0 {
		n := min(1+rnd.IntN(most), len(raw))
		if w, err := s.Write(raw[:n]); w != n || err != nil {
			t.Fatalf("Write = %d, %v, want %d", w, err, n)
		}
		raw = raw[n:]
	}
}

func TestSpoolHoldsWhatFits(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	for _, text := range []string{"", "x", strings.Repeat("日", 100)} {
		s := NewSpool(100, creator(t, d, grep))
		feed(t, s, []byte(text), 3)
		if got, want := s.Chars(), int64(utf8.RuneCountInString(text)); got != want {
			t.Errorf("%d characters, want %d", got, want)
		}
		if diff := cmp.Diff(Spooled{Excerpt: Of(text)}, s.Finish("")); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", text, diff)
		}
	}
	if got := tree(t, d); got != nil {
		t.Errorf("files were made: %v", got)
	}
}

func TestSpoolPastTheCap(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"one over": strings.Repeat("x", 1001), "lines": numbered(20_000), "wide": strings.Repeat("日本\n", 30_000),
		"JSON": "[" + strings.Repeat(`{"a":"b"},`, 20_000) + "1]", "one line": strings.Repeat("y", 300_000) + "\n",
	} {
		for _, most := range []int{1, 1000, 200_000} {
			if most == 1 && len(text) > 2000 {
				continue
			}
			t.Run(fmt.Sprint(name, most), func(t *testing.T) {
				t.Parallel()
				d := newDir(t, Config{NoSync: true})
				s := NewSpool(1000, creator(t, d, grep))
				feed(t, s, []byte(text), most)
				got := s.Finish("")
				if got.Err != nil || got.Ref == nil || got.Raw != nil || got.Replaced != 0 {
					t.Fatalf("%+v", got)
				}
				if read(t, d, got.Ref.File) != text {
					t.Error("the file is not the text")
				}
				want := Excerpt{
					Head: text[:lines.Head(text, 1000)], Tail: text[lines.Tail(text, 1000):],
					Bytes: int64(len(text)), Lines: lines.Count([]byte(text)), Chars: int64(utf8.RuneCountInString(text)),
					JSON: summary(text, len(text)),
				}
				if diff := cmp.Diff(want, got.Excerpt); diff != "" {
					t.Errorf("excerpt (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(lines.Of([]byte(text)), got.Ref.Index); diff != "" {
					t.Errorf("index (-want +got):\n%s", diff)
				}
				loaded, err := Load(t.Context(), d, *got.Ref, 1000)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, loaded); diff != "" {
					t.Errorf("loaded (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(Preview(Of(text), 1000, kept), Preview(got.Excerpt, 1000, kept)); diff != "" {
					t.Errorf("the preview of a stream is another (-memory +stream):\n%s", diff)
				}
			})
		}
	}
}

func TestSpoolTail(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	s := NewSpool(10, creator(t, d, grep))
	feed(t, s, []byte("12345"), 5)
	got := s.Finish("\nexit status 1\xff")
	if text := read(t, d, got.Ref.File); text != "12345\nexit status 1\ufffd" || got.Excerpt.Tail != "t status 1\ufffd"[1:] {
		t.Errorf("file %q, tail %q", text, got.Excerpt.Tail)
	}
	if got.Raw != nil || got.Replaced != 0 {
		t.Errorf("a tail that is a string has a raw original: %+v", got)
	}
	if diff := cmp.Diff(Spooled{}, s.Finish("again")); diff != "" {
		t.Errorf("a second Finish (-want +got):\n%s", diff)
	}
	if n, err := s.Write([]byte("late")); n != 0 || err == nil {
		t.Errorf("a late write = %d, %v", n, err)
	}
}

// Where the text is not the bytes that came, these are kept, and the text says how many and where.
func TestSpoolKeepsTheRawOriginal(t *testing.T) {
	t.Parallel()
	long := numbered(5000)
	for _, tt := range []struct {
		name, raw, text string
		replaced        int64
	}{
		{"small", "ab\xffcd\n", "ab\ufffdcd\n", 1},
		{"small without newline", "ab\xff", "ab\ufffd\n", 1},
		{"at the start", "\xff" + long, "\ufffd" + long, 1},
		{"just past the cap", strings.Repeat("x", 1000) + "\xfe\xff\n", strings.Repeat("x", 1000) + "\ufffd\ufffd\n", 2},
		{"late", long + "\xe6\x97" + long, long + "\ufffd" + long, 1},
		{"at the end", long + "\xe6\x97", long + "\ufffd\n", 1},
		{"only", strings.Repeat("\xff", 3000), strings.Repeat("\ufffd", 3000) + "\n", 3000},
		{"mark only", "\xef\xbb\xbfabc", "abc", 0},
		{"mark and long", "\xef\xbb\xbf" + long, long, 0},
		{"pair", long + "\xed\xa0\xbd\xed\xb8\x80", long + "😀", 0},
		{"UTF-16", "\xff\xfea\x00\n\x00", "a\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, most := range []int{1, 7, 100_000} {
				d := newDir(t, Config{NoSync: true})
				s := NewSpool(1000, creator(t, d, grep))
				feed(t, s, []byte(tt.raw), most)
				got := s.Finish("")
				want := tt.text
				switch tt.replaced {
				case 0:
				case 1:
					want += "[1 character could not be decoded and stands as U+FFFD; the bytes as they came: tool-results/r3-1-grep.raw]"
				default:
					want += fmt.Sprintf("[%d characters could not be decoded and stand as U+FFFD; the bytes as they came: tool-results/r3-1-grep.raw]", tt.replaced)
				}
				if got.Replaced != tt.replaced || got.Err != nil || got.RawErr != nil || got.Raw == nil {
					t.Fatalf("pieces of %d: %+v", most, got)
				}
				if raw := read(t, d, got.Raw.File); raw != tt.raw {
					t.Errorf("pieces of %d: the raw original has %d bytes, want %d", most, len(raw), len(tt.raw))
				}
				text := got.Excerpt.Head
				if got.Ref != nil {
					text = read(t, d, got.Ref.File)
				}
				if text != want {
					t.Errorf("pieces of %d: text …%.200q", most, text[max(0, len(text)-200):])
				}
				if n := len(tree(t, d)); n != 3 && got.Ref == nil || n != 4 && got.Ref != nil {
					t.Errorf("pieces of %d: files %v", most, tree(t, d))
				}
			}
		})
	}
}

// A store that fails never fails the tool, whenever it fails; the figures and both ends stay right.
func TestLaw04SpoolOnAFailingStore(t *testing.T) {
	t.Parallel()
	text := numbered(20_000)
	for name, tt := range map[string]struct {
		cfg  Config
		want error
	}{
		"no folder": {Config{Wrap: func(Folder) (Folder, error) { return nil, syscall.EROFS }}, syscall.EROFS},
		"create":    {Config{Wrap: wrap(faulty{fail: map[string]error{"create": syscall.EROFS}})}, syscall.EROFS},
		"full":      {Config{Wrap: wrap(faulty{fail: map[string]error{"full": syscall.ENOSPC}, room: 100_000})}, syscall.ENOSPC},
		"sync":      {Config{Wrap: wrap(faulty{fail: map[string]error{"sync": syscall.EIO}})}, syscall.EIO},
		"link":      {Config{Wrap: wrap(faulty{fail: map[string]error{"link": syscall.EIO}})}, syscall.EIO},
		"quota":     {Config{Quota: 200_000}, ErrQuota},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDir(t, tt.cfg)
			s := NewSpool(2000, creator(t, d, grep))
			feed(t, s, []byte(text), 50_000)
			got := s.Finish("")
			if !errors.Is(got.Err, tt.want) || got.Ref != nil {
				t.Fatalf("Err %v, Ref %v, want %v and none", got.Err, got.Ref, tt.want)
			}
			for _, line := range tree(t, d) {
				if strings.HasPrefix(line, "-") {
					t.Errorf("something stayed behind: %s", line)
				}
			}
			p := Preview(got.Excerpt, 2000, Notice{Reason: Reason(got.Err)})
			if diff := cmp.Diff(Preview(Of(text), 2000, Notice{Reason: Reason(tt.want)}), p); diff != "" {
				t.Errorf("preview (-want +got):\n%s", diff)
			}
			if !strings.Contains(p, "The rest was NOT kept: "+Reason(tt.want)+". The whole had 20000 lines, ") ||
				strings.Contains(p, "tool-results") || strings.Contains(p, "r3-1") {
				t.Errorf("notice:\n%s", p)
			}
		})
	}
	s := NewSpool(1000, nil)
	feed(t, s, []byte(text), 50_000)
	if got := s.Finish(""); got.Err == nil || got.Excerpt.Lines != 20_000 {
		t.Errorf("without a store: %+v", got.Err)
	}
}

// The raw original can fail alone: the text is kept and says so.
func TestSpoolRawFailsAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"a\xff", numbered(2000) + "\xff", "\xff" + numbered(2000)} {
		d := newDir(t, Config{})
		create := creator(t, d, grep)
		s := NewSpool(1000, func(ext string) (Writer, error) {
			if ext == rawExt {
				return nil, fmt.Errorf("create /somewhere/secret: %w", syscall.ENOSPC)
			}
			return create(ext)
		})
		feed(t, s, []byte(text), 100)
		got := s.Finish("")
		if got.Raw != nil || !errors.Is(got.RawErr, syscall.ENOSPC) || got.Err != nil {
			t.Fatalf("%+v", got)
		}
		end := got.Excerpt.Head
		if got.Ref != nil {
			end = read(t, d, got.Ref.File)
		}
		const want = "[1 character could not be decoded and stands as U+FFFD; the bytes as they came were NOT kept: no space left on device]"
		if !strings.HasSuffix(end, "\n"+want) {
			t.Errorf("the text ends in %.300q", end[max(0, len(end)-200):])
		}
	}
}

func TestSpoolAbort(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{})
	s := NewSpool(10, creator(t, d, grep))
	feed(t, s, []byte("\xff"+numbered(100)), 100)
	s.Abort()
	s.Abort()
	if diff := cmp.Diff([]string{"drwx------ .", "drwx------ c1"}, tree(t, d)); diff != "" {
		t.Errorf("after Abort (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Spooled{}, s.Finish("")); diff != "" {
		t.Errorf("Finish after Abort (-want +got):\n%s", diff)
	}
}

func TestSpoolFromSeveralGoroutines(t *testing.T) {
	t.Parallel()
	d := newDir(t, Config{NoSync: true})
	s := NewSpool(1000, creator(t, d, grep))
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 500 {
				if _, err := fmt.Fprintf(s, "line of %d\n", i); err != nil {
					t.Error(err)
				}
				s.Chars()
			}
		})
	}
	wg.Wait()
	got := s.Finish("")
	if got.Err != nil || got.Excerpt.Lines != 2000 || strings.Count(read(t, d, got.Ref.File), "line of 3\n") != 500 {
		t.Errorf("%+v", got)
	}
}

// A spool needs memory for the cap, not for the output (P15): 256 MB through a real folder.
func TestSpoolMemory(t *testing.T) {
	const total, limit = 256 << 20, 24_000
	d := newDir(t, Config{NoSync: true})
	s := NewSpool(limit, creator(t, d, grep))
	block := []byte(strings.Repeat("a line of output as a build prints it, with a number 12345 and a path /usr/lib\n", 800))
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	next := time.Now()
	written := 0
	for ; written < total; written += len(block) {
		if _, err := s.Write(block); err != nil {
			t.Fatal(err)
		}
		if written%(16<<20) < len(block) {
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapInuse)
		}
	}
	got := s.Finish("")
	if got.Err != nil || got.Excerpt.Bytes != int64(written) || got.Ref.Index.Bytes != int64(written) {
		t.Fatalf("%+v", got.Err)
	}
	runtime.ReadMemStats(&now)
	peak = max(peak, now.HeapInuse)
	used := int64(peak) - int64(before.HeapInuse)
	t.Logf("%d MB in %v, heap %.1f MB more than before", written>>20, time.Since(next).Round(time.Millisecond), float64(used)/(1<<20))
	if used > 16<<20 {
		t.Errorf("the heap grew by %d MB, want at most 16", used>>20)
	}
}

// discard is a store writer that keeps nothing and counts.
type discard struct{ n int64 }

func (d *discard) Write(p []byte) (int, error)       { d.n += int64(len(p)); return len(p), nil }
func (d *discard) ReadAt([]byte, int64) (int, error) { return 0, io.EOF }
func (d *discard) Commit() (Ref, error)              { return Ref{}, nil }
func (d *discard) Abort() error                      { return nil }

func BenchmarkSpool(b *testing.B) {
	for name, line := range map[string]string{
		"log": "a line of output as a build prints it, with a number 12345 and a path /usr/lib\n", "wide": "日本語の行です\n",
	} {
		b.Run(name, func(b *testing.B) {
			block := bytes.Repeat([]byte(line), 32<<10/len(line))
			b.SetBytes(int64(len(block)) * 1000)
			for b.Loop() {
				s := NewSpool(24_000, func(string) (Writer, error) { return &discard{}, nil })
				for range 1000 {
					_, _ = s.Write(block)
				}
				s.Finish("")
			}
		})
	}
}
