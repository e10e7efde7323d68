package cases

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// tornCases are files that end in the middle or were damaged: topic transcript-torn. The reports have a log
// of lines; here it is the write-ahead log of the database, the database and the files of results.
func tornCases() map[string]runner {
	return map[string]runner{"C097": tornTail, "C099": nextRecord}
}

// logBytes is the input of kind log_bytes.
type logBytes struct {
	Kind string `json:"kind"`
	B64  string `json:"b64"`
}

// torn makes a state folder whose log ends in the middle of the second turn, at each of so many places,
// and gives f a world on each. The first turn was stored before in full; its rows are given as first.
func torn(t *testing.T, places int, f func(t *testing.T, w *world, first string)) {
	t.Helper()
	w := newWorld(t, gives("sh", tool.Text("result of the tool")))
	w.call("sh", "{}")
	first := w.dump(repair)
	w.steps = append(w.steps, scripted.Step{Calls: []scripted.Call{asks("", "sh", "{}")}}, scripted.Step{Text: "Done."})
	var copies []*world
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: talk, Text: "Again."}).Collect(); err != nil {
			t.Fatal(err)
		}
		log, err := os.Stat(filepath.Join(w.dir, "weir.db-wal"))
		if err != nil || log.Size() < 10_000 {
			t.Fatalf("the log has nothing of the turn: %v %v", log, err)
		}
		for n := range places {
			one := newWorld(t, w.tools...)
			one.steps = append([]scripted.Step{}, w.steps...)
			clone(t, w.dir, one.dir)
			size := log.Size() * int64(n) / int64(places)
			if err := os.Truncate(filepath.Join(one.dir, "weir.db-wal"), size+int64(n%7)); err != nil {
				t.Fatal(err)
			}
			copies = append(copies, one)
		}
	})
	for _, one := range copies {
		f(t, one, first)
	}
}

// clone copies a folder.
func clone(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if e.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		raw, err := os.ReadFile(path)
		if err != nil || strings.HasSuffix(path, "-shm") {
			return err
		}
		return os.WriteFile(target, raw, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func tornTail(t *testing.T, c field) {
	if raw := unbase64(t, inputOf[logBytes](t, c).B64); bytes.HasSuffix(raw, []byte("\n")) {
		t.Fatalf("the log is not torn: %q", raw)
	}
	// A commit is in the log as a whole or not at all, so what is dropped is what nobody was told to be
	// stored. What stands for the line that the report asks for: the turn that is not over is taken up, or
	// told to be gone.
	torn(t, 6, func(t *testing.T, w *world, first string) {
		w.look(func(s *sqlite.Store) {
			problems, err := history.Verify(t.Context(), s, talk)
			if err != nil || len(problems) > 0 {
				t.Errorf("%v %v", problems, err)
			}
		})
		if got := w.dump(repair); !holds(got, first) {
			t.Errorf("of the first turn are lost:\n%s", cmp.Diff(first, got))
		}
	})
	damaged(t)
	damagedFile(t)
}

// holds reports whether every line of part is in all.
func holds(all, part string) bool {
	lines := map[string]bool{}
	for line := range strings.Lines(all) {
		lines[line] = true
	}
	for line := range strings.Lines(part) {
		if !lines[line] {
			return false
		}
	}
	return true
}

func nextRecord(t *testing.T, c field) {
	if raw := unbase64(t, inputOf[logBytes](t, c).B64); bytes.Count(raw, []byte("\n")) != 1 || bytes.Count(raw, []byte(`"n"`)) != 2 {
		t.Fatalf("the log has no record within another: %q", raw)
	}
	// After a torn write the next turn is appended, whole, and nothing before it is touched.
	torn(t, 4, func(t *testing.T, w *world, first string) {
		w.steps = []scripted.Step{{Play: func(seen scripted.Seen) (scripted.Step, error) { return scripted.Step{Text: "Heard."}, nil }}, {Text: "x"}}
		for range 4 {
			w.steps = append(w.steps, w.steps[0])
		}
		out := w.turn("The next record.")
		if out.Text != "Heard." {
			t.Errorf("the next turn ended as %q", out.Text)
		}
		outline := parseBody(t, w.last()).outline()
		if last := outline[len(outline)-1]; last != `user "The next record."` {
			t.Errorf("the provider is asked %q", last)
		}
		if got := w.dump(repair); !holds(got, first) || !strings.Contains(got, "The next record.") {
			t.Errorf("after the next turn are lost:\n%s", cmp.Diff(first, got))
		}
	})
}

// damaged holds that damage in the middle of the database is never read as if it were what was stored:
// either opening or verifying says so, or the damaged part is not in use and all is as it was. And nothing
// that is damaged is sent to a provider.
func damaged(t *testing.T) {
	t.Helper()
	w := newWorld(t, gives("sh", tool.Text("a result that is unmistakable")))
	for range 3 {
		w.call("sh", `{"word":"unlikely"}`)
	}
	sound := ""
	w.look(func(s *sqlite.Store) {
		loud := false
		if sound, loud = w.tryRead(s); loud {
			t.Fatal(sound)
		}
	})
	raw, err := os.ReadFile(filepath.Join(w.dir, "weir.db"))
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for at := page; at < len(raw); at += page {
		spoiled := bytes.Clone(raw)
		for i := at; i < at+page; i++ {
			spoiled[i] ^= 0x55
		}
		w.spoiled(spoiled, sound, fmt.Sprintf("page %d", at/page+1))
	}
	// One character of what was said, asked for and answered, wherever it stands.
	for _, text := range []string{"a result that is unmistakable", "Go on.", "unlikely"} {
		for at := 0; ; at++ {
			next := bytes.Index(raw[at:], []byte(text))
			if next < 0 {
				break
			}
			at += next
			spoiled := bytes.Clone(raw)
			spoiled[at] ^= 0x01
			w.spoiled(spoiled, sound, fmt.Sprintf("byte %d, in %q,", at, raw[max(at-50, 0):at+len(text)]))
		}
	}
}

// spoiled reads a copy of the world with another database, and runs a turn in it.
func (w *world) spoiled(raw []byte, sound, what string) {
	w.t.Helper()
	one := *w
	base := w.t.TempDir()
	one.dir, one.bodies = filepath.Join(base, "state"), filepath.Join(base, "bodies")
	clone(w.t, w.dir, one.dir)
	if err := os.WriteFile(filepath.Join(one.dir, "weir.db"), raw, 0o600); err != nil {
		w.t.Fatal(err)
	}
	s, err := sqlite.Open(w.t.Context(), one.dir, sqlite.Config{})
	if err != nil {
		return
	}
	defer func() { _ = s.Close() }()
	if got, loud := one.tryRead(s); !loud && got != sound {
		w.t.Errorf("%s is damaged; Verify finds nothing, and what is read is not what was stored", what)
	}
	one.steps = append(append([]scripted.Step{}, w.steps...), scripted.Step{Text: "Done."})
	// What it says is told above; here it only counts what it sends.
	_, _ = one.agent(s).Run(w.t.Context(), agent.Turn{Conversation: talk, Text: "And now?"}).Collect()
	for _, body := range one.received() {
		if before := split(w.t, w.last()); !bytes.HasPrefix(split(w.t, body).Messages, before.Messages) {
			w.t.Errorf("%s is damaged, and that was sent: %.2000s", what, body)
		}
	}
}

// tryRead verifies and reads all that the store serves of the conversation. Loud is true when something
// said that it is damaged.
func (w *world) tryRead(s *sqlite.Store) (text string, loud bool) {
	problems, err := history.Verify(w.t.Context(), s, talk)
	if err != nil || len(problems) > 0 {
		return fmt.Sprint(problems, err), true
	}
	ctx := w.t.Context()
	messages, err1 := s.Messages(ctx, talk, 0)
	calls, err2 := s.CallsOf(ctx, talk, 0)
	results, err3 := s.ResultsOf(ctx, talk, 0)
	turns, err4 := s.TurnsOf(ctx, talk)
	var b strings.Builder
	err5 := s.Fragments(ctx, talk, 1, 0, func(f history.Fragment) error {
		fmt.Fprintf(&b, "%d %q\n", f.Pos, f.Bytes)
		return nil
	})
	for _, m := range messages {
		fmt.Fprintf(&b, "%d %s %q\n", m.Seq, m.Role, m.Body)
	}
	for _, c := range calls {
		fmt.Fprintf(&b, "%s %s %s %q %s\n", c.ID, c.ProviderID, c.Tool, c.Args, c.Outcome)
	}
	for _, r := range results {
		full, err := s.ResultOf(ctx, talk, r.ID)
		if err != nil {
			return err.Error(), true
		}
		fmt.Fprintf(&b, "%s %q %q\n", r.ID, full.Whole, full.Shown)
	}
	for _, x := range turns {
		fmt.Fprintf(&b, "%d %s %s\n", x.N, x.State, x.Reason)
	}
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err.Error(), true
	}
	return b.String(), false
}

// damagedFile holds that a result's file that was cut or changed is told, not served as if it were whole.
func damagedFile(t *testing.T) {
	t.Helper()
	w := newWorld(t, gives("sh", tool.Text(strings.Repeat("row of the result\n", 2000)), limit(1000)))
	a := w.call("sh", "{}")
	verify := func(what string) {
		t.Helper()
		w.look(func(s *sqlite.Store) {
			problems, err := history.Verify(t.Context(), s, talk)
			if err != nil || len(problems) == 0 || problems[0].Kind != history.ProblemSpill {
				t.Errorf("a file that is %s: %v, %v", what, problems, err)
			}
		})
	}
	if err := os.Truncate(a.file, a.row.Bytes-7); err != nil {
		t.Fatal(err)
	}
	verify("cut")
	page := w.call("workspace--read", `{"path":"tool-results/r1-1-sh.txt"}`)
	if want := fmt.Sprintf("its file has %d bytes, but %d were stored", a.row.Bytes-7, a.row.Bytes); !page.isError || !strings.Contains(page.text, want) {
		t.Errorf("a page of the cut file: %.200q, want %q", page.text, want)
	}
	changed := []byte(a.whole)
	changed[len(changed)/2] ^= 0x01
	if err := os.WriteFile(a.file, changed, 0o600); err != nil {
		t.Fatal(err)
	}
	verify("changed")
	if err := os.WriteFile(a.file, []byte(a.whole), 0o600); err != nil {
		t.Fatal(err)
	}
}
