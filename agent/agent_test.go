package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

// world is a state folder and a folder of request bodies, used by one process after the other.
type world struct {
	t           *testing.T
	dir, bodies string
	script      scripted.Script
	config      agent.Config
	tools       []tool.Tool
}

func newWorld(t *testing.T, steps ...scripted.Step) *world {
	t.Helper()
	dir := t.TempDir()
	return &world{t: t, dir: dir, bodies: dir + "/bodies", script: scripted.Script{Steps: steps}}
}

func (w *world) store() *sqlite.Store {
	w.t.Helper()
	s, err := sqlite.Open(w.t.Context(), w.dir, sqlite.Config{})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// with runs f with a store and an agent of their own, as a process of its own would.
func (w *world) with(f func(*agent.Agent, *sqlite.Store)) {
	w.t.Helper()
	s := w.store()
	defer func() {
		if err := s.Close(); err != nil {
			w.t.Error(err)
		}
	}()
	model, err := scripted.New(w.script, scripted.Config{Bodies: w.bodies})
	if err != nil {
		w.t.Fatal(err)
	}
	cfg := w.config
	cfg.Tools = w.tools
	a, err := agent.New(s, model, cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	f(a, s)
}

func (w *world) run(text string) agent.Outcome {
	w.t.Helper()
	var out agent.Outcome
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		var err error
		if out, err = a.Run(w.t.Context(), agent.Turn{Conversation: "c", Text: text}).Collect(); err != nil {
			w.t.Fatal(err)
		}
	})
	return out
}

func (w *world) verify() {
	w.t.Helper()
	s := w.store()
	defer func() { _ = s.Close() }()
	problems, err := history.Verify(w.t.Context(), s, "c")
	if err != nil || len(problems) > 0 {
		w.t.Errorf("verify: %v %v", problems, err)
	}
}

func handler(name string, traits tool.Traits, run tool.Handler) tool.Tool {
	return tool.Tool{Name: name, Schema: []byte(`{"type":"object"}`), Traits: traits, Run: run}
}

func says(name, text string) tool.Tool {
	return handler(name, tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) { return tool.Text(text), nil })
}

func call(name, args string) scripted.Call { return scripted.Call{Tool: name, Args: []byte(args)} }

// A conversation over several turns, each in a process of its own: every body is a prefix of the next.
func TestLaw03ThePrefixHoldsAcrossTurnsAndRestarts(t *testing.T) {
	w := newWorld(t,
		scripted.Step{Text: "I look.", Calls: []scripted.Call{call("small", `{"a": 1.0, "b":"<&>"}`), call("big", `{}`)}},
		scripted.Step{Text: "First."},
		scripted.Step{Calls: []scripted.Call{call("small", ``), call("missing", `{}`), call("small", `{"cut`)}},
		scripted.Step{Text: "Second."},
		scripted.Step{Text: "Third."},
	)
	w.tools = []tool.Tool{says("small", "a < b & \u2028 \x00 end"), says("big", strings.Repeat("row & <b>\n", 9000))}
	for i, want := range []string{"First.", "Second.", "Third."} {
		if got := w.run(fmt.Sprint("turn ", i)).Text; got != want {
			t.Fatalf("turn %d: %q, want %q", i, got, want)
		}
	}
	bodies := membranetest.Bodies(t, w.bodies)
	if len(bodies) != 5 {
		t.Errorf("%d requests, want 5", len(bodies))
	}
	membranetest.Prefix(t, scripted.Split, bodies...)
	w.verify()
}

// The bytes that the model received for a result are those that are stored as shown.
func TestLaw02TheModelReceivedWhatIsStored(t *testing.T) {
	long := strings.Repeat("row\n", 20000)
	w := newWorld(t, scripted.Step{Calls: []scripted.Call{call("big", `{}`)}}, scripted.Step{Play: func(s scripted.Seen) (scripted.Step, error) {
		return scripted.Step{Text: s.Results()[0].Text}, nil
	}})
	w.tools = []tool.Tool{says("big", long)}
	out := w.run("go")
	w.with(func(_ *agent.Agent, s *sqlite.Store) {
		r, err := s.ResultOf(t.Context(), "c", history.CallID{Round: 1, Index: 1})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(r.Shown), out.Text); d != "" {
			t.Errorf("stored against received:\n%s", d)
		}
		if r.Chars != 80000 || r.Spill == nil {
			t.Errorf("%d characters, spill %v", r.Chars, r.Spill)
		}
	})
}

// A spilled result is read and searched by the model, by the line numbers of the file, and its pages
// stay inline.
func TestLaw06ThePagesOfASpilledResultStayInline(t *testing.T) {
	var b strings.Builder
	for i := range 30000 {
		fmt.Fprintf(&b, "line %d of the output\n", i+1)
	}
	w := newWorld(t,
		scripted.Step{Calls: []scripted.Call{call("big", `{}`)}, Expect: []scripted.Expect{{Tool: "workspace--read"}}},
		scripted.Step{
			Calls: []scripted.Call{
				call("workspace--read", `{"path":"tool-results/r1-1-big.txt","offset":15000,"limit":3}`),
				call("workspace--grep", `{"path":"tool-results/r1-1-big.txt","pattern":"^line 2500[01] "}`),
				call("workspace--read", `{"path":"tool-results/r1-1-big.txt"}`),
			},
			Expect: []scripted.Expect{{Result: 1, Contains: "tool-results/r1-1-big.txt"}, {Result: 1, Contains: "30000"}},
		},
		scripted.Step{Text: "done", Expect: []scripted.Expect{
			{Result: 1, Contains: "15001\tline 15001 of the output"},
			{Result: 2, Contains: "tool-results/r1-1-big.txt:25001:line 25001 of the output"},
			{Result: 3, NotContains: "left out"},
		}},
	)
	w.tools = []tool.Tool{says("big", b.String())}
	if out := w.run("go"); out.Reason != "done" {
		t.Fatalf("ended: %s", out.Reason)
	}
	w.verify()
}

// At the lowest cap a page is as small as the cap: it is never shortened or spilled a second time.
func TestLaw06APageFitsTheLowestCap(t *testing.T) {
	var pages []string
	w := newWorld(t,
		scripted.Step{Calls: []scripted.Call{call("big", `{}`)}},
		scripted.Step{Calls: []scripted.Call{
			call("workspace--read", `{"path":"tool-results/r1-1-big.txt","offset":100}`),
			call("workspace--grep", `{"path":"tool-results/r1-1-big.txt","pattern":"line"}`),
			call("results--list", `{}`),
		}},
		scripted.Step{Play: func(s scripted.Seen) (scripted.Step, error) {
			for _, r := range s.Results() {
				pages = append(pages, r.Text)
			}
			return scripted.Step{Text: "done"}, nil
		}},
	)
	w.config.Calls.MaxChars = 1000
	w.tools = []tool.Tool{says("big", strings.Repeat("a line of the output\n", 5000))}
	w.run("go")
	for i, page := range pages {
		if n := utf8.RuneCountInString(page); n > 1000 || strings.Contains(page, "[Excerpt:") {
			t.Errorf("page %d has %d characters, or was shortened:\n%.300s", i+1, n, page)
		}
	}
	w.with(func(_ *agent.Agent, s *sqlite.Store) {
		spills, err := s.SpillsOf(t.Context(), "c")
		if err != nil || len(spills) != 1 {
			t.Errorf("%d files are kept, want that of the first result: %v", len(spills), err)
		}
	})
}

// A changed tool list opens an epoch that says so; earlier fragments are shared by both.
func TestAChangedHeadOpensAnEpoch(t *testing.T) {
	w := newWorld(t, scripted.Step{Text: "one"}, scripted.Step{Text: "two"}, scripted.Step{Text: "three"}, scripted.Step{Text: "four"})
	w.run("first")
	w.tools = []tool.Tool{says("new", "x")}
	out := w.run("second")
	opened := epochs(out)
	if d := cmp.Diff([]string{"tools"}, opened); d != "" {
		t.Errorf("epochs (-want +got):\n%s", d)
	}
	w.config.System = "Be brief."
	if d := cmp.Diff([]string{"system"}, epochs(w.run("third"))); d != "" {
		t.Errorf("epochs (-want +got):\n%s", d)
	}
	w.config.System, w.config.KeepHead = "Be long.", true
	if got := epochs(w.run("fourth")); len(got) != 0 {
		t.Errorf("with KeepHead an epoch was opened: %v", got)
	}
	bodies := membranetest.Bodies(t, w.bodies)
	for i := 1; i < len(bodies); i++ {
		a, errA := scripted.Split(bodies[i-1])
		b, errB := scripted.Split(bodies[i])
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if !strings.HasPrefix(string(b.Messages), string(a.Messages)) {
			t.Errorf("the messages of request %d are not those of request %d and more", i+1, i)
		}
		if same := string(a.Head) == string(b.Head); same != (i == 3) {
			t.Errorf("requests %d and %d have the same head: %v", i, i+1, same)
		}
	}
	w.verify()
}

func epochs(o agent.Outcome) []string {
	var reasons []string
	for _, e := range o.Events {
		if e, ok := e.(agent.EpochOpened); ok {
			reasons = append(reasons, e.Reason)
		}
	}
	return reasons
}

// The same key begins a turn once; Resume of a conversation that has ended says so.
func TestATurnKeyIsUsedOnce(t *testing.T) {
	w := newWorld(t, scripted.Step{Text: "one"})
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		for range 3 {
			out, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Key: "k", Text: "hi"}).Collect()
			if err != nil || out.Reason != "done" {
				t.Fatalf("%v, ended %q", err, out.Reason)
			}
		}
		if _, err := a.Resume(t.Context(), "c").Collect(); !errors.Is(err, agent.ErrNothingToResume) {
			t.Errorf("resume: %v", err)
		}
		if _, err := a.Resume(t.Context(), "nobody").Collect(); !errors.Is(err, history.ErrNotFound) {
			t.Errorf("resume of an unknown conversation: %v", err)
		}
	})
	if n := len(membranetest.Bodies(t, w.bodies)); n != 1 {
		t.Errorf("%d requests, want 1", n)
	}
}

// Events are yielded once, after their commit, and can be read again as they were.
func TestRecordEventsCanBeReadAgain(t *testing.T) {
	w := newWorld(t, scripted.Step{Calls: []scripted.Call{call("t", `{}`), call("nobody", `{}`)}}, scripted.Step{Text: "done"})
	w.tools = []tool.Tool{says("t", "x")}
	out := w.run("go")
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		again, err := a.Events(t.Context(), "c", 0)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(out.Events, again); d != "" {
			t.Errorf("yielded against read again:\n%s", d)
		}
		some, err := a.Events(t.Context(), "c", 3)
		if err != nil || len(some) != len(again)-3 {
			t.Errorf("after 3: %d of %d events, %v", len(some), len(again), err)
		}
	})
}

// A failed request leaves the turn open and the conversation usable: it is resumed where it stopped.
func TestAFailedRequestCanBeResumed(t *testing.T) {
	w := newWorld(t,
		scripted.Step{Calls: []scripted.Call{call("t", `{}`)}},
		scripted.Step{Text: "fine", Fail: &scripted.Failure{Kind: membrane.InvalidRequest, Text: "no", Times: 1}},
	)
	w.tools = []tool.Tool{says("t", "x")}
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		_, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}).Collect()
		var e *membrane.Error
		if !errors.As(err, &e) || e.Kind != membrane.InvalidRequest {
			t.Fatalf("got %v", err)
		}
		out, err := a.Resume(t.Context(), "c").Collect()
		if err != nil || out.Text != "fine" {
			t.Errorf("resumed to %q, %v", out.Text, err)
		}
	})
	membranetest.Prefix(t, scripted.Split, membranetest.Bodies(t, w.bodies)...)
	w.verify()
}

// An open turn that a new one follows is settled first.
func TestANewTurnSettlesTheOpenOne(t *testing.T) {
	w := newWorld(t, scripted.Step{Play: func(s scripted.Seen) (scripted.Step, error) {
		if len(s.Messages) == 1 {
			return scripted.Step{Fail: &scripted.Failure{Kind: membrane.Auth}}, nil
		}
		return scripted.Step{Text: "second"}, nil
	}})
	w.with(func(a *agent.Agent, s *sqlite.Store) {
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "one"}).Collect(); err == nil {
			t.Fatal("no error")
		}
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "two"}).Collect(); err != nil {
			t.Fatal(err)
		}
		turns, err := s.TurnsOf(t.Context(), "c")
		if err != nil || len(turns) != 2 {
			t.Fatalf("%d turns, %v", len(turns), err)
		}
		if turns[0].State != history.TurnEnded || !strings.Contains(turns[0].Reason, "superseded") {
			t.Errorf("the first turn is %s, %s", turns[0].State, turns[0].Reason)
		}
	})
	w.verify()
}

// Every end of a turn has its reason, and a turn that a limit ended is not taken up again.
func TestTurnsEndWithAReason(t *testing.T) {
	loop := scripted.Step{Calls: []scripted.Call{call("t", `{}`)}}
	fatal := handler("fatal", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{}, tool.Fatal(errors.New("the disk is gone"))
	})
	bye := handler("bye", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{Data: "bye", EndTurn: true}, nil
	})
	for name, c := range map[string]struct {
		steps  []scripted.Step
		limits agent.Limits
		want   string
		fails  string
	}{
		"rounds":  {[]scripted.Step{loop, loop, loop, loop}, agent.Limits{Rounds: 2}, "limit: 2 rounds", ""},
		"tokens":  {[]scripted.Step{{Calls: loop.Calls, Usage: &membrane.Usage{Out: 60}}, {Calls: loop.Calls, Usage: &membrane.Usage{Out: 60}}, loop}, agent.Limits{Tokens: 100}, "limit: 100 output tokens", ""},
		"cut":     {[]scripted.Step{{Text: "half", Stop: membrane.StopCut}}, agent.Limits{}, "cut: ", ""},
		"refused": {[]scripted.Step{{Text: "no", Stop: membrane.StopRefused}}, agent.Limits{}, "refused", ""},
		"no call": {[]scripted.Step{{Text: "hm", Stop: membrane.StopCalls}}, agent.Limits{}, "without a call", ""},
		"tool":    {[]scripted.Step{{Calls: []scripted.Call{call("bye", `{}`)}}}, agent.Limits{}, "a tool ended the turn", ""},
		"fatal":   {[]scripted.Step{{Calls: []scripted.Call{call("fatal", `{}`)}}}, agent.Limits{}, "failed: the disk is gone", "the disk is gone"},
		"paused":  {[]scripted.Step{{Text: "wait", Stop: membrane.StopPaused}, {Text: "on"}}, agent.Limits{}, "done", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, c.steps...)
			w.config.Limits = c.limits
			w.tools = []tool.Tool{says("t", "x"), fatal, bye}
			w.with(func(a *agent.Agent, _ *sqlite.Store) {
				reason := ""
				for e, err := range a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}) {
					if err != nil && (c.fails == "" || !strings.Contains(err.Error(), c.fails)) {
						t.Fatal(err)
					}
					if e, ok := e.(agent.TurnEnded); ok {
						reason = e.Reason
					}
				}
				if !strings.Contains(reason, c.want) {
					t.Errorf("ended as %q, want %q", reason, c.want)
				}
				if _, err := a.Resume(t.Context(), "c").Collect(); !errors.Is(err, agent.ErrNothingToResume) {
					t.Errorf("resume: %v", err)
				}
			})
			w.verify()
		})
	}
}

// Calls of an answer that was cut are answered and not run.
func TestCallsOfACutAnswerAreNotRun(t *testing.T) {
	w := newWorld(t, scripted.Step{Text: "I begin", Stop: membrane.StopCut, Calls: []scripted.Call{call("t", `{}`), call("t", `{"a`)}},
		scripted.Step{Text: "sorry", Expect: []scripted.Expect{{Result: 1, Contains: "were not run"}, {Result: 2, Contains: "were not run"}}})
	w.tools = []tool.Tool{handler("t", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		t.Error("it was run")
		return tool.Result{}, nil
	})}
	if out := w.run("go"); out.Text != "sorry" {
		t.Errorf("got %q", out.Text)
	}
}

// Breaking out of the range and cancelling the context both settle the turn before Run returns.
func TestACancelSettlesTheTurn(t *testing.T) {
	stuck := handler("stuck", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
		select {}
	})
	for name, stop := range map[string]func(cancel func()) bool{
		"break":   func(func()) bool { return true },
		"context": func(cancel func()) bool { cancel(); return false },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, scripted.Step{Calls: []scripted.Call{call("stuck", `{}`), call("stuck", `{}`)}}, scripted.Step{Text: "never"})
			w.tools = []tool.Tool{stuck}
			w.config.Calls.Grace = 20 * time.Millisecond
			w.with(func(a *agent.Agent, s *sqlite.Store) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				began := time.Now()
				for e, err := range a.Run(ctx, agent.Turn{Conversation: "c", Text: "go"}) {
					if err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					if _, ok := e.(agent.CallStarted); ok && stop(cancel) {
						break
					}
				}
				if time.Since(began) > 5*time.Second {
					t.Errorf("it took %v", time.Since(began))
				}
				turns, err := s.TurnsOf(t.Context(), "c")
				if err != nil || turns[0].State != history.TurnEnded || turns[0].Reason != "cancelled" {
					t.Errorf("the turn is %+v, %v", turns, err)
				}
				calls, err := s.CallsOf(t.Context(), "c", 0)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range calls {
					ended := c.Outcome == history.OutcomeCancelled || c.Outcome == history.OutcomeNotStarted
					if c.State != history.CallAnswered || !ended {
						t.Errorf("%s is %s, %s", c.ID, c.State, c.Outcome)
					}
				}
			})
			w.verify()
		})
	}
}

// Two runs of one conversation exclude each other, also in one process.
func TestTwoRunsOfAConversationExcludeEachOther(t *testing.T) {
	w := newWorld(t, scripted.Step{Text: "slow", Delay: 300 * time.Millisecond}, scripted.Step{Text: "next"})
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		for e, err := range a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.(agent.TurnBegun); ok {
				_, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "me too"}).Collect()
				var busy *history.BusyError
				if !errors.As(err, &busy) || !busy.Here {
					t.Errorf("the second run: %v", err)
				}
			}
		}
	})
}

// The same conversation twice gives the same bodies, byte for byte.
func TestLaw09TheSameRunGivesTheSameBytes(t *testing.T) {
	var first [][]byte
	for i := range 3 {
		w := newWorld(t, scripted.Step{Calls: []scripted.Call{call("a", `{}`), call("b", `{}`), call("c", `{}`), call("a", `{}`)}}, scripted.Step{Text: "done"})
		w.tools = []tool.Tool{
			handler("c", tool.Traits{}, func(context.Context, tool.Call) (tool.Result, error) {
				return tool.Value(map[string]any{"z": 1, "a": []string{"<", ">"}, "m": map[string]int{"y": 1, "b": 2}}), nil
			}),
			says("b", strings.Repeat("語 text\n", 9000)), says("a", "x"),
		}
		if i > 0 {
			w.tools[0], w.tools[2] = w.tools[2], w.tools[0]
		}
		w.run("go")
		bodies := membranetest.Bodies(t, w.bodies)
		if i == 0 {
			first = bodies
			continue
		}
		if d := cmp.Diff(first, bodies); d != "" {
			t.Errorf("run %d differs:\n%.500s", i+1, d)
		}
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	w := newWorld(t, scripted.Step{Text: "x"})
	s := w.store()
	defer func() { _ = s.Close() }()
	model, err := scripted.New(w.script, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cfg  agent.Config
		want string
	}{
		"two of a name": {agent.Config{Tools: []tool.Tool{says("t", ""), says("t", "")}}, "two tools are named t"},
		"reserved name": {agent.Config{Tools: []tool.Tool{says("workspace--read", "")}}, "two tools are named workspace--read"},
		"small cap":     {agent.Config{Calls: agent.CallLimits{MaxChars: 999}}, "at least 1000"},
		"bad name":      {agent.Config{Tools: []tool.Tool{says("a b", "")}}, "only A-Z"},
	} {
		if _, err := agent.New(s, model, c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := agent.New(nil, model, agent.Config{}); err == nil {
		t.Error("an agent without a store was made")
	}
}
