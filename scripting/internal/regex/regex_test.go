package regex

import (
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

func TestLower(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ source, flags, want, wantFlags, err string }{
		{`a\p{L}`, "", `a\p{L}`, "", ""},
		{`\p{Nd}`, "v", "", "u", ""},
		{`\\p{L}`, "u", `\\p{L}`, "u", ""},
		{`[\p{ASCII}_]`, "u", `[\u0000-\u007F_]`, "u", ""},
		{`\P{ASCII}`, "gu", `[\u0080-\u{10FFFF}]`, "gu", ""},
		{`[^\P{ASCII}]`, "u", `[^\u0080-\u{10FFFF}]`, "u", ""},
		{`\p{Regional_Indicator}`, "u", `[\u{1F1E6}-\u{1F1FF}]`, "u", ""},
		{`a`, "d", "", "", "the regular expression flag d (match indices) is not supported; use match.index and the lengths of the groups"},
		{`[a&&b]`, "v", "", "", "&& in a regular expression with flag v (set notation) is not supported; use flag u and look-ahead"},
		{`[\w--\d]`, "v", "", "", "-- in a regular expression with flag v (set notation) is not supported; use flag u and look-ahead"},
		{`\p{Foo}`, "u", "", "", `the Unicode property escape \p{Foo} is not known or not supported`},
		{`\p`, "u", "", "", "Invalid property name in the regular expression at 0"},
		{`\p{L`, "u", "", "", "Invalid property name in the regular expression at 0"},
	} {
		got, flags, err := Lower(tt.source, tt.flags)
		text := ""
		if err != nil {
			got, flags, text = "", "", err.Error()
		}
		if tt.source == `\p{Nd}` {
			got = ""
		}
		if diff := cmp.Diff([]string{tt.want, tt.wantFlags, tt.err}, []string{got, flags, text}); diff != "" {
			t.Errorf("/%s/%s (-want +got):\n%s", tt.source, tt.flags, diff)
		}
	}
}

// Every set is that of the standard library, and a set and its complement share nothing.
func TestSets(t *testing.T) {
	t.Parallel()
	for name, table := range map[string]*unicode.RangeTable{
		"L": unicode.L, "Uppercase_Letter": unicode.Lu, "gc=Zs": unicode.Zs, "Script=Greek": unicode.Greek, "P": unicode.P,
		"White_Space": unicode.White_Space, "N": unicode.N, "sc=Han": unicode.Han, "Sc": unicode.Sc,
	} {
		s, err := Property(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		other := s.not()
		for r := rune(0); r <= unicode.MaxRune; r++ {
			if in := unicode.Is(table, r); has(s, r) != in || has(other, r) == in {
				t.Errorf("%s: %U is %v", name, r, has(s, r))
				break
			}
		}
	}
	for _, name := range []string{"Any", "Assigned", "Alphabetic", "ID_Continue", "Emoji", "Extended_Pictographic", "LC", "C", "Cn", "Lowercase", "IDS"} {
		if s, err := Property(name); err != nil || len(s) == 0 {
			t.Errorf("%s: %d ranges, %v", name, len(s), err)
		}
	}
}

func FuzzLower(f *testing.F) {
	f.Add(`[\p{L}--[a]]`, "v")
	f.Add(`\P{Lu}\`, "u")
	f.Fuzz(func(_ *testing.T, source, flags string) {
		_, _, _ = Lower(source, flags)
	})
}
