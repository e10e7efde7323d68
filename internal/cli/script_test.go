//go:build unix

package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

// TestMain installs weir for the stories: the program itself, with two tools of the tests.
func TestMain(m *testing.M) {
	scripting.Main()
	weir := func() {
		a := newApp()
		a.tools = testTools()
		os.Exit(a.main(os.Args[1:]))
	}
	testscript.Main(m, map[string]func(){
		"weir": weir,
		"tiny": tiny,
		// reader is weir, run by somebody who may not write here.
		"reader": func() {
			if err := renounce(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(99)
			}
			weir()
		},
		// wholes reads an export and prints the texts of files in it.
		"wholes": func() {
			if err := printWholes(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		},
	})
}

// testTools are a tool with a result of any length and one that takes its time and must not be repeated.
func testTools() []tool.Tool {
	numbers, err := tool.Func("test--numbers", "Lines with their numbers.", func(_ context.Context, in struct {
		From int `json:"from"`
		To   int `json:"to"`
	},
	) (string, error) {
		var b strings.Builder
		for n := in.From; n <= in.To; n++ {
			fmt.Fprintf(&b, "number %d, squared %d, \"häh?\"\n", n, n*n)
		}
		return b.String(), nil
	})
	if err != nil {
		panic(err)
	}
	wait, err := tool.Func("test--wait", "Waits; a stubborn one heeds nobody.", func(ctx context.Context, in struct {
		MS       int  `json:"ms"`
		Stubborn bool `json:"stubborn,omitempty"`
	},
	) (string, error) {
		if in.Stubborn {
			ctx = context.WithoutCancel(ctx)
		}
		select {
		case <-time.After(time.Duration(in.MS) * time.Millisecond):
			return "waited", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	if err != nil {
		panic(err)
	}
	return []tool.Tool{numbers, wait}
}

// renounce gives up the right to write to the current folder and all below it. Who is root gives up being
// root; everybody else only takes the right away.
func renounce() error {
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	err = filepath.WalkDir(here, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o444)
		if d.IsDir() {
			mode = 0o555
		}
		return os.Chmod(path, mode)
	})
	if err != nil || os.Getuid() != 0 {
		return err
	}
	for up := filepath.Dir(here); up != filepath.Dir(up); up = filepath.Dir(up) {
		info, err := os.Stat(up)
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o001 == 0 {
			if err := os.Chmod(up, info.Mode().Perm()|0o011); err != nil {
				return err
			}
		}
	}
	const nobody = 65534
	return errors.Join(syscall.Setgroups(nil), syscall.Setgid(nobody), syscall.Setuid(nobody))
}

// TestStories runs the stories in testdata, one a file.
func TestStories(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("WEIR_DIR", "")
			env.Setenv("ANTHROPIC_API_KEY", "")
			env.Values[paused{}] = &pausedProcess{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":  cmdStatus,
			"signal":  cmdSignal,
			"until":   cmdUntil,
			"patch":   cmdPatch,
			"sql":     cmdSQL,
			"tree":    cmdTree,
			"dialog":  cmdDialog,
			"pause":   cmdPause,
			"proceed": cmdProceed,
		},
	})
}

// cmdStatus is "status N PROGRAM ARG…": it must end with this exit status.
func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		got = ended.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d instead of %d\nstdout:\n%sstderr:\n%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// cmdSignal is "signal NAME STATUS PATTERN PROGRAM ARG…": it runs the program, sends it the signal when a
// line of its output matches (twice for INT2), and wants its exit status (-1 when the signal ended it).
// What it wrote is in the files signal.out and signal.err.
func cmdSignal(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string][]os.Signal{
		"INT": {os.Interrupt}, "TERM": {syscall.SIGTERM}, "KILL": {os.Kill}, "INT2": {os.Interrupt, os.Interrupt},
	}
	if neg || len(args) < 4 || signals[args[0]] == nil {
		ts.Fatalf("usage: signal INT|TERM|KILL|INT2 STATUS PATTERN PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	pattern, err := regexp.Compile(args[2])
	ts.Check(err)
	path, err := exec.LookPath(args[3])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args[4:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(os.Environ(), "WEIR_DIR="+ts.Getenv("WEIR_DIR"))
	seen := make(chan struct{}, 100)
	out, err := os.Create(ts.MkAbs("signal.out"))
	ts.Check(err)
	defer out.Close()
	errs, err := os.Create(ts.MkAbs("signal.err"))
	ts.Check(err)
	defer errs.Close()
	cmd.Stdout, cmd.Stderr = &spy{w: out, pattern: pattern, seen: seen}, &spy{w: errs, pattern: pattern, seen: seen}
	ts.Check(cmd.Start())
	select {
	case <-seen:
	case <-ctx.Done():
		ts.Fatalf("nothing matched %q within a minute", args[2])
	}
	for i, s := range signals[args[0]] {
		if i > 0 {
			time.Sleep(300 * time.Millisecond)
		}
		ts.Check(cmd.Process.Signal(s))
	}
	err = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("exit status %d (%v) instead of %d", got, err, want)
	}
}

// spy passes on what is written and tells when a line of it matches.
type spy struct {
	w       io.Writer
	pattern *regexp.Regexp
	seen    chan struct{}
	line    []byte
}

func (s *spy) Write(p []byte) (int, error) {
	s.line = append(s.line, p...)
	if s.pattern.Match(s.line) {
		select {
		case s.seen <- struct{}{}:
		default:
		}
	}
	if i := strings.LastIndexByte(string(s.line), '\n'); i >= 0 {
		s.line = s.line[i+1:]
	}
	return s.w.Write(p)
}

// cmdUntil is "until PATTERN PROGRAM ARG…": it runs the program again and again until its output matches.
func cmdUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN PROGRAM ARG…")
	}
	pattern := regexp.MustCompile(args[0])
	for range 300 {
		_ = ts.Exec(args[1], args[2:]...) // it may fail until it is time
		if pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("the output never matched %q", args[0])
}

// cmdPatch is "patch GLOB OLD NEW": it changes bytes of the one file that matches, in place.
func cmdPatch(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 || len(args[1]) != len(args[2]) {
		ts.Fatalf("usage: patch GLOB OLD NEW, OLD and NEW of one length")
	}
	found, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	if len(found) != 1 {
		ts.Fatalf("%s matches %d files", args[0], len(found))
	}
	old, err := os.ReadFile(found[0])
	ts.Check(err)
	changed := strings.Replace(string(old), args[1], args[2], 1)
	if changed == string(old) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(found[0], []byte(changed), 0o600))
}

// cmdSQL is "sql FILE STATEMENT…": it runs statements on a database. What tampers drops the triggers first.
func cmdSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: sql FILE STATEMENT…")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	for _, statement := range args[1:] {
		_, err := db.ExecContext(context.Background(), statement)
		ts.Check(err)
	}
}

// cmdTree is "tree FOLDER FILE": it writes every name below a folder with mode, time and hash to a file.
func cmdTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tree FOLDER FILE")
	}
	out, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	w := bufio.NewWriter(out)
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var sum [32]byte
		stamp := info.ModTime().UnixNano()
		if d.Type().IsRegular() {
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(body)
		} else {
			stamp = 0 // a folder's time also changes when a file comes and goes
		}
		fmt.Fprintf(w, "%s %s %d %x\n", path, info.Mode(), stamp, sum)
		return nil
	}))
	ts.Check(errors.Join(w.Flush(), out.Close()))
}
