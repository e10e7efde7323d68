package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/internal/object"
	"github.com/weir-run/weir/membrane/internal/schema"
)

// Offer makes the tools that are offered, sorted by name, and a note for each one that is changed or left
// out. limit is how many a request may have; 0 is any number.
func Offer(specs []membrane.ToolSpec, limit int) (tools []schema.Tool, notes []string, err error) {
	tools, notes, err = schema.Offer(specs, Fit)
	if limit > 0 && len(tools) > limit {
		for _, t := range tools[limit:] {
			notes = append(notes, fmt.Sprintf("tool %.80s is left out: the provider takes %d tools and there are %d", t.Name, limit, len(tools)))
		}
		tools = tools[:limit]
	}
	return tools, notes, err
}

// Fit makes a schema into one that the provider takes as parameters of a function: as it is where nothing
// is against it. References are followed, because many compatible servers do not follow them.
// Sources: the provider's answers "schema must have type 'object' and not have
// 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level", "object schema missing properties", "array
// schema missing items" and those of its check against the draft (a type that there is not, an empty enum,
// required that is no list, a bound that is true).
func Fit(raw json.RawMessage) (schema.Fitted, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return schema.Fitted{Schema: []byte(`{"type":"object","properties":{}}`)}, nil
	}
	root, err := object.Read(raw)
	if err != nil {
		return schema.Fitted{}, fmt.Errorf("its schema is not a JSON object: %w", err)
	}
	w := &walk{root: root, open: map[string]int{}, found: map[string][]object.Member{}}
	walked := w.members(root, "", 0)
	if w.size > maxSchema {
		return schema.Fitted{}, fmt.Errorf("its schema has more than %d KiB when its references are followed", maxSchema>>10)
	}
	kept, rule, err := schema.Root(object.Write(walked))
	if err != nil {
		return schema.Fitted{}, err
	}
	for _, key := range []string{"enum", "not", "const"} {
		if object.Find(kept, key) != nil {
			w.note(key + " at the root is left out")
			kept = object.Without(kept, key)
		}
	}
	if kind := object.Find(kept, "type"); string(kind) != `"object"` {
		kept = append([]object.Member{object.Text("type", "object")}, object.Without(kept, "type")...)
	}
	if canon.Kind(object.Find(kept, "properties")) != "object" {
		kept = append(object.Without(kept, "properties"), object.Of("properties", []byte("{}")))
	}
	out := object.Write(kept)
	if canon.Equal(out, raw) {
		out = raw
	}
	clean, _ := canon.CleanJSON(out)
	return schema.Fitted{Schema: clean, Rule: rule, Lost: slices.Compact(w.lost)}, nil
}
