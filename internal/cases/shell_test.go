package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/shell"
)

// shellCases are commands: topics shell-bg-hang and exit-code.
func shellCases() map[string]runner {
	return map[string]runner{"C019": failureLikeSuccess, "C021": silentCommand, "C146": backgroundChild}
}

// command is the input of kind shell.
type command struct {
	Kind    string  `json:"kind"`
	Command string  `json:"command"`
	Stdout  *string `json:"stdout"`
	Stderr  *string `json:"stderr"`
	Exit    *int    `json:"exit"`
	LimitMS int     `json:"limit_ms"`
}

// withShell makes a world whose model can run commands in its project folder.
func withShell(t *testing.T) *world {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		t.Skip("commands are run on Unix systems only")
	}
	w := newWorld(t)
	w.put("here", "")
	run, err := shell.New(shell.Config{Dir: w.project})
	if err != nil {
		t.Fatal(err)
	}
	w.tools = append(w.tools, run)
	return w
}

// run runs a command.
func (w *world) run(line string) answer {
	w.t.Helper()
	return w.call(shell.Name, fmt.Sprintf(`{"command":%s,"timeout_ms":20000}`, quoted(w.t, line)))
}

// printed is a command that prints these pieces, each in a write of its own, and ends with a status.
func printed(pieces [][]byte, status int) string {
	var b strings.Builder
	for i, p := range pieces {
		if i > 0 {
			b.WriteString("sleep 0.05; ")
		}
		b.WriteString("printf '")
		for _, c := range p {
			fmt.Fprintf(&b, `\%03o`, c)
		}
		b.WriteString("'; ")
	}
	return b.String() + fmt.Sprintf("exit %d", status)
}

func silentCommand(t *testing.T, c field) {
	in := inputOf[command](t, c)
	if *in.Stdout+*in.Stderr != "" || *in.Exit != 0 {
		t.Fatalf("%+v", in)
	}
	w := withShell(t)
	if a := w.run(in.Command); a.text != "[exit 0]" || a.whole != "[exit 0]" || a.isError {
		t.Errorf("shown %q, kept %q, error %v", a.text, a.whole, a.isError)
	}
	if info, err := os.Stat(filepath.Join(w.project, "d")); err != nil || !info.IsDir() {
		t.Errorf("the folder: %v", err)
	}
	// The same command fails the second time, and says so with its status.
	if a := w.run(in.Command); !strings.HasSuffix(a.text, "\n[exit 1]") || len(a.text) < 15 {
		t.Errorf("the second time: %q", a.text)
	}
}

// failureLikeSuccess holds a failure to the same form as a success: a streaming tool that marks its result
// as an error, and a command, whose status is an answer and no error.
func failureLikeSuccess(t *testing.T, c field) {
	in := inputOf[capped](t, c)
	text := in.build(t)
	w := withShell(t)
	w.config.Calls.MaxChars = in.CapBytes
	w.tools = append(w.tools, prints("bad", inPieces(text, 4096), in.Exit), prints("god", inPieces(text, 4096), 0))
	got := w.round(asks("", "bad", "{}"), asks("", "god", "{}"))
	if !got[0].isError || got[1].isError {
		t.Errorf("errors: %v and %v", got[0].isError, got[1].isError)
	}
	print := "yes 'test output row' | head -n 5000; echo 'FAIL pkg/x'; exit "
	pairs := [][2]answer{{got[0], got[1]}, {w.run(print + fmt.Sprint(in.Exit)), w.run(print + "0")}}
	for _, pair := range pairs {
		bad, good := pair[0], pair[1]
		for _, a := range pair {
			excerpt(t, a, in.CapBytes)
			if !strings.HasPrefix(a.whole, text) {
				t.Errorf("%s: the file has not the whole output", a.row.ID)
			}
		}
		if want := fmt.Sprintf("FAIL pkg/x\n[exit %d]", in.Exit); !strings.HasSuffix(bad.text, want) {
			t.Errorf("%s: the verdict is not at the end: %q", bad.row.ID, bad.text[len(bad.text)-80:])
		}
		name := func(a answer) string { return strings.TrimSuffix(a.row.Spill.Name, ".txt") }
		same := strings.NewReplacer(fmt.Sprintf("[exit %d]", in.Exit), "[exit 0]", name(bad), name(good)).Replace(bad.text)
		if d := cmp.Diff(good.text, same); d != "" {
			t.Errorf("%s: a failure is shown otherwise than a success:\n%s", bad.row.ID, d)
		}
	}
}

func backgroundChild(t *testing.T, c field) {
	in := inputOf[command](t, c)
	w := withShell(t)
	limit := time.Duration(in.LimitMS) * time.Millisecond
	a := w.call(shell.Name, fmt.Sprintf(`{"command":%q,"timeout_ms":%d}`, in.Command, in.LimitMS))
	if a.row.Duration >= limit || a.call.Outcome != history.OutcomeDone || a.isError {
		t.Errorf("it took %s of %s and ended as %s", a.row.Duration, limit, a.call.Outcome)
	}
	if !strings.HasPrefix(a.text, "done\n") || !strings.HasSuffix(a.text, "\n[exit 0]") {
		t.Errorf("shown %q", a.text)
	}
}
