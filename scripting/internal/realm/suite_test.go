package realm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weir-run/weir/tool"
)

var update = flag.Bool("update", false, "write what the realm answers into testdata/suite, to be read before it is committed")

// snippet is one script of the suite: testdata/suite/CLASS.txtar holds NAME.js and NAME.out.
type snippet struct{ class, name, code, want string }

func suite(t testing.TB) []snippet {
	t.Helper()
	files, err := filepath.Glob("testdata/suite/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no suite: %v", err)
	}
	var all []snippet
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		class := strings.TrimSuffix(filepath.Base(file), ".txtar")
		wants := map[string]string{}
		for _, f := range a.Files {
			wants[f.Name] = string(f.Data)
		}
		for _, f := range a.Files {
			name, is := strings.CutSuffix(f.Name, ".js")
			if !is {
				continue
			}
			want, have := wants[name+".out"]
			if !have && !*update {
				t.Fatalf("%s: %s has no output", file, name)
			}
			all = append(all, snippet{class, name, string(f.Data), want})
		}
	}
	return all
}

// answered runs a snippet and gives all that the model would see of it.
func answered(t testing.TB, code string) string {
	t.Helper()
	h := newFake()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	out := Run(ctx, Script{Code: code, Args: json.RawMessage(fakeArgs), Tools: h.names(), Seed: 7}, h)
	text := h.printed() + out.Value
	if out.Failure != "" {
		text += "! " + out.Failure
	}
	return text
}

// TestSuite runs every snippet in the realm, and in node where there is one, and prints the passes of
// each class side by side.
func TestSuite(t *testing.T) {
	t.Parallel()
	all := suite(t)
	theirs := inNode(t, all)
	type score struct{ all, ours, node int }
	scores := map[string]*score{}
	got := map[string]string{}
	for _, s := range all {
		if scores[s.class] == nil {
			scores[s.class] = &score{}
		}
		sc := scores[s.class]
		sc.all++
		began := time.Now()
		text := answered(t, s.code)
		if d := time.Since(began); d > 500*time.Millisecond {
			t.Logf("%s/%s took %v", s.class, s.name, d)
		}
		got[s.class+"/"+s.name] = text
		want := strings.TrimSuffix(s.want, "\n")
		if strings.TrimSuffix(text, "\n") == want {
			sc.ours++
		} else if !*update {
			t.Errorf("%s/%s (-want +got):\n%s", s.class, s.name, cmp.Diff(want, strings.TrimSuffix(text, "\n")))
		}
		if strings.TrimSuffix(theirs[s.class+"/"+s.name], "\n") == want {
			sc.node++
		} else if testing.Verbose() && theirs != nil {
			t.Logf("node differs in %s/%s (-want +node):\n%s", s.class, s.name, cmp.Diff(want, theirs[s.class+"/"+s.name]))
		}
	}
	if *update {
		write(t, all, got)
	}
	names := make([]string, 0, len(scores))
	for name := range scores {
		names = append(names, name)
	}
	sort.Strings(names)
	var total score
	var b strings.Builder
	for _, name := range names {
		s := scores[name]
		fmt.Fprintf(&b, "%-12s %3d of %3d   node %3d\n", name, s.ours, s.all, s.node)
		total.all, total.ours, total.node = total.all+s.all, total.ours+s.ours, total.node+s.node
	}
	fmt.Fprintf(&b, "%-12s %3d of %3d   node %3d\n", "all", total.ours, total.all, total.node)
	t.Logf("snippets that answer as they must:\n%s", b.String())
	if total.all < 110 {
		t.Errorf("the suite has %d snippets, fewer than 110", total.all)
	}
	if total.ours < total.node {
		t.Errorf("the realm passes %d snippets, node %d", total.ours, total.node)
	}
}

func write(t *testing.T, all []snippet, got map[string]string) {
	t.Helper()
	archives := map[string]*txtar.Archive{}
	for _, s := range all {
		file := "testdata/suite/" + s.class + ".txtar"
		if archives[file] == nil {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archives[file] = &txtar.Archive{Comment: a.Comment}
		}
		out := strings.TrimSuffix(got[s.class+"/"+s.name], "\n") + "\n"
		archives[file].Files = append(archives[file].Files,
			txtar.File{Name: s.name + ".js", Data: []byte(s.code)}, txtar.File{Name: s.name + ".out", Data: []byte(out)})
	}
	for file, a := range archives {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// inNode gives what node answers, by class and name; nil without a node.
func inNode(t *testing.T, all []snippet) map[string]string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Log("no node on this machine: nothing to compare with")
		return nil
	}
	snippets := map[string]string{}
	for _, s := range all {
		// What a script must not do is no matter of comparison: some of it takes node down.
		if s.class != "failure" {
			snippets[s.class+"/"+s.name] = s.code
		}
	}
	input, err := json.Marshal(map[string]any{"snippets": snippets, "answers": fakeAnswers(), "stored": fakeStored(), "args": json.RawMessage(fakeArgs)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "testdata/node.cjs")
	cmd.Env = append(os.Environ(), "TZ=UTC")
	cmd.Stdin = bytes.NewReader(input)
	raw, err := cmd.Output()
	if err != nil {
		t.Logf("node did not run: %v", err)
		return nil
	}
	var out map[string]string
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const fakeArgs = `{"limit":2,"id":9007199254740993}`

// fakeAnswer is what a tool or a stored result holds; node.cjs reads the same form.
type fakeAnswer struct {
	Tool       string  `json:"tool,omitempty"`
	Text       *string `json:"text,omitempty"`
	Structured string  `json:"structured,omitempty"`
	IsError    bool    `json:"isError,omitempty"`
}

func fakeAnswers() map[string]fakeAnswer {
	text := func(s string) *string { return &s }
	return map[string]fakeAnswer{
		"s--echo": {}, "s--big": {Text: text(`{"id":612345678901234567,"n":1}`)},
		"s--rows":   {Text: text("a,1\nb,2\nc,3\n"), Structured: `{"rows":[{"k":"a","n":1},{"k":"b","n":2}],"id":612345678901234567,"pi":3.14159265358979323846,"huge":1e400}`},
		"s--fail":   {Text: text("no such table: users"), IsError: true},
		"get":       {Structured: `{"id":612345678901234567}`, Text: text(`{"id":612345678901234567}`)},
		"s.list_it": {Text: text(`[1,2,3]`)}, "s--plain": {Text: text("{not json")},
		"x--y": {Text: text("double dash")}, "x__y": {Text: text("exact")}, "p.q": {Text: text("dot")}, "p-q": {Text: text("dash")},
	}
}

func fakeStored() map[string]fakeAnswer {
	log := "2024-01-01 INFO start\n2024-01-01 ERROR disk full\n2024-01-02 WARN slow\n2024-01-02 ERROR timeout\n"
	data := `[{"id":1,"tags":["a","b"]},{"id":2,"tags":[]}]`
	return map[string]fakeAnswer{"r1-1": {Tool: "s--log", Text: &log}, "r2-1": {Tool: "s--json", Text: &data}}
}

// fake is a host with a few tools and results.
type fake struct {
	mu    sync.Mutex
	out   strings.Builder
	calls []string
	// large is a result over the limit.
	large map[string][]string
	delay time.Duration
	fatal error
	// together holds calls back until as many are there as it has room for.
	together chan struct{}
	// printing is closed by the first output.
	printing chan struct{}
	once     sync.Once
}

// expired is a context whose time is up when its channel is closed, whatever the clock says.
type expired struct {
	context.Context
	done chan struct{}
}

func (e expired) Done() <-chan struct{} { return e.done }

func (e expired) Err() error {
	select {
	case <-e.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// over is a context that ends some time after the first output.
func (f *fake) over(after time.Duration) context.Context {
	e := expired{context.Background(), make(chan struct{})}
	f.printing = make(chan struct{})
	go func() {
		<-f.printing
		time.Sleep(after)
		close(e.done)
	}()
	return e
}

func newFake() *fake {
	large := make([]string, 5000)
	for i := range large {
		large[i] = fmt.Sprintf("row %d", i+1)
	}
	return &fake{large: map[string][]string{"r9-1": large}}
}

func (f *fake) names() []string {
	var names []string
	for name := range fakeAnswers() {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func (f *fake) printed() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.String()
}

func (f *fake) Print(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.out.WriteString(text)
	if f.printing != nil {
		f.once.Do(func() { close(f.printing) })
	}
}

func (f *fake) Call(ctx context.Context, name string, args json.RawMessage) (Answer, error) {
	f.mu.Lock()
	f.calls = append(f.calls, name+" "+string(args))
	f.mu.Unlock()
	if f.together != nil {
		f.together <- struct{}{}
		for len(f.together) < cap(f.together) {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return Answer{}, ctx.Err()
			}
		}
	}
	if f.delay > 0 {
		select {
		case <-time.After(f.delay):
		case <-ctx.Done():
			return Answer{}, ctx.Err()
		}
	}
	if f.fatal != nil {
		return Answer{}, f.fatal
	}
	a, known := fakeAnswers()[name]
	if !known {
		return Answer{Text: "unknown tool " + name, Stored: tool.Stored{IsError: true}}, nil
	}
	return a.answer("", string(args)), nil
}

func (a fakeAnswer) answer(id, text string) Answer {
	if a.Text != nil {
		text = *a.Text
	}
	out := Answer{Stored: tool.Stored{ID: id, Tool: a.Tool, IsError: a.IsError, Chars: int64(len(text))}, Text: text}
	if a.Structured != "" {
		out.Structured = json.RawMessage(a.Structured)
	}
	return out
}

func (f *fake) List(context.Context) ([]tool.Stored, error) {
	return []tool.Stored{
		{ID: "r1-1", Tool: "s--log", Args: json.RawMessage(`{"q":1}`), Round: 1, Chars: 86, Lines: 4, Path: "tool-results/r1-1-s--log.txt"},
		{ID: "r2-1", Tool: "s--json", Round: 2, Chars: 46, Lines: 1, Path: "tool-results/r2-1-s--json.txt"},
	}, nil
}

func (f *fake) Get(_ context.Context, id string) (Answer, error) {
	if lines, ok := f.large[id]; ok {
		return Answer{Stored: tool.Stored{ID: id, Tool: "s--dump", Chars: 30_000_000, Lines: int64(len(lines))}, Large: true}, nil
	}
	a, ok := fakeStored()[id]
	if !ok {
		return Answer{}, fmt.Errorf("no result %s; the nearest are r1-1, r2-1", id)
	}
	return a.answer(id, ""), nil
}

func (f *fake) Read(_ context.Context, id string, from, to int64) (string, error) {
	lines, ok := f.large[id]
	if !ok {
		return "", errors.New("no such result")
	}
	// At most 700 lines at a time: a page may be shorter than what was asked for.
	to = min(to, int64(len(lines)), from+699)
	if from > to {
		return "", nil
	}
	return strings.Join(lines[from-1:to], "\n"), nil
}

func (f *fake) Grep(_ context.Context, id, pattern, flags string) ([]Line, error) {
	var out []Line
	for i, l := range f.large[id] {
		if strings.Contains(l, pattern) {
			out = append(out, Line{N: int64(i + 1), Text: l + flags})
		}
	}
	return out, nil
}
