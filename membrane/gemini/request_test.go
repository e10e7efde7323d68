package gemini_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/gemini"
)

func head(t *testing.T, m *gemini.Model, h membrane.Head) string {
	t.Helper()
	e, err := m.EncodeHead(h)
	if err != nil {
		t.Fatal(err)
	}
	if !json.Valid(slices.Concat(e.Head, e.Tail)) {
		t.Errorf("head and tail are no JSON: %s…%s", e.Head, e.Tail)
	}
	return string(e.Head)
}

func TestEncodeHead(t *testing.T) {
	t.Parallel()
	cfg := func(max int, settings string) func(*gemini.Config) {
		return func(c *gemini.Config) { c.MaxTokens, c.Settings = max, []byte(settings) }
	}
	for _, c := range []struct {
		name   string
		config func(*gemini.Config)
		head   membrane.Head
		want   string
	}{
		{"nothing", cfg(0, ""), membrane.Head{}, `{"contents":[`},
		{"system", cfg(0, ""), membrane.Head{System: "a \"b\" <c>"}, `{"systemInstruction":{"parts":[{"text":"a \"b\" <c>"}]},"contents":[`},
		{"tools", cfg(0, ""), membrane.Head{Tools: []membrane.ToolSpec{{Name: "b"}, {Name: "a", Description: "x"}}}, `{"tools":[{"functionDeclarations":[{"name":"a","description":"x"},{"name":"b"}]}],"contents":[`},
		{"limit", cfg(70, ""), membrane.Head{}, `{"generationConfig":{"maxOutputTokens":70},"contents":[`},
		{"limit of the head", cfg(70, ""), membrane.Head{MaxTokens: 9}, `{"generationConfig":{"maxOutputTokens":9},"contents":[`},
		{
			"settings", cfg(70, `{"safetySettings":[1.0],"generationConfig":{"seed":1,"topK":2}}`),
			membrane.Head{Settings: []byte(`{"generationConfig":{"seed":7},"toolConfig":{}}`)},
			`{"generationConfig":{"seed":7,"topK":2,"maxOutputTokens":70},"safetySettings":[1.0],"toolConfig":{},"contents":[`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, "", "gemini-test", c.config)
			if diff := cmp.Diff(c.want, head(t, m, c.head)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What a Config puts into a head is told, so that a change of it is seen.
func TestSettings(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"":                        ``,
		` {"b": 1, "a": [2]}`:     `{"a":[2],"b":1}`,
		`{"a":[2],"b":1}`:         `{"a":[2],"b":1}`,
		`{"a":[2], "b":1.0}`:      `{"a":[2],"b":1.0}`,
		`{"generationConfig":{}}`: `{"generationConfig":{}}`,
	} {
		m := newModel(t, "", "gemini-test", func(c *gemini.Config) { c.Settings = []byte(settings) })
		if diff := cmp.Diff(want, string(m.Settings())); diff != "" {
			t.Error(diff)
		}
	}
	if got := string(newModel(t, "", "gemini-test", func(c *gemini.Config) { c.MaxTokens = 5 }).Settings()); got != `{"maxOutputTokens":5}` {
		t.Error(got)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, schema, want string
		notes              []string
	}{
		{"none", ``, ``, nil},
		{"empty", `{}`, `{"type":"object"}`, nil},
		{"kept", `{"type":"object","properties":{"z":{"type":"integer","minimum":1},"a":{"type":"string","enum":["x"],"format":"date"}},"required":["z"]}`, `{"type":"object","properties":{"z":{"type":"integer","minimum":1},"a":{"type":"string","enum":["x"],"format":"date"}},"required":["z"]}`, nil},
		{"says nothing", `{"$schema":"x","type":"object","additionalProperties":false,"properties":{"q":{"type":"string","default":"d","format":"uri","additionalProperties":true}}}`, `{"type":"object","properties":{"q":{"type":"string"}}}`, nil},
		{"local reference", `{"type":"object","properties":{"h":{"type":"object"},"acts":{"type":"array","items":{"$ref":"#/properties/h","description":"d"}}}}`, `{"type":"object","properties":{"h":{"type":"object"},"acts":{"type":"array","items":{"type":"object","description":"d"}}}}`, nil},
		{"definitions", `{"type":"object","$defs":{"a/b":{"$ref":"#/definitions/c"}},"definitions":{"c":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a~1b"}}}`, `{"type":"object","properties":{"x":{"type":"string"}}}`, nil},
		{"no reference", `{"properties":{"x":{"$ref":"https://example.org/x","type":"string"},"y":{"$ref":"#/nowhere"}}}`, `{"type":"object","properties":{"x":{"type":"string"},"y":{}}}`, []string{"a reference to nothing (https://example.org/x) at /x; a reference to nothing (#/nowhere) at /y"}},
		{"holds itself", `{"type":"object","properties":{"next":{"$ref":"#"}}}`, `{"type":"object","properties":{"next":{"type":"object","properties":{"next":{}}}}}`, []string{"a schema that holds itself (#) at /next/next"}},
		{"or null", `{"properties":{"rows":{"type":"array","items":{"type":["object","null"],"description":"d","properties":{"a":{"type":"string"}}}}}}`, `{"type":"object","properties":{"rows":{"type":"array","items":{"description":"d","anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"null"}]}}}}`, nil},
		{"nullable", `{"properties":{"a":{"type":"string","nullable":true,"enum":["x"]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string","enum":["x"]},{"type":"null"}]}}}`, nil},
		{"list of one", `{"properties":{"a":{"type":["string"]}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`, nil},
		{"const and enum", `{"properties":{"a":{"const":"x"},"b":{"enum":[1,null,"y",true]},"c":{"const":null}}}`, `{"type":"object","properties":{"a":{"enum":["x"]},"b":{"enum":[1,"y"]},"c":{}}}`, []string{"enum values that are no text or number at /b; enum values that are no text or number at /c"}},
		{"alternatives", `{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer","multipleOf":2}]}}}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`, []string{"multipleOf at /a/oneOf/1"}},
		{"all of", `{"properties":{"a":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]},{"$ref":"#/$defs/y"}],"required":[]}},"$defs":{"y":{"properties":{"y":{}},"required":["y"]}}}`, `{"type":"object","properties":{"a":{"required":["x","y"],"type":"object","properties":{"x":{"type":"string"},"y":{}}}}}`, nil},
		{"required of nothing", `{"properties":{"a":{}},"required":["a","b"]}`, `{"type":"object","properties":{"a":{}},"required":["a"]}`, []string{"required names of no property at /"}},
		{"tuple", `{"properties":{"a":{"items":[{"type":"string"},true]}}}`, `{"type":"object","properties":{"a":{"prefixItems":[{"type":"string"},{}]}}}`, nil},
		{"map", `{"properties":{"a":{"type":"object","additionalProperties":{"type":"string","pattern":"x"}}}}`, `{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string"}}}}`, []string{"pattern at /a/*"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, "", "gemini-test")
			h := membrane.Head{Tools: []membrane.ToolSpec{{Name: "srv--t", Schema: []byte(c.schema)}}}
			want := `{"tools":[{"functionDeclarations":[{"name":"srv--t","parametersJsonSchema":` + c.want + `}]}],"contents":[`
			if c.want == "" {
				want = `{"tools":[{"functionDeclarations":[{"name":"srv--t"}]}],"contents":[`
			}
			if diff := cmp.Diff(want, head(t, m, h)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var notes []string
			for _, lost := range c.notes {
				notes = append(notes, "tool srv--t is offered with another schema, its arguments are checked by its own: "+lost)
			}
			if diff := cmp.Diff(notes, m.Notes(h)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// One tool that cannot be offered is left out with a word, and the others are offered.
func TestToolsLeftOut(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"properties":{"a":`, 60) + `{}` + strings.Repeat(`}}`, 60)
	var doubling strings.Builder
	doubling.WriteString(`{"type":"object","properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{`)
	for i := range 30 {
		fmt.Fprintf(&doubling, `"d%d":{"properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}},`, i, i+1, i+1)
	}
	doubling.WriteString(`"d30":{}}}`)
	m := newModel(t, "", "gemini-test")
	h := membrane.Head{Tools: []membrane.ToolSpec{
		{Name: "3d"},
		{Name: "list", Schema: []byte(`{"type":"array"}`)},
		{Name: "cut", Schema: []byte(`{"type":`)},
		{Name: "ok"},
		{Name: "deep", Schema: []byte(deep)},
		{Name: "doubling", Schema: []byte(doubling.String())},
		{Name: "files.read"},
	}}
	want := []string{
		`tool 3d is left out: the provider takes no name that begins with '3', only a letter or _`,
		`tool cut is left out: its schema is not a JSON object: it breaks off`,
		`tool deep is offered with another schema, its arguments are checked by its own: what nests deeper than 32 levels at ` + strings.Repeat("/a", 33),
		`tool doubling is left out: its schema holds more than 5000 schemas when its references are followed`,
		`tool files.read is called files_read_x601e4eb608f9175e on the wire, and its description tells the full name`,
		`tool list is left out: its schema is of type "array" at the root, not object`,
	}
	if diff := cmp.Diff(want, m.Notes(h)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := head(t, m, h); strings.Count(got, `"name":`) != 3 || !strings.Contains(got, `{"name":"ok"}`) {
		t.Errorf("%s", got)
	}
	if _, err := m.EncodeHead(membrane.Head{Tools: []membrane.ToolSpec{{Name: "a"}, {Name: "a"}}}); err == nil || err.Error() != `encode the head: there are two tools named "a"` {
		t.Error(err)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model  string
		config gemini.Config
		want   string
	}{
		{" ", gemini.Config{APIKey: "k"}, "gemini: a model needs a name, such as gemini-3-pro"},
		{"m?key=x", gemini.Config{APIKey: "k"}, `gemini: "m?key=x" is no name of a model, such as gemini-3-pro`},
		{"../m", gemini.Config{APIKey: "k"}, `gemini: "../m" is no name of a model, such as gemini-3-pro`},
		{"m", gemini.Config{}, "gemini: model m has no API key: set GEMINI_API_KEY"},
		{"m", gemini.Config{APIKey: "k\nx"}, "gemini: the API key holds characters that no key has: copy it again"},
		{"m", gemini.Config{APIKey: "k", BaseURL: "localhost:80"}, `gemini: BaseURL "localhost:80" is no address such as https://host/path`},
		{"m", gemini.Config{APIKey: "k", MaxTokens: -1}, "gemini: MaxTokens and IdleTimeout must not be negative"},
		{"m", gemini.Config{APIKey: "k", Settings: []byte(`{"contents":[]}`)}, `gemini: the settings hold "contents", which the head has already`},
		{"m", gemini.Config{APIKey: "k", Settings: []byte(`{"a":1,"a":2}`)}, `gemini: the settings hold "a" twice`},
		{"m", gemini.Config{APIKey: "k", Settings: []byte(`{"generationConfig":{"candidateCount":2}}`)}, `gemini: the settings hold "candidateCount": only one answer is read`},
		{"m", gemini.Config{APIKey: "k", Settings: []byte(`{"generationConfig":{"maxOutputTokens":2}}`)}, `gemini: the settings hold "maxOutputTokens": set MaxTokens in the Config instead`},
		{"m", gemini.Config{APIKey: "k", Settings: []byte(`{"generationConfig":2}`)}, `gemini: the generationConfig of the settings is not a JSON object: it is no object`},
		{"m", gemini.Config{APIKey: "k", Settings: []byte(`[`)}, `gemini: the settings are not a JSON object: it is no object`},
	} {
		_, err := gemini.New(c.model, c.config)
		if err == nil {
			t.Errorf("no error: want %s", c.want)
			continue
		}
		if diff := cmp.Diff(c.want, err.Error()); diff != "" {
			t.Error(diff)
		}
	}
	m := newModel(t, "", "models/gemini-test")
	if got := []string{m.Dialect(), m.Name(), m.Encoder()}; !slices.Equal(got, []string{"gemini", "gemini/gemini-test", "1"}) {
		t.Errorf("names: %q", got)
	}
}
