package envelope

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/tool"
)

// hits is an object with n matches and a count.
func hits(n int) string {
	var b strings.Builder
	b.WriteString(`{"function":"f","matches":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"path":"src/file%d.go","line":%d}`, i, i*3)
	}
	return b.String() + fmt.Sprintf(`],"count":%d}`, n)
}

func tokensOf(text string) int { return newFitter(Result{Text: text}, Options{}).estimate }

// at fits a text with a budget of which it takes so many thousandths.
func at(text string, thousandths int, o Options) Shown {
	n := tokensOf(text)
	o.Budget.Tokens = max(n*1000/thousandths, 1)
	return Fit(Result{Text: text}, o)
}

// TestStageOfFit holds the stages on results: the table for each effort, and that what fits is no stub.
func TestStageOfFit(t *testing.T) {
	t.Parallel()
	text := records(24_000)
	for _, c := range []struct {
		effort Effort
		want   map[int]int // thousandths → stage
	}{
		{Low, map[int]int{600: 1, 700: 2, 800: 3, 880: 4, 950: 4, 3000: 4}},
		{Medium, map[int]int{700: 1, 800: 2, 900: 3, 970: 4, 1200: 4, 3000: 4}},
		{High, map[int]int{800: 1, 900: 2, 1000: 3, 1070: 4, 1300: 4, 3000: 4}},
	} {
		for used, want := range c.want {
			s := at(text, used, Options{Budget: Budget{Effort: c.effort}})
			if s.Stage != want {
				t.Errorf("effort %s, %d/1000 of the budget: stage %d, want %d", c.effort, used, s.Stage, want)
			}
			if wantCap := map[bool]int{true: 50_000, false: 25_000}[s.Stage == 1]; s.MaxResultSizeChars != wantCap {
				t.Errorf("stage %d announces %d", s.Stage, s.MaxResultSizeChars)
			}
			if s.Sent > s.Estimate*1000/used+1 {
				t.Errorf("effort %s, %d/1000: %d tokens are sent", c.effort, used, s.Sent)
			}
			holdsCover(t, text, s.Text, s.Stage)
		}
	}
	if s := Fit(Result{Text: text}, Options{Budget: Budget{Tokens: 60, Effort: Medium}}); s.Stage != 5 {
		t.Errorf("a budget of 60: stage %d", s.Stage)
	}
}

// TestFormsOfStages holds the bounds of stages 2 to 4 on one value of each kind.
func TestFormsOfStages(t *testing.T) {
	t.Parallel()
	const element = "1000000000000000000000000000000,"
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(element, n), ",") + "]" }
	text := fmt.Sprintf(`{"s240":%q,"s241":%q,"s1000":%q,"s1001":%q,"a5":%s,"a6":%s,"a20":%s,"a21":%s,"n":7,"in":{"deep":[%s,%s]}}`,
		strings.Repeat("a", 240), strings.Repeat("b", 300), strings.Repeat("c", 1000), strings.Repeat("d", 1400),
		list(5), list(6), list(20), list(21), list(21), list(2))
	tr, _ := parse([]byte(text), nil, nil)
	p := newPlan(tr)
	want := map[int][]string{
		2: {
			`"s1001":"` + strings.Repeat("d", 580) + `…[440 characters omitted]…` + strings.Repeat("d", 380) + `"`,
			`"s1000":"` + strings.Repeat("c", 1000) + `"`, `"a20":` + list(20), `"a21":` + list(20) + `,"a21_omitted_count":1`,
			`"in":{"deep":[[` + strings.Repeat(element, 20) + `{"_omitted_count":1}],` + list(2) + `]}`,
		},
		3: {
			`"s240":"` + strings.Repeat("a", 240) + `"`, `"s241":"` + strings.Repeat("b", 130) + `…[90 characters omitted]…` + strings.Repeat("b", 80) + `"`,
			`"a5":` + list(5) + `,"a6":` + list(5) + `,"a6_omitted_count":1,"a20":` + list(5) + `,"a20_omitted_count":15,"a21":` + list(5) + `,"a21_omitted_count":16`,
			`[` + strings.Repeat(element, 5) + `{"_omitted_count":16}]`,
		},
		4: {
			`"s240":"` + strings.Repeat("a", 24) + `…[200 characters omitted]…` + strings.Repeat("a", 16) + `"`,
			`"a21":` + list(3) + `,"a21_omitted_count":18`, `"n":7`, `,"truncated":true}`,
		},
	}
	for form, parts := range want {
		got := string(p.show(form))
		for _, part := range parts {
			if !strings.Contains(got, part) {
				t.Errorf("form %d has no\n%s\nbut is\n%s", form, part, got)
			}
		}
	}
}

// TestEndsAndFailures holds which elements an array keeps.
func TestEndsAndFailures(t *testing.T) {
	t.Parallel()
	build := func(failed ...int) string {
		var b strings.Builder
		for i := range 60 {
			level := "info"
			for _, f := range failed {
				if f == i {
					level = "error"
				}
			}
			fmt.Fprintf(&b, `,{"n":%d,"level":%q}`, i, level)
		}
		return "[" + b.String()[1:] + "]"
	}
	for _, c := range []struct {
		failed []int
		form   int
		want   string
	}{
		{nil, 3, "0 1 2 58 59"},
		{nil, 4, "0 1 59"},
		{[]int{30}, 4, "0 30 59"},
		{[]int{30, 31}, 3, "0 1 30 31 59"},
		{[]int{10, 20, 30, 40, 50}, 3, "0 10 20 30 59"},
		{[]int{0, 59}, 4, "0 1 59"},
	} {
		tr, _ := parse([]byte(build(c.failed...)), nil, nil)
		var got []struct{ N *int }
		if err := json.Unmarshal(newPlan(tr).show(c.form), &got); err != nil {
			t.Fatal(err)
		}
		var kept []string
		for _, e := range got[:len(got)-1] {
			kept = append(kept, fmt.Sprint(*e.N))
		}
		if d := cmp.Diff(c.want, strings.Join(kept, " ")); d != "" || got[len(got)-1].N != nil {
			t.Errorf("failures %v, form %d (-want +got):\n%s", c.failed, c.form, d)
		}
	}
}

// TestDeclaredFields holds that primary fields come first and protected ones are kept whole to the last.
func TestDeclaredFields(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{`)
	for i := range 40 {
		fmt.Fprintf(&b, `"field%02d":%q,`, i, strings.Repeat("v", 300))
	}
	entries := `["` + strings.Repeat(`main.go","`, 29) + `last.go"]`
	summary := strings.Repeat("s", 200)
	text := b.String() + `"entries":` + entries + `,"summary":"` + summary + `"}`
	policy := tool.Fit{Primary: []string{"summary", "nothing"}, Protected: []string{"entries"}}
	s := at(text, 1500, Options{Policy: policy, Budget: Budget{Effort: Medium}})
	data := string(member(t, s.Text, "data"))
	if want := `{"summary":"` + summary + `","entries":` + entries + `,"field00":`; s.Stage != 4 || !strings.HasPrefix(data, want) {
		t.Errorf("stage %d, data\n%s", s.Stage, data)
	}
	names := fields(t, data)
	if len(names) != 24+2 || names[24] != "_omitted_keys" || !strings.Contains(string(member(t, data, "_omitted_keys")), `"field39"`) {
		t.Errorf("the fields are %v", names)
	}
	stub := Fit(Result{Text: text}, Options{Policy: policy, Budget: Budget{Tokens: 400}})
	if got := fields(t, string(member(t, stub.Text, "data_preview"))); stub.Stage != 5 || got[0] != "summary" || got[1] != "entries" {
		t.Errorf("stage %d, the preview has %v", stub.Stage, got)
	}
}

// TestStub holds the order of a stub's fields, its clips, and that its hint is final.
func TestStub(t *testing.T) {
	t.Parallel()
	f := Judge(time.Unix(1000, 0), time.Unix(1100, 0), nil)
	o := Options{
		Budget: Budget{Tokens: 150}, Offered: []string{readTool, grepTool},
		Signals: Signals{Loop: "the same call of grep", Freshness: &f},
	}
	r := Result{Text: hits(200), Path: "tool-results/r3-1-grep.txt"}
	s := Fit(r, o)
	if d := cmp.Diff([]string{
		"success", "truncated", "compression_stage", "token_estimate", "effective_budget", "recovery_hint", "data_preview", "loop_warning", "freshness",
	}, fields(t, s.Text)); d != "" {
		t.Errorf("the fields of a stub (-want +got):\n%s", d)
	}
	want := `{"function":"f","matches":[{"path":"src/file0.go","line":0},{"path":"src/file1.go","line":3},{"path":"src/file199.go","line":597}],` +
		`"matches_omitted_count":197,"count":200}`
	if d := cmp.Diff(want, string(member(t, s.Text, "data_preview"))); d != "" {
		t.Errorf("the preview (-want +got):\n%s", d)
	}
	if d := cmp.Diff(`"matches: 197 omitted; the whole is kept: call workspace--read {\"path\":\"tool-results/r3-1-grep.txt\"} or `+
		`workspace--grep {\"path\":\"tool-results/r3-1-grep.txt\",\"pattern\":\"…\"}"`, string(member(t, s.Text, "recovery_hint"))); d != "" {
		t.Errorf("the hint (-want +got):\n%s", d)
	}
	// Both channels have the same hint, which is that of the preview.
	r.Structured, r.Output = json.RawMessage(r.Text), json.RawMessage(`{"type":"object"}`)
	s = Fit(r, o)
	warned := string(member(t, string(s.Structured), "truncation_warning"))
	if string(member(t, warned, "recovery_hint")) != string(member(t, s.Text, "recovery_hint")) || s.StructuredStage != 5 {
		t.Errorf("the channels have different hints:\n%s\n%s", warned, s.Text)
	}
	for _, key := range []string{"loop_warning", "freshness"} {
		if member(t, string(s.Structured), key) == nil {
			t.Errorf("the structured channel has no %s: %s", key, s.Structured)
		}
	}
	// The fields stay in the lean contract.
	o.Contract = Lean
	if lean := Fit(r, o); lean.Text != s.Text {
		t.Errorf("lean changed the stub:\n%s", lean.Text)
	}
}

// TestPreviewCap holds the cap of a preview for every budget: three UTF-16 units a token, at most 20,000.
func TestPreviewCap(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 160 {
		fmt.Fprintf(&b, `,"%s%03d":"%s"`, strings.Repeat("k", 70), i, strings.Repeat("😀", 90))
	}
	text := "{" + b.String()[1:] + "}"
	seen := map[bool]int{}
	for budget := 1; budget < 2_000_000; budget += 1 + budget/5 {
		s := Fit(Result{Text: text}, Options{Budget: Budget{Tokens: budget}, HostCap: 1})
		if n := len(utf16Of(s.Text)); n > MinChars {
			t.Fatalf("budget %d: %d units for a host that takes %d", budget, n, MinChars)
		}
		s = Fit(Result{Text: text}, Options{Budget: Budget{Tokens: budget}})
		if n := len(utf16Of(s.Text)); n > s.MaxResultSizeChars {
			t.Fatalf("budget %d: %d units, announced %d", budget, n, s.MaxResultSizeChars)
		}
		if s.Stage != 5 {
			continue
		}
		preview := member(t, s.Text, "data_preview")
		seen[preview != nil]++
		if n := len(utf16Of(string(preview))); n > min(budget*3, 20_000) {
			t.Fatalf("budget %d: a preview of %d units", budget, n)
		}
		if preview == nil && (string(member(t, s.Text, "success")) != "false" || member(t, s.Text, "error") == nil) {
			t.Fatalf("budget %d: neither preview nor error: %s", budget, s.Text)
		}
		if preview != nil && (string(member(t, s.Text, "success")) != "true" || member(t, s.Text, "error") != nil) {
			t.Fatalf("budget %d: a preview and an error: %s", budget, s.Text)
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("stubs with and without a preview: %v", seen)
	}
}

// TestNeverLonger holds that what is no longer than its stub is sent whole, whatever the budget.
func TestNeverLonger(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":1}`, `{"ok":true,"list":[1,2,3,4,5,6,7,8,9]}`, "[]", "short text", ""} {
		s := Fit(Result{Text: text}, Options{Budget: Budget{Tokens: 1}, Contract: Bare})
		if s.Text != text || !s.Same || s.Stage != 1 {
			t.Errorf("%s is shown at stage %d as %s", text, s.Stage, s.Text)
		}
	}
}

// TestWarningIsNotLonger holds that a stage is not taken of which the warning costs more than it saves.
func TestWarningIsNotLonger(t *testing.T) {
	t.Parallel()
	text := `{"a":"` + strings.Repeat("some text and ", 79) + `"}` // over 1,000 characters, but not by much
	if s := at(text, 700, Options{Budget: Budget{Effort: Low}}); s.Stage != 1 || string(member(t, s.Text, "data")) != text {
		t.Errorf("stage %d: %s", s.Stage, s.Text)
	}
}

// TestNoHalfCharacters holds that neither an escaped pair nor a character of several bytes is cut in two.
func TestNoHalfCharacters(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{`\ud83d\ude00`, `x\ud83d\ude00`, "界", "😀", `\\`, `\u65e5`, `é\n`} {
		text := `{"a":"` + strings.Repeat(unit, 1500) + `"}`
		tr, _ := parse([]byte(text), nil, nil)
		p := newPlan(tr)
		for form := 2; form < forms; form++ {
			var got struct{ A string }
			if err := json.Unmarshal(p.show(form), &got); err != nil || strings.ContainsRune(got.A, '\uFFFD') || !strings.Contains(got.A, "omitted") {
				t.Errorf("%s in form %d: %v %q", unit, form, err, got.A)
			}
		}
	}
}

// TestHintNamesOnlyWhatCanBeCalled holds the tools and arguments of a hint.
func TestHintNamesOnlyWhatCanBeCalled(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 5000)
	for name, c := range map[string]struct {
		r       Result
		policy  tool.Fit
		offered []string
		want    string
	}{
		"kept, both":     {Result{Path: "p"}, tool.Fit{}, []string{readTool, grepTool}, `m: 7 omitted; the whole is kept: call workspace--read {"path":"p"} or workspace--grep {"path":"p","pattern":"…"}`},
		"kept, one":      {Result{Path: "p"}, tool.Fit{Narrow: []string{"x"}}, []string{grepTool}, `m: 7 omitted; the whole is kept: call workspace--grep {"path":"p","pattern":"…"}`},
		"kept, none":     {Result{Path: "p"}, tool.Fit{}, []string{"other"}, `m: 7 omitted; the whole is kept at p`},
		"not kept":       {Result{}, tool.Fit{Narrow: []string{"path", "max_results"}}, []string{readTool}, `m: 7 omitted; narrow the call with path or max_results`},
		"disk full":      {Result{Unkept: "disk full"}, tool.Fit{}, nil, `m: 7 omitted; the rest was not kept (disk full)`},
		"nothing":        {Result{}, tool.Fit{}, nil, `m: 7 omitted`},
		"never found":    {Result{}, tool.Fit{Completeness: "not_found", Narrow: []string{"path"}}, []string{grepTool}, `what was asked for was not found, so a larger budget recovers nothing: search for it with workspace--grep; m: 7 omitted`},
		"clipped before": {Result{}, tool.Fit{Completeness: "clipped"}, nil, `m: 7 omitted; the tool itself had already clipped it`},
		"long":           {Result{Path: long}, tool.Fit{}, nil, `m: 7 omitted; the whole is kept at ` + long[:79] + `…`},
		"long argument":  {Result{}, tool.Fit{Narrow: []string{long}}, nil, `m: 7 omitted; narrow the call with ` + long[:79] + `…`},
	} {
		o := Options{Policy: c.policy, Offered: c.offered}
		h := hint{result: c.r, options: &o, completeness: c.policy.Completeness, field: "m", omitted: 7}
		if d := cmp.Diff(c.want, h.String()); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	// A key of 50,000 characters does not blow up a hint, nor a preview.
	s := Fit(Result{Text: `{"` + strings.Repeat("k", 50_000) + `":[` + strings.Repeat("0,", 500) + `0]}`}, Options{Budget: Budget{Tokens: 200}})
	if s.Stage < 4 || len(s.Text) > 1000 {
		t.Errorf("stage %d, a text of %d bytes: %s", s.Stage, len(s.Text), s.Text)
	}
	// Suggestions as well.
	s = Fit(Result{Text: `{"a":1}`}, Options{Offered: []string{"a", "b"}, Signals: Signals{
		NextTools: []string{"gone", "a", "a", "b"}, NextCalls: []NextCall{{Tool: "gone"}, {Tool: "b", Args: json.RawMessage(`{"x": 1}`), Reason: "why"}, {Tool: "a", Args: json.RawMessage(`{`)}},
	}})
	if d := cmp.Diff(`["a","b"] [{"tool":"b","arguments":{"x":1}}] {"b":"why"}`, fmt.Sprintf("%s %s %s",
		member(t, s.Text, "suggested_next_tools"), member(t, s.Text, "suggested_next_calls"), member(t, s.Text, "suggestion_reasons"))); d != "" {
		t.Errorf("suggestions (-want +got):\n%s", d)
	}
}

// TestMarksDoNotCollide holds that a payload's own field is never overwritten by a mark.
func TestMarksDoNotCollide(t *testing.T) {
	t.Parallel()
	list := "[" + strings.Repeat("123456,", 40) + "1]"
	own := `"a_omitted_count":"mine","_weir_a_omitted_count":"too","truncated":false,"_omitted_keys":["x"]`
	text := `{"a":` + list + `,` + own + `,"b":[` + list + `,{"_omitted_count":3}]}`
	s := at(text, 1300, Options{Budget: Budget{Effort: Medium}})
	data := string(member(t, s.Text, "data"))
	for _, part := range []string{own, `"_weir__weir_a_omitted_count":38,`, `{"_weir_omitted_count":38}`, `"_weir_truncated":true`} {
		if !strings.Contains(data, part) {
			t.Errorf("the data has no %s:\n%s", part, data)
		}
	}
	holdsCover(t, text, s.Text, s.Stage)
}

// TestOutputSchema holds what the structured channel does where its schema is strict.
func TestOutputSchema(t *testing.T) {
	t.Parallel()
	text := hits(300)
	strict := errors.New("minItems")
	big := hits(3000)
	for name, c := range map[string]struct {
		text, output string
		conforms     func(json.RawMessage) error
		stage        int
		isError      bool
		meta         bool
		check        func(s string) bool
	}{
		"open": {text, `{"type":"object"}`, nil, 4, false, false, func(s string) bool {
			return strings.Contains(s, `},"truncation_warning"`) || strings.Contains(s, `,"truncation_warning":`)
		}},
		"closed": {text, `{"type":"object","additionalProperties":false}`, nil, 4, false, true, func(s string) bool {
			return !strings.Contains(s, "truncation_warning") && strings.Contains(s, `"matches_omitted_count":297`)
		}},
		"_weir": {text, `{"type":"object","additionalProperties":false,"properties":{"_weir":{}}}`, nil, 4, false, false, func(s string) bool {
			return strings.Contains(s, `,"_weir":{"truncation_warning":{"compression_stage":4,`)
		}},
		"needs the whole": {text, `{}`, func(v json.RawMessage) error {
			if len(v) < len(text) {
				return strict
			}
			return nil
		}, 1, false, false, func(s string) bool { return s == text }},
		"needs the whole, over the host's cap": {big, `{}`, func(v json.RawMessage) error {
			if len(v) < len(big) {
				return strict
			}
			return nil
		}, 0, true, false, func(s string) bool { return s == "" }},
	} {
		r := Result{Text: c.text, Structured: json.RawMessage(c.text), Output: json.RawMessage(c.output), Path: "tool-results/r1-1-f.txt"}
		s := Fit(r, Options{Budget: Budget{Tokens: 1000}, Conforms: c.conforms, Offered: []string{readTool}})
		if s.StructuredStage != c.stage || s.IsError != c.isError || (s.Signals != nil) != c.meta || !c.check(string(s.Structured)) {
			t.Errorf("%s: stage %d, error %v, signals %s\n%.700s\n%s", name, s.StructuredStage, s.IsError, s.Signals, s.Structured, s.Text)
		}
		if c.isError && (string(member(t, s.Text, "success")) != "false" || !strings.Contains(s.Text, "tool-results/r1-1-f.txt")) {
			t.Errorf("%s: %s", name, s.Text)
		}
		if c.meta && !strings.Contains(string(s.Signals), `"truncation_warning":{"compression_stage":4`) {
			t.Errorf("%s: the signals are %s", name, s.Signals)
		}
	}
	// Without a schema there is no structured content, and with one a success never lacks it.
	if s := Fit(Result{Text: text, Structured: json.RawMessage(text)}, Options{}); s.Structured != nil {
		t.Errorf("without a schema: %.100s", s.Structured)
	}
	for _, value := range []string{"0", "false", "null", `""`, "[]", "{}", `[1,2]`} {
		if s := Fit(Result{Text: "t", Structured: json.RawMessage(value), Output: json.RawMessage(`{}`)}, Options{}); string(s.Structured) != value {
			t.Errorf("%s is sent as %s", value, s.Structured)
		}
	}
	// A text that is no JSON, beside a large structured value: both say what is left out.
	s := Fit(Result{Text: strings.Repeat("found it\n", 2000), Structured: json.RawMessage(text), Output: json.RawMessage(`{}`)}, Options{Budget: Budget{Tokens: 1000}})
	if s.Stage < 2 || s.StructuredStage != 4 || !strings.Contains(s.Text, "[truncated: stage ") || !strings.Contains(string(s.Structured), "truncation_warning") {
		t.Errorf("stages %d and %d:\n%s", s.Stage, s.StructuredStage, s.Text)
	}
}

// TestDeep holds that nesting of any depth is shown in bounded time and space.
func TestDeep(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{500, canon.MaxDepth, 100_000} {
		for _, text := range []string{
			strings.Repeat("[", depth) + strings.Repeat("]", depth),
			strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth),
			strings.Repeat(`[[1,2,3,4,5,6],`, depth) + "1" + strings.Repeat("]", depth),
		} {
			start := time.Now()
			s := Fit(Result{Text: text}, Options{Budget: Budget{Tokens: 100}})
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("depth %d takes %s", depth, took)
			}
			// Deeper than JSON may be it is text, shortened and labelled.
			if !canon.Valid([]byte(text)) && strings.Contains(s.Text, "omitted") && strings.Contains(s.Text, "[truncated: stage 4") && len(s.Text) < 1500 {
				continue
			}
			if s.Stage != 5 || len(s.Text) > 1500 || !json.Valid([]byte(s.Text)) {
				t.Errorf("depth %d is at stage %d with %d bytes: %.200s", depth, s.Stage, len(s.Text), s.Text)
			}
		}
	}
}
