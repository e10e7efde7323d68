package canon

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
)

// field is one member that a struct is written with.
type field struct {
	name      string
	prefix    []byte // the name as a JSON string, and the colon
	index     []int
	tagged    bool
	omitEmpty bool
	omitZero  bool
	quoted    bool
	typ       reflect.Type
	made      *atomic.Pointer[plan] // the plan of typ, once it was needed
}

// plan returns the plan of the field's type. It is made late because a type
// may hold itself.
func (f *field) plan() *plan {
	p := f.made.Load()
	if p == nil {
		p = planOf(f.typ)
		f.made.Store(p)
	}
	return p
}

// fieldsOf writes a struct's members.
func (e *encoder) fieldsOf(v reflect.Value, p *plan) error {
	e.out = append(e.out, '{')
	first := true
	for i := range p.fields {
		f := &p.fields[i]
		fv, ok := follow(v, f.index)
		if !ok || f.omitEmpty && isEmpty(fv) || f.omitZero && isZero(fv) {
			continue
		}
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		e.out = append(e.out, f.prefix...)
		if err := e.value(fv, f.plan(), f.quoted); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}

// follow returns the field at index, and false behind a nil pointer.
func follow(v reflect.Value, index []int) (reflect.Value, bool) {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v, true
}

// isEmpty is the rule of omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct, reflect.Chan, reflect.Func, reflect.UnsafePointer, reflect.Complex64, reflect.Complex128:
		return false
	default:
		return v.IsZero()
	}
}

// isZero is the rule of omitzero: the type's own IsZero where it has one.
func isZero(v reflect.Value) bool {
	type zeroer interface{ IsZero() bool }
	switch v.Kind() {
	case reflect.Interface:
		// An interface with a nil pointer in it counts as zero only if its own
		// method set has IsZero.
		if v.IsNil() {
			return true
		}
		if !v.Type().Implements(reflect.TypeFor[zeroer]()) {
			return false
		}
		if el := v.Elem(); el.Kind() == reflect.Pointer && el.IsNil() {
			return true
		}
	case reflect.Pointer:
		if v.IsNil() {
			return true
		}
	}
	if z, ok := reflect.TypeAssert[zeroer](v); ok {
		return z.IsZero()
	}
	if reflect.PointerTo(v.Type()).Implements(reflect.TypeFor[zeroer]()) {
		if !v.CanAddr() {
			boxed := reflect.New(v.Type()).Elem()
			boxed.Set(v)
			v = boxed
		}
		z, _ := reflect.TypeAssert[zeroer](v.Addr())
		return z.IsZero()
	}
	return v.IsZero()
}

// fieldsOfType returns the members of struct type t in the order in which they
// are written, by the rules of encoding/json: of the fields with one name the
// least deeply embedded wins, among equals the only one that its tag named,
// and if there is no single winner none is written.
func fieldsOfType(t reflect.Type) []field {
	all := collect(t)
	slices.SortStableFunc(all, func(a, b field) int {
		return cmp.Or(strings.Compare(a.name, b.name), rank(a, b))
	})
	var out []field
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].name == all[0].name {
			n++
		}
		if n == 1 || rank(all[0], all[1]) != 0 {
			out = append(out, all[0])
		}
		all = all[n:]
	}
	slices.SortFunc(out, func(a, b field) int { return slices.Compare(a.index, b.index) })
	for i := range out {
		out[i].prefix = append(AppendString(nil, out[i].name), ':')
	}
	return out
}

// rank orders fields of one name: the one that hides the other first.
func rank(a, b field) int {
	if c := cmp.Compare(len(a.index), len(b.index)); c != 0 || a.tagged == b.tagged {
		return c
	}
	if a.tagged {
		return -1
	}
	return 1
}

// collect returns every field of t and of the structs embedded in it, level by
// level; of a struct embedded more than once on one level, each field twice.
func collect(t reflect.Type) []field {
	type embedded struct {
		typ   reflect.Type
		index []int
	}
	var out []field
	seen := map[reflect.Type]bool{}
	level := []embedded{{typ: t}}
	times := map[reflect.Type]int{t: 1}
	for len(level) > 0 {
		var next []embedded
		nextTimes := map[reflect.Type]int{}
		for _, em := range level {
			if seen[em.typ] {
				continue
			}
			seen[em.typ] = true
			for i := range em.typ.NumField() {
				sf := em.typ.Field(i)
				f, inner, ok := readField(sf)
				if !ok {
					continue
				}
				f.index = append(slices.Clone(em.index), i)
				if inner == nil {
					out = append(out, f)
					if times[em.typ] > 1 {
						out = append(out, f)
					}
					continue
				}
				if nextTimes[inner]++; nextTimes[inner] == 1 {
					next = append(next, embedded{typ: inner, index: f.index})
				}
			}
		}
		level, times = next, nextTimes
	}
	return out
}

// readField reads one field and its tag. When the field is a struct whose own
// fields stand in its place, inner is that struct. ok is false for a field
// that is not written.
func readField(sf reflect.StructField) (f field, inner reflect.Type, ok bool) {
	base := sf.Type
	if sf.Anonymous && base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	// An embedded struct whose type is not exported may have exported fields.
	if !sf.IsExported() && (!sf.Anonymous || base.Kind() != reflect.Struct) {
		return f, nil, false
	}
	tag := sf.Tag.Get("json")
	if tag == "-" {
		return f, nil, false
	}
	name, rest, _ := strings.Cut(tag, ",")
	if !isName(name) {
		name = ""
	}
	base = sf.Type
	if base.Name() == "" && base.Kind() == reflect.Pointer {
		base = base.Elem()
	}
	if name == "" && sf.Anonymous && base.Kind() == reflect.Struct {
		return f, base, true
	}
	f = field{name: name, tagged: name != "", typ: sf.Type, made: &atomic.Pointer[plan]{}}
	if name == "" {
		f.name = sf.Name
	}
	for option := range strings.SplitSeq(rest, ",") {
		switch option {
		case "omitempty":
			f.omitEmpty = true
		case "omitzero":
			f.omitZero = true
		case "string":
			f.quoted = isScalar(base.Kind())
		}
	}
	return f, nil, true
}

// isName reports whether a tag's name can be used: letters, digits, and
// punctuation but for the quotation mark, the backslash and the comma.
func isName(s string) bool {
	for _, c := range s {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c) && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return s != ""
}

func isScalar(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 || k == reflect.String
}
