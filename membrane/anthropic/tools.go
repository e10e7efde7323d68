package anthropic

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/internal/schema"
)

// maxProperty is how many characters of A-Z a-z 0-9 _ . - the name of an argument may have.
const maxProperty = 64

// encodeTools makes the offered tools, sorted by name, and a note for each one that is changed or left
// out. Two tools of one name are an error.
func encodeTools(specs []membrane.ToolSpec) (tools [][]byte, notes []string, err error) {
	offered, notes, err := schema.Offer(specs, inputSchema)
	for _, t := range offered {
		all := []object.Member{object.Text("name", t.Name)}
		if !blank(t.Description) {
			all = append(all, object.Text("description", t.Description))
		}
		tools = append(tools, object.Write(append(all, object.Of("input_schema", t.Schema))))
	}
	return tools, notes, err
}

// inputSchema gives a tool's schema as the provider takes it: as it is where nothing is against it. An
// error says why no schema can be made of it.
// Source: the provider's answers "input_schema does not support oneOf, allOf, or anyOf at the top level",
// "input_schema.type: Field required" and "Property keys should match pattern ^[a-zA-Z0-9_.-]{1,64}$".
func inputSchema(raw json.RawMessage) (schema.Fitted, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return schema.Fitted{Schema: []byte(`{"type":"object"}`)}, nil
	}
	kept, rule, err := schema.Root(raw)
	if err != nil {
		return schema.Fitted{}, err
	}
	if err := checkProperties(object.Find(kept, "properties")); err != nil {
		return schema.Fitted{}, err
	}
	if rule != "" || !canon.Equal(object.Find(kept, "type"), []byte(`"object"`)) {
		raw = object.Write(append([]object.Member{object.Text("type", "object")}, object.Without(kept, "type")...))
	}
	mended, lost := schema.Mended(raw)
	clean, _ := canon.CleanJSON(mended)
	return schema.Fitted{Schema: clean, Rule: rule, Lost: lost}, nil
}

func checkProperties(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	all, err := object.Read(raw)
	if err != nil {
		return errors.New("the properties of its schema are not a JSON object")
	}
	for _, p := range all {
		bad := strings.ContainsFunc(p.Key, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '.' && r != '-'
		})
		if bad || p.Key == "" || len(p.Key) > maxProperty {
			return fmt.Errorf("the provider does not take %.80q as the name of an argument: only A-Z a-z 0-9 _ . -, at most %d", p.Key, maxProperty)
		}
	}
	return nil
}
