package args_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/args"
	"github.com/weir-run/weir/tool"
)

func TestArgs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ raw, want, err string }{
		{`{"s":"x","n":7,"b":true}`, "x 7 true", ""},
		{`{"s":"x","n":"-7"}`, "x -7 false", ""},
		{`{"s":"x","n":"007"}`, "x 7 false", ""},
		{`{"s":"x","n":2e2}`, "x 200 false", ""},
		{`{"s":"x","n":200.0}`, "x 200 false", ""},
		{`{"s":"x"}`, "x 0 false", ""},
		{``, "", "s is missing"},
		{`null`, "", "s is missing"},
		{`{}`, "", "s is missing"},
		{`{"s":""}`, "", "s is empty"},
		{`{"s":["x"]}`, "", `s must be a string; got ["x"]`},
		{`{"s":"x","n":1.5}`, "", "n must be a whole number, -9 to 999; got 1.5"},
		{`{"s":"x","n":"1.0"}`, "", "n must be a whole number"},
		{`{"s":"x","n":""}`, "", "n must be a whole number"},
		{`{"s":"x","n":"+1"}`, "", "n must be a whole number"},
		{`{"s":"x","n":1000}`, "", "n must be a whole number, -9 to 999; got 1000"},
		{`{"s":"x","n":1e999}`, "", "n must be a whole number"},
		{`{"s":"x","n":null}`, "", "got null: leave it out instead"},
		{`{"s":"x","b":"true"}`, "", "b must be true or false"},
		{`{"s":"x","z":1,"y":2}`, "", `there is no argument "y"; there are: s, n, b`},
		{`[]`, "", "not a JSON object"},
		{`{"s":"x"`, "", "not a JSON object"},
		{`{"s":"x"}{}`, "", "something follows"},
		{`{"s":"` + strings.Repeat("y", 500) + `","n":"` + strings.Repeat("y", 500) + `"}`, "", "n must be a whole number"},
	} {
		a := args.Parse(tool.Call{Args: json.RawMessage(tt.raw)}, "s", "n", "b")
		got := fmt.Sprint(a.Text("s", true), " ", a.Whole("n", -9, 999, "-9 to 999"), " ", a.Flag("b"))
		err := a.Err()
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("%s: %q, %v; want %q", tt.raw, got, err, tt.want)
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err) || len(err.Error()) > 300):
			t.Errorf("%.60s: error %v, want …%s…", tt.raw, err, tt.err)
		}
	}
}

// TestSame: arguments come back as they were meant, fit to stand in a line.
func TestSame(t *testing.T) {
	t.Parallel()
	a := args.Parse(tool.Call{Args: json.RawMessage("{\"p\":\"a\\u003cb\\n\xff\\u0000\",\"n\":\"12\",\"b\":true}")}, "p", "n", "b", "x")
	got := args.Object(append(a.Same("b", "p", "x", "n"), args.Number("o", 3), args.Bool("c", false))...)
	want := "{\"b\":true,\"p\":\"a<b\\n\ufffd\\u0000\",\"n\":\"12\",\"o\":3,\"c\":false}"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
