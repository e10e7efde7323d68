package anthropic_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
)

func encodeHead(t *testing.T, m *anthropic.Model, h membrane.Head) string {
	t.Helper()
	e, err := m.EncodeHead(h)
	if err != nil {
		t.Fatal(err)
	}
	whole := slices.Concat(e.Head, e.Tail)
	if !json.Valid(whole) || !bytes.HasSuffix(e.Head, []byte(`"messages":[`)) {
		t.Errorf("the head is no start of a request: %s", whole)
	}
	return string(e.Head)
}

func TestEncodeHead(t *testing.T) {
	t.Parallel()
	const mark = `"cache_control":{"type":"ephemeral"}`
	schema := `{ "type":"object","properties":{"zeta":{"type":"string","description":"<b> & \u2028"},"alpha":{"type":"integer"}},"required":["zeta"],"$schema":"http://json-schema.org/draft-07/schema#","additionalProperties":false}`
	for _, c := range []struct {
		name   string
		config anthropic.Config
		head   membrane.Head
		want   string
	}{
		{"nothing", anthropic.Config{}, membrane.Head{}, `{"model":"claude-test","max_tokens":32000,"stream":true,` + mark + `,"messages":[`},
		{
			"system",
			anthropic.Config{MaxTokens: 9},
			membrane.Head{System: "a <b> & \"c\"\n\x00\xff"},
			`{"model":"claude-test","max_tokens":9,"stream":true,"system":[{"type":"text","text":"a <b> & \"c\"\n\u0000` + "\ufffd" + `",` + mark + `}],` + mark + `,"messages":[`,
		},
		{
			"tools, sorted, schemas as they are",
			anthropic.Config{MaxTokens: 9},
			membrane.Head{System: "s", MaxTokens: 100, Tools: []membrane.ToolSpec{{Name: "b"}, {Name: "a", Description: "does a", Schema: []byte(schema)}}},
			`{"model":"claude-test","max_tokens":100,"stream":true,"system":[{"type":"text","text":"s",` + mark + `}],"tools":[{"name":"a","description":"does a","input_schema":` + schema + `},{"name":"b","input_schema":{"type":"object"}}],` + mark + `,"messages":[`,
		},
		{
			"tools without a system text carry the marker",
			anthropic.Config{Cache: anthropic.CacheLong},
			membrane.Head{System: " \n", MaxTokens: 1, Tools: []membrane.ToolSpec{{Name: "a"}}},
			`{"model":"claude-test","max_tokens":1,"stream":true,"tools":[{"name":"a","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral","ttl":"1h"}}],` + mark + `,"messages":[`,
		},
		{
			"no cache",
			anthropic.Config{Cache: anthropic.CacheOff},
			membrane.Head{System: "s", MaxTokens: 1, Tools: []membrane.ToolSpec{{Name: "a"}}},
			`{"model":"claude-test","max_tokens":1,"stream":true,"system":[{"type":"text","text":"s"}],"tools":[{"name":"a","input_schema":{"type":"object"}}],"messages":[`,
		},
		{
			"settings in their own order, those of the head win",
			anthropic.Config{Cache: anthropic.CacheOff, Settings: []byte(`{"tool_choice":{"type":"auto"}, "thinking":{"type":"enabled","budget_tokens":2048},"big":12345678901234567890}`)},
			membrane.Head{MaxTokens: 1, Settings: []byte(`{"service_tier":"auto","thinking":{"type":"adaptive"}}`)},
			`{"model":"claude-test","max_tokens":1,"stream":true,"tool_choice":{"type":"auto"},"thinking":{"type":"adaptive"},"big":12345678901234567890,"service_tier":"auto","messages":[`,
		},
		{
			"a name that the wire has no place for",
			anthropic.Config{Cache: anthropic.CacheOff},
			membrane.Head{MaxTokens: 1, Tools: []membrane.ToolSpec{{Name: "files.read", Description: "reads"}}},
			`{"model":"claude-test","max_tokens":1,"stream":true,"tools":[{"name":"files_read_x601e4eb608f9175e","description":"reads\n\n[full name: files.read]","input_schema":{"type":"object"}}],"messages":[`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.config.APIKey, c.config.BaseURL = secret, "http://localhost"
			m, err := anthropic.New("claude-test", c.config)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, encodeHead(t, m, c.head)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A model that binds its thinking to the bytes before it is asked to drop what no longer fits, at the
// provider's own address, unless the settings say what to do.
func TestEncodeHeadBindsThinking(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model  string
		config anthropic.Config
		want   bool
	}{
		{"claude-opus-5-5", anthropic.Config{}, true},
		{"claude-opus-5-5", anthropic.Config{Settings: []byte(`{"thinking":{"type":"adaptive"}}`)}, false},
		{"claude-opus-5-5", anthropic.Config{BaseURL: "https://example.com"}, false},
		{"claude-sonnet-4-6", anthropic.Config{}, false},
	} {
		c.config.APIKey = secret
		m, err := anthropic.New(c.model, c.config)
		if err != nil {
			t.Fatal(err)
		}
		head := encodeHead(t, m, membrane.Head{})
		if got := strings.Contains(head, `"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`); got != c.want {
			t.Errorf("%s: %v, want %v: %s", c.model, got, c.want, head)
		}
	}
}

func TestEncodeHeadRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		head membrane.Head
		want string
	}{
		{"twins", membrane.Head{Tools: []membrane.ToolSpec{{Name: "a"}, {Name: "b"}, {Name: "a"}}}, `encode the head: there are two tools named "a"`},
		{"no object", membrane.Head{Settings: []byte(`[1]`)}, "encode the head: the settings are not a JSON object: it is no object"},
		{"cut", membrane.Head{Settings: []byte(`{"a":`)}, "encode the head: the settings are not a JSON object: it breaks off"},
		{"more", membrane.Head{Settings: []byte(`{} {}`)}, "encode the head: the settings are not a JSON object: something follows it"},
		{"ours", membrane.Head{Settings: []byte(`{"stream":false}`)}, `encode the head: the settings hold "stream", which the head has already`},
		{"cache", membrane.Head{Settings: []byte(`{"cache_control":null}`)}, `encode the head: the settings hold "cache_control": set Cache in the Config instead`},
		{"twice", membrane.Head{Settings: []byte(`{"a":1,"a":2}`)}, `encode the head: the settings hold "a" twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := newModel(t, "http://localhost").EncodeHead(c.head)
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(c.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLaw09HeadIsDeterministic makes the same head a hundred times, with the tools in other orders.
func TestLaw09HeadIsDeterministic(t *testing.T) {
	t.Parallel()
	tools := []membrane.ToolSpec{
		{Name: "a", Schema: []byte(`{"type":"object","properties":{"z":{},"y":{"properties":{"d":{},"c":{}}},"x":{}}}`)},
		{Name: "b.c", Schema: []byte(`{"anyOf":[{"properties":{"q":{},"p":{}}},{"properties":{"o":{}}}],"properties":{"n":{}}}`)},
		{Name: strings.Repeat("long", 30)},
	}
	m := newModel(t, "http://localhost", func(c *anthropic.Config) { c.Settings = []byte(`{"z":1,"y":{"b":1,"a":2}}`) })
	want := encodeHead(t, m, membrane.Head{System: "s", Tools: tools})
	for i := range 100 {
		shuffled := slices.Clone(tools)
		for j := range shuffled {
			k := (i*7 + j*3) % (j + 1)
			shuffled[j], shuffled[k] = shuffled[k], shuffled[j]
		}
		first := shuffled[0].Name
		if got := encodeHead(t, m, membrane.Head{System: "s", Tools: shuffled}); got != want {
			t.Fatalf("order %d: another head\n%s\n%s", i, want, got)
		}
		if shuffled[0].Name != first {
			t.Fatal("the caller's tools were sorted")
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, schema  string
		want          string // input_schema, or empty when the tool is left out
		description   string
		note          string
		leftOutReason string
	}{
		{name: "as it is", schema: `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"type":"object"}`, want: `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"type":"object"}`},
		{name: "no type", schema: `{"properties":{"a":{}}}`, want: `{"type":"object","properties":{"a":{}}}`},
		{
			name: "a reference to nothing", schema: `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/b"}},"$defs":{"b":{}}}`,
			want: `{"type":"object","properties":{"a":{},"b":{"$ref":"#/$defs/b"}},"$defs":{"b":{}}}`,
			note: "tool t is offered with another schema, its arguments are checked by its own: a reference to nothing (#/$defs/x)",
		},
		{name: "a list of types", schema: `{"properties":{},"type":["null","object"]}`, want: `{"type":"object","properties":{}}`},
		{
			name: "alternatives", schema: `{"type":"object","oneOf":[{"properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]},{"properties":{"b":{"type":"integer"},"c":{}},"required":["b"]}],"description":"d"}`,
			want:        `{"type":"object","description":"d","properties":{"a":{"type":"string"},"b":{},"c":{}},"required":["b"]}`,
			description: `The arguments must also satisfy this JSON Schema: {"oneOf":[{"properties":{"a":{"type":"string"},"b":{}},"required":["a","b"]},{"properties":{"b":{"type":"integer"},"c":{}},"required":["b"]}]}`,
			note:        "tool t: the provider takes no anyOf, oneOf or allOf at the root of a schema: its alternatives are merged, and its description tells the rule",
		},
		{
			name: "all of, by reference", schema: `{"allOf":[{"$ref":"#/$defs/x~1y"},{"required":["k"]}],"$defs":{"x/y":{"properties":{"a":{}},"required":["a"]}},"properties":{"k":{}},"required":["k"]}`,
			want:        `{"type":"object","$defs":{"x/y":{"properties":{"a":{}},"required":["a"]}},"properties":{"k":{},"a":{}},"required":["k","a"]}`,
			description: `The arguments must also satisfy this JSON Schema: {"allOf":[{"$ref":"#/$defs/x~1y"},{"required":["k"]}]}`,
			note:        "tool t: the provider takes no anyOf, oneOf or allOf at the root of a schema: its alternatives are merged, and its description tells the rule",
		},
		{
			name: "a reference to itself", schema: `{"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/anyOf/0"},{"$ref":"#"}],"$ref":"#","$defs":{"x":{"$ref":"#/$defs/x"}}}`,
			want:        `{"type":"object","$ref":"#","$defs":{"x":{"$ref":"#/$defs/x"}},"properties":{}}`,
			description: `The arguments must also satisfy this JSON Schema: {"anyOf":[{"$ref":"#/$defs/x"},{"$ref":"#/anyOf/0"},{"$ref":"#"}]}`,
			note:        "tool t: the provider takes no anyOf, oneOf or allOf at the root of a schema: its alternatives are merged, and its description tells the rule",
		},
		{name: "no object", schema: `{"type":"string"}`, leftOutReason: `its schema is of type "string" at the root, not object`},
		{name: "true", schema: `true`, leftOutReason: "its schema is not a JSON object: it is no object"},
		{name: "cut", schema: `{"type":`, leftOutReason: "its schema is not a JSON object: it breaks off"},
		{name: "a name of an argument", schema: `{"type":"object","properties":{"a b":{}}}`, leftOutReason: `the provider does not take "a b" as the name of an argument: only A-Z a-z 0-9 _ . -, at most 64`},
		{name: "in an alternative", schema: `{"anyOf":[{"properties":{"größe":{}}}]}`, leftOutReason: `the provider does not take "größe" as the name of an argument: only A-Z a-z 0-9 _ . -, at most 64`},
		{name: "odd properties", schema: `{"properties":[]}`, leftOutReason: "the properties of its schema are not a JSON object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			m := newModel(t, "http://localhost", func(cfg *anthropic.Config) {
				cfg.Cache, cfg.Logger = anthropic.CacheOff, slog.New(slog.NewTextHandler(&log, nil))
			})
			h := membrane.Head{MaxTokens: 1, Tools: []membrane.ToolSpec{{Name: "t", Schema: []byte(c.schema)}, {Name: "other"}}}
			want := `{"name":"other","input_schema":{"type":"object"}}`
			note := c.note
			if c.want != "" {
				tool := `,{"name":"t",`
				if c.description != "" {
					d, _ := json.Marshal(c.description)
					tool += `"description":` + string(d) + `,`
				}
				want += tool + `"input_schema":` + c.want + `}`
			} else {
				note = "tool t is left out: " + c.leftOutReason
			}
			want = `{"model":"claude-test","max_tokens":1,"stream":true,"tools":[` + want + `],"messages":[`
			if diff := cmp.Diff(want, encodeHead(t, m, h)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			var notes []string
			if note != "" {
				notes = []string{note}
			}
			if diff := cmp.Diff(notes, m.Notes(h)); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
			if (log.Len() > 0) != (note != "") {
				t.Errorf("log: %s", &log)
			}
		})
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		model  string
		config anthropic.Config
		want   string
	}{
		{"claude-test", anthropic.Config{}, "anthropic: model claude-test has no API key: set ANTHROPIC_API_KEY"},
		{"claude-test", anthropic.Config{APIKey: " \n"}, "anthropic: model claude-test has no API key: set ANTHROPIC_API_KEY"},
		{"claude-test", anthropic.Config{APIKey: "sk\n-x"}, "anthropic: the API key holds characters that no key has: copy it again"},
		{" ", anthropic.Config{APIKey: "k"}, "anthropic: a model needs a name, such as claude-opus-5-5"},
		{"m", anthropic.Config{APIKey: "k", BaseURL: "localhost:80"}, `anthropic: BaseURL "localhost:80" is no address such as https://host/path`},
		{"m", anthropic.Config{APIKey: "k", MaxTokens: -1}, "anthropic: MaxTokens and IdleTimeout must not be negative"},
		{"m", anthropic.Config{APIKey: "k", Cache: "2h"}, `anthropic: Cache is "2h"; it must be "5m", "1h" or "off"`},
		{"m", anthropic.Config{APIKey: "k", Settings: []byte(`{"model":"x"}`)}, `anthropic: the settings hold "model", which the head has already`},
	} {
		_, err := anthropic.New(c.model, c.config)
		if err == nil {
			t.Errorf("no error: want %s", c.want)
			continue
		}
		if diff := cmp.Diff(c.want, err.Error()); diff != "" {
			t.Error(diff)
		}
	}
	m := newModel(t, "")
	if got := []string{m.Dialect(), m.Name(), m.Encoder()}; !slices.Equal(got, []string{"anthropic", "anthropic/claude-test", "1"}) {
		t.Errorf("names: %q", got)
	}
}

// What a Config puts into a head is told, so that a change of it is seen; nothing is told of the defaults.
func TestSettings(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*anthropic.Config){
		``:                             func(c *anthropic.Config) { c.MaxTokens, c.Cache = anthropic.DefaultMaxTokens, anthropic.CacheShort },
		`{"max_tokens":9}`:             func(c *anthropic.Config) { c.MaxTokens = 9 },
		`{"cache":""}`:                 func(c *anthropic.Config) { c.Cache = anthropic.CacheOff },
		`{"a":{"y":1.0,"z":1},"b":[]}`: func(c *anthropic.Config) { c.Settings = []byte(` {"b": [], "a": {"z":1,"y":1.0}}`) },
	} {
		if diff := cmp.Diff(want, string(newModel(t, "", change).Settings())); diff != "" {
			t.Error(diff)
		}
	}
	// What the adapter adds by itself for some models counts too.
	m, err := anthropic.New("claude-opus-5-5", anthropic.Config{APIKey: "k"})
	if err != nil || !strings.Contains(string(m.Settings()), "block_binding") {
		t.Errorf("%s, %v", m.Settings(), err)
	}
}
