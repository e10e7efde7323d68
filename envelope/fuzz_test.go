package envelope

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/tool"
)

// seeds are payloads that broke something somewhere.
func seeds() []string {
	wide := func(n int, field string) string {
		var b strings.Builder
		b.WriteByte('{')
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, field, i)
		}
		return b.String() + "}"
	}
	return []string{
		"", "plain", "{}", "[]", `{"a":1}`, `[[[]]]`, "null", "7", `"text"`,
		records(3000), "[" + strings.Repeat(`{"v":"x"},`, 300) + `{"v":"y"}]`,
		wide(200, `"k%d":"a value of some length that counts"`), wide(60, `"k%d":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22]`),
		`{"a":[1,2,3,4,5,6,7],"a_omitted_count":"mine","truncated":false,"_omitted_keys":1,"data_preview":2,"error":3,"truncation_warning":4,"_weir":5}`,
		`{"a":1,"a":[` + strings.Repeat("1,", 99) + `1],"a":"` + strings.Repeat("é", 2000) + `"}`,
		`{"` + strings.Repeat("k", 50_000) + `":[` + strings.Repeat("0,", 500) + `0],"` + strings.Repeat("k", 50_000) + `":1}`,
		`["` + strings.Repeat(`\ud83d\ude00`, 900) + `","` + strings.Repeat(`\ud83d`, 300) + `"]`,
		`{"n":123456789012345678901234567890,"e":1e999,"z":-0.0,"f":1.50}`,
		strings.Repeat("[", 300) + strings.Repeat("]", 300), strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300),
		"a log\n" + strings.Repeat("nothing\n", 900) + "ERROR here\n" + strings.Repeat("more\n", 900),
		strings.Repeat("x", 9000), strings.Repeat("界", 9000), "\xff\xfe{", "{\"a\":\"\xff\"}", strings.Repeat("\n", 5000),
		`{"ok":false,"items":[` + strings.Repeat(`{"level":"info"},`, 40) + `{"level":"error","m":"it"},` + strings.Repeat(`{"level":"info"},`, 40) + `{}]}`,
	}
}

// FuzzFit holds what a fit promises, for any result, budget, effort and contract.
func FuzzFit(f *testing.F) {
	for i, s := range seeds() {
		for _, budget := range []uint32{1, 37, 300, 4000, 999_999} {
			f.Add(s, budget, uint8(i))
		}
	}
	f.Fuzz(func(t *testing.T, text string, budget uint32, bits uint8) {
		o := Options{
			Budget:  Budget{Tokens: 1 + int(budget)%1_000_000, Effort: Effort(bits % 3)},
			Offered: []string{readTool, grepTool},
		}
		if bits&8 != 0 {
			o.Policy = tool.Fit{Class: "workflow", Narrow: []string{"path"}, Primary: []string{"count", "k7", "n"}, Protected: []string{"a", "items", "took"}}
		}
		if bits&16 != 0 {
			o.Chars = 1000 + int(budget)%5000
		}
		if bits&32 != 0 {
			o.Signals = Signals{Loop: "the same call", NextTools: []string{readTool, "nowhere"}, Routing: "sync", Freshness: &Freshness{Bucket: Drifted}}
		}
		r := Result{Text: text, IsError: bits&64 != 0}
		if bits&128 != 0 {
			r.Path = "tool-results/r1-1-x.txt"
		}
		promised(t, r, o)
	})
}

// promised fits a result in every contract and holds it to what is promised.
func promised(t *testing.T, r Result, o Options) {
	t.Helper()
	if canon.Valid([]byte(r.Text)) {
		r.Structured, r.Output = json.RawMessage(r.Text), json.RawMessage(`{"type":"object"}`)
	}
	var stage int
	var data string
	for _, c := range []Contract{Full, Lean, Bare} {
		o.Contract = c
		s := Fit(r, o)
		if again := Fit(r, o); again.Text != s.Text || string(again.Structured) != string(s.Structured) {
			t.Fatal("the same input gave other bytes")
		}
		holdsBounds(t, r, o, s)
		isJSON := newFitter(r, o).plan != nil
		if isJSON && !s.IsError && c != Bare {
			holdsCover(t, clean(r.Text), s.Text, s.Stage)
		}
		if c == Bare {
			if s.Stage != stage {
				t.Errorf("stage %d, and %d in the other contracts", s.Stage, stage)
			}
			continue
		}
		got := ""
		if isJSON {
			got = string(member(t, s.Text, "data")) + string(member(t, s.Text, "data_preview"))
		}
		if c == Lean && (s.Stage != stage || got != data) {
			t.Errorf("lean is at stage %d with %.80s, full at %d with %.80s", s.Stage, got, stage, data)
		}
		if isJSON && s.Structured != nil && !s.IsError && s.StructuredStage == s.Stage && got != "" && got[0] == '{' &&
			!strings.HasPrefix(string(s.Structured), strings.TrimSuffix(got, "}")) {
			t.Errorf("the data of the two channels differ:\n%.200s\n%.200s", got, s.Structured)
		}
		stage, data = s.Stage, got
	}
	holdsPressure(t, r, o)
}

func clean(text string) string {
	out, _ := canon.CleanJSON([]byte(text))
	return string(out)
}

// holdsBounds holds that a text is valid, marked and no longer than it may be, measured on its final bytes.
func holdsBounds(t *testing.T, r Result, o Options, s Shown) {
	t.Helper()
	if !utf8.ValidString(s.Text) || !utf8.Valid(s.Structured) {
		t.Fatal("it is no UTF-8")
	}
	isJSON := newFitter(r, o).plan != nil
	if isJSON && !json.Valid([]byte(s.Text)) {
		t.Fatalf("it is no JSON: %.300s", s.Text)
	}
	if s.Structured != nil && !json.Valid(s.Structured) {
		t.Fatalf("the structured content is no JSON: %.300s", s.Structured)
	}
	if got := len(utf16Of(s.Text)); got > s.MaxResultSizeChars {
		t.Errorf("%d UTF-16 units, of at most %d", got, s.MaxResultSizeChars)
	}
	if o.Chars > 0 && utf8.RuneCountInString(s.Text) > max(o.Chars, MinChars) {
		t.Errorf("%d characters in a room of %d", utf8.RuneCountInString(s.Text), o.Chars)
	}
	if s.Stage >= 2 && !strings.Contains(s.Text, `"compression_stage":`) && !strings.Contains(s.Text, "[truncated: stage ") {
		t.Errorf("nothing says that it is at stage %d: %.300s", s.Stage, s.Text)
	}
	if o.Signals.Loop != "" && !strings.Contains(s.Text, o.Signals.Loop) {
		t.Errorf("the loop is not warned of: %.300s", s.Text)
	}
	if s.Structured != nil && s.Structured[0] == '{' && o.Signals.Loop != "" && !strings.Contains(string(s.Structured)+string(s.Signals), o.Signals.Loop) {
		t.Errorf("the loop is not warned of in the structured channel: %.300s", s.Structured)
	}
	if f := newFitter(r, o); s.Stage < 5 && s.Sent > o.Budget.Tokens && len(s.Text) > f.stubLen() && o.Contract == Full {
		t.Errorf("stage %d sends %d tokens for a budget of %d, and is longer than its stub", s.Stage, s.Sent, o.Budget.Tokens)
	}
}

// holdsPressure holds that a smaller budget never keeps more.
func holdsPressure(t *testing.T, r Result, o Options) {
	t.Helper()
	o.Contract = Full
	before := Fit(r, o)
	isJSON := newFitter(r, o).plan != nil
	keeps := func(s Shown) int {
		if !isJSON || s.IsError && s.Stage == 5 {
			return 0
		}
		return len(member(t, s.Text, "data")) + len(member(t, s.Text, "data_preview"))
	}
	for o.Budget.Tokens > 1 {
		o.Budget.Tokens /= 2
		s := Fit(r, o)
		if s.Stage < before.Stage && len(s.Text) > len(before.Text) {
			t.Errorf("budget %d: stage %d with %d bytes after stage %d with %d", o.Budget.Tokens, s.Stage, len(s.Text), before.Stage, len(before.Text))
		}
		if a, b := keeps(before), keeps(s); b > a {
			t.Errorf("budget %d: stage %d keeps %d bytes, a larger one at stage %d kept %d", o.Budget.Tokens, s.Stage, b, before.Stage, a)
		}
		before = s
	}
	// Forms of one payload: each is no longer than the one before.
	if f := newFitter(r, o); f.plan != nil {
		f.plan.upTo(outline)
		for form := 2; form < forms; form++ {
			data := f.plan.show(form)
			if len(data) != int(f.plan.size(0, form)) {
				t.Errorf("form %d has %d bytes, calculated were %d", form, len(data), f.plan.size(0, form))
			}
			if len(data) > int(f.plan.size(0, form-1)) {
				t.Errorf("form %d is longer than form %d", form, form-1)
			}
		}
	}
}

func utf16Of(s string) []uint16 {
	var out []uint16
	for _, r := range s {
		if r > 0xFFFF {
			out = append(out, 0)
		}
		out = append(out, uint16(r))
	}
	return out
}
