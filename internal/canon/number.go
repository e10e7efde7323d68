package canon

import (
	"bytes"
	"math/big"
)

// maxExponent is how many digits of an exponent are calculated with; to read
// more takes time that grows with their square.
const maxExponent = 1000

// decimal is the exact value of a number literal: digits × 10^exponent, the
// digits without zeros at either end. Zero has no digits and no sign.
type decimal struct {
	negative bool
	digits   []byte
	exponent *big.Int
	beyond   string // an exponent of more than maxExponent digits, as written
}

// parseDecimal reads a valid number literal.
func parseDecimal(literal []byte) decimal {
	var d decimal
	d.exponent = new(big.Int)
	mantissa, negative := bytes.CutPrefix(literal, []byte{'-'})
	if at := bytes.IndexAny(mantissa, "eE"); at >= 0 {
		written := string(bytes.TrimPrefix(mantissa[at+1:], []byte{'+'}))
		if len(written) > maxExponent {
			d.beyond, written = written, "0"
		}
		d.exponent.SetString(written, 10)
		mantissa = mantissa[:at]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	digits := whole
	if len(fraction) > 0 {
		digits = append(append(make([]byte, 0, len(mantissa)), whole...), fraction...)
	}
	trimmed := bytes.TrimRight(digits, "0")
	shift := int64(len(digits) - len(trimmed) - len(fraction))
	trimmed = bytes.TrimLeft(trimmed, "0")
	if len(trimmed) == 0 {
		return decimal{exponent: new(big.Int)}
	}
	d.negative, d.digits = negative, trimmed
	d.exponent.Add(d.exponent, big.NewInt(shift))
	return d
}

// sameNumber reports whether two valid number literals mean the same value.
func sameNumber(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, y := parseDecimal(a), parseDecimal(b)
	return x.negative == y.negative && bytes.Equal(x.digits, y.digits) &&
		x.exponent.Cmp(y.exponent) == 0 && x.beyond == y.beyond
}
