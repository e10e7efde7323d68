package cases

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

// scriptCases are the scripts of the field: js-* and C163.
func scriptCases() map[string]runner {
	return map[string]runner{
		"C126": scriptThatNeverEnds, "C128": scriptOfTooMuch, "C129": scriptThatLooksForAWayOut,
		"C131": scriptThatDropsAnError, "C133": scriptWithoutABottom, "C163": scriptOfLargeIntegers,
	}
}

// scriptInput is the input of kind script.
type scriptInput struct {
	Kind   string `json:"kind"`
	JS     string `json:"js"`
	Limits struct {
		Wall int64 `json:"wall_ms"`
		Heap int64 `json:"mem_bytes"`
	} `json:"limits"`
	Returns string `json:"tool_returns_raw"`
}

// scripts makes a world in which the model can run scripts over these tools.
func scripts(t *testing.T, limits scripting.Limits, tools ...tool.Tool) *world {
	t.Helper()
	s, err := scripting.New(scripting.Config{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var names []string
	for _, x := range tools {
		names = append(names, x.Name)
	}
	return quick(t, append(tools, s.Tool(names...))...)
}

// runs is a call of the model that runs a script.
func runs(t *testing.T, id, code string) scripted.Call {
	t.Helper()
	raw, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	return asks(id, scripting.Name, string(raw))
}

// script runs the script of a case.
func (w *world) script(code string) answer {
	w.t.Helper()
	return w.round(runs(w.t, "s", code))[0]
}

// alive holds that the program runs the next script as if nothing had been.
func (w *world) alive() {
	w.t.Helper()
	if a := w.script("return 6 * 7"); a.text != "42" || a.isError {
		w.t.Errorf("the next script is answered %q", a.text)
	}
}

func scriptThatNeverEnds(t *testing.T, c field) {
	in := inputOf[scriptInput](t, c)
	wall := time.Duration(in.Limits.Wall) * time.Millisecond
	w := scripts(t, scripting.Limits{Wall: wall})
	began := time.Now()
	a := w.script(`console.log("so far"); ` + in.JS)
	// A busy machine may need the whole time to begin.
	if !strings.HasSuffix(a.text, "[stopped: it ran longer than its limit of "+wall.String()+"]") || !a.isError {
		t.Errorf("it is answered %q", a.text)
	}
	if took := time.Since(began); took > wall+soon {
		t.Errorf("it took %s", took)
	}
	w.alive()
}

func scriptOfTooMuch(t *testing.T, c field) {
	in := inputOf[scriptInput](t, c)
	w := scripts(t, scripting.Limits{Heap: in.Limits.Heap, Wall: 20 * time.Second})
	if a := w.script(in.JS); !a.isError || !strings.Contains(a.text, "memory") {
		t.Errorf("it is answered %q", a.text)
	}
	w.alive()
}

func scriptThatLooksForAWayOut(t *testing.T, c field) {
	a := scripts(t, scripting.Limits{}).script(inputOf[scriptInput](t, c).JS)
	if a.text != "undefinedundefined" && !a.isError {
		t.Errorf("it is answered %q", a.text)
	}
}

func scriptThatDropsAnError(t *testing.T, c field) {
	w := scripts(t, scripting.Limits{}, handler("fail", func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Error("it failed"), nil
	}))
	// A call that nobody waited for is told of; so is an error that nobody caught.
	if a := w.script(inputOf[scriptInput](t, c).JS); !strings.HasPrefix(a.text, "done\n[") || !strings.Contains(a.text, "fail") {
		t.Errorf("it is answered %q", a.text)
	}
	if a := w.script(`tools.fail().then(unwrap); await sleep(50); return "done"`); !strings.HasPrefix(a.text, "done\n[") || !strings.Contains(a.text, "it failed") {
		t.Errorf("an error that nobody caught: %q", a.text)
	}
	w.alive()
}

func scriptWithoutABottom(t *testing.T, c field) {
	w := scripts(t, scripting.Limits{})
	a := w.script(inputOf[scriptInput](t, c).JS)
	if !a.isError || !strings.Contains(a.text, "1000 levels") || strings.Contains(a.text, "goroutine") {
		t.Errorf("it is answered %q", a.text)
	}
	if a := w.script(`const a = {}; a.self = a; console.log(a); return a`); !strings.Contains(a.text, "ircular") {
		t.Errorf("a cycle is answered %q", a.text)
	}
	w.alive()
}

func scriptOfLargeIntegers(t *testing.T, c field) {
	in := inputOf[scriptInput](t, c)
	var sent []string
	w := scripts(
		t, scripting.Limits{},
		handler("get", func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Data: json.RawMessage(in.Returns), Structured: json.RawMessage(in.Returns)}, nil
		}),
		handler("put", func(_ context.Context, c tool.Call) (tool.Result, error) {
			sent = append(sent, string(c.Args))
			return tool.Text(""), nil
		}),
	)
	if a := w.script(in.JS); !strings.Contains(a.text, "612345678901234567") {
		t.Errorf("it is answered %q", a.text)
	}
	if a := w.script(`const {id} = (await tools.get()).data; await tools.put({id}); return typeof id + " " + id`); a.text != "bigint 612345678901234567" {
		t.Errorf("the integer is %q", a.text)
	}
	if len(sent) != 1 || sent[0] != in.Returns {
		t.Errorf("it went back as %q", sent)
	}
}
