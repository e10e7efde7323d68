package economy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var goRootOnce = sync.OnceValues(func() (string, error) {
	out, err := exec.CommandContext(context.Background(), "go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(out)), err
})

func goEnv(t testing.TB) string {
	t.Helper()
	root, err := goRootOnce()
	if err != nil {
		t.Skipf("the go command is not here: %v", err)
	}
	return root
}

// command runs the go command and gives what it says, without what differs between runs and machines.
// That it fails may be the point.
func command(t testing.TB, dir string, args ...string) string {
	t.Helper()
	root := goEnv(t)
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	// Nothing that is measured may write into this module's own files.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOTOOLCHAIN=local", "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(out), root, "/usr/local/go")
	if dir != "" {
		text = strings.ReplaceAll(text, dir, "/src")
	}
	text = regexp.MustCompile(`\d+\.\d+s\b`).ReplaceAllString(text, "0.01s")
	return regexp.MustCompile(`"(Target|StaleReason|BuildID)": "[^"]*",?\n\s*`).ReplaceAllString(text, "")
}

func module(t testing.TB, name, source string) string {
	t.Helper()
	dir := t.TempDir()
	for file, text := range map[string]string{"go.mod": "module economy.test/shop\n\ngo 1.26\n", name: source} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func goTest(t testing.TB, i, size int) (string, []fact) {
	r := chance("test", i)
	n := size * 12
	failing := map[int]bool{}
	for _, at := range spread(r, n)[1:4] {
		failing[at] = true
	}
	var b strings.Builder
	b.WriteString("package shop\n\nimport \"testing\"\n")
	var facts []fact
	logged := spread(r, n)[2]
	for k := range n {
		seed := 10_000 + r.IntN(90_000)
		fmt.Fprintf(&b, "\nfunc TestPrice%d(t *testing.T) {\n\tt.Logf(\"price of basket %d: seed %%d\", %d)\n", k, k, seed)
		if k == logged {
			found := fmt.Sprintf("price of basket %d: seed %d", k, seed)
			facts = append(facts, fact{found, fmt.Sprintf("basket %d:", k)})
		}
		if failing[k] {
			found := fmt.Sprintf("Price(%d) = %d, want %d", k, 100+r.IntN(900), 1000+r.IntN(900))
			fmt.Fprintf(&b, "\tt.Error(%q)\n", found)
			facts = append(facts, fact{found, fmt.Sprintf("Price(%d) =", k)})
		}
		b.WriteString("}\n")
	}
	out := command(t, module(t, "shop_test.go", b.String()), "test", "-v", ".")
	return out, append(facts, fact{"FAIL\teconomy.test/shop", "economy.test/shop"})
}

func goBuild(t testing.TB, i, size int) (string, []fact) {
	r := chance("build", i)
	var b strings.Builder
	b.WriteString("package shop\n")
	n := size * 10
	for k := range n {
		fmt.Fprintf(&b, "\n%sfunc total%d(n int) int { return n + missing%d }\n", strings.Repeat("// total adds up.\n", r.IntN(4)), k, k)
	}
	out := command(t, module(t, "shop.go", b.String()), "build", "-gcflags=-e", ".")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return out, ofLines(r, lines[1:], func(line string) string {
		_, word, ok := strings.Cut(line, "undefined: ")
		if !ok {
			return ""
		}
		return word
	})
}

func goList(t testing.TB, i, _ int) (string, []fact) {
	r := chance("list", i)
	out := command(t, "", "list", "-json", packages[i])
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return out, ofLines(r, lines, func(line string) string {
		if word := strings.TrimSuffix(strings.TrimSpace(line), ","); strings.Count(word, `"`) >= 2 && !strings.HasSuffix(word, "[") {
			return word
		}
		return ""
	})
}

func goDoc(t testing.TB, i, _ int) (string, []fact) {
	r := chance("doc", i)
	out := command(t, "", "doc", "-all", packages[i])
	return out, ofLines(r, strings.Split(out, "\n"), func(line string) string {
		if word, _, ok := strings.Cut(line, "("); ok && strings.HasPrefix(line, "func ") && len(word) > 5 {
			return line
		}
		return ""
	})
}
