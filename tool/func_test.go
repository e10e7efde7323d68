package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/weir-run/weir/tool"
)

type search struct {
	Pattern string `json:"pattern" jsonschema:"what to look for, such as <a & b>"`
	Path    string `json:"path,omitempty"`
	Limit   int    `json:"limit,omitzero"`
	Tags    struct {
		Zebra, Alpha string
	} `json:"tags,omitzero"`
}

// sameResult compares results as their makers made them.
var sameResult = cmp.Options{cmp.AllowUnexported(tool.Result{}), cmpopts.EquateErrors()}

// run makes a tool that gives out and runs it once.
func run[Out any](t *testing.T, out Out) tool.Result {
	t.Helper()
	tl, err := tool.Func("t", "", func(context.Context, struct{}) (Out, error) { return out, nil })
	if err != nil {
		t.Fatal(err)
	}
	r, err := tl.Run(t.Context(), tool.Call{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestFuncOutput holds that the type of the output decides what the result is.
func TestFuncOutput(t *testing.T) {
	t.Parallel()
	full := tool.Result{Data: "d", Structured: json.RawMessage("0"), IsError: true, Error: "e", EndTurn: true}
	type point struct {
		Z int    `json:"z"`
		A string `json:"a"`
	}
	for _, c := range []struct {
		name string
		got  tool.Result
		want tool.Result
	}{
		{"string", run(t, "a \"b\"\n"), tool.Result{Data: "a \"b\"\n"}},
		{"empty string", run(t, ""), tool.Result{Data: ""}},
		{"result", run(t, full), full},
		{"page", run(t, tool.Page("p")), tool.Page("p")},
		{"struct", run(t, point{1, "<x>"}), tool.Result{Data: json.RawMessage(`{"z":1,"a":"<x>"}`)}},
		{"pointer", run(t, &point{2, "y"}), tool.Result{Data: json.RawMessage(`{"z":2,"a":"y"}`)}},
		{"number", run(t, 1<<53+1), tool.Result{Data: json.RawMessage("9007199254740993")}},
		{"raw", run(t, json.RawMessage(`{"b":1, "a":2}`)), tool.Result{Data: json.RawMessage(`{"b":1, "a":2}`)}},
		{"bytes", run(t, []byte("b")), tool.Result{Data: []byte("b")}},
		{"blocks", run(t, []tool.Content{{Type: "text", Text: "x"}}), tool.Blocks(tool.Content{Type: "text", Text: "x"})},
		{"nothing", run[any](t, nil), tool.Result{}},
		{"a result in an interface", run[any](t, full), full},
		{"spooled", run(t, tool.Result{Data: tool.Spooled{Tail: "x"}}), tool.Result{Data: tool.Spooled{Tail: "x"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.got, sameResult); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFuncArguments holds what fits and what is refused, in one line, without running the function.
func TestFuncArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, args string
		want       search
		refused    string
	}{
		{"all", `{"pattern":"x","limit":3}`, search{Pattern: "x", Limit: 3}, ""},
		{"absent", ``, search{}, ""},
		{"blank", " \n", search{}, ""},
		{"null", ` null `, search{}, ""},
		{"empty", `{}`, search{}, ""},
		{"unknown field", `{"pattern":"x","depth":1}`, search{}, `unknown field "depth"`},
		{"unknown field inside", `{"tags":{"beta":1}}`, search{}, `unknown field "beta"`},
		{"another type", `{"pattern":1}`, search{}, "pattern"},
		{"no object", `[]`, search{}, "array"},
		{"no JSON", `{"pattern":`, search{}, "EOF"},
		{"two values", `{} {}`, search{}, "something follows"},
		{"no JSON behind it", `{"pattern":"a"}x`, search{}, "something follows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got *search
			tl, err := tool.Func("grep", "", func(_ context.Context, in search) (string, error) {
				got = &in
				return "ran", nil
			})
			if err != nil {
				t.Fatal(err)
			}
			r, err := tl.Run(t.Context(), tool.Call{Name: "grep", Args: json.RawMessage(c.args)})
			if err != nil {
				t.Fatalf("the run failed: %v", err)
			}
			if c.refused == "" {
				if got == nil {
					t.Fatalf("refused: %s", r.Error)
				}
				if diff := cmp.Diff(c.want, *got); diff != "" {
					t.Errorf("input (-want +got):\n%s", diff)
				}
				return
			}
			const says = "the arguments of grep do not fit: "
			if got != nil || !r.IsError || !strings.HasPrefix(r.Error, says) || !strings.Contains(r.Error, c.refused) || strings.Contains(r.Error, "\n") {
				t.Errorf("ran %v, result %+v; want one line that begins with %q and names %q", got != nil, r, says, c.refused)
			}
		})
	}
}

// TestFuncKeepsTheArguments holds that the model's own bytes are not touched.
func TestFuncKeepsTheArguments(t *testing.T) {
	t.Parallel()
	args := json.RawMessage(` {"limit" : 3, "pattern":"\u0041"} `)
	tl, err := tool.Func("grep", "", func(context.Context, search) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tl.Run(t.Context(), tool.Call{Args: args}); err != nil {
		t.Fatal(err)
	}
	if string(args) != ` {"limit" : 3, "pattern":"\u0041"} ` {
		t.Errorf("the arguments became %s", args)
	}
}

// TestFuncError holds that an error comes back as it is.
func TestFuncError(t *testing.T) {
	t.Parallel()
	want := errors.New("no such file")
	tl, err := tool.Func("read", "", func(context.Context, struct{}) (string, error) { return "half", want })
	if err != nil {
		t.Fatal(err)
	}
	r, err := tl.Run(t.Context(), tool.Call{})
	if err != want || r.Data != nil { //nolint:errorlint // the very same error is what is promised
		t.Errorf("result %+v, error %v; want none and %v", r, err, want)
	}
}

// TestFuncRefuses is what makes no tool.
func TestFuncRefuses(t *testing.T) {
	t.Parallel()
	ok := func(context.Context, struct{}) (string, error) { return "", nil }
	refused := map[string]error{}
	_, refused["no name"] = tool.Func("", "", ok)
	_, refused["bad name"] = tool.Func("a b", "", ok)
	_, refused["long name"] = tool.Func(strings.Repeat("a", tool.MaxName+1), "", ok)
	_, refused["no function"] = tool.Func[struct{}, string]("a", "", nil)
	_, refused["input is a string"] = tool.Func("a", "", func(context.Context, string) (string, error) { return "", nil })
	_, refused["input is a pointer"] = tool.Func("a", "", func(context.Context, *search) (string, error) { return "", nil })
	_, refused["input holds a channel"] = tool.Func("a", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
	_, refused["input holds itself"] = tool.Func("a", "", func(context.Context, ring) (string, error) { return "", nil })
	for name, err := range refused {
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %q, want one line", name, err)
		}
	}
	if _, err := tool.Func(strings.Repeat("a", tool.MaxName), "", ok); err != nil {
		t.Errorf("a name of %d bytes: %v", tool.MaxName, err)
	}
	if _, err := tool.Func("a", "", func(context.Context, map[string]int) (string, error) { return "", nil }); err != nil {
		t.Errorf("input is a map: %v", err)
	}
}

// ring is an input that has no schema.
type ring struct {
	Next *ring `json:"next"`
}

// TestLaw03Schema holds that a schema's bytes, which are part of the cached prefix, are the same over 100
// builds, in the order of the fields and without escapes that nobody asked for.
func TestLaw03SchemaIsStable(t *testing.T) {
	t.Parallel()
	const want = `{"type":"object","properties":{` +
		`"pattern":{"type":"string","description":"what to look for, such as <a & b>"},` +
		`"path":{"type":"string"},"limit":{"type":"integer"},` +
		`"tags":{"type":"object","properties":{"Zebra":{"type":"string"},"Alpha":{"type":"string"}},` +
		`"required":["Zebra","Alpha"],"additionalProperties":false}},` +
		`"required":["pattern"],"additionalProperties":false}`
	for range 100 {
		tl, err := tool.Func("grep", "", func(context.Context, search) (string, error) { return "", nil })
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(tl.Schema)); diff != "" {
			t.Fatalf("schema (-want +got):\n%s", diff)
		}
	}
}
