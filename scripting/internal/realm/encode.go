package realm

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/dop251/goja"

	"github.com/weir-run/weir/internal/canon"
)

// encoder turns values of the realm into JSON, by the rules of JSON.stringify and these of its own: a BigInt
// is an integer literal, and nesting, size and time are bounded.
type encoder struct {
	v   *vm
	out []byte
	// open are the objects that are being written, to find a circle.
	open []*goja.Object
	// indent and gap are those of JSON.stringify's third argument.
	indent, gap string
	// only are the keys that an array of names lets through; replace is the function in its place.
	only    []string
	replace goja.Callable
	// host marks what leaves the realm: lone surrogates become U+FFFD, and what JSON.stringify would empty
	// without a word has a form: a Map, a Set and an Error.
	host  bool
	count int
	// big is BigInt.prototype.toJSON where the script has defined one.
	big goja.Callable
}

// The engine tells what an object is by the Go type that it would become.
//
//nolint:gochecknoglobals // constants that Go has no form for
var (
	proxyType = reflect.TypeFor[goja.Proxy]()
	mapType   = reflect.TypeFor[[][2]any]()
	setType   = reflect.TypeFor[[]any]()
)

// encode gives the JSON of a value that leaves the realm; ok is false for undefined and functions. It runs
// getters and toJSON of the script: the error may be a *goja.Exception.
func (v *vm) encode(value goja.Value) (raw []byte, ok bool, err error) {
	e := &encoder{v: v, host: true}
	return e.run(value)
}

func (e *encoder) run(value goja.Value) (raw []byte, ok bool, err error) {
	if o, is := e.v.rt.Get("BigInt").(*goja.Object); is {
		if proto, is := o.Get("prototype").(*goja.Object); is {
			e.big, _ = goja.AssertFunction(proto.Get("toJSON"))
		}
	}
	ok, err = e.value("", value, nil)
	if err != nil {
		return nil, false, err
	}
	return e.out, ok, nil
}

var errCircle = errors.New("Converting circular structure to JSON") //nolint:staticcheck // the text that scripts know from other engines

func (e *encoder) check() error {
	if e.count++; e.count%1024 == 0 {
		if err := e.v.ctx.Err(); err != nil {
			return err
		}
	}
	if most := e.v.script.Limits.Heap / 4; int64(len(e.out)) > most {
		return fmt.Errorf("JSON text is longer than %d bytes", most)
	}
	return nil
}

// value writes one value; false means that it has no JSON.
func (e *encoder) value(key string, value goja.Value, holder *goja.Object) (bool, error) {
	if err := e.check(); err != nil {
		return false, err
	}
	value, err := e.replaced(key, value, holder)
	if err != nil {
		return false, err
	}
	switch x := value.(type) {
	case nil:
		return false, nil
	case goja.String:
		e.text(x)
		return true, nil
	case *goja.Symbol:
		return false, nil
	case *goja.Object:
		return e.object(x)
	}
	switch {
	case goja.IsUndefined(value):
		return false, nil
	case goja.IsNull(value):
		e.out = append(e.out, "null"...)
	case goja.IsNumber(value):
		e.number(value)
	default: // a boolean or a BigInt
		e.out = append(e.out, value.String()...)
	}
	return true, nil
}

// replaced applies toJSON and the replacer.
func (e *encoder) replaced(key string, value goja.Value, holder *goja.Object) (goja.Value, error) {
	var err error
	if o, is := value.(*goja.Object); is {
		if f, is := goja.AssertFunction(o.Get("toJSON")); is {
			if value, err = f(o, e.v.rt.ToValue(key)); err != nil {
				return nil, err
			}
		}
	} else if e.big != nil && value != nil && goja.IsBigInt(value) {
		if value, err = e.big(value, e.v.rt.ToValue(key)); err != nil {
			return nil, err
		}
	}
	if e.replace != nil {
		if holder == nil {
			holder = e.v.rt.NewObject()
			if err := put(holder, key, value); err != nil {
				return nil, err
			}
		}
		return e.replace(holder, e.v.rt.ToValue(key), value)
	}
	return value, nil
}

func (e *encoder) number(value goja.Value) {
	f := value.ToFloat()
	switch {
	case f != f || f-f != 0:
		e.out = append(e.out, "null"...)
	case f == 0:
		e.out = append(e.out, '0')
	default:
		e.out = append(e.out, value.String()...)
	}
}

// text writes a string. A lone surrogate is an escape for the script and U+FFFD for the host.
func (e *encoder) text(s goja.String) {
	g := s.String()
	if e.host || !strings.ContainsRune(g, '\uFFFD') {
		e.out = canon.AppendString(e.out, g)
		return
	}
	e.out = append(e.out, '"')
	from := 0
	part := func(to int) {
		q := canon.AppendString(nil, s.Substring(from, to).String())
		e.out = append(e.out, q[1:len(q)-1]...)
	}
	for i := 0; i < s.Length(); i++ {
		c := rune(s.CharAt(i))
		if !utf16.IsSurrogate(c) {
			continue
		}
		if i+1 < s.Length() && utf16.DecodeRune(c, rune(s.CharAt(i+1))) != '\uFFFD' {
			i++
			continue
		}
		part(i)
		e.out = append(e.out, `\u`+strconv.FormatInt(int64(c), 16)...)
		from = i + 1
	}
	part(s.Length())
	e.out = append(e.out, '"')
}

func (e *encoder) object(o *goja.Object) (bool, error) {
	class := o.ClassName()
	if proxy, is := proxyOf(o); is {
		if class = "Object"; target(proxy) == "Array" {
			class = "Array"
		}
	}
	if _, is := goja.AssertFunction(o); is {
		return false, nil
	}
	switch class {
	case "Number", "String", "Boolean", "BigInt":
		return e.boxed(class, o)
	}
	if len(e.open) >= e.v.script.Limits.Depth {
		return false, tooDeep(e.v.script.Limits.Depth)
	}
	for _, up := range e.open {
		if up == o {
			return false, errCircle
		}
	}
	e.open = append(e.open, o)
	outer := e.indent
	e.indent += e.gap
	var err error
	switch plain, is := e.plain(class, o); {
	case is && plain.ClassName() == "Array", class == "Array":
		err = e.array(plain, outer)
	default:
		err = e.members(plain, outer)
	}
	e.indent = outer
	e.open = e.open[:len(e.open)-1]
	return true, err
}

// plain gives what stands for an object of the language that has no members of its own.
func (e *encoder) plain(class string, o *goja.Object) (*goja.Object, bool) {
	if !e.host {
		return o, false
	}
	switch t := o.ExportType(); {
	case t == mapType, t == setType && class != "Array", class == "Error":
		if f, is := goja.AssertFunction(e.v.plainOf); is {
			if made, err := f(goja.Undefined(), o); err == nil {
				return made.ToObject(e.v.rt), true
			}
		}
	}
	return o, false
}

func proxyOf(o *goja.Object) (goja.Proxy, bool) {
	if o.ExportType() != proxyType {
		return goja.Proxy{}, false
	}
	p, is := o.Export().(goja.Proxy)
	return p, is
}

func target(p goja.Proxy) string {
	for range 100 {
		t := p.Target()
		if t == nil {
			return ""
		}
		next, is := proxyOf(t)
		if !is {
			return t.ClassName()
		}
		p = next
	}
	return ""
}

func (e *encoder) boxed(class string, o *goja.Object) (bool, error) {
	switch class {
	case "Number":
		e.number(o.ToNumber())
	case "String":
		s, is := o.ToString().(goja.String)
		if is {
			e.text(s)
		}
	default:
		f, is := goja.AssertFunction(o.Get("valueOf"))
		if !is {
			return false, nil
		}
		value, err := f(o)
		if err != nil {
			return false, err
		}
		e.out = append(e.out, value.String()...)
	}
	return true, nil
}

func (e *encoder) line(indent string) {
	if e.gap != "" {
		e.out = append(append(e.out, '\n'), indent...)
	}
}

func (e *encoder) array(o *goja.Object, outer string) error {
	n := o.Get("length").ToInteger()
	e.out = append(e.out, '[')
	for i := range n {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.line(e.indent)
		key := strconv.FormatInt(i, 10)
		ok, err := e.value(key, o.Get(key), o)
		if err != nil {
			return err
		}
		if !ok {
			e.out = append(e.out, "null"...)
		}
	}
	if n > 0 {
		e.line(outer)
	}
	e.out = append(e.out, ']')
	return nil
}

func (e *encoder) members(o *goja.Object, outer string) error {
	keys := e.only
	if keys == nil {
		keys = o.Keys()
	}
	e.out = append(e.out, '{')
	some := false
	for _, key := range keys {
		before := len(e.out)
		if some {
			e.out = append(e.out, ',')
		}
		e.line(e.indent)
		e.out = canon.AppendString(e.out, key)
		e.out = append(e.out, ':')
		if e.gap != "" {
			e.out = append(e.out, ' ')
		}
		ok, err := e.value(key, o.Get(key), o)
		if err != nil {
			return err
		}
		if ok {
			some = true
		} else {
			e.out = e.out[:before]
		}
	}
	if some {
		e.line(outer)
	}
	e.out = append(e.out, '}')
	return nil
}
