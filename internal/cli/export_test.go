package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// TestQuote: a text that comes in pieces of any size is the same JSON string.
func TestQuote(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "plain", "häh? \"quoted\" \\ <b>&\n\t\x00\u2028\U0001F600", strings.Repeat("ä€\U0001F600", 20_000), "a\uFFFDb",
	} {
		for name, r := range map[string]io.Reader{
			"whole":      strings.NewReader(text),
			"by bytes":   iotest.OneByteReader(strings.NewReader(text)),
			"by halves":  iotest.HalfReader(strings.NewReader(text)),
			"end at end": iotest.DataErrReader(strings.NewReader(text)),
		} {
			var b strings.Builder
			s := jsonStream{w: bufio.NewWriter(&b)}
			s.quote(r)
			if err := errors.Join(s.err, s.w.Flush()); err != nil {
				t.Fatal(err)
			}
			var got string
			if err := json.Unmarshal([]byte(b.String()), &got); err != nil || got != text {
				t.Errorf("%.20q %s: %v, %.40q", text, name, err, got)
			}
		}
	}
}

// TestStream: members, lists and elements are one JSON object, and the first error stays.
func TestStream(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	s := jsonStream{w: bufio.NewWriter(&b)}
	s.open()
	s.member("a", object{{"x", json.RawMessage(`{"z":1.10,"y":[2]}`)}, {"html", "<b>"}})
	s.list("empty")
	s.endList()
	s.list("two")
	s.element(object{{"n", 1}})
	s.elementWith(object{{"the text", "the text"}}, "text", strings.NewReader("\"é\""))
	s.endList()
	s.close()
	if err := errors.Join(s.err, s.w.Flush()); err != nil {
		t.Fatal(err)
	}
	want := `{
  "a": {
    "x": {
      "z": 1.10,
      "y": [
        2
      ]
    },
    "html": "<b>"
  },
  "empty": [],
  "two": [
    {
      "n": 1
    },
    {
      "the text": "the text",
      "text": "\"é\""
    }
  ]
}
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	s.quote(iotest.ErrReader(errors.New("the disk is gone")))
	s.element(1)
	if s.err == nil || s.err.Error() != "the disk is gone" {
		t.Errorf("error %v, want that of the disk", s.err)
	}
}

// TestFence: no text ends the fence that it stands in.
func TestFence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "\n```text\n```\n"},
		{"a", "\n```text\na\n```\n"},
		{"a\n", "\n```text\na\n```\n"},
		{"```\nx\n``` `````", "\n``````text\n```\nx\n``` `````\n``````\n"},
	} {
		var b strings.Builder
		tr := transcript{w: bufio.NewWriter(&b)}
		tr.fence("text", c.text)
		if err := tr.w.Flush(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("%q (-want +got)\n%s", c.text, diff)
		}
	}
}

// TestTame: what would move the cursor is left out, also when it comes in halves.
func TestTame(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	w := &tame{w: &b}
	for _, p := range []string{"a\x1b[2Jb\xc2", "\x9bc\xc2", "\xa7\n"} {
		if n, err := w.Write([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	if got, want := b.String(), "a[2Jbc§\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
