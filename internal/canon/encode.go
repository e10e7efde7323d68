package canon

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// watchFrom is the depth from which containers are checked for holding
// themselves: shallow values, nearly all there are, pay nothing for it.
const watchFrom = 32

// encoder writes one value. It recurses once for each level of nesting, never
// deeper than MaxDepth.
type encoder struct {
	out   []byte
	limit int // of len(out)
	depth int
	path  map[place]struct{} // the containers that are open, from watchFrom on
}

// place identifies a container while it is open.
type place struct {
	typ reflect.Type // nil: a container that is not watched
	at  uintptr
	len int
}

// any writes v, with short ways for the types that decoded JSON consists of.
func (e *encoder) any(v any) error {
	switch v := v.(type) {
	case nil:
		e.out = append(e.out, "null"...)
	case bool:
		e.out = strconv.AppendBool(e.out, v)
	case string:
		e.out = AppendString(e.out, v)
	case int:
		e.out = strconv.AppendInt(e.out, int64(v), 10)
	case int64:
		e.out = strconv.AppendInt(e.out, v, 10)
	case float64:
		return e.float(v, 64)
	case json.Number:
		return e.number(string(v))
	case json.RawMessage:
		if v == nil {
			e.out = append(e.out, "null"...)
			return nil
		}
		return e.raw(v, false)
	case map[string]any:
		return e.object(v)
	case []any:
		return e.array(v)
	default:
		return e.value(reflect.ValueOf(v), nil, false)
	}
	return nil
}

// array writes a slice of decoded JSON.
func (e *encoder) array(list []any) error {
	if list == nil {
		e.out = append(e.out, "null"...)
		return nil
	}
	var watched reflect.Value
	if e.depth >= watchFrom {
		watched = reflect.ValueOf(list)
	}
	p, err := e.enter(watched)
	if err != nil {
		return err
	}
	e.out = append(e.out, '[')
	for i, v := range list {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.any(v); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	e.leave(p)
	return e.checkSize()
}

// value writes v. p is the plan of its type if the caller has it, else nil;
// quoted puts a scalar between quotation marks (the "string" option of a tag).
func (e *encoder) value(v reflect.Value, p *plan, quoted bool) error {
	for hops := 0; ; hops++ {
		if !v.IsValid() {
			e.out = append(e.out, "null"...)
			return nil
		}
		if p == nil {
			p = planOf(v.Type())
		}
		if done, err := e.custom(v, p); done {
			return err
		}
		if k := v.Kind(); k != reflect.Pointer && k != reflect.Interface {
			break
		}
		if hops > MaxDepth { // pointers that lead to nothing but pointers
			return fmt.Errorf("%.100s: %w", v.Type(), ErrCycle)
		}
		v, p = v.Elem(), nil // Elem of nil: not valid
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array:
		return e.container(v, p)
	case reflect.String:
		return e.text(v, quoted)
	}
	if quoted {
		e.out = append(e.out, '"')
	}
	switch v.Kind() {
	case reflect.Bool:
		e.out = strconv.AppendBool(e.out, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.out = strconv.AppendInt(e.out, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		e.out = strconv.AppendUint(e.out, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		if err := e.float(v.Float(), v.Type().Bits()); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%.100s: %w", v.Type(), ErrUnsupported)
	}
	if quoted {
		e.out = append(e.out, '"')
	}
	return nil
}

// container writes what nests.
func (e *encoder) container(v reflect.Value, pl *plan) error {
	t := v.Type()
	switch v.Kind() {
	case reflect.Map, reflect.Slice:
		if v.IsNil() {
			if v.Kind() == reflect.Map && !keyed(t.Key()) {
				return fmt.Errorf("%.100s: %w", t, ErrUnsupported)
			}
			e.out = append(e.out, "null"...)
			return nil
		}
		if t == rawType {
			return e.raw(v.Bytes(), false)
		}
		if pl.bytes {
			e.out = append(e.out, '"')
			e.out = base64.StdEncoding.AppendEncode(e.out, v.Bytes())
			e.out = append(e.out, '"')
			return e.checkSize()
		}
	}
	p, err := e.enter(v)
	if err != nil {
		return err
	}
	switch v.Kind() {
	case reflect.Struct:
		err = e.fieldsOf(v, pl)
	case reflect.Map:
		err = e.entries(v)
	default:
		err = e.elements(v)
	}
	if err != nil {
		return err
	}
	e.leave(p)
	return e.checkSize()
}

// elements writes a slice or an array.
func (e *encoder) elements(v reflect.Value) error {
	e.out = append(e.out, '[')
	p := planOf(v.Type().Elem())
	for i := range v.Len() {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.value(v.Index(i), p, false); err != nil {
			return err
		}
	}
	e.out = append(e.out, ']')
	return nil
}

// enter opens a container; what it returns is for leave. v may be the zero
// Value while depth is below watchFrom.
func (e *encoder) enter(v reflect.Value) (place, error) {
	e.depth++
	if e.depth <= watchFrom {
		return place{}, nil
	}
	if e.depth > MaxDepth {
		return place{}, fmt.Errorf("%.100s: %w", v.Type(), ErrDepth)
	}
	p := place{typ: v.Type()}
	switch {
	case v.Kind() == reflect.Map:
		p.at = v.Pointer()
	case v.Kind() == reflect.Slice:
		p.at, p.len = v.Pointer(), v.Len()
	case v.CanAddr():
		p.at = v.Addr().Pointer()
	default: // a copy, which nothing can point to
		return place{}, nil
	}
	if _, open := e.path[p]; open {
		return place{}, fmt.Errorf("%.100s: %w", v.Type(), ErrCycle)
	}
	if e.path == nil {
		e.path = map[place]struct{}{}
	}
	e.path[p] = struct{}{}
	return p, nil
}

// leave closes the container that p was returned for.
func (e *encoder) leave(p place) {
	e.depth--
	if p.typ != nil {
		delete(e.path, p)
	}
}

// checkSize holds the output to its limit, and doubles the room for it where
// append would add a quarter each time.
func (e *encoder) checkSize() error {
	if cap(e.out)-len(e.out) < len(e.out)/8 {
		e.out = slices.Grow(e.out, len(e.out))
	}
	if len(e.out) > e.limit {
		return ErrSize
	}
	return nil
}
