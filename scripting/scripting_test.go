package scripting_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

// What the model gets: what was printed, the value on a line of its own, one status line when something is
// off; an error result only when the script did not get to its end.
func TestWhatTheModelGets(t *testing.T) {
	t.Parallel()
	s := sandbox(t, scripting.Limits{})
	for _, c := range []struct {
		name, code, want string
		isError          bool
	}{
		{"printed", `console.log("a", 1); console.log("b")`, "a 1\nb\n", false},
		{"a string is its text", `return "a \"b\"\nc"`, "a \"b\"\nc", false},
		{"anything else is JSON", `return {a: [1, null], b: "<&>"}`, `{"a":[1,null],"b":"<&>"}`, false},
		{"both", `console.log("seen"); return 7`, "seen\n7", false},
		{"nothing", `const a = 1`, "[the script ended; it printed and returned nothing]", false},
		{"an empty string", `return ""`, "", false},
		{"top-level await", `return await Promise.resolve(3)`, "3", false},
	} {
		got, isError := run(t, s, nil, c.code)
		if d := cmp.Diff(c.want, got); d != "" || isError != c.isError {
			t.Errorf("%s: error %v, want %v (-want +got):\n%s", c.name, isError, c.isError, d)
		}
	}
	got, isError := run(t, s, nil, "console.log('so far')\nnull.x")
	if lines := strings.Split(got, "\n"); !isError || len(lines) != 2 || lines[0] != "so far" ||
		!strings.HasPrefix(lines[1], "[") || !strings.Contains(lines[1], "TypeError") || !strings.Contains(lines[1], "2") {
		t.Errorf("a failed script: error %v, %q", isError, got)
	}
	got, _ = run(t, s, nil, "return args", "args", map[string]any{"a": []int{1}})
	if got != `{"a":[1]}` {
		t.Errorf("args came as %q", got)
	}
}

func TestCallsAndResults(t *testing.T) {
	t.Parallel()
	f := &fake{
		tools: answers{
			"server--echo": func(_ context.Context, args json.RawMessage) tool.Result { return tool.Text(string(args)) },
			"get": func(context.Context, json.RawMessage) tool.Result {
				return tool.Result{Data: "text", Structured: []byte(`{"id":612345678901234567}`)}
			},
		},
		stored: map[string]tool.Whole{"r1-1": text("r1-1", "grep", "one\ntwo\nthree\n")},
	}
	s := sandbox(t, scripting.Limits{})
	for _, c := range []struct{ name, code, want string }{
		{"by name", `return (await tools["server--echo"]({a: 1})).text`, `{"a":1}`},
		{"by identifier", `return (await tools.server__echo({})).text`, `{}`},
		{"large integers", `return (await tools.get()).data`, `{"id":612345678901234567}`},
		{"an unknown tool", `try { const r = await tools.nothing({}); return r.isError } catch (e) { return true }`, `true`},
		{"not itself", `try { return (await tools["code_execution"]({code: "1"})).isError } catch (e) { return true }`, `true`},
		{"stored", `return (await results.get("r1-1")).lines.length`, `3`},
		{"the list", `return (await results.list()).map(r => r.id)`, `["r1-1"]`},
		{"parallel", `return (await Promise.all([1, 2, 3].map(n => tools.server__echo({n})))).map(r => r.data.n)`, `[1,2,3]`},
	} {
		if got, isError := run(t, s, f, c.code); got != c.want || isError {
			t.Errorf("%s: got %q (error %v), want %q", c.name, got, isError, c.want)
		}
	}
	for _, called := range f.calls() {
		if strings.HasPrefix(called, scripting.Name) {
			t.Errorf("the tool was called from a script: %s", called)
		}
	}
}

// Calls are numbered in the order in which the script makes them.
func TestCallsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	f := &fake{tools: answers{"t": func(context.Context, json.RawMessage) tool.Result { return tool.Text("") }}}
	s := sandbox(t, scripting.Limits{})
	var want []string
	for range 10 {
		if got, isError := run(t, s, f, `await Promise.all(Array.from({length: 200}, (_, i) => tools.t(i)))`); isError {
			t.Fatal(got)
		}
		for i := range 200 {
			want = append(want, fmt.Sprintf("t %d", i))
		}
	}
	if d := cmp.Diff(want, f.calls()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

// A result that is too long to be handed over whole is read in pieces.
func TestLongResultInPieces(t *testing.T) {
	t.Parallel()
	const lines = 30_000 // 480 KB
	f := &fake{stored: map[string]tool.Whole{"r1-1": big{lines}.whole("r1-1")}}
	s := sandbox(t, scripting.Limits{Inner: lines})
	for _, c := range []struct{ name, code, want string }{
		{"whole", `try { return (await results.get("r1-1")).text.length } catch (e) { return /read/.test(e.message) && /grep/.test(e.message) }`, "true"},
		{"lines", `return (await results.get("r1-1")).read(29999, 30005)`, "row 00000029999\nrow 00000030000"},
		{"search", `return (await results.get("r1-1")).grep(/0{4}$/).length`, "3"},
	} {
		if got, isError := run(t, s, f, c.code); got != c.want || isError {
			t.Errorf("%s: got %.200q (error %v), want %q", c.name, got, isError, c.want)
		}
	}
}

func TestArgumentsThatAreWrong(t *testing.T) {
	t.Parallel()
	s := sandbox(t, scripting.Limits{})
	for _, c := range []struct{ args, want string }{
		{`{}`, "code is missing"},
		{`{"code":""}`, "code is empty"},
		{`{"code":" \n"}`, "code is empty"},
		{`{"code":7}`, "code must be a string"},
		{`{"code":"1","timeout_ms":0}`, "1 to 600000 milliseconds; left out it is 60000"},
		{`{"code":"1","timeout_ms":600001}`, "1 to 600000 milliseconds"},
		{`{"code":"1","timeout_ms":"soon"}`, "1 to 600000 milliseconds"},
		{`{"code":"1","background":true}`, "there is no argument"},
		{`[1]`, "not a JSON object"},
		{`{"code":"` + strings.Repeat(" 1;", 400_000) + `"}`, "at most 1000000 are allowed"},
	} {
		r, err := s.Tool().Run(in(t.Context(), nil), tool.Call{Name: scripting.Name, Args: json.RawMessage(c.args)})
		if err != nil || !r.IsError || !strings.Contains(r.Error, c.want) || strings.Contains(r.Error, "\n") {
			t.Errorf("%.60s: got %v %q, want one line with %q", c.args, err, r.Error, c.want)
		}
	}
}

func TestConfigThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cfg  scripting.Config
		want string
	}{
		{scripting.Config{Limits: scripting.Limits{Wall: -1}}, "Wall is -1ns"},
		{scripting.Config{Limits: scripting.Limits{Wall: 2 * time.Second, MaxWall: time.Second}}, "over MaxWall"},
		{scripting.Config{Limits: scripting.Limits{Heap: 1}}, "Heap is 1"},
		{scripting.Config{Limits: scripting.Limits{Calls: -4}}, "Calls is -4"},
		{scripting.Config{Limits: scripting.Limits{Output: -1}}, "Output is -1"},
		{scripting.Config{Command: []string{""}}, "Config.Command is empty"},
	} {
		if _, err := scripting.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.cfg, err, c.want)
		}
		if len(c.cfg.Command) == 0 {
			if _, err := scripting.InProcess(c.cfg); err == nil {
				t.Errorf("%+v: InProcess takes it", c.cfg)
			}
		}
	}
}

// The description names the tools in one order, whatever order they came in, and is bounded; the schema is
// frozen.
func TestToolIsFrozen(t *testing.T) {
	t.Parallel()
	s := sandbox(t, scripting.Limits{})
	a, b := s.Tool("b", "a", scripting.Name, "b"), s.Tool("a", "b")
	if a.Description != b.Description || string(a.Schema) != string(b.Schema) || a.Check() != nil {
		t.Errorf("two tools of one configuration differ: %q %q", a.Description, b.Description)
	}
	for _, want := range []string{"Tools: a, b.", "1m0s", "512 MiB", "200 tool calls", "1,000,000 characters", "results.get"} {
		if !strings.Contains(a.Description, want) {
			t.Errorf("the description does not say %q:\n%s", want, a.Description)
		}
	}
	if strings.Contains(a.Description, scripting.Name) {
		t.Error("the tool offers itself")
	}
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("server--tool_%03d", i))
	}
	if d := s.Tool(many...).Description; len(d) > 4000 || !strings.Contains(d, " and 440 more") {
		t.Errorf("with 500 tools it has %d bytes:\n%s", len(d), d)
	}
	if !a.Dispatches || a.Repeatable() || a.Timeout <= 10*time.Minute {
		t.Errorf("traits: %+v", a.Traits)
	}
}

// One script of a conversation runs at a time; another one waits and then has its whole time. Scripts of
// other conversations do not wait.
func TestOneScriptAtATime(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int32
	f := &fake{tools: answers{"t": func(context.Context, json.RawMessage) tool.Result {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(50 * time.Millisecond)
		now.Add(-1)
		return tool.Text("")
	}}}
	s := sandbox(t, scripting.Limits{})
	done := make(chan bool, 4)
	for range cap(done) {
		go func() {
			_, isError := run(t, s, f, "await tools.t()")
			done <- isError
		}()
	}
	for range cap(done) {
		if <-done {
			t.Error("an error result")
		}
	}
	if most.Load() != 1 {
		t.Errorf("%d scripts of one conversation ran at once", most.Load())
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	held := make(chan struct{})
	go func() {
		defer close(held)
		_, _ = s.Tool().Run(in(ctx, f), tool.Call{Args: call(t, "await sleep(60000)")})
	}()
	time.Sleep(20 * time.Millisecond)
	waits, giveUp := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer giveUp()
	if _, err := s.Tool().Run(in(waits, f), tool.Call{Args: call(t, "return 1")}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one that waited too long: %v", err)
	}
	other := tool.WithCall(t.Context(), tool.Running{Conversation: "another"})
	if got, _ := shown(t)(s.Tool().Run(other, tool.Call{Args: call(t, "return 1")})); got != "1" {
		t.Errorf("another conversation's: %q", got)
	}
	stop()
	<-held
}

// Cancelling the turn ends the script and its inner calls, and what comes late goes nowhere.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, inPlace := range []bool{false, true} {
		started, ended := make(chan struct{}), make(chan struct{})
		f := &fake{tools: answers{"slow": func(ctx context.Context, _ json.RawMessage) tool.Result {
			close(started)
			<-ctx.Done()
			close(ended)
			return tool.Text("late")
		}}}
		s := sandbox(t, scripting.Limits{})
		if inPlace {
			var err error
			if s, err = scripting.InProcess(scripting.Config{}); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() {
			<-started
			stop()
		}()
		began := time.Now()
		got, isError := shown(t)(s.Tool().Run(in(ctx, f), tool.Call{Args: call(t, `console.log("so far"); const r = await tools.slow(); console.log(r.text)`)}))
		if got != "so far\n[stopped: the call was cancelled]" || !isError {
			t.Errorf("in place %v: got %q (error %v)", inPlace, got, isError)
		}
		if took := time.Since(began); took > 5*time.Second+slack {
			t.Errorf("in place %v: it took %s", inPlace, took)
		}
		<-ended
	}
}

// A runtime that cannot go on ends the script; one that says so ends the turn.
func TestRuntimeThatCannotGoOn(t *testing.T) {
	t.Parallel()
	s := sandbox(t, scripting.Limits{})
	f := &fake{tools: answers{"t": nil}, fails: errBroken}
	got, isError := run(t, s, f, `try { await tools.t() } catch (e) {} ; console.log("on"); await sleep(5000)`)
	if !isError || !strings.Contains(got, "[stopped: t could not be called: the store is broken]") {
		t.Errorf("got %q (error %v)", got, isError)
	}
	f.fails = tool.Fatal(errBroken)
	if _, err := s.Tool().Run(in(t.Context(), f), tool.Call{Args: call(t, `await tools.t()`)}); !errors.Is(err, errBroken) || !tool.IsFatal(err) {
		t.Errorf("got %v, want the fatal error", err)
	}
}

// Output goes to the call's own place as it is printed, with the value and the status behind it.
func TestOutputGoesToTheSpool(t *testing.T) {
	t.Parallel()
	place := &spool{}
	var told atomic.Int32
	f := &fake{tools: answers{"look": func(context.Context, json.RawMessage) tool.Result {
		return tool.Text(place.String())
	}}}
	r, _ := tool.CallFrom(in(t.Context(), f))
	r.Spool = func() tool.Spool { return place }
	r.Progress = func(string) { told.Add(1) }
	got, err := sandbox(t, scripting.Limits{}).Tool().Run(tool.WithCall(t.Context(), r), tool.Call{
		Args: call(t, `console.log("one"); const r = await tools.look(); console.log(r.text.length); return r.text`),
	})
	if err != nil || got.IsError {
		t.Fatal(err, got)
	}
	if d := cmp.Diff(tool.Result{Data: tool.Spooled{}}, got, cmp.AllowUnexported(tool.Result{})); d != "" {
		t.Errorf("result (-want +got):\n%s", d)
	}
	if d := cmp.Diff("one\n4\none\n", place.String()); d != "" {
		t.Errorf("the place (-want +got):\n%s", d)
	}
	if told.Load() == 0 {
		t.Error("no progress was reported")
	}
}

func TestInProcess(t *testing.T) {
	t.Parallel()
	s, err := scripting.InProcess(scripting.Config{Limits: scripting.Limits{Calls: 3, Output: 100}})
	if err != nil {
		t.Fatal(err)
	}
	f := &fake{
		tools:  answers{"echo": func(_ context.Context, args json.RawMessage) tool.Result { return tool.Text(string(args)) }},
		stored: map[string]tool.Whole{"r1-1": text("r1-1", "t", "a\nb\n")},
	}
	for _, c := range []struct {
		name, code, want string
		isError          bool
	}{
		{"works", `console.log((await tools.echo({a: 1})).text); return (await results.get("r1-1")).lines`, "{\"a\":1}\n[\"a\",\"b\"]", false},
		{"calls", `for (;;) await tools.echo()`, "[stopped: it made more than its limit of 3 tool calls]", true},
		{"output", `for (;;) console.log("123456789")`, strings.Repeat("123456789\n", 10) + "[stopped: it printed and returned more than its limit of 100 characters]", true},
		{"time", `console.log("on"); for (;;);`, "on\n[stopped: it ran longer than its limit of 2s]", true},
	} {
		ms := 20_000
		if c.name == "time" {
			ms = 2000
		}
		got, isError := run(t, s, f, c.code, "timeout_ms", ms)
		if d := cmp.Diff(c.want, got); d != "" || isError != c.isError {
			t.Errorf("%s: error %v (-want +got):\n%s", c.name, isError, d)
		}
	}
}
