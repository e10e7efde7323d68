package form

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
)

// A schema goes as it is, or as the nearest that the provider takes, and every difference is told.
func TestFit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want, rule string
		lost                 []string
	}{
		{"none", ``, `{"type":"object","properties":{}}`, "", nil},
		{"as it is", `{ "properties" : {"b":{"type":"string"},"a":{"type":["object","null"],"properties":{"x":{"type":"integer"}}}}, "type":"object","required":["b"], "additionalProperties":false}`, `{ "properties" : {"b":{"type":"string"},"a":{"type":["object","null"],"properties":{"x":{"type":"integer"}}}}, "type":"object","required":["b"], "additionalProperties":false}`, "", nil},
		{"no properties", `{"type":"object"}`, `{"type":"object","properties":{}}`, "", nil},
		{"no type", `{"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`, "", nil},
		{"$schema", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","type":"object","properties":{"$schema":{"type":"string"}}}`, `{"type":"object","properties":{"$schema":{"type":"string"}}}`, "", nil},
		{"C152", `{"type":"object","properties":{"h":{"type":"object"},"acts":{"type":"array","items":{"$ref":"#/properties/h"}}}}`, `{"type":"object","properties":{"h":{"type":"object"},"acts":{"type":"array","items":{"type":"object"}}}}`, "", nil},
		{"C156", `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, `{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`, nil},
		{
			"definitions", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a~1b","description":"mine"},"b":{"$ref":"#/definitions/c%20d"}},"$defs":{"a/b":{"type":"string","description":"theirs"}},"definitions":{"c d":{"type":"integer"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"mine"},"b":{"type":"integer"}}}`, "", nil,
		},
		{"into a list", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"$ref":"#/properties/a/anyOf/0"}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":"string"}}}`, "", nil},
		{"nowhere", `{"type":"object","properties":{"a":{"$ref":"https://elsewhere/x.json","type":"string"},"b":{"$ref":"#/nope"},"c":{"$ref":"#/properties/a/type/x"}}}`, `{"type":"object","properties":{"a":{"type":"string"},"b":{},"c":{}}}`, "", []string{
			`the reference "https://elsewhere/x.json" leads nowhere and is left out`, `the reference "#/nope" leads nowhere and is left out`, `the reference "#/properties/a/type/x" leads nowhere and is left out`,
		}},
		{
			"into itself", `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"v":{"type":"string"},"next":{"$ref":"#/$defs/n"}}}}}`,
			`{"type":"object","properties":{"n":{"type":"object","properties":{"v":{"type":"string"},"next":{"type":"object","properties":{"v":{"type":"string"},"next":{}}}}}}}`, "",
			[]string{`the reference "#/$defs/n" leads into itself and ends after 2 levels`},
		},
		{"its own root", `{"type":"object","properties":{"x":{"$ref":"#"}}}`, `{"type":"object","properties":{"x":{"type":"object","properties":{"x":{"type":"object","properties":{"x":{}}}}}}}`, "", []string{`the reference "#" leads into itself and ends after 2 levels`}},
		{"to itself alone", `{"type":"object","properties":{"x":{"$ref":"#/properties/x"}}}`, `{"type":"object","properties":{"x":{}}}`, "", []string{`the reference "#/properties/x" leads into itself and ends after 2 levels`}},
		{
			"old drafts", `{"type":"object","properties":{"a":{"type":"any","required":true},"b":{"type":"number","minimum":0,"exclusiveMinimum":true},"c":{"enum":[]},"d":{"type":"array","items":[{"type":"string"},{"type":"any"}]},"e":{"type":"array"},"f":7,"g":true}}`,
			`{"type":"object","properties":{"a":{},"b":{"type":"number","minimum":0},"c":{},"d":{"type":"array","items":{"anyOf":[{"type":"string"},{}]}},"e":{"type":"array","items":{}},"f":{},"g":true}}`, "",
			[]string{
				`the type "any", which JSON Schema does not have, is left out`, "required that is no list is left out", "exclusiveMinimum that is no number is left out", "an enum without values is left out",
				"a list as items is told as alternatives", "what stands at /properties/f is no schema",
			},
		},
		{"anything", `{"type":"object","properties":{"a":{"$ref":"#/$defs/any"}},"$defs":{"any":{}}}`, `{"type":"object","properties":{"a":{}}}`, "", nil},
		{"at the root", `{"type":"object","properties":{},"enum":[{}],"not":{"required":["a"]}}`, `{"type":"object","properties":{}}`, "", []string{"enum at the root is left out", "not at the root is left out"}},
		{"surrogates and digits", `{"type":"object","properties":{"a":{"maximum":12345678901234567890,"description":"\ud800"}}}`, `{"type":"object","properties":{"a":{"maximum":12345678901234567890,"description":"\ufffd"}}}`, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := Fit([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got.Schema)); diff != "" {
				t.Errorf("schema (-want +got):\n%s", diff)
			}
			if got.Rule != c.rule {
				t.Errorf("rule %s, want %s", got.Rule, c.rule)
			}
			if diff := cmp.Diff(c.lost, got.Lost); diff != "" {
				t.Errorf("lost (-want +got):\n%s", diff)
			}
		})
	}
}

// One tool that cannot be offered leaves the others where they are.
func TestOffer(t *testing.T) {
	t.Parallel()
	var huge strings.Builder
	huge.WriteString(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 30 {
		fmt.Fprintf(&huge, `"d%d":{"properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	huge.WriteString(`"d30":{}}}`)
	tools, notes, err := Offer([]membrane.ToolSpec{
		{Name: "z", Schema: []byte(`{"type":"array"}`)},
		{Name: "y", Schema: []byte(`[]`)},
		{Name: "x", Schema: []byte(huge.String())},
		{Name: "c"},
		{Name: "b.d", Schema: []byte(`{"type":"object","properties":{"a":{"type":"file"}}}`)},
		{Name: "a"},
	}, 2)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"a", membrane.WireName("b.d")}, names); diff != "" {
		t.Errorf("offered (-want +got):\n%s", diff)
	}
	want := []string{
		`tool b.d is offered with another schema, its arguments are checked by its own: the type "file", which JSON Schema does not have, is left out`,
		"tool b.d is called " + membrane.WireName("b.d") + " on the wire, and its description tells the full name",
		"tool x is left out: its schema has more than 256 KiB when its references are followed",
		"tool y is left out: its schema is not a JSON object: it is no object",
		`tool z is left out: its schema is of type "array" at the root, not object`,
		"tool c is left out: the provider takes 2 tools and there are 3",
	}
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
}

// Whatever a schema is, it becomes one with an object at its root, the same each time, or none.
func FuzzFit(f *testing.F) {
	for _, s := range []string{`{"type":"object","properties":{"x":{"$ref":"#"}}}`, `{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"$ref":"#/$defs/a"}}}`, `{"properties":[],"items":[]}`, `{"type":["object","string"],"oneOf":3}`, `{"$ref":"#/$ref"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Fit([]byte(s))
		if err != nil {
			return
		}
		all, err := object.Read(got.Schema)
		if err != nil || string(object.Find(all, "type")) != `"object"` || canon.Kind(object.Find(all, "properties")) != "object" {
			t.Fatalf("%q becomes %s", s, got.Schema)
		}
		for _, key := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
			if object.Find(all, key) != nil {
				t.Errorf("%q keeps %s: %s", s, key, got.Schema)
			}
		}
		if again, err := Fit([]byte(s)); err != nil || string(again.Schema) != string(got.Schema) || cmp.Diff(again.Lost, got.Lost) != "" {
			t.Errorf("%q becomes something else: %s", s, again.Schema)
		}
		if !json.Valid(got.Schema) {
			t.Errorf("no JSON: %s", got.Schema)
		}
	})
}
