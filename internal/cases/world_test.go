package cases

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

// talk is the conversation of every world.
const talk = "c"

// world is what one case runs in: a state folder, the request bodies as the provider received them, and a
// script that grows as the case goes on. Every turn runs in a process of its own: the store is opened
// before it and closed after it.
type world struct {
	t           *testing.T
	dir, bodies string
	// project is a folder that is mounted under its name once it is there; writable lets it be written.
	project  string
	writable bool
	tools    []tool.Tool
	steps    []scripted.Step
	config   agent.Config
	store    sqlite.Config
}

// newWorld makes a world. When the case ends, what is stored is verified and the prefix law is checked on
// the bodies.
func newWorld(t *testing.T, tools ...tool.Tool) *world {
	t.Helper()
	base := t.TempDir()
	w := &world{
		t: t, dir: filepath.Join(base, "state"), bodies: filepath.Join(base, "bodies"),
		project: filepath.Join(base, "project"), tools: tools,
	}
	t.Cleanup(w.hold)
	return w
}

// hold holds what the case left behind to the laws that no case may break.
func (w *world) hold() {
	if w.t.Failed() {
		return
	}
	s, err := sqlite.Open(context.Background(), w.dir, sqlite.Config{ReadOnly: true})
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	all, err := s.Conversations(context.Background(), 0)
	if err != nil {
		w.t.Fatal(err)
	}
	compactions := 0
	for _, c := range all {
		problems, err := history.Verify(context.Background(), s, c.ID)
		if err != nil || len(problems) > 0 {
			w.t.Errorf("verify %s: %v %v", c.ID, problems, err)
		}
		epochs, err := s.Epochs(context.Background(), c.ID)
		if err != nil {
			w.t.Error(err)
		}
		for _, e := range epochs {
			if e.Reason == "compaction" {
				compactions++
			}
		}
	}
	if len(all) == 1 {
		w.prefix(compactions)
	}
}

// prefix holds that every body goes on where the one before it ended, but at a compaction, and that each
// of them is whole: well formed, every call with its result.
func (w *world) prefix(compactions int) {
	var before membrane.Request
	breaks := 0
	for i, body := range w.received() {
		wellFormed(w.t, body)
		parseBody(w.t, body).paired(w.t)
		r, err := scripted.Split(body)
		if err != nil {
			w.t.Fatalf("body %d: %v", i+1, err)
		}
		if !bytes.HasPrefix(r.Messages, before.Messages) {
			if breaks++; breaks > compactions {
				w.t.Errorf("the messages of body %d are not those of body %d and more, and there were %d compactions:\n%s",
					i+1, i, compactions, cmp.Diff(string(before.Messages), string(r.Messages)))
			}
		}
		before = r
	}
}

// open opens the store; the caller closes it.
func (w *world) open() *sqlite.Store {
	w.t.Helper()
	s, err := sqlite.Open(w.t.Context(), w.dir, w.store)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// look opens the store to read it, for the time of f.
func (w *world) look(f func(s *sqlite.Store)) {
	w.t.Helper()
	cfg := w.store
	cfg.ReadOnly = true
	s, err := sqlite.Open(w.t.Context(), w.dir, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	f(s)
}

// process runs f with a store and an agent of their own, as a process of its own would.
func (w *world) process(f func(a *agent.Agent, s *sqlite.Store)) {
	w.t.Helper()
	s := w.open()
	defer func() {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	}()
	f(w.agent(s), s)
}

// agent makes an agent on an open store.
func (w *world) agent(s history.Store) *agent.Agent {
	w.t.Helper()
	model, err := scripted.New(scripted.Script{Steps: w.steps}, scripted.Config{Bodies: w.bodies})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := w.config
	cfg.Tools = w.tools
	if _, err := os.Stat(w.project); err == nil {
		cfg.Mounts = append(cfg.Mounts, workspace.Mount{Name: filepath.Base(w.project), Dir: w.project, Write: w.writable})
	}
	a, err := agent.New(s, model, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// turn adds steps to the script and runs one turn to its end in a process of its own.
func (w *world) turn(text string, steps ...scripted.Step) agent.Outcome {
	w.t.Helper()
	w.steps = append(w.steps, steps...)
	var out agent.Outcome
	w.process(func(a *agent.Agent, _ *sqlite.Store) {
		var err error
		if out, err = a.Run(w.t.Context(), agent.Turn{Conversation: talk, Text: text}).Collect(); err != nil {
			w.t.Fatal(err)
		}
	})
	return out
}

// round runs a turn in which the model makes these calls and then ends, and gives their answers.
func (w *world) round(calls ...scripted.Call) []answer {
	w.t.Helper()
	w.turn("Go on.", scripted.Step{Calls: calls}, scripted.Step{Text: "Done."})
	var all []answer
	w.look(func(s *sqlite.Store) {
		r, err := s.FindRound(w.t.Context(), talk, "")
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range calls {
			all = append(all, w.gather(s, history.CallID{Round: r.N, Index: i + 1}))
		}
	})
	return all
}

// call is a round of one call.
func (w *world) call(name, args string) answer {
	w.t.Helper()
	return w.round(scripted.Call{Tool: name, Args: []byte(args)})[0]
}

// answer is one call with all that the product made of its result.
type answer struct {
	// text is what the provider received, after every escape was read; isError as it received it.
	text    string
	isError bool
	// whole is the whole text, from its row or from its file on the disk; file is that file, or empty.
	whole, file string
	row         history.Result
	call        history.Call
}

// answer reads back what became of one call, as another process would.
func (w *world) answer(id history.CallID) (a answer) {
	w.t.Helper()
	w.look(func(s *sqlite.Store) { a = w.gather(s, id) })
	return a
}

// gather reads what became of one call and holds it to the laws: the provider received it once, with the
// call's own id; what is stored as shown is what was sent, byte for byte; the figures of the row are those
// of the whole; what was not shown whole lies in a file.
func (w *world) gather(s *sqlite.Store, id history.CallID) (a answer) {
	w.t.Helper()
	var err error
	if a.row, err = s.ResultOf(w.t.Context(), talk, id); err != nil {
		w.t.Fatal(err)
	}
	calls, err := s.CallsOf(w.t.Context(), talk, id.Round)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range calls { // inner calls are among them
		if c.ID == id {
			a.call = c
		}
	}
	a.whole = string(a.row.Whole)
	if a.row.Spill != nil {
		a.file = filepath.Join(w.dir, "tool-results", a.row.Spill.File)
		raw, err := os.ReadFile(a.file)
		if err != nil {
			w.t.Fatal(err)
		}
		a.whole = string(raw)
	}
	found := 0
	for _, m := range parseBody(w.t, w.last()).Messages {
		for _, b := range m.Content {
			if m.Role == "results" && b.ID == a.call.ProviderID {
				found++
				a.text, a.isError = *b.Text, b.IsError
			}
		}
	}
	if found != 1 {
		w.t.Fatalf("the provider received %d results for call %s (%s)", found, id, a.call.ProviderID)
	}
	w.lawful(a)
	return a
}

func (w *world) lawful(a answer) {
	w.t.Helper()
	if d := cmp.Diff(string(a.row.Shown), a.text); d != "" {
		w.t.Errorf("stored as shown against received:\n%s", d)
	}
	if !utf8.ValidString(a.text) || !utf8.ValidString(a.whole) {
		w.t.Errorf("%s is not valid UTF-8", a.row.ID)
	}
	if a.isError != a.row.IsError {
		w.t.Errorf("%s: is_error is %v on the wire and %v in the row", a.row.ID, a.isError, a.row.IsError)
	}
	if sha256.Sum256([]byte(a.whole)) != a.row.SHA256 {
		w.t.Errorf("%s: the hash of the row is not that of the whole", a.row.ID)
	}
	figures := [3]int64{a.row.Lines, a.row.Chars, a.row.Bytes}
	if d := cmp.Diff(sizeOf(a.whole), figures); d != "" {
		w.t.Errorf("%s: lines, characters, bytes of the whole against the row:\n%s", a.row.ID, d)
	}
	// What stands behind the whole, such as a warning of a loop, leaves nothing out.
	if !strings.HasPrefix(a.text, a.whole) && a.file == "" {
		w.t.Errorf("%s: the model was not shown the whole, and no file has it", a.row.ID)
	}
}

// sizeOf counts lines as grep -n does, characters and bytes.
func sizeOf(text string) [3]int64 {
	n := int64(strings.Count(text, "\n"))
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return [3]int64{n, int64(utf8.RuneCountInString(text)), int64(len(text))}
}

// kept reads a file that was kept beside a result, by the path that the model is told.
func (w *world) kept(path string) string {
	w.t.Helper()
	name, ok := strings.CutPrefix(path, "tool-results/")
	if !ok {
		w.t.Fatalf("%q is no path of a stored result", path)
	}
	text := ""
	w.look(func(s *sqlite.Store) {
		w.t.Helper()
		refs, err := s.SpillsOf(w.t.Context(), talk)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, ref := range refs {
			if ref.Name != name {
				continue
			}
			raw, err := os.ReadFile(filepath.Join(w.dir, "tool-results", ref.File))
			if err != nil {
				w.t.Fatal(err)
			}
			text = string(raw)
			return
		}
		w.t.Fatalf("no file is kept as %s", path)
	})
	return text
}

// file writes a file into the project folder.
func (w *world) put(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.project, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// tools

// gives is a tool that returns the same result on each call.
func gives(name string, r tool.Result, traits ...tool.Traits) tool.Tool {
	return inTurn(name, []tool.Result{r}, traits...)
}

// inTurn is a tool that returns one result after the other, by its position among its own calls of the
// conversation, then the last one again.
func inTurn(name string, results []tool.Result, traits ...tool.Traits) tool.Tool {
	next := make(chan int, 1)
	next <- 0
	return handler(name, func(context.Context, tool.Call) (tool.Result, error) {
		n := <-next
		next <- n + 1
		return results[min(n, len(results)-1)], nil
	}, traits...)
}

// prints is a tool that writes output as it comes, in these pieces, and ends with an exit status, as a
// command does.
func prints(name string, pieces [][]byte, status int, traits ...tool.Traits) tool.Tool {
	return handler(name, func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		running, _ := tool.CallFrom(ctx)
		out := running.Spool()
		for _, p := range pieces {
			if _, err := out.Write(p); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Result{Data: tool.Spooled{Tail: fmt.Sprintf("[exit %d]", status)}, IsError: status != 0}, nil
	}, traits...)
}

// handler is a tool of any arguments.
func handler(name string, run tool.Handler, traits ...tool.Traits) tool.Tool {
	t := tool.Tool{Name: name, Schema: []byte(`{"type":"object"}`), Run: run}
	for _, x := range traits {
		t.Traits = x
	}
	return t
}

// asks is a call of the model.
func asks(id, name, args string) scripted.Call {
	return scripted.Call{ID: id, Tool: name, Args: []byte(args)}
}
