package envelope

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// everything signals all there is.
func everything() Signals {
	f := Judge(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 34, 5, 0, time.UTC), nil)
	return Signals{
		Error: "half of it failed", RecoveryHint: "try the other half", Retryable: true, Loop: "the same call", Freshness: &f,
		NextTools: []string{"b"}, NextCalls: []NextCall{{Tool: "b", Args: json.RawMessage(`{"x":1}`), Reason: "it knows"}},
		Routing: "sync", Elapsed: 1500 * time.Millisecond,
	}
}

// TestFullContract holds the order of the fields, and that what is empty is absent.
func TestFullContract(t *testing.T) {
	t.Parallel()
	s := Fit(Result{Text: `{"a": 1}`}, Options{Offered: []string{"b"}, Signals: everything()})
	want := `{"success":true,"data":{"a":1},"error":"half of it failed","recovery_hint":"try the other half","retryable":true,` +
		`"loop_warning":"the same call","freshness":{"observed_at":"2026-01-02T03:04:05Z","age_s":1800,"bucket":"possibly_stale","refresh_recommended":false,"verified":false},` +
		`"suggested_next_tools":["b"],"suggested_next_calls":[{"tool":"b","arguments":{"x":1}}],"suggestion_reasons":{"b":"it knows"},` +
		`"routing_hint":"sync","budget_hint":"N of 5,200 tokens (0 %)","token_estimate":N,"elapsed_ms":1500,"schema_version":"1"}`
	want = strings.ReplaceAll(want, "N", fmt.Sprint(tokensOf(`{"a":1}`)))
	if d := cmp.Diff(want, s.Text); d != "" {
		t.Errorf("the full contract (-want +got):\n%s", d)
	}
	s = Fit(Result{Text: `{"a": 1}`}, Options{})
	if d := cmp.Diff([]string{"success", "data", "budget_hint", "token_estimate", "schema_version"}, fields(t, s.Text)); d != "" {
		t.Errorf("with no signals (-want +got):\n%s", d)
	}
	s = at(hits(200), 1300, Options{Offered: []string{"b"}, Signals: everything(), Budget: Budget{Effort: Medium}})
	if got := fields(t, s.Text); s.Stage != 4 || got[5] != "truncation_warning" || got[6] != "loop_warning" {
		t.Errorf("at stage %d: %v", s.Stage, got)
	}
	if d := cmp.Diff([]string{"compression_stage", "original_token_estimate", "effective_budget", "recovery_hint"},
		fields(t, string(member(t, s.Text, "truncation_warning")))); d != "" {
		t.Errorf("the warning (-want +got):\n%s", d)
	}
}

// TestLeanContract holds that exactly the listed fields go, and that the data is the same bytes in both
// contracts and both channels.
func TestLeanContract(t *testing.T) {
	t.Parallel()
	dropped := func(o Options, text string) []string {
		t.Helper()
		r := Result{Text: text, Structured: json.RawMessage(text), Output: json.RawMessage(`{}`)}
		o.Contract = Full
		full := Fit(r, o)
		o.Contract = Lean
		lean := Fit(r, o)
		var gone []string
		for _, name := range fields(t, full.Text) {
			a, b := member(t, full.Text, name), member(t, lean.Text, name)
			if b == nil {
				gone = append(gone, name)
			} else if string(a) != string(b) {
				t.Errorf("%s is %s, lean %s", name, a, b)
			}
		}
		data := string(member(t, full.Text, "data"))
		if data != string(member(t, lean.Text, "data")) || full.Stage != lean.Stage {
			t.Errorf("the data differs at stages %d and %d", full.Stage, lean.Stage)
		}
		for _, sc := range []json.RawMessage{full.Structured, lean.Structured} {
			if !strings.HasPrefix(string(sc), strings.TrimSuffix(data, "}")) {
				t.Errorf("the data in the structured channel is another:\n%s\n%s", data, sc)
			}
		}
		if len(lean.Text) >= len(full.Text) || strings.Contains(lean.Text, "\n") {
			t.Errorf("lean has %d bytes, full %d", len(lean.Text), len(full.Text))
		}
		return gone
	}
	fresh := Freshness{Bucket: Fresh}
	budget := Budget{Tokens: 10_000, Effort: Medium}
	for name, c := range map[string]struct {
		o    Options
		text string
		want []string
	}{
		"everything is signalled": {Options{Budget: budget, Offered: []string{"b"}, Signals: everything()}, hits(3), []string{"suggestion_reasons", "routing_hint", "token_estimate", "elapsed_ms", "schema_version"}},
		"nothing is":              {Options{Budget: budget, Signals: Signals{Freshness: &fresh, Routing: "sync", Elapsed: time.Second}}, hits(3), []string{"freshness", "routing_hint", "budget_hint", "token_estimate", "elapsed_ms", "schema_version"}},
		"from the store":          {Options{Budget: budget, Signals: Signals{Routing: "cached"}}, hits(3), []string{"token_estimate", "schema_version"}},
		"at 90 percent":           {Options{Budget: Budget{Tokens: tokensOf(hits(200)) * 100 / 80, Effort: High}}, hits(200), []string{"token_estimate", "schema_version"}},
		"shortened":               {Options{Budget: Budget{Tokens: 1500}}, hits(300), []string{"token_estimate", "schema_version"}},
	} {
		if d := cmp.Diff(c.want, dropped(c.o, c.text)); d != "" {
			t.Errorf("%s: the dropped fields (-want +got):\n%s", name, d)
		}
	}
	// Errors are never lean.
	r := Result{Text: `{"code":7}`, IsError: true}
	if full, lean := Fit(r, Options{Signals: everything()}), Fit(r, Options{Signals: everything(), Contract: Lean}); full.Text != lean.Text || !strings.HasPrefix(full.Text, `{"success":false,`) {
		t.Errorf("a lean error:\n%s\n%s", full.Text, lean.Text)
	}
	// 0, false, "", null and [] are values.
	if s := Fit(Result{Text: `{"a":0,"b":false,"c":"","d":null,"e":[]}`}, Options{Contract: Lean}); s.Text != `{"success":true,"data":{"a":0,"b":false,"c":"","d":null,"e":[]}}` {
		t.Errorf("lean: %s", s.Text)
	}
}

// TestLeanMeasured states the bytes of one symbol with its body in each contract.
func TestLeanMeasured(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("\tif err != nil {\n\t\treturn fmt.Errorf(\"read %s: %w\", name, err)\n\t}\n", 22)
	text := fmt.Sprintf(`{"symbols":[{"name":"Load","kind":"function","file":"config/load.go","line":41,"end_line":109,"signature":"func Load(name string) (*Config, error)","body":%q}],"count":1}`, "func Load(name string) (*Config, error) {\n"+body+"}\n")
	signals := everything()
	signals.Error, signals.RecoveryHint, signals.Retryable, signals.Loop = "", "", false, ""
	signals.NextCalls[0].Reason = "the callers of a symbol show what a change of it breaks, so look at them before an edit of its signature"
	fresh := Judge(time.Unix(0, 0), time.Unix(1, 0), nil)
	signals.Freshness = &fresh
	r := Result{Text: text, Structured: json.RawMessage(text), Output: json.RawMessage(`{"type":"object"}`)}
	full := Fit(r, Options{Offered: []string{"b"}, Signals: signals})
	lean := Fit(r, Options{Offered: []string{"b"}, Signals: signals, Contract: Lean})
	var pretty strings.Builder
	enc := json.NewEncoder(&pretty)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(json.RawMessage(full.Text)); err != nil {
		t.Fatal(err)
	}
	if a, b := member(t, full.Text, "data"), member(t, lean.Text, "data"); string(a) != text || string(b) != text {
		t.Error("symbol and body are not the same bytes")
	}
	saved := 100 - 100*len(lean.Text)/pretty.Len()
	t.Logf("one symbol with its body: full, indented %d bytes; full %d; lean %d (%d %% less than indented); beside the data: full %d, lean %d",
		pretty.Len(), len(full.Text), len(lean.Text), saved, len(full.Text)-len(text), len(lean.Text)-len(text))
	if saved < 18 {
		t.Errorf("lean saves %d %% of the text", saved)
	}
	if rest := float64(len(lean.Text)-len(text)) / float64(len(full.Text)-len(text)); rest > 0.6 {
		t.Errorf("lean keeps %.0f %% of the scaffold", rest*100)
	}
}

// TestResolveContract holds the precedence of the call's word over the environment's.
func TestResolveContract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call, env string
		want      Contract
	}{
		{"", "", Full},
		{"", "lean", Lean},
		{"", " LEAN\n", Lean},
		{"", "full", Full},
		{"", "leaner", Full},
		{"true", "", Lean},
		{"true", "full", Lean},
		{"false", "lean", Full},
		{` true `, "", Lean},
		{`"true"`, "", Full},
		{`"false"`, "lean", Lean},
		{"1", "", Full},
		{"null", "lean", Lean},
	} {
		if got := ResolveContract(json.RawMessage(c.call), c.env); got != c.want {
			t.Errorf("_lean %s, environment %q: %d, want %d", c.call, c.env, got, c.want)
		}
	}
}

// TestBare holds that data of which nothing is said is passed on byte for byte.
func TestBare(t *testing.T) {
	t.Parallel()
	text := "{ \"a\" : 1.0,\n \"a\": 1e400 }"
	if s := Fit(Result{Text: text}, Options{Contract: Bare}); s.Text != text || !s.Same {
		t.Errorf("it is shown as %s", s.Text)
	}
	if s := Fit(Result{Text: text}, Options{Contract: Bare, Signals: Signals{Loop: "l"}}); !strings.HasPrefix(s.Text, `{"success":true,"data":{"a":1.0,"a":1e400},"loop_warning":"l",`) || s.Same {
		t.Errorf("it is shown as %s", s.Text)
	}
}

// TestText holds texts that are no JSON: both ends, lines of errors, marks, signals in brackets.
func TestText(t *testing.T) {
	t.Parallel()
	if s := Fit(Result{Text: "plain"}, Options{}); s.Text != "plain" || !s.Same || s.Stage != 1 {
		t.Errorf("stage %d: %s", s.Stage, s.Text)
	}
	s := Fit(Result{Text: "plain"}, Options{Offered: []string{"b"}, Signals: everything()})
	want := "plain\n[error: half of it failed]\n[recovery_hint: try the other half]\n[retryable: true]\n[loop_warning: the same call]\n" +
		`[freshness: {"observed_at":"2026-01-02T03:04:05Z","age_s":1800,"bucket":"possibly_stale","refresh_recommended":false,"verified":false}]` + "\n" +
		"[suggested_next_tools: b]\n" + `[suggested_next_calls: [{"tool":"b","arguments":{"x":1}}]]`
	if d := cmp.Diff(want, s.Text); d != "" {
		t.Errorf("signals of a text (-want +got):\n%s", d)
	}
	log := strings.Repeat("a line of a log that says nothing\n", 3000) + "ERROR: 界 it broke\n" + strings.Repeat("and so on\n", 3000) + "the verdict\n"
	n := tokensOf(log)
	before := len(log)
	for used, stage := range map[int]int{800: 2, 900: 3, 960: 4, 5000: 4, 50_000: 4} {
		s := at(log, used, Options{Budget: Budget{Effort: Medium}})
		if s.Stage != stage || !strings.HasPrefix(s.Text, "a line of a log") || !strings.Contains(s.Text, "\nERROR: 界 it broke\n") ||
			!strings.Contains(s.Text, "the verdict\n[truncated: stage ") || s.Sent > n*1000/used {
			t.Errorf("used %d: stage %d, %d tokens\n%.300s", used, s.Stage, s.Sent, s.Text)
		}
		if s.MaxResultSizeChars != 25_000 || Units(s.Text) > 25_000 {
			t.Errorf("used %d: %d units", used, Units(s.Text))
		}
	}
	if before < 25_000 {
		t.Fatal("the log is too short for this test")
	}
	// What is left out adds up.
	short := ends(log, failures(log), 3000)
	kept, omitted := 0, 0
	for line := range strings.Lines(short) {
		var lines, chars string
		if n, _ := fmt.Sscanf(line, "[… %s lines, %s characters omitted …]", &lines, &chars); n == 2 {
			var c int
			if _, err := fmt.Sscan(strings.ReplaceAll(chars, ",", ""), &c); err != nil {
				t.Fatal(err)
			}
			omitted += c
			continue
		}
		kept += len([]rune(line))
	}
	if all := len([]rune(log)); kept+omitted != all {
		t.Errorf("%d characters are kept and %d omitted, of %d:\n%s", kept, omitted, all, short)
	}
	// One long line, and a budget for next to nothing.
	s = Fit(Result{Text: strings.Repeat("😀", 20_000)}, Options{Budget: Budget{Tokens: 800}})
	if s.Stage != 4 || !strings.Contains(s.Text, "characters omitted; the lines before and after this are cut …]") {
		t.Errorf("stage %d: %.200s", s.Stage, s.Text)
	}
	s = Fit(Result{Text: log}, Options{Budget: Budget{Tokens: 20}})
	if s.Stage != 4 || len(s.Text) > 400 || !strings.Contains(s.Text, "the verdict\n[truncated: stage 4, ") {
		t.Errorf("stage %d: %s", s.Stage, s.Text)
	}
	// Signals that leave no room for any of it: a stub, which says them in brief.
	long := strings.Repeat("again and ", 200)
	s = Fit(Result{Text: log, Path: long}, Options{Budget: Budget{Tokens: 20}, Chars: 1, Offered: []string{"b", readTool, grepTool}, Signals: Signals{
		Loop: long, RecoveryHint: long, NextCalls: []NextCall{{Tool: "b", Args: json.RawMessage(`"` + long[:1500] + `"`)}},
	}})
	if s.Stage != 5 || !json.Valid([]byte(s.Text)) || len(s.Text) > 1200 || !strings.Contains(s.Text, `"loop_warning":"again and`) {
		t.Errorf("stage %d: %s", s.Stage, s.Text)
	}
}

// TestFreshness holds the buckets at their bounds, and that a comparison goes before an age.
func TestFreshness(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	var got []string
	for _, age := range []time.Duration{0, 59, 60, 599, 600, 3599, 3600, 1e6} {
		f := Judge(now.Add(-age*time.Second), now, nil)
		got = append(got, fmt.Sprint(int(age), " ", f.Bucket, " ", f.RefreshRecommended))
	}
	if d := cmp.Diff([]string{
		"0 fresh false", "59 fresh false", "60 recent false", "599 recent false", "600 possibly_stale false", "3599 possibly_stale false", "3600 stale true", "1000000 stale true",
	}, got); d != "" {
		t.Errorf("buckets (-want +got):\n%s", d)
	}
	f := Judge(now.Add(time.Hour), now, nil)
	if f.Bucket != Fresh || f.Age != 0 || f.Warning == "" || !strings.Contains(string(f.JSON()), `"warning":"observed_at is in the future"`) {
		t.Errorf("the future: %s", f.JSON())
	}
	same := Source{Name: "a.go", Seen: State{Size: 3, Hash: "x", ModTime: now}, Now: State{Size: 3, Hash: "x", ModTime: now.Add(time.Hour)}}
	changed := func(name string) Source { return Source{Name: name, Seen: State{Size: 3}, Now: State{Size: 4}} }
	gone := Source{Name: "gone", Now: State{Gone: true}}
	for name, c := range map[string]struct {
		sources []Source
		want    string
	}{
		"equal and idle for a day": {[]Source{same}, "fresh true [] 0"},
		"one is unchecked":         {[]Source{same, {Name: "u", Unchecked: true}}, "stale false [] 0"},
		"one has changed":          {[]Source{same, changed("b")}, "drifted true [b] 0"},
		"one is gone":              {[]Source{gone}, "drifted true [gone] 0"},
		"five have changed":        {[]Source{changed("a"), changed("b"), changed("c"), changed("d"), changed("e")}, "drifted true [a b c] 2"},
	} {
		f := Judge(now.Add(-24*time.Hour), now, c.sources)
		if d := cmp.Diff(c.want, fmt.Sprint(f.Bucket, " ", f.Verified, " ", f.Drift, " ", f.DriftOmitted)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestRefresh holds when a refresh is suggested: first, once per state, only if it can be called and helps.
func TestRefresh(t *testing.T) {
	t.Parallel()
	stale := Judge(time.Unix(0, 0), time.Unix(9999, 0), nil)
	offered := []string{"refresh", "a"}
	var told Told
	for i, c := range []struct {
		f       Freshness
		changes bool
		offered []string
		source  string
		want    string
	}{
		{Judge(time.Unix(0, 0), time.Unix(5, 0), nil), true, offered, "s", "[a refresh]"},
		{stale, false, offered, "s", "[a refresh]"},
		{stale, true, []string{"a"}, "s", "[a refresh]"},
		{stale, true, offered, "s", "[refresh a]"},
		{stale, true, offered, "s", "[a refresh]"}, // told already
		{stale, true, offered, "other", "[refresh a]"},
		{Judge(time.Unix(1, 0), time.Unix(9999, 0), nil), true, offered, "s", "[refresh a]"}, // another state
	} {
		if got := fmt.Sprint(c.f.Refresh([]string{"a", "refresh"}, "refresh", c.changes, c.offered, c.source, &told)); got != c.want {
			t.Errorf("case %d: %s, want %s", i, got, c.want)
		}
	}
}

// TestAnnotation holds the caps by class and stage, and that no text is longer than what is announced.
func TestAnnotation(t *testing.T) {
	t.Parallel()
	for class, want := range map[string]int{"workflow": 200_000, "analysis": 100_000, "primitive": 50_000, "": 50_000, "else": 50_000} {
		for stage := range 6 {
			w := want
			if stage >= 2 {
				w = 25_000
			}
			if got := MaxResultSizeChars(class, stage); got != w {
				t.Errorf("%s at stage %d: %d, want %d", class, stage, got, w)
			}
		}
	}
	if CheckClass("analysis") != nil || CheckClass("big") == nil {
		t.Error("classes are not checked")
	}
	if got := Units("a界😀"); got != 4 {
		t.Errorf("it has %d units", got)
	}
	for _, class := range []string{"workflow", "analysis", ""} {
		for _, n := range []int{900, 1100, 2200, 4600, 9000} {
			o := Options{Budget: Budget{Tokens: 10_000_000}}
			o.Policy.Class = class
			s := Fit(Result{Text: hits(n)}, o)
			if got := Units(s.Text); got > s.MaxResultSizeChars || s.MaxResultSizeChars != MaxResultSizeChars(class, s.Stage) {
				t.Errorf("%s, %d hits: %d units at stage %d, announced %d", class, n, got, s.Stage, s.MaxResultSizeChars)
			}
		}
	}
}
