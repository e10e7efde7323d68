//go:build unix

package client_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/mcp/client"
)

// TestSchemas checks results against output schemas on which validators part.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, structured, schema string
		want                     client.Verdict
	}{
		{"fits", `{"a":1}`, `{"type":"object","required":["a"]}`, client.Verdict{}},
		{"no schema", `{"a":1}`, ``, client.Verdict{}},
		{"28 an extra field", `{"a":1,"b":2}`, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`, client.Verdict{Code: client.CodeViolates, Violations: []string{`at the top: not known here: "b"`}}},
		{"31 a multiple of 0.1", `0.3`, `{"multipleOf":0.1}`, client.Verdict{}},
		{"an exact maximum", `9007199254740993`, `{"maximum":9007199254740992}`, client.Verdict{Code: client.CodeViolates, Violations: []string{"at the top: must be at most 9007199254740992"}}},
		{"a null", `null`, `{"type":"object"}`, client.Verdict{Code: client.CodeViolates, Violations: []string{"at the top: expected object, received null"}}},
		{"27 a format is not asserted", `{"at":"never"}`, `{"properties":{"at":{"format":"date-time"}}}`, client.Verdict{}},
		{"a scalar", `5`, `{"type":"integer"}`, client.Verdict{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := client.Receive([]byte(raw("", c.structured)))
			if diff := cmp.Diff(c.want, client.Check(r, []byte(c.schema))); diff != "" {
				t.Error(diff)
			}
		})
	}
	if v := client.Check(client.Receive([]byte(raw("", `{"a":1}`))), []byte(`{"$ref":"https://example.com/a"}`)); !strings.Contains(v.Unchecked, "leads out of the schema") {
		t.Errorf("a schema that leads elsewhere: %+v", v)
	}
	var many []string
	for i := range 80 {
		many = append(many, `"k`+strings.Repeat("x", i)+`"`)
	}
	v := client.Check(client.Receive([]byte(raw("", `{}`))), []byte(`{"required":[`+strings.Join(many, ",")+`]}`))
	if v.Code != client.CodeViolates || len(v.Violations) > 51 {
		t.Errorf("%d violations are told", len(v.Violations))
	}
}

// TestTraits takes hints only from a server that is trusted.
func TestTraits(t *testing.T) {
	t.Parallel()
	page := `{"tools":[{"name":"r","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"idempotentHint":true}}]}`
	trusted := hostile(t, script{Tools: []string{page}})
	trusted.Trusted = true
	s := connect(t, quick(), map[string]client.Server{"a": hostile(t, script{Tools: []string{page}}), "b": trusted})
	for i, want := range []bool{false, true} {
		if got := s.Tools()[i]; got.ReadOnly != want || got.Idempotent != want || got.Repeatable() != want {
			t.Errorf("%s: %+v", got.Name, got.Traits)
		}
	}
}
