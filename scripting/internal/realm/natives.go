package realm

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/dop251/goja"

	"github.com/weir-run/weir/internal/canon"
)

// native is a function of the host in the engine's cheapest form.
type native = func(goja.FunctionCall) goja.Value

// natives is the one object that the prelude is given. Nothing of it is reachable from a script.
func (v *vm) natives() *goja.Object {
	o := v.rt.NewObject()
	for name, f := range map[string]native{
		"print": v.print, "call": v.call, "list": v.list, "get": v.get, "read": v.read, "grep": v.grep,
		"parse": v.jsonParse, "exact": v.jsonExact, "stringify": v.jsonStringify,
		"timer": v.timer, "clear": v.clear, "now": v.now,
		"encode": v.utf8Encode, "decode": v.utf8Decode, "random": v.random, "wellFormed": v.wellFormed, "same": v.same,
		"pattern": v.pattern, "watch": v.watch, "hard": v.hard,
		"formatNumber": v.formatNumber, "collate": v.collate, "zone": v.zone,
		"thrown": v.noteThrown, "missed": v.noteMissed, "plain": v.notePlain,
		"forms": v.noteForms, "grow": v.grow,
	} {
		_ = o.Set(name, f)
	}
	return o
}

// raise throws a value, or passes an error of the engine on.
func raise(x any) {
	panic(x) //nolint:forbidigo // the engine's way to throw from a function of the host; it never leaves Turn
}

// fail throws an error of the named kind.
func (v *vm) fail(kind, format string, a ...any) {
	message := v.rt.ToValue(fmt.Sprintf(format, a...))
	o, err := v.rt.New(v.rt.Get(kind), message)
	if err != nil {
		raise(v.rt.NewTypeError(message.String()))
	}
	raise(o)
}

// throw passes an error of the host or of a conversion on to the script.
func (v *vm) throw(err error) {
	if ex, is := err.(*goja.Exception); is { //nolint:errorlint // the engine's own type, never wrapped here
		raise(ex.Value())
	}
	if v.ctx.Err() != nil {
		raise(v.rt.NewGoError(v.ctx.Err()))
	}
	if deep, is := err.(tooDeep); is { //nolint:errorlint // made one line away
		v.fail("RangeError", "%v", deep)
	}
	v.fail("Error", "%s", oneLine(err.Error()))
}

func (v *vm) print(c goja.FunctionCall) goja.Value {
	text, _ := canon.CleanUTF8(c.Argument(0).String())
	v.loop.host.Print(text)
	return goja.Undefined()
}

func (v *vm) call(c goja.FunctionCall) goja.Value {
	name := c.Argument(0).String()
	args := []byte("{}")
	if given := c.Argument(1); !goja.IsUndefined(given) {
		raw, ok, err := v.encode(given)
		if err != nil {
			v.throw(err)
		}
		if ok {
			args = raw
		}
	}
	p, resolve, _ := v.rt.NewPromise()
	v.loop.launch(v.ctx, name, v.here(), args, func(a Answer) error {
		if a.Tool == "" {
			a.Tool = name
		}
		result, err := v.result(a)
		if err != nil {
			return err
		}
		return resolve(result)
	})
	return v.rt.ToValue(p)
}

// result builds the script result of an answer.
func (v *vm) result(a Answer) (goja.Value, error) {
	text, _ := canon.CleanUTF8(a.Text)
	structured := goja.Undefined()
	if a.Structured != nil {
		raw, _ := canon.CleanJSON(a.Structured)
		structured = v.rt.ToValue(string(raw))
	}
	return v.makeResult(goja.Undefined(), v.stored(a), v.rt.ToValue(text), v.rt.ToValue(a.Large), structured)
}

// stored gives the facts of a stored result.
func (v *vm) stored(a Answer) *goja.Object {
	o := v.rt.NewObject()
	_ = o.Set("id", a.ID)
	_ = o.Set("tool", a.Tool)
	args := goja.Value(goja.Undefined())
	if a.Args != nil {
		if read, err := v.decode(a.Args); err == nil {
			args = read
		} else {
			args = v.rt.ToValue(string(a.Args))
		}
	}
	_ = o.Set("args", args)
	_ = o.Set("round", a.Round)
	_ = o.Set("chars", a.Chars)
	_ = o.Set("lines", a.Lines)
	_ = o.Set("isError", a.IsError)
	_ = o.Set("path", a.Path)
	return o
}

func (v *vm) list(goja.FunctionCall) goja.Value {
	all, err := v.loop.host.List(v.ctx)
	if err != nil {
		v.throw(err)
	}
	items := make([]any, len(all))
	for i, s := range all {
		items[i] = v.stored(Answer{Stored: s})
	}
	return v.rt.NewArray(items...)
}

func (v *vm) get(c goja.FunctionCall) goja.Value {
	a, err := v.loop.host.Get(v.ctx, c.Argument(0).String())
	if err != nil {
		v.throw(err)
	}
	result, err := v.result(a)
	if err != nil {
		v.throw(err)
	}
	return result
}

func (v *vm) read(c goja.FunctionCall) goja.Value {
	text, err := v.loop.host.Read(v.ctx, c.Argument(0).String(), c.Argument(1).ToInteger(), c.Argument(2).ToInteger())
	if err != nil {
		v.throw(err)
	}
	text, _ = canon.CleanUTF8(text)
	return v.rt.ToValue(text)
}

func (v *vm) grep(c goja.FunctionCall) goja.Value {
	found, err := v.loop.host.Grep(v.ctx, c.Argument(0).String(), c.Argument(1).String(), c.Argument(2).String())
	if err != nil {
		v.throw(err)
	}
	items := make([]any, len(found))
	for i, l := range found {
		text, _ := canon.CleanUTF8(l.Text)
		o := v.rt.NewObject()
		_ = o.Set("line", l.N)
		_ = o.Set("text", text)
		items[i] = o
	}
	return v.rt.NewArray(items...)
}

func (v *vm) jsonParse(c goja.FunctionCall) goja.Value { return v.read2(c, false) }

func (v *vm) jsonExact(c goja.FunctionCall) goja.Value { return v.read2(c, true) }

func (v *vm) read2(c goja.FunctionCall, exact bool) goja.Value {
	value, err := v.parse(c.Argument(0).String(), exact)
	if err == nil {
		return value
	}
	if _, is := err.(tooDeep); is || v.ctx.Err() != nil { //nolint:errorlint // made by the decoder itself
		v.throw(err)
	}
	v.fail("SyntaxError", "%s", err.Error())
	return nil
}

// jsonStringify takes the value, the replacer as a function or an array of names, and the gap.
func (v *vm) jsonStringify(c goja.FunctionCall) goja.Value {
	e := &encoder{v: v, gap: c.Argument(2).String()}
	e.replace, _ = goja.AssertFunction(c.Argument(1))
	if names, is := c.Argument(1).(*goja.Object); is && e.replace == nil {
		e.only = []string{}
		for i := range names.Get("length").ToInteger() {
			e.only = append(e.only, names.Get(fmt.Sprint(i)).String())
		}
	}
	raw, ok, err := e.run(c.Argument(0))
	if err == errCircle { //nolint:errorlint // returned as it is
		v.fail("TypeError", "%v", err)
	}
	if err != nil {
		v.throw(err)
	}
	if !ok {
		return goja.Undefined()
	}
	return v.rt.ToValue(string(raw))
}

func (v *vm) timer(c goja.FunctionCall) goja.Value {
	f, _ := goja.AssertFunction(c.Argument(0))
	if len(v.loop.timers) >= v.script.Limits.Timers {
		v.fail("RangeError", "more than %d timers are pending", v.script.Limits.Timers)
	}
	ms := c.Argument(1).ToFloat()
	if !(ms >= 1) {
		ms = 1
	}
	d := time.Duration(min(ms, 1<<31) * float64(time.Millisecond))
	every := time.Duration(-1)
	if c.Argument(2).ToBoolean() {
		every = d
	}
	return v.rt.ToValue(v.loop.after(d, every, func() error {
		_, err := f(goja.Undefined())
		return err
	}))
}

func (v *vm) clear(c goja.FunctionCall) goja.Value {
	v.loop.clear(c.Argument(0).ToInteger())
	return goja.Undefined()
}

func (v *vm) now(goja.FunctionCall) goja.Value {
	return v.rt.ToValue(float64(time.Since(v.began).Microseconds()) / 1000)
}

func (v *vm) utf8Encode(c goja.FunctionCall) goja.Value {
	s, _ := canon.CleanUTF8(c.Argument(0).String())
	return v.rt.ToValue(v.rt.NewArrayBuffer([]byte(s)))
}

// utf8Decode takes an ArrayBuffer, an offset and a length; it answers null for bytes that are no UTF-8 when the
// fourth argument is true.
func (v *vm) utf8Decode(c goja.FunctionCall) goja.Value {
	buffer, is := c.Argument(0).Export().(goja.ArrayBuffer)
	if !is {
		return v.rt.ToValue("")
	}
	from := c.Argument(1).ToInteger()
	s := string(buffer.Bytes()[from : from+c.Argument(2).ToInteger()])
	clean := strings.ToValidUTF8(s, "\uFFFD")
	if clean != s {
		if c.Argument(3).ToBoolean() {
			return goja.Null()
		}
		// Every maximal part of a broken sequence is one U+FFFD, as the decoder of the web has it.
		clean, _ = canon.CleanUTF8(s)
	}
	return v.rt.ToValue(clean)
}

func (v *vm) random(c goja.FunctionCall) goja.Value {
	b := make([]byte, min(c.Argument(0).ToInteger(), 65536))
	for i := range b {
		if i%8 == 0 {
			x := v.rand.Uint64()
			for j := i; j < min(i+8, len(b)); j++ {
				b[j] = byte(x >> (8 * (j - i)))
			}
		}
	}
	if c.Argument(1).ToBoolean() {
		return v.rt.ToValue(hex.EncodeToString(b))
	}
	return v.rt.ToValue(v.rt.NewArrayBuffer(b))
}

// wellFormed gives a string with U+FFFD for every lone surrogate.
func (v *vm) wellFormed(c goja.FunctionCall) goja.Value {
	s, is := c.Argument(0).ToString().(goja.String)
	if !is {
		return c.Argument(0)
	}
	units := make([]uint16, s.Length())
	for i := range units {
		units[i] = s.CharAt(i)
	}
	return goja.StringFromUTF16(utf16.Encode(utf16.Decode(units)))
}

func (v *vm) notePlain(c goja.FunctionCall) goja.Value {
	v.plainOf = c.Argument(0)
	return goja.Undefined()
}

func (v *vm) noteMissed(c goja.FunctionCall) goja.Value {
	v.missed, v.missedAt = c.Argument(0).String(), line(v.here())
	return goja.Undefined()
}

// noteThrown remembers where something was thrown that is no Error.
func (v *vm) noteThrown(c goja.FunctionCall) goja.Value {
	v.thrown, v.thrownAt = c.Argument(0), v.here()
	return c.Argument(0)
}
