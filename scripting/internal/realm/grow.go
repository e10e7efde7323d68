package realm

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja/unistring"
)

const (
	// growers is how many texts may grow in turn.
	growers = 2
	// mostGrown is the longest text, in characters, whose memory is kept ahead for what comes behind it.
	mostGrown = 16 << 20
)

// grower is the memory of a text that a script builds with +=. Strings of the engine never change and are
// copied as a whole for every piece that is added; here a piece is put behind the last one, and what the script
// had before is the front part of the same memory. Only the text that ends where the memory ends grows in it.
type grower struct {
	plain strings.Builder // of a text that is ASCII
	units []uint16        // of any other: the engine's own form, whose first unit is a mark
}

// forms are the engine's two kinds of strings; nil where they are not what is expected.
type forms struct{ plain, units reflect.Type }

// noteForms takes a string that is ASCII and one that is not, as the engine makes them.
func (v *vm) noteForms(c goja.FunctionCall) goja.Value {
	plain, units := reflect.ValueOf(c.Argument(0)), reflect.ValueOf(c.Argument(1))
	if plain.Kind() == reflect.String && units.Kind() == reflect.Slice && units.Type().Elem().Kind() == reflect.Uint16 {
		v.forms = forms{plain.Type(), units.Type()}
	}
	return goja.Undefined()
}

// grow gives the text of two strings, one behind the other.
func (v *vm) grow(c goja.FunctionCall) goja.Value {
	a, b := c.Argument(0).ToString().(goja.String), c.Argument(1).ToString().(goja.String)
	if v.forms.plain == nil || a.Length()+b.Length() > mostGrown {
		return a.Concat(b)
	}
	for i, g := range v.growers {
		if g.ends(v.forms, a) {
			v.growers[0], v.growers[i] = g, v.growers[0]
			return g.add(v.forms, b)
		}
	}
	g := &grower{}
	g.add(v.forms, a)
	v.growers = append([]*grower{g}, v.growers[:min(len(v.growers), growers-1)]...)
	return g.add(v.forms, b)
}

// ends reports whether a string is all that was put in.
func (g *grower) ends(f forms, s goja.String) bool {
	text := reflect.ValueOf(s)
	if g.units != nil {
		return text.Type() == f.units && text.Len() == len(g.units) && text.Pointer() == reflect.ValueOf(g.units).Pointer()
	}
	// Equal strings that are one piece of memory are not compared.
	return text.Type() == f.plain && text.Len() == g.plain.Len() && text.String() == g.plain.String()
}

// add puts a string behind and gives the whole.
func (g *grower) add(f forms, s goja.String) goja.Value {
	text := reflect.ValueOf(s)
	switch {
	case g.units == nil && text.Type() == f.plain:
		g.plain.WriteString(text.String())
	case g.units == nil && plain(s):
		for i := range s.Length() {
			g.plain.WriteByte(byte(s.CharAt(i)))
		}
	default:
		if g.units == nil {
			g.units = append(make([]uint16, 0, 2*g.plain.Len()+s.Length()+1), unistring.BOM)
			for i := range g.plain.Len() {
				g.units = append(g.units, uint16(g.plain.String()[i]))
			}
			g.plain.Reset()
		}
		for i := range s.Length() {
			g.units = append(g.units, s.CharAt(i))
		}
	}
	whole, form := reflect.ValueOf(g.plain.String()), f.plain
	if g.units != nil {
		n := len(g.units)
		whole, form = reflect.ValueOf(g.units[:n:n]), f.units
	}
	return whole.Convert(form).Interface().(goja.Value)
}

// plain reports whether a string is ASCII.
func plain(s goja.String) bool {
	for i := range s.Length() {
		if s.CharAt(i) >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
