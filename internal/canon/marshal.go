package canon

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
)

// MaxBytes is the most that [Marshal] writes. A value in which parts are
// shared many times over can otherwise grow without end.
const MaxBytes = 1 << 30

// Errors of [Marshal]; each comes wrapped with the type it was noticed at.
var (
	// ErrCycle tells that a value holds itself.
	ErrCycle = errors.New("the value holds itself")
	// ErrDepth tells that a value nests deeper than MaxDepth.
	ErrDepth = fmt.Errorf("it nests deeper than %d levels", MaxDepth)
	// ErrSize tells that a value takes more than MaxBytes.
	ErrSize = fmt.Errorf("its JSON is longer than %d bytes", MaxBytes)
	// ErrUnsupported tells that a value has no JSON form: a channel, a
	// function, a complex number, NaN or an infinity, a map with other keys
	// than strings, integers and texts.
	ErrUnsupported = errors.New("it has no JSON form")
)

// Marshal returns v as compact JSON: what encoding/json would write, by its
// struct tags, its interfaces and its number formats, with these differences.
//
//   - Nothing is escaped that need not be: < > & U+2028 and U+2029 stand as
//     themselves, and a byte or surrogate that is no text is a literal U+FFFD,
//     by the rule of [CleanUTF8].
//   - A [json.RawMessage], at any depth, is copied byte for byte as [CleanJSON]
//     returns it, its white space and escapes included; only the white space
//     around it goes. It must be valid JSON.
//   - What a MarshalJSON method returns is compacted, and the escapes that
//     json.Marshal writes without need (\u003c \u003e \u0026 \u2028 \u2029
//     \ufffd) are undone in it, since such a method mostly calls json.Marshal.
//     This holds for a type that embeds a RawMessage too.
//   - A nil pointer is null, also where the type of an interface says that it
//     has a method.
//   - Two keys of one map that are written alike are an error, not an accident
//     of the map's order.
//
// Fields keep their order, map keys are sorted by their bytes, a [json.Number]
// keeps its literal. There is no trailing newline.
//
// Whatever cannot be written is an error, never a panic: a cycle, nesting
// beyond [MaxDepth], more than [MaxBytes], NaN, a channel, a method that fails
// or panics. The error names the type. (A MarshalJSON that calls itself without
// end is beyond that: Go ends a program whose stack is full.)
func Marshal(v any) ([]byte, error) {
	return marshal(v, MaxBytes)
}

// marshal is Marshal with limit for MaxBytes.
func marshal(v any, limit int) (out []byte, err error) {
	e := encoder{limit: limit}
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("marshal %.100T: %w", v, panicked(r))
		}
	}()
	if err := e.any(v); err != nil {
		return nil, fmt.Errorf("marshal %.100T: %w", v, err)
	}
	if err := e.checkSize(); err != nil {
		return nil, fmt.Errorf("marshal %.100T: %w", v, err)
	}
	return e.out, nil
}

// panicked turns the value of a panic into an error. A value that is neither
// an error nor a string is left out: its form may hold an address.
func panicked(r any) error {
	switch r.(type) {
	case error, string:
		text, _ := CleanUTF8(fmt.Sprint(r)) // Sprint survives an Error that panics
		const most = 200
		if rs := []rune(text); len(rs) > most {
			text = string(rs[:most]) + "…"
		}
		return fmt.Errorf("it panicked: %s", text)
	default:
		return fmt.Errorf("it panicked with a %T", r)
	}
}

var (
	numberType        = reflect.TypeFor[json.Number]()
	rawType           = reflect.TypeFor[json.RawMessage]()
	rawPointerType    = reflect.TypeFor[*json.RawMessage]()
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
)

// method says by which method of its own a value is written.
type method byte

const (
	none method = iota
	byJSON
	byText
)

// plan is how values of one type are written. It never changes once made.
type plan struct {
	own     method  // the method that a value has
	ownAddr method  // the method that a value has when its address can be taken
	bytes   bool    // a slice that is written as base64
	fields  []field // of a struct
}

// plans remembers the plan of each type, as encoding/json does: to make it
// takes longer than to write a small struct. It is a memory of a pure function
// and holds no more than the types of the program, which never go away.
var plans sync.Map // reflect.Type → *plan

// planOf returns the plan of t.
func planOf(t reflect.Type) *plan {
	if p, ok := plans.Load(t); ok {
		return p.(*plan)
	}
	p := &plan{}
	if t != rawType && t != rawPointerType {
		p.own = methodOf(t)
		p.ownAddr = p.own
		if p.own != byJSON && t.Kind() != reflect.Pointer && t.Kind() != reflect.Interface {
			if m := methodOf(reflect.PointerTo(t)); m != none {
				p.ownAddr = m
			}
		}
		p.bytes = t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 &&
			methodOf(reflect.PointerTo(t.Elem())) == none
	}
	if t.Kind() == reflect.Struct && p.own == none {
		p.fields = fieldsOfType(t)
	}
	first, _ := plans.LoadOrStore(t, p)
	return first.(*plan)
}

func methodOf(t reflect.Type) method {
	switch {
	case t.Implements(marshalerType):
		return byJSON
	case t.Implements(textMarshalerType):
		return byText
	default:
		return none
	}
}

// custom writes v by its own method and reports whether it has one.
func (e *encoder) custom(v reflect.Value, p *plan) (done bool, err error) {
	if p.ownAddr == none {
		return false, nil
	}
	m := p.own
	if v.Kind() == reflect.Interface && !v.IsNil() {
		in := v.Elem()
		if t := in.Type(); t == rawType || t == rawPointerType || in.Kind() == reflect.Pointer && in.IsNil() {
			return false, nil // the caller goes on to what is in it
		}
	}
	if v.CanAddr() && p.ownAddr != p.own {
		m = p.ownAddr
		v = v.Addr()
	}
	if m == none {
		return false, nil
	}
	if k := v.Kind(); (k == reflect.Pointer || k == reflect.Interface) && v.IsNil() {
		e.out = append(e.out, "null"...)
		return true, nil
	}
	if m == byText {
		text, err := callText(v)
		if err != nil {
			return true, err
		}
		e.out = AppendString(e.out, text)
		return true, nil
	}
	raw, err := callJSON(v)
	if err != nil {
		return true, err
	}
	if err := e.raw(raw, true); err != nil {
		return true, fmt.Errorf("%.100s.MarshalJSON: %w", v.Type(), err)
	}
	return true, nil
}

// callJSON calls v's MarshalJSON.
func callJSON(v reflect.Value) (raw []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
		if err != nil {
			raw, err = nil, fmt.Errorf("%.100s.MarshalJSON: %w", v.Type(), err)
		}
	}()
	m, _ := reflect.TypeAssert[json.Marshaler](v)
	return m.MarshalJSON()
}

// callText calls v's MarshalText.
func callText(v reflect.Value) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
		if err != nil {
			text, err = "", fmt.Errorf("%.100s.MarshalText: %w", v.Type(), err)
		}
	}()
	m, _ := reflect.TypeAssert[encoding.TextMarshaler](v)
	b, err := m.MarshalText()
	return string(b), err
}

// raw writes JSON that was made elsewhere; ofGo tells that Go code made it.
func (e *encoder) raw(raw []byte, ofGo bool) error {
	depth, err := Check(raw)
	if err == nil && e.depth+depth > MaxDepth {
		err = ErrDepth
	}
	if err != nil && !ofGo {
		return fmt.Errorf("json.RawMessage: %w", err)
	}
	if err != nil {
		return err
	}
	if ofGo {
		raw = undoEscapes(Compact(raw))
	}
	raw, _ = CleanJSON(trimSpace(raw))
	e.out = append(e.out, raw...)
	return e.checkSize()
}
