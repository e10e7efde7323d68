package realm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/scripting/internal/lower"
)

// maxFailure is the most characters of a status line.
const maxFailure = 2000

// oneLine keeps the first characters of a text and makes one line of it.
func oneLine(s string) string {
	s, _ = canon.CleanUTF8(s)
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' }), " ⏎ ")
	if r := []rune(s); len(r) > maxFailure {
		s = string(r[:maxFailure]) + "…"
	}
	return s
}

// here is where the script stands, as " (line 3, column 7)"; empty when no frame of it is on the stack.
func (v *vm) here() string { return place(v.rt.CaptureCallStack(0, nil)) }

func place(frames []goja.StackFrame) string {
	for _, f := range frames {
		if f.SrcName() == lower.Name {
			p := f.Position()
			if line, column := lower.Place(p.Line, p.Column); line > 0 && p.Filename == lower.Name {
				return fmt.Sprintf(" (line %d, column %d)", line, column)
			}
		}
	}
	return ""
}

// placed finds the first frame of the script in the text of a stack.
func (v *vm) placed(stack string) string {
	frame := regexp.MustCompile(`(?m)^\tat (?:[^\n]*\()?` + lower.Name + `:(\d+):(\d+)`)
	for _, m := range frame.FindAllStringSubmatch(stack, 100) {
		line, _ := strconv.Atoi(m[1])
		column, _ := strconv.Atoi(m[2])
		if line, column := lower.Place(line, column); line > 0 {
			return fmt.Sprintf(" (line %d, column %d)", line, column)
		}
	}
	return ""
}

// told says what was thrown, with its position: "TypeError: x is not a function (line 3, column 7)". It
// runs getters of the script, whose own errors it swallows.
func (v *vm) told(thrown goja.Value, at string) string {
	text, stack := "", ""
	// What a script throws may fight back when it is looked at.
	ex := v.rt.Try(func() {
		if v.describe == nil || thrown == nil {
			text = "unknown error"
			return
		}
		d, err := v.describe(goja.Undefined(), thrown)
		if err != nil {
			raise(err)
		}
		o := d.ToObject(v.rt)
		text, stack = o.Get("text").String(), o.Get("stack").String()
	})
	if ex != nil || text == "" {
		text = "something was thrown that cannot be shown"
	}
	if pos := v.placed(stack); pos != "" {
		at = pos
	} else if at == "" && v.thrown != nil && v.thrown.SameAs(thrown) {
		at = v.thrownAt
	}
	text = plainly(oneLine(text))
	at += instead(text)
	if v.missed != "" && v.missedAt == line(at) && strings.HasPrefix(text, "TypeError") {
		at += "; " + v.missing()
	}
	return text + at
}

// plainly says what the engine says in a way that fits whatever was meant: it takes a call of what is no
// function for a missing object, and null for undefined.
func plainly(text string) string {
	if value, is := strings.CutPrefix(text, "TypeError: Value is not an object: "); is {
		return "TypeError: " + value + " is not a function or an object"
	}
	if strings.HasPrefix(text, "TypeError: Cannot read property '") && strings.HasSuffix(text, "' of undefined") {
		return text + " or null"
	}
	return text
}

// line is the part of a place up to its column.
func line(at string) string {
	at, _, _ = strings.Cut(at, ",")
	return at
}

// instead says what to use for a global of other hosts that is not here.
func instead(text string) string {
	name, rest, _ := strings.Cut(strings.TrimPrefix(text, "ReferenceError: "), " ")
	if rest != "is not defined" {
		return ""
	}
	switch name {
	case "fetch", "XMLHttpRequest", "WebSocket":
		return "; there is no network here: call a tool through tools"
	case "require", "module", "exports", "fs", "path":
		return "; there are no modules and no files here: use tools, results and the globals of the language"
	case "process":
		return "; there is no process and no environment here: values come in through args"
	case "Buffer":
		return "; use TextEncoder, TextDecoder, Uint8Array, atob and btoa"
	case "window", "document", "localStorage":
		return "; this is no browser"
	}
	return ""
}

// missing says which tools there are, when one was asked for that is not.
func (v *vm) missing() string {
	names := v.script.Tools
	if len(names) == 0 {
		return fmt.Sprintf("there is no tool %q, none is offered", v.missed)
	}
	more := ""
	if len(names) > 20 {
		more = fmt.Sprintf(" and %d more", len(names)-20)
		names = names[:20]
	}
	return fmt.Sprintf("there is no tool %q, only: %s%s", v.missed, strings.Join(names, ", "), more)
}

// Outcome implements engine.
func (v *vm) Outcome() Outcome {
	if v.main.State() == goja.PromiseStateRejected {
		return Outcome{Failed: true, Failure: v.told(v.main.Result(), "")}
	}
	out := Outcome{HasValue: !goja.IsUndefined(v.main.Result())}
	if out.HasValue {
		if failure := v.returned(&out, v.main.Result()); failure != "" {
			return Outcome{Failed: true, Failure: failure}
		}
	}
	out.Failure = v.unhandled()
	return out
}

// returned turns the value of a script into text.
func (v *vm) returned(out *Outcome, value goja.Value) (failure string) {
	if s, is := value.(goja.String); is {
		out.Value, _ = canon.CleanUTF8(s.String())
		return ""
	}
	var raw []byte
	var ok bool
	var err error
	ex := v.rt.Try(func() { raw, ok, err = v.encode(value) })
	if ex != nil {
		err = ex
	}
	switch {
	case err != nil:
		var thrown *goja.Exception
		if errors.As(err, &thrown) {
			return "the returned value cannot be shown: " + v.told(thrown.Value(), "")
		}
		return "the returned value cannot be shown: " + oneLine(err.Error())
	case !ok:
		return "the returned value is a function or a symbol, which has no text: return data"
	}
	out.Value = string(raw)
	return ""
}

// unhandled tells of the rejections that nobody handled.
func (v *vm) unhandled() string {
	var first string
	n := 0
	for _, p := range v.rejected {
		if p == v.main {
			continue
		}
		if n++; n == 1 {
			first = "unhandled rejection: " + strings.TrimPrefix(v.told(p.Result(), ""), "Uncaught ")
		}
	}
	if n > 1 {
		first += fmt.Sprintf(" (and %d more)", n-1)
	}
	return first
}

// Stopped implements engine.
func (v *vm) Stopped(err error) Outcome {
	v.rt.ClearInterrupt()
	at := ""
	var interrupted *goja.InterruptedError
	if errors.As(err, &interrupted) {
		at = place(interrupted.Stack())
		if cause, is := interrupted.Value().(error); is {
			err = cause
		}
	}
	var overflow *goja.StackOverflowError
	var thrown *goja.Exception
	var syntax *lower.SyntaxError
	out := Outcome{Failed: true}
	switch {
	case errors.As(err, &overflow):
		out.Failure = fmt.Sprintf("RangeError: the call stack is full: more than %d calls are open%s", v.script.Limits.Stack, place(overflow.Stack()))
	case errors.As(err, &syntax):
		out.Failure = oneLine(syntax.Error())
	case errors.Is(err, context.DeadlineExceeded):
		out.Failure = "the time limit ended the script" + at
	case errors.Is(err, context.Canceled):
		out.Failure = "the script was cancelled" + at
	case errors.Is(err, errNever):
		out.Failure = err.Error()
		if more := v.unhandled(); more != "" {
			out.Failure += "; " + more
		}
	case errors.As(err, &thrown):
		out.Failure = v.told(thrown.Value(), place(thrown.Stack()))
	default:
		out.Failure = oneLine(err.Error()) + at
	}
	return out
}
