package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/weir-run/weir/history"
)

func TestParseSpan(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		word, path string
		want       span
		fails      string
	}{
		{word: "r3-1", path: "r3-1"},
		{word: "r3-1:7", path: "r3-1", want: span{7, 7}},
		{word: "r3-1:7-9", path: "r3-1", want: span{7, 9}},
		{word: "r3-1:7-", path: "r3-1", want: span{7, 0}},
		{word: "tool-results/r3-1.2-a.txt:1-1", path: "tool-results/r3-1.2-a.txt", want: span{1, 1}},
		{word: "src/a:b:12", path: "src/a:b", want: span{12, 12}},
		{word: "src/a:b", path: "src/a:b"},
		{word: "src/a:-9", path: "src/a:-9"},
		{word: ":5", path: ":5"},
		{word: "a:0", fails: "lines 0: there is no line 0"},
		{word: "a:0-4", fails: "there is no line 0"},
		{word: "a:1-0", fails: "there is no line 0"},
		{word: "a:9-7", fails: "the last is before the first"},
		{word: "a:99999999999999999999", fails: "that is no line number"},
		{word: "a:1-99999999999999999999", fails: "that is no line number"},
	} {
		path, got, err := parseSpan(c.word)
		if c.fails != "" {
			var known *exit
			if err == nil || !strings.Contains(err.Error(), c.fails) || !errors.As(err, &known) || known.status != statusUsage {
				t.Errorf("parseSpan(%q): error %v, want one of usage with %q", c.word, err, c.fails)
			}
			continue
		}
		if err != nil || path != c.path || got != c.want {
			t.Errorf("parseSpan(%q) = %q %v %v, want %q %v", c.word, path, got, err, c.path, c.want)
		}
	}
}

func FuzzParseSpan(f *testing.F) {
	for _, word := range []string{"r3-1:7-9", "a:0", "a:b:1-", ":", "\xff:1"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		path, s, err := parseSpan(word)
		if err != nil {
			return
		}
		if !strings.HasPrefix(word, path) || s.first < 0 || s.last != 0 && s.last < s.first {
			t.Errorf("parseSpan(%q) = %q %v", word, path, s)
		}
	})
}

func TestParseMount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, c := range []struct {
		word, want, fails string
		write             bool
	}{
		{word: "a=" + dir, want: dir},
		{word: "a=" + dir + ":ro", want: dir},
		{word: "a=" + dir + ":rw", want: dir, write: true},
		{word: "a=:rw", fails: "write NAME=DIR"},
		{word: "a", fails: "write NAME=DIR"},
		{word: "=" + dir, fails: "write NAME=DIR"},
		{word: "a=", fails: "write NAME=DIR"},
		{word: "a=" + filepath.Join(dir, "none"), fails: "name a folder that is there"},
	} {
		got, err := parseMount(c.word)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("parseMount(%q): error %v, want %q", c.word, err, c.fails)
			}
			continue
		}
		if diff := cmp.Diff(mount{Name: "a", Dir: c.want, Write: c.write}, got); diff != "" || err != nil {
			t.Errorf("parseMount(%q): %v (-want +got)\n%s", c.word, err, diff)
		}
	}
}

func TestCheckID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"a", "01990b6e-8f5c-7a4e-9d5e-2f1f4a3c1b7d", "A.b_c-9", strings.Repeat("x", 100)} {
		if err := checkID(id); err != nil {
			t.Errorf("checkID(%q): %v", id, err)
		}
	}
	for _, id := range []string{"", ".a", "a.", "a b", "a/b", "ä", "a\n", strings.Repeat("x", 101)} {
		if err := checkID(id); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("checkID(%q) = %v, want an error in one line", id, err)
		}
	}
}

// TestOneLine: an error is one line that a terminal only shows, whatever stands in it.
func TestOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"plain", "plain"},
		{"one\ntwo\r\n\n  three  \n", "one; two; three"},
		{"\x1b[31mred\x07", "[31mred"},
		{"a\u2028b\u202ec\u0085d", "a b c d"},
		{"bad \xff byte", "bad \uFFFD byte"},
		{"", ""},
	} {
		if got := oneLine(c.text); got != c.want {
			t.Errorf("oneLine(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"häh?\n\tok", "häh?\n\tok"},
		{"\x1b[2J\x00\x07\r\x7f", "[2J"},
		{"a\u009bb", "ab"},
		{"\xc3", "\xc3"}, // the first half of a character
	} {
		if got := harmless(c.text); got != c.want {
			t.Errorf("harmless(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

func TestForPeople(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{number(0), "0"},
		{number(999), "999"},
		{number(1000), "1,000"},
		{number(int64(1234567)), "1,234,567"},
		{number(-1234), "-1,234"},
		{plural(1, "entry"), "1 entry"},
		{plural(2, "entry"), "2 entries"},
		{plural(0, "line"), "0 lines"},
		{size(1), "1 byte"},
		{size(999), "999 bytes"},
		{size(2400), "2.4 kB"},
		{size(3_500_000), "3.5 MB"},
		{size(4_000_000_000), "4.0 GB"},
		{took(0), "<1 ms"},
		{took(20 * time.Millisecond), "20 ms"},
		{took(2300 * time.Millisecond), "2.3 s"},
		{took(125 * time.Second), "2m5s"},
		{at(time.Time{}), "-"},
		{at(time.Date(2026, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))), "2026-01-02 02:04:05Z"},
		{stamp(time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)), "2026-01-02T03:04:05.006Z"},
		{clip("häh", 3), "häh"},
		{clip("hähä", 3), "hä…"},
		{quoted("a-b/c.d"), "a-b/c.d"},
		{quoted("a b"), "'a b'"},
		{quoted("it's"), `'it'\''s'`},
		{quoted(""), "''"},
		{quoted("$x"), "'$x'"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	tab := &table{}
	tab.add("NAME", ">SIZE", "WHERE")
	tab.add("a", "1,000", "-")
	tab.add("häh", "7", "")
	want := "NAME   SIZE  WHERE\na     1,000  -\nhäh       7\n"
	if diff := cmp.Diff(want, tab.String()); diff != "" {
		t.Errorf("table (-want +got)\n%s", diff)
	}
}

// panicky is an input that nobody foresaw.
type panicky struct{}

func (panicky) Read([]byte) (int, error) { panic("oh\nno") }

// TestPanic: a bug is one line and status 1; the stack is for who asks.
func TestPanic(t *testing.T) {
	t.Parallel()
	for _, debug := range []string{"", "1"} {
		var errs strings.Builder
		a := &app{in: panicky{}, out: io.Discard, err: &errs, env: func(name string) string {
			if name == "WEIR_DEBUG" {
				return debug
			}
			return ""
		}}
		if got := a.run(context.Background(), []string{"run", "-m", "scripted:x", "-"}); got != statusFailed {
			t.Errorf("status %d, want %d", got, statusFailed)
		}
		first, rest, _ := strings.Cut(errs.String(), "\n")
		if want := "weir: a bug in weir stopped it: oh; no: set WEIR_DEBUG=1 to see where, and report it"; first != want {
			t.Errorf("got %q, want %q", first, want)
		}
		if stack := strings.Contains(rest, "goroutine"); stack != (debug != "") {
			t.Errorf("WEIR_DEBUG=%q: %q follows", debug, rest)
		}
	}
}

// TestFinish: the exit status and the line for each kind of error.
func TestFinish(t *testing.T) {
	t.Parallel()
	stopped, stop := context.WithCancelCause(context.Background())
	stop(errInterrupted)
	for _, c := range []struct {
		ctx    context.Context
		err    error
		status int
		line   string
	}{
		{context.Background(), nil, statusDone, ""},
		{context.Background(), errUnread, statusDone, ""},
		{context.Background(), fmt.Errorf("read: %w", errUnread), statusDone, ""},
		{context.Background(), quiet(statusFailed), statusFailed, ""},
		{context.Background(), errors.New("no"), statusFailed, "weir: no\n"},
		{context.Background(), misuse("what is %q", "x"), statusUsage, "weir: what is \"x\"\n"},
		{context.Background(), errors.Join(misuse("what"), errors.New("more")), statusUsage, "weir: what\n"},
		{stopped, context.Canceled, statusInterrupted, "weir: interrupted\n"},
		{stopped, nil, statusDone, ""},
		{
			context.Background(), fmt.Errorf("take: %w", &history.BusyError{Conversation: "c1"}), statusFailed,
			"weir: conversation c1 is being run by another process: wait for it to end, or stop it\n",
		},
	} {
		var errs strings.Builder
		a := &app{err: &errs}
		if got := a.finish(c.ctx, c.err); got != c.status || errs.String() != c.line {
			t.Errorf("%v: status %d, %q; want %d, %q", c.err, got, errs.String(), c.status, c.line)
		}
	}
}

// TestOver: a flag that was given goes before what is kept, and a mount takes the place of its name.
func TestOver(t *testing.T) {
	t.Parallel()
	one, two := t.TempDir(), t.TempDir()
	kept := setup{Model: "scripted:/a", System: "s", Mounts: []mount{{Name: "a", Dir: one}, {Name: "b", Dir: one}}, MaxChars: 2000}
	for _, c := range []struct {
		args []string
		want setup
	}{
		{nil, kept},
		{[]string{"--max-chars", "3000", "--round-chars", "4000"}, setup{
			Model: "scripted:/a", System: "s", Mounts: []mount{{Name: "a", Dir: one}, {Name: "b", Dir: one}}, MaxChars: 3000, RoundChars: 4000,
		}},
		{[]string{"--approve", "test--wait", "--approve", "a", "--approve", "a"}, setup{
			Model: "scripted:/a", System: "s", Mounts: kept.Mounts, MaxChars: 2000, Approve: []string{"test--wait", "a"},
		}},
		{[]string{"--mount", "a=" + two, "--mount", "c=" + two, "-m", "scripted:/b"}, setup{
			Model: "scripted:/b", System: "s", Mounts: []mount{{Name: "b", Dir: one}, {Name: "a", Dir: two}, {Name: "c", Dir: two}}, MaxChars: 2000,
		}},
	} {
		var f setupFlags
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.bind(flags)
		if err := flags.Parse(c.args); err != nil {
			t.Fatal(err)
		}
		got, err := f.over(flags, kept)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%q: %v (-want +got)\n%s", c.args, err, diff)
		}
	}
}

// TestDir: --dir goes before WEIR_DIR, and both before .weir.
func TestDir(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, env, want string }{
		{"", "", ".weir"}, {"", "e", "e"}, {"f", "e", "f"}, {"f", "", "f"},
	} {
		a := &app{dirFlag: c.flag, env: func(string) string { return c.env }}
		if got := a.dir(); got != c.want {
			t.Errorf("--dir %q, WEIR_DIR %q: %q, want %q", c.flag, c.env, got, c.want)
		}
	}
}

// TestWritten: what the output says is told from everything else.
func TestWritten(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full")
	}
	defer full.Close()
	a := &app{out: full}
	err = a.emit([]byte("x"))
	if want := "write the output: no space left on device"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}
