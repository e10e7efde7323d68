package scripting_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// programs that embed scripts: one that says so, one that does not, and the tests of both.
const (
	embedder = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

func main() {
	// MAIN
	fmt.Println(Run())
}

func Run() string {
	var cfg scripting.Config
	if len(os.Args) > 2 && os.Args[1] == "command" {
		cfg.Command = os.Args[2:]
	}
	s, err := scripting.New(cfg)
	if err != nil {
		return err.Error()
	}
	r, err := s.Tool().Run(context.Background(), tool.Call{Args: json.RawMessage(` + "`" + `{"code":"console.log('from a script'); return 6 * 7"}` + "`" + `)})
	return fmt.Sprintf("%v%s %v", r.Data, r.Error, err)
}
`
	embedderTest = `package main

import (
	"os"
	"testing"

	"github.com/weir-run/weir/scripting"
)

var _ = scripting.Main

func TestMain(m *testing.M) {
	// MAIN
	os.Exit(m.Run())
}

func TestRun(t *testing.T) { println("the test ran:", Run()) }
`
)

// TestInAnEmbedder builds small programs, as others would: with scripting.Main scripts run, also in the
// program's tests, which are not run again by the script's process; without it the error names the ways
// out. Another program that calls Main can stand in.
func TestInAnEmbedder(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("it builds programs, and there is no go command")
	}
	if raced {
		t.Skip("what it builds has no race detector in it: make scripts runs it")
	}
	t.Parallel()
	dir := t.TempDir()
	build := func(name string, says bool) (program, tests string) {
		t.Helper()
		call := ""
		if says {
			call = "scripting.Main()"
		}
		folder := filepath.Join(dir, name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		var files []string
		for file, source := range map[string]string{"main.go": embedder, "main_test.go": embedderTest} {
			path := filepath.Join(folder, file)
			if err := os.WriteFile(path, []byte(strings.Replace(source, "// MAIN", call, 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, path)
		}
		program, tests = filepath.Join(dir, name+".exe"), filepath.Join(dir, name+".test.exe")
		command(t, "go", "build", "-o", program, filepath.Join(folder, "main.go"))
		command(t, "go", append([]string{"test", "-c", "-o", tests}, files...)...)
		return program, tests
	}
	with, withTests := build("with", true)
	without, withoutTests := build("without", false)
	for _, c := range []struct {
		name string
		argv []string
		want string
	}{
		{"with", []string{with}, "from a script\n42 <nil>\n"},
		{"its tests", []string{withTests}, "the test ran: from a script\n42 <nil>\nPASS\n"},
		{"another program's", []string{without, "command", with}, "from a script\n42 <nil>\n"},
	} {
		if got := command(t, c.argv[0], c.argv[1:]...); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	for _, argv := range [][]string{{without}, {withoutTests}} {
		got := command(t, argv[0])
		for _, way := range []string{"scripting.Main()", "Config.Command", "scripting.InProcess"} {
			if !strings.Contains(got, way) {
				t.Errorf("%s: the error does not name %s: %q", filepath.Base(argv[0]), way, got)
			}
		}
	}
	if got := command(t, with, "command", without); !strings.Contains(got, "its main must begin with scripting.Main()") {
		t.Errorf("a program that does not call Main as the command: %q", got)
	}
}

// command runs a program and gives what it prints on both streams.
func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}
