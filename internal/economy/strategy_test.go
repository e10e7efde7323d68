package economy

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tokens"
	"github.com/weir-run/weir/tool"
)

// strategy is a way to show a result in a budget of tokens.
type strategy struct {
	name string
	weir bool
	// kept says that the whole can be read and searched afterwards.
	kept bool
	show func(t testing.TB, s sample, budget int) string
}

// The strategies: what others do first, as far as it is to be seen in them, then Weir's.
var strategies = []strategy{
	{"raw", false, false, func(_ testing.TB, s sample, _ int) string { return s.text }},
	{"head", false, false, func(_ testing.TB, s sample, budget int) string { return first(s.text, budget*4) }},
	{"head and tail", false, false, headTail},
	{"clip 3/240", false, false, clip},
	{"spill, 1,500 characters", false, true, spillHead},
	{"Weir preview", true, true, preview},
	{"Weir envelope", true, true, fitted},
}

func first(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func headTail(_ testing.TB, s sample, budget int) string {
	n := budget * 4
	if len(s.text) <= n {
		return s.text
	}
	tail := len(s.text) - n/2
	for !utf8.RuneStart(s.text[tail]) {
		tail++
	}
	return first(s.text, n/2) + "\n… truncated …\n" + s.text[tail:]
}

// clip estimates four bytes a token and shortens what is over: arrays to 3 elements and strings to 240
// characters in JSON, lines to 240 and then the head of it in text.
func clip(_ testing.TB, s sample, budget int) string {
	if len(s.text)/4 <= budget {
		return s.text
	}
	var value any
	if json.Unmarshal([]byte(s.text), &value) != nil {
		var b strings.Builder
		for line := range strings.Lines(s.text) {
			b.WriteString(first(line, 240))
		}
		return first(b.String(), budget*4) + "\n… truncated"
	}
	out, err := json.Marshal(clipValue(value))
	if err != nil {
		return s.text
	}
	return string(out)
}

func clipValue(v any) any {
	switch x := v.(type) {
	case map[string]any:
		for key, item := range x {
			x[key] = clipValue(item)
		}
	case []any:
		x = x[:min(len(x), 3)]
		for i, item := range x {
			x[i] = clipValue(item)
		}
		return x
	case string:
		return first(x, 240)
	}
	return v
}

func spillHead(_ testing.TB, s sample, _ int) string {
	if utf8.RuneCountInString(s.text) <= 1500 {
		return s.text
	}
	return string([]rune(s.text)[:1500]) + fmt.Sprintf("\n… truncated. Full output (%d bytes): %s", len(s.text), path)
}

// path is where the whole is kept.
const path = "tool-results/r1-1-run.txt"

var offered = []string{"workspace--read", "workspace--grep"}

// room is how many characters a budget is for a text, by estimate.
func room(text string, budget int) int {
	n := tokens.Estimate(text)
	chars := utf8.RuneCountInString(text)
	if n <= budget {
		return max(chars, 1000)
	}
	return max(1000, chars*budget/n)
}

func preview(t testing.TB, s sample, budget int) string {
	t.Helper()
	w := execute.Convert(execute.Prepared{}, tool.Text(s.text), "tool-results/r1-1-run")
	within := room(s.text, budget)
	if w.MustKeep(within) {
		dir, err := spill.NewDir(t.TempDir(), spill.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if w.Keep(t.Context(), dir, spill.Name{Conversation: "c", Result: "r1-1", Tool: "run"}); w.Unkept != "" {
			t.Fatal(w.Unkept)
		}
	}
	return w.Fit(within, offered).Text
}

func fitted(t testing.TB, s sample, budget int) string {
	t.Helper()
	b, err := envelope.ResolveBudget(envelope.Wish{Session: budget, Effort: envelope.Medium})
	if err != nil {
		t.Fatal(err)
	}
	return envelope.Fit(envelope.Result{Text: result.Text(tool.Text(s.text)), Path: path}, envelope.Options{
		Budget: b, Offered: offered, Contract: envelope.Bare,
	}).Text
}

// sound says what is wrong with what is shown: it is no text, or less than the whole without a word that
// says so; JSON that was cut counts as labelled when it has one.
func sound(s sample, shown string) string {
	switch {
	case !utf8.ValidString(shown):
		return "no text"
	case shown == s.text, same(s.text, shown):
		return ""
	}
	for _, word := range []string{"Excerpt", "truncat", "omitted", "left out"} {
		if strings.Contains(shown, word) {
			return ""
		}
	}
	return "a loss without a mark"
}

// same says that two texts are the same JSON.
func same(a, b string) bool {
	return canon.Valid([]byte(a)) && string(canon.Compact([]byte(a))) == string(canon.Compact([]byte(b)))
}
