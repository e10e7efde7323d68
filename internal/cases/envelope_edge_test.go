package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/envelope/fingerprint"
	"github.com/weir-run/weir/envelope/loop"
	"github.com/weir-run/weir/tool"
)

// envelopeEdges are the edge cases of the envelope, 01 to 55, and m49 to m56, those of shaping and tokens.
func envelopeEdges() map[string]item {
	return map[string]item{
		"01": hintIsFinal, "02": previewWithoutSchema, "03": underTheHostsCap, "04": nothingThatIsNotThere, "05": hintsAreCallable,
		"06": clippedOrNeverFound, "07": hugeKey, "08": lossAtTheTop, "09": countsAgree, "10": protectedInBoth, "11": nineKeys,
		"12": omittedKeysNamed, "13": protectedByName, "14": moreThanTheDefault, "18": truncatedStaysFalse, "19": neverHarsher,
		"20": validInAnyScript, "21": nestedLosses, "22": whatFitsIsUsed, "23": lowEffortFits, "24": oddBudgets, "26": noErrorInASuccess,
		"27": spoofedMarks, "28": protectedOverAnyCap, "29": loopInAStub, "30": stageInTheText, "31": retryableInTheText,
		"32": nothingVolatile, "33": sameOrder, "34": freshnessStays, "35": zerosStay, "36": leanIsNotCompact, "38": unknownArgument,
		"39": metadataIsNoDifference, "40": ringsOfTheirOwn, "41": errorsAreCounted, "42": pollingIsNoLoop, "43": circleOfTwo,
		"44": slowThenFast, "45": neverTheRepeated, "46": clockGoesBack, "47": freshnessAtItsBounds, "48": idleIsNotStale,
		"50": suggestedIsCallable, "51": fingerprintOfAnyOrder, "52": fingerprintOfTheToolsAlone, "53": allProblemsAtOnce,
		"m53": sameDataInBoth, "m55": boundedTime,
	}
}

// envelopeElsewhere says of the others where they are held, or why they cannot apply.
var envelopeElsewhere = map[string]elsewhere{
	"15":  {file: "internal/cli/script_test.go", test: "TestStories"}, // testdata/read.txtar: weir read prints the whole
	"16":  {file: "spill/dir_test.go", test: "TestSweep"},             // a whole lives as long as the row that names it
	"17":  {waits: "nothing here serves one call's result for another: a result is its row, and there is no cache of results"},
	"25":  {file: "tokens/estimate_test.go", test: "TestEstimateError"},
	"37":  {waits: "a call carries no session keys here; _lean and its like are not arguments of a tool"},
	"49":  {waits: "there is no watcher that could die unseen: what a result was made from is compared when it is asked for"},
	"54":  {waits: "there are no presets and profiles that exclude each other"},
	"55":  {file: "envelope/corpus_test.go", test: "TestFactsKept"},
	"m49": {file: "result/shape/meter_test.go", test: "TestMeterInGo"},
	"m50": {file: "result/shape/meter_test.go", test: "TestMeterInGo"},
	"m51": {file: "result/shape/markdown_test.go", test: "TestPrune"},
	"m52": {file: "result/shape/markdown_test.go", test: "TestMarkdown"},
	"m54": {file: "tokens/oracle_test.go", test: "TestHardTexts"},
	"m56": {file: "result/shape/shape_test.go", test: "TestJQRefuses"},
}

// TestEnvelopeEdge runs every edge case of the envelope as a subtest of its number.
func TestEnvelopeEdge(t *testing.T) {
	t.Parallel()
	runItems(t, envelopeEdges())
}

// TestEnvelopeEdgesAreComplete holds that no number is left out without a word.
func TestEnvelopeEdgesAreComplete(t *testing.T) {
	t.Parallel()
	var ids []string
	for n := range 55 {
		ids = append(ids, fmt.Sprintf("%02d", n+1))
	}
	for n := 49; n <= 56; n++ {
		ids = append(ids, fmt.Sprintf("m%d", n))
	}
	complete(t, ids, envelopeEdges(), envelopeElsewhere)
}

// matches is a payload with a list of so many, in JSON.
func matches(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"path":"src/package/file%d.go","line":%d,"text":"func name%d() error {"}`, i, i, i)
	}
	return `{"query":"q","matches":[` + strings.TrimPrefix(b.String(), ",") + fmt.Sprintf(`],"count":%d,"sampled":false}`, n)
}

const wholePath = "tool-results/r1-1-find.txt"

// fitting fits a payload, as text and as structured content, to a budget at medium effort.
func fitting(text string, budget int, o envelope.Options) envelope.Shown {
	o.Budget = envelope.Budget{Tokens: budget, Effort: envelope.Medium}
	return envelope.Fit(envelope.Result{Text: text, Structured: json.RawMessage(text), Output: json.RawMessage(`{"type":"object"}`), Path: wholePath}, o)
}

// memberOf decodes a member of a JSON object, by the path to it.
func memberOf(t *testing.T, object string, path ...string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(object), &v); err != nil {
		t.Fatalf("%v: %.300s", err, object)
	}
	for _, key := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

func has(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s has no %s:\n%.900s", what, p, text)
		}
	}
}

func hasNot(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(text, p) {
			t.Errorf("%s has %s:\n%.900s", what, p, text)
		}
	}
}

func hintIsFinal(t *testing.T) {
	s := fitting(matches(400), 120, envelope.Options{Offered: []string{"workspace--read"}})
	a, b := memberOf(t, s.Text, "recovery_hint"), memberOf(t, string(s.Structured), "truncation_warning", "recovery_hint")
	if s.Stage != 5 || a == nil || a != b {
		t.Errorf("stage %d, the hints are\n%v\n%v", s.Stage, a, b)
	}
	has(t, "the hint", fmt.Sprint(a), "matches: ", " omitted", wholePath)
}

func previewWithoutSchema(t *testing.T) {
	s := envelope.Fit(envelope.Result{Text: matches(400)}, envelope.Options{Budget: envelope.Budget{Tokens: 150}})
	if s.Structured != nil || memberOf(t, s.Text, "data_preview", "query") != "q" {
		t.Errorf("structured %s, text %s", s.Structured, s.Text)
	}
}

func underTheHostsCap(t *testing.T) {
	text := `{"rows":["` + strings.Repeat(`界😀","`, 40) + strings.Repeat("界", 90_000) + `"],"more":{` + strings.TrimPrefix(strings.Repeat(`,"k":"`+strings.Repeat("v", 300)+`"`, 90), ",") + `}}`
	for budget := 1; budget <= 1_000_000; budget = budget*2 + 1 {
		s := fitting(text, budget, envelope.Options{})
		if n := len(utf16.Encode([]rune(s.Text))); n > s.MaxResultSizeChars || !json.Valid([]byte(s.Text)) {
			t.Errorf("budget %d: %d units of %d, valid %v", budget, n, s.MaxResultSizeChars, json.Valid([]byte(s.Text)))
		}
	}
}

func nothingThatIsNotThere(t *testing.T) {
	s := envelope.Fit(envelope.Result{Text: matches(400)}, envelope.Options{Budget: envelope.Budget{Tokens: 150}, Offered: []string{"workspace--read", "workspace--grep"}})
	hasNot(t, "a hint of what was not kept", s.Text, "workspace--", "tool-results")
}

func hintsAreCallable(t *testing.T) {
	all := []string{"workspace--read", "workspace--grep", "other", "more"}
	for bits := range 16 {
		var offered []string
		for i, name := range all {
			if bits&(1<<i) != 0 {
				offered = append(offered, name)
			}
		}
		for _, budget := range []int{150, 1500, 100_000} {
			s := fitting(matches(400), budget, envelope.Options{Offered: offered, Policy: tool.Fit{Completeness: "not_found"}, Signals: envelope.Signals{NextTools: all, NextCalls: []envelope.NextCall{{Tool: "other"}, {Tool: "more"}}}})
			for _, name := range all {
				if said := strings.Contains(s.Text+string(s.Structured), name); said && !slices.Contains(offered, name) {
					t.Errorf("offered %v, budget %d: %s is named:\n%s", offered, budget, name, s.Text)
				}
			}
		}
	}
}

func clippedOrNeverFound(t *testing.T) {
	o := envelope.Options{Offered: []string{"workspace--grep"}}
	lost := strings.Replace(matches(400), `"query"`, `"completeness":"not_found","query"`, 1)
	has(t, "what was never found", fitting(lost, 400, o).Text, "was not found, so a larger budget recovers nothing: search for it with workspace--grep")
	hasNot(t, "what was clipped", fitting(matches(400), 400, o).Text, "not found")
	clipped := strings.Replace(matches(400), `"query"`, `"completeness":"clipped","query"`, 1)
	has(t, "what was clipped before", fitting(clipped, 400, o).Text, "the tool itself had already clipped it")
}

func hugeKey(t *testing.T) {
	key := strings.Repeat("key", 20_000)
	s := fitting(`{"`+key+`":["`+strings.Repeat(`value","`, 400)+`"],"a":{"`+key+`":1}}`, 60, envelope.Options{})
	if hint := fmt.Sprint(memberOf(t, s.Text, "recovery_hint")); s.Stage < 4 || len(hint) > 700 || len(s.Text) > 1500 {
		t.Errorf("stage %d, %d bytes, the hint %s", s.Stage, len(s.Text), hint)
	}
}

func lossAtTheTop(t *testing.T) {
	s := fitting(matches(287), 1500, envelope.Options{})
	for _, at := range []any{memberOf(t, s.Text, "truncation_warning", "compression_stage"), memberOf(t, string(s.Structured), "truncation_warning", "compression_stage")} {
		if at != float64(4) {
			t.Errorf("the mark at the top says %v", at)
		}
	}
	if n := memberOf(t, s.Text, "data", "matches_omitted_count"); n != float64(284) {
		t.Errorf("omitted are %v", n)
	}
}

func countsAgree(t *testing.T) {
	for _, budget := range []int{150, 700, 1200, 1500, 1700, 2500} {
		s := fitting(matches(62), budget, envelope.Options{})
		data := memberOf(t, s.Text, "data")
		if s.Stage == 5 {
			data = memberOf(t, s.Text, "data_preview")
		}
		m := data.(map[string]any)
		omitted, _ := m["matches_omitted_count"].(float64)
		if m["count"] != float64(62) || len(m["matches"].([]any))+int(omitted) != 62 {
			t.Errorf("stage %d: count %v, %d shown, %v omitted", s.Stage, m["count"], len(m["matches"].([]any)), omitted)
		}
	}
}

func protectedInBoth(t *testing.T) {
	refs := `["` + strings.TrimSuffix(strings.Repeat(`one/reference.go","`, 30), `,"`) + `]`
	text := strings.Replace(matches(400), `"query"`, `"references":`+refs+`,"query"`, 1)
	s := fitting(text, 2000, envelope.Options{Policy: tool.Fit{Protected: []string{"references"}}})
	if s.Stage != 4 {
		t.Fatalf("stage %d", s.Stage)
	}
	has(t, "the text", s.Text, `"references":`+refs)
	has(t, "the structured content", string(s.Structured), `"references":`+refs)
}

func nineKeys(t *testing.T) {
	text := `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10}`
	s := fitting(text, 1000, envelope.Options{})
	has(t, "the text", s.Text, `"data":`+text)
	hasNot(t, "the text", s.Text, "truncated", "omitted")
}

func omittedKeysNamed(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `,"field%02d":%q`, i, strings.Repeat("value ", 40))
	}
	s := fitting("{"+b.String()[1:]+"}", 1500, envelope.Options{})
	names, _ := memberOf(t, s.Text, "data", "_omitted_keys").([]any)
	if s.Stage != 4 || len(names) != 16 || names[0] != "field24" || names[15] != "field39" {
		t.Errorf("stage %d, named are %v", s.Stage, names)
	}
}

func protectedByName(t *testing.T) {
	// Another name is as good as the ones that the field's tools have.
	entries := `["` + strings.TrimSuffix(strings.Repeat(`entry","`, 25), `,"`) + `]`
	text := strings.Replace(matches(400), `"query"`, `"my_way_back":`+entries+`,"query"`, 1)
	has(t, "the text", fitting(text, 2000, envelope.Options{Policy: tool.Fit{Protected: []string{"my_way_back"}}}).Text, `"my_way_back":`+entries)
	hasNot(t, "the text without a declaration", fitting(text, 2000, envelope.Options{}).Text, entries)
}

func moreThanTheDefault(t *testing.T) {
	b, err := envelope.ResolveBudget(envelope.Wish{MaxTokens: json.RawMessage("16000")})
	if err != nil || b.Tokens != 16_000 {
		t.Fatalf("%+v, %v", b, err)
	}
	if s := envelope.Fit(envelope.Result{Text: matches(300)}, envelope.Options{Budget: b}); s.Stage != 1 || s.Sent <= envelope.DefaultBudget {
		t.Errorf("stage %d, %d tokens", s.Stage, s.Sent)
	}
}

func truncatedStaysFalse(t *testing.T) {
	text := strings.Replace(matches(400), `"sampled"`, `"truncated":false,"sampled"`, 1)
	for _, budget := range []int{150, 2000, 100_000} {
		s := fitting(text, budget, envelope.Options{})
		at := []string{"data", "truncated"}
		if s.Stage == 5 {
			at[0] = "data_preview"
		}
		if v := memberOf(t, s.Text, at...); v != false {
			t.Errorf("stage %d: the payload's own truncated is %v", s.Stage, v)
		}
	}
}

func neverHarsher(t *testing.T) {
	text := matches(300)
	estimate := fitting(text, 1_000_000, envelope.Options{}).Estimate
	last := math.MaxInt32
	for used := 50; used < 5000; used += 50 {
		s := fitting(text, estimate*100/used+1, envelope.Options{})
		if len(s.Text) > last+40 { // the figures of the warning have a digit more or less
			t.Errorf("at %d %% of the budget: %d bytes after %d", used, len(s.Text), last)
		}
		last = len(s.Text)
	}
}

func validInAnyScript(t *testing.T) {
	text := `{"a":["` + strings.Repeat("日本語テキスト", 900) + `","` + strings.Repeat(`\u65e5\ud83d\ude00`, 900) + `"],"b":"` + strings.Repeat("👩‍👩‍👧", 2000) + `"}`
	for budget := 30; budget < 60_000; budget = budget * 3 / 2 {
		s := fitting(text, budget, envelope.Options{})
		if !json.Valid([]byte(s.Text)) || !utf8.ValidString(s.Text) || strings.ContainsRune(s.Text, utf8.RuneError) || s.Stage < 5 && s.Sent > budget {
			t.Errorf("budget %d, stage %d, %d tokens: %.200s", budget, s.Stage, s.Sent, s.Text)
		}
	}
}

func nestedLosses(t *testing.T) {
	row := "[" + strings.TrimSuffix(strings.Repeat("1234567890,", 30), ",") + "]"
	s := fitting("["+strings.TrimSuffix(strings.Repeat(row+",", 30), ",")+"]", 1500, envelope.Options{})
	has(t, "the list of lists", s.Text, `1234567890,{"_omitted_count":27}]`, `],{"_omitted_count":27}]`)
	deep := `{"a":{"b":{"c":{"d":{"e":{"f":` + row + `}}}}},"long":"` + strings.Repeat("x", 3000) + `"}`
	has(t, "what is deep", fitting(deep, 200, envelope.Options{}).Text, `"f_omitted_count":`)
}

func whatFitsIsUsed(t *testing.T) {
	// Ten times the budget, and the skeleton of it fits.
	s := fitting(matches(400), 1000, envelope.Options{})
	if s.Stage != 4 || s.Sent > 1000 || s.Estimate < 9000 {
		t.Errorf("stage %d, %d of %d tokens", s.Stage, s.Sent, s.Estimate)
	}
}

func lowEffortFits(t *testing.T) {
	text := matches(100)
	n := fitting(text, 1_000_000, envelope.Options{}).Estimate
	for percent := 50; percent <= 100; percent++ {
		s := envelope.Fit(envelope.Result{Text: text}, envelope.Options{Budget: envelope.Budget{Tokens: n * 100 / percent, Effort: envelope.Low}})
		if s.Stage == 5 {
			t.Errorf("at %d %% it is a stub", percent)
		}
	}
}

func oddBudgets(t *testing.T) {
	for raw, want := range map[string]int{"9223372036854775808": math.MaxInt, "1e300": math.MaxInt, "1": 1} {
		b, err := envelope.ResolveBudget(envelope.Wish{MaxTokens: json.RawMessage(raw)})
		if err != nil || b.Tokens != want {
			t.Errorf("%s: %+v, %v", raw, b, err)
		}
		if s := envelope.Fit(envelope.Result{Text: matches(30)}, envelope.Options{Budget: b}); !json.Valid([]byte(s.Text)) {
			t.Errorf("%s: %s", raw, s.Text)
		}
	}
	for _, raw := range []string{"0", "-1", "1.5", `"4000"`, "true", "{}"} {
		if _, err := envelope.ResolveBudget(envelope.Wish{MaxTokens: json.RawMessage(raw)}); err == nil || !strings.Contains(err.Error(), "whole number of at least 1") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func noErrorInASuccess(t *testing.T) {
	s := fitting(matches(400), 5, envelope.Options{})
	if s.Stage != 5 || memberOf(t, s.Text, "success") != false || memberOf(t, s.Text, "error") == nil || memberOf(t, s.Text, "data_preview") != nil {
		t.Errorf("stage %d: %s", s.Stage, s.Text)
	}
}

func spoofedMarks(t *testing.T) {
	own := `"matches_omitted_count":"mine","truncated":"mine","_omitted_keys":"mine","data_preview":"mine","error":"mine","truncation_warning":"mine"`
	text := strings.Replace(matches(400), `"query"`, own+`,"query"`, 1)
	s := fitting(text, 2000, envelope.Options{})
	has(t, "the text", s.Text, own, `"_weir_matches_omitted_count":397`, `"_weir_truncated":true`)
	has(t, "the structured content", string(s.Structured), own, `"_weir_matches_omitted_count":397`, `"_weir":{"truncation_warning":{`)
}

func protectedOverAnyCap(t *testing.T) {
	text := `{"all":["` + strings.Repeat(`a protected entry","`, 50_000) + `"],"n":1}`
	s := fitting(text, 1000, envelope.Options{Policy: tool.Fit{Protected: []string{"all"}}, Offered: []string{"workspace--read"}})
	if s.Stage != 5 || len(s.Text) > 3000 || len(s.Structured) > 3000 {
		t.Errorf("stage %d, %d and %d bytes", s.Stage, len(s.Text), len(s.Structured))
	}
	has(t, "the stub", s.Text, wholePath, `"all_omitted_count":`, `"n":1`)
}

func loopInAStub(t *testing.T) {
	for _, budget := range []int{5, 150, 2000, 100_000} {
		s := fitting(matches(400), budget, envelope.Options{Signals: envelope.Signals{Loop: "the same call again"}})
		has(t, "the text", s.Text, `"loop_warning":"the same call again"`)
		has(t, "the structured content", string(s.Structured), `"loop_warning":"the same call again"`)
	}
}

func stageInTheText(t *testing.T) {
	text := matches(300)
	n := fitting(text, 1_000_000, envelope.Options{}).Estimate
	for percent, stage := range map[int]int{80: 2, 90: 3, 98: 4, 300: 4} {
		s := fitting(text, n*100/percent, envelope.Options{})
		has(t, "the text", s.Text, fmt.Sprintf(`"truncation_warning":{"compression_stage":%d,`, stage))
	}
	log := strings.Repeat("a line of output\n", 9000)
	has(t, "a text that is no JSON", envelope.Fit(envelope.Result{Text: log}, envelope.Options{Budget: envelope.Budget{Tokens: 900}}).Text, "[truncated: stage 4, ")
}

func retryableInTheText(t *testing.T) {
	o := envelope.Options{Contract: envelope.Lean, Signals: envelope.Signals{Retryable: true, RecoveryHint: "again in 2 s"}}
	has(t, "an error", envelope.Fit(envelope.Result{Text: `{"busy":true}`, IsError: true}, o).Text, `"success":false`, `"recovery_hint":"again in 2 s"`, `"retryable":true`)
	has(t, "an error in words", envelope.Fit(envelope.Result{Text: "busy", IsError: true}, o).Text, "busy\n", "[recovery_hint: again in 2 s]", "[retryable: true]")
}

func nothingVolatile(t *testing.T) {
	for _, c := range []envelope.Contract{envelope.Lean, envelope.Bare} {
		a := fitting(matches(3), 4000, envelope.Options{Contract: c, Signals: envelope.Signals{Elapsed: time.Second}})
		b := fitting(matches(3), 4000, envelope.Options{Contract: c, Signals: envelope.Signals{Elapsed: time.Hour}})
		if a.Text != b.Text || string(a.Structured) != string(b.Structured) {
			t.Errorf("the same answer has other bytes:\n%s\n%s", a.Text, b.Text)
		}
	}
}

func sameOrder(t *testing.T) {
	o := envelope.Options{Offered: []string{"a", "b", "c"}, Signals: envelope.Signals{NextCalls: []envelope.NextCall{{Tool: "c", Reason: "1"}, {Tool: "a", Reason: "2"}, {Tool: "b", Reason: "3"}}}}
	want := fitting(matches(40), 4000, o).Text
	has(t, "the text", want, `"suggestion_reasons":{"c":"1","a":"2","b":"3"}`)
	for range 50 {
		if got := fitting(matches(40), 4000, o).Text; got != want {
			t.Fatalf("other bytes:\n%s\n%s", want, got)
		}
	}
}

func freshnessStays(t *testing.T) {
	f := envelope.Judge(time.Unix(0, 0), time.Unix(4000, 0), nil)
	for _, budget := range []int{5, 150, 2000, 100_000} {
		s := fitting(matches(400), budget, envelope.Options{Contract: envelope.Lean, Signals: envelope.Signals{Freshness: &f}})
		has(t, "the text", s.Text, `"freshness":{"observed_at":"1970-01-01T00:00:00Z","age_s":4000,"bucket":"stale","refresh_recommended":true,`)
		has(t, "the structured content", string(s.Structured), `"bucket":"stale"`)
	}
}

func zerosStay(t *testing.T) {
	text := `{"zero":0,"no":false,"empty":"","none":null,"list":[],"object":{},"minus":-0.0}`
	for _, c := range []envelope.Contract{envelope.Full, envelope.Lean, envelope.Bare} {
		s := fitting(text, 10_000, envelope.Options{Contract: c})
		has(t, "the text", s.Text, text)
		has(t, "the structured content", string(s.Structured), text)
	}
}

func leanIsNotCompact(t *testing.T) {
	text := `{"schema_version":"theirs","summary":"s","next_actions":[],"profile":"p","elapsed_ms":7,"token_estimate":8,"budget_hint":"mine"}`
	s := fitting(text, 10_000, envelope.Options{Contract: envelope.ResolveContract(json.RawMessage("true"), "")})
	if s.Text != `{"success":true,"data":`+text+`}` {
		t.Errorf("lean: %s", s.Text)
	}
	failed := envelope.Result{Text: text, IsError: true}
	if a, b := envelope.Fit(failed, envelope.Options{}), envelope.Fit(failed, envelope.Options{Contract: envelope.Lean}); a.Text != b.Text {
		t.Errorf("an error is lean:\n%s\n%s", a.Text, b.Text)
	}
}

// strictTool is a tool with a schema that counts how often it ran.
func strictTool(ran *atomic.Int64) tool.Tool {
	strict := handler("strict", func(context.Context, tool.Call) (tool.Result, error) {
		ran.Add(1)
		return tool.Text("ran"), nil
	})
	strict.Schema = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":1,"pattern":"\\S"},"limit":{"type":"integer"},"tags":{"type":"array","minItems":1}},"required":["name","limit"],"additionalProperties":false}`)
	return strict
}

func unknownArgument(t *testing.T) {
	var ran atomic.Int64
	w := quick(t, strictTool(&ran))
	a := w.call("strict", `{"name":"n","limit":3,"limt":5}`)
	if !strings.Contains(a.text, "limt") || ran.Load() != 0 {
		t.Errorf("it ran %d times and answers %q", ran.Load(), a.text)
	}
}

func allProblemsAtOnce(t *testing.T) {
	var ran atomic.Int64
	w := quick(t, strictTool(&ran))
	for args, wants := range map[string][]string{
		`{}`:                       {"name", "limit"},
		`{"name":"","limit":null}`: {"name", "limit"},
		`{"name":" ","limit":"3","tags":[],"_x":1}`: {"name", "limit", "tags", "_x"},
	} {
		a := w.call("strict", args)
		for _, want := range wants {
			if !strings.Contains(a.text, want) {
				t.Errorf("%s: the answer does not name %s: %s", args, want, a.text)
			}
		}
	}
	if ran.Load() != 0 {
		t.Errorf("the handler ran %d times", ran.Load())
	}
	if a := w.call("strict", `{"name":"n","limit":3}`); a.text != "ran" || ran.Load() != 1 {
		t.Errorf("a good call: %q, %d", a.text, ran.Load())
	}
}

// again makes the same step so many times, a minute apart, and gives the last verdict.
func again(r *loop.Ring, n int, args func(int) string, result func(int) string) (v loop.Verdict) {
	for i := range n {
		v = r.Observe(loop.Step{At: time.Duration(i) * time.Minute, Calls: []loop.Call{{
			Tool: "grep", Identity: loop.Identity("grep", json.RawMessage(args(i))), Result: loop.ResultOf(result(i), false), ReadOnly: true,
		}}})
	}
	return v
}

func always(s string) func(int) string { return func(int) string { return s } }

func metadataIsNoDifference(t *testing.T) {
	forms := []string{`{"p":"x","d":1}`, `{"d":1,"p":"x","_lean":true}`, `{"_profile":"a","p":"x","_compact":true,"d":1.0}`}
	if v := again(&loop.Ring{}, 3, func(i int) string { return forms[i] }, always("none")); v.Action != loop.Warn {
		t.Errorf("%+v", v)
	}
}

func ringsOfTheirOwn(t *testing.T) {
	var a, b loop.Ring
	again(&a, 7, always("{}"), always("none"))
	if v := again(&b, 2, always("{}"), always("none")); v.Action != loop.Go {
		t.Errorf("the loop of one conversation is another's: %+v", v)
	}
}

func errorsAreCounted(t *testing.T) {
	var r loop.Ring
	var v loop.Verdict
	for range 3 {
		v = r.Observe(loop.Step{Calls: []loop.Call{{Tool: "edit", Identity: loop.Identity("edit", nil), Result: loop.ResultOf("no such file", true), IsError: true}}})
	}
	if v.Action != loop.Warn || v.Repeats != 3 {
		t.Errorf("%+v", v)
	}
}

func pollingIsNoLoop(t *testing.T) {
	if v := again(&loop.Ring{}, 9, always("{}"), func(i int) string { return fmt.Sprint("done ", i) }); v.Action != loop.Go {
		t.Errorf("a poll whose result changes: %+v", v)
	}
}

func circleOfTwo(t *testing.T) {
	if v := again(&loop.Ring{}, 6, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i%2) }, always("none")); v.Action != loop.Warn || v.Cycle != 2 {
		t.Errorf("A B A B A B: %+v", v)
	}
	if v := again(&loop.Ring{}, 9, func(i int) string { return fmt.Sprintf(`{"n":%d}`, i%3) }, always("none")); v.Action != loop.Warn || v.Cycle != 3 {
		t.Errorf("A B C, three times: %+v", v)
	}
}

func slowThenFast(t *testing.T) {
	var r loop.Ring
	var v loop.Verdict
	for _, at := range []time.Duration{0, 10 * time.Minute, 10*time.Minute + 3*time.Second, 10*time.Minute + 6*time.Second} {
		v = r.Observe(loop.Step{At: at, Calls: []loop.Call{{Tool: "t"}}})
	}
	if !v.Burst {
		t.Errorf("three within six seconds after a slow one: %+v", v)
	}
}

func neverTheRepeated(t *testing.T) {
	v := again(&loop.Ring{}, 3, always("{}"), always("none"))
	if got := fmt.Sprint(v.Others([]string{"grep", "gone"}, []string{"grep", "workspace--read"})); got != "[workspace--read]" {
		t.Errorf("suggested are %s", got)
	}
}

func clockGoesBack(t *testing.T) {
	var r loop.Ring
	var v loop.Verdict
	for _, at := range []time.Duration{time.Hour, time.Minute, 0} {
		v = r.Observe(loop.Step{At: at, Calls: []loop.Call{{Tool: "t"}}})
	}
	if v.Burst || v.Action != loop.Warn {
		t.Errorf("%+v", v)
	}
}

func freshnessAtItsBounds(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for age, want := range map[int]string{59: "fresh", 60: "recent", 599: "recent", 600: "possibly_stale", 3599: "possibly_stale", 3600: "stale", -90: "fresh"} {
		if f := envelope.Judge(now.Add(-time.Duration(age)*time.Second), now, nil); f.Bucket != want || (age < 0) != (f.Warning != "") {
			t.Errorf("%d s: %+v", age, f)
		}
	}
}

func idleIsNotStale(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	same := envelope.Source{Name: "a", Seen: envelope.State{Size: 1, Hash: "h"}, Now: envelope.State{Size: 1, Hash: "h"}}
	if f := envelope.Judge(now.AddDate(-1, 0, 0), now, []envelope.Source{same}); f.Bucket != "fresh" || f.RefreshRecommended {
		t.Errorf("equal for a year: %+v", f)
	}
	same.Now.Hash = "other"
	f := envelope.Judge(now, now, []envelope.Source{same})
	var told envelope.Told
	first := f.Refresh(nil, "refresh", true, []string{"refresh"}, "a", &told)
	second := f.Refresh(nil, "refresh", true, []string{"refresh"}, "a", &told)
	if f.Bucket != "drifted" || len(first) != 1 || len(second) != 0 {
		t.Errorf("%+v: suggested %v, then %v", f, first, second)
	}
}

func suggestedIsCallable(t *testing.T) {
	s := fitting(matches(3), 4000, envelope.Options{Offered: []string{"here"}, Signals: envelope.Signals{NextTools: []string{"deferred", "here"}}})
	has(t, "the text", s.Text, `"suggested_next_tools":["here"]`)
}

func fingerprintOfAnyOrder(t *testing.T) {
	tools := func(about string) []fingerprint.Tool {
		return []fingerprint.Tool{
			{Name: "a", Description: about, Input: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string","description":"` + about + `"}}}`)},
			{Name: "b", Input: json.RawMessage(`{"type":"object"}`)},
		}
	}
	first, err := fingerprint.Of(tools("one"))
	if err != nil {
		t.Fatal(err)
	}
	other := tools("two")
	slices.Reverse(other)
	second, err := fingerprint.Of(other)
	if err != nil || first.Surface != second.Surface || first.Contract == second.Contract {
		t.Errorf("%v\n%+v\n%+v", err, first, second)
	}
	changed := tools("one")
	changed[0].Input = json.RawMessage(`{"type":"object","properties":{"x":{"type":"number"}}}`)
	third, err := fingerprint.Of(changed)
	if err != nil || third.Surface == first.Surface || fmt.Sprint(third.Changed(first)) != "[a]" {
		t.Errorf("%v: changed are %v", err, third.Changed(first))
	}
}

func fingerprintOfTheToolsAlone(t *testing.T) {
	// What is hashed is fixed here: a build, a time or a host that got in would change it.
	p, err := fingerprint.Of([]fingerprint.Tool{{Name: "a", Input: json.RawMessage(`{"type":"object"}`)}})
	if err != nil {
		t.Fatal(err)
	}
	// SHA-256 of [{"inputSchema":{"type":"object"},"name":"a"}].
	if want := "6466400fd2e7d487fd5604f2628816b750b85b429c2064a9d991d7060d80833b"; p.Surface != want {
		t.Errorf("the surface is %s", p.Surface)
	}
	if p.Surface != p.Contract {
		t.Error("the contract of a tool without a description has more than its surface")
	}
}

func sameDataInBoth(t *testing.T) {
	for _, budget := range []int{150, 1500, 9000, 100_000} {
		s := fitting(matches(300), budget, envelope.Options{})
		start := strings.Index(s.Text, `{"query"`)
		end := strings.Index(s.Text, `"sampled":false`)
		if start < 0 || end < 0 || !strings.HasPrefix(string(s.Structured), s.Text[start:end]) {
			t.Errorf("budget %d, stages %d and %d:\n%.300s\n%.300s", budget, s.Stage, s.StructuredStage, s.Text, s.Structured)
		}
	}
}

// prefixes is an object whose keys take every name that a mark would like.
func prefixes() string {
	var b strings.Builder
	name := "a_omitted_count"
	for range 500 {
		fmt.Fprintf(&b, `,"%s":1`, name)
		name = "_weir_" + name
	}
	b.WriteString(strings.Repeat(`,"a":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23]`, 5000))
	return "{" + b.String()[1:] + "}"
}

func boundedTime(t *testing.T) {
	for name, text := range map[string]string{
		"one line":    strings.Repeat("x", 1<<20),
		"white space": strings.Repeat(" \n\t", 1<<20/3),
		"Chinese":     strings.Repeat("界", 1<<20/3),
		"families":    strings.Repeat("👩‍👩‍👧‍👦", 1<<20/25),
		"one string":  `["` + strings.Repeat(`\n`, 1<<19) + `"]`,
		"keys":        `{` + strings.TrimPrefix(strings.Repeat(`,"a_omitted_count":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23]`, 12_000), ",") + `}`,
		"prefixes":    prefixes(),
		"brackets":    strings.Repeat("[", 1<<20),
		"errors":      strings.Repeat("error\n", 1<<20/6),
	} {
		start := time.Now()
		s := fitting(text, 500, envelope.Options{})
		if took := time.Since(start); took > 20*time.Second || s.Sent > 700 {
			t.Errorf("%s: %s, %d tokens at stage %d", name, took, s.Sent, s.Stage)
		}
	}
}
