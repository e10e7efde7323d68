package wire_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane/wire"
)

// events reads a stream to its end and tells each event; the last line is the error.
func events(r io.Reader, max int) string {
	var out strings.Builder
	d := wire.NewDecoder(r, max)
	for {
		e, err := d.Next()
		if err != nil {
			fmt.Fprintf(&out, "%v", err)
			return out.String()
		}
		fmt.Fprintf(&out, "%s %q\n", e.Type, e.Data)
	}
}

// The examples of the standard (section 9.2.6) and what stands in real streams.
func TestDecoder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "EOF"},
		{"one", "data: a\n\n", " \"a\"\nEOF"},
		{"lines", "data: YHOO\ndata: +2\ndata: 10\n\n", " \"YHOO\\n+2\\n10\"\nEOF"},
		{"comment and fields", ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n", " \"first event\"\n \"second event\"\n \" third event\"\nEOF"},
		{"empty data", "data\n\ndata\ndata\n\ndata:", " \"\"\n \"\\n\"\nEOF"},
		{"one space goes", "data:test\n\ndata: test\n\n", " \"test\"\n \"test\"\nEOF"},
		{"type", "event: add\ndata: 1\n\nevent: remove\n\ndata: 2\n\n", "add \"1\"\n \"2\"\nEOF"},
		{"not closed", "data: a\n\ndata: b\n", " \"a\"\nEOF"},
		{"line ends", "data: a\r\ndata: b\rdata: c\n\r\ndata: d\r\r", " \"a\\nb\\nc\"\n \"d\"\nEOF"},
		{"byte order mark", "\ufeffdata: a\n\n\ufeffdata: b\n\n", " \"a\"\nEOF"},
		{"unknown fields", "foo: x\n retry: 1\ndata : no\nDATA: no\ndata: a\n\n", " \"a\"\nEOF"},
		{"colon in a value", "data: {\"a\":1}\n\n", " \"{\\\"a\\\":1}\"\nEOF"},
		{"white space", "data: \t a \n\n", " \"\\t a \"\nEOF"},
		{"keep-alive", ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\ndata: a\n\n", " \"a\"\nEOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, r := range map[string]io.Reader{
				"at once": strings.NewReader(c.in), "byte by byte": iotest.OneByteReader(strings.NewReader(c.in)), "with the end": iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				if diff := cmp.Diff(c.want, events(r, 0)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// A line, and the data of an event, end at the limit, however they come.
func TestDecoderIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 100
	long := strings.Repeat("x", limit+1)
	for _, c := range []struct {
		name, in string
		fits     bool
	}{
		{"fits", "data: " + long[1:] + "\n\n", true},
		{"a byte more", "data:" + long + "\n\n", false},
		{"a comment", ":" + strings.Repeat("x", 2*limit) + "\n\n", false},
		{"a line without end", strings.Repeat("x", 10*limit), false},
		{"many lines", strings.Repeat("data: xxxxxxxxx\n", 11) + "\n", false},
		{"empty lines of data", strings.Repeat("data\n", limit+2) + "\n", false},
	} {
		d := wire.NewDecoder(iotest.OneByteReader(strings.NewReader(c.in)), limit)
		_, err := d.Next()
		if got := !errors.Is(err, wire.ErrEventTooLong); got != c.fits {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	broken := errors.New("broken")
	if _, err := wire.NewDecoder(io.MultiReader(strings.NewReader("data: a\n"), iotest.ErrReader(broken)), 0).Next(); !errors.Is(err, broken) {
		t.Errorf("the reader's error is %v", err)
	}
}

// However a stream is cut into reads, the events are the same, and data lines hold no line end.
func FuzzDecoder(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "\ufeffevent: x\r\ndata: a\rdata: b\r\n\r\n", ": c\n\ndata\n\n", "data: \x00\xff\n\n\r\r\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		whole := events(strings.NewReader(s), 1000)
		for _, r := range []io.Reader{iotest.OneByteReader(strings.NewReader(s)), iotest.HalfReader(strings.NewReader(s))} {
			if got := events(r, 1000); got != whole {
				t.Errorf("%q\nat once  %s\nin parts %s", s, whole, got)
			}
		}
		d := wire.NewDecoder(strings.NewReader(s), 1000)
		for {
			e, err := d.Next()
			if err != nil {
				break
			}
			if strings.ContainsAny(e.Type, "\r\n") || strings.Contains(string(e.Data), "\r") || len(e.Data) > 1000 {
				t.Errorf("%q gives the event %q %q", s, e.Type, e.Data)
			}
		}
	})
}
