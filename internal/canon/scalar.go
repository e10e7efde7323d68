package canon

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
)

// text writes a value of kind string.
func (e *encoder) text(v reflect.Value, quoted bool) error {
	s := v.String()
	switch {
	case v.Type() != numberType && quoted:
		e.out = AppendString(e.out, string(AppendString(nil, s)))
	case v.Type() != numberType:
		e.out = AppendString(e.out, s)
	case quoted:
		e.out = append(e.out, '"')
		if err := e.number(s); err != nil {
			return err
		}
		e.out = append(e.out, '"')
	default:
		return e.number(s)
	}
	return nil
}

// number writes the literal of a json.Number, whose zero value is 0.
func (e *encoder) number(s string) error {
	if s == "" {
		s = "0"
	}
	if end, ok := numberEnd(s, 0); !ok || end != len(s) {
		return fmt.Errorf("json.Number: %.40q is no number: %w", s, ErrUnsupported)
	}
	e.out = append(e.out, s...)
	return nil
}

// float writes f as encoding/json does: the shortest digits that give f back,
// with an exponent below 1e-6 and from 1e21 on (ECMA-262, Number::toString).
func (e *encoder) float(f float64, bits int) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("the number %v: %w", f, ErrUnsupported)
	}
	low, high := 1e-6, 1e21
	if bits == 32 {
		low, high = float64(float32(low)), float64(float32(high))
	}
	if abs := math.Abs(f); abs == 0 || abs >= low && abs < high {
		e.out = strconv.AppendFloat(e.out, f, 'f', -1, bits)
		return nil
	}
	e.out = strconv.AppendFloat(e.out, f, 'e', -1, bits)
	// strconv writes two digits of exponent at least: e-09 is e-9.
	if n := len(e.out); e.out[n-2] == '0' && e.out[n-4] == 'e' {
		e.out = append(e.out[:n-2], e.out[n-1])
	}
	return nil
}
