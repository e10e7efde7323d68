package envelope

import (
	"encoding/json"

	"github.com/weir-run/weir/internal/canon"
)

// addStructured adds the structured channel, which stands alone: it has the same stage, losses, hint and
// signals as the text. A shortened value that does not conform to its schema is sent whole; one that is
// then over the host's cap makes the result an error, whose hint names where the whole is.
func (f *fitter) addStructured(s Shown) Shown {
	if f.r.Structured == nil || f.r.Output == nil || f.r.IsError {
		return s
	}
	of, stage := f, s.Stage
	value, ok := parse(f.r.Structured, f.o.Policy.Primary, f.o.Policy.Protected)
	switch {
	case !ok && !canon.Valid(f.r.Structured):
		return f.refuse(s, f, "the structured result is no JSON")
	case !ok: // 0, false, null, "" are values, and have nothing to shorten
		value, _ := canon.CleanJSON(f.r.Structured)
		s.Structured, s.Signals, s.StructuredStage = value, f.signals(whole), whole
		return s
	case f.plan == nil || string(value.src) != f.text:
		of = newFitter(Result{Text: string(f.r.Structured), Path: f.r.Path, Unkept: f.r.Unkept}, f.o)
		stage = of.json().Stage
	}
	form := of.form
	if form == 0 {
		form = outline
	}
	data := of.plan.show(form)
	if form == outline && of.form == 0 && Units(string(data)) > f.unitCap(5) {
		return f.refuse(s, of, f.overCap(of))
	}
	signals := of.signals(stage)
	if body, ok := f.place(of.plan, data, stage, signals); ok {
		s.Structured, s.StructuredStage = body, stage
		return s
	}
	if f.conforms(data) || stage == whole {
		s.Structured, s.Signals, s.StructuredStage = data, signals, stage
		return s
	}
	if len(of.text) > f.unitCap(whole) && Units(of.text) > f.unitCap(whole) {
		return f.refuse(s, of, f.overCap(of))
	}
	// What no longer conforms is sent whole, and says so nowhere: nothing is left out of it.
	signals = of.signals(whole)
	s.Structured, s.StructuredStage = json.RawMessage(of.text), whole
	if body, ok := f.place(of.plan, []byte(of.text), whole, signals); ok {
		s.Structured = body
	} else {
		s.Signals = signals
	}
	return s
}

// signals is what the structured channel says beside its value: truncation_warning, loop_warning and
// freshness, as one object; nil when there is none.
func (f *fitter) signals(stage int) json.RawMessage {
	w := newWriter(256)
	if stage > whole {
		form := stage
		if stage == 5 {
			form = max(f.form, preview)
		}
		w.raw(keyWarning, warning{stage, f.estimate, f.o.Budget.Tokens, f.hint(form)}.append(nil))
	}
	w.text(keyLoop, f.o.Signals.Loop)
	if n := f.o.Signals.Freshness; n != nil && (f.o.Contract == Full || n.Bucket != Fresh || n.Warning != "") {
		w.raw(keyFreshness, n.JSON())
	}
	if len(w.out) == 1 {
		return nil
	}
	return w.close()
}

// place puts the signals into the value: into _weir where the schema declares that, else beside its
// fields where the schema allows more of them. It is false where the signals have to stand elsewhere.
func (f *fitter) place(p *plan, data []byte, stage int, signals json.RawMessage) (json.RawMessage, bool) {
	if signals == nil {
		return data, stage == whole || f.conforms(data)
	}
	if data[0] != '{' {
		return nil, false
	}
	declared, open := allows(f.r.Output)
	own := p.own(0)
	members := signals[1 : len(signals)-1]
	switch {
	case declared && !own[keyWeir]:
		members = append([]byte(`"`+keyWeir+`":`), signals...)
	case !open:
		return nil, false
	case own[keyWarning] || own[keyLoop] || own[keyFreshness]:
		members = append(append(canon.AppendString(nil, p.freeName(0, keyWeir)), ':'), signals...)
	}
	body := append(make([]byte, 0, len(data)+len(members)+1), data[:len(data)-1]...)
	if len(data) > 2 {
		body = append(body, ',')
	}
	body = append(append(body, members...), '}')
	return body, f.conforms(body)
}

func (f *fitter) conforms(value []byte) bool {
	return f.o.Conforms == nil || f.o.Conforms(value) == nil
}

// allows reads of an output schema whether it declares _weir, and whether it allows further properties.
func allows(schema json.RawMessage) (declared, open bool) {
	var s struct {
		Properties  map[string]json.RawMessage `json:"properties"`
		Additional  json.RawMessage            `json:"additionalProperties"`
		Unevaluated json.RawMessage            `json:"unevaluatedProperties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false, false
	}
	_, declared = s.Properties[keyWeir]
	free := func(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "true" || string(raw) == "{}" }
	return declared, free(s.Additional) && free(s.Unevaluated)
}

// overCap says why a structured value can be sent in no form.
func (f *fitter) overCap(of *fitter) string {
	return "the structured result has " + count(of.estimate) + " tokens and " + count(Units(of.text)) +
		" characters, over the host's cap of " + count(f.unitCap(whole)) + ", and its output schema allows no shorter form"
}

// refuse makes the result an error: its structured value can be sent in no form.
func (f *fitter) refuse(s Shown, of *fitter, why string) Shown {
	a := of.answer(whole)
	a.isError = true
	a.signals.Error, a.signals.RecoveryHint = why, of.hint(outline)
	text := string(a.render(Full))
	if !f.inside(text, 5) {
		a.signals = a.signals.brief()
		a.signals.RecoveryHint = clamp(of.hint(outline), maxBrief)
		text = string(a.render(Full))
	}
	return Shown{Text: text, Stage: 5, IsError: true, Estimate: s.Estimate}
}
