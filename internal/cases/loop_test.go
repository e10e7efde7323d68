package cases

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/envelope/loop"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// loopCases are calls that go round in circles: topic doom-loop.
func loopCases() map[string]runner {
	return map[string]runner{"C159": keyOrder}
}

// familyLoops are the items of family I.
func familyLoops() map[string]item {
	return map[string]item{
		"I01": callsThatNeverRun, "I02": argumentsAlone, "I03": anyPeriod, "I04": twoStages, "I05": sameErrorOtherFlags,
	}
}

// made is a call with what it gave.
func made(tool, args, result string, isError bool) loop.Call {
	return loop.Call{
		Tool: tool, Identity: loop.Identity(tool, json.RawMessage(args)), Result: loop.ResultOf(result, isError), IsError: isError, ReadOnly: true,
	}
}

// actions are what a ring says of steps that are a minute apart.
func actions(r *loop.Ring, steps ...[]loop.Call) (said []loop.Action) {
	for i, s := range steps {
		said = append(said, r.Observe(loop.Step{Calls: s, At: time.Duration(i) * time.Minute}).Action)
	}
	return said
}

func keyOrder(t *testing.T, c field) {
	events := story(t, c, "call", "result", "call", "result", "call", "result", "call", "result")
	var r loop.Ring
	var steps, batches [][]loop.Call
	for i := 0; i < len(events); i += 2 {
		one := made(events[i].Name, string(events[i].Args), events[i+1].Text, false)
		steps = append(steps, []loop.Call{one})
		batch := []loop.Call{one, made("list", `{}`, "a b", false)}
		if i%4 == 0 {
			batch[0], batch[1] = batch[1], batch[0]
		}
		batches = append(batches, batch)
	}
	// The model is told with the third result, whatever the order of the keys; the result stays what it is.
	w := quick(t, gives("grep", tool.Text(events[1].Text), tool.Traits{ReadOnly: true}))
	for i := 0; i < len(events); i += 2 {
		w.turn("Go on.", scripted.Step{Calls: []scripted.Call{asks(events[i].id(), events[i].Name, string(events[i].Args))}}, scripted.Step{Text: "Done."})
		text := *w.shown()[0].Text
		if told := strings.Contains(text, "the same call of grep gave the same result"); told != (i >= 4) || !strings.HasPrefix(text, events[i+1].Text) {
			t.Errorf("the answer to call %d is %q", i/2+1, text)
		}
	}
	want := []loop.Action{loop.Go, loop.Go, loop.Warn, loop.Warn}
	if d := cmp.Diff(want, actions(&r, steps...)); d != "" {
		t.Errorf("identical calls (-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, actions(&loop.Ring{}, batches...)); d != "" {
		t.Errorf("batches in either order (-want +got):\n%s", d)
	}
	// It goes on: then it is answered without running, and then it is stopped.
	for range 3 {
		r.Observe(loop.Step{Calls: steps[0]})
	}
	if v := r.Next(loop.Step{Calls: steps[0]}); v.Action != loop.End || v.Reason == "" {
		t.Errorf("the eighth: %+v", v)
	}
}

func callsThatNeverRun(t *testing.T) {
	for name, c := range map[string]loop.Call{
		"empty arguments":   made("t", ``, "the arguments lack name", true),
		"no JSON":           made("t", `{"a":`, "the arguments are no JSON", true),
		"no such tool":      made("gone", `{}`, "there is no tool gone", true),
		"refused by a user": made("rm", `{"p":"x"}`, "it was not allowed", true),
	} {
		if said := actions(&loop.Ring{}, []loop.Call{c}, []loop.Call{c}, []loop.Call{c}); said[2] != loop.Warn {
			t.Errorf("%s: %v", name, said)
		}
	}
	a, b := made("a", `{"x":1}`, "1", false), made("b", `{"y":2}`, "2", false)
	if said := actions(&loop.Ring{}, []loop.Call{a, b}, []loop.Call{b, a}, []loop.Call{a, b}); said[2] != loop.Warn {
		t.Errorf("the same set in parallel: %v", said)
	}
}

func argumentsAlone(t *testing.T) {
	var r loop.Ring
	var said []loop.Action
	for i := range 10 {
		said = append(said, actions(&r, []loop.Call{made("date", `{}`, fmt.Sprintf("12:00:%02d", i), false)})...)
	}
	if said[8] != loop.Go || said[9] != loop.Warn {
		t.Errorf("a result with a time in it: %v", said)
	}
}

func anyPeriod(t *testing.T) {
	for period := 1; period <= 3; period++ {
		var steps [][]loop.Call
		for i := range 3 * period {
			steps = append(steps, []loop.Call{made("t", fmt.Sprintf(`{"n":%d}`, i%period), "same", false)})
		}
		said := actions(&loop.Ring{}, steps...)
		for i, a := range said {
			if (a == loop.Warn) != (i == len(said)-1) {
				t.Errorf("period %d: %v", period, said)
				break
			}
		}
	}
}

func twoStages(t *testing.T) {
	var r loop.Ring
	same := []loop.Call{made("t", `{}`, "same", false)}
	said := actions(&r, same, same, same, same, same)
	if d := cmp.Diff([]loop.Action{loop.Go, loop.Go, loop.Warn, loop.Warn, loop.Reuse}, said); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if said := actions(&r, []loop.Call{made("t", `{"other":1}`, "same", false)}, same); said[0] != loop.Go || said[1] != loop.Go {
		t.Errorf("after a change: %v", said)
	}
}

func sameErrorOtherFlags(t *testing.T) {
	var steps [][]loop.Call
	for i := range 49 {
		steps = append(steps, []loop.Call{made("shell--run", fmt.Sprintf(`{"command":"x --flag%d"}`, i), "x: no such program\n[exit 127]", true)})
	}
	said := actions(&loop.Ring{}, steps...)
	if said[len(said)-1] == loop.Go {
		t.Error("49 calls with the same error are not warned of")
	}
	poll := made("jobs--get", `{"job_id":"j1"}`, "running", false)
	poll.Pollable = true
	var polls [][]loop.Call
	for range 49 {
		polls = append(polls, []loop.Call{poll})
	}
	for i, a := range actions(&loop.Ring{}, polls...) {
		if a != loop.Go {
			t.Errorf("poll %d: %v", i, a)
		}
	}
}
