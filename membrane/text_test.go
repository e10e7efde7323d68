package membrane_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"plain", "overloaded, ask again", "overloaded, ask again"},
		{"lines", "\n one\r\n\ttwo \u2028 three\n", "one two three"},
		{"controls", "\x1b[31mred\x00", "[31mred"},
		{"bytes", "a\xffb", "a\ufffdb"},
		{"as long as may be", strings.Repeat("é", 500), strings.Repeat("é", 500)},
		{"with space behind", strings.Repeat("é", 500) + "  \n", strings.Repeat("é", 500)},
		{"too long", strings.Repeat("é", 501), strings.Repeat("é", 499) + "…"},
		{"cut at a space", strings.Repeat("x", 498) + " y z", strings.Repeat("x", 498) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := membrane.Line(c.text)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if n := utf8.RuneCountInString(got); n > membrane.MaxLine {
				t.Errorf("%d characters", n)
			}
		})
	}
}
