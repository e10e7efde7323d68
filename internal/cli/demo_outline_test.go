package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, file, source, want string
	}{
		{"nothing exported", "a.go", "package a\n\nvar x int\n\nfunc f() {}\n", ""},
		{"every kind", "dir/a.go", `package a

import "fmt"

const (
	A, b = 1, 2
	C    = 3
)

var D, E = 1, 2

type (
	F struct{ G int }
	h struct{}
	I[T any] struct{}
	J = F
)

func K() { var L = 1; fmt.Println(L) }

func (F) M()      {}
func (*F) N()     {}
func (h) O()      {}
func (*I[T]) P()  {}
func (f (F)) q()  {}
`, `dir/a.go:6:const A
dir/a.go:7:const C
dir/a.go:10:var D
dir/a.go:10:var E
dir/a.go:13:type F
dir/a.go:15:type I
dir/a.go:16:type J
dir/a.go:19:func K
dir/a.go:21:method F.M
dir/a.go:22:method F.N
dir/a.go:24:method I.P
`},
		{"a line directive changes no number", "a.go", "package a\n\n//line other.y:100\nconst A = 1\n", "a.go:4:const A\n"},
		{"cut in the middle", "a.go", "package a\n\nconst A = 1\n\nfunc B( {\n", "a.go:3:const A\na.go:5:func B\na.go:5:unparsed expected ')', found '{'\n"},
		{"no Go at all", "a.go", "\x00\x01", "a.go:1:unparsed illegal character NUL\n"},
		{"empty", "a.go", "", "a.go:1:unparsed expected 'package', found 'EOF'\n"},
		{"another kind", "a.s", "TEXT ·f(SB)\nRET\n", "a.s:1:file 2 lines, 17 bytes\n"},
		{"a name with a newline", "a\nb.txt", "x", `"a\nb.txt":1:file 1 lines, 1 bytes` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, string(partOf(c.file, []byte(c.source)).lines)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOutlineFolder holds the list of a folder to the order of the paths and to its figures.
func TestOutlineFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b/b.go": "package b\n\nconst B = 1\n", "a.go": "package a\n\nconst A = 1\n", "b.go": "package b\n\nconst C = 1\n",
		"b/.hidden/x.go": "package x\n\nfunc X() {}\n", "b/bad.go": "package", "notes": "",
	} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(dir, "b", "bad.go"), maxSource+1); err != nil {
		t.Fatal(err)
	}
	text, figures, err := outline(t.Context(), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	want := "a.go:3:const A\nb.go:3:const C\nb/.hidden/x.go:3:func X\nb/b.go:3:const B\nnotes:1:file 0 lines, 0 bytes\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	wantFigures := outlined{
		Files: 5, GoFiles: 4, Others: 1, Bytes: 92, Declarations: 4, Skipped: 1,
		Left: []unread{{"b/bad.go", "over 67108864 bytes"}},
	}
	if diff := cmp.Diff(wantFigures, figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}

	if text, _, err = outline(t.Context(), dir, "b/.hidden"); err != nil || text != "b/.hidden/x.go:3:func X\n" {
		t.Errorf("below a folder: %q, %v", text, err)
	}
	for _, below := range []string{"..", "/etc", "nowhere", "a.go", "b/../.."} {
		if text, _, err = outline(t.Context(), dir, below); err == nil {
			t.Errorf("below %s: %q", below, text)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err = outline(ctx, dir, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled list: %v", err)
	}
}

func FuzzOutline(f *testing.F) {
	f.Add("package a\n\nconst A = 1\n")
	f.Add("package a\nfunc (")
	f.Add("package a\nfunc (x *[]T[) M() {}\ntype A[")
	f.Fuzz(func(t *testing.T, source string) {
		p := partOf("a.go", []byte(source))
		lines := strings.SplitAfter(string(p.lines), "\n")
		if last := lines[len(lines)-1]; last != "" {
			t.Errorf("the last line does not end: %q", last)
		}
		want := p.declarations
		if p.unparsed {
			want++
		}
		if len(lines)-1 != want {
			t.Errorf("%d lines of %d declarations", len(lines)-1, p.declarations)
		}
		for _, line := range lines[:len(lines)-1] {
			var n int
			var kind string
			if _, err := fmt.Sscanf(line, "a.go:%d:%s", &n, &kind); err != nil || n < 1 || n > 1+strings.Count(source, "\n") {
				t.Errorf("line %q: %v", line, err)
			}
		}
	})
}

func TestProgress(t *testing.T) {
	t.Parallel()
	p, ok := parseProgress(progress{4200, 11478}.String())
	if !ok || p != (progress{4200, 11478}) {
		t.Errorf("got %v, %v", p, ok)
	}
	if _, ok := parseProgress("published"); ok {
		t.Error("something else was read as progress")
	}
	for _, c := range []struct {
		done, of int64
		want     string
	}{{0, 10, "░░░░░░░░░░░░░░░░░░░░░░░░"}, {5, 10, "████████████░░░░░░░░░░░░"}, {11, 10, "████████████████████████"}, {0, 0, "████████████████████████"}} {
		if diff := cmp.Diff(c.want, bar(c.done, c.of)); diff != "" {
			t.Errorf("%d of %d (-want +got):\n%s", c.done, c.of, diff)
		}
	}
}

func TestByGoRun(t *testing.T) {
	t.Parallel()
	for exe, want := range map[string]bool{
		"/tmp/go-build123/b001/exe/weir":                                   true,
		"/root/.cache/go-build/ab/" + strings.Repeat("ab", 32) + "-d/weir": true,
		"/usr/local/bin/weir":                                              false,
		"/home/me/exe/weir":                                                false,
		"/home/me/" + strings.Repeat("xy", 32) + "-d/weir":                 false,
	} {
		if got := byGoRun(exe); got != want {
			t.Errorf("%s: %v", exe, got)
		}
	}
}
