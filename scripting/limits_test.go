package scripting_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

// hog is a script that wants too much of something.
type hog struct {
	name, code string
	// ends are parts of the status line, of which one must be there; with memory it may also be that of the
	// memory limit, or of the time limit: whichever a machine comes to first.
	ends []string
	// fine says that it may also get to its end: the engine may be good enough.
	fine bool
}

const (
	byTime   = "[stopped: it ran longer than its limit of"
	byMemory = "[stopped: it used more memory than its limit of"
	byCalls  = "[stopped: it made more than its limit of 200 tool calls]"
	byOutput = "[stopped: it printed and returned more than its limit of 1,000,000 characters]"
)

// hogs are what ends the process, or never ends, where nothing holds it.
var hogs = []hog{
	{name: "loop", code: `while (true) {}`, ends: []string{byTime}},
	{name: "loop that catches", code: `while (true) { try { null.x } catch (e) {} }`, ends: []string{byTime}},
	{name: "promises without end", code: `Promise.resolve().then(function f() { return Promise.resolve().then(f) }); [1].map(() => { for (;;) {} })`, ends: []string{byTime}},
	{name: "fill", code: `return new Array(5e7).fill(0).length`, ends: []string{byTime, byMemory, "RangeError"}},
	{name: "from", code: `return Array.from({length: 3e7}).length`, ends: []string{byTime, byMemory, "RangeError"}},
	{name: "parse", code: `const p = "1,".repeat(5e6); return JSON.parse("[" + p + p + p + p + "1]").length`, ends: []string{byTime, byMemory, "RangeError"}, fine: true},
	{name: "repeat", code: `return "x".repeat(2**31 - 8).length`, ends: []string{byTime, byMemory, "RangeError"}},
	{name: "repeat less", code: `return "a".repeat(2**30).length`, ends: []string{byTime, byMemory, "RangeError"}},
	{name: "buffer", code: `return new ArrayBuffer(2**32).byteLength`, ends: []string{byMemory, "RangeError"}},
	{name: "power", code: `return String(7n ** 3000000n).length`, ends: []string{byTime, byMemory, "RangeError"}, fine: true},
	{name: "more power", code: `return String(7n ** 40000000n).length`, ends: []string{byTime, byMemory, "RangeError"}},
	{name: "powers of powers", code: `let n = 7n; for (;;) n *= n`, ends: []string{byTime, byMemory, "RangeError"}},
	{name: "text that doubles", code: `let s = "x"; for (;;) s += s`, ends: []string{byTime, byMemory, "RangeError"}},
	{name: "text that grows", code: `let s = "é"; for (;;) s += "0123456789"`, ends: []string{byTime, byMemory, "RangeError"}},
	{name: "regular expression", code: `return /^(a+)+\1$/.test("a".repeat(35) + "b")`, ends: []string{byTime, "[", "regular expression"}},
	{name: "one long operation", code: `const a = "bb,a,".repeat(2e6).split(","); for (;;) a.sort()`, ends: []string{byTime, byMemory}},
	{name: "array that grows", code: `const a = []; for (;;) a.push({n: a.length})`, ends: []string{byTime, byMemory}},
	{name: "doubling", code: `let a = [1]; for (let i = 0; i < 30; i++) a = a.concat(a); return a.length`, ends: []string{byTime, byMemory, "RangeError"}},
	{name: "recursion", code: `function f(n) { return f(n + 1) + 1 } return f(0)`, ends: []string{"RangeError", "stack"}},
	{name: "deep value", code: `let n = []; for (let i = 0; i < 1e5; i++) n = [n]; return n`, ends: []string{"[", "nest", "deep"}},
	{name: "deep text", code: `return JSON.parse("[".repeat(1e5) + "]".repeat(1e5)).length`, ends: []string{"[", "nest", "deep"}},
	{name: "never settles", code: `await new Promise(() => {})`, ends: []string{"never settle"}},
	{name: "many calls", code: `for (let i = 0; i < 10000; i++) await tools.echo({})`, ends: []string{byCalls}},
	{name: "many calls at once", code: `await Promise.all(Array.from({length: 10000}, () => tools.echo({})))`, ends: []string{byCalls}},
	{name: "calls that are caught", code: `for (;;) { try { await tools.echo({}) } catch (e) {} }`, ends: []string{byCalls}},
	{name: "a gigabyte of output", code: `const s = "0123456789".repeat(1e4); for (let i = 0; i < 1e4; i++) console.log(s)`, ends: []string{byOutput}},
	{name: "a long value", code: `return "x".repeat(3e6)`, ends: []string{byOutput}},
	{name: "throw null", code: `throw null`, ends: []string{"null"}},
	{name: "a getter that throws", code: `return {get a() { throw new Error("from a getter") }}`, ends: []string{"from a getter"}},
	{name: "a proxy", code: `return new Proxy({}, {get() { throw new Error("from a proxy") }, ownKeys() { throw new Error("from a proxy") }})`, ends: []string{"from a proxy"}},
	{name: "timers without end", code: `const f = () => setTimeout(f, 0); f(); await new Promise(() => {})`, ends: []string{byTime}},
}

// TestLimitsHold: each hog ends with a stated reason soon after its limit at the latest, what was printed
// so far is kept, this process stays small, and the next script runs as if nothing had been.
func TestLimitsHold(t *testing.T) {
	s := sandbox(t, scripting.Limits{})
	f := &fake{tools: answers{"echo": func(context.Context, json.RawMessage) tool.Result { return tool.Text("x") }}}
	wall := time.Second
	if raced {
		wall = 2 * time.Second
	}
	for _, h := range hogs {
		t.Run(h.name, func(t *testing.T) {
			if raced && slices.Contains(h.ends, byMemory) {
				t.Skip("nothing limits memory under the race detector; make scripts runs it without")
			}
			before := memory()
			got, isError, took := h.run(t, s, f, wall)
			for range 2 { // a machine that does something else at the moment is asked again
				if took > wall+slack {
					got, isError, took = h.run(t, s, f, wall)
				}
			}
			so, status := got[:min(len(got), 7)], got[strings.LastIndexByte(got, '\n')+1:]
			if so != "so far\n" {
				t.Errorf("what was printed is gone: %.80q", got)
			}
			if !isError && !h.fine || isError && !oneOf(status, h.ends) {
				t.Errorf("error %v, it ends with %.200q, want one of %q", isError, status, h.ends)
			}
			if strings.Contains(got, "goroutine ") || strings.Contains(got, "fatal error") {
				t.Errorf("a dump of the process: %.300q", got)
			}
			// The limit is wall + 0.5 s; without WEIR_STRICT, and under the race detector, it is more.
			if most := wall + slack; took > most {
				t.Errorf("it ended after %s, want at most %s", took, most)
			}
			if grew := memory() - before; grew > 64<<20 {
				t.Errorf("this process grew by %d MiB", grew>>20)
			}
			t.Logf("%s: %.120s", took.Round(time.Millisecond), status)
			if next, _ := run(t, s, f, `return 1`); next != "1" {
				t.Errorf("the next script gives %q", next)
			}
		})
	}
}

// run runs the script, and says how long that took.
func (h hog) run(t *testing.T, s *scripting.Scripting, f *fake, wall time.Duration) (got string, isError bool, took time.Duration) {
	t.Helper()
	began := time.Now()
	got, isError = run(t, s, f, `console.log("so far"); `+h.code, "timeout_ms", wall.Milliseconds())
	return got, isError, time.Since(began)
}

// memory is the heap in use.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse)
}

func oneOf(text string, parts []string) bool {
	for _, p := range parts {
		if strings.Contains(text, p) {
			return true
		}
	}
	return false
}

// TestMemoryLimitIsHeld: the limit is a limit of the script: one below it runs, one above ends.
func TestMemoryLimitIsHeld(t *testing.T) {
	if raced {
		t.Skip("the race detector's own memory would count, so nothing limits it here")
	}
	t.Parallel()
	for _, c := range []struct {
		heap int64
		mb   int
		ends bool
	}{{128 << 20, 40, false}, {128 << 20, 400, true}, {512 << 20, 250, false}} {
		s := sandbox(t, scripting.Limits{Heap: c.heap})
		got, isError := run(t, s, nil, fmt.Sprintf(`const a = []; for (let i = 0; i < %d; i++) a.push(new Uint8Array(1e6)); return a.length`, c.mb), "timeout_ms", 20_000)
		if isError != c.ends || c.ends && !strings.Contains(got, byMemory) {
			t.Errorf("%d MB in a heap of %d MiB: error %v, %q", c.mb, c.heap>>20, isError, got)
		}
	}
}

// The least memory that can be set is enough for a script of the usual kind.
func TestLeastMemory(t *testing.T) {
	t.Parallel()
	s := sandbox(t, scripting.Limits{Heap: scripting.MinHeap})
	f := &fake{tools: answers{"rows": func(context.Context, json.RawMessage) tool.Result {
		return tool.Text(`[` + strings.Repeat(`{"id":1,"name":"a row"},`, 1000) + `{"id":2}]`)
	}}}
	for range 3 {
		got, isError := run(t, s, f, `const all = await Promise.all(Array.from({length: 20}, () => tools.rows())); return all.map(r => r.data.filter(x => x.id === 2).length).join("")`)
		if want := strings.Repeat("1", 20); got != want || isError {
			t.Fatalf("got %q (error %v), want %q", got, isError, want)
		}
	}
}

// A search that backtracks keeps where it came from: where that outgrows the memory, the memory is what is
// told, and not that there is no match.
func TestSearchOutOfMemory(t *testing.T) {
	if raced {
		t.Skip("nothing limits memory under the race detector; make scripts runs it without")
	}
	t.Parallel()
	s := sandbox(t, scripting.Limits{Heap: scripting.MinHeap})
	want := "so far\n" + byMemory + " 32 MiB]"
	for try := 0; ; try++ {
		got, isError := run(t, s, nil, `console.log("so far"); return /(?=)(?:a|b|ab)*c/.test("ab".repeat(1e6))`, "timeout_ms", 60_000)
		if got == want && isError {
			break
		}
		// It takes a tenth of the time that a search has; on a machine that is busy enough, that ends first.
		if try == 5 || !strings.Contains(got, "a regular expression took more than") {
			t.Errorf("got %q (error %v), want %q", got, isError, want)
			break
		}
	}
	if next, _ := run(t, s, nil, `return 1`); next != "1" {
		t.Errorf("the next script gives %q", next)
	}
}

// The time limit counts for what a script waits for, too, and the calls that it waits for are cancelled.
func TestTimeLimitEndsInnerCalls(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	f := &fake{tools: answers{"slow": func(ctx context.Context, _ json.RawMessage) tool.Result {
		<-ctx.Done()
		close(ended)
		return tool.Text("late")
	}}}
	got, isError := run(t, sandbox(t, scripting.Limits{}), f, `await tools.slow()`, "timeout_ms", 2000)
	if !isError || got != "[stopped: it ran longer than its limit of 2s]" {
		t.Errorf("got %q (error %v)", got, isError)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the call runs on")
	}
}
