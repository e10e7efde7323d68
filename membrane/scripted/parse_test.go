package scripted_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := scripted.Parse("all.json", []byte(`{
		"after_end": "loop",
		"steps": [
			{"text": ["one", "two"], "thinking": "Hm.", "stop": "cut", "delay_ms": 1500,
			 "calls": [
				{"id": "c1", "name": "t", "args": { "z" : 1.0, "a":"\u003c" }},
				{"name": "u", "args": null},
				{"name": "u", "args_text": "{\"cut"},
				{"name": "u"}
			 ],
			 "usage": {"in": 1, "out": 2},
			 "expect": [{"result": 2, "equals": ""}, {"in": "all", "not_contains": "x"}, {"tool": "t"}, {"result": 1, "is_error": true}]},
			{"error": {"kind": "rate_limited", "text": "slow down", "status": 429, "retry_after_ms": 20, "times": 2, "after_chunks": 3}},
			{"stall": true}
		]
	}`))
	if err != nil {
		t.Fatal(err)
	}
	empty, yes := "", true
	want := scripted.Script{Name: "all.json", AfterEnd: scripted.Loop, Steps: []scripted.Step{
		{
			Text: "one\ntwo", Thinking: "Hm.", Stop: membrane.StopCut, Delay: 1500 * time.Millisecond,
			Calls: []scripted.Call{
				{ID: "c1", Tool: "t", Args: []byte(`{ "z" : 1.0, "a":"\u003c" }`)},
				{Tool: "u", Args: []byte(`null`)},
				{Tool: "u", Args: []byte(`{"cut`)},
				{Tool: "u"},
			},
			Usage:  &membrane.Usage{In: 1, Out: 2},
			Expect: []scripted.Expect{{Result: 2, Equals: &empty}, {In: "all", NotContains: "x"}, {Tool: "t"}, {Result: 1, IsError: &yes}},
		},
		{Fail: &scripted.Failure{Kind: membrane.RateLimited, Text: "slow down", Status: 429, RetryAfter: 20 * time.Millisecond, Times: 2, AfterChunks: 3}},
		{Stall: true},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"t", "u"}, got.Tools()); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	step := func(s string) string { return `{"steps": [{"text": "ok"}, ` + s + `]}` }
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "{\"steps\": [\n{\"text\": }\n]}", `script bad.json: line 2: invalid character '}' looking for beginning of value`},
		{"empty", ``, `script bad.json: EOF`},
		{"after it", `{"steps":[{}]} x`, `script bad.json: something follows the JSON value`},
		{"unknown member", `{"step": []}`, `script bad.json: json: unknown field "step"`},
		{"no steps", `{"steps": []}`, `script bad.json: it has no steps; a script needs at least one`},
		{"after_end", `{"steps": [{}], "after_end": "stop"}`, `script bad.json: after_end is "stop"; it must be refuse, repeat or loop`},
		{"unknown member of a step", step(`{"txt": "a"}`), `script bad.json: step 2: json: unknown field "txt"`},
		{"unknown member of a call", step(`{"calls": [{"tool": "a"}]}`), `script bad.json: step 2: json: unknown field "tool"`},
		{"unknown member of an expectation", step(`{"expect": [{"contain": "a"}]}`), `script bad.json: step 2: json: unknown field "contain"`},
		{"a step of another kind", step(`"text"`), `script bad.json: step 2: json: cannot unmarshal string`},
		{"text", step(`{"text": 1}`), `script bad.json: step 2: json: cannot unmarshal number`},
		{"call without a name", step(`{"calls": [{"id": "a"}]}`), `script bad.json: step 2: call 1 has no name`},
		{"arguments twice", step(`{"calls": [{"name": "a", "args": {}, "args_text": ""}]}`), `script bad.json: step 2: call 1 has both args and args_text`},
		{"stop", step(`{"stop": "tired"}`), `script bad.json: step 2: stop is "tired", which is no reason to stop`},
		{"delay", step(`{"delay_ms": 600001}`), `script bad.json: step 2: its delay is 10m0.001s; it must be between 0 and 10m0s`},
		{"huge delay", step(`{"delay_ms": 9223372036854775807}`), `script bad.json: step 2: its delay is 10m0.001s; it must be between 0 and 10m0s`},
		{"negative delay", step(`{"delay_ms": -1}`), `script bad.json: step 2: its delay is -1ms; it must be between 0 and 10m0s`},
		{"stalled calls", step(`{"stall": true, "calls": [{"name": "a"}]}`), `script bad.json: step 2: a step that stalls never gets to its calls; leave one of them out`},
		{"stalled error", step(`{"stall": true, "error": {"kind": "auth"}}`), `script bad.json: step 2: a step that stalls never gets to its error; leave one of them out`},
		{"kind", step(`{"error": {"kind": "bad"}}`), `script bad.json: step 2: the kind of its error is "bad", which membrane does not have`},
		{"times", step(`{"error": {"kind": "auth", "times": -1}}`), `script bad.json: step 2: times and after_chunks of its error must not be negative`},
		{"retry", step(`{"error": {"kind": "auth", "retry_after_ms": 600001}}`), `script bad.json: step 2: its error asks to wait 10m0.001s; it must be between 0 and 10m0s`},
		{"no condition", step(`{"expect": [{"tool": "a"}, {"in": "all"}]}`), `script bad.json: step 2: expectation 2: it has 0 conditions, not one of contains`},
		{"two conditions", step(`{"expect": [{"contains": "a", "matches": "b"}]}`), `script bad.json: step 2: expectation 1: it has 2 conditions, not one of contains`},
		{"two places", step(`{"expect": [{"contains": "a", "result": 1, "in": "new"}]}`), `script bad.json: step 2: expectation 1: it looks at one place: result or in, not both`},
		{"no such place", step(`{"expect": [{"contains": "a", "in": "head"}]}`), `script bad.json: step 2: expectation 1: in is "head"; it must be new, system or all`},
		{"negative result", step(`{"expect": [{"contains": "a", "result": -1}]}`), `script bad.json: step 2: expectation 1: results are counted from 1`},
		{"an error of nothing", step(`{"expect": [{"is_error": true}]}`), `script bad.json: step 2: expectation 1: is_error needs the number of a result`},
		{"a tool somewhere", step(`{"expect": [{"tool": "a", "in": "system"}]}`), `script bad.json: step 2: expectation 1: tool and no_tool look at the offered tools; leave out the place`},
		{"expression", step(`{"expect": [{"matches": "("}]}`), "script bad.json: step 2: expectation 1: error parsing regexp: missing closing ): `(`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := scripted.Parse("bad.json", []byte(c.text))
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want %q", err, c.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "demo.json")
	if err := os.WriteFile(path, []byte(`{"steps": [{"text": "Hello."}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := scripted.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := scripted.New(s, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("scripted/demo.json", m.Name()); diff != "" {
		t.Error(diff)
	}
	if _, err := scripted.Load(path + "x"); err == nil || !strings.Contains(err.Error(), "demo.jsonx") {
		t.Errorf("error %v does not name the file", err)
	}
	if err := os.WriteFile(path, make([]byte, scripted.MaxScript+1), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := scripted.Load(path); err == nil || !strings.Contains(err.Error(), "longer than 16777216 bytes") {
		t.Errorf("error %v does not name the limit", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"steps": [{"text": ["a"], "calls": [{"name": "a", "args": {}}], "expect": [{"matches": "a+"}]}], "after_end": "loop"}`))
	f.Add([]byte(`{"steps": [{"error": {"kind": "auth", "times": 1}}, {"stall": true}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scripted.Parse("f", text)
		if err != nil {
			return
		}
		if _, err := scripted.New(s, scripted.Config{}); err != nil {
			t.Errorf("what was parsed cannot be played: %v", err)
		}
	})
}
