package scripting

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/weir-run/weir/internal/args"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/scripting/internal/realm"
	"github.com/weir-run/weir/tool"
)

// margin is what the runner's limit of a call has over the longest that a call takes by itself.
const margin = 15 * time.Second

// maxNames is how many names of tools the description lists, and maxNamesBytes how long that may be.
const (
	maxNames      = 60
	maxNamesBytes = 2000
)

// Tool makes the tool code_execution. Its description names the tools that a script can call: names are
// those of the tools that are offered beside it, in any order. With none it says that every other tool can
// be called. What a script may really call is decided by the call that runs it.
//
// Of one conversation one script runs at a time; another one waits for it, and its own time begins when it
// starts.
func (s *Scripting) Tool(names ...string) tool.Tool {
	return tool.Tool{
		Name:        Name,
		Description: s.description(names),
		Schema:      s.schema(),
		Traits: tool.Traits{
			Dispatches: true,
			Serial:     true,
			Timeout:    2*s.limits.MaxWall + margin, // its own time, and that of one it waits for
		},
		Run: s.call,
	}
}

// description is part of the prompt: for one configuration its bytes never change.
func (s *Scripting) description(names []string) string {
	l := s.limits
	return fmt.Sprintf("Run JavaScript in a sandbox to filter, join or count results, or to call tools many times, "+
		"without all of it passing through you: you get only what the script prints (console.log) and returns. "+
		"code is the body of an async function: await and return work at its top level.\n"+
		`Globals: await tools["NAME"](args) calls a tool and gives {text, data, lines, isError}, where data is parsed JSON when there is any `+
		"(an error is a result with isError; unwrap(result) throws it); "+
		`results.list(), and results.get("r3-1"), which is a stored result whole, also where you saw only a part; `+
		"args; console; sleep(ms), setTimeout, URL, TextEncoder, structuredClone, crypto.randomUUID. "+
		"No network, no files, no require. Promise.all runs calls in parallel.\n"+
		"%s\nLimits: %s (timeout_ms up to %d), %d MiB of memory, %s tool calls, %s characters of output.",
		named(names), l.Wall, l.MaxWall.Milliseconds(), l.Heap>>20, count(int64(l.Calls)), count(l.Output))
}

// named lists the tools.
func named(names []string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == Name })
	if len(names) == 0 {
		return "Tools: every other tool that you have, under its own name."
	}
	slices.Sort(names)
	names = slices.Compact(names)
	var b strings.Builder
	b.WriteString("Tools: ")
	for i, n := range names {
		if i == maxNames || b.Len()+len(n) > maxNamesBytes {
			fmt.Fprintf(&b, " and %d more, each under its own name", len(names)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(n)
	}
	return b.String() + "."
}

// schema is part of the prompt too.
func (s *Scripting) schema() json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{`+
		`"code":{"type":"string","description":"JavaScript, the body of an async function"},`+
		`"args":{"description":"what the script sees as args"},`+
		`"timeout_ms":{"type":["integer","string"],"description":"time limit in milliseconds, 1 to %d; default %d"}},`+
		`"required":["code"],"additionalProperties":false}`,
		s.limits.MaxWall.Milliseconds(), s.limits.Wall.Milliseconds())
}

// job is one script with what it was given.
type job struct {
	script realm.Script
	wall   time.Duration
}

// call runs one call of the tool.
func (s *Scripting) call(ctx context.Context, c tool.Call) (tool.Result, error) {
	running, _ := tool.CallFrom(ctx)
	j, err := s.arguments(c, running)
	if err != nil {
		return tool.Errorf(`%s: %v. Example: {"code":"return (await tools[\"NAME\"]({})).lines.length"}`, Name, err), nil
	}
	leave, err := s.lanes.enter(ctx, running.Conversation)
	if err != nil {
		return tool.Result{}, fmt.Errorf("wait for the script that runs in this conversation: %w", err)
	}
	defer leave()
	return s.run(ctx, j, running)
}

// arguments reads the arguments of a call.
func (s *Scripting) arguments(c tool.Call, running tool.Running) (job, error) {
	if raw, replaced := canon.CleanJSON(c.Args); replaced > 0 {
		c.Args = raw
	}
	a := args.Parse(c, "code", "args", "timeout_ms")
	code := a.Text("code", true)
	most := s.limits.MaxWall.Milliseconds()
	ms := a.Whole("timeout_ms", 1, most, fmt.Sprintf("1 to %d milliseconds; left out it is %d", most, s.limits.Wall.Milliseconds()))
	if len(code) > MaxCode {
		a.Fail("code has %d bytes, at most %d are allowed: hand data over in args or read it from results", len(code), MaxCode)
	}
	if strings.TrimSpace(code) == "" {
		a.Fail("code is empty")
	}
	if err := a.Err(); err != nil {
		return job{}, err
	}
	j := job{wall: s.limits.Wall, script: realm.Script{Code: code, Seed: seed(running.Key, code), Tools: offered(running)}}
	if ms > 0 {
		j.wall = time.Duration(ms) * time.Millisecond
	}
	if a.Has("args") {
		var given struct{ Args json.RawMessage }
		if err := json.Unmarshal(c.Args, &given); err != nil {
			return job{}, fmt.Errorf("the arguments do not fit: %w", err)
		}
		j.script.Args = given.Args
	}
	j.script.Limits = realm.Limits{InnerChars: s.limits.Inner, Heap: s.limits.Heap}
	return j, nil
}

// offered are the tools that a script can call.
func offered(running tool.Running) []string {
	return slices.DeleteFunc(slices.Clone(running.Offered), func(n string) bool { return n == Name })
}

// seed decides what is random in a script: the same for every attempt of one call.
func seed(key, code string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key + "\x00" + code)) // a hash takes everything
	return h.Sum64()
}
