package realm

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/weir-run/weir/internal/canon"
)

// decoder turns JSON into values of the realm. Keys come in JavaScript's order, the last of two equal ones
// wins, and an integer beyond 2^53 becomes a BigInt.
type decoder struct {
	rt    *goja.Runtime
	src   string
	pos   int
	depth int
	most  int
	// exact makes a number that no double holds its literal string; without it it is the nearest double.
	exact bool
	stop  func() error
	count int
}

// decode reads JSON that comes from the host: lone surrogates become U+FFFD, digits are kept.
func (v *vm) decode(raw []byte) (goja.Value, error) {
	clean, _ := canon.CleanJSON(raw)
	return v.parse(string(clean), true)
}

func (v *vm) parse(text string, exact bool) (goja.Value, error) {
	d := &decoder{rt: v.rt, src: text, most: v.script.Limits.Depth, exact: exact, stop: v.ctx.Err}
	d.space()
	value, err := d.value()
	if err != nil {
		return nil, err
	}
	if d.space(); d.pos < len(d.src) {
		return nil, d.unexpected()
	}
	return value, nil
}

func (d *decoder) space() {
	for d.pos < len(d.src) {
		switch d.src[d.pos] {
		case ' ', '\t', '\n', '\r':
			d.pos++
		default:
			return
		}
	}
}

// unexpected says what stands where it must not.
func (d *decoder) unexpected() error {
	if d.pos >= len(d.src) {
		return fmt.Errorf("Unexpected end of JSON input") //nolint:staticcheck // the text that scripts know from other engines
	}
	r, _ := utf8.DecodeRuneInString(d.src[d.pos:])
	return fmt.Errorf("Unexpected token %s in JSON at position %d", strconv.QuoteRune(r), d.pos) //nolint:staticcheck // likewise
}

func (d *decoder) value() (goja.Value, error) {
	if d.count++; d.count%4096 == 0 {
		if err := d.stop(); err != nil {
			return nil, err
		}
	}
	if d.pos >= len(d.src) {
		return nil, d.unexpected()
	}
	switch c := d.src[d.pos]; c {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		return d.text()
	case 't':
		return d.word("true", d.rt.ToValue(true))
	case 'f':
		return d.word("false", d.rt.ToValue(false))
	case 'n':
		return d.word("null", goja.Null())
	default:
		if c == '-' || c >= '0' && c <= '9' {
			return d.number()
		}
		return nil, d.unexpected()
	}
}

func (d *decoder) word(w string, v goja.Value) (goja.Value, error) {
	if !strings.HasPrefix(d.src[d.pos:], w) {
		return nil, d.unexpected()
	}
	d.pos += len(w)
	return v, nil
}

// tooDeep is the reason that JSON is refused in either direction.
type tooDeep int

func (n tooDeep) Error() string {
	return fmt.Sprintf("JSON nests deeper than %d levels", int(n))
}

func (d *decoder) down() error {
	if d.depth++; d.depth > d.most {
		return tooDeep(d.most)
	}
	d.pos++
	d.space()
	return nil
}

func (d *decoder) object() (goja.Value, error) {
	if err := d.down(); err != nil {
		return nil, err
	}
	o := d.rt.NewObject()
	for first := true; ; first = false {
		if d.pos < len(d.src) && d.src[d.pos] == '}' && first {
			break
		}
		if d.pos >= len(d.src) || d.src[d.pos] != '"' {
			return nil, d.unexpected()
		}
		key, err := d.text()
		if err != nil {
			return nil, err
		}
		if d.space(); d.pos >= len(d.src) || d.src[d.pos] != ':' {
			return nil, d.unexpected()
		}
		d.pos++
		d.space()
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		if err := put(o, key.String(), value); err != nil {
			return nil, err
		}
		if done, err := d.after('}'); err != nil {
			return nil, err
		} else if done {
			break
		}
	}
	d.depth--
	d.pos++
	return o, nil
}

// put adds an own property, whatever its name and the prototype say.
func put(o *goja.Object, key string, value goja.Value) error {
	if key == "__proto__" {
		return o.DefineDataProperty(key, value, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_TRUE)
	}
	return o.Set(key, value)
}

func (d *decoder) array() (goja.Value, error) {
	if err := d.down(); err != nil {
		return nil, err
	}
	var items []any
	for first := true; ; first = false {
		if d.pos < len(d.src) && d.src[d.pos] == ']' && first {
			break
		}
		value, err := d.value()
		if err != nil {
			return nil, err
		}
		items = append(items, value)
		if done, err := d.after(']'); err != nil {
			return nil, err
		} else if done {
			break
		}
	}
	d.depth--
	d.pos++
	return d.rt.NewArray(items...), nil
}

// after reads what follows a member: a comma and the next one, or the end.
func (d *decoder) after(end byte) (done bool, err error) {
	d.space()
	switch {
	case d.pos < len(d.src) && d.src[d.pos] == end:
		return true, nil
	case d.pos < len(d.src) && d.src[d.pos] == ',':
		d.pos++
		d.space()
		return false, nil
	}
	return false, d.unexpected()
}

// text reads a string; escapes may leave lone surrogates in it, as in JavaScript.
func (d *decoder) text() (goja.Value, error) {
	start := d.pos + 1
	for i := start; i < len(d.src); i++ {
		switch c := d.src[i]; {
		case c == '"':
			d.pos = i + 1
			return d.rt.ToValue(d.src[start:i]), nil
		case c == '\\':
			return d.escaped(start, i)
		case c < 0x20:
			d.pos = i
			return nil, d.unexpected()
		}
	}
	d.pos = len(d.src)
	return nil, d.unexpected()
}

func (d *decoder) escaped(start, i int) (goja.Value, error) {
	units := utf16.Encode([]rune(d.src[start:i]))
	for i < len(d.src) {
		r, size := utf8.DecodeRuneInString(d.src[i:])
		switch {
		case r == '"':
			d.pos = i + 1
			return goja.StringFromUTF16(units), nil
		case r < 0x20:
			d.pos = i
			return nil, d.unexpected()
		case r != '\\':
			units = utf16.AppendRune(units, r)
			i += size
		default:
			unit, n := escape(d.src[i+1:])
			if n == 0 {
				d.pos = min(i+1, len(d.src))
				return nil, d.unexpected()
			}
			units = append(units, unit)
			i += 1 + n
		}
	}
	d.pos = len(d.src)
	return nil, d.unexpected()
}

// escape reads what follows a backslash; n is 0 when it is no escape.
func escape(s string) (unit uint16, n int) {
	if s == "" {
		return 0, 0
	}
	if at := strings.IndexByte(`"\/bfnrt`, s[0]); at >= 0 {
		return uint16("\"\\/\b\f\n\r\t"[at]), 1
	}
	if s[0] != 'u' || len(s) < 5 {
		return 0, 0
	}
	x, err := strconv.ParseUint(s[1:5], 16, 16)
	if err != nil || strings.ContainsAny(s[1:5], "+-_") {
		return 0, 0
	}
	return uint16(x), 5
}

func (d *decoder) number() (goja.Value, error) {
	start := d.pos
	whole := true
	if d.src[d.pos] == '-' {
		d.pos++
	}
	from := d.pos
	if d.digits() == 0 || d.src[from] == '0' && d.pos > from+1 {
		d.pos = min(d.pos, from+1)
		return nil, d.unexpected()
	}
	if d.pos < len(d.src) && d.src[d.pos] == '.' {
		whole = false
		d.pos++
		if d.digits() == 0 {
			return nil, d.unexpected()
		}
	}
	if d.pos < len(d.src) && (d.src[d.pos] == 'e' || d.src[d.pos] == 'E') {
		whole = false
		d.pos++
		if d.pos < len(d.src) && (d.src[d.pos] == '+' || d.src[d.pos] == '-') {
			d.pos++
		}
		if d.digits() == 0 {
			return nil, d.unexpected()
		}
	}
	return d.numeral(d.src[start:d.pos], whole)
}

func (d *decoder) digits() int {
	from := d.pos
	for d.pos < len(d.src) && d.src[d.pos] >= '0' && d.src[d.pos] <= '9' {
		d.pos++
	}
	return d.pos - from
}

const (
	maxSafe = 1<<53 - 1
	// maxDigits bounds the digits of an integer that becomes a BigInt: reading them takes more than linear time.
	maxDigits = 100_000
)

func (d *decoder) numeral(lit string, whole bool) (goja.Value, error) {
	if whole && len(lit) <= maxDigits {
		if n, err := strconv.ParseInt(lit, 10, 64); err == nil && n <= maxSafe && n >= -maxSafe && lit != "-0" {
			return d.rt.ToValue(n), nil
		}
		if n, ok := new(big.Int).SetString(lit, 10); ok && lit != "-0" {
			return d.rt.ToValue(n), nil
		}
	}
	f, err := strconv.ParseFloat(lit, 64)
	if d.exact && (err != nil || !holds(f, lit)) {
		return d.rt.ToValue(lit), nil
	}
	return d.rt.ToValue(f), nil
}

// holds says whether the shortest form of f is the same decimal as lit.
func holds(f float64, lit string) bool {
	a, ae := decimal(strconv.FormatFloat(f, 'e', -1, 64))
	b, be := decimal(lit)
	return a == b && ae == be
}

// decimal gives the significant digits of a numeral, with its sign, and the power of ten of the last.
func decimal(s string) (digits string, exp int) {
	mantissa, e := s, 0
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		mantissa = s[:at]
		e, _ = strconv.Atoi(s[at+1:])
	}
	sign := ""
	if strings.HasPrefix(mantissa, "-") {
		sign, mantissa = "-", mantissa[1:]
	}
	if at := strings.IndexByte(mantissa, '.'); at >= 0 {
		e -= len(mantissa) - at - 1
		mantissa = mantissa[:at] + mantissa[at+1:]
	}
	mantissa = strings.TrimLeft(mantissa, "0")
	cut := strings.TrimRight(mantissa, "0")
	if cut == "" {
		return "0", 0
	}
	return sign + cut, e + len(mantissa) - len(cut)
}
