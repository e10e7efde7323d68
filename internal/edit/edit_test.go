package edit_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/edit"
)

func TestReplace(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, new string
		all            bool
		want           string
		count, line    int
	}{
		"once":                      {"a\nb\nc\n", "b", "B", false, "a\nB\nc\n", 1, 2},
		"literal replacement":       {"x\n", "x", "$& $1 $$ \\1", false, "$& $1 $$ \\1\n", 1, 1},
		"everywhere":                {"a a\na\n", "a", "b", true, "b b\nb\n", 3, 1},
		"several lines":             {"a\nb\nc", "a\nb", "z", false, "z\nc", 1, 1},
		"no final newline stays":    {"a\nb", "b", "c", false, "a\nc", 1, 2},
		"a mark stays":              {"\ufeffa\n", "a", "b", false, "\ufeffb\n", 1, 1},
		"CRLF, as it was read":      {"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", 1, 1},
		"CRLF, a line more":         {"a\r\nb\r\n", "b", "b\nc", false, "a\r\nb\r\nc\r\n", 1, 2},
		"CRLF, exact":               {"a\r\nb\r\n", "a\r\n", "", false, "b\r\n", 1, 1},
		"mixed endings are not one": {"a\r\nb\n", "b", "b\nc", false, "a\r\nb\nc\n", 1, 2},
		"to nothing":                {"abc", "b", "", false, "ac", 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := edit.Replace([]byte(c.file), c.old, c.new, c.all)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, string(got.Bytes)); d != "" || got.Count != c.count || got.Line != c.line {
				t.Errorf("%d places from line %d, want %d from %d (-want +got):\n%s", got.Count, got.Line, c.count, c.line, d)
			}
		})
	}
}

func TestReplaceRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		file, old, new string
		want           error
	}{
		"nothing to look for": {"a", "", "b", edit.ErrEmpty},
		"the same":            {"a", "a", "a", edit.ErrSame},
		"not there":           {"a", "b", "c", edit.ErrNotFound},
		"not there, lines":    {"a\n", "b\nc", "d", edit.ErrNotFound},
		"UTF-16":              {"\xff\xfea\x00", "a", "b", edit.ErrEncoding},
		"other bytes":         {"\x80a", "a", "b", edit.ErrEncoding},
		"binary":              {"a\x00b", "a", "b", edit.ErrEncoding},
	} {
		if _, err := edit.Replace([]byte(c.file), c.old, c.new, false); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	var twice *edit.AmbiguousError
	_, err := edit.Replace([]byte("x\ny\nx\nx\n"), "x", "z", false)
	if !errors.As(err, &twice) || twice.Count != 3 || !strings.Contains(err.Error(), "lines 1, 3, 4") {
		t.Errorf("three places: %v", err)
	}
}

func TestControls(t *testing.T) {
	for s, want := range map[string]string{"": "", "a\tb\r\nc": "", "\x1b[1mx\x1b[0m\a": "BEL ×1, ESC ×2", "\x00\x7f\x01": "NUL ×1, 0x01 ×1, DEL ×1"} {
		if got := edit.Controls(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}
