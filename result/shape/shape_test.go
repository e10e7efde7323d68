package shape_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/result/shape"
)

func shaper(t testing.TB, cfg shape.Config, lines ...string) *shape.Shaper {
	t.Helper()
	if len(lines) > 0 {
		selector, err := shape.JQ(lines)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Select = selector
	}
	s, err := shape.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func render(t testing.TB, s *shape.Shaper, doc string, name shape.Name) shape.Rendered {
	t.Helper()
	r, err := s.Render(t.Context(), []byte(doc), name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestSelect has what is shown, in its order, digit for digit.
func TestSelect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, doc, lines, want string }{
		{"order is that of the list", `{"a":1,"b":2}`, "z: .b\na: .a", `{"z":2,"a":1}`},
		{"a missing source leaves its field out", `{"a":1}`, "a: .a\nb: .b.c.d", `{"a":1}`},
		{"null leaves its field out", `{"a":null}`, "a: .a", `{}`},
		{"false, 0, empty are values", `{"a":false,"b":0,"c":"","d":[],"e":{}}`, "a: .a\nb: .b\nc: .c\nd: .d\ne: .e", `{"a":false,"b":0,"c":"","d":[],"e":{}}`},
		{"an object of the document keeps its order", `{"o":{"z":1,"a":{"y":1,"b":2}}}`, "o: .o", `{"o":{"z":1,"a":{"y":1,"b":2}}}`},
		{"two objects, each in its own order", `{"l":[{"a":1,"b":2},{"b":3,"a":4}]}`, "l: .l", `{"l":[{"a":1,"b":2},{"b":3,"a":4}]}`},
		{"an object that is made has the order of the expression", `{"l":[{"a":1,"z":2}]}`, "l: .l | map({z, a, m: 3})", `{"l":[{"z":2,"a":1,"m":3}]}`},
		{"an object that is changed has that of the document", `{"o":{"z":1,"b":2,"a":3}}`, "o: .o | del(.b)", `{"o":{"z":1,"a":3}}`},
		{"literals", `{"n":[1.10,1e2,-0,0.1,1E400,123456789012345678901234567890.5]}`, "n: .n", `{"n":[1.10,1e2,-0,0.1,1E400,123456789012345678901234567890.5]}`},
		{"integers are exact", `{"a":9007199254740993,"b":1}`, "a: .a\ns: .a + .b", `{"a":9007199254740993,"s":9007199254740994}`},
		{"big integers are exact", `{"a":123456789012345678901234567890}`, "s: .a + 1\np: .a * 2", `{"s":123456789012345678901234567891,"p":246913578024691357802469135780}`},
		{"decimals", `{"a":4199.2,"b":4150.9}`, "d: ((.a - .b) * 10 | round) / 10", `{"d":48.3}`},
		{"beside a number that is not held", `{"big":1e400,"a":1.5}`, "s: .a * 2\nbig: .big", `{"s":3,"big":1e400}`},
		{"a big integer in a text", `{"id":9007199254740993}`, `id: "order-\(.id)"`, `{"id":"order-9007199254740993"}`},
		{"a number that is not held, by its type", `{"a":1e400}`, "t: .a | type", `{"t":"number"}`},
		{"text", `{"a":"<b>&\u2028\ud83d\ude42 \ud83d"}`, "a: .a", "{\"a\":\"<b>&\u2028🙂 \ufffd\"}"},
		{"white space goes", "{ \"a\" :\n[ 1 , 2 ] }", "a: .a", `{"a":[1,2]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := render(t, shaper(t, shape.Config{}, strings.Split(c.lines, "\n")...), c.doc, shape.JSON)
			if diff := cmp.Diff(shape.Rendered{Text: c.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSelectRefuses has every expression that gives no figure to rely on: none of them shows one.
func TestSelectRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, doc, line, want string }{
		{"fails", `{"a":"x"}`, "s: .a + 1", `select s: cannot add: string ("x") and number (1)`},
		{"nothing", `{}`, "s: empty", "select s: the expression gives nothing: end it with // null when the field may be left out"},
		{"more than one", `{"l":[1,2]}`, "s: .l[]", "select s: the expression gives more than one value: put [ ] around it, or first()"},
		{"no number", `{"a":0}`, "s: nan", "select s: it gives no finite number"},
		{"infinite", `{}`, "s: infinite", "select s: it gives no finite number"},
		{"beyond float64", `{"a":1e400}`, "s: .a * 1", "select s: it gives no finite number"},
		{"many digits", `{"a":0.12345678901234567891}`, "s: .a + 0", "select s: it computes with 0.12345678901234567891, which float64 cannot hold: select the number as it is"},
		{"an integer among decimals", `{"a":9007199254740993}`, "s: .a * 1.5", "select s: it computes with 9007199254740993, which float64 cannot hold: select the number as it is"},
		{"an integer that is rounded", `{"a":9007199254740993}`, "s: .a | floor", "select s: it computes with 9007199254740993, which float64 cannot hold: select the number as it is"},
		{"compared to one that is held", `{"a":0.99999999999999999999}`, "s: .a >= 1", "select s: it computes with 0.99999999999999999999, which float64 cannot hold: select the number as it is"},
		{"compared", `{"l":[1e400,2e400]}`, "s: .l[0] == .l[1]", "select s: it computes with 1e400, which float64 cannot hold: select the number as it is"},
		{"without end", `{}`, "s: def f: f; f", "select s: it took longer than 2s"},
		{"too long", `{}`, `s: "x" * 5000000`, "select s: the selection has more than 4194304 bytes: select less"},
		{"too deep", `{}`, "s: reduce range(1100) as $i (1; [.])", "select s: its value nests deeper than 1000 levels"},
		{"an error of the document's own", `{"m":"a\nb"}`, "s: error(.m)", "select s: error: a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := shaper(t, shape.Config{}, c.line)
			names := []shape.Name{shape.Markdown, shape.JSON, shape.Structured}
			if c.name == "without end" {
				names = names[1:2] // it takes its whole time
			}
			for _, name := range names {
				if diff := cmp.Diff(shape.Rendered{Text: c.want, IsError: true}, render(t, s, c.doc, name)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if len(names) == 1 {
				return
			}
			if _, err := s.Measure(t.Context(), []byte(c.doc)); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("measured: %v", err)
			}
		})
	}
}

func TestJQRefuses(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"status":                             `select "status": write NAME: EXPRESSION, such as status: .data.status`,
		": .a":                               `select ": .a": write NAME: EXPRESSION, such as status: .data.status`,
		"a b: .a":                            `select "a b: .a": write NAME: EXPRESSION, such as status: .data.status`,
		"a: .[":                              "select a: the expression is not jq: unexpected EOF",
		"a: now":                             "select a: now is not available, since its answer is not in the document",
		"a: $ENV.HOME":                       "select a: $ENV is not available, since its answer is not in the document",
		"a: [.b|if . then input else 1 end]": "select a: input is not available, since its answer is not in the document",
		`a: import "x" as y; 1`:              "select a: modules are not available",
		"a: nope":                            "select a: function not defined: nope/0",
	} {
		if _, err := shape.JQ([]string{line}); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", line, err, want)
		}
	}
	if _, err := shape.JQ([]string{"a: .a", "a: .b"}); err == nil || err.Error() != "select a: the name stands twice" {
		t.Errorf("twice: %v", err)
	}
	if _, err := shape.JQ(make([]string, 101)); err == nil {
		t.Error("101 fields were taken")
	}
}

// TestBadDocuments has each an error that says what is wrong, or is text that is said to be text.
func TestBadDocuments(t *testing.T) {
	t.Parallel()
	all, selecting := shape.Names()[1:], shape.Names()[2:]
	for _, c := range []struct {
		name, doc string
		lines     []string
		in        []shape.Name
		want      shape.Rendered
	}{
		{"no JSON", "ok 1 test", nil, all, shape.Rendered{Text: "ok 1 test", Note: "the document is not JSON (invalid JSON at byte 0: a value is missing): it is shown as text"}},
		{"two values", "{} {}", nil, all, shape.Rendered{Text: "{} {}", Note: "the document is not JSON (invalid JSON at byte 3: more follows after the value): it is shown as text"}},
		{"empty", "", nil, all, shape.Rendered{Note: "the document is not JSON (invalid JSON at byte 0: it ends before the value does): it is shown as text"}},
		{"no JSON to select from", "{", []string{"a: .a"}, selecting, shape.Rendered{IsError: true, Text: "the document cannot be shaped: invalid JSON at byte 1: it ends before the value does"}},
		{"deep", strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000), nil, all, shape.Rendered{IsError: true, Text: "the document cannot be shaped: it nests deeper than 1000 levels"}},
		{"a key twice", `{"a":[{"b":1,"b":2}]}`, nil, selecting, shape.Rendered{IsError: true, Text: "the document cannot be shaped: .a[0].b stands twice in one object, and which of the two is meant cannot be known"}},
		{"a key twice, once escaped", `{"b":1,"\u0062":2}`, []string{"a: .b"}, selecting, shape.Rendered{IsError: true, Text: "the document cannot be shaped: .b stands twice in one object, and which of the two is meant cannot be known"}},
		{"a key twice, pruned", `{"b":1, "b":2}`, nil, []shape.Name{shape.Pruned}, shape.Rendered{Text: `{"b":1,"b":2}`}},
		{"too many values", "[" + strings.Repeat("1,", shape.MaxValues) + "1]", nil, all, shape.Rendered{IsError: true, Text: "the document cannot be shaped: it has more than 1048576 values"}},
		{"too large", `"` + strings.Repeat("a", shape.MaxDocument) + `"`, nil, all, shape.Rendered{IsError: true, Text: "the document has 16777218 bytes; at most 16777216 are shaped: use raw"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := shaper(t, shape.Config{}, c.lines...)
			for _, name := range c.in {
				if name == shape.Structured && c.want.Note == "" && !c.want.IsError {
					continue
				}
				if diff := cmp.Diff(c.want, render(t, s, c.doc, name)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
			if raw := render(t, s, c.doc, shape.Raw); raw.Text != c.doc {
				t.Error("raw is not the document")
			}
		})
	}
}

func TestUnknownShape(t *testing.T) {
	t.Parallel()
	_, err := shaper(t, shape.Config{}).Render(t.Context(), []byte("{}"), "yaml")
	want := `shape "yaml" is not known: use raw, pruned, markdown, json or structured`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestDrift has what does not fit its schema refused in every form that selects, with the field, what was
// expected and what was received.
func TestDrift(t *testing.T) {
	t.Parallel()
	drifted := strings.ReplaceAll(string(meterDocument()), `"kwh":4199.2`, `"kwh":"4199.2"`)
	for _, c := range []struct{ name, line, doc, want string }{
		{"a string for a number", "kwh_last_24h: \"48.3\"", "{}", "at /kwh_last_24h: expected number, received string"},
		{"a field is missing", "kwh_last_24h: .kwh", "{}", "at the top: required and missing: "},
		{"not known", "extra: 1", "{}", "not known here: \"extra\""},
	} {
		s := shaper(t, shape.Config{Schema: json.RawMessage(meterSchema)}, c.line)
		for _, name := range []shape.Name{shape.Markdown, shape.JSON, shape.Structured} {
			got := render(t, s, c.doc, name)
			if !got.IsError || got.Structured != nil || !strings.HasPrefix(got.Text, "the result does not fit its output schema, so it is not sent:\n- at ") || !strings.Contains(got.Text, c.want) {
				t.Errorf("%s, %s: %+v", c.name, name, got)
			}
			if r := got.Result(); !r.IsError || r.Structured != nil {
				t.Errorf("%s, %s: the tool's result is %+v", c.name, name, r)
			}
		}
	}
	selector, err := shape.JQ([]string{meterSelection[2]})
	if err != nil {
		t.Fatal(err)
	}
	s := shaper(t, shape.Config{Select: selector, Schema: json.RawMessage(`{"properties":{"last_reading":{"properties":{"kwh":{"type":"number"}}}}}`)})
	want := "the result does not fit its output schema, so it is not sent:\n- at /last_reading/kwh: expected number, received string"
	if got := render(t, s, drifted, shape.Structured); got.Text != want || !got.IsError {
		t.Errorf("%+v, want %s", got, want)
	}
}

// TestStructured has it only with a declared schema.
func TestStructured(t *testing.T) {
	t.Parallel()
	open := render(t, shaper(t, shape.Config{}, "a: .a"), `{"a":1}`, shape.Structured)
	want := shape.Rendered{Text: `{"a":1}`, Note: "no output schema is declared: the result stays text"}
	if diff := cmp.Diff(want, open); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	declared := render(t, shaper(t, shape.Config{Schema: json.RawMessage(`{"type":"object"}`)}, "a: .a"), `{"a":1}`, shape.Structured)
	if diff := cmp.Diff(shape.Rendered{Text: `{"a":1}`, Structured: json.RawMessage(`{"a":1}`)}, declared); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := shape.New(shape.Config{Schema: json.RawMessage(`{"type":"objekt"}`)}); err == nil {
		t.Error("a schema that is none was taken")
	}
}

// TestMeasureOfAnArray counts what a host that wants an object would be sent.
func TestMeasureOfAnArray(t *testing.T) {
	t.Parallel()
	m, err := shaper(t, shape.Config{}).Measure(t.Context(), []byte(`[{"a":1},{"a":2}]`))
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Shapes[4]; got.StructuredKeys != 1 || got.ResultBytes <= m.Shapes[3].ResultBytes {
		t.Errorf("%+v", got)
	}
	if diff := cmp.Diff([]shape.Path{{Path: ".[]", Tokens: 10}}, m.Heaviest); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMeasureOfText(t *testing.T) {
	t.Parallel()
	m, err := shaper(t, shape.Config{}).Measure(t.Context(), []byte("no JSON"))
	if err != nil || len(m.Shapes) != 5 || len(m.Heaviest) != 0 || m.Note == "" {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestPanics has functions of somebody else end in an error result.
func TestPanics(t *testing.T) {
	t.Parallel()
	s := shaper(t, shape.Config{Select: func(context.Context, json.RawMessage) (any, error) { panic("oh no") }})
	if diff := cmp.Diff(shape.Rendered{Text: "the selection panicked: oh no", IsError: true}, render(t, s, "{}", shape.JSON)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s = shaper(t, shape.Config{Markdown: func(context.Context, json.RawMessage) (string, error) { panic("oh no") }})
	if diff := cmp.Diff(shape.Rendered{Text: "render markdown: the renderer panicked: oh no", IsError: true}, render(t, s, "{}", shape.Markdown)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s = shaper(t, shape.Config{Select: func(context.Context, json.RawMessage) (any, error) { return func() {}, nil }})
	if got := render(t, s, "{}", shape.JSON); !got.IsError || !strings.HasPrefix(got.Text, "the selection is no JSON: ") {
		t.Errorf("%+v", got)
	}
}

// TestAtOnce renders by one shaper in several goroutines.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	s := meter(t)
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			for _, name := range []shape.Name{shape.Markdown, shape.Structured, shape.Pruned} {
				if r, err := s.Render(t.Context(), meterDocument(), name); err != nil || r.IsError || r.Text == "" {
					t.Errorf("%s: %+v %v", name, r, err)
				}
			}
		})
	}
	wg.Wait()
}

// TestMissingRelationship is drift: an id that a follow-up call needs is required.
func TestMissingRelationship(t *testing.T) {
	t.Parallel()
	doc := strings.Replace(string(meterDocument()), `"site":{`, `"place":{`, 1)
	got := render(t, meter(t), doc, shape.Structured)
	want := "the result does not fit its output schema, so it is not sent:\n- at the top: required and missing: \"site_id\""
	if !got.IsError || got.Text != want {
		t.Errorf("%+v, want %s", got, want)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := shaper(t, shape.Config{}, "s: def f: f; f").Render(ctx, []byte("{}"), shape.JSON)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// TestLaw09Deterministic renders the same bytes each time.
func TestLaw09Deterministic(t *testing.T) {
	t.Parallel()
	for _, name := range shape.Names() {
		s := shaper(t, shape.Config{}, `o: [.included[] | .attributes | with_entries(.value |= tostring) | . + {made: 1, also: 2}]`, "d: .data | to_entries | from_entries")
		first := render(t, s, string(meterDocument()), name)
		for range 5 {
			if again := render(t, s, string(meterDocument()), name); !cmp.Equal(first, again) {
				t.Fatalf("%s differs", name)
			}
		}
	}
}
