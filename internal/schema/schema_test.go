package schema_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/schema"
)

const person = `{"type":"object","properties":{"name":{"type":"string","minLength":2},"age":{"type":"integer","minimum":0},
"tag":{"enum":["a","b"]}},"required":["name"],"additionalProperties":false}`

func TestCheckNamesEveryViolationAndNoValue(t *testing.T) {
	s, err := schema.Compile([]byte(person))
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Check([]byte(`{"age":"secret-17","tag":"secret-c","zip":1,"more":2}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.Violation{
		{Text: `not known here: "more", "zip"`},
		{Text: `required and missing: "name"`},
		{Pointer: "/age", Text: "expected integer, received string"},
		{Pointer: "/tag", Text: `must be one of "a", "b"`},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("violations (-want +got):\n%s", d)
	}
	if strings.Contains(schema.List(got), "secret") {
		t.Errorf("a value is repeated: %s", schema.List(got))
	}
}

func TestCheckIsDeterministic(t *testing.T) {
	s, err := schema.Compile([]byte(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"},"c":{"type":"string"},"d":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	first := ""
	for range 100 {
		got, err := s.Check([]byte(`{"d":1,"b":2,"a":3,"c":4}`))
		if err != nil {
			t.Fatal(err)
		}
		if text := schema.List(got); first == "" {
			first = text
		} else if text != first {
			t.Fatalf("two checks differ:\n%s\n---\n%s", first, text)
		}
	}
}

func TestHostileSchemas(t *testing.T) {
	for name, c := range map[string]struct{ schema, value, compile, check string }{
		"remote reference": {schema: `{"$ref":"https://example.test/x.json"}`, compile: "leads out of the schema"},
		"file reference":   {schema: `{"$ref":"file:///etc/passwd"}`, compile: "leads out of the schema"},
		"no JSON":          {schema: `{"type":`, compile: "not JSON"},
		"deep schema":      {schema: strings.Repeat(`{"not":`, 2000) + "{}" + strings.Repeat("}", 2000), compile: "nested deeper"},
		"cycle":            {schema: `{"$ref":"#"}`, value: `1`, check: "without an end"},
		"deep value":       {schema: `{}`, value: strings.Repeat("[", 5000) + strings.Repeat("]", 5000), check: "nested deeper"},
		"cut value":        {schema: `{}`, value: `{"a": "b`, check: "in the middle of a value"},
		"two values":       {schema: `{}`, value: `{} {}`, check: "something follows"},
		"bad value":        {schema: `{}`, value: `{a: 1}`, check: "at byte 2"},
		"slow pattern":     {schema: `{"pattern":"(a+)+$"}`, value: `"` + strings.Repeat("a", 50000) + `!"`, check: "pattern"},
		"lookahead":        {schema: `{"pattern":"(?=a)"}`, compile: "pattern"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			s, err := schema.Compile([]byte(c.schema))
			if c.compile != "" {
				if err == nil || !strings.Contains(err.Error(), c.compile) {
					t.Fatalf("compile: %v, want %q", err, c.compile)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := s.Check([]byte(c.value))
			text := schema.List(got)
			if err != nil {
				text = err.Error()
			}
			if !strings.Contains(text, c.check) {
				t.Errorf("got %q, want %q", text, c.check)
			}
			if time.Since(began) > schema.Time+time.Second {
				t.Errorf("took %v", time.Since(began))
			}
		})
	}
}

func TestBigNumbersAreExact(t *testing.T) {
	s, err := schema.Compile([]byte(`{"type":"integer","maximum":9007199254740993}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, ok := range map[string]bool{"9007199254740993": true, "9007199254740994": false} {
		got, err := s.Check([]byte(value))
		if err != nil || (len(got) == 0) != ok {
			t.Errorf("%s: %v %v", value, got, err)
		}
	}
}

// Which of two members of one name is meant cannot be known, so the value does not fit.
func TestAKeyThatStandsTwiceIsAViolation(t *testing.T) {
	s, err := schema.Compile([]byte(`{"type":"object"}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]string{
		`{"a":1,"a":2}`: `at the top: the key "a" stands twice`,
		`{"o":[1,{"x":1,"y":{"k":1,"\u006b":2}}]}`: `at /o/1/y: the key "k" stands twice`,
		`{"a":{"b":1},"c":{"b":1}}`:                "",
		`{"a":[{"b":1},{"b":1}],"b":[]}`:           "",
	} {
		got, err := s.Check([]byte(value))
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		if len(got) > 0 {
			text = got[0].String()
		}
		if text != want {
			t.Errorf("%s: %q, want %q", value, text, want)
		}
	}
}
