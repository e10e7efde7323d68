// Package envelope is to fit a result to a budget and annotate it; pure.
//
// Bytes and numbers go in, bytes come out: there is no clock, no disk and no network here, and the same
// input gives the same bytes. Whatever is dropped was kept before, and the hint names where; every loss
// has a mark that says how much.
//
//	budget   ResolveBudget: request, session or 4,000 tokens; times the effort; lowered by the tool's cap
//	stage    StageOf: how hard the result has to be shortened, 1 (unchanged) to 5 (a stub)
//	result   Fit: the text that is shown, the structured content beside it, and what a host is told
//
// Loops of calls are seen by package loop below it, changes of the tools by package fingerprint.
package envelope

import (
	"encoding/json"

	"github.com/weir-run/weir/tool"
)

// Result is one whole result of a tool, as it is kept.
type Result struct {
	// Text is the whole text: JSON when it is one JSON object or array, else text.
	Text string
	// Structured is the machine's view; nil when there is none.
	Structured json.RawMessage
	// Output is the tool's output schema; nil when it declares none. Without one no structured content
	// is shown.
	Output json.RawMessage
	// IsError marks a failure. Errors are never rendered lean.
	IsError bool
	// Path is where the model reads the whole, such as "tool-results/r3-1-grep.txt"; empty when it was
	// not kept.
	Path string
	// Unkept says why the whole could not be kept; empty when it was, or when nobody tried.
	Unkept string
}

// Options say how a result is fitted. The zero value is 4,000 tokens at high effort in the full contract.
type Options struct {
	// Policy is the tool's own.
	Policy tool.Fit
	// Budget is the effective budget, resolved once by [ResolveBudget]; 0 means [DefaultBudget] at the
	// default effort.
	Budget Budget
	// Chars bounds the text in characters (Unicode code points): the room that is left for it. 0 means
	// no bound; one below [MinChars] counts as that.
	Chars int
	// HostCap bounds the text in UTF-16 units, which is what hosts count; 0 means that of the class. It
	// can only lower it, and one below [MinChars] counts as that.
	HostCap int
	// Offered are the names of the tools that can be called now. Hints and suggestions name no other.
	Offered []string
	// Contract is the form of the text.
	Contract Contract
	// Signals are what is said beside the data.
	Signals Signals
	// Conforms checks a structured value against the output schema; nil accepts every value.
	Conforms func(json.RawMessage) error
}

// MinChars is the smallest room in characters: a stub without a preview fits into it.
const MinChars = 1000

// Shown is what is shown of a result.
type Shown struct {
	// Text is the text channel.
	Text string
	// Structured is the structured channel; nil when the tool declares no output schema, on an error, and
	// when there was none.
	Structured json.RawMessage
	// Signals is what belongs into _meta["weir/signals"]: the signals of the structured channel where its
	// schema allows no further property; nil when they stand in the value.
	Signals json.RawMessage
	// IsError marks a failure: the result's own, or a structured value that can be sent in no form.
	IsError bool
	// Stage is the stage of the text, 1 to 5; StructuredStage that of the structured channel, 0 when there
	// is none.
	Stage, StructuredStage int
	// Same says that Text is the whole text, byte for byte; otherwise the whole has to be kept first.
	Same bool
	// Estimate is the estimated tokens of the whole, rendered compactly; Sent those of Text.
	Estimate, Sent int
	// MaxResultSizeChars goes into _meta["anthropic/maxResultSizeChars"]. Text is never longer, in UTF-16
	// units.
	MaxResultSizeChars int
}
