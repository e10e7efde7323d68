package tool_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/tool"
)

type node struct {
	Next *node `json:"next"`
}

type sayer struct{ panics bool }

func (s sayer) MarshalJSON() ([]byte, error) {
	if s.panics {
		panic("no text today")
	}
	return nil, errors.New("out of ink")
}

// TestValueUnconvertible holds that a value without a JSON form is an error result at once.
func TestValueUnconvertible(t *testing.T) {
	t.Parallel()
	ring := &node{}
	ring.Next = ring
	list := []any{nil}
	list[0] = list
	for name, c := range map[string]struct {
		v      any
		reason string
	}{
		"cycle of pointers":        {ring, "the value holds itself"},
		"cycle of slices":          {list, "the value holds itself"},
		"NaN":                      {math.NaN(), "NaN"},
		"infinity inside":          {map[string]float64{"x": math.Inf(1)}, "+Inf"},
		"channel":                  {make(chan int), "chan int"},
		"function inside":          {struct{ F func() }{func() {}}, "func()"},
		"marshaller that fails":    {sayer{}, "out of ink"},
		"marshaller that panics":   {sayer{true}, "no text today"},
		"panic of a nil pointer":   {struct{ J json.Marshaler }{nilPanics{}}, "nil pointer"},
		"raw JSON that is not":     {map[string]any{"r": json.RawMessage("{")}, "invalid JSON"},
		"number that is no number": {json.Number("1e"), "json.Number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tool.Value(c.v)
			const says = "the tool ran, but its result could not be converted: "
			if !r.IsError || !strings.HasPrefix(r.Error, says) || !strings.Contains(r.Error, c.reason) || r.Data != nil {
				t.Errorf("%+v; want an error that begins with %q and names %q", r, says, c.reason)
			}
		})
	}
}

type nilPanics struct{ p *node }

func (n nilPanics) MarshalJSON() ([]byte, error) { return json.Marshal(n.p.Next) }

// TestValueIsACopy holds that what happens to a value later changes nothing.
func TestValueIsACopy(t *testing.T) {
	t.Parallel()
	raw, bytes, m := json.RawMessage(`[1]`), []byte("a"), map[string]int{"a": 1}
	got := []tool.Result{tool.Value(raw), tool.Value(bytes), tool.Value(m)}
	raw[1], bytes[0], m["a"] = '2', 'b', 2
	want := []tool.Result{
		{Data: json.RawMessage(`[1]`)},
		{Data: []byte("a")},
		{Data: json.RawMessage(`{"a":1}`)},
	}
	if diff := cmp.Diff(want, got, sameResult); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
}

func TestConstructors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ got, want tool.Result }{
		"text":          {tool.Text("x"), tool.Result{Data: "x"}},
		"JSON":          {tool.JSON(json.RawMessage(`{ }`)), tool.Result{Data: json.RawMessage(`{ }`)}},
		"blocks":        {tool.Blocks(), tool.Result{Data: []tool.Content(nil)}},
		"nothing":       {tool.Value(nil), tool.Result{}},
		"nil pointer":   {tool.Value((*node)(nil)), tool.Result{Data: json.RawMessage("null")}},
		"error":         {tool.Error("100%"), tool.Result{IsError: true, Error: "100%"}},
		"error, format": {tool.Errorf("%d of %q", 1, "x"), tool.Result{IsError: true, Error: `1 of "x"`}},
	} {
		if diff := cmp.Diff(c.want, c.got, sameResult); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if !tool.Page("x").IsPage() || tool.Text("x").IsPage() {
		t.Error("only a page is a page")
	}
}
