package shape_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/weir-run/weir/result/shape"
)

// FuzzRender holds every form to: text or JSON that is valid, and never a panic.
func FuzzRender(f *testing.F) {
	for _, doc := range []string{`{"a":1e400,"b":[{"c":"x|y"}]}`, "[[[", "\xff", `{"a":1,"a":2}`, `"\ud83d"`, `{"a":{"b":null}}`, string(meterDocument()[:300])} {
		f.Add(doc, "a: .a")
		f.Add(doc, "b: [.. | numbers] | add")
	}
	f.Fuzz(func(t *testing.T, doc, line string) {
		var configs []shape.Config
		configs = append(configs, shape.Config{})
		if len(line) < 60 {
			if selector, err := shape.JQ([]string{line}); err == nil {
				configs = append(configs, shape.Config{Select: selector})
			}
		}
		for _, cfg := range configs {
			s, err := shape.New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range shape.Names() {
				r, err := s.Render(t.Context(), []byte(doc), name)
				if err != nil {
					t.Fatal(err)
				}
				if !utf8.ValidString(r.Text) {
					t.Fatalf("%s: %q", name, r.Text)
				}
				isJSON := name == shape.Pruned || name == shape.JSON || name == shape.Structured
				if isJSON && !r.IsError && r.Note == "" && !json.Valid([]byte(r.Text)) {
					t.Fatalf("%s: %q", name, r.Text)
				}
			}
		}
	})
}
