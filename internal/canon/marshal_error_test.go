package canon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type (
	link    struct{ Next *link }
	loop    map[string]loop
	ring    []ring
	pointer *pointer
	fanout  struct{ A, B *fanout }
	boxed   [1]*boxed
	wide    struct {
		Pad  string
		Next *wide
	}
)

// badMethod fails in the way its value names.
type badMethod string

func (b badMethod) MarshalJSON() ([]byte, error) {
	switch b {
	case "nil":
		var l *link
		return []byte(fmt.Sprint(l.Next)), nil
	case "string":
		panic("no\xff" + strings.Repeat("n", 500))
	case "bytes":
		panic("no\xff")
	case "value":
		panic(&link{})
	case "error":
		panic(&panicky{})
	case "fails":
		return nil, io.ErrUnexpectedEOF
	case "garbage":
		return []byte(`{"a":`), nil
	case "deep":
		return []byte(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)), nil
	default:
		return nil, nil
	}
}

// panicky is an error that cannot say what it is.
type panicky struct{}

func (*panicky) Error() string { panic("twice") }

type badText string

func (b badText) MarshalText() ([]byte, error) {
	if b == "fails" {
		return nil, io.ErrUnexpectedEOF
	}
	panic(string(b))
}

type badZero struct{ A int }

func (badZero) IsZero() bool { panic("zero") }

// alike has a text that its value does not show in.
type alike int

func (alike) MarshalText() ([]byte, error) { return []byte("same"), nil }

func TestMarshalErrors(t *testing.T) {
	t.Parallel()
	l := &link{}
	l.Next = &link{l}
	m := loop{}
	m["m"] = m
	r := make(ring, 1)
	r[0] = r
	var p pointer
	p = &p
	a := []any{nil}
	a[0] = a
	o := map[string]any{}
	o["o"] = []any{o}
	b := &boxed{}
	b[0] = b
	var i any
	i = &i
	w := &wide{Pad: strings.Repeat("x", 1<<20)}
	w.Next = w
	deepRaw := json.RawMessage(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth))
	for _, tt := range []struct {
		name string
		v    any
		is   error
		want string
	}{
		{"cycle of pointers", l, ErrCycle, "marshal *canon.link: canon.link: the value holds itself"},
		{"cycle of maps", m, ErrCycle, "marshal canon.loop: canon.loop: the value holds itself"},
		{"cycle of slices", r, ErrCycle, "marshal canon.ring: canon.ring: the value holds itself"},
		{"cycle of nothing but pointers", p, ErrCycle, "marshal canon.pointer: canon.pointer: the value holds itself"},
		{"cycle of interfaces", i, ErrCycle, "marshal *interface {}: interface {}: the value holds itself"},
		{"cycle of any in a slice", a, ErrCycle, "marshal []interface {}: []interface {}: the value holds itself"},
		{"cycle of any in a map", o, ErrCycle, "marshal map[string]interface {}: map[string]interface {}: the value holds itself"},
		{"cycle through an array", b, ErrCycle, "marshal *canon.boxed: canon.boxed: the value holds itself"},
		{"cycle with a megabyte in it", w, ErrCycle, "marshal *canon.wide: canon.wide: the value holds itself"},
		{"deep pointers", chain(10_000_000), ErrDepth, "marshal *canon.link: canon.link: it nests deeper than 10000 levels"},
		{"deep any", deepAny(MaxDepth + 1), ErrDepth, "marshal []interface {}: []interface {}: it nests deeper than 10000 levels"},
		{"deep raw in a slice", []any{deepRaw}, ErrDepth, "marshal []interface {}: json.RawMessage: it nests deeper than 10000 levels"},
		{"deep method in a slice", []any{badMethod("deep")}, ErrDepth, "marshal []interface {}: canon.badMethod.MarshalJSON: it nests deeper than 10000 levels"},
		{"NaN", map[string]any{"x": math.NaN()}, ErrUnsupported, "marshal map[string]interface {}: the number NaN: it has no JSON form"},
		{"infinity", []float32{float32(math.Inf(-1))}, ErrUnsupported, "marshal []float32: the number -Inf: it has no JSON form"},
		{"channel", struct{ C chan int }{}, ErrUnsupported, "marshal struct { C chan int }: chan int: it has no JSON form"},
		{"function", []any{func() {}}, ErrUnsupported, "marshal []interface {}: func(): it has no JSON form"},
		{"complex", complex(1, 2), ErrUnsupported, "marshal complex128: complex128: it has no JSON form"},
		{"keys", map[float64]int{}, ErrUnsupported, "marshal map[float64]int: map[float64]int: it has no JSON form"},
		{"keys of a nil map", map[[1]int]int(nil), ErrUnsupported, "marshal map[[1]int]int: map[[1]int]int: it has no JSON form"},
		{"keys alike", map[alike]int{1: 1, 2: 2}, ErrUnsupported, `marshal map[canon.alike]int: map[canon.alike]int: two keys are written "same": it has no JSON form`},
		{"number", []json.Number{"1.", "x"}, ErrUnsupported, `marshal []json.Number: json.Number: "1." is no number: it has no JSON form`},
		{"number with more behind it", json.Number(`1,"x":2`), ErrUnsupported, `marshal json.Number: json.Number: "1,\"x\":2" is no number: it has no JSON form`},
		{"raw", json.RawMessage(`{"a":}`), nil, "marshal json.RawMessage: json.RawMessage: invalid JSON at byte 5: a value is missing"},
		{"empty raw", []any{json.RawMessage{}}, nil, "marshal []interface {}: json.RawMessage: invalid JSON at byte 0: it ends before the value does"},
		{"method panics on nil", []any{badMethod("nil")}, nil, "marshal []interface {}: canon.badMethod.MarshalJSON: it panicked: runtime error: invalid memory address or nil pointer dereference"},
		{"method panics with text", badMethod("string"), nil, "marshal canon.badMethod: canon.badMethod.MarshalJSON: it panicked: no\ufffd" + strings.Repeat("n", 197) + "\u2026"},
		{"method panics with bytes", badMethod("bytes"), nil, "marshal canon.badMethod: canon.badMethod.MarshalJSON: it panicked: no\ufffd"},
		{"method panics with a value", badMethod("value"), nil, "marshal canon.badMethod: canon.badMethod.MarshalJSON: it panicked with a *canon.link"},
		{"method panics twice", badMethod("error"), nil, "marshal canon.badMethod: canon.badMethod.MarshalJSON: it panicked: %!v(PANIC=Error method: twice)"},
		{"method fails", badMethod("fails"), io.ErrUnexpectedEOF, "marshal canon.badMethod: canon.badMethod.MarshalJSON: unexpected EOF"},
		{"method returns no JSON", badMethod("garbage"), nil, "marshal canon.badMethod: canon.badMethod.MarshalJSON: invalid JSON at byte 5: it ends before the value does"},
		{"method returns nothing", badMethod(""), nil, "marshal canon.badMethod: canon.badMethod.MarshalJSON: invalid JSON at byte 0: it ends before the value does"},
		{"text panics", badText("oh"), nil, "marshal canon.badText: canon.badText.MarshalText: it panicked: oh"},
		{"text fails", &[]badText{"fails"}, io.ErrUnexpectedEOF, "marshal *[]canon.badText: canon.badText.MarshalText: unexpected EOF"},
		{"IsZero panics", struct {
			Z badZero `json:",omitzero"`
		}{}, nil, "marshal struct { Z canon.badZero \"json:\\\",omitzero\\\"\" }: it panicked: zero"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := Marshal(tt.v)
			if err == nil || out != nil {
				t.Fatalf("Marshal = %.100s, %v, want an error", out, err)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("error %v is not %v", err, tt.is)
			}
			// An experiment of Go gives this type another name.
			got := strings.ReplaceAll(err.Error(), "marshal jsontext.Value", "marshal json.RawMessage")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// chain returns a list of n links.
func chain(n int) *link {
	var l *link
	for range n {
		l = &link{l}
	}
	return l
}

// deepAny returns n slices, one in the other.
func deepAny(n int) any {
	var v any = []any{}
	for range n - 1 {
		v = []any{v}
	}
	return v
}

func TestMarshalToTheLimit(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1))
	for _, v := range []any{deepAny(MaxDepth), chain(MaxDepth), []any{raw}, []json.RawMessage{raw}} {
		out, err := Marshal(v)
		if err != nil {
			t.Fatalf("%T: %v", v, err)
		}
		if !Valid(out) || !json.Valid(out) {
			t.Errorf("%T: the deepest value that is written is not valid", v)
		}
	}
}

// What is shared without a cycle is written each time; it is no cycle.
func TestMarshalShared(t *testing.T) {
	t.Parallel()
	leaf := []any{1}
	var v any = map[string]any{"a": leaf, "b": leaf}
	for range 100 {
		v = []any{v, leaf}
	}
	got, err := Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Repeat("[", 100) + `{"a":[1],"b":[1]}` + strings.Repeat(",[1]]", 100)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	x := []any{"same", nil}
	x[1] = x[:1] // begins where x begins, but is another slice
	for range 40 {
		x = []any{x}
	}
	if _, err := Marshal(x); err != nil {
		t.Errorf("a slice of the same memory: %v", err)
	}
}

// Parts that are shared many times over end at a size, not at the memory: each
// of these would take more than 2^60 bytes.
func TestMarshalEndsAtASize(t *testing.T) {
	t.Parallel()
	list, m, f := []any{}, map[string]any{}, &fanout{}
	raw, typed := []json.RawMessage{json.RawMessage("12345678")}, [][]byte{make([]byte, 8)}
	var rawList, typedList any = raw, typed
	for range 60 {
		list, m, f = []any{list, list}, map[string]any{"a": m, "b": m}, &fanout{f, f}
		rawList, typedList = []any{rawList, rawList}, [2]any{typedList, typedList}
	}
	for _, v := range []any{list, m, f, rawList, typedList} {
		if out, err := marshal(v, 1<<20); !errors.Is(err, ErrSize) {
			t.Errorf("%T: %d bytes, error %v, want ErrSize", v, len(out), err)
		}
	}
	for _, v := range []any{strings.Repeat("x", 99), json.RawMessage(strings.Repeat("1", 101)), texty(strings.Repeat("x", 97))} {
		if out, err := marshal(v, 100); !errors.Is(err, ErrSize) {
			t.Errorf("%T: %d bytes, error %v, want ErrSize", v, len(out), err)
		}
		if _, err := marshal(v, 101); err != nil {
			t.Errorf("%T at the limit: %v", v, err)
		}
	}
}
