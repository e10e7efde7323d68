package loop

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// step is one call of a read-only tool with its result, a minute after the one before.
func step(n int, tool, args, result string) Step {
	return Step{At: time.Duration(n) * time.Minute, Calls: []Call{{
		Tool: tool, Identity: Identity(tool, json.RawMessage(args)), Result: ResultOf(result, false), ReadOnly: true,
	}}}
}

// play gives the verdicts of steps: action, repeats, cycle.
func play(r *Ring, steps ...Step) (said []string) {
	for _, s := range steps {
		v := r.Observe(s)
		said = append(said, fmt.Sprint(v.Action, " ", v.Repeats, "/", v.Cycle))
	}
	return said
}

// TestRepeats holds the warning at 3, the reuse at 5 and the end at 8.
func TestRepeats(t *testing.T) {
	t.Parallel()
	r := &Ring{}
	var next, said []string
	for n := range 8 {
		s := step(n, "grep", `{"p":"x"}`, "none")
		next = append(next, fmt.Sprint(r.Next(s).Action))
		said = append(said, play(r, s)...)
	}
	if d := cmp.Diff([]string{"0", "0", "0", "0", "2", "2", "2", "3"}, next); d != "" {
		t.Errorf("before each (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"0 0/0", "0 0/0", "1 3/1", "1 4/1", "2 5/1", "2 6/1", "2 7/1", "3 8/1"}, said); d != "" {
		t.Errorf("after each (-want +got):\n%s", d)
	}
	v := r.Next(step(9, "grep", `{"p":"x"}`, ""))
	if d := cmp.Diff("the same call of grep gave the same result 9 times in a row, so the turn was ended", v.Reason); d != "" {
		t.Error(d)
	}
	// A call that is not read-only is never answered from the one before.
	r = &Ring{}
	for n := range 7 {
		s := step(n, "run", `{}`, "[exit 1]")
		s.Calls[0].ReadOnly = false
		if v := r.Next(s); v.Action == Reuse || r.Observe(s).Action == Reuse {
			t.Errorf("step %d is answered from the one before", n)
		}
	}
	// What is answered from is the step of one circle before.
	r = &Ring{}
	for n := range 9 {
		r.Observe(step(n, string(rune('a'+n%2)), `{}`, "same"))
	}
	v = r.Next(step(9, "b", `{}`, ""))
	if calls, ok := r.Previous(v); v.Action != Reuse || !ok || calls[0].Tool != "b" {
		t.Errorf("%+v: %v %v", v, calls, ok)
	}
	if _, ok := (&Ring{}).Previous(Verdict{}); ok {
		t.Error("nothing is before nothing")
	}
}

// TestCycles holds circles of two and three steps, and that four are none.
func TestCycles(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]string{2: "1 3/2", 3: "1 3/3", 4: "0 0/0"} {
		r := &Ring{}
		var said []string
		for n := range 3 * length {
			said = append(said, play(r, step(n, string(rune('a'+n%length)), `{}`, "same"))...)
		}
		if got := said[len(said)-1]; got != want {
			t.Errorf("circles of %d: %v", length, said)
		}
		for _, s := range said[:len(said)-1] {
			if s != "0 0/0" {
				t.Errorf("circles of %d: too early: %v", length, said)
			}
		}
	}
}

// TestProgress holds what is no loop: another result, another argument, a poll.
func TestProgress(t *testing.T) {
	t.Parallel()
	r := &Ring{}
	for n := range 9 {
		if v := r.Observe(step(n, "jobs--get", `{"id":1}`, fmt.Sprintf(`{"progress":%d}`, n))); v.Action != Go {
			t.Errorf("a poll whose result changes: step %d: %+v", n, v)
		}
	}
	// The same call with changing results is warned of at 10, unless it is made to be polled.
	v := r.Observe(step(9, "jobs--get", `{"id":1}`, `{"progress":99}`))
	if v.Action != Warn || !v.Changing || v.Repeats != 10 {
		t.Errorf("the tenth: %+v", v)
	}
	r = &Ring{}
	for n := range 30 {
		s := step(n, "jobs--get", `{"id":1}`, fmt.Sprintf(`{"progress":%d}`, n/10))
		s.Calls[0].Pollable = true
		if v := r.Next(s); v.Action != Go {
			t.Fatalf("before poll %d: %+v", n, v)
		}
		if v := r.Observe(s); v.Action != Go {
			t.Fatalf("poll %d: %+v", n, v)
		}
	}
	// Volatile members are no progress.
	r = &Ring{}
	for n := range 3 {
		v = r.Observe(step(n, "status", `{}`, fmt.Sprintf(`{"up":true,"elapsed_ms":%d,"in":{"age_s":%d}}`, n, n)))
	}
	if v.Action != Warn {
		t.Errorf("durations count as progress: %+v", v)
	}
}

// TestErrorsCount holds that failures are calls like any other, and not the same as a success.
func TestErrorsCount(t *testing.T) {
	t.Parallel()
	r := &Ring{}
	var v Verdict
	for n := range 3 {
		s := step(n, "edit", `{"path":"a"}`, "")
		s.Calls[0].Result, s.Calls[0].IsError, s.Calls[0].ReadOnly = ResultOf("no such text", true), true, false
		s.Calls[0].Writes, s.Calls[0].Depends = []string{"a"}, []string{"a"}
		v = r.Observe(s)
	}
	if v.Action != Warn || v.Repeats != 3 {
		t.Errorf("three failures: %+v", v)
	}
	if ResultOf("x", true) == ResultOf("x", false) {
		t.Error("a failure is the same as a success")
	}
}

// TestFailing holds that other arguments with the same failure are warned of at 10, and answers are not.
func TestFailing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failed bool
		result func(n int) string
		want   string
	}{
		"the same failure": {true, func(int) string { return "no such program" }, "10 calls of run in a row failed in the same way, whatever their arguments: the cause is elsewhere, so do something else"},
		"other failures":   {true, func(n int) string { return fmt.Sprint("failure ", n) }, ""},
		"the same answer":  {false, func(int) string { return "ok" }, ""},
	} {
		var r Ring
		var v Verdict
		for n := range 10 {
			if v.Action != Go {
				t.Errorf("%s: too early, at %d: %+v", name, n, v)
			}
			args := json.RawMessage(fmt.Sprintf(`{"flag":%d}`, n))
			v = r.Observe(Step{At: time.Duration(n) * time.Minute, Calls: []Call{{Tool: "run", Identity: Identity("run", args), Result: ResultOf(c.result(n), c.failed), IsError: c.failed}}})
		}
		if d := cmp.Diff(c.want, v.Warning); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestBurst holds the sliding ten seconds, by the time that is handed in.
func TestBurst(t *testing.T) {
	t.Parallel()
	at := func(times ...time.Duration) Verdict {
		r := &Ring{}
		var v Verdict
		for _, when := range times {
			s := step(0, "grep", `{}`, "none")
			s.At = when
			v = r.Observe(s)
		}
		return v
	}
	const sec = time.Second
	for name, c := range map[string]struct {
		times []time.Duration
		want  bool
	}{
		"within ten":        {[]time.Duration{0, 5 * sec, 10 * sec}, true},
		"a moment over":     {[]time.Duration{0, 5 * sec, 10*sec + 1}, false},
		"slow, then fast":   {[]time.Duration{0, 60 * sec, 61 * sec, 62 * sec}, true},
		"fast, then slow":   {[]time.Duration{0, sec, 2 * sec, 60 * sec}, false},
		"hours in between":  {[]time.Duration{0, 3600 * sec, 7200 * sec}, false},
		"only two are fast": {[]time.Duration{0, 60 * sec, 61 * sec}, false},
	} {
		v := at(c.times...)
		if v.Burst != c.want || v.Action != Warn || strings.Contains(v.Warning, "background") != c.want {
			t.Errorf("%s: %+v", name, v)
		}
	}
	// A poll is warned of in a burst, and of nothing else.
	r := &Ring{}
	var v Verdict
	for n := range 12 {
		s := step(0, "jobs--get", `{}`, "running")
		s.At, s.Calls[0].Pollable = time.Duration(n)*sec, true
		v = r.Observe(s)
	}
	if v.Action != Warn || !v.Burst {
		t.Errorf("a poll every second: %+v", v)
	}
}

// TestIdentity holds what makes two calls the same.
func TestIdentity(t *testing.T) {
	t.Parallel()
	same := [][2]string{
		{`{"a":1,"b":2}`, ` { "b" : 2, "a" : 1 }`},
		{`{"a":1}`, `{"a":1,"_lean":true}`},
		{`{"_profile":"x","a":1,"_compact":false,"known_tool_schema_fingerprint":"f"}`, `{"a":1}`},
		{`{"a":1}`, `{"a":1.0}`},
		{`{"a":"\u0041"}`, `{"a":"A"}`},
		{``, `{}`},
		{`{"a":{"y":[1,2],"x":null}}`, `{"a":{"x":null,"y":[1,2]}}`},
	}
	for _, c := range same {
		if Identity("t", json.RawMessage(c[0])) != Identity("t", json.RawMessage(c[1])) {
			t.Errorf("%s and %s are two calls", c[0], c[1])
		}
	}
	other := [][2]string{
		{`{"a":1}`, `{"a":2}`},
		{`{"a":[1,2]}`, `{"a":[2,1]}`},
		{`{"a":null}`, `{}`},
		{`{"in":{"_lean":1}}`, `{"in":{"_lean":2}}`},
		{`{"a":`, `{"b":`},
		{`{"a":9007199254740993}`, `{"a":9007199254740992}`},
		{`{"max_tokens":1}`, `{"max_tokens":2}`},
	}
	for _, c := range other {
		if Identity("t", json.RawMessage(c[0])) == Identity("t", json.RawMessage(c[1])) {
			t.Errorf("%s and %s are one call", c[0], c[1])
		}
	}
	if Identity("a", nil) == Identity("b", nil) {
		t.Error("two tools are one")
	}
	if ResultOf(`{"a":1,"mine":2}`, false, "mine") != ResultOf(`{"a":1,"mine":[3,{"x":4}]}`, false, "mine") {
		t.Error("what a tool marks as volatile counts")
	}
	if ResultOf(`{"a":1}`, false) == ResultOf(`{"a":2}`, false) || ResultOf("a", false) == ResultOf("b", false) {
		t.Error("two results are one")
	}
}

// TestParallelStep holds that a round of several calls is one step in which the order does not count.
func TestParallelStep(t *testing.T) {
	t.Parallel()
	a, b := step(0, "a", `{}`, "1").Calls[0], step(0, "b", `{}`, "2").Calls[0]
	r := &Ring{}
	said := play(r, Step{Calls: []Call{a, b}}, Step{Calls: []Call{b, a}}, Step{Calls: []Call{a, b}})
	if said[2] != "1 3/1" {
		t.Errorf("the same two calls: %v", said)
	}
	v := r.Next(Step{Calls: []Call{b, a}})
	if d := cmp.Diff([]string{"a", "b"}, v.Repeated); d != "" && v.Action != Go {
		t.Error(d)
	}
	if said := play(r, Step{Calls: []Call{a}}, Step{}); said[0] != "0 0/0" || said[1] != "0 0/0" {
		t.Errorf("one of them alone, and none: %v", said)
	}
}

// TestWriteResets holds that a write to what a call depends on makes the ring forget, once.
func TestWriteResets(t *testing.T) {
	t.Parallel()
	read := func(n int) Step {
		s := step(n, "read", `{"path":"src/a.go"}`, "text")
		s.Calls[0].Depends = []string{"src/a.go"}
		return s
	}
	write := func(path, args string, failed bool) Step {
		s := step(0, "write", args, "ok")
		s.Calls[0].ReadOnly, s.Calls[0].Writes, s.Calls[0].IsError = false, []string{path}, failed
		return s
	}
	for name, c := range map[string]struct {
		write Step
		want  int
	}{
		"the file":       {write("src/a.go", `{"v":1}`, false), 1},
		"its folder":     {write("src/", `{"v":2}`, false), 1},
		"everything":     {write("*", `{"v":3}`, false), 1},
		"another file":   {write("src/b.go", `{"v":4}`, false), 3},
		"a name alike":   {write("src/a.go2", `{"v":5}`, false), 3},
		"a failed write": {write("src/a.go", `{"v":6}`, true), 3},
	} {
		r := &Ring{}
		play(r, read(0), read(1), c.write)
		if got := len(r.held); got != c.want {
			t.Errorf("%s: the ring holds %d steps, want %d", name, got, c.want)
		}
	}
	// The same write over and over is itself a circle.
	r := &Ring{}
	said := play(r, read(0), write("src/a.go", `{}`, false), read(2), write("src/a.go", `{}`, false), read(4), write("src/a.go", `{}`, false), read(6))
	if said[len(said)-1] != "1 3/2" {
		t.Errorf("a read and the same write: %v", said)
	}
}

// TestRebuild holds that a ring that is made of stored steps is the one that saw them, and that it stays
// bounded.
func TestRebuild(t *testing.T) {
	t.Parallel()
	var steps []Step
	live := &Ring{}
	for n := range 50 {
		s := step(n, string(rune('a'+n%3)), `{}`, fmt.Sprint("result ", n/20))
		steps = append(steps, s)
		live.Observe(s)
		next := step(n+1, string(rune('a'+(n+1)%3)), `{}`, "")
		if a, b := live.Next(next), Rebuild(steps).Next(next); !cmp.Equal(a, b) {
			t.Fatalf("after %d steps: %+v, rebuilt %+v", n+1, a, b)
		}
	}
	if len(live.held) != Size {
		t.Errorf("the ring holds %d steps", len(live.held))
	}
	var other Ring
	if v := other.Observe(steps[0]); v.Action != Go {
		t.Errorf("a ring of another conversation knows: %+v", v)
	}
}

// TestOthers holds that neither what is repeated nor what cannot be called is suggested.
func TestOthers(t *testing.T) {
	t.Parallel()
	v := Verdict{Repeated: []string{"grep"}}
	for _, c := range []struct {
		preferred, offered []string
		want               string
	}{
		{[]string{"grep", "gone", "read"}, []string{"grep", "glob", "read"}, "[read]"},
		{nil, []string{"grep", "glob", "read", "list", "edit"}, "[glob read list]"},
		{[]string{"gone"}, []string{"grep"}, "[]"},
	} {
		if got := fmt.Sprint(v.Others(c.preferred, c.offered)); got != c.want {
			t.Errorf("%v: %s", c, got)
		}
	}
	long := Verdict{Repeats: 3, Cycle: 1, Repeated: []string{strings.Repeat("n", 9000), "b", "c", "d"}}
	if w := long.warning(); len(w) > 300 {
		t.Errorf("a warning of %d bytes", len(w))
	}
}

// FuzzIdentity holds that any bytes are an identity, and that what is dropped is.
func FuzzIdentity(f *testing.F) {
	for _, s := range []string{"", "{}", `{"a":[1,{"_lean":{"x":[]}}],"_lean":{"b":[1,2]},"c":{}}`, "[1,2", "\xff", `{"_lean":1}`, `[{"elapsed_ms":{"a":{}},"b":[]},[]]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		call, gave := Identity("t", json.RawMessage(s)), ResultOf(s, false)
		if call != Identity("t", json.RawMessage(s)) || gave != ResultOf(s, false) {
			t.Error("the same is not the same")
		}
		if json.Valid([]byte(s)) {
			for depth := range 2 {
				if out := without([]byte(s), depth, func(name string) bool { return volatile(name) || metadata(name) }); !json.Valid(out) {
					t.Errorf("%s becomes %s", s, out)
				}
			}
		}
	})
}
