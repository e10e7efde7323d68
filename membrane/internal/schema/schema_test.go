package schema_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/internal/schema"
)

func TestRoot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, raw, want, rule, err string }{
		{"plain", `{"type":"object","z":1}`, `{"type":"object","z":1}`, "", ""},
		{"says nothing", `{}`, `{}`, "", ""},
		{
			"alternatives", `{"anyOf":[{"properties":{"a":{},"c":{}},"required":["a","c"]},{"properties":{"b":{}},"required":["c"]}],"required":["x"]}`,
			`{"properties":{"a":{},"c":{},"b":{}},"required":["x","c"]}`, `{"anyOf":[{"properties":{"a":{},"c":{}},"required":["a","c"]},{"properties":{"b":{}},"required":["c"]}]}`, "",
		},
		{
			"all of", `{"properties":{"a":{"k":1}},"allOf":[{"properties":{"a":{},"b":{}},"required":["a"]},{"required":["b"]}]}`,
			`{"properties":{"a":{"k":1},"b":{}},"required":["a","b"]}`, `{"allOf":[{"properties":{"a":{},"b":{}},"required":["a"]},{"required":["b"]}]}`, "",
		},
		{"a reference", `{"oneOf":[{"$ref":"#/$defs/x"}],"$defs":{"x":{"properties":{"a":{}}}}}`, `{"$defs":{"x":{"properties":{"a":{}}}},"properties":{"a":{}}}`, `{"oneOf":[{"$ref":"#/$defs/x"}]}`, ""},
		{"no end", `{"oneOf":[{"$ref":"#/oneOf/0"}]}`, `{"properties":{}}`, `{"oneOf":[{"$ref":"#/oneOf/0"}]}`, ""},
		{"or null", `{"type":["object","null"]}`, `{"type":["object","null"]}`, "", ""},
		{"a list", `{"type":"array"}`, "", "", `its schema is of type "array" at the root, not object`},
		{"no object", `true`, "", "", `its schema is not a JSON object: it is no object`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			kept, rule, err := schema.Root([]byte(c.raw))
			switch {
			case c.err != "" && (err == nil || err.Error() != c.err):
				t.Errorf("%v, want %s", err, c.err)
			case c.err == "" && err != nil:
				t.Error(err)
			case c.err == "":
				if diff := cmp.Diff([]string{c.want, c.rule}, []string{string(object.Write(kept)), rule}); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	root, err := object.Read([]byte(`{"a/b":{"~":[{"x":1},2]},"l":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		`"#"`: `{"a/b":{"~":[{"x":1},2]},"l":[]}`, `"#/a~1b/~0/0/x"`: "1", `"#/a~1b/~0/1"`: "2", `"#/l/0"`: "", `"#/l/-1"`: "", `"#/x"`: "", `"https://e.org"`: "", `7`: "", ``: "",
	} {
		got, ok := schema.Target(json.RawMessage(ref), root)
		if string(got) != want || ok != (want != "") {
			t.Errorf("%s: %s %v, want %s", ref, got, ok, want)
		}
	}
}

func TestOffer(t *testing.T) {
	t.Parallel()
	fit := func(raw json.RawMessage) (schema.Fitted, error) {
		switch string(raw) {
		case "bad":
			return schema.Fitted{}, errors.New("it is\nbad")
		case "lossy":
			return schema.Fitted{Schema: []byte("{}"), Rule: `{"anyOf":[]}`, Lost: []string{"x at /a", "y at /b"}}, nil
		}
		return schema.Fitted{Schema: []byte("{}")}, nil
	}
	tools, notes, err := schema.Offer([]membrane.ToolSpec{{Name: "z.z"}, {Name: "b", Schema: []byte("bad")}, {Name: "a", Description: "d", Schema: []byte("lossy")}}, fit)
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.Tool{
		{Name: "a", Description: "d\n\nThe arguments must also satisfy this JSON Schema: {\"anyOf\":[]}", Schema: []byte("{}")},
		{Name: membrane.WireName("z.z"), Description: "[full name: z.z]", Schema: []byte("{}")},
	}
	if diff := cmp.Diff(want, tools); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	said := []string{
		"tool a: the provider takes no anyOf, oneOf or allOf at the root of a schema: its alternatives are merged, and its description tells the rule",
		"tool a is offered with another schema, its arguments are checked by its own: x at /a; y at /b",
		"tool b is left out: it is bad",
		"tool z.z is called " + membrane.WireName("z.z") + " on the wire, and its description tells the full name",
	}
	if diff := cmp.Diff(said, notes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, _, err := schema.Offer([]membrane.ToolSpec{{Name: "a"}, {Name: "a"}}, fit); err == nil {
		t.Error("two tools of one name are offered")
	}
}

func TestMended(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		raw, want string
		lost      []string
	}{
		{`{ "a": {"$ref":"#/b"}, "b":1 }`, `{ "a": {"$ref":"#/b"}, "b":1 }`, nil},
		{`{"a":{"$ref":"#"},"b":{"$ref":"https://e.org/x"},"c":{"$ref":"#anchor"}}`, `{"a":{"$ref":"#"},"b":{"$ref":"https://e.org/x"},"c":{"$ref":"#anchor"}}`, nil},
		{`{"properties":{"$ref":{"type":"string"},"a":[{"$ref":"#/anyOf/0","x":1.0}]}}`, `{"properties":{"$ref":{"type":"string"},"a":[{"x":1.0}]}}`, []string{"a reference to nothing (#/anyOf/0)"}},
		{`[`, `[`, nil},
	} {
		got, lost := schema.Mended(json.RawMessage(c.raw))
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(c.lost, lost); diff != "" {
			t.Error(diff)
		}
	}
}
