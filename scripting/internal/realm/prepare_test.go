package realm

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A realm that was made ahead is the same world as one that was made for the script: its chance, its clock,
// its tools, its arguments and its limits are the script's, whenever it was made.
func TestLaw09PreparedRealm(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	code := `return [Math.random(), crypto.randomUUID(), new Date().toISOString().slice(0, 18),
		Object.keys(tools), args.n, (() => { try { return "x".repeat(5e6).length } catch (e) { return e.name } })(),
		(() => { try { return results.get("r9-1").text } catch (e) { return e.message } })()]`
	answer := func(p *Prepared, n string) string {
		h := newFake()
		out := p.Run(t.Context(), Script{
			Code: strings.ReplaceAll(code, "5e6", n), Tools: h.names(), Seed: 5, Now: at,
			Args: json.RawMessage(`{"n":12345678901234567890}`), Limits: Limits{Heap: 32 << 20, InnerChars: 7},
		}, h)
		if out.Failed {
			t.Errorf("%+v", out)
		}
		return out.Value
	}
	early := Prepare()
	late := answer(Prepare(), "5e6")
	if diff := cmp.Diff(late, answer(early, "5e6")); diff != "" {
		t.Errorf("made for the script, then made ahead (-want +got):\n%s", diff)
	}
	for _, want := range []string{"12345678901234567890", `"RangeError"`, `"2030-01-02T03:04:0`, " more than the 7 that fit"} {
		if !strings.Contains(late, want) {
			t.Errorf("there is no %s in %s", want, late)
		}
	}
	if got := answer(Prepare(), "1e6"); !strings.Contains(got, ",1000000,") {
		t.Errorf("what fits its heap does not run: %s", got)
	}
}

// The clock of a script starts with it, not with its realm.
func TestClockStartsWithTheScript(t *testing.T) {
	t.Parallel()
	p := Prepare()
	time.Sleep(200 * time.Millisecond)
	began := time.Now()
	out := p.Run(t.Context(), Script{Code: "return performance.now()"}, newFake())
	took := time.Since(began)
	ms, err := strconv.ParseFloat(out.Value, 64)
	if err != nil || ms < 0 || ms > float64(took.Microseconds())/1000 {
		t.Errorf("the clock shows %s ms in a script that took %v: %v", out.Value, took, err)
	}
}

func TestPreparedTakesOneScript(t *testing.T) {
	t.Parallel()
	p := Prepare()
	if diff := cmp.Diff(Outcome{Value: "1", HasValue: true}, p.Run(t.Context(), Script{Code: "return 1"}, newFake())); diff != "" {
		t.Errorf("the first (-want +got):\n%s", diff)
	}
	want := Outcome{Failed: true, Failure: "the realm has had its script: each takes one"}
	if diff := cmp.Diff(want, p.Run(t.Context(), Script{Code: "return 2"}, newFake())); diff != "" {
		t.Errorf("a second (-want +got):\n%s", diff)
	}
}

// Two names that share a short form keep their exact ones; the short form says so, and names both. A tool
// whose exact name is the short form of another keeps it.
func TestNamesThatCollide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, code, want string
		tools            []string
	}{
		{"alone", `return (await tools.a__b()).text`, "unknown tool a--b", []string{"a--b"}},
		{"the exact names of both", `return [(await tools["a--b"]()).text, (await tools["a-.b"]()).text]`, `["unknown tool a--b","unknown tool a-.b"]`, []string{"a--b", "a-.b"}},
		{
			"the short form of both", `try { return tools.a__b } catch (e) { return e.name + ": " + e.message }`,
			`ReferenceError: tools.a__b could be tools["a--b"] or tools["a-.b"]: use the exact name`,
			[]string{"a--b", "a-.b"},
		},
		{
			"the short form of three", `try { return tools.a__b } catch (e) { return e.message }`,
			`tools.a__b could be tools["a--b"] or tools["a-.b"] or tools["a.-b"]: use the exact name`,
			[]string{"a--b", "a-.b", "a.-b"},
		},
		{"an exact name goes first", `return [(await tools.a__b()).text, (await tools["a--b"]()).text]`, `["unknown tool a__b","unknown tool a--b"]`, []string{"a--b", "a__b"}},
		{"others are as they were", `return (await tools.c_d()).text`, "unknown tool c-d", []string{"a--b", "a-.b", "c-d"}},
		{"only exact names are listed", `return Object.keys(tools)`, `["a--b","a-.b"]`, []string{"a--b", "a-.b"}},
	} {
		if diff := cmp.Diff(Outcome{Value: c.want, HasValue: true}, Run(t.Context(), Script{Code: c.code, Tools: c.tools}, newFake())); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
