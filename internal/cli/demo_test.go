package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tokens"
)

// sources makes a folder with so many Go files of 100 declarations each, one that cannot be parsed, one that
// is no Go, and a link that leads outside.
func sources(t *testing.T, files int) string {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for f := range files {
		var b strings.Builder
		fmt.Fprintf(&b, "package p%d\n\n", f)
		for d := range 98 {
			fmt.Fprintf(&b, "const Constant%dOfFile%d = %d\n", d, f, d)
		}
		b.WriteString("type Reader struct{}\nfunc NewReader() *Reader { return nil }\nfunc hidden() {}\n")
		write(fmt.Sprintf("p%d/p%d.go", f, f), b.String())
	}
	write("README.md", "# Sources\n\nTwo lines of text.\n")
	write("broken/broken.go", "package broken\n\nconst Good = 1\n\nfunc Bad( {\n")
	if err := os.Symlink("/etc", filepath.Join(dir, "outside")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// weir runs the program to its end.
func weir(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "weir", args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

func demoJSON(t *testing.T, args ...string) demoReport {
	t.Helper()
	status, out, errs := weir(t, append([]string{"demo", "--json"}, args...)...)
	if status != 0 {
		t.Fatalf("weir demo ends with %d: %s", status, errs)
	}
	d := json.NewDecoder(strings.NewReader(out))
	d.DisallowUnknownFields()
	var r demoReport
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	if d.More() {
		t.Error("something follows the JSON object")
	}
	if errs != "" {
		t.Errorf("stderr: %s", errs)
	}
	return r
}

// regular counts what find -type f finds.
func regular(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDemo runs the demo on a small folder and holds its figures to what is there.
func TestDemo(t *testing.T) {
	t.Parallel()
	on, dir := sources(t, 50), filepath.Join(t.TempDir(), "state")
	r := demoJSON(t, "--on", on, "--dir", dir)

	want := demoReport{
		Conversation: "demo", Dir: dir, On: resolved(on),
		FilesSearched: 52, GoFiles: 51, OtherFiles: 1, UnparsedFiles: 1, Declarations: 5002, Skipped: []unread{},
		Rounds: 6, Results: 9, Requests: 7, Spills: 1, Encoding: tokens.O200K,
		Killed: true, Resumed: true, Kept: 7, Unknown: []string{"r5-3"}, Published: 1, PrefixHeld: true, Verified: true,
	}
	varying := cmpopts.IgnoreFields(demoReport{}, "SpilledBytes", "ShownTokens", "WholeTokens", "ShownBytes", "WholeBytes", "Seconds", "Next")
	if diff := cmp.Diff(want, r, varying, cmpopts.IgnoreUnexported(demoReport{})); diff != "" {
		t.Errorf("the figures (-want +got):\n%s", diff)
	}
	if n := regular(t, on); r.FilesSearched+r.SkippedFiles != n {
		t.Errorf("%d files searched and %d skipped of %d", r.FilesSearched, r.SkippedFiles, n)
	}
	if r.ShownTokens < 1000 || r.WholeTokens < 5*r.ShownTokens {
		t.Errorf("%d tokens shown, %d whole: want at least five times as many", r.ShownTokens, r.WholeTokens)
	}
	var passed []string
	for _, step := range []string{stepList, stepLook, stepScript, stepKill, stepResume, stepCheck, "total"} {
		if r.Seconds[step] > 0 {
			passed = append(passed, step)
		}
	}
	if len(passed) != 7 {
		t.Errorf("seconds of %v only: %v", passed, r.Seconds)
	}

	// The figures again, without the demo's own code.
	bodies := membranetest.Bodies(t, filepath.Join(dir, "bodies"))
	if len(bodies) != r.Requests {
		t.Errorf("%d bodies of %d requests", len(bodies), r.Requests)
	}
	membranetest.Prefix(t, scripted.Split, bodies...)
	files, err := filepath.Glob(filepath.Join(dir, "tool-results", "demo", "r1-1-*.txt"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the list lies in %v: %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(whole)) != r.SpilledBytes {
		t.Errorf("the file has %d bytes, spilled_bytes says %d", len(whole), r.SpilledBytes)
	}
	if n := bytes.Count(whole, []byte("\n")); n != r.Declarations+r.OtherFiles+r.UnparsedFiles {
		t.Errorf("the list has %d lines", n)
	}
	// A cut for the sake of many cores may part a token.
	encoding, err := tokens.New(tokens.O200K)
	if err != nil {
		t.Fatal(err)
	}
	if n := encoding.Count(string(whole)) - (r.WholeTokens - r.ShownTokens); n < 0 || n > r.ShownTokens {
		t.Errorf("the whole list has %d tokens more than were not shown; %d were shown", n, r.ShownTokens)
	}
	last := bodies[len(bodies)-1]
	if !bytes.Contains(last, []byte("it was interrupted: the process stopped while it ran")) {
		t.Error("the model was not told of the interrupted call")
	}

	if status, out, errs := weir(t, "--dir", dir, "history", "verify"); status != 0 || !strings.HasPrefix(out, "clean: ") {
		t.Errorf("verify: %d %s%s", status, out, errs)
	}
	if status, _, errs := weir(t, "--dir", dir, "resume"); status != 1 || !strings.Contains(errs, "nothing to resume") {
		t.Errorf("resume: %d %s", status, errs)
	}
	if err := os.WriteFile(files[0], append([]byte("X"), whole[1:]...), 0o600); err != nil {
		t.Fatal(err)
	}
	if status, out, _ := weir(t, "--dir", dir, "history", "verify"); status != 1 || !strings.Contains(out, "r1-1: the file demo/r1-1-source--declarations.f1.txt has the hash") {
		t.Errorf("verify of a changed file: %d %s", status, out)
	}
}

// TestLaw09Demo holds two demos on one folder to the same bytes.
func TestLaw09Demo(t *testing.T) {
	t.Parallel()
	on := sources(t, 12)
	read := func() string {
		dir := filepath.Join(t.TempDir(), "state")
		demoJSON(t, "--on", on, "--dir", dir)
		return string(bytes.Join(membranetest.Bodies(t, filepath.Join(dir, "bodies")), []byte("\n")))
	}
	if diff := cmp.Diff(read(), read()); diff != "" {
		t.Errorf("two demos (-first +second):\n%s", diff)
	}
}

// TestDemoLeavesNoProcess interrupts and kills a demo while its process works: neither stays behind, and an
// interrupted one says what goes on with it.
func TestDemoLeavesNoProcess(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("processes are found in /proc")
	}
	for _, c := range []struct {
		name   string
		signal os.Signal
		status int
		says   string
	}{
		{"Ctrl-C", os.Interrupt, statusInterrupted, "weir: interrupted: weir --dir DIR resume goes on\n"},
		{"SIGKILL", os.Kill, -1, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			on, err := sourceFolder(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			cmd := exec.CommandContext(ctx, "weir", "demo", "--on", on, "--dir", dir)
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// Once the model was asked the first call runs; it takes seconds.
			for !exists(filepath.Join(dir, "bodies", "001.json")) {
				if ctx.Err() != nil {
					t.Fatal("the model was not asked within a minute")
				}
				time.Sleep(5 * time.Millisecond)
			}
			if n := len(processes(t, dir)); n != 2 {
				t.Errorf("%d processes work, want 2", n)
			}
			if err := cmd.Process.Signal(c.signal); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its status is looked at
			if got := cmd.ProcessState.ExitCode(); got != c.status {
				t.Errorf("exit status %d, want %d", got, c.status)
			}
			if diff := cmp.Diff(strings.ReplaceAll(c.says, "DIR", dir), errs.String()); diff != "" {
				t.Errorf("stderr (-want +got):\n%s", diff)
			}
			for range 400 {
				if len(processes(t, dir)) == 0 {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			if left := processes(t, dir); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if exists(filepath.Join(dir, "tool-results")) {
				t.Error("the process went on to the end of its first call")
			}
			if _, out, _ := weir(t, "--dir", dir, "history", "list"); !strings.Contains(out, "  open ") {
				t.Errorf("nothing is left to resume: %s", out)
			}
		})
	}
}

// processes are the command lines that name a folder.
func processes(t *testing.T, dir string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	return found
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestDemoResumedByHand takes a demo away from its process, in the last call: the process ends at once, and
// weir resume makes the same tools and the same model from what is stored.
func TestDemoResumedByHand(t *testing.T) {
	t.Parallel()
	on, dir := sources(t, 12), filepath.Join(t.TempDir(), "state")
	cmd := exec.CommandContext(t.Context(), "weir", "--dir", dir, "demo", "work", "--on", resolved(on))
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var n news
	for d := json.NewDecoder(out); n.Kind != newsProgress || n.Tool != publishTool; {
		if err := d.Decode(&n); err != nil {
			t.Fatal(err)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(out); d.Decode(&n) == nil; {
		if n.Kind == newsClosed && n.Round == 4 {
			t.Error("the process went on")
		}
	}
	_ = cmd.Wait() // it ended in the middle
	status, said, errs := weir(t, "--dir", dir, "resume")
	if want := "; the report was published once.\n"; status != 0 || !strings.HasSuffix(said, want) {
		t.Errorf("resume: %d %s%s", status, said, errs)
	}
	if !strings.Contains(errs, "r5-3  report--publish ") || !strings.Contains(errs, ": unknown, ") {
		t.Errorf("the interrupted call is not told of: %s", errs)
	}
	membranetest.Prefix(t, scripted.Split, membranetest.Bodies(t, filepath.Join(dir, "bodies"))...)
}

// TestDemoBroken holds what the demo says of itself to requests that do not go on where the one before ended.
func TestDemoBroken(t *testing.T) {
	t.Parallel()
	one := `{"messages":[{"role":"user"}]}`
	for _, c := range []struct {
		name   string
		bodies []string
		want   bool
	}{
		{"a prefix", []string{one, `{"messages":[{"role":"user"},{"role":"results"}]}`}, true},
		{"a changed message", []string{one, `{"messages":[{"role":"User"},{"role":"results"}]}`}, false},
		{"a changed head", []string{one, `{"model":1,"messages":[{"role":"user"},{"role":"results"}]}`}, false},
		{"the third", []string{one, one, `{"messages":[]}`}, false},
		{"nothing to compare", []string{one}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := &demo{}
			d.report.Dir = t.TempDir()
			if err := os.Mkdir(filepath.Join(d.report.Dir, demoBodies), 0o755); err != nil {
				t.Fatal(err)
			}
			for i, text := range c.bodies {
				if err := os.WriteFile(filepath.Join(d.report.Dir, demoBodies, fmt.Sprintf("%03d.json", i+1)), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			bodies, err := d.bodies()
			if err != nil {
				t.Fatal(err)
			}
			if d.prefix(bodies); d.report.PrefixHeld != c.want {
				t.Errorf("prefix_held is %v", d.report.PrefixHeld)
			}
			d.report.Resumed, d.report.Published, d.report.Verified = true, 1, true
			err = d.report.broken()
			if (err == nil) != c.want {
				t.Errorf("the demo ends with %v", err)
			}
		})
	}
	want := "a promise is broken: the turn did not come to its end; of 3 stored results only 2 are the same after the kill; " +
		"the report was published 2 times; a request does not go on where the one before it ended; " +
		"what is stored is not what was sent: see weir history verify"
	if diff := cmp.Diff(want, demoReport{stored: 3, Kept: 2, Published: 2}.broken().Error()); diff != "" {
		t.Errorf("all of them (-want +got):\n%s", diff)
	}
}
