package lower

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSyntaxErrors(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"let x = ;":                `SyntaxError: Unexpected ";" (line 1, column 9): let x = ;`,
		"const é = 1;\nlet é2 == ": `SyntaxError: Expected ";" but found "==" (line 2, column 8): let é2 ==`,
		"if (a) {":                 `SyntaxError: the code ends too early or closes a bracket too many: Unexpected ")" (line 1, column 9): if (a) {`,
		"import x from 'y'":        "SyntaxError: there are no modules to import: use the globals tools, results, args, URL, TextEncoder and their like (line 1, column 8): import x from 'y'",
		"\nexport const a = 1":     "SyntaxError: the code is the body of a function and exports nothing: return the value (line 2, column 1): export const a = 1",
	} {
		_, err := Lower(source)
		if err == nil {
			t.Errorf("%q is taken", source)
			continue
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", source, diff)
		}
		var e *SyntaxError
		if !errors.As(err, &e) {
			t.Errorf("%q: %T", source, err)
		}
	}
}

func TestLongLineIsCut(t *testing.T) {
	t.Parallel()
	_, err := Lower(strings.Repeat("x + ", 500) + "; )" + strings.Repeat(" + y", 500))
	if err == nil || len([]rune(err.Error())) > 300 || !strings.Contains(err.Error(), "…") {
		t.Errorf("%v", err)
	}
}

func TestLowered(t *testing.T) {
	t.Parallel()
	for source, gone := range map[string]string{
		"for await (const x of y) { x }":       "for await",
		"async function* g() { yield 1 }":      "function*(",
		"return a?.b.exec(c)":                  "?.",
		"return /\\p{L}/u.test(s)":             "/\\p",
		"const n: number = 1; return n as any": ": number",
		"return await import('x')":             "import(",
	} {
		p, err := Lower(source)
		if err != nil {
			t.Errorf("%q: %v", source, err)
			continue
		}
		if gone != "function*(" && strings.Contains(p.Code, gone) {
			t.Errorf("%q still holds %q:\n%s", source, gone, p.Code)
		}
		if !strings.Contains(p.Code, Entry+"(async () => {") {
			t.Errorf("%q: no entry in\n%s", source, p.Code)
		}
	}
}

// A position in the lowered code leads back to the script, also where the lowering has put lines before it.
func TestOrigin(t *testing.T) {
	t.Parallel()
	p, err := Lower("const a = 1;\nfor await (const x of []) {\n  mark(x);\n}")
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(p.Code, "\n") {
		if at := strings.Index(line, "mark("); at >= 0 {
			l, c := p.Origin(i+1, at)
			if diff := cmp.Diff([]int{3, 3}, []int{l, c}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			return
		}
	}
	t.Errorf("mark is lost:\n%s", p.Code)
}
