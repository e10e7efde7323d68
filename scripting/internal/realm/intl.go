package realm

import (
	"fmt"

	"github.com/dop251/goja"

	"github.com/weir-run/weir/scripting/internal/locale"
)

// optionsOf reads the resolved options that the prelude hands over.
func optionsOf(value goja.Value) locale.Options {
	o, is := value.(*goja.Object)
	if !is {
		return locale.Options{}
	}
	text := func(name string) string {
		if p := o.Get(name); p != nil && !goja.IsUndefined(p) {
			return p.String()
		}
		return ""
	}
	digits := func(name string) int {
		if p := o.Get(name); p != nil && !goja.IsUndefined(p) {
			return int(p.ToInteger())
		}
		return -1
	}
	return locale.Options{
		Style: text("style"), Currency: text("currency"), CurrencyDisplay: text("currencyDisplay"), CurrencySign: text("currencySign"),
		Notation: text("notation"), CompactDisplay: text("compactDisplay"),
		SignDisplay: text("signDisplay"), Grouping: text("useGrouping"),
		MinInteger:  digits("minimumIntegerDigits"),
		MinFraction: digits("minimumFractionDigits"), MaxFraction: digits("maximumFractionDigits"),
		MinSignificant: digits("minimumSignificantDigits"), MaxSignificant: digits("maximumSignificantDigits"),
	}
}

// formatNumber takes a numeral as text and resolved options.
func (v *vm) formatNumber(c goja.FunctionCall) goja.Value {
	text, err := locale.Number(c.Argument(0).String(), optionsOf(c.Argument(1)))
	if err != nil {
		v.fail("RangeError", "%v", err)
	}
	return v.rt.ToValue(text)
}

// collate gives a function that compares two texts.
func (v *vm) collate(c goja.FunctionCall) goja.Value {
	key := fmt.Sprint(c.Argument(0).ToBoolean(), c.Argument(1).String())
	compare, known := v.collations[key]
	if !known {
		compare = locale.Collator(locale.Collation{Numeric: c.Argument(0).ToBoolean(), Sensitivity: c.Argument(1).String()})
		v.collations[key] = compare
	}
	return v.rt.ToValue(func(c goja.FunctionCall) goja.Value {
		return v.rt.ToValue(compare(c.Argument(0).String(), c.Argument(1).String()))
	})
}

// zone takes a time in milliseconds and the name of a zone.
func (v *vm) zone(c goja.FunctionCall) goja.Value {
	at, err := locale.At(c.Argument(0).ToInteger(), c.Argument(1).String())
	if err != nil {
		v.fail("RangeError", "%v", err)
	}
	o := v.rt.NewObject()
	for name, n := range map[string]int{
		"year": at.Year, "month": at.Month, "day": at.Day, "hour": at.Hour, "minute": at.Minute, "second": at.Second,
		"milli": at.Milli, "weekday": at.Weekday, "offset": at.Offset,
	} {
		_ = o.Set(name, n)
	}
	_ = o.Set("name", at.Name)
	return o
}
