package realm

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A text that is built in a loop takes memory in the measure of what is added, not of the whole for each piece:
// eight times the pieces take eight times the memory, and not 64 times.
func TestGrowingTextIsLinear(t *testing.T) {
	// Not parallel: it counts all that is allocated.
	for name, code := range map[string]string{
		"added":         "let s = ''; for (let i = 0; i < args; i++) s += 'row ' + i + ' of many'; return s.length",
		"assigned":      "let s = ''; for (let i = 0; i < args; i++) s = s + 'row ' + i + ' of many'; return s.length",
		"not ASCII":     "let s = ''; for (let i = 0; i < args; i++) s += 'röw ' + i + ' of many'; return s.length",
		"late":          "let s = ''; for (let i = 0; i < args; i++) s += (i > args / 2 ? 'röw ' : 'row ') + i + ' of many'; return s.length",
		"numbers":       "let s = '0123456789'; for (let i = 0; i < args; i++) { s += i; s += true; s += 1n } return s.length",
		"two in turn":   "var a = '', b = ``; for (let i = 0; i < args; i++) { a += 'row ' + i; b += 'line ' + i } return a.length + b.length",
		"with an await": "let s = ''; for (let i = 0; i < args; i++) s += await ('row ' + i); return s.length",
	} {
		measure := func(n int) uint64 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			out := Run(t.Context(), Script{Code: code, Args: json.RawMessage(fmt.Sprint(n))}, newFake())
			runtime.ReadMemStats(&after)
			if out.Failed || len(out.Value) < 5 {
				t.Errorf("%s: %+v", name, out)
			}
			return after.TotalAlloc - before.TotalAlloc
		}
		if small, large := measure(2000), measure(16_000); large > 20*small {
			t.Errorf("%s: eight times the text takes %d bytes instead of %d", name, large, small)
		}
	}
}

// A text that grows is a string like any other: what was taken of it before stays as it was.
func TestGrowingText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ code, want string }{
		"two branches":                         {`let s = "", _s = s = "x".repeat(2000); s += "a"; let t = ""; t = s; s += "b"; t += "c"; const u = t; t += "d"; t = u; t += "e"; return [s.slice(-2), t.slice(-3), u.slice(-2), s.length, t.length]`, `["ab","ace","ac",2002,2003]`},
		"one as long":                          {`let s = "", _s = s = "x".repeat(2000), t = ""; s += "a"; t = "y".repeat(2001); t += "b"; return [s.slice(-2), t.slice(-2)]`, `["xa","yb"]`},
		"one as long, not ASCII":               {`let s = "", _s = s = "é".repeat(2000), t = ""; s += "a"; t = "ü".repeat(2001); t += "b"; return [s.slice(-2), t.slice(-2)]`, `["éa","üb"]`},
		"a branch of one that grew, not ASCII": {`let s = "", _s = s = "é".repeat(2000); s += "a"; let t = ""; t = s; s += "b"; t += "c"; return [s.slice(-2), t.slice(-2)]`, `["ab","ac"]`},
		"every step":                           {`let s = ""; const all = []; for (let i = 0; i < 3000; i++) { s += String.fromCharCode(97 + i % 26); all.push(s) } return all.every((x, i) => x.length === i + 1 && x[i] === String.fromCharCode(97 + i % 26) && s.startsWith(x))`, `true`},
		"ASCII to not":                         {`let s = "", _s = s = "x".repeat(1500); s += "y"; const before = s; s += "é😀"; s += "z"; return [before.length, before.slice(-1), s.length, s.slice(-5), s === "x".repeat(1500) + "yé😀z", s.charCodeAt(1502)]`, `[1501,"y",1505,"yé😀z",true,55357]`},
		"halves":                               {`let s = "", _s = s = "é".repeat(1500); s += "\ud83d"; s += "\ude00"; return [s.length, s.slice(-2), [...s].length]`, `[1502,"😀",1501]`},
		"of a result":                          {`let s = ""; s = args; s += args; s += "é"; s += args; return [s.length, s === args + args + "é" + args, s.at(-1)]`, `[6001,true,"r"]`},
		"as a key":                             {`let s = "", _s = s = "k".repeat(1200); s += "é"; const o = {}; o[s] = 1; const m = new Map([[s, 2]]); let t = "", _t = t = "k".repeat(1200); t += "é"; return [o[t], m.get(t), s === t, s < t + "a"]`, `[1,2,true,true]`},
		"itself":                               {`let s = "", _s = s = "é".repeat(1200); s += s; s += s; let a = "", _a = a = "a".repeat(1200); a += a; a += a; return [s.length, a.length, /^é+$/.test(s), /^a+$/.test(a)]`, `[4800,4800,true,true]`},
		"other values":                         {`let s = "", _s = s = "x".repeat(1200); s += null; s += undefined; s += {toString() { return "o" }}; s += [1, 2]; s += -0; s += 1e21; return s.slice(1200)`, "nullundefinedo1,201e+21"},
		"order":                                {`let s = "", _s = s = "x".repeat(1200); const f = () => { s += "f"; return "r" }; s += f(); let t = "", _t = t = "x".repeat(1200); t = t + (t = "y", "z") + "!"; return [s.slice(1199), t.slice(1199)]`, `["xr","xz!"]`},
		"a number":                             {`let s = ""; s = 1; s += 2; { let s = 5; s += 1n === 1n; return [s] }`, `[6]`},
		"other names":                          {`let s = ""; const r = [1, 2].map((s) => { s += 1; return s }); return [r, s]`, `[[2,3],""]`},
		"a sum in a sum":                       {`let s = "a"; s = s + 1 + 2; let t = "b"; t = 1 + 2 + t; let u = "c"; u = u + (1 + 2); return [s, t, u]`, `["a12","3b","c3"]`},
		"a symbol":                             {"let s = '', _s = s = 'x'.repeat(1200);\ntry {\n  s += Symbol('q');\n} catch (e) { return [e.name, s.length] }", `["TypeError",1200]`},
	} {
		out := Run(t.Context(), Script{Code: c.code, Args: json.RawMessage(`"` + fmt.Sprintf("%02000d", 0)[:1999] + `r"`)}, newFake())
		if diff := cmp.Diff(Outcome{Value: c.want, HasValue: true}, out); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	out := script(t, "let s = '', _s = s = 'x'.repeat(1200);\nlet n = 1;\n  s += Symbol('q');")
	if diff := cmp.Diff(Outcome{Failed: true, Failure: "TypeError: Cannot convert a Symbol value to a string (line 3, column 3)"}, out); diff != "" {
		t.Errorf("the place of an error (-want +got):\n%s", diff)
	}
}
