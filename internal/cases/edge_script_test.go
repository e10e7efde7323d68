package cases

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

// edgeScripts are the edge cases of scripts.
func edgeScripts() map[string]item {
	return map[string]item{"48": twoScriptsOfOneAnswer, "49": lateInnerResult, "50": endOfAStoppedScript}
}

// TestEdgeScripts are the parts about scripts of edge cases that are held for other tools elsewhere.
func TestEdgeScripts(t *testing.T) {
	t.Parallel()
	runItems(t, map[string]item{"51": loopInAScript, "54": millionsInAScript, "61": stoppedWhileAScriptWaits})
}

// familyScripts are what users of other systems asked for about scripts.
func familyScripts() map[string]item {
	return map[string]item{"L01": outputIsBoundedAsItComes, "L02": memoryIsBounded}
}

// twoScriptsOfOneAnswer: they run one after the other, in call order, each with its own globals.
func twoScriptsOfOneAnswer(t *testing.T) {
	var now, most atomic.Int32
	w := scripts(t, scripting.Limits{}, handler("work", func(context.Context, tool.Call) (tool.Result, error) {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(20 * time.Millisecond)
		now.Add(-1)
		return tool.Text("worked"), nil
	}))
	code := `const seen = typeof left; globalThis.left = 1; return seen + " " + (await tools.work()).text`
	for i, a := range w.round(runs(t, "a", code), runs(t, "b", code), runs(t, "c", code)) {
		if a.text != "undefined worked" || a.isError {
			t.Errorf("script %d is answered %q", i+1, a.text)
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d scripts ran at once", most.Load())
	}
}

// lateInnerResult: what a script no longer waits for does not come to the next one's first call.
func lateInnerResult(t *testing.T) {
	w := scripts(t, scripting.Limits{Wall: 3 * time.Second}, handler("slow", func(ctx context.Context, c tool.Call) (tool.Result, error) {
		var in struct{ N int }
		if err := json.Unmarshal(c.Args, &in); err != nil {
			return tool.Result{}, err
		}
		if in.N == 1 {
			<-ctx.Done()
			time.Sleep(100 * time.Millisecond) // it does not heed the end at once
		}
		return tool.Text(fmt.Sprint("of ", in.N)), nil
	}))
	all := w.round(runs(t, "a", `return (await tools.slow({N: 1})).text`), runs(t, "b", `return (await tools.slow({N: 2})).text`))
	if !all[0].isError || all[1].text != "of 2" {
		t.Errorf("they are answered %q and %q", all[0].text, all[1].text)
	}
}

// endOfAStoppedScript: an inner result that would end a turn ends neither this one nor a later one, also
// when its script was stopped.
func endOfAStoppedScript(t *testing.T) {
	w := scripts(t, scripting.Limits{Wall: 3 * time.Second}, handler("last", func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Data: "the end", EndTurn: true}, nil
	}))
	if a := w.script(`await tools.last(); await sleep(60000)`); !a.isError {
		t.Errorf("it is answered %q", a.text)
	}
	if a := w.script(`return (await tools.last()).text`); a.text != "the end" {
		t.Errorf("the next one is answered %q", a.text)
	}
	if out := w.turn("And?", scripted.Step{Text: "Done."}); out.Text != "Done." {
		t.Errorf("the turn ended with %q", out.Text)
	}
}

func loopInAScript(t *testing.T) {
	w := scripts(t, scripting.Limits{Wall: 3 * time.Second})
	began := time.Now()
	if a := w.script(`console.log("so far"); for (;;);`); a.text != "so far\n[stopped: it ran longer than its limit of 3s]" || !a.isError {
		t.Errorf("it is answered %q", a.text)
	}
	if took := time.Since(began); took > 3*time.Second+soon {
		t.Errorf("it took %s", took)
	}
}

func millionsInAScript(t *testing.T) {
	for _, n := range []int{5_000_000, 5_000_001} {
		structured := `{"s":"` + strings.Repeat("x", n-8) + `"}`
		w := scripts(t, scripting.Limits{}, handler("get", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Data: "text", Structured: json.RawMessage(structured)}, nil
		}))
		if a := w.script(`return (await tools.get()).data.s.length`); a.text != fmt.Sprint(n-8) {
			t.Errorf("%d characters: %q", n, a.text)
		}
	}
}

// stoppedWhileAScriptWaits: the turn is cancelled while a script waits for a tool. Both are answered, and
// the conversation goes on.
func stoppedWhileAScriptWaits(t *testing.T) {
	var cancel atomic.Pointer[context.CancelFunc]
	w := scripts(t, scripting.Limits{}, stop("t", &cancel, 1))
	began := time.Now()
	w.aborted(&cancel, scripted.Step{Calls: []scripted.Call{runs(t, "a", `console.log("so far"); await tools.t()`), runs(t, "b", `return 1`)}})
	if took := time.Since(began); took > soon {
		t.Errorf("it took %s", took)
	}
	w.turn("Again.", scripted.Step{Text: "Done."})
	if d := cmp.Diff("results a! b!", parseBody(t, w.last()).outline()[2]); d != "" {
		t.Errorf("the answers (-want +got):\n%s", d)
	}
	if a := w.answer(resultOf(t, "r1-1")); !strings.HasPrefix(a.text, "so far\n") || !strings.Contains(a.text, "cancel") {
		t.Errorf("the script is answered %q", a.text)
	}
}

// outputIsBoundedAsItComes: a script that prints without end is ended by what it prints, not by its time.
func outputIsBoundedAsItComes(t *testing.T) {
	w := scripts(t, scripting.Limits{Output: 5000})
	began := time.Now()
	a := w.script(`for (;;) console.log("a line")`)
	if !a.isError || !strings.Contains(a.whole, "[stopped: it printed and returned more than its limit of 5,000 characters]") {
		t.Errorf("it is answered %q", a.whole)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it took %s", took)
	}
}

func memoryIsBounded(t *testing.T) {
	w := scripts(t, scripting.Limits{Wall: 5 * time.Second, Heap: 128 << 20})
	for _, code := range []string{`return "x".repeat(2**40).length`, `const a = []; for (;;) a.push("x".repeat(1e6) + a.length)`} {
		a := w.script(code)
		if !a.isError || !strings.Contains(a.text, "memory") && !strings.Contains(a.text, "longer than its limit") && !strings.Contains(a.text, "RangeError") {
			t.Errorf("%s is answered %q", code, a.text)
		}
	}
	w.alive()
}

// TestScriptsDoNotDeadlock: as many scripts as there are slots, each of which waits for calls of its own.
func TestScriptsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	w := scripts(t, scripting.Limits{Wall: 60 * time.Second}, handler("work", func(context.Context, tool.Call) (tool.Result, error) {
		time.Sleep(5 * time.Millisecond)
		return tool.Text("x"), nil
	}))
	w.config.Calls.Parallel = 8
	var calls []scripted.Call
	for i := range 8 {
		calls = append(calls, runs(t, fmt.Sprint("s", i), `return (await Promise.all(Array.from({length: 16}, (_, n) => tools.work({n})))).map(r => r.text).join("")`))
	}
	for i, a := range w.round(calls...) {
		if a.text != strings.Repeat("x", 16) || a.isError {
			t.Errorf("script %d is answered %q", i+1, a.text)
		}
	}
}
