package execute

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/spill"
)

// Shown is what the model is shown of a result.
type Shown struct {
	Text string
	// Same says that it is the whole text, byte for byte.
	Same bool
	// Chars is its length in characters.
	Chars int
	// Structured is the structured channel of a fitted result, Signals what belongs into its
	// _meta["weir/signals"]; nil where there is none.
	Structured, Signals json.RawMessage
	// IsError marks a failure: the result's own, or a structured value that fits in no form.
	IsError bool
	// Stage is how hard it was shortened, 1 (not at all) to 5; 0 for a result that is not fitted.
	Stage int
	// MaxResultSizeChars is what the text keeps to, in UTF-16 units; 0 for a result that is not fitted.
	MaxResultSizeChars int
}

// Fitting says how the results of tools with a policy ([tool.Traits.Fit]) are fitted to a budget.
type Fitting struct {
	// Budget is the session's, in tokens; 0 means [envelope.DefaultBudget].
	Budget int
	// Effort decides how early a result is shortened; the zero value is high.
	Effort envelope.Effort
	// Contract is the form of JSON results; the zero value has every field.
	Contract envelope.Contract
	// Structured asks for the structured channel too, for clients that read it.
	Structured bool
}

// Fitted reports whether the result is fitted to a budget instead of being shown by its ends.
func (w Whole) Fitted(p Prepared) bool {
	return p.Tool.Fit != nil && p.Refusal == nil && w.Ends == nil && !w.Page
}

// FitTo fits a result to the budget of its tool's policy. It is pure, like [Whole.Fit]. What is not the
// whole must have been kept before it is shown: when Same is false and the whole is not kept, keep it and
// fit it again, so that the hint can name where it is.
func (w Whole) FitTo(p Prepared, room int, offered []string, f Fitting, s envelope.Signals) (Shown, error) {
	wish := envelope.Wish{MaxTokens: p.Call.Wish.MaxTokens, Session: f.Budget, Cap: p.Tool.Fit.Budget, Effort: f.Effort}
	if p.Call.Wish.Effort != "" {
		effort, err := envelope.ParseEffort(p.Call.Wish.Effort)
		if err != nil {
			return Shown{}, err
		}
		wish.Effort = effort
	}
	budget, err := envelope.ResolveBudget(wish)
	if err != nil {
		return Shown{}, err
	}
	text, _ := w.Model(w.Plain)
	r := envelope.Result{Text: text, IsError: w.IsError, Unkept: w.Unkept}
	o := envelope.Options{Policy: *p.Tool.Fit, Budget: budget, Chars: room, Offered: offered, Contract: f.Contract, Signals: s}
	if lean := string(p.Call.Wish.Lean); lean == "true" || lean == "false" {
		o.Contract = envelope.ResolveContract(p.Call.Wish.Lean, "")
	}
	if w.Kept != nil {
		r.Path = w.Kept.Path()
	}
	if f.Structured {
		r.Structured, r.Output, o.Conforms = w.Structured, p.Tool.Output, p.conforms
	}
	shown := envelope.Fit(r, o)
	return Shown{
		Text: shown.Text, Same: shown.Same && shown.Text == w.Text, Chars: utf8.RuneCountInString(shown.Text),
		Structured: shown.Structured, Signals: shown.Signals, IsError: shown.IsError, Stage: shown.Stage,
		MaxResultSizeChars: shown.MaxResultSizeChars,
	}, nil
}

// Fit gives what is shown of a whole result in a room of so many characters. It is pure: the whole, the
// room and the offered tools decide, so the same round gives the same bytes on every machine. The whole
// must have been kept before, where [Whole.MustKeep] says so.
func (w Whole) Fit(room int, offered []string) Shown {
	n := w.notice(offered)
	n.Clean = func(piece string) string { return result.Clean(piece, w.Plain && !w.JSON) }
	if w.Ends != nil {
		return shorten(*w.Ends, room, n)
	}
	text, _ := w.Model(w.Plain)
	chars := utf8.RuneCountInString(text)
	if w.Page || chars <= room {
		return Shown{Text: text, Same: text == w.Text, Chars: chars}
	}
	x := spill.Of(w.Text)    // the figures are those of the text as it is kept
	x.Marks = []spill.Mark{} // what only looks like a placeholder is text
	for _, m := range w.Marks {
		x.Marks = append(x.Marks, spill.Mark{At: int64(m.At), Len: int64(m.Len), Text: m.Text})
	}
	return shorten(x, room, n)
}

func shorten(x spill.Excerpt, room int, n spill.Notice) Shown {
	text := spill.Preview(x, room, n)
	return Shown{Text: text, Chars: utf8.RuneCountInString(text)}
}

// The tools that a notice sends the model to, where they are offered.
const (
	readTool = "workspace--read"
	grepTool = "workspace--grep"
)

// notice says where the rest is and how to get it, naming only tools that can be called here.
func (w Whole) notice(offered []string) spill.Notice {
	n := spill.Notice{Reason: w.Unkept}
	if w.Kept == nil {
		return n
	}
	n.Path, n.Disk = w.Kept.Path(), spill.Mount+"/"+w.Kept.File
	for _, name := range offered {
		switch name {
		case readTool:
			n.Read = name
		case grepTool:
			n.Grep = name
		}
	}
	return n
}
