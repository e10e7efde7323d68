package drill

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
)

var (
	kills = flag.Int("kills", 5, "how many times the running conversation is killed")
	seed  = flag.Uint64("seed", 0, "the seed of the moments; 0 takes a new one, which is printed")
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("WEIR_DRILL_DIR"); dir != "" {
		if err := child(dir, os.Getenv("WEIR_DRILL_CONVERSATION")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// drill is what was seen from outside of the processes that were killed.
type drill struct {
	t   *testing.T
	dir string
	rng *rand.Rand
	// completed are the settled calls whose event came through the pipe: conversation/result → outcome.
	completed map[string]string
	// promised is how the last child said the turn ended; empty while it did not.
	promised string
	killed   int
	epochs   int
	resumed  int
}

func TestDrill(t *testing.T) {
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	d := &drill{t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(from, 1)), completed: map[string]string{}}
	for n := 1; d.killed < *kills; n++ {
		d.conversation(fmt.Sprintf("c%d", n))
		if t.Failed() {
			t.Fatalf("seed %d", from)
		}
	}
	if d.epochs == 0 {
		t.Errorf("seed %d: no conversation was compacted", from)
	}
	lost, repeated := d.lost(), d.repeated()
	if len(lost)+len(repeated) > 0 || d.resumed != d.killed {
		t.Errorf("seed %d: lost %v, repeated %v", from, lost, repeated)
	}
	fmt.Printf("%d kills, %d resumed, %d lost, %d repeated\n", d.killed, d.resumed, len(lost), len(repeated))
}

// conversation drives one conversation to its end through as many kills as it takes.
func (d *drill) conversation(id string) {
	again := false
	for {
		killed := d.child(id, again)
		d.check(id)
		if d.t.Failed() {
			return
		}
		if !killed {
			break
		}
		again = true
	}
	if d.promised != "done" {
		d.t.Errorf("%s ended as %q", id, d.promised)
	}
	d.prefix(id)
}

// prefix holds the request bodies to law 3: each is a prefix of the next one, but where an epoch begins.
func (d *drill) prefix(id string) {
	store := d.open()
	defer func() { _ = store.Close() }()
	epochs, err := store.Epochs(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	breaks := 0
	var before membrane.Request
	for i, body := range membranetest.Bodies(d.t, filepath.Join(d.dir, "bodies-"+id)) {
		now, err := scripted.Split(body)
		if err != nil {
			d.t.Fatal(err)
		}
		if i > 0 && !membrane.Prefixed(before, now) {
			breaks++
		}
		before = now
	}
	d.epochs += len(epochs) - 1
	if breaks > len(epochs)-1 {
		d.t.Errorf("%s: the prefix breaks %d times, there are %d epochs", id, breaks, len(epochs))
	}
}

// child runs the conversation in a process of its own and kills it at a random moment; false when it
// ended before.
func (d *drill) child(id string, again bool) bool {
	cmd := exec.CommandContext(d.t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "WEIR_DRILL_DIR="+d.dir, "WEIR_DRILL_CONVERSATION="+id)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	doomed := d.killed < *kills
	first := true
	scan := bufio.NewScanner(out)
	for scan.Scan() {
		d.hear(id, scan.Text())
		if !first {
			continue
		}
		first = false
		if again {
			d.resumed++
			again = false
		}
		if doomed {
			moment := time.Duration(d.rng.Int64N(int64(150 * time.Millisecond)))
			time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
		}
	}
	if err := scan.Err(); err != nil && !errors.Is(err, io.ErrClosedPipe) {
		d.t.Fatal(err)
	}
	err = cmd.Wait()
	if err == nil {
		return false
	}
	if cmd.ProcessState.ExitCode() != -1 {
		d.t.Fatalf("%s: the child failed: %v\n%s", id, err, stderr.String())
	}
	d.killed++
	return true
}

// hear notes what came through the pipe.
func (d *drill) hear(id, line string) {
	fields := strings.Fields(line)
	switch fields[0] {
	case "settled":
		d.completed[id+"/"+fields[1]] = fields[3]
	case "ended":
		d.promised = fields[1]
	}
}

func (d *drill) open() *sqlite.Store {
	store, err := sqlite.Open(d.t.Context(), filepath.Join(d.dir, "state"), sqlite.Config{ReadOnly: true})
	if err != nil {
		d.t.Fatal(err)
	}
	return store
}

// check holds the store to its own promises after a kill.
func (d *drill) check(id string) {
	store := d.open()
	defer func() { _ = store.Close() }()
	problems, err := history.Verify(d.t.Context(), store, id)
	if err != nil {
		d.t.Errorf("verify %s after %d kills: %v", id, d.killed, err)
	}
	for _, p := range problems {
		d.t.Errorf("verify %s after %d kills: %v", id, d.killed, p)
	}
	for key := range d.completed {
		if conversation, _, _ := strings.Cut(key, "/"); conversation == id {
			if _, ok := d.outcome(store, key); !ok {
				d.t.Errorf("%s was completed and is lost after %d kills", key, d.killed)
			}
		}
	}
}

// outcome is what the store says of a call that was completed.
func (d *drill) outcome(store *sqlite.Store, key string) (history.Outcome, bool) {
	conversation, result, _ := strings.Cut(key, "/")
	id, err := history.ParseCallID(result)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := store.ResultOf(d.t.Context(), conversation, id); err != nil {
		return "", false
	}
	calls, err := store.CallsOf(d.t.Context(), conversation, id.Round)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, c := range calls {
		if c.ID == id {
			return c.Outcome, true
		}
	}
	return "", false
}

// lost are the completed calls that the store does not have as they were, and the notes that it says
// were made and were not.
func (d *drill) lost() []string {
	store := d.open()
	defer func() { _ = store.Close() }()
	lines := d.lines()
	var lost []string
	for key, outcome := range d.completed {
		got, ok := d.outcome(store, key)
		if !ok || string(got) != outcome {
			lost = append(lost, key)
		}
	}
	conversations, err := store.Conversations(d.t.Context(), 0)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, c := range conversations {
		calls, err := store.CallsOf(d.t.Context(), c.ID, 0)
		if err != nil {
			d.t.Fatal(err)
		}
		for _, call := range calls {
			key := c.ID + "/" + call.ID.String()
			if call.State != history.CallAnswered {
				lost = append(lost, key+" has no answer")
			}
			if (call.Tool == "note" || call.Tool == "grave") && call.Outcome == history.OutcomeDone && lines[key] != 1 {
				lost = append(lost, key+" is done and was not run")
			}
		}
	}
	return lost
}

// repeated are the keys that bodies wrote more than once.
func (d *drill) repeated() []string {
	var repeated []string
	for key, n := range d.lines() {
		if n > 1 {
			repeated = append(repeated, key)
		}
	}
	return repeated
}

// lines counts the lines that bodies appended outside of the store.
func (d *drill) lines() map[string]int {
	raw, err := os.ReadFile(filepath.Join(d.dir, ran))
	if err != nil {
		d.t.Fatal(err)
	}
	lines := map[string]int{}
	for line := range strings.Lines(string(raw)) {
		lines[strings.TrimSpace(line)]++
	}
	return lines
}
