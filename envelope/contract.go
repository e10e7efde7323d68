package envelope

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-run/weir/internal/canon"
)

// Contract is the form of the text of a JSON result.
type Contract uint8

// The contracts.
const (
	// Full has every field that is not empty.
	Full Contract = iota
	// Lean leaves out scaffold, never an answer; see the table in the documentation of the package's
	// page. Errors are never lean.
	Lean
	// Bare is the data alone where nothing is signalled, byte for byte as it was given; where something
	// is, it is Lean.
	Bare
)

// SchemaVersion is the version of the full contract.
const SchemaVersion = "1"

// ResolveContract reads which contract a call gets: the value of its _lean argument when that is true or
// false, else the value of WEIR_RESPONSE_CONTRACT, of which "lean" in any case means [Lean]. Anything else
// is [Full]: a string is no boolean.
func ResolveContract(lean json.RawMessage, env string) Contract {
	switch strings.TrimSpace(string(lean)) {
	case "true":
		return Lean
	case "false":
		return Full
	}
	if strings.EqualFold(strings.TrimSpace(env), "lean") {
		return Lean
	}
	return Full
}

// Signals are what is said of a result beside its data. Names of tools that are not offered are left out,
// and every text is clamped.
type Signals struct {
	// Error is the text of a failure; with a JSON payload it stands beside it.
	Error string
	// RecoveryHint says how to go on after an error. What was shortened has a hint of its own.
	RecoveryHint string
	// Retryable says that the same call may be made again.
	Retryable bool
	// Loop is the warning of a loop; empty when there is none. At most [MaxLoop] characters are shown.
	Loop string
	// Freshness is that of the snapshot, index or cache that the result comes from.
	Freshness *Freshness
	// NextTools and NextCalls are suggestions; at most 3 of each are shown.
	NextTools []string
	NextCalls []NextCall
	// Routing is "sync", "async" or "cached"; empty says nothing.
	Routing string
	// Elapsed is how long the call took, measured by the caller; 0 says nothing.
	Elapsed time.Duration
}

// NextCall is a call that is suggested.
type NextCall struct {
	Tool   string
	Args   json.RawMessage
	Reason string
}

// MaxLoop is the most characters of a loop warning.
const MaxLoop = 300

// most is how many suggestions are shown.
const most = 3

// callable leaves out what cannot be called now.
func (s Signals) callable(offered []string) Signals {
	var tools []string
	for _, name := range s.NextTools {
		if len(tools) < most && slices.Contains(offered, name) && !slices.Contains(tools, name) {
			tools = append(tools, name)
		}
	}
	var calls []NextCall
	for _, c := range s.NextCalls {
		if len(calls) < most && slices.Contains(offered, c.Tool) && (len(c.Args) == 0 || len(c.Args) <= 2000 && canon.Valid(c.Args)) {
			calls = append(calls, c)
		}
	}
	s.NextTools, s.NextCalls = tools, calls
	s.Loop, s.Error = clamp(oneLine(s.Loop), MaxLoop), clamp(s.Error, 2000)
	s.RecoveryHint = clamp(s.RecoveryHint, 2*MaxLoop)
	return s
}

// brief is what is said where there is next to no room.
func (s Signals) brief() Signals {
	s = Signals{Error: s.Error, Retryable: s.Retryable, Loop: clamp(s.Loop, 120), Freshness: s.Freshness}
	if s.Freshness != nil {
		f := *s.Freshness
		f.DriftOmitted += len(f.Drift)
		f.Drift, f.Warning = nil, clamp(f.Warning, 40)
		s.Freshness = &f
	}
	return s
}

// signalled reports whether something is said that a lean answer must not drop.
func (s Signals) signalled() bool {
	return s.Error != "" || s.RecoveryHint != "" || s.Retryable || s.Loop != "" || len(s.NextTools) > 0 ||
		len(s.NextCalls) > 0 || s.Freshness != nil && s.Freshness.Bucket != Fresh || s.Routing != "" && s.Routing != "sync"
}

// warning is the truncation_warning of stages 2 to 4.
type warning struct {
	stage, estimate, budget int
	hint                    string
}

func (w warning) append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"compression_stage":`...), int64(w.stage), 10)
	dst = strconv.AppendInt(append(dst, `,"original_token_estimate":`...), int64(w.estimate), 10)
	dst = strconv.AppendInt(append(dst, `,"effective_budget":`...), int64(w.budget), 10)
	return append(canon.AppendString(append(dst, `,"recovery_hint":`...), w.hint), '}')
}

// writer writes the fields of an object in the order in which they are given.
type writer struct{ out []byte }

func newWriter(room int) *writer { return &writer{append(make([]byte, 0, room), '{')} }

func (w *writer) raw(key string, value []byte) {
	if len(value) == 0 {
		return
	}
	if len(w.out) > 1 {
		w.out = append(w.out, ',')
	}
	w.out = append(append(append(w.out, '"'), key...), `":`...)
	w.out = append(w.out, value...)
}

func (w *writer) text(key, value string) {
	if value != "" {
		w.raw(key, canon.AppendString(nil, value))
	}
}

func (w *writer) number(key string, n int64) { w.raw(key, strconv.AppendInt(nil, n, 10)) }

func (w *writer) flag(key string, on bool) { w.raw(key, strconv.AppendBool(nil, on)) }

func (w *writer) close() []byte { return append(w.out, '}') }

// answer is what the text of a JSON result says.
type answer struct {
	data     []byte // nil when there is none
	isError  bool
	warning  *warning
	estimate int
	budget   int
	signals  Signals
}

// render is an answer in a contract: success, data, error, recovery_hint, retryable, truncation_warning,
// loop_warning, freshness, suggested_next_tools, suggested_next_calls, suggestion_reasons, routing_hint,
// budget_hint, token_estimate, elapsed_ms, schema_version; what is empty is absent.
func (a answer) render(c Contract) []byte {
	lean := c != Full && !a.isError
	s := a.signals
	w := newWriter(len(a.data) + 512)
	w.flag("success", !a.isError)
	w.raw("data", a.data)
	w.text("error", s.Error)
	w.text("recovery_hint", s.RecoveryHint)
	if s.Retryable {
		w.flag("retryable", true)
	}
	if a.warning != nil {
		w.raw(keyWarning, a.warning.append(nil))
	}
	w.text(keyLoop, s.Loop)
	if s.Freshness != nil && !(lean && s.Freshness.Bucket == Fresh && s.Freshness.Warning == "") {
		w.raw(keyFreshness, s.Freshness.JSON())
	}
	w.raw("suggested_next_tools", stringList(s.NextTools))
	calls, reasons := nextCalls(s.NextCalls)
	w.raw("suggested_next_calls", calls)
	if !lean {
		w.raw("suggestion_reasons", reasons)
	}
	if !lean || s.Routing != "sync" {
		w.text("routing_hint", clamp(s.Routing, maxName))
	}
	if !lean || a.warning != nil || s.signalled() || a.percent() > 75 {
		w.text("budget_hint", a.budgetHint())
	}
	if !lean {
		w.number("token_estimate", int64(a.estimate))
		if s.Elapsed > 0 {
			w.number("elapsed_ms", s.Elapsed.Milliseconds())
		}
		w.text("schema_version", SchemaVersion)
	}
	return w.close()
}

// percent is how much of the budget the whole takes.
func (a answer) percent() float64 { return float64(a.estimate) / float64(max(a.budget, 1)) * 100 }

// budgetHint says how much of the budget the whole takes.
func (a answer) budgetHint() string {
	percent := a.percent()
	text := count(a.estimate) + " of " + count(a.budget) + " tokens (" + strconv.FormatFloat(percent, 'f', 0, 64) + " %)"
	if percent > 75 {
		text += ": narrow the next call"
	}
	return text
}

func stringList(all []string) []byte {
	if len(all) == 0 {
		return nil
	}
	out := []byte{'['}
	for i, s := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = canon.AppendString(out, clamp(s, 128))
	}
	return append(out, ']')
}

// nextCalls are the suggested calls and the reasons for them, by tool.
func nextCalls(all []NextCall) (calls, reasons []byte) {
	if len(all) == 0 {
		return nil, nil
	}
	why := newWriter(64)
	calls = []byte{'['}
	told := map[string]bool{}
	for i, c := range all {
		if i > 0 {
			calls = append(calls, ',')
		}
		w := newWriter(64)
		w.text("tool", c.Tool)
		if len(c.Args) > 0 {
			args, _ := canon.CleanJSON(c.Args)
			w.raw("arguments", canon.Compact(args))
		}
		calls = append(calls, w.close()...)
		if c.Reason != "" && !told[c.Tool] {
			told[c.Tool] = true
			name := canon.AppendString(nil, c.Tool)
			why.text(string(name[1:len(name)-1]), clamp(c.Reason, 2*maxName))
		}
	}
	if len(told) > 0 {
		reasons = why.close()
	}
	return append(calls, ']'), reasons
}

// oneLine puts a text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
