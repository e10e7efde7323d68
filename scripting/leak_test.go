package scripting_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

// TestNothingLeaks: a script has no way to the machine, to the program or to another script.
func TestNothingLeaks(t *testing.T) {
	t.Setenv("WEIR_TEST_SECRET", "leaked")
	s := sandbox(t, scripting.Limits{})
	f := &fake{
		tools:  answers{"echo": func(_ context.Context, args json.RawMessage) tool.Result { return tool.Text(string(args)) }},
		stored: map[string]tool.Whole{"r1-1": text("r1-1", "t", "x")},
	}
	for _, c := range []struct{ name, code, want string }{
		{"names", `return ["process", "require", "module", "global", "Deno", "Bun", "fetch", "XMLHttpRequest", "WebSocket", "WebAssembly", "importScripts", "Worker", "SharedArrayBuffer"].filter(n => typeof globalThis[n] !== "undefined").join()`, ""},
		{"constructor", `try { return String(Promise.resolve().constructor.constructor("return typeof process + typeof require")()) } catch (e) { return "refused" }`, "undefinedundefined|refused"},
		{"a tool's constructor", `try { return String(tools.echo.constructor("return typeof process + typeof require")()) } catch (e) { return "refused" }`, "undefinedundefined|refused"},
		{"console's constructor", `try { return String(console.log.constructor("return typeof process + typeof require")()) } catch (e) { return "refused" }`, "undefinedundefined|refused"},
		{"a result's constructor", `const r = await tools.echo({}); try { return String(r.constructor.constructor("return typeof process + typeof require")()) } catch (e) { return "refused" }`, "undefinedundefined|refused"},
		{"eval", `try { return String((0, eval)("typeof process + typeof require")) } catch (e) { return "refused" }`, "undefinedundefined|refused"},
		{"import", `try { const m = await import("fs"); return m.readFileSync("/etc/passwd", "utf8") } catch (e) { return "refused" }`, "refused|[|"},
		{"environment", `return JSON.stringify(Object.getOwnPropertyNames(globalThis)).includes("WEIR_TEST") + ""`, "false"},
		{"host functions", `return Object.getOwnPropertyNames(tools.echo).concat(Object.getOwnPropertyNames(console.log)).filter(n => !["name", "length", "prototype"].includes(n)).join()`, ""},
		{"own source", `return /\.go|\/root|\/home|\/src/.test(String(tools.echo) + String(console.log) + String(results.get)) + ""`, "false"},
		{"stack of an error", `try { await tools.echo({get a() { throw new Error("x") }}) } catch (e) { return /\.go:|\/src\//.test(e.stack) + "" }; return "false"`, "false"},
		{"a global stays", `globalThis.left = 1; Object.prototype.polluted = "yes"; Array.prototype.push = () => 0; return "set"`, "set"},
		{"a global is gone", `return [typeof left, typeof ({}).polluted, [].push(1)].join()`, "undefined,undefined,1"},
		{"tools cannot be replaced", `try { tools.echo = () => 1; delete tools.echo } catch (e) {} return (await tools.echo({a: 1})).text`, `{"a":1}`},
		{"pollution reaches no tool", `Object.prototype.toJSON = () => "polluted"; return (await tools.echo({a: 1})).text`, `{"a":1}|"polluted"`},
	} {
		got, isError := run(t, s, f, c.code)
		if strings.Contains(got, "leaked") || strings.Contains(got, "root:") {
			t.Errorf("%s: %q", c.name, got)
		}
		if isError && strings.HasPrefix(got, "[") && strings.Contains(c.want, "[|") {
			continue // it does not even begin
		}
		if isError || !isOne(got, c.want) {
			t.Errorf("%s: got %q (error %v), want %q", c.name, got, isError, c.want)
		}
	}
	var calls []string
	for _, called := range f.calls() {
		if strings.Contains(called, "polluted") {
			calls = append(calls, called)
		}
	}
	if len(calls) > 1 {
		t.Errorf("calls that were not made so: %q", calls)
	}
}

// isOne reports whether a text is one of several, which stand between bars.
func isOne(text, several string) bool {
	for one := range strings.SplitSeq(several, "|") {
		if text == one {
			return true
		}
	}
	return false
}
