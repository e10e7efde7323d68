package envelope

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/tokens"
)

// Caps of a text in UTF-16 units.
const (
	capWorkflow  = 200_000
	capAnalysis  = 100_000
	capPrimitive = 50_000
	// capShort is that of a result at stage 2 and above.
	capShort = 25_000
	// capPreview is the longest preview in a stub: capShort without 5,000 for what stands around it.
	capPreview = capShort - 5_000
)

// CheckClass refuses a class that is no word of [MaxResultSizeChars].
func CheckClass(class string) error {
	switch class {
	case "", "primitive", "analysis", "workflow":
		return nil
	}
	return fmt.Errorf("class %q is unknown: say primitive, analysis or workflow", clamp(class, maxName))
}

// MaxResultSizeChars is the cap of a tool's texts in UTF-16 units, for _meta["anthropic/maxResultSizeChars"]
// of the entry in tools/list (stage 0 or 1) and of a result: workflow 200,000, analysis 100,000, primitive,
// which is also every other word, 50,000; at stage 2 and above 25,000.
func MaxResultSizeChars(class string, stage int) int {
	switch {
	case stage >= 2:
		return capShort
	case class == "workflow":
		return capWorkflow
	case class == "analysis":
		return capAnalysis
	}
	return capPrimitive
}

// Units counts the UTF-16 units of a text, which is what hosts count.
func Units(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > math.MaxUint16 {
			n++
		}
	}
	return n
}

// Fit fits a result to a budget. It is total and deterministic, and takes time linear in the result.
//
//   - What fits is never a stub, and nothing is longer than its stub or than the whole.
//   - The text is valid JSON where the result is JSON, else labelled text; it is never longer than
//     [Shown.MaxResultSizeChars] and the room.
//   - Every loss has a mark: <field>_omitted_count beside an array, a last element {"_omitted_count":n}
//     in one that has no key, …[n characters omitted]… within a string, _omitted_keys in an object.
//   - The stage does not depend on the contract, so the data is the same bytes in all of them.
func Fit(r Result, o Options) Shown {
	f := newFitter(r, o)
	var s Shown
	if f.plan != nil {
		s = f.json()
	} else {
		s = f.plain()
	}
	s.Estimate, s.IsError = f.estimate, r.IsError
	s = f.addStructured(s)
	s.Same = s.Text == r.Text
	s.Sent = tokens.Estimate(s.Text)
	s.MaxResultSizeChars = min(MaxResultSizeChars(o.Policy.Class, s.Stage), f.unitCap(s.Stage))
	return s
}

// fitter fits one text.
type fitter struct {
	r            Result
	o            Options
	text         string // the whole as valid UTF-8
	plan         *plan  // nil when it is no JSON
	estimate     int
	completeness string
	form         int // the form of the data that was chosen; 0 when none is shown
	// failed are the lines of a text that speak of an error, once they were searched for.
	failed   []failure
	searched bool
}

func newFitter(r Result, o Options) *fitter {
	o.Budget = o.Budget.resolved()
	o.Signals = o.Signals.callable(o.Offered)
	if o.Chars > 0 {
		o.Chars = max(o.Chars, MinChars)
	}
	f := &fitter{r: r, o: o}
	if t, ok := parse([]byte(r.Text), o.Policy.Primary, o.Policy.Protected); ok {
		f.plan = newPlan(t)
		f.text = string(t.src)
		f.completeness = completenessOf(o.Policy.Completeness, t)
	} else {
		f.text, _ = canon.CleanUTF8(r.Text)
		f.completeness = completenessOf(o.Policy.Completeness, nil)
	}
	f.estimate = tokens.Estimate(f.text)
	return f
}

// unitCap is the cap of a text at a stage in UTF-16 units.
func (f *fitter) unitCap(stage int) int {
	most := MaxResultSizeChars(f.o.Policy.Class, stage)
	if f.o.HostCap > 0 {
		most = min(most, max(f.o.HostCap, MinChars))
	}
	return most
}

// inside reports whether a text is within the caps.
func (f *fitter) inside(text string, stage int) bool {
	if most := f.unitCap(stage); len(text) > most && Units(text) > most {
		return false
	}
	return f.o.Chars == 0 || len(text) <= f.o.Chars || utf8.RuneCountInString(text) <= f.o.Chars
}

// fits reports whether a text is within the caps and the budget.
func (f *fitter) fits(text string, stage int) bool {
	return f.inside(text, stage) && tokens.Estimate(text) <= f.o.Budget.Tokens
}

// lightest is the stage that is tried first.
func (f *fitter) lightest() int {
	return min(StageOf(f.estimate, f.o.Budget.Tokens, f.o.Budget.Effort), 4)
}

// hint is the recovery hint for what a form leaves out.
func (f *fitter) hint(form int) string {
	h := hint{result: f.r, options: &f.o, completeness: f.completeness}
	if f.plan != nil {
		h.field, h.omitted = f.plan.mostOmitted(form)
	}
	return h.String()
}

// answer is what the text says at a stage, without its data.
func (f *fitter) answer(stage int) answer {
	a := answer{isError: f.r.IsError, estimate: f.estimate, budget: f.o.Budget.Tokens, signals: f.o.Signals}
	if stage > whole {
		a.warning = &warning{stage, f.estimate, f.o.Budget.Tokens, f.hint(stage)}
	}
	return a
}

// ladder knows which stage a JSON result really has where one is asked for, and how long its text is in
// the full contract: a stage that makes the text no shorter is not taken.
type ladder struct {
	f     *fitter
	known int
	stage [5]int
	long  [5]int
}

func (l *ladder) at(stage int) int {
	for ; l.known < stage; l.known++ {
		k := l.known + 1
		l.f.plan.upTo(k)
		a := l.f.answer(k)
		a.data = []byte("0")
		l.stage[k], l.long[k] = k, len(a.render(Full))-1+int(l.f.plan.size(0, k))
		if k > 1 && (int(l.f.plan.form(0, k)) != k || l.long[k] >= l.long[k-1]) {
			l.stage[k], l.long[k] = l.stage[k-1], l.long[k-1]
		}
	}
	return l.stage[stage]
}

// render is the text at a stage in a contract.
func (f *fitter) render(stage int, c Contract) []byte {
	a := f.answer(stage)
	a.data = f.plan.show(stage)
	return a.render(c)
}

// json fits a JSON result. The full contract decides.
func (f *fitter) json() Shown {
	steps := &ladder{f: f}
	steps.at(whole)
	first := f.lightest()
	if first > whole && steps.long[whole] <= f.longestStub() && steps.long[whole] <= f.stubLen() {
		if full := string(f.render(whole, Full)); f.inside(full, whole) {
			return f.chosen(whole, full)
		}
	}
	last := 0
	for k := first; k <= 4; k++ {
		stage := steps.at(k)
		if stage == last || f.tooLong(steps.long[k], stage) {
			continue
		}
		last = stage
		if full := string(f.render(stage, Full)); f.fits(full, stage) {
			return f.chosen(stage, full)
		}
	}
	if f.estimate <= f.o.Budget.Tokens && !f.tooLong(steps.long[whole], whole) {
		if full := string(f.render(whole, Full)); f.fits(full, whole) {
			return f.chosen(whole, full)
		}
	}
	if stage := steps.at(4); steps.long[4] <= f.stubLen() {
		if full := string(f.render(stage, Full)); f.inside(full, stage) {
			return f.chosen(stage, full)
		}
	}
	return Shown{Text: string(f.stub()), Stage: 5}
}

// stubLen is what a text is measured against that may be sent instead of its stub: the longer of the stub
// and of one without data, so that a smaller budget never sends more than a larger one.
func (f *fitter) stubLen() int {
	return max(len(f.stub()), len(f.stubOf(nil, f.hint(outline), f.o.Signals)))
}

// longestStub is a length in bytes that no stub is over: a character of a preview has at most three a unit.
func (f *fitter) longestStub() int { return 3*min(f.o.Budget.Tokens, capPreview/3)*3 + 4*capShort/5 }

// tooLong says of a text of so many bytes that it cannot be within the caps: a UTF-16 unit has at most
// three bytes, a character four.
func (f *fitter) tooLong(bytes, stage int) bool {
	return bytes > 3*f.unitCap(stage) || f.o.Chars > 0 && bytes > 4*f.o.Chars
}

// chosen is a JSON result at a stage in the contract that was asked for.
func (f *fitter) chosen(stage int, full string) Shown {
	f.form = stage
	text := full
	switch {
	case f.o.Contract == Bare && stage == whole && !f.r.IsError && !f.o.Signals.signalled():
		if text = f.text; f.fits(f.r.Text, stage) && utf8.ValidString(f.r.Text) {
			text = f.r.Text
		}
	case f.o.Contract != Full:
		text = string(f.render(stage, f.o.Contract))
	}
	return Shown{Text: text, Stage: stage}
}

// stub is stage 5: the preview, the outline where that is too long, an error where that is too. It is
// built when the hint is final, and fits into [MinChars] characters without either.
func (f *fitter) stub() []byte {
	most := capPreview
	if f.o.Budget.Tokens < capPreview/3 {
		most = f.o.Budget.Tokens * 3
	}
	for _, form := range []int{preview, outline} {
		data := f.preview(form, most)
		if data == nil {
			continue
		}
		if text := f.stubOf(data, f.hint(form), f.o.Signals); f.inside(string(text), 5) {
			f.form = form
			return text
		}
	}
	f.form = 0
	text := f.stubOf(nil, f.hint(outline), f.o.Signals)
	if f.inside(string(text), 5) {
		return text
	}
	return f.stubOf(nil, clamp(f.hint(outline), maxBrief), f.o.Signals.brief())
}

// maxBrief is the most characters of a hint where there is next to no room.
const maxBrief = 300

// preview is the data of a stub in a form; nil when it is over so many UTF-16 units.
func (f *fitter) preview(form, most int) []byte {
	if f.plan == nil {
		return f.plainPreview(most)
	}
	f.plan.upTo(form)
	if int(f.plan.size(0, form)) > 3*most {
		return nil
	}
	data := f.plan.show(form)
	if Units(string(data)) > most {
		return nil
	}
	return data
}

// stubOf writes a stub: success, truncated, compression_stage, token_estimate, effective_budget,
// recovery_hint, then data_preview or error, then the signals that no stage drops.
func (f *fitter) stubOf(data []byte, hint string, s Signals) []byte {
	w := newWriter(len(data) + 512)
	w.flag("success", data != nil && !f.r.IsError)
	w.flag(keyTruncated, true)
	w.number("compression_stage", 5)
	w.number("token_estimate", int64(f.estimate))
	w.number("effective_budget", int64(f.o.Budget.Tokens))
	w.text("recovery_hint", hint)
	if data != nil {
		w.raw("data_preview", data)
	} else {
		w.text("error", "the result has "+count(f.estimate)+" tokens for a budget of "+count(f.o.Budget.Tokens)+"; even its outline is too long")
	}
	w.text(keyLoop, s.Loop)
	if s.Freshness != nil {
		w.raw(keyFreshness, s.Freshness.JSON())
	}
	return w.close()
}
