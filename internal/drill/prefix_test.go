package drill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
)

// TestLaw03AcrossKillsAndBuilds drives a conversation of 60 rounds through 20 kills (in the later dialects
// only with -full, else 5), then goes on with a build of the program that encodes and converts otherwise,
// through some more. Within an epoch every body goes on where the one before ended, and what was stored
// stays.
func TestLaw03AcrossKillsAndBuilds(t *testing.T) {
	t.Parallel()
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	// All dialects use one binary.
	changed := sync.OnceValues(func() (string, error) { return buildChanged(t) })
	for i, dialect := range []string{"scripted", "anthropic", "openai-chat", "openai-responses", "gemini"} {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			l := newLong(t, dialect)
			l.rng = rand.New(rand.NewPCG(from, uint64(i)))
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", from)
				}
			}()
			kills := 20
			if i > 1 && !*full { // the dialects differ in their bytes, not in how they are stored
				kills = 5
			}
			if l.drive(os.Args[0], spread(kills, 1, 50)); l.killed != kills {
				t.Fatalf("%d kills, want %d", l.killed, kills)
			}
			l.check()
			if t.Failed() {
				return
			}
			t.Run("changed build", func(t *testing.T) {
				l.t = t
				binary, err := changed()
				if errors.Is(err, exec.ErrNotFound) {
					t.Skipf("the other build cannot be made: %v", err)
				}
				if err != nil {
					t.Fatal(err)
				}
				l.goOn(binary)
			})
		})
	}
}

// buildChanged builds this test with the encoding and the conversion changed.
func buildChanged(t *testing.T) (string, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return "", err
	}
	binary := filepath.Join(t.TempDir(), "changed.test")
	args := []string{"test", "-c", "-tags", "weirchanged", "-o", binary}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-race" && s.Value == "true" {
				args = append(args, "-race") // then its packages are built already
			}
		}
	}
	if out, err := exec.CommandContext(t.Context(), tool, append(args, ".")...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}

// spread gives the rounds, evenly from the first to the last, after which so many kills come.
func spread(kills, first, last int) []int {
	var rounds []int
	for k := range kills {
		rounds = append(rounds, first+k*(last-first)/kills)
	}
	return rounds
}

// longRun is a long conversation, seen from outside.
type longRun struct {
	t     *testing.T
	order order
	rng   *rand.Rand
	// bodies are those of the requests so far; records are the requests, where a provider was asked.
	bodies  func() [][]byte
	records *membranetest.Server
	killed  int
}

func newLong(t *testing.T, dialect string) *longRun {
	l := &longRun{t: t, order: order{Role: "long", Dir: t.TempDir(), Conversation: dialect}}
	if dialect == "scripted" {
		l.bodies = func() [][]byte { return membranetest.Bodies(l.t, filepath.Join(l.order.Dir, "bodies-"+dialect)) }
		return l
	}
	var p *provider
	p, l.order.URL = serve(t, dialect)
	l.records, l.bodies = p.records, p.records.Bodies
	return l
}

// splitAs takes a body apart as one of the epochs has it. A head may end in an element of the messages, so
// the longest one that fits is the epoch's.
func splitAs(epochs []history.Epoch) membranetest.Split {
	return func(body []byte) (membrane.Request, error) {
		var r membrane.Request
		for _, e := range epochs {
			if len(e.Head) > len(r.Head) && bytes.HasPrefix(body, e.Head) && bytes.HasSuffix(body, e.Tail) {
				r = membrane.Request{Head: e.Head, Messages: body[len(e.Head) : len(body)-len(e.Tail)], Tail: e.Tail}
			}
		}
		if r.Head == nil {
			return r, fmt.Errorf("its head is none of the %d that are stored: %.300s", len(epochs), body)
		}
		return r, nil
	}
}

// drive runs processes that are killed, one after each of these rounds, at any moment soon after it was
// closed.
func (l *longRun) drive(binary string, after []int) {
	l.t.Helper()
	for _, round := range after {
		p := start(l.t, binary, l.order)
		lines, reached := l.rng.IntN(8), false
		for p.out.Scan() {
			var n int
			if _, err := fmt.Sscanf(p.out.Text(), "closed %d", &n); err == nil && n >= round {
				reached = true
			}
			if lines--; reached && lines <= 0 {
				reached = false
				moment := time.Duration(l.rng.Int64N(int64(15 * time.Millisecond)))
				time.AfterFunc(moment, func() { _ = p.cmd.Process.Kill() })
			}
		}
		if err := p.end(); !errors.Is(err, errKilled) {
			l.t.Fatalf("the process of round %d ended before it was killed: %v", round, err)
		}
		l.killed++
	}
}

// goOn drives the conversation to its end with another build.
func (l *longRun) goOn(binary string) {
	l.t.Helper()
	requests, before := len(l.bodies()), l.stored()
	l.drive(binary, spread(4, 50, 57))
	if err := start(l.t, binary, l.order).end(); err != nil {
		l.t.Fatal(err)
	}
	l.check()
	after := l.stored()
	for key, text := range before {
		if diff := cmp.Diff(text, after[key]); diff != "" {
			l.t.Errorf("%s was changed (-before +after):\n%s", key, diff)
		}
	}
	// The two builds do write otherwise; else nothing was shown.
	all := l.bodies()
	if bytes.Contains(all[requests-1], []byte(`"role"`+changedColon)) || !bytes.Contains(all[len(all)-1], []byte(`"role"`+changedColon)) {
		l.t.Error("the changed build does not encode otherwise")
	}
	quoted := 0
	for key, text := range after {
		if strings.HasSuffix(key, " whole") && before[key] == "" && (strings.HasPrefix(text, `"seen `) || strings.HasPrefix(text, `"noted `)) {
			quoted++
		}
	}
	if quoted == 0 {
		l.t.Error("the changed build does not convert otherwise")
	}
}

// stored are the bytes of the conversation: fragments, and what results came to.
func (l *longRun) stored() map[string]string {
	l.t.Helper()
	store := openStore(l.t, l.order.Dir, sqlite.Config{ReadOnly: true})
	all := map[string]string{}
	for _, e := range l.epochs(store) {
		all[fmt.Sprint("head ", e.N)] = string(e.Head) + "…" + string(e.Tail)
		err := store.Fragments(l.t.Context(), l.order.Conversation, e.N, 0, func(f history.Fragment) error {
			all[fmt.Sprintf("fragment %d.%d", e.N, f.Pos)] = string(f.Bytes)
			return nil
		})
		if err != nil {
			l.t.Fatal(err)
		}
	}
	list, err := store.ResultsOf(l.t.Context(), l.order.Conversation, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range list {
		if r, err = store.ResultOf(l.t.Context(), l.order.Conversation, r.ID); err != nil {
			l.t.Fatal(err)
		}
		all[r.ID.String()+" whole"] = string(r.Whole)
		if r.Shown != nil {
			all[r.ID.String()+" shown"] = string(r.Shown)
		}
	}
	return all
}

func (l *longRun) epochs(store history.Store) []history.Epoch {
	l.t.Helper()
	epochs, err := store.Epochs(l.t.Context(), l.order.Conversation)
	if err != nil {
		l.t.Fatal(err)
	}
	return epochs
}

// check holds the conversation to law 3.
func (l *longRun) check() {
	l.t.Helper()
	store := openStore(l.t, l.order.Dir, sqlite.Config{ReadOnly: true})
	clean(l.t, store, l.order.Conversation)
	epochs := l.epochs(store)
	var reasons []string
	for _, e := range epochs {
		reasons = append(reasons, e.Reason)
	}
	want := []string{"start", "tools"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		l.t.Errorf("reasons of the epochs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, l.reported(store)); diff != "" {
		l.t.Errorf("reported reasons (-want +got):\n%s", diff)
	}
	requests, err := store.Requests(l.t.Context(), l.order.Conversation)
	if err != nil {
		l.t.Fatal(err)
	}
	sizes := map[int64]bool{}
	for _, r := range requests {
		sizes[r.TotalBytes] = true
	}
	sent := map[int][][]byte{}
	var before membrane.Request
	last, split := 0, splitAs(epochs)
	for i, body := range l.bodies() {
		r, err := split(body)
		if err != nil {
			l.t.Fatal(err)
		}
		n := epochOf(epochs, r)
		if n == 0 || n < last {
			l.t.Errorf("body %d has the head of epoch %d, and the one before that of %d", i+1, n, last)
		}
		if !bytes.HasPrefix(r.Messages, before.Messages) {
			l.t.Errorf("body %d does not begin with the messages of the one before, which both epochs share", i+1)
		}
		if !sizes[r.Len()] {
			l.t.Errorf("body %d has %d bytes, like none of the stored requests", i+1, r.Len())
		}
		sent[n] = append(sent[n], body)
		last, before = n, r
	}
	for _, e := range epochs {
		membranetest.Prefix(l.t, split, sent[e.N]...)
	}
}

// epochOf is the epoch whose head and tail a body has; 0 for none.
func epochOf(epochs []history.Epoch, r membrane.Request) int {
	for _, e := range epochs {
		if bytes.Equal(e.Head, r.Head) && bytes.Equal(e.Tail, r.Tail) {
			return e.N
		}
	}
	return 0
}

// reported are the reasons that events gave for new epochs.
func (l *longRun) reported(store history.Store) []string {
	l.t.Helper()
	events, err := store.Events(l.t.Context(), l.order.Conversation, 0)
	if err != nil {
		l.t.Fatal(err)
	}
	var reasons []string
	for _, e := range events {
		var opened struct{ Reason string }
		if e.Kind != "epoch_opened" {
			continue
		}
		if err := json.Unmarshal(e.Data, &opened); err != nil {
			l.t.Fatal(err)
		}
		reasons = append(reasons, opened.Reason)
	}
	return reasons
}
