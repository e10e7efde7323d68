package shape_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/result/shape"
)

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, doc, want string }{
		{"bullets", `{"a":1.10,"b":"x","c":true,"d":null,"e":[],"f":{},"g":""}`, "- a: 1.10\n- b: x\n- c: true\n- d: null\n- e: []\n- f: {}\n- g: \"\""},
		{"below each other", `{"a":{"b":{"c":1}}}`, "- a:\n  - b:\n    - c: 1"},
		{"a list", `{"a":[1,"x",false]}`, "- a: 1, x, false"},
		{"a list with commas", `{"a":["x, y","z"]}`, `- a: ["x, y","z"]`},
		{"a table", `[{"a":1,"b":"x"},{"b":"","c":null}]`, "|a|b|c|\n|-|-|-|\n|1|x||\n||\"\"|null|"},
		{"a table in an object", `{"n":1,"l":[{"a":1},{"a":2}],"z":2}`, "- n: 1\n- l: 2 rows\n\n  |a|\n  |-|\n  |1|\n  |2|\n\n- z: 2"},
		{"one row", `{"l":[{"a":1}]}`, "- l: 1 row\n\n  |a|\n  |-|\n  |1|\n"},
		{"cells", `[{"a|b":"x|y","c":"a\nb|c","d":"q` + "`" + `r\\s"}]`, "|a\\|b|c|d|\n|-|-|-|\n|x\\|y|\"a\\nb\\u007cc\"|q\\`r\\\\s|"},
		{"line ends", `{"a":"x\ny","b\n":1}`, "- a: \"x\\ny\"\n- \"b\\n\": 1"},
		{"rows that are not flat", `[{"a":[1]},{"a":{"b":1}}]`, "- {\"a\":[1]}\n- {\"a\":{\"b\":1}}"},
		{"a string", `"x|y"`, "x|y"},
		{"a number", `-0.0`, "-0.0"},
		{"nothing", `{}`, "{}"},
		{"no rows", `[]`, "[]"},
		{"deep", `{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}`, "- a:\n  - b:\n    - c:\n      - d:\n        - e: {\"f\":1}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, render(t, shaper(t, shape.Config{}), c.doc, shape.Markdown).Text); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTableOfAThousandRows(t *testing.T) {
	t.Parallel()
	doc := "[" + strings.TrimSuffix(strings.Repeat(`{"a":1},`, 1000), ",") + "]"
	if got := render(t, shaper(t, shape.Config{}), doc, shape.Markdown).Text; strings.Count(got, "\n") != 1001 {
		t.Errorf("%d lines", strings.Count(got, "\n"))
	}
}

func TestTemplate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, want string
		isError    bool
	}{
		{`{{.n}} {{.big}}`, "1.10 1e400", false},
		{`{{if has . "x"}}{{.x}}{{else}}none{{end}}`, "none", false},
		{`{{.x}}`, `render markdown: template: markdown:1:2: executing "markdown" at <.x>: map has no entry for key "x"`, true},
		{`{{join .l "k" ", "}} {{json .l}} {{one .s}}`, `a, b [{"k":"a"},{"k":"b"}] x y`, false},
		{`{{join .l "z" ", "}}`, `render markdown: template: markdown:1:2: executing "markdown" at <join .l "z" ", ">: error calling join: join: element 0 has no "z"`, true},
		{`{{define "a"}}{{template "a"}}{{end}}{{template "a"}}`, "", true},
		{`{{range 100000000}}a lot of text for nothing{{end}}`, "", true},
	} {
		renderer, err := shape.Template(c.text)
		if err != nil {
			t.Fatal(err)
		}
		got := render(t, shaper(t, shape.Config{Markdown: renderer}), `{"n":1.10,"big":1e400,"l":[{"k":"a"},{"k":"b"}],"s":"x\ny"}`, shape.Markdown)
		if got.IsError != c.isError || c.want != "" && got.Text != c.want {
			t.Errorf("%s: %+v", c.text, got)
		}
	}
	if _, err := shape.Template("{{.a"); err == nil {
		t.Error("a template that is none was taken")
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	doc := `{"_v":1, "id":"a","created_at":"x","n":null,"keep":[null,0,false,"",[],{"_x":1}],"e":1.50,"tenant_id":2,"o":{"etag":"e"}}`
	for _, c := range []struct {
		rules []string
		want  string
	}{
		{nil, `{"id":"a","keep":[null,0,false,"",[],{}],"e":1.50,"o":{}}`},
		{append(shape.DefaultRules(), "!created_at", "!null", "e"), `{"id":"a","created_at":"x","n":null,"keep":[null,0,false,"",[],{}],"tenant_id":2,"o":{}}`},
		{[]string{}, `{"_v":1,"id":"a","created_at":"x","n":null,"keep":[null,0,false,"",[],{"_x":1}],"e":1.50,"tenant_id":2,"o":{"etag":"e"}}`},
	} {
		want := c.want
		if len(c.rules) > 0 {
			want = strings.Replace(want, `,"tenant_id":2`, "", 1)
		}
		if diff := cmp.Diff(want, render(t, shaper(t, shape.Config{Rules: c.rules}), doc, shape.Pruned).Text); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.rules, diff)
		}
	}
	for _, rule := range []string{"", "!", "[a"} {
		if _, err := shape.New(shape.Config{Rules: []string{rule}}); err == nil {
			t.Errorf("%q was taken", rule)
		}
	}
}

func TestInfer(t *testing.T) {
	t.Parallel()
	got, err := shape.Infer([]byte(`{"a":1,"b":"x","c":[{"d":true},{"d":false,"e":null}],"f":[],"m":[1,"x"]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"},` +
		`"c":{"type":"array","items":{"type":"object","properties":{"d":{"type":"boolean"},"e":{}}}},"f":{"type":"array"},"m":{"type":"array","items":{}}}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
