package membranetest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

// Adapter is one dialect as the suite sees it.
type Adapter struct {
	// New makes a model of this name that is reached at this address, with Secret as its key. It is
	// called anew for each request, as after a restart.
	New func(t testing.TB, url, model string) membrane.Model
	// Split takes a request body apart, such as SplitAt("messages").
	Split Split
	// Dir is the folder of the transcripts, such as "testdata/suite"; see [Run].
	Dir string
	// Lacks says of each scenario that the dialect does not have why that is so.
	Lacks map[string]string
	// Secret is the key of the models: it must stand in no error.
	Secret string
	// Frame writes one line of a transcript's events as it stands on the wire; nil means [Data].
	Frame func(line string) string
	// Check holds a request body to what the provider documents; nil for nothing beyond the suite.
	Check func(t testing.TB, body []byte)
	// Unmarked takes out of an answer's fragment what only the first encoding puts there, such as a
	// cache marker; nil for nothing.
	Unmarked func(fragment []byte) []byte
	// Update writes what was seen into the transcripts.
	Update bool
}

// Data writes a line as an event without a name: "data: LINE".
func Data(line string) string { return "data: " + line + "\n\n" }

// Named writes a line of JSON as an event that is named by its member type.
func Named(line string) string {
	var e struct {
		Type string `json:"type"`
	}
	if json.Unmarshal([]byte(line), &e) != nil {
		return Data(line)
	}
	return "event: " + e.Type + "\n" + Data(line)
}

// Run holds an adapter to every scenario of the suite (see [Scenarios]). A scenario says what the model
// is asked and what must become of it in neutral terms, for each dialect the same. What the provider
// answers stands in the adapter's own transcript DIR/NAME.txtar:
//
//	A sentence that says what happens.
//	-- 1.head --
//	Status: 429
//	Retry-After: 7
//	-- 1.body --
//	the bytes of the first answer as they are, or instead of them
//	-- 1.events --
//	{"one event":"a line"}
//	-- 1.end --
//	break
//	-- 1.request --
//	golden: the body of the first request
//	-- want --
//	golden: everything that the adapter made of the answers
//
// Without a head the status is 200; without a body and events the answer is empty; an end of "break"
// closes the connection behind the answer, without it the answer just ends. Answers 2, 3, … follow: the
// suite goes on with the conversation until all are used. After calls it sends the scenario's results,
// after a pause it asks again, else it sends the scenario's next user message. Requests and want are
// written with Update.
//
// Words with a meaning in a transcript: whatever the provider signs or encrypts holds [Signature];
// what stands in a field, or a block, that no build knows holds [Unknown].
//
// For every scenario the suite holds that the answer is the same when it comes in pieces; that each
// answer encodes to the same fragment again after it was stored; that what is signed goes back to the
// model that made it and to no other; that bodies carry their length, and that each goes on where the
// one before ended (law 3); that an error is one bounded line that names the model and not the key.
func Run(t *testing.T, a Adapter) {
	t.Helper()
	known := map[string]bool{}
	for _, s := range Scenarios() {
		known[s.Name] = true
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			why, lacks := a.Lacks[s.Name]
			file := filepath.Join(a.Dir, s.Name+".txtar")
			_, err := os.Stat(file)
			switch {
			case lacks && err == nil:
				t.Fatalf("%s is there, and the dialect is said to lack the scenario: %s", file, why)
			case lacks && why == "":
				t.Fatal("Lacks gives no reason")
			case lacks:
				t.Logf("the dialect does not have this: %s", why)
			default:
				a.run(t, s, file)
			}
		})
	}
	for name := range a.Lacks {
		if !known[name] {
			t.Errorf("Lacks names %q, which is no scenario", name)
		}
	}
	files, err := filepath.Glob(filepath.Join(a.Dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !known[strings.TrimSuffix(filepath.Base(file), ".txtar")] {
			t.Errorf("%s belongs to no scenario", file)
		}
	}
}

// run plays one scenario, at once and in pieces.
func (a Adapter) run(t *testing.T, s Scenario, file string) {
	t.Helper()
	script := readTranscript(t, file)
	piece := 1
	if script.size() > 2<<10 { // each piece is a write of its own
		piece = 61
	}
	at := a.converse(t, s, script, 0)
	if diff := cmp.Diff(at.told(), a.converse(t, s, script, piece).told()); diff != "" {
		t.Errorf("in pieces of %d bytes it is another answer (-at once +in pieces):\n%s", piece, diff)
	}
	if t.Failed() {
		return
	}
	if diff := cmp.Diff(s.Want, at.outcomes(s.Want)); diff != "" {
		t.Errorf("what became of it, in neutral terms (-want +got):\n%s", diff)
	}
	a.checkBodies(t, s, at)
	script.golden(t, file, at, a.Update)
}

// checkBodies holds what was sent to the scenario, and to what holds for every request.
func (a Adapter) checkBodies(t *testing.T, s Scenario, at *played) {
	t.Helper()
	for i, r := range at.recorded {
		if r.Length != int64(len(r.Body)) {
			t.Errorf("request %d says that it has %d bytes and has %d", i+1, r.Length, len(r.Body))
		}
		if a.Check != nil {
			a.Check(t, r.Body)
		}
	}
	last := string(at.recorded[len(at.recorded)-1].Body)
	for _, want := range s.Sent {
		if !strings.Contains(last, want) {
			t.Errorf("the last request does not hold %s", want)
		}
	}
	for _, bad := range s.Unsent {
		if strings.Contains(last, bad) {
			t.Errorf("the last request holds %s", bad)
		}
	}
	bodies := make([][]byte, len(at.recorded))
	for i, r := range at.recorded {
		bodies[i] = r.Body
		if i > 0 && at.answers[i-1].err != nil && !bytes.Equal(bodies[i-1], r.Body) {
			t.Errorf("request %d is asked again as another one:\n%s\n%s", i, bodies[i-1], r.Body)
		}
	}
	Prefix(t, a.Split, bodies...)
}
