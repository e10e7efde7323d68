package result_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

const base = "tool-results/r3-1-x"

// node can hold itself.
type node struct {
	Next *node `json:"next"`
}

// badMarshaler fails or panics when it is marshalled.
type badMarshaler struct{ panics bool }

func (b badMarshaler) MarshalJSON() ([]byte, error) {
	if b.panics {
		panic("no text today")
	}
	return nil, errors.New("out of ink")
}

// nested marshals its inside with the standard encoder, which escapes HTML.
type nested struct{ inside any }

func (n nested) MarshalJSON() ([]byte, error) { return json.Marshal(n.inside) }

// text is a type that marshals to a JSON string.
type text string

func (t text) MarshalText() ([]byte, error) { return []byte(t), nil }

func cyclic() any {
	n := &node{}
	n.Next = n
	return n
}

type lane struct {
	name string
	data any
	want string
}

// lanes is the table of the one conversion: what data gives what text.
func lanes() []lane {
	type point struct {
		Z int     `json:"z"`
		A string  `json:"a"`
		F float64 `json:"f"`
	}
	return []lane{
		{"nil", nil, ""},
		{"string", "hello\n\"world\" <&> \\u0041", "hello\n\"world\" <&> \\u0041"},
		{"empty string", "", ""},
		{"string that is JSON", `{"a": 1}`, `{"a": 1}`},
		{"string with a mark of byte order", "\ufeffx", "\ufeffx"},
		{"named string", text("a\"b"), "a\"b"},
		{"pointer to a string", new("a\nb"), "a\nb"},
		{"nil pointer", (*node)(nil), "null"},
		{"number", 42, "42"},
		{"boolean", true, "true"},
		{"64 bits", []any{int64(math.MinInt64), uint64(math.MaxUint64)}, "[-9223372036854775808,18446744073709551615]"},
		{"number literal", json.Number("1234567890123456789012345678901234567890.10"), "1234567890123456789012345678901234567890.10"},
		{"struct keeps its order", point{1, "x", 0.1}, `{"z":1,"a":"x","f":0.1}`},
		{"no HTML escapes", map[string]string{"c": "if a < b && c > d"}, `{"c":"if a < b && c > d"}`},
		{"no HTML escapes from inside", nested{map[string]string{"c": "<&>"}}, `{"c":"<&>"}`},
		{"line separators", []string{"\u2028\u2029"}, "[\"\u2028\u2029\"]"},
		{"accents", map[string]string{"n": "Hernán \"x\""}, `{"n":"Hernán \"x\""}`},
		{"nil slice", []int(nil), "null"},
		{"time with its zone", time.Date(2026, 3, 1, 9, 30, 0, 0, time.FixedZone("IST", 19800)), "2026-03-01T09:30:00+05:30"},
		{"spooled", tool.Spooled{Tail: "exit status 1"}, "exit status 1"},

		{"raw JSON", json.RawMessage(` {"b" : 1e2, "a":1.0,"a":2,"n":12345678901234567890 } `), ` {"b" : 1e2, "a":1.0,"a":2,"n":12345678901234567890 } `},
		{"raw JSON string", json.RawMessage(" \"## T\\nB \\\"q\\\" \\ud83c\\udf78\" \n"), "## T\nB \"q\" 🍸"},
		{"raw JSON with a pair", json.RawMessage(`{"c":"\ud83c\udf78"}`), `{"c":"\ud83c\udf78"}`},
		{"raw JSON with a lone half", json.RawMessage(`{"c":"ok \ud83d"}`), `{"c":"ok \ufffd"}`},
		{"raw JSON with an escaped backslash", json.RawMessage(`{"c":"\\ud83d \\u0000"}`), `{"c":"\\ud83d \\u0000"}`},
		{"raw JSON with a bad byte", json.RawMessage("{\"c\":\"\xff\"}"), "{\"c\":\"\ufffd\"}"},
		{"raw null", json.RawMessage(`null`), "null"},
		{"raw empty string", json.RawMessage(`""`), ""},
		{"no raw JSON", json.RawMessage(nil), ""},
		{"raw that is no JSON", json.RawMessage(`{"mean": NaN, "x": "\ud83d"`), `{"mean": NaN, "x": "\ud83d"`},

		{"bytes", []byte("a\nb"), "a\nb"},
		{"no bytes", []byte(nil), ""},
		{"bytes of another alphabet", []byte("你好\n"), "你好\n"},
		{"bytes with a UTF-8 mark", []byte("\xef\xbb\xbfa"), "a"},
		{"bytes in UTF-16, little end first", []byte("\xff\xfea\x00\x3d\xd8\x00\xde\n\x00"), "a😀\n"},
		{"bytes in UTF-16, big end first", []byte("\xfe\xff\x00a\xd8\x3d\xde\x00"), "a😀"},
		{"bytes in UTF-16 without a mark", []byte("a\x00b\x00"), "a\x00b\x00"},

		{"no blocks", []tool.Content{}, ""},
		{"one text block", []tool.Content{{Type: "text", Text: "<f path=\"a.ts\">\nclass A {}\n</f>"}}, "<f path=\"a.ts\">\nclass A {}\n</f>"},
		{"text blocks", []tool.Content{{Type: "text", Text: "first"}, {Type: "text"}, {Type: "text", Text: "third\n"}}, "first\n\nthird\n"},
		{"empty text blocks", []tool.Content{{Type: "text"}, {Type: "text", Text: "x"}, {Type: "text"}}, "\nx\n"},
		{"a block by itself", tool.Content{Type: "text", Text: "x"}, "x"},
		{"text block with NaN", []tool.Content{{Type: "text", Text: `{"mean": NaN, "max": Infinity}`}}, `{"mean": NaN, "max": Infinity}`},
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for _, c := range lanes() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, result.Text(tool.Result{Data: c.data})); diff != "" {
				t.Errorf("Text (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLadder is what decides between the data and the error.
func TestLadder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		r       tool.Result
		want    string
		isError bool
	}{
		{"error", tool.Error("no such file"), "no such file", true},
		{"error before data", tool.Result{IsError: true, Error: "e", Data: "d"}, "e", true},
		{"data of an error", tool.Result{IsError: true, Data: "output, then status 2"}, "output, then status 2", true},
		{"blocks of an error", tool.Result{IsError: true, Data: []tool.Content{{Type: "text", Text: "a"}, {Type: "text", Text: "b"}}}, "a\nb", true},
		{"error that says nothing", tool.Result{IsError: true}, "unknown error", true},
		{"error with empty data", tool.Result{IsError: true, Data: ""}, "unknown error", true},
		{"error with blank data", tool.Result{IsError: true, Data: " "}, " ", true},
		{"hidden error, no data", tool.Result{Error: "e"}, "e", false},
		{"hidden error, empty data", tool.Result{Error: "e", Data: ""}, "e", false},
		{"hidden error, empty bytes", tool.Result{Error: "e", Data: []byte{}}, "e", false},
		{"hidden error, empty JSON string", tool.Result{Error: "e", Data: json.RawMessage(`""`)}, "e", false},
		{"hidden error, empty blocks", tool.Result{Error: "e", Data: []tool.Content{{Type: "text"}}}, "e", false},
		{"data before a hidden error", tool.Result{Error: "e", Data: "d"}, "d", false},
		{"error text is text", tool.Error("bad \xed\xa0\xbd \"quoted\"\n{"), "bad \ufffd \"quoted\"\n{", true},
		{"error text cut in a character", tool.Error("done 😀"[:7]), "done \ufffd", true},
		{"not convertible, error set", tool.Result{IsError: true, Error: "e", Data: make(chan int)}, "e", true},
		{"page", tool.Page("p"), "p", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := result.Convert(c.r, base)
			if diff := cmp.Diff(c.want, w.Text); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.want, result.Text(c.r)); diff != "" {
				t.Errorf("Text (-want +got):\n%s", diff)
			}
			if w.IsError != c.isError {
				t.Errorf("IsError = %v, want %v", w.IsError, c.isError)
			}
		})
	}
}

// TestUnconvertible holds that a value without a text is an error result, never a panic.
func TestUnconvertible(t *testing.T) {
	t.Parallel()
	const said = "the tool ran, but its result could not be converted: "
	for _, c := range []struct {
		name, reason string
		data         any
	}{
		{"cycle", "the value holds itself", cyclic()},
		{"NaN", "the number NaN", map[string]any{"mean": math.NaN()}},
		{"infinity", "the number -Inf", []float64{math.Inf(-1)}},
		{"channel", "chan int", make(chan int)},
		{"function", "func()", func() {}},
		{"map keys", "map[bool]int", map[bool]int{true: 1}},
		{"marshaller that fails", "out of ink", badMarshaler{}},
		{"marshaller that panics", "it panicked: no text today", badMarshaler{panics: true}},
		{"inside a block's neighbour", "it panicked", struct{ B badMarshaler }{badMarshaler{true}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := tool.Result{Data: c.data, Structured: json.RawMessage("0"), EndTurn: true}
			w := result.Convert(r, base)
			if !w.IsError || !strings.HasPrefix(w.Text, said) || !strings.Contains(w.Text, c.reason) {
				t.Errorf("IsError %v, text %q; want an error that begins with %q and names %q", w.IsError, w.Text, said, c.reason)
			}
			if strings.Contains(w.Text, "\n") {
				t.Errorf("the text has more than one line: %q", w.Text)
			}
			if w.Text != result.Text(r) {
				t.Errorf("Text differs: %q, want %q", result.Text(r), w.Text)
			}
			if string(w.Structured) != "0" || !w.EndTurn {
				t.Errorf("structured %q, end of turn %v; want both kept", w.Structured, w.EndTurn)
			}
		})
	}
}

// TestStructured holds that the machine's view is present exactly when it was, and always valid.
func TestStructured(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		raw, want json.RawMessage
	}{
		{"absent", nil, nil},
		{"zero", json.RawMessage("0"), json.RawMessage("0")},
		{"false", json.RawMessage("false"), json.RawMessage("false")},
		{"null", json.RawMessage("null"), json.RawMessage("null")},
		{"empty string", json.RawMessage(`""`), json.RawMessage(`""`)},
		{"as received", json.RawMessage(`{"b": 1.0, "a":[12345678901234567890]}`), json.RawMessage(`{"b": 1.0, "a":[12345678901234567890]}`)},
		{"lone half", json.RawMessage(`["\ud83d"]`), json.RawMessage(`["\ufffd"]`)},
		{"bad byte", json.RawMessage("[\"\xff\"]"), json.RawMessage("[\"\ufffd\"]")},
		{"no JSON", json.RawMessage(`{"a":`), json.RawMessage(`"{\"a\":"`)},
		{"empty", json.RawMessage{}, json.RawMessage(`""`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range []tool.Result{{Structured: c.raw}, {Structured: c.raw, IsError: true, Error: "e"}} {
				got := result.Convert(r, base).Structured
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("structured (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestBytes holds that bytes are kept when the text is not exactly them, and only then.
func TestBytes(t *testing.T) {
	t.Parallel()
	const raw = "; the bytes as they came: " + base + ".raw]"
	one := "[1 character could not be decoded and stands as U+FFFD" + raw
	two := "[2 characters could not be decoded and stand as U+FFFD" + raw
	for _, c := range []struct {
		name, in, want string
		replaced       int
		kept           bool
	}{
		{"text", "a\u00e9\ufffd", "a\u00e9\ufffd", 0, false},
		{"GBK", "\xb3\xc9\xb9\xa6: PID 123\r\n", "\ufffdɹ\ufffd: PID 123\r\n" + two, 2, true},
		{"no newline", "a\xff", "a\ufffd\n" + one, 1, true},
		{"nothing else", "\xff", "\ufffd\n" + one, 1, true},
		{"surrogate", "\xed\xa0\xbd\n", "\ufffd\n" + one, 1, true},
		{"encoded pair", "\xed\xa0\xbd\xed\xb8\x80", "😀", 0, true},
		{"mark", "\xef\xbb\xbf", "", 0, true},
		{"mark and a bad byte", "\xef\xbb\xbf\xff", "\ufffd\n" + one, 1, true},
		{"UTF-16", "\xff\xfea\x00", "a", 0, true},
		{"UTF-16, lone half", "\xfe\xff\xd8\x3d\x00a", "\ufffda\n" + one, 1, true},
		{"UTF-16, lone second half", "\xfe\xff\xde\x00", "\ufffd\n" + one, 1, true},
		{"UTF-16, half at the end", "\xfe\xff\xd8\x3d", "\ufffd\n" + one, 1, true},
		{"UTF-16, odd", "\xff\xfea\x00b", "a\ufffd\n" + one, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := result.Convert(tool.Result{Data: []byte(c.in)}, base)
			want := result.Whole{Text: c.want, Replaced: c.replaced}
			if c.kept {
				want.Raw = []byte(c.in)
			}
			if diff := cmp.Diff(want, w); diff != "" {
				t.Errorf("Convert (-want +got):\n%s", diff)
			}
			// The same bytes as a string: nothing is kept and nothing is said.
			s := result.Convert(tool.Result{Data: c.in}, base)
			if s.Raw != nil || s.Replaced != 0 || strings.Contains(s.Text, "could not") {
				t.Errorf("a string was treated as bytes: %+v", s)
			}
			// Without a place to keep them no file is named.
			if got := result.Text(tool.Result{Data: []byte(c.in)}); strings.Contains(got, ".raw") {
				t.Errorf("Text names a file: %q", got)
			}
		})
	}
}

// TestModel is what the model's text differs in, and that it tells the whole cheaply.
func TestModel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		data  any
		plain bool
		want  string // "" for the whole itself
	}{
		{"nothing to clean", "a\tb\x01\x1b[1m\r\n", false, ""},
		{"nothing to clean for a plain terminal", "a\tb\x01\r\n", true, ""},
		{"NUL", "a\x00b", false, "a\u2400b"},
		{"escapes, as asked", "\x1b[1ma\x1b[0m\x00", true, "a\u2400"},
		{"JSON is no terminal's output", json.RawMessage("[\"\u009b\",1,\"\u009c\"]"), true, ""},
		{"a JSON string is text", json.RawMessage(`"\u001b[1ma"`), true, "a"},
		{"a literal escape stays", `\u0000 \x1b[1m`, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := result.Convert(tool.Result{Data: c.data}, base)
			got, _ := w.Model(c.plain)
			want := c.want
			if want == "" {
				want = w.Text
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Model (-want +got):\n%s", diff)
			}
		})
	}
}

// TestModelOfForeignMarks holds that marks which belong to another text break nothing.
func TestModelOfForeignMarks(t *testing.T) {
	t.Parallel()
	w := result.Whole{Text: "abcdef", Marks: []result.Mark{
		{At: -1, Len: 2, Text: "X"},
		{At: 1, Len: 2, Text: "[1]", Payload: 7, Image: true},
		{At: 2, Len: 1, Text: "Y"},
		{At: 5, Len: math.MaxInt, Text: "Z"},
		{At: math.MaxInt, Len: 1, Text: "Z"},
		{At: 5, Len: -1, Text: "Z"},
	}}
	got, spans := w.Model(false)
	if diff := cmp.Diff("a[1]def", got); diff != "" {
		t.Errorf("Model (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]result.Span{{Start: 1, End: 4}}, spans); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if parts := w.Native(false); parts != nil {
		t.Errorf("Native = %v without payloads, want nil", parts)
	}
}

// TestMarksRestore holds that a stored text and its marks give the model's text again.
func TestMarksRestore(t *testing.T) {
	t.Parallel()
	r := tool.Result{Data: map[string]any{"a": picture(1500), "b": "\x00"}}
	w := result.Convert(r, base)
	stored, err := json.Marshal(w.Marks)
	if err != nil {
		t.Fatal(err)
	}
	again := result.Whole{Text: w.Text, JSON: w.JSON}
	if err := json.Unmarshal(stored, &again.Marks); err != nil {
		t.Fatal(err)
	}
	want, spans := w.Model(true)
	got, spansAgain := again.Model(true)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Model (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(spans, spansAgain, cmpopts.EquateEmpty()); diff != "" || len(spans) != 1 {
		t.Errorf("%d spans (-want +got):\n%s", len(spans), diff)
	}
}
