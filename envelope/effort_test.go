package envelope

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestStages is the table of the stages: the stage just below each bound, at it and just above it, in
// thousandths of the budget.
func TestStages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		effort Effort
		used   []int
		want   []int
	}{
		{Low, []int{0, 649, 650, 749, 750, 849, 850, 900, 901, 5000}, []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}},
		{Medium, []int{0, 749, 750, 849, 850, 949, 950, 1000, 1001, 5000}, []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}},
		{High, []int{0, 849, 850, 949, 950, 1049, 1050, 1100, 1101, 5000}, []int{1, 1, 2, 2, 3, 3, 4, 4, 5, 5}},
	} {
		var got []int
		for _, used := range c.used {
			got = append(got, StageOf(used, 1000, c.effort))
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("effort %s (-want +got):\n%s", c.effort, d)
		}
	}
	for _, c := range []struct{ estimate, budget, want int }{
		{math.MaxInt, 1, 5},
		{math.MaxInt, math.MaxInt, 4},
		{1, math.MaxInt, 1},
		{-5, 100, 1},
		{5, 0, 5},
		{math.MaxInt / 4 * 3, math.MaxInt, 1},
	} {
		if got := StageOf(c.estimate, c.budget, Medium); got != c.want {
			t.Errorf("%d of %d tokens: stage %d, want %d", c.estimate, c.budget, got, c.want)
		}
	}
}

func TestParseEffort(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]Effort{"": High, "high": High, "HIGH": High, " medium\n": Medium, "low": Low, "LOW": Low} {
		if got, err := ParseEffort(word); got != want || err != nil {
			t.Errorf("%q is %s, %v, want %s", word, got, err, want)
		}
	}
	for _, word := range []string{"lo", "max", "0", "high,low", strings.Repeat("x", 10_000)} {
		_, err := ParseEffort(word)
		if err == nil || !strings.Contains(err.Error(), "say low, medium or high") || len(err.Error()) > 300 {
			t.Errorf("%.20q gives %v", word, err)
		}
	}
	var zero Effort
	if zero.String() != "high" {
		t.Errorf("the default is %s", zero)
	}
}

func TestResolveEffort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag, config, env string
		want              Effort
	}{
		{"low", "medium", "high", Low},
		{"", "medium", "low", Medium},
		{" ", "", "low", Low},
		{"", "", "", High},
		{"low", "bogus", "bogus", Low}, // only the word that counts is read
	} {
		if got, err := ResolveEffort(c.flag, c.config, c.env); got != c.want || err != nil {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	_, err := ResolveEffort("", "", "turbo")
	if d := cmp.Diff(`WEIR_EFFORT_LEVEL: effort "turbo" is unknown: say low, medium or high`, textOf(err)); d != "" {
		t.Error(d)
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestResolveBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		max     string
		session int
		limit   int
		effort  Effort
		want    int
	}{
		{"", 0, 0, Medium, 4000},
		{"", 0, 0, High, 5200},
		{"", 0, 0, Low, 2400},
		{"null", 8000, 0, Medium, 8000},
		{"", 8000, 0, High, 10400},
		{"1000", 8000, 0, High, 1000}, // an explicit max_tokens is not exceeded
		{"1000", 8000, 0, Low, 600},
		{"1000", 0, 500, Medium, 500}, // a cap lowers
		{"1000", 0, 9000, Medium, 1000},
		{"", 0, 300, Low, 300},
		{"1", 0, 0, Low, 1},
		{"7.0", 0, 0, Medium, 7},
		{"2e3", 0, 0, Medium, 2000},
		{"9223372036854775807", 0, 0, High, math.MaxInt},
		{"9223372036854775808", 0, 0, High, math.MaxInt},
		{"1e400", 0, 0, Medium, math.MaxInt},
		{"", math.MaxInt, 0, High, math.MaxInt},
	} {
		got, err := ResolveBudget(Wish{MaxTokens: json.RawMessage(c.max), Session: c.session, Cap: c.limit, Effort: c.effort})
		if err != nil || got != (Budget{Tokens: c.want, Effort: c.effort}) {
			t.Errorf("%+v: %+v, %v", c, got, err)
		}
	}
	for raw, want := range map[string]string{
		"0":       "max_tokens is 0: give a whole number of at least 1",
		"-5":      "max_tokens is -5: give a whole number of at least 1",
		"-1e400":  "max_tokens is -1e400: give a whole number of at least 1",
		"0.5":     "max_tokens is 0.5, which is not whole: give a whole number of at least 1",
		"1000.25": "max_tokens is 1000.25, which is not whole: give a whole number of at least 1",
		`"500"`:   "max_tokens is no number but JSON of kind string: give a whole number of at least 1",
		"true":    "max_tokens is no number but JSON of kind boolean: give a whole number of at least 1",
		"[1]":     "max_tokens is no number but JSON of kind array: give a whole number of at least 1",
		"12x":     "max_tokens is no JSON: give a whole number of at least 1",
		"NaN":     "max_tokens is no JSON: give a whole number of at least 1",
	} {
		_, err := ResolveBudget(Wish{MaxTokens: json.RawMessage(raw)})
		if d := cmp.Diff(want, textOf(err)); d != "" {
			t.Errorf("max_tokens %s (-want +got):\n%s", raw, d)
		}
	}
	for _, w := range []Wish{{Session: -1}, {Cap: -1}} {
		if _, err := ResolveBudget(w); err == nil {
			t.Errorf("%+v is taken", w)
		}
	}
}
