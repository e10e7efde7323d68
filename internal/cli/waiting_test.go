package cli

import (
	"strings"
	"testing"
)

// TestExact: whoever answers sees every character of what is asked, also those that a terminal hides.
func TestExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{`{"path":"häh 🙂"}`, `{"path":"häh 🙂"}`},
		{"a\n\tb\r", `a\n\tb\u000d`},
		{"rm\u202efdp.txt\u200b", `rm\u202efdp.txt\u200b`},
		{"\x1b[2K\u009b\u00a0", `\u001b[2K\u009b\u00a0`},
		{"\xff\uFFFD\U000e0041", `\xff` + "\uFFFD" + `\U000e0041`},
	} {
		if got := exact(c.text); got != c.want {
			t.Errorf("exact(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// TestFit: a text that is cut shows both its ends and says how much is left out.
func TestFit(t *testing.T) {
	t.Parallel()
	s := &screen{err: &strings.Builder{}}
	if got, all := s.fit(strings.Repeat("ä", fitChars)); got != strings.Repeat("ä", fitChars) || !all {
		t.Errorf("a text that fits is %.40q, %v", got, all)
	}
	got, all := s.fit("A" + strings.Repeat("ä", fitChars) + "Z")
	if want := "A" + strings.Repeat("ä", 1499) + " … 2 characters left out … " + strings.Repeat("ä", 499) + "Z"; got != want || all {
		t.Errorf("a text that does not fit is %.40q, %v", got, all)
	}
}

// TestParseAnswer: only a plain yes lets a call run.
func TestParseAnswer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line, reason string
		grant, fails bool
	}{
		{line: "y", grant: true},
		{line: " YES ", grant: true},
		{line: "n"},
		{line: "no  it is  Friday", reason: "it is  Friday"},
		{line: "", fails: true},
		{line: "yes, but", fails: true},
		{line: "y not", fails: true},
		{line: "yo", fails: true},
		{line: "ny", fails: true},
		{line: "n " + strings.Repeat("x", maxReason+1), fails: true},
	} {
		got, err := parseAnswer("r1-1", c.line)
		if (err != nil) != c.fails || err == nil && (got.Grant != c.grant || got.Reason != c.reason || got.Call != "r1-1") {
			t.Errorf("%.20q: %+v, %v", c.line, got, err)
		}
	}
}
