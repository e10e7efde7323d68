package gemini_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/weir-run/weir/membrane/gemini"
)

func checkJSON(t *testing.T, raw []byte) {
	t.Helper()
	if !json.Valid(raw) || !utf8.Valid(raw) {
		t.Errorf("no JSON: %q", raw)
	}
}

// FuzzFit filters any schema: no panic, an end, and what comes out is an object that is filtered to itself.
func FuzzFit(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"type":["object","null"],"properties":{"a":{"$ref":"#/properties/a"}}}`, `{"anyOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"allOf":[{"$ref":"#/$defs/x"}]}}}`,
		`{"properties":{"a":{"type":["string","object"],"enum":["x",1],"items":[true,{"const":"\ud800"}]},"b":{"$ref":"#"}},"required":["a","c"]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := gemini.Fit(raw)
		if err != nil || first.Schema == nil {
			return
		}
		checkJSON(t, first.Schema)
		again, err := gemini.Fit(first.Schema)
		if err != nil {
			t.Fatalf("%s: %v", first.Schema, err)
		}
		if string(again.Schema) != string(first.Schema) || len(again.Lost) > 0 {
			t.Errorf("%s is filtered to\n%s\n%v", first.Schema, again.Schema, again.Lost)
		}
	})
}
