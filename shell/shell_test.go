//go:build unix

package shell_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/schema"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/shell"
	"github.com/weir-run/weir/tool"
)

// given makes the tool, in a folder of its own unless the Config has one.
func given(t *testing.T, cfg shell.Config) tool.Tool {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	one, err := shell.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// args are the arguments for a command, with a limit when it is not 0.
func args(command string, ms int) json.RawMessage {
	in := map[string]any{"command": command}
	if ms != 0 {
		in["timeout_ms"] = ms
	}
	raw, _ := json.Marshal(in) // a map of a string and a number can be written
	return raw
}

// said is what one call gives by hand, outside of a round.
type said struct {
	Text    string
	IsError bool
}

func say(t *testing.T, ctx context.Context, one tool.Tool, raw json.RawMessage) said {
	t.Helper()
	r, err := one.Run(ctx, tool.Call{Name: one.Name, Args: raw})
	if err != nil {
		t.Fatal(err)
	}
	return said{result.Text(r), r.IsError}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{})
	for name, c := range map[string]struct{ command, want string }{
		"C021 nothing to say":        {"mkdir d", "[exit 0]"},
		"output":                     {"echo out", "out\n[exit 0]"},
		"no newline at the end":      {"printf out", "out\n[exit 0]"},
		"blank lines are kept":       {"printf '\\n\\n'", "\n\n[exit 0]"},
		"a status of its own":        {"echo out; exit 2", "out\n[exit 2]"},
		"found nothing":              {"echo a | grep b", "[exit 1]"},
		"errors only":                {"echo bad >&2; false", "bad\n[exit 1]"},
		"both streams, as they come": {"for i in 1 2 3; do echo o$i; echo e$i >&2; done", "o1\ne1\no2\ne2\no3\ne3\n[exit 0]"},
		"killed":                     {"echo x; kill -SEGV $$", "x\n[killed by SIGSEGV]"},
		"killed for good":            {"kill -KILL $$", "[killed by SIGKILL]"},
		"a signal without a name":    {"kill -40 $$", "[killed by signal 40]"},
		"a child is killed":          {"exec 2>/dev/null; sh -c 'kill -KILL $$'; exit $?", "[exit 137]"},
		"a status that is printed":   {"echo '[exit 0]'; exit 3", "[exit 0]\n[exit 3]"},
		"standard input is empty":    {"cat; read x; echo $?", "1\n[exit 0]"},
		"several lines":              {"x=1\nif true\nthen\n\techo \"$x\"\nfi\n", "1\n[exit 0]"},
		"characters":                 {"echo 'äöü ≤ 🙂'", "äöü ≤ 🙂\n[exit 0]"},
		"no option of the shell":     {"-c 2>/dev/null; echo $?", "127\n[exit 0]"},
		"JSON in quotes":             {`echo '{"a":"\\"}'`, "{\"a\":\"\\\"}\n[exit 0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := say(t, t.Context(), one, args(c.command, 0))
			if d := cmp.Diff(said{c.want, false}, got); d != "" {
				t.Errorf("result (-want +got):\n%s", d)
			}
		})
	}
}

func TestNoSuchCommand(t *testing.T) {
	t.Parallel()
	got := say(t, t.Context(), given(t, shell.Config{}), args("no-such-command-here", 0))
	if got.IsError || !strings.Contains(got.Text, "not found") || !strings.HasSuffix(got.Text, "\n[exit 127]") {
		t.Errorf("got %+v", got)
	}
}

// There is no terminal, so what would ask a person ends at once.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	got := say(t, t.Context(), given(t, shell.Config{}), args("( : </dev/tty ) 2>/dev/null || echo none", 5000))
	if d := cmp.Diff(said{"none\n[exit 0]", false}, got); d != "" {
		t.Errorf("result (-want +got):\n%s", d)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("WEIR_TEST_KEY", "secret")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("TZ", "UTC")
	const list = `for p in $(env); do case $p in PWD=*|OLDPWD=*|SHLVL=*|_=*) ;; *) echo $p;; esac; done`
	for name, c := range map[string]struct {
		env  []string
		want []string
	}{
		"empty":            {[]string{}, nil},
		"passed on":        {[]string{"TZ", "NOT_SET_ANYWHERE"}, []string{"TZ=UTC"}},
		"set":              {[]string{"A=b=c", "B="}, []string{"A=b=c", "B="}},
		"the later counts": {[]string{"TZ", "A=1", "TZ=CET", "A"}, []string{"A=1", "TZ=CET"}},
		"by name":          {[]string{"WEIR_TEST_KEY"}, []string{"WEIR_TEST_KEY=secret"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := say(t, t.Context(), given(t, shell.Config{Env: c.env}), args("PATH=/usr/bin:/bin; "+list+" | sort", 0))
			want := said{strings.Join(append(c.want, "[exit 0]"), "\n"), false}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("environment (-want +got):\n%s", d)
			}
		})
	}
	got := say(t, t.Context(), given(t, shell.Config{}), args(list, 0)).Text
	if strings.Contains(got, "secret") || !strings.Contains(got, "PATH=") || !strings.Contains(got, "LANG=C.UTF-8\n") {
		t.Errorf("the default environment is %s", got)
	}
}

func TestFolderAndShell(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := say(t, t.Context(), given(t, shell.Config{Dir: dir}), args("pwd", 0)); got.Text != dir+"\n[exit 0]" {
		t.Errorf("ran in %q, want %s", got.Text, dir)
	}
	// Any program that takes a text as an argument will do.
	echo := given(t, shell.Config{Shell: []string{"echo", "-n", "said:"}})
	if got := say(t, t.Context(), echo, args("a  $b", 0)); got.Text != "said: a  $b\n[exit 0]" || !strings.Contains(echo.Description, " with echo ") {
		t.Errorf("got %q of %q", got.Text, echo.Description)
	}
	gone := filepath.Join(dir, "gone")
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	one := given(t, shell.Config{Dir: gone})
	if err := os.Remove(gone); err != nil {
		t.Fatal(err)
	}
	if got := say(t, t.Context(), one, args("pwd", 0)); !got.IsError || !strings.Contains(got.Text, "was not run") || !strings.Contains(got.Text, "folder") || strings.Contains(got.Text, "\n") {
		t.Errorf("got %+v", got)
	}
	program := filepath.Join(dir, "sh")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	one = given(t, shell.Config{Shell: []string{program}})
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if got := say(t, t.Context(), one, args("pwd", 0)); !got.IsError || !strings.Contains(got.Text, "could not be started") || strings.Contains(got.Text, "\n") {
		t.Errorf("got %+v", got)
	}
}

func TestArgumentsThatDoNotFit(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{MaxTimeout: 5 * time.Second})
	const span = "from 1 to 5000, or left out for 5000"
	for raw, says := range map[string]string{
		``:                                         "command is missing",
		`null`:                                     "command is missing",
		`{}`:                                       "command is missing",
		`{"command":null}`:                         "command is missing",
		`{"command":""}`:                           "command is empty",
		`{"command":" \n\t"}`:                      "command is empty",
		`{"command":"echo a\u0000b"}`:              "NUL",
		`{"command":"echo \ud800"}`:                "no character",
		"{\"command\":\"echo \xff\"}":              "no character",
		`{"command":1}`:                            "do not fit",
		`{"command":"x","cwd":"/"}`:                `unknown field "cwd"`,
		`{"command":"x"} {}`:                       "something follows",
		`[]`:                                       "do not fit",
		`{"command":`:                              "do not fit",
		`{"command":"x","timeout_ms":0}`:           span + "; got 0",
		`{"command":"x","timeout_ms":-5}`:          span + "; got -5",
		`{"command":"x","timeout_ms":5001}`:        span + "; got 5001",
		`{"command":"x","timeout_ms":1.5}`:         span + "; got 1.5",
		`{"command":"x","timeout_ms":null}`:        span + "; got null",
		`{"command":"x","timeout_ms":"2s"}`:        span + `; got "2s"`,
		`{"command":"x","timeout_ms":"-1"}`:        span + `; got "-1"`,
		`{"command":"x","timeout_ms":true}`:        span + "; got true",
		`{"command":"x","timeout_ms":1e99}`:        span + "; got 1e99",
		`{"command":"x","timeout_ms":"NaN"}`:       span,
		`{"command":"x","timeout_ms":99999999999}`: span,
	} {
		got := say(t, t.Context(), one, json.RawMessage(raw))
		if !got.IsError || !strings.HasPrefix(got.Text, shell.Name+": ") || !strings.Contains(got.Text, says) ||
			!strings.HasSuffix(got.Text, `. Example: {"command":"go test ./...","timeout_ms":5000}`) || strings.Contains(got.Text, "\n") {
			t.Errorf("%s gives %+v, want one line that says %q with an example", raw, got, says)
		}
	}
	long := `{"command":"x","timeout_ms":"` + strings.Repeat("9", 100_000) + `"}`
	if got := say(t, t.Context(), one, json.RawMessage(long)); !got.IsError || len(got.Text) > 500 {
		t.Errorf("a long value gives %d bytes", len(got.Text))
	}
}

func TestArgumentsThatFit(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{})
	for _, ms := range []string{"5000", `"5000"`, "5e3", "5000.0", "600000"} {
		got := say(t, t.Context(), one, json.RawMessage(`{"command":"echo a\ud83d\ude42b","timeout_ms":`+ms+`}`))
		if d := cmp.Diff(said{"a🙂b\n[exit 0]", false}, got); d != "" {
			t.Errorf("timeout_ms %s (-want +got):\n%s", ms, d)
		}
	}
	if got := say(t, t.Context(), one, json.RawMessage(`{"command":"sleep 30","timeout_ms":1e2}`)); !strings.HasSuffix(got.Text, "limit of 100ms]") {
		t.Errorf("got %+v", got)
	}
	command := func(n int) string {
		return "printf %s " + strings.Repeat("x", n-len("printf %s  | wc -c")) + " | wc -c"
	}
	got := say(t, t.Context(), one, args(command(shell.MaxCommand), 0))
	if want := fmt.Sprint(shell.MaxCommand - len("printf %s  | wc -c")); strings.TrimSpace(strings.TrimSuffix(got.Text, "[exit 0]")) != want {
		t.Errorf("the longest command gives %+v, want %s", got, want)
	}
	got = say(t, t.Context(), one, args(command(shell.MaxCommand+1), 0))
	if !got.IsError || !strings.Contains(got.Text, "131072 bytes, at most 131071") || len(got.Text) > 500 {
		t.Errorf("a command over the longest gives %.300s", got.Text)
	}
}

func TestDefinition(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{})
	const want = `{"type":"object","properties":{` +
		`"command":{"type":"string","description":"what the shell is to run, at most 131071 bytes; it may have several lines"},` +
		`"timeout_ms":{"type":["integer","string"],"pattern":"^-?[0-9]+$","description":"time limit in milliseconds, 1 to 600000; default 120000"}},` +
		`"required":["command"],"additionalProperties":false}`
	if d := cmp.Diff(want, string(one.Schema)); d != "" {
		t.Errorf("schema (-want +got):\n%s", d)
	}
	if _, err := schema.Compile(one.Schema); err != nil {
		t.Error(err)
	}
	wantTraits := tool.Traits{PlainTerminal: true, Timeout: 10*time.Minute + 500*time.Millisecond + time.Second + 5*time.Second}
	if d := cmp.Diff(wantTraits, one.Traits); d != "" {
		t.Errorf("traits (-want +got):\n%s", d)
	}
}

func TestConfigThatDoesNotFit(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for says, cfg := range map[string]shell.Config{
		"no folder":                  {Dir: file},
		"is not there":               {Dir: file + "/none"},
		"find the shell":             {Shell: []string{"no-such-shell-here"}},
		"permission denied":          {Shell: []string{file}},
		"an empty list":              {Shell: []string{}},
		`an entry ""`:                {Env: []string{""}},
		`an entry "=x"`:              {Env: []string{"=x"}},
		`an entry "A=\x00"`:          {Env: []string{"A=\x00"}},
		"Timeout is -1s":             {Timeout: -time.Second},
		"Timeout is 1ns":             {Timeout: 1},
		"MaxTimeout is 25h0m0s":      {MaxTimeout: 25 * time.Hour},
		"Grace is -1ns":              {Grace: -1},
		"MaxOutput is -1":            {MaxOutput: -1},
		"which is over MaxTimeout, ": {Timeout: time.Minute, MaxTimeout: time.Second},
	} {
		if _, err := shell.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "make shell--run: ") || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: error %v, want one line that says %q", cfg, err, says)
		}
	}
	long, err := shell.New(shell.Config{Timeout: time.Hour})
	if err != nil || long.Timeout < time.Hour || !strings.Contains(string(long.Schema), "1 to 3600000; default 3600000") {
		t.Errorf("%v: a longer limit is %s of %s", err, long.Timeout, long.Schema)
	}
}
