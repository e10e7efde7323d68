package envelope

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-run/weir/tokens"
)

// table is a CSV of so many rows, no two of them of one length for long.
func table(rows int) string {
	var b strings.Builder
	b.WriteString("id,customer,total,state\n")
	for i := range rows {
		fmt.Fprintf(&b, "%d,customer %s,\"%d,%03d.%02d\",%s\n", i, strings.Repeat("x", i*7%23), i%97, i*31%1000, i%100, []string{"shipped", "open"}[i%2])
	}
	return b.String()
}

var marks = regexp.MustCompile(`(?m)^\[… .*omitted(; [a-z ]+)? …\]\n`)

// TestTextLines holds that what is shown of a text is whole lines of it, and that a line that had to be cut
// is said to be; and that the budget is used.
func TestTextLines(t *testing.T) {
	t.Parallel()
	text := table(3000)
	rows := map[string]bool{}
	for line := range strings.Lines(text) {
		rows[line] = true
	}
	for _, budget := range []int{300, 400, 1000, 4000, 16_000, 30_000} {
		o := Options{Budget: Budget{Tokens: budget, Effort: Medium}, Contract: Bare, Offered: []string{readTool, grepTool}}
		s := Fit(Result{Text: text, Path: "tool-results/r1-1-x.csv"}, o)
		for line := range strings.Lines(s.Text) {
			if !rows[line] && !strings.HasPrefix(line, "[") {
				t.Errorf("budget %d: %q is no row", budget, line)
			}
		}
		if strings.Contains(s.Text, "cut …]") {
			t.Errorf("budget %d: a row is cut: %s", budget, marks.FindString(s.Text))
		}
		if most := min(budget, tokens.Estimate(text)*55/100); s.Sent < most*85/100 && len(s.Text) < 20_000 {
			t.Errorf("budget %d: %d tokens are sent", budget, s.Sent)
		}
	}
	// Lines that do not fit.
	long := strings.Repeat("word ", 4000)
	for text, want := range map[string]string{
		long:                       "; the lines before and after this are cut …]\n",
		"head\n" + long + "\ntail": "; the lines before and after this are cut …]\n",
		"head\n" + strings.Repeat("row\n", 3000) + long: "; the line after this is cut …]\n",
		long + "\n" + strings.Repeat("row\n", 3000):     "; the line before this is cut …]\n",
	} {
		s := Fit(Result{Text: text}, Options{Budget: Budget{Tokens: 400}, Contract: Bare})
		if got := marks.FindString(s.Text); !strings.HasSuffix(got, want) {
			t.Errorf("%.20q is marked %q, want %q", text, got, want)
		}
	}
}

// TestTextPressure holds that a smaller budget never gives a longer text, at every budget; but for a mark,
// since one more line between the ends may need one.
func TestTextPressure(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"rows": table(400), "one line": strings.Repeat("word 界 ", 2000), "prose": strings.Repeat(strings.Repeat("some words of it ", 40)+"\n", 30),
		"failures": strings.Repeat("nothing\n", 300) + strings.Repeat("ERROR: it broke\n"+strings.Repeat("and on\n", 9), 90),
	} {
		before := 0
		for budget := 20; budget < tokens.Estimate(text)*11/10; budget += 1 + budget/50 {
			s := Fit(Result{Text: text}, Options{Budget: Budget{Tokens: budget, Effort: Medium}, Contract: Bare})
			kept, _, _ := strings.Cut(s.Text, "\n[truncated: ")
			if s.Stage == 5 {
				kept = ""
			}
			if len(kept) < before-(failure{}).cost() {
				t.Errorf("%s: budget %d keeps %d bytes at stage %d, a smaller one %d", name, budget, len(kept), s.Stage, before)
			}
			before = max(before, len(kept))
		}
	}
}
