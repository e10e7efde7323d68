package drill

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/membranetest"
)

// TestLaw03AcrossModels drives a conversation that goes from one provider to the next and back, and to
// another model of the same provider and back, through 10 kills, 20 with -full. Within an epoch each body
// goes on where the one before ended; going back goes on with what the model was sent before; and what one
// model signed is sent to no other.
func TestLaw03AcrossModels(t *testing.T) {
	t.Parallel()
	from := *seed
	if from == 0 {
		from = uint64(time.Now().UnixNano())
	}
	l := newLong(t, moving)
	l.rng = rand.New(rand.NewPCG(from, 9))
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", from)
		}
	}()
	kills := 10
	if *full {
		kills = 20
	}
	if l.drive(os.Args[0], spread(kills, 1, 57)); l.killed != kills {
		t.Fatalf("%d kills, want %d", l.killed, kills)
	}
	if err := start(t, os.Args[0], l.order).end(); err != nil {
		t.Fatal(err)
	}
	store := openStore(t, l.order.Dir, sqlite.Config{ReadOnly: true})
	clean(t, store, moving)
	epochs := l.epochs(store)
	var reasons []string
	for _, e := range epochs {
		reasons = append(reasons, e.Dialect+" "+e.Reason)
	}
	want := []string{"anthropic start", "openai-responses dialect", "gemini dialect", "anthropic dialect", "anthropic model", "anthropic model"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	l.checkMoves(epochs)
}

var signed = regexp.MustCompile(`Sig-([a-z0-9-]+)-\d+=`)

// checkMoves holds each request to the model that it was sent to, and the epochs to each other.
func (l *longRun) checkMoves(epochs []history.Epoch) {
	l.t.Helper()
	split := splitAs(epochs)
	sent := map[int][][]byte{}
	for i, r := range l.records.Requests() {
		model, step, err := askedOf(r.Path, r.Body)
		if err != nil {
			l.t.Fatalf("request %d: %v", i+1, err)
		}
		_, planned, _ := strings.Cut(moves()[(step-1)/(turnRounds+1)], "/")
		if model != planned {
			l.t.Errorf("step %d was asked of %s, want %s", step, model, planned)
		}
		for _, found := range signed.FindAllSubmatch(r.Body, -1) {
			if string(found[1]) != model {
				l.t.Errorf("step %d: what %s signed is sent to %s", step, found[1], model)
			}
		}
		if calls, results := pairs(r.Body); calls != results || step > 1 && calls == 0 {
			l.t.Errorf("step %d: %d calls have %d results", step, calls, results)
		}
		taken, err := split(r.Body)
		if err != nil {
			l.t.Fatal(err)
		}
		// Two epochs may have equal heads: the step says which one it is.
		n := (step-1)/(turnRounds+1) + 1
		if !bytes.Equal(taken.Head, epochs[n-1].Head) {
			l.t.Errorf("step %d has not the head of epoch %d", step, n)
		}
		sent[n] = append(sent[n], r.Body)
	}
	last := map[int][]byte{}
	for n := 1; n <= len(epochs); n++ {
		membranetest.Prefix(l.t, split, sent[n]...)
		r, err := split(sent[n][len(sent[n])-1])
		if err != nil {
			l.t.Fatal(err)
		}
		last[n] = r.Messages
	}
	for n, base := range map[int]int{4: 1, 6: 4} {
		if e := epochs[n-1]; e.Base != base || e.BaseCount == 0 || !bytes.HasPrefix(last[n], last[base]) {
			l.t.Errorf("epoch %d begins with %d fragments of epoch %d, want all of epoch %d", n, e.BaseCount, e.Base, base)
		}
	}
	// Another model of the same dialect shares what stands before the first answer, and nothing signed.
	if e := epochs[4]; e.Base == 0 || e.BaseCount != 1 {
		l.t.Errorf("epoch 5 begins with %d fragments of epoch %d, want the first message", e.BaseCount, e.Base)
	}
	for n := range last { // what a model signed does go back to it
		if !signed.Match(last[n]) {
			l.t.Errorf("epoch %d holds nothing that its model signed", n)
		}
	}
}

// pairs counts the calls and the results in a body of any dialect.
func pairs(body []byte) (calls, results int) {
	count := func(texts ...string) (n int) {
		for _, text := range texts {
			n += bytes.Count(body, []byte(text))
		}
		return n
	}
	return count(`"type":"tool_use"`, `"type":"function_call"`, `"functionCall":`),
		count(`"type":"tool_result"`, `"type":"function_call_output"`, `"functionResponse":`)
}

// TestMovesAreKnown holds that the conversation of the drill has a model for each turn.
func TestMovesAreKnown(t *testing.T) {
	t.Parallel()
	if got := moves(); len(got) != longTurns || len(slices.Compact(slices.Clone(got))) != longTurns {
		t.Errorf("%v: want %d models, no two after each other the same", got, longTurns)
	}
	if got := fmt.Sprint(moves()[0], moves()[3]); got != "anthropic/claude-aanthropic/claude-a" {
		t.Errorf("the conversation does not come back: %s", got)
	}
}
