package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// argumentCases are the arguments of calls: topics missing-args, bad-arguments, int64 and big-number.
func argumentCases() map[string]runner {
	return map[string]runner{
		"C040": absentArguments,
		"C080": cutArguments,
		"C082": emptyArguments,
		"C162": longInteger,
		"C164": plainIntegers,
	}
}

// written is the input of kind message.
type written struct {
	Kind string `json:"kind"`
	Args string `json:"raw_arguments"`
}

// typed makes a tool of a function.
func typed[In any](t *testing.T, name string, run func(In) any) tool.Tool {
	t.Helper()
	x, err := tool.Func(name, "Take arguments.", func(_ context.Context, in In) (any, error) { return run(in), nil })
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func absentArguments(t *testing.T, c field) {
	in := inputOf[struct {
		Kind string    `json:"kind"`
		Args []*string `json:"arguments_raw"`
	}](t, c)
	type optional struct {
		N *int `json:"n,omitempty"`
	}
	ran := 0
	w := newWorld(t, typed(t, "f", func(in optional) any {
		ran++
		return fmt.Sprint("n given: ", in.N != nil)
	}))
	w.tools[0].Serial = true
	var calls []scripted.Call
	for _, raw := range in.Args {
		call := scripted.Call{Tool: "f"}
		if raw != nil {
			call.Args = []byte(*raw)
		}
		calls = append(calls, call)
	}
	for i, a := range w.round(calls...) {
		if a.text != "n given: false" || a.isError {
			t.Errorf("arguments %q: %q, error %v", calls[i].Args, a.text, a.isError)
		}
		if string(a.call.Args) != string(calls[i].Args) {
			t.Errorf("arguments %q are stored as %q", calls[i].Args, a.call.Args)
		}
	}
	if ran != len(calls) || ran != 4 {
		t.Errorf("the tool ran %d times", ran)
	}
	for i, args := range argsOf(t, w.last(), "f") {
		if string(args) != "{}" {
			t.Errorf("arguments %q stand on the wire as %s", calls[i].Args, args)
		}
	}
}

func cutArguments(t *testing.T, c field) {
	in := inputOf[written](t, c)
	w := newWorld(t, typed(t, "sh", func(struct {
		Cmd string `json:"cmd"`
	},
	) any {
		t.Error("the tool ran")
		return "ran"
	}))
	w.turn("Go on.", scripted.Step{Text: "I commit.", Calls: []scripted.Call{asks("c1", "sh", in.Args)}}, scripted.Step{Text: "Done."})
	if d := cmp.Diff([]string{`user "Go on."`, `assistant "I commit." c1`, "results c1!"}, parseBody(t, w.last()).outline()); d != "" {
		t.Errorf("the next request (-want +got):\n%s", d)
	}
	a := w.answer(resultOf(t, "r1-1"))
	for _, want := range []string{fmt.Sprintf("not valid JSON: it ends after %d bytes in the middle of a value", len(in.Args)), in.Args} {
		if !a.isError || !strings.Contains(a.text, want) {
			t.Errorf("the error does not say %q: %q", want, a.text)
		}
	}
	if string(a.call.Args) != in.Args {
		t.Errorf("the arguments are stored as %q", a.call.Args)
	}
	var sent map[string]string
	if err := json.Unmarshal(argsOf(t, w.last(), "sh")[0], &sent); err != nil {
		t.Fatalf("the arguments on the wire are no object of texts: %v", err)
	}
	if d := cmp.Diff(map[string]string{"_unparsed": in.Args}, sent); d != "" {
		t.Errorf("the arguments on the wire (-want +got):\n%s", d)
	}
}

func emptyArguments(t *testing.T, c field) {
	in := inputOf[written](t, c)
	w := newWorld(t, gives("f", tool.Text("ran")))
	a := w.call("f", in.Args)
	if a.text != "ran" || string(a.call.Args) != in.Args {
		t.Errorf("answered %q, stored with %q", a.text, a.call.Args)
	}
	// The bytes are the same in every later request, each of a process of its own; the world holds the
	// prefix.
	w.turn("More.", scripted.Step{Text: "Fine."})
	w.turn("More.", scripted.Step{Text: "Fine."})
	for i, body := range w.received()[1:] {
		if args := argsOf(t, body, "f"); len(args) != 1 || string(args[0]) != "{}" {
			t.Errorf("request %d has the arguments %s", i+2, args)
		}
	}
}

func longInteger(t *testing.T, c field) {
	in := inputOf[written](t, c)
	type record struct {
		ID int64 `json:"id"`
	}
	w := newWorld(t, typed(t, "typed", func(in record) any { return in }), typed(t, "untyped", func(in map[string]any) any { return in }),
		handler("raw", func(_ context.Context, c tool.Call) (tool.Result, error) { return tool.JSON(c.Args), nil }))
	digitsKept(t, w, in.Args, map[string]string{"typed": in.Args, "untyped": in.Args, "raw": in.Args})
}

func plainIntegers(t *testing.T, c field) {
	in := inputOf[written](t, c)
	type record struct {
		ID  float64 `json:"id"`
		Big float64 `json:"big"`
	}
	const sorted = `{"big":21000000,"id":1234567}`
	w := newWorld(t, typed(t, "typed", func(in record) any { return in }), typed(t, "untyped", func(in map[string]any) any { return in }),
		typed(t, "floats", func(in map[string]float64) any { return in }))
	digitsKept(t, w, in.Args, map[string]string{"typed": in.Args, "untyped": sorted, "floats": sorted})
}

// digitsKept calls each tool, which gives its arguments back, and holds every digit: as the tool was
// given them, as they are stored, as they stand on the wire, then and after a restart.
func digitsKept(t *testing.T, w *world, args string, want map[string]string) {
	t.Helper()
	for name, text := range want {
		a := w.call(name, args)
		if a.text != text || string(a.call.Args) != args {
			t.Errorf("%s gives back %s, want %s; stored are %s", name, a.text, text, a.call.Args)
		}
	}
	w.turn("More.", scripted.Step{Text: "Fine."})
	for name := range want {
		if got := argsOf(t, w.last(), name); len(got) != 1 || string(got[0]) != args {
			t.Errorf("%s: on the wire after a restart are %s", name, got)
		}
	}
}
