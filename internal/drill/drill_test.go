package drill

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
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
	// forks are the conversations that were made of another one; inForks counts the kills of them.
	forks   map[string]fork
	inForks int
}

func TestDrill(t *testing.T) {
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	d := &drill{t: t, dir: t.TempDir(), rng: rand.New(rand.NewPCG(from, 1)), completed: map[string]string{}, forks: map[string]fork{}}
	// A few kills may come in one short conversation: others follow until one was compacted.
	for n := 1; d.killed < *kills || d.epochs == 0 && n <= 4; n++ {
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
	fmt.Printf("%d forks, driven on through %d of the kills; compacted %d times\n", len(d.forks), d.inForks, d.epochs)
}

// conversation drives one conversation to its end through as many kills as it takes, then a fork of it.
func (d *drill) conversation(id string) {
	d.toTheEnd(id, "turn")
	if d.t.Failed() {
		return
	}
	child := d.fork(id)
	d.check(child)
	before := d.killed
	d.toTheEnd(child, "fork")
	d.inForks += d.killed - before
	d.check(id) // nothing of the fork reaches its parent
}

// toTheEnd drives one turn to its end.
func (d *drill) toTheEnd(id, key string) {
	d.promised = ""
	again := false
	for {
		killed := d.child(id, key, again)
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

// fork is where a conversation was forked, and how many epochs it had then.
type fork struct {
	parent        string
	round, epochs int
}

// fork forks a conversation at any of its closed rounds.
func (d *drill) fork(id string) string {
	store, err := sqlite.Open(d.t.Context(), filepath.Join(d.dir, "state"), sqlite.Config{})
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	rounds, err := store.RoundsOf(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	child := id + "-fork"
	at := rounds[d.rng.IntN(len(rounds))].N
	if err := store.Fork(d.t.Context(), id, at, history.Conversation{ID: child, CreatedAt: time.Now()}); err != nil {
		d.t.Fatal(err)
	}
	epochs, err := store.Epochs(d.t.Context(), child)
	if err != nil {
		d.t.Fatal(err)
	}
	d.forks[child] = fork{parent: id, round: at, epochs: len(epochs)}
	copied, theirs := d.sent(store, child, len(epochs)), d.sent(store, id, len(epochs))
	if len(copied) == 0 || !strings.HasPrefix(theirs, copied) {
		d.t.Errorf("%s does not begin with what %s sent up to round %d", child, id, at)
	}
	for key, outcome := range d.completed {
		conversation, result, _ := strings.Cut(key, "/")
		if call, err := history.ParseCallID(result); err == nil && conversation == id && call.Round <= at {
			d.completed[child+"/"+result] = outcome
		}
	}
	return child
}

// sent are the fragments of an epoch, one a line.
func (d *drill) sent(store *sqlite.Store, id string, epoch int) string {
	var all strings.Builder
	err := store.Fragments(d.t.Context(), id, epoch, 0, func(f history.Fragment) error {
		_, _ = all.Write(f.Bytes)
		return all.WriteByte('\n')
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return all.String()
}

// ranAs is the key under which the body of a call ran: that of the conversation in which it was made.
func (d *drill) ranAs(conversation string, id history.CallID) string {
	if f, ok := d.forks[conversation]; ok && id.Round <= f.round {
		return d.ranAs(f.parent, id)
	}
	return conversation + "/" + id.String()
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
	// A fork's bodies begin in the last epoch of its parent's that it has.
	opened := len(epochs) - max(1, d.forks[id].epochs)
	d.epochs += opened
	if breaks > opened {
		d.t.Errorf("%s: the prefix breaks %d times, %d epochs were opened", id, breaks, opened)
	}
}

// child runs the conversation in a process of its own and kills it at a random moment; false when it
// ended before.
func (d *drill) child(id, key string, again bool) bool {
	p := start(d.t, os.Args[0], order{Role: "drive", Dir: d.dir, Conversation: id, Key: key})
	doomed := d.killed < *kills
	for first := true; p.out.Scan(); first = false {
		d.hear(id, p.out.Text())
		if first && again {
			d.resumed++
		}
		if first && doomed {
			moment := time.Duration(d.rng.Int64N(int64(150 * time.Millisecond)))
			time.AfterFunc(moment, func() { _ = p.cmd.Process.Kill() })
		}
	}
	err := p.end()
	if err != nil && !errors.Is(err, errKilled) {
		d.t.Fatalf("%s: the child failed: %v", id, err)
	}
	if err != nil {
		d.killed++
	}
	return err != nil
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
			key := d.ranAs(c.ID, call.ID)
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
