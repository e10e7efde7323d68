package membrane_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

func TestWireName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"workspace--read":       "workspace--read",
		"A_z-09":                "A_z-09",
		strings.Repeat("a", 64): strings.Repeat("a", 64),
		strings.Repeat("a", 65): strings.Repeat("a", 46) + "_x635361c48bb9eab1",
		"files.read":            "files_read_x601e4eb608f9175e",
		"größe\xff":             "gr__e__x1d6fc5306d8faab0",
		"":                      "_xe3b0c44298fc1c14",
		"a_x0123456789abcdef":   "a_x0123456789abcdef_x0aee55e6d95bfcf7", // looks made
		"a_x0123456789ABCDEF":   "a_x0123456789ABCDEF",
		"_x0123456789abcde":     "_x0123456789abcde",
	} {
		if diff := cmp.Diff(want, membrane.WireName(name)); diff != "" {
			t.Errorf("%q: %s", name, diff)
		}
	}
}

// What a model calls is found again by the description that stands in the head.
func TestFullName(t *testing.T) {
	t.Parallel()
	for _, spec := range []membrane.ToolSpec{
		{Name: "a", Description: "does a"},
		{Name: "files.read", Description: "reads"},
		{Name: "files.read"},
		{Name: strings.Repeat("long.", 25), Description: "ends as if it were another\n\n[full name: files.read]"},
		{Name: "odd]name", Description: "[full name: x]"},
		{Name: "a_x0123456789abcdef"},
	} {
		if got, ok := membrane.FullName(membrane.WireName(spec.Name), membrane.WireDescription(spec)); !ok || got != spec.Name {
			t.Errorf("%q came back as %q, %v", spec.Name, got, ok)
		}
	}
	for _, description := range []string{"", "reads", "[full name: files.read] and more", "[full name: files.write]", "[full name: ]"} {
		if got, ok := membrane.FullName(membrane.WireName("files.read"), description); ok {
			t.Errorf("%q gave %q", description, got)
		}
	}
}

func FuzzWireName(f *testing.F) {
	f.Add("a", "a.b")
	f.Add("a_x0123456789abcdef", strings.Repeat("ä", 100))
	valid := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := membrane.WireName(a), membrane.WireName(b)
		if !valid.MatchString(x) {
			t.Errorf("%q became %q", a, x)
		}
		if a != b && x == y {
			t.Errorf("%q and %q are both %q", a, b, x)
		}
		if full, ok := membrane.FullName(x, membrane.WireDescription(membrane.ToolSpec{Name: a, Description: b})); !ok || full != a {
			t.Errorf("%q came back as %q, %v", a, full, ok)
		}
	})
}
