//go:build unix

package shell_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/shell"
	"github.com/weir-run/weir/spill"
	"github.com/weir-run/weir/tool"
)

func open(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// settle runs commands as one round.
func settle(t *testing.T, s history.Store, one tool.Tool, cfg round.Config, commands ...string) []round.Settled {
	t.Helper()
	r := round.Request{Conversation: "c"}
	for _, c := range commands {
		r.Calls = append(r.Calls, tool.Call{Name: shell.Name, Args: args(c, 0)})
	}
	cfg.Tools = []tool.Tool{one}
	got, err := round.Settle(t.Context(), s, r, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return got.Results
}

// stored gives the whole text of a result and, where there is one, its raw original.
func stored(t *testing.T, s history.Store, r round.Settled) (whole, raw string) {
	t.Helper()
	rec, err := s.ResultOf(t.Context(), "c", r.ID)
	if err != nil {
		t.Fatal(err)
	}
	whole = string(rec.Whole)
	if rec.Spill != nil {
		whole = file(t, s, *rec.Spill)
	}
	refs, err := s.SpillsOf(t.Context(), "c")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range refs {
		if strings.HasSuffix(f.Path(), ".raw") {
			raw = file(t, s, f)
		}
	}
	return whole, raw
}

func file(t *testing.T, s history.Store, ref spill.Ref) string {
	t.Helper()
	f, err := s.Spills().Open(t.Context(), ref.File)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, f.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// prints is a command that prints bytes.
func prints(text string) string {
	return "echo " + base64.StdEncoding.EncodeToString([]byte(text)) + " | base64 -d"
}

// What the model reads is cleaned, what is stored is what came.
func TestTextOfARound(t *testing.T) {
	t.Parallel()
	needs(t, "base64")
	var (
		marks  = "\x1b]8;;http://example.test\x07link\x1b]8;;\x07 \x1b[?25l\x1b(Bok\x1b[M\x1bP#0\x1b\\ end\n"
		draws  = "Retrieving: 0%" + strings.Repeat("\x1b[2K\x1b[0A\x1b[0E\nRetrieving: 5%", 43) + "\n"
		over   = strings.Repeat("-", 20) + "\rHello\x1b[K\n" + strings.Repeat("-", 20) + "\rHello\n"
		layers = "a 1\nb 1\nc 1\n\x1b[3Aa 2\n"
	)
	for name, c := range map[string]struct {
		command, want, whole, raw string
	}{
		"C004 a character in three writes": {"printf '\\342'; sleep 0.1; printf '\\211'; sleep 0.1; printf '\\244\\n'", "≤\n[exit 0]", "", ""},
		"C021 nothing":                     {"true", "[exit 0]", "", ""},
		"C046 escape sequences":            {prints(marks), "link ok end\n[exit 0]", marks + "[exit 0]", ""},
		"C048 redrawn":                     {prints(draws), "Retrieving: 0% [… 42 redraws, then erased]\nRetrieving: 5%\n[exit 0]", draws + "[exit 0]", ""},
		"C050 carriage returns":            {prints(over), "Hello\nHello" + strings.Repeat("-", 15) + "\n[exit 0]", over + "[exit 0]", ""},
		"a progress bar":                   {prints("10%\r50%\r99%"), "10% [… 1 redraw …] 99%\n[exit 0]", "10%\r50%\r99%\n[exit 0]", ""},
		"a cursor that is left above":      {prints("a\nb\x1b[1A"), "a\nb\n\n[exit 0]", "a\nb\x1b[1A\x1b[999H\n[exit 0]", ""},
		"a cursor beyond the top":          {prints("a\x1b[5A"), "a\n\n[exit 0]", "", ""},
		"a cursor that was put back":       {prints("a\nb\n\x1b7c\nd\n\x1b8"), "a\nb\nc\nd\n\n[exit 0]", "", ""},
		"a title that does not end":        {prints("\x1b]0;title"), "0;title\n[exit 0]", "\x1b]0;title\n[exit 0]", ""},
		"a string that does not end":       {prints("\x1bPstring\n"), "string\n[exit 0]", "\x1bPstring\n[exit 0]", ""},
		"colours":                          {prints("\x1b[31mred\x1b[0m\n"), "red\n[exit 0]", "\x1b[31mred\x1b[0m\n[exit 0]", ""},
		"drawn over from above":            {prints(layers), "a 2\nb 1\nc 1\n\n[exit 0]", layers + "\x1b[999H\n[exit 0]", ""},
		"NUL":                              {prints("a\x00b\n"), "a␀b\n[exit 0]", "a\x00b\n[exit 0]", ""},
		"C005 half a character at the end": {prints("ok \xe4\xbd"), "ok \uFFFD", "ok \uFFFD", "ok \xe4\xbd"},
		"no text":                          {prints("\xfe\xfd\x00\xff"), "\uFFFD\uFFFD␀\uFFFD\n[exit 0]\n[3 characters", "", "\xfe\xfd\x00\xff"},
		"not UTF-8":                        {prints("caf\xe9\nna\xefve\n"), "caf\uFFFD\nna\uFFFDve\n[exit 0]", "", "caf\xe9\nna\xefve\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			r := settle(t, s, given(t, shell.Config{}), round.Config{}, c.command)[0]
			whole, raw := stored(t, s, r)
			if !strings.HasPrefix(r.Text, c.want) || !strings.Contains("\n"+r.Text, "\n[exit 0]") || r.IsError {
				t.Errorf("the model reads %q, want %q", r.Text, c.want)
			}
			if !strings.HasSuffix(r.Text, "\n[exit 0]") && raw == "" && c.command != "true" {
				t.Errorf("the model reads %q, and the status is not its last line", r.Text)
			}
			if !strings.HasPrefix(whole, c.whole) || c.raw != "" && raw != c.raw {
				t.Errorf("stored are %q and %q, want %q and %q", whole, raw, c.whole, c.raw)
			}
			if problems, err := history.Verify(t.Context(), s, "c"); err != nil || len(problems) > 0 {
				t.Errorf("verify: %v %v", problems, err)
			}
		})
	}
}

// C019: a command that fails is shown, cut and kept like one that does not.
func TestFailureReadsLikeSuccess(t *testing.T) {
	t.Parallel()
	s := open(t)
	const lines = "yes 'test output row' | head -n 5000; echo FAIL pkg/x; exit "
	got := settle(t, s, given(t, shell.Config{}), round.Config{}, lines+"0", lines+"2")
	for i, want := range []string{"[exit 0]", "[exit 2]"} {
		r := got[i]
		whole, _ := stored(t, s, r)
		if want := strings.Repeat("test output row\n", 5000) + "FAIL pkg/x\n" + want; whole != want {
			t.Errorf("%s keeps %d bytes, want %d", r.ID, len(whole), len(want))
		}
		if !strings.HasSuffix(r.Text, "FAIL pkg/x\n"+want) || r.IsError || !strings.Contains(r.Text, r.ID.String()+"-shell--run.") || utf8.RuneCountInString(r.Text) > round.DefaultMaxChars {
			t.Errorf("%s: error %v, path %q, text ends in %q", r.ID, r.IsError, r.Path, r.Text[len(r.Text)-100:])
		}
	}
	same := strings.NewReplacer("r1-2", "r1-1", "[exit 2]", "[exit 0]")
	if d := cmp.Diff(got[0].Text, same.Replace(got[1].Text)); d != "" {
		t.Errorf("failure against success (-success +failure):\n%s", d)
	}
}

// peak runs f and says by how much the heap grew at most meanwhile.
func peak(f func()) int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	before, most := int64(m.HeapInuse), int64(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				most = max(most, int64(m.HeapInuse)-before)
			}
		}
	}()
	f()
	close(stop)
	<-done
	return most
}

// Output of any size costs the cap in memory, and all of it is kept. Not parallel: it measures the process.
func TestHugeOutput(t *testing.T) {
	size := int64(500_000_000)
	if testing.Short() {
		size = 20_000_000
	}
	s := open(t)
	var r round.Settled
	grown := peak(func() {
		r = settle(t, s, given(t, shell.Config{}), round.Config{}, fmt.Sprintf("yes 123456789012345 | head -c %d", size))[0]
	})
	if grown > 32<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	rec, err := s.ResultOf(t.Context(), "c", r.ID)
	if err != nil || rec.Spill == nil {
		t.Fatalf("%v: nothing is kept", err)
	}
	hash := sha256.New()
	block := []byte(strings.Repeat("123456789012345\n", 4096))
	for left := size; left > 0; left -= int64(len(block)) {
		hash.Write(block[:min(left, int64(len(block)))])
	}
	hash.Write([]byte("[exit 0]"))
	if got, want := hex.EncodeToString(rec.Spill.SHA256[:]), hex.EncodeToString(hash.Sum(nil)); got != want || r.Bytes != size+int64(len("[exit 0]")) {
		t.Errorf("kept are %d bytes with the hash %s, want %s", r.Bytes, got, want)
	}
	if !strings.HasSuffix(r.Text, "123456789012345\n[exit 0]") || utf8.RuneCountInString(r.Text) > round.DefaultMaxChars {
		t.Errorf("the text ends in %q", r.Text[len(r.Text)-100:])
	}
}

func TestOneLongLine(t *testing.T) {
	t.Parallel()
	s := open(t)
	const n = 10_000_000
	r := settle(t, s, given(t, shell.Config{}), round.Config{}, fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", n))[0]
	if whole, _ := stored(t, s, r); whole != strings.Repeat("x", n)+"\n[exit 0]" {
		t.Errorf("kept are %d bytes", len(whole))
	}
	if !strings.HasSuffix(r.Text, "xxx\n[exit 0]") || utf8.RuneCountInString(r.Text) > round.DefaultMaxChars {
		t.Errorf("the text ends in %q", r.Text[len(r.Text)-100:])
	}
}

func TestBinaryOutput(t *testing.T) {
	t.Parallel()
	s, dir := open(t), t.TempDir()
	blob := make([]byte, 300_000)
	for i, rnd := 0, rand.New(rand.NewPCG(1, 2)); i < len(blob); i++ {
		blob[i] = byte(rnd.Uint32())
	}
	if err := os.WriteFile(filepath.Join(dir, "blob"), blob, 0o600); err != nil {
		t.Fatal(err)
	}
	r := settle(t, s, given(t, shell.Config{Dir: dir}), round.Config{}, "cat blob; exit 5")[0]
	whole, raw := stored(t, s, r)
	if raw != string(blob) {
		t.Errorf("the raw original has %d bytes, want %d", len(raw), len(blob))
	}
	if !utf8.ValidString(whole) || !utf8.ValidString(r.Text) || !strings.Contains(whole, "\n[exit 5]\n") || !strings.Contains(r.Text, "\n[exit 5]\n") {
		t.Errorf("the text ends in %q", r.Text[max(0, len(r.Text)-300):])
	}
}

func TestEightAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	var commands, want, got []string
	for i := range 8 {
		commands = append(commands, fmt.Sprintf("for i in 1 2 3; do echo %d; sleep 0.3; done; exit %d", i, i))
		want = append(want, strings.Repeat(fmt.Sprintln(i), 3)+fmt.Sprintf("[exit %d]", i))
	}
	began := time.Now()
	for _, r := range settle(t, s, given(t, shell.Config{}), round.Config{}, commands...) {
		got = append(got, r.Text)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("results (-want +got):\n%s", d)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("took %s, which is one after the other", took)
	}
}

// The tool's own limit stands in the place of the runner's.
func TestOwnLimitReplacesTheRunners(t *testing.T) {
	t.Parallel()
	one := given(t, shell.Config{Timeout: 2 * time.Second})
	got := settle(t, open(t), one, round.Config{Timeout: 50 * time.Millisecond}, "sleep 0.3; echo done", "echo x; sleep 30")
	if got[0].Text != "done\n[exit 0]" || got[1].Text != "x\n[stopped: it ran longer than its limit of 2s]" || !got[1].IsError {
		t.Errorf("got %q and %q", got[0].Text, got[1].Text)
	}
}

func TestCancelledRound(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cfg := round.Config{Tools: []tool.Tool{given(t, shell.Config{})}, Notify: func(n round.Notice) {
		if n.Progress != nil && n.Progress.Text == "begun" {
			cancel()
		}
	}}
	call := tool.Call{Name: shell.Name, Args: args("trap 'echo last words; exit' TERM; echo begun; sleep 36.01 & wait", 0)}
	began := time.Now()
	got, err := round.Settle(ctx, s, round.Request{Conversation: "c", Calls: []tool.Call{call}}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := got.Results[0]
	if !strings.HasPrefix(r.Text, "begun\nlast words\n") || !strings.Contains(r.Text, "was cancelled") || r.Outcome != history.OutcomeCancelled || time.Since(began) > 10*time.Second {
		t.Errorf("after %s: %s %q", time.Since(began), r.Outcome, r.Text)
	}
	if left := alive(t, "36.01"); len(left) > 0 {
		t.Errorf("%v are still running", left)
	}
}
