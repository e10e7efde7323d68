package canon

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// object writes a map of decoded JSON.
func (e *encoder) object(m map[string]any) error {
	if m == nil {
		e.out = append(e.out, "null"...)
		return nil
	}
	var watched reflect.Value
	if e.depth >= watchFrom {
		watched = reflect.ValueOf(m)
	}
	p, err := e.enter(watched)
	if err != nil {
		return err
	}
	e.out = append(e.out, '{')
	for i, k := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		e.out = append(AppendString(e.out, k), ':')
		if err := e.any(m[k]); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	e.leave(p)
	return e.checkSize()
}

// keyed reports whether a map with keys of type t can be written.
func keyed(t reflect.Type) bool {
	return t.Kind() == reflect.String || t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr ||
		t.Implements(textMarshalerType)
}

// entries writes a map, its keys sorted.
func (e *encoder) entries(v reflect.Value) error {
	t := v.Type()
	if !keyed(t.Key()) {
		return fmt.Errorf("%.100s: %w", t, ErrUnsupported)
	}
	type entry struct {
		key   string
		value reflect.Value
	}
	list := make([]entry, 0, v.Len())
	for it := v.MapRange(); it.Next(); {
		key, err := keyText(it.Key())
		if err != nil {
			return err
		}
		list = append(list, entry{key, it.Value()})
	}
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	p := planOf(t.Elem())
	e.out = append(e.out, '{')
	for i, en := range list {
		if i > 0 {
			if en.key == list[i-1].key {
				return fmt.Errorf("%.100s: two keys are written %.40q: %w", t, en.key, ErrUnsupported)
			}
			e.out = append(e.out, ',')
		}
		e.out = append(AppendString(e.out, en.key), ':')
		if err := e.value(en.value, p, false); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}

// keyText returns a map key as text.
func keyText(k reflect.Value) (string, error) {
	if k.Kind() == reflect.String {
		return k.String(), nil
	}
	if _, ok := reflect.TypeAssert[encoding.TextMarshaler](k); ok {
		if k.Kind() == reflect.Pointer && k.IsNil() {
			return "", nil
		}
		return callText(k)
	}
	if k.CanInt() {
		return strconv.FormatInt(k.Int(), 10), nil
	}
	if k.CanUint() {
		return strconv.FormatUint(k.Uint(), 10), nil
	}
	return "", fmt.Errorf("%.100s: %w", k.Type(), ErrUnsupported) // an interface that holds nil
}
