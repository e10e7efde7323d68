// Package locale formats numbers, compares texts and splits times as the en-US locale of other JavaScript
// engines does, for the options that it knows; any other option is an error that names it.
package locale

import (
	"fmt"
	"strings"
)

// Options are those of Intl.NumberFormat, resolved: -1 stands for an absent number of digits.
type Options struct {
	Style, Currency, CurrencyDisplay, CurrencySign string
	Notation, CompactDisplay                       string
	SignDisplay, Grouping                          string
	MinInteger                                     int
	MinFraction, MaxFraction                       int
	MinSignificant, MaxSignificant                 int
}

// Number formats a numeral as JavaScript writes it: digits with an optional point and exponent, NaN or
// Infinity. Rounding is half away from zero on the decimal digits of the shortest form, as ICU does it.
func Number(numeral string, o Options) (string, error) {
	if err := o.check(); err != nil {
		return "", err
	}
	negative := strings.HasPrefix(numeral, "-")
	numeral = strings.TrimPrefix(numeral, "-")
	var body, suffix string
	zero := false
	switch numeral {
	case "NaN":
		body, negative = "NaN", false
	case "Infinity":
		body = "∞"
	default:
		d := parse(numeral)
		if o.Style == "percent" {
			d.exp += 2
		}
		if o.Notation == "compact" {
			d, suffix = d.compact(o)
		} else {
			d = d.rounded(o)
		}
		zero = d.zero()
		body = d.text(o)
	}
	return o.sign(negative, zero, numeral == "NaN", o.dress(body+suffix)), nil
}

func (o Options) check() error {
	switch {
	case o.Style != "decimal" && o.Style != "percent" && o.Style != "currency":
		return fmt.Errorf("Intl.NumberFormat style %q is not supported", o.Style)
	case o.Notation != "standard" && o.Notation != "compact":
		return fmt.Errorf("Intl.NumberFormat notation %q is not supported", o.Notation)
	case o.CompactDisplay == "long":
		return fmt.Errorf("Intl.NumberFormat compactDisplay %q is not supported", o.CompactDisplay)
	case o.Style == "currency" && (o.CurrencyDisplay == "name" || o.Notation == "compact" && o.CurrencyDisplay == "code"):
		return fmt.Errorf("Intl.NumberFormat currencyDisplay %q is not supported", o.CurrencyDisplay)
	}
	return nil
}

// sign puts the sign where signDisplay wants it.
func (o Options) sign(negative, zero, nan bool, body string) string {
	mark := ""
	switch o.SignDisplay {
	case "never":
	case "always":
		if mark = "+"; negative {
			mark = "-"
		}
	case "exceptZero":
		if zero || nan {
			break
		}
		if mark = "+"; negative {
			mark = "-"
		}
	case "negative":
		if negative && !zero {
			mark = "-"
		}
	default:
		if negative {
			mark = "-"
		}
	}
	if mark == "-" && o.CurrencySign == "accounting" {
		return "(" + body + ")"
	}
	return mark + body
}

// dress adds the currency or the percent sign.
func (o Options) dress(body string) string {
	switch o.Style {
	case "percent":
		return body + "%"
	case "currency":
		symbol := o.Currency
		if o.CurrencyDisplay != "code" {
			if s, ok := symbols()[o.Currency]; ok {
				symbol = s
				if o.CurrencyDisplay == "narrowSymbol" {
					symbol = narrow(s)
				}
			}
		}
		if last := symbol[len(symbol)-1]; last >= 'A' && last <= 'Z' && body[0] >= '0' && body[0] <= '9' {
			symbol += "\u00a0"
		}
		return symbol + body
	}
	return body
}

// Digits is the number of fraction digits that a currency has (ISO 4217).
func Digits(currency string) int {
	switch currency {
	case "JPY", "KRW", "VND", "CLP", "ISK", "PYG", "UGX", "XAF", "XOF", "XPF", "RWF", "KMF", "GNF", "DJF", "BIF", "VUV":
		return 0
	case "BHD", "JOD", "KWD", "OMR", "TND", "LYD", "IQD":
		return 3
	}
	return 2
}

func symbols() map[string]string {
	return map[string]string{
		"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "CNY": "CN¥", "KRW": "₩", "BRL": "R$", "CAD": "CA$",
		"AUD": "A$", "MXN": "MX$", "NZD": "NZ$", "HKD": "HK$", "ILS": "₪", "VND": "₫", "TWD": "NT$", "PHP": "₱",
	}
}

func narrow(symbol string) string {
	switch symbol {
	case "CN¥":
		return "¥"
	case "CA$", "A$", "MX$", "NZ$", "HK$", "NT$":
		return "$"
	}
	return symbol
}

// number is digits × 10^exp; no digits is zero.
type number struct {
	digits string
	exp    int
}

func parse(s string) number {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	n := number{}
	if exponent != "" {
		_, _ = fmt.Sscanf(strings.TrimPrefix(exponent, "+"), "%d", &n.exp)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	n.exp -= len(fraction)
	n.digits = strings.TrimLeft(whole+fraction, "0")
	return n.trim()
}

func (n number) zero() bool { return n.digits == "" }

func (n number) trim() number {
	cut := strings.TrimRight(n.digits, "0")
	n.exp += len(n.digits) - len(cut)
	n.digits = cut
	if cut == "" {
		n.exp = 0
	}
	return n
}

// size is the power of ten of the first digit.
func (n number) size() int { return len(n.digits) - 1 + n.exp }

// at rounds to a multiple of 10^exp, half away from zero.
func (n number) at(exp int) number {
	drop := exp - n.exp
	if n.zero() || drop <= 0 {
		return n
	}
	if drop > len(n.digits) {
		return number{}
	}
	keep := n.digits[:len(n.digits)-drop]
	if n.digits[len(n.digits)-drop] >= '5' {
		keep = increment(keep)
	}
	return number{strings.TrimLeft(keep, "0"), exp}.trim()
}

func increment(digits string) string {
	b := []byte(digits)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < '9' {
			b[i]++
			return string(b)
		}
		b[i] = '0'
	}
	return "1" + string(b)
}

func (n number) rounded(o Options) number {
	if o.MaxSignificant > 0 {
		if n.zero() {
			return n
		}
		return n.at(n.size() - o.MaxSignificant + 1)
	}
	return n.at(-o.MaxFraction)
}

// compact divides by a power of a thousand and rounds: two significant digits below a hundred, unless the options say otherwise.
func (n number) compact(o Options) (number, string) {
	round := func(n number) number {
		switch {
		case o.MaxSignificant > 0:
			return n.rounded(o)
		case o.MaxFraction >= 0:
			return n.at(-o.MaxFraction)
		case n.zero() || n.size() >= 2:
			return n.at(0)
		}
		return n.at(n.size() - 1)
	}
	step := 0
	for range 2 {
		step = 0
		if !n.zero() {
			step = min(max(n.size()/3, 0), 4)
		}
		r := round(number{n.digits, n.exp - 3*step})
		if r.zero() || r.size() < 3 || step == 4 {
			return r, []string{"", "K", "M", "B", "T"}[step]
		}
		n = number{r.digits, r.exp + 3*step}
	}
	return n, ""
}

// text writes the digits with groups and the least digits that the options want.
func (n number) text(o Options) string {
	whole, fraction := "0", ""
	switch {
	case n.zero():
	case n.exp >= 0:
		whole = n.digits + strings.Repeat("0", n.exp)
	case -n.exp >= len(n.digits):
		fraction = strings.Repeat("0", -n.exp-len(n.digits)) + n.digits
	default:
		whole, fraction = n.digits[:len(n.digits)+n.exp], n.digits[len(n.digits)+n.exp:]
	}
	least := max(o.MinFraction, 0)
	if o.MaxSignificant > 0 {
		size := 0
		if !n.zero() {
			size = n.size()
		}
		least = o.MinSignificant - size - 1
	}
	if short := least - len(fraction); short > 0 {
		fraction += strings.Repeat("0", short)
	}
	if short := o.MinInteger - len(whole); short > 0 {
		whole = strings.Repeat("0", short) + whole
	}
	if o.Grouping != "false" && (len(whole) > 4 || len(whole) == 4 && o.Grouping != "min2") {
		whole = group(whole)
	}
	if fraction != "" {
		return whole + "." + fraction
	}
	return whole
}

func group(whole string) string {
	var b strings.Builder
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}
