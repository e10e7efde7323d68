package realm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// script runs code with the fake host and no limit but a long time.
func script(t testing.TB, code string) Outcome {
	t.Helper()
	h := newFake()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	return Run(ctx, Script{Code: code, Tools: h.names(), Seed: 1}, h)
}

// C126: the end of the context stops a script wherever it is in its own code: in a loop, in promise jobs, in a callback of a builtin.
func TestEndOfTheContext(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"loop":      "while (true) {}",
		"jobs":      "Promise.resolve().then(function f() { return Promise.resolve().then(f) }); await new Promise(() => {})",
		"callback":  "[1].map(() => { for (;;) {} })",
		"catch":     "for (;;) { try { for (;;) {} } catch {} finally { } }",
		"both":      "Promise.resolve().then(function f(){return Promise.resolve().then(f)}); [1].map(()=>{for(;;){}})",
		"generator": "function* g() { for (;;) yield 1 } for (const x of g()) {}",
		"timer":     "await sleep(1e9)",
		"call":      "await tools.s__echo({})",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFake()
			h.delay = time.Hour
			out := Run(h.over(50*time.Millisecond), Script{Code: "console.log('before');" + code, Tools: h.names()}, h)
			if !out.Failed || !strings.HasPrefix(out.Failure, "the time limit ended the script") {
				t.Errorf("outcome: %+v", out)
			}
			if diff := cmp.Diff("before\n", h.printed()); diff != "" {
				t.Errorf("printed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhereTheTimeWentOut(t *testing.T) {
	t.Parallel()
	h := newFake()
	out := Run(h.over(20*time.Millisecond), Script{Code: "let n = 0;\nconsole.log(n);while (true) {\n  n++;\n}"}, h)
	if !strings.HasPrefix(out.Failure, "the time limit ended the script (line ") {
		t.Errorf("no place: %q", out.Failure)
	}
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("more than 10 characters of output"))
	out = Run(ctx, Script{Code: "while (true) {}"}, newFake())
	if !strings.HasPrefix(out.Failure, "more than 10 characters of output") || !out.Failed {
		t.Errorf("the cause is not told: %q", out.Failure)
	}
}

func TestFatalCall(t *testing.T) {
	t.Parallel()
	h := newFake()
	h.fatal = errors.New("more than 200 inner calls")
	out := Run(t.Context(), Script{Code: "try { await tools.s__echo() } catch {} return 'no'", Tools: h.names()}, h)
	want := Outcome{Failed: true, Failure: "more than 200 inner calls"}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestCallsRunInParallel(t *testing.T) {
	t.Parallel()
	h := newFake()
	h.together = make(chan struct{}, 20)
	out := Run(t.Context(), Script{Code: "return (await Promise.all(Array.from({length: 20}, (_, n) => tools.s__echo({n})))).map(r => r.data.n).join()", Tools: h.names()}, h)
	if diff := cmp.Diff("0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19", out.Value); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a script sees of chance and time is its seed and its clock.
func TestLaw09DeterministicScript(t *testing.T) {
	t.Parallel()
	code := "return [Math.random(), crypto.randomUUID(), Math.random(), [...crypto.getRandomValues(new Uint8Array(3))], new Date().toISOString().slice(0, 16), Object.keys(await tools.s__rows()), JSON.stringify((await tools.s__rows()).data)]"
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	run := func(seed uint64) string {
		h := newFake()
		return Run(t.Context(), Script{Code: code, Tools: h.names(), Seed: seed, Now: at}, h).Value
	}
	first := run(5)
	if !strings.Contains(first, "2030-01-02T03:04") {
		t.Errorf("the clock does not start at Now: %s", first)
	}
	for range 5 {
		if diff := cmp.Diff(first, run(5)); diff != "" {
			t.Errorf("the same seed (-first +again):\n%s", diff)
		}
	}
	if run(6) == first {
		t.Error("another seed gives the same values")
	}
}

func TestRefusedCode(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"":                                    "SyntaxError: the code is empty",
		" \n\t":                               "SyntaxError: the code is empty",
		strings.Repeat("x;", MaxCode/2) + "y": "SyntaxError: the code has 1000001 bytes, at most 1000000 are possible; hand data over in args or read it with results.get",
		strings.Repeat("(", 3000):             "SyntaxError: more than 2000 brackets are open at once (line 1, column 2001)",
	} {
		out := script(t, code)
		if diff := cmp.Diff(Outcome{Failed: true, Failure: want}, out); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", code, diff)
		}
	}
}

// C163: integers and literals come through unchanged, both ways.
func TestNumbersBothWays(t *testing.T) {
	t.Parallel()
	for lit, want := range map[string]string{
		"612345678901234567": `["bigint",612345678901234567]`, "9007199254740991": `["number",9007199254740991]`,
		"9007199254740992": `["bigint",9007199254740992]`, "-9007199254740993": `["bigint",-9007199254740993]`,
		"1e400": `["string","1e400"]`, "-1e400": `["string","-1e400"]`, "0.1": `["number",0.1]`, "1.10": `["number",1.1]`,
		"1e5": `["number",100000]`, "1E-7": `["number",1e-7]`, "3.14159265358979323846": `["string","3.14159265358979323846"]`,
		"0.30000000000000004": `["number",0.30000000000000004]`, "-0": `["number",0]`, "9007199254740993.0": `["string","9007199254740993.0"]`,
		"5e-324": `["number",5e-324]`, "1e-400": `["string","1e-400"]`, "0e999": `["number",0]`, "100000000000000000000": `["bigint",100000000000000000000]`,
	} {
		h := newFake()
		out := Run(t.Context(), Script{Code: "return [typeof args, args]", Args: json.RawMessage(lit)}, h)
		if diff := cmp.Diff(want, out.Value); diff != "" {
			t.Errorf("%s (-want +got):\n%s", lit, diff)
		}
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	h := newFake()
	Run(t.Context(), Script{
		Code: `await tools.s__echo(); await tools.s__echo(undefined); await tools.s__echo(null);
		await tools["s--echo"]({b: 1n, a: [undefined, NaN], u: undefined, d: new Date(0), m: new Map([["k", 1]]), s: "\ud800<&\u2028"}); await tools.s__echo("text")`,
		Tools: h.names(),
	}, h)
	want := []string{
		"s--echo {}", "s--echo {}", "s--echo null",
		"s--echo {\"b\":1,\"a\":[null,null],\"d\":\"1970-01-01T00:00:00.000Z\",\"m\":{\"k\":1},\"s\":\"\uFFFD<&\u2028\"}", `s--echo "text"`,
	}
	if diff := cmp.Diff(want, h.calls); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Loops over a long text take linear time, also where it is not ASCII: a text that is 64 times as long is done
// before 512 short ones are, one after the other. Both run at once, so how fast and how busy the machine is
// counts for both; quadratic time would be that of 4,096 short ones. What favours one of them by chance does not
// do so three times.
func TestLongTextIsLinear(t *testing.T) {
	const small, times, most = 400, 64, 512
	for name, code := range map[string]string{
		"matchAll": "let n = 0; for (const m of text.matchAll(/\\d+/g)) n++; return n",
		"exec":     "const re = /\\d+/g; let n = 0; while (re.exec(text) !== null) n++; return n",
		"replace":  "let n = 0; text.replace(/\\d+/g, () => { n++ }); return n",
	} {
		code = "const text = ('é'.repeat(50) + '7 ').repeat(args);" + code
		won := false
		for try := 0; try < 3 && !won; try++ {
			out, n := race(t, code, small, times, most)
			if won = n < most; won && out.Value != fmt.Sprint(small*times) {
				t.Errorf("%s: %+v, want %d", name, out, small*times)
			}
			t.Logf("%s: %d", name, n)
		}
		if !won {
			t.Errorf("%s: %d texts were searched, and one of %d times the length not", name, most, times)
		}
	}
}

// race runs code once for a large number while it runs it most times for a small one, and counts these until the
// large one is done.
func race(t *testing.T, code string, small, times, most int) (out Outcome, n int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	run := func(n int) Outcome {
		return Run(ctx, Script{Code: code, Args: json.RawMessage(fmt.Sprint(n))}, newFake())
	}
	counted := make(chan int, 1)
	go func() {
		n := 0
		for ; n < most && ctx.Err() == nil; n++ {
			run(small)
		}
		stop()
		counted <- n
	}()
	out = run(small * times)
	stop()
	return out, <-counted
}

// A script's world ends with it.
func TestRealmsAreApart(t *testing.T) {
	t.Parallel()
	script(t, "Object.prototype.x = 1; Array.prototype.map = null; globalThis.y = 2; Math.random = () => 0")
	out := script(t, "return [typeof {}.x, [1].map(n => n + 1), typeof y, Math.random() === 0]")
	if diff := cmp.Diff(`["undefined",[2],"undefined",false]`, out.Value); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Nothing that the prelude needs stands in a script's world beside what the language and the design name.
func TestGlobals(t *testing.T) {
	t.Parallel()
	out := script(t, "return Object.getOwnPropertyNames(globalThis).filter(n => /host|vm|native|__/.test(n)).sort()")
	want := `["__exec__","__grow__","__regexp__","__script__","__thrown__"]`
	if diff := cmp.Diff(want, out.Value); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzRun(f *testing.F) {
	for _, s := range suite(f) {
		if s.class != "failure" {
			f.Add(s.code)
		}
	}
	f.Add("throw null")
	f.Add("}); (async()=>{")
	f.Fuzz(func(t *testing.T, code string) {
		if len(code) > 5000 {
			return
		}
		h := newFake()
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		out := Run(ctx, Script{Code: code, Tools: h.names(), Limits: Limits{Heap: 32 << 20, Stack: 500}}, h)
		if out.Failed && out.Failure == "" {
			t.Errorf("%q failed without a word", code)
		}
		if strings.ContainsAny(out.Failure, "\n\r") || strings.Contains(out.Failure, "could not go on") {
			t.Errorf("%q: %s", code, out.Failure)
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,-0,1e400,"é\ud800\n"],"10":true,"9":null,"__proto__":{}}`, `[]`, `"x"`, `12345678901234567890`, `{"a":1,"a":2}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !json.Valid([]byte(raw)) || len(raw) > 10_000 {
			return
		}
		first := Run(t.Context(), Script{Code: "return args === undefined ? 0 : [args]", Args: json.RawMessage(raw)}, newFake())
		if first.Failed {
			if !strings.Contains(first.Failure, "nests deeper") {
				t.Fatalf("%q: %s", raw, first.Failure)
			}
			return
		}
		again := Run(t.Context(), Script{Code: "return args", Args: json.RawMessage(first.Value)}, newFake())
		if diff := cmp.Diff(first.Value, again.Value); diff != "" {
			t.Errorf("%q changes a second time:\n%s", raw, diff)
		}
	})
}

func BenchmarkStart(b *testing.B) {
	Warm()
	for b.Loop() {
		if out := Run(b.Context(), Script{Code: "return 1"}, newFake()); out.Value != "1" {
			b.Fatal(out)
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	Warm()
	var rows []string
	for i := range 10_000 {
		rows = append(rows, fmt.Sprintf(`{"id":%d,"name":"row %d","ok":true,"tags":["a","b"],"n":1.5}`, i, i))
	}
	raw := json.RawMessage("[" + strings.Join(rows, ",") + "]")
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if out := Run(b.Context(), Script{Code: "return args", Args: raw}, newFake()); out.Value != string(raw) {
			b.Fatal(out.Failure)
		}
	}
}

// A status line names what may have been meant, also where the engine knows it less well.
func TestFailuresArePlain(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"const q = null;\nq.x":                  "TypeError: Cannot read property 'x' of undefined or null (line 2, column 3)",
		"let q;\n  q()":                         "TypeError: undefined is not a function or an object (line 2, column 5)",
		"await tools.nope({})":                  `TypeError: undefined is not a function or an object (line 1, column 18); there is no tool "nope", none is offered`,
		"throw new TypeError('a of undefined')": "TypeError: a of undefined (line 1, column 7)",
	} {
		out := Run(t.Context(), Script{Code: code}, newFake())
		if diff := cmp.Diff(Outcome{Failed: true, Failure: want}, out); diff != "" {
			t.Errorf("%q (-want +got):\n%s", code, diff)
		}
	}
}
