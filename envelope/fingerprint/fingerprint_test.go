package fingerprint

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func tools() []Tool {
	return []Tool{
		{Name: "read", Title: "Read", Description: "reads", Input: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"what","title":"Path","examples":["a"],"$comment":"c"}},"required":["path"]}`)},
		{Name: "grep", Description: "searches", Input: json.RawMessage(`{"type":"object","properties":{"pattern":{"type":"string"},"title":{"type":"string"}},"default":{"title":"data"}}`), Output: json.RawMessage(`{"type":"object"}`)},
	}
}

func of(t *testing.T, all []Tool) Print {
	t.Helper()
	p, err := Of(all)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestStability holds what changes which hash.
func TestStability(t *testing.T) {
	t.Parallel()
	base := of(t, tools())
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(base.Surface) || base.Surface == base.Contract {
		t.Errorf("%+v", base)
	}
	for name, c := range map[string]struct {
		edit              func([]Tool) []Tool
		surface, contract bool // whether it changes
		changed           string
	}{
		"the order of the list": {func(all []Tool) []Tool { return []Tool{all[1], all[0]} }, false, false, "[]"},
		"the order of keys":     {schema0(`"type":"object","properties":`, `"properties":`, `"required":["path"]}`, `"required":["path"],"type":"object"}`), false, false, "[]"},
		"white space":           {schema0(`"type":"object"`, " \"type\" :\n\"object\"", "", ""), false, false, "[]"},
		"a tool's description":  {func(all []Tool) []Tool { all[0].Description = "new"; return all }, false, true, "[]"},
		"a tool's title":        {func(all []Tool) []Tool { all[0].Title = "new"; return all }, false, true, "[]"},
		"a field's description": {schema0(`"what"`, `"which"`, "", ""), false, true, "[]"},
		"a field's title":       {schema0(`"Path"`, `"P"`, "", ""), false, true, "[]"},
		"examples":              {schema0(`["a"]`, `["b",{"type":"x"}]`, "", ""), false, true, "[]"},
		"a comment":             {schema0(`"$comment":"c"`, `"$comment":"d"`, "", ""), false, true, "[]"},
		"the output schema":     {func(all []Tool) []Tool { all[1].Output = json.RawMessage(`{}`); return all }, false, true, "[]"},
		"annotations":           {func(all []Tool) []Tool { all[1].Rest = json.RawMessage(`{"readOnlyHint":true}`); return all }, false, true, "[]"},
		"a type":                {schema0(`"type":"string"`, `"type":"number"`, "", ""), true, true, "[read]"},
		"what is required":      {schema0(`["path"]`, `[]`, "", ""), true, true, "[read]"},
		"a property named title": {func(all []Tool) []Tool {
			all[1].Input = json.RawMessage(strings.Replace(string(all[1].Input), `,"title":{"type":"string"}`, "", 1))
			return all
		}, true, true, "[grep]"},
		"a title within data": {func(all []Tool) []Tool {
			all[1].Input = json.RawMessage(strings.Replace(string(all[1].Input), `"data"`, `"other"`, 1))
			return all
		}, true, true, "[grep]"},
		"a tool that came":        {func(all []Tool) []Tool { return append(all, Tool{Name: "new"}) }, true, true, "[new]"},
		"a tool that went":        {func(all []Tool) []Tool { return all[:1] }, true, true, "[grep]"},
		"a tool of another name":  {func(all []Tool) []Tool { all[0].Name = "load"; return all }, true, true, "[load read]"},
		"the spelling of a digit": {func(all []Tool) []Tool { return all }, false, false, "[]"},
	} {
		got := of(t, c.edit(tools()))
		if (got.Surface != base.Surface) != c.surface || (got.Contract != base.Contract) != c.contract {
			t.Errorf("%s: the surface changes: %v, the contract: %v", name, got.Surface != base.Surface, got.Contract != base.Contract)
		}
		if changed := fmt.Sprint(got.Changed(base)); changed != c.changed {
			t.Errorf("%s: changed are %s, want %s", name, changed, c.changed)
		}
	}
}

// schema0 edits the schema of the first tool as text.
func schema0(pairs ...string) func([]Tool) []Tool {
	return func(all []Tool) []Tool {
		s := string(all[0].Input)
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] != "" {
				s = strings.Replace(s, pairs[i], pairs[i+1], 1)
			}
		}
		all[0].Input = json.RawMessage(s)
		return all
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for want, all := range map[string][]Tool{
		`fingerprint: two tools have the name "a"`: {{Name: "a"}, {Name: "b"}, {Name: "a"}},
		"fingerprint of tool a: canonical JSON":    {{Name: "a", Input: json.RawMessage(`{"type":`)}},
	} {
		if _, err := Of(all); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if p := of(t, nil); p.Surface != p.Contract || len(p.Tools) != 0 {
		t.Errorf("no tools: %+v", p)
	}
}

// TestStaleWarning holds what a client that echoes a fingerprint is told.
func TestStaleWarning(t *testing.T) {
	t.Parallel()
	p := of(t, tools())
	for _, known := range []string{"", "  ", p.Surface, p.Contract, " " + p.Surface + "\n"} {
		if w := p.StaleWarning(known, nil); w != nil {
			t.Errorf("%q is warned of: %s", known, w)
		}
	}
	changed := []string{"grep"}
	for i := range 12 {
		changed = append(changed, fmt.Sprint("t", i))
	}
	got := p.StaleWarning("old\"", changed)
	want := `{"code":"tool_schema_cache_stale","message":"the tools have changed since they were listed","refresh_action":"reissue_tools_list_or_reconnect","client":"old\"","server":"` +
		p.Surface + `","changed":["grep","t0","t1","t2","t3","t4","t5","t6","t7","t8"],"changed_omitted_count":3}`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
	if w := p.StaleWarning(strings.Repeat("x", 100_000), nil); len(w) > 500 || !json.Valid(w) {
		t.Errorf("a warning of %d bytes", len(w))
	}
	if got := Known(nil, json.RawMessage(`[]`), json.RawMessage(`{"known_tool_schema_fingerprint":7}`), json.RawMessage(`{"client_tool_schema_fingerprint":" abc "}`)); got != "abc" {
		t.Errorf("known is %q", got)
	}
	if got := Known(json.RawMessage(`{"a":1}`)); got != "" {
		t.Errorf("known is %q", got)
	}
}

// TestCanonical holds the examples of RFC 8785 (section 3.2.3 and appendix B), and where it goes on.
func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`:                                        `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		`[0,-0,-0.0,1.0,10e-1,1e21,1e20,123456789012345680000,9007199254740991,1e-6,1e-7,5e-324,-1.5E+2]`:                                                                                                            `[0,0,0,1,1,1e+21,100000000000000000000,123456789012345680000,9007199254740991,0.000001,1e-7,5e-324,-150]`,
		`[9007199254740993,123456789012345678901234567890,1e400,-1e999]`:                                                                                                                                             `[9007199254740993,123456789012345678901234567890,1e400,-1e999]`,
		`{"b":1,"a":1,"b":2}`: `{"a":1,"b":1,"b":2}`,
		`["\ud83d","\u2028"]`: "[\"\ufffd\",\"\u2028\"]",
		"\"\xff\"":            "\"\ufffd\"",
		" 7 ":                 "7",
	} {
		got, err := Canonical([]byte(in))
		if d := cmp.Diff(want, string(got)); err != nil || d != "" {
			t.Errorf("%s: %v (-want +got):\n%s", in, err, d)
		}
		again, err := Canonical(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("the canonical form of %s has another: %s", got, again)
		}
	}
	for _, in := range []string{"", "{", "1 2", `{"a"}`, strings.Repeat("[", 100_000)} {
		if _, err := Canonical([]byte(in)); err == nil {
			t.Errorf("%.20s has a canonical form", in)
		}
	}
}

// FuzzCanonical holds that a canonical form is valid and its own.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{"{}", `{"b":[1.50,"\u00e9"],"a":{"x":-0}}`, `1e-400`, `["😀","\ufb33"]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Canonical([]byte(s))
		if err != nil {
			return
		}
		again, err := Canonical(got)
		if err != nil || string(again) != string(got) || !json.Valid(got) {
			t.Errorf("%q becomes %q, then %q (%v)", s, got, again, err)
		}
	})
}
