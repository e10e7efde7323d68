package realm

import (
	"reflect"
	"regexp/syntax"
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"

	"github.com/weir-run/weir/scripting/internal/regex"
)

// pattern is a regular expression as the engine takes it.
type pattern struct {
	source, flags string
	err           error
}

// pattern rewrites a regular expression for the engine: [source, flags], or throws a SyntaxError that names
// what cannot be had.
func (v *vm) pattern(c goja.FunctionCall) goja.Value {
	source, flags := c.Argument(0).String(), c.Argument(1).String()
	key := flags + "/" + source
	p, seen := v.patterns[key]
	if !seen {
		p.source, p.flags, p.err = regex.Lower(source, flags)
		if p.err == nil && skipsEmpty(p.source, p.flags) {
			p.source = backtrack(p.source)
		}
		if len(v.patterns) < 1000 {
			v.patterns[key] = p
		}
	}
	if p.err != nil {
		v.fail("SyntaxError", "%v", p.err)
	}
	return v.rt.NewArray(p.source, p.flags)
}

// skipsEmpty says whether the engine would lose matches of a global pattern: where it runs on Go's regexp,
// an empty match right behind another is left out, which JavaScript keeps.
func skipsEmpty(source, flags string) bool {
	if !strings.Contains(flags, "g") {
		return false
	}
	re2, err := parser.TransformRegExp(source, strings.Contains(flags, "s"), strings.Contains(flags, "u"))
	if err != nil {
		return false
	}
	tree, err := syntax.Parse(re2, syntax.Perl)
	return err == nil && mayBeEmpty(tree)
}

// backtrack makes the engine take a pattern to its back-tracking half, whose empty matches are right.
func backtrack(source string) string { return "(?=)(?:" + source + ")" }

func mayBeEmpty(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return false
	case syntax.OpCapture, syntax.OpPlus:
		return mayBeEmpty(re.Sub[0])
	case syntax.OpRepeat:
		return re.Min == 0 || mayBeEmpty(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if !mayBeEmpty(sub) {
				return false
			}
		}
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, mayBeEmpty)
	}
	return true
}

// hard says whether the back-tracking engine takes a pattern, which alone can run out of time.
func (v *vm) hard(c goja.FunctionCall) goja.Value {
	flags := c.Argument(1).String()
	_, err := parser.TransformRegExp(c.Argument(0).String(), strings.Contains(flags, "s"), strings.Contains(flags, "u"))
	return v.rt.ToValue(err != nil)
}

// same says whether two strings are the same piece of memory; unlike === it takes no time.
func (v *vm) same(c goja.FunctionCall) goja.Value {
	a, b := reflect.ValueOf(c.Argument(0)), reflect.ValueOf(c.Argument(1))
	if a.Kind() != b.Kind() || a.Type() != b.Type() {
		return v.rt.ToValue(false)
	}
	switch a.Kind() {
	case reflect.Slice:
		return v.rt.ToValue(a.Pointer() == b.Pointer() && a.Len() == b.Len())
	case reflect.Pointer:
		return v.rt.ToValue(a.Pointer() == b.Pointer())
	case reflect.String:
		return v.rt.ToValue(a.String() == b.String())
	}
	return v.rt.ToValue(false)
}

// watch wraps a function of the engine that searches: found(result) says whether there was a match. The
// engine answers "no match" when a search runs out of time; here that is an error.
func (v *vm) watch(c goja.FunctionCall) goja.Value {
	search, _ := goja.AssertFunction(c.Argument(0))
	found, _ := goja.AssertFunction(c.Argument(1))
	return v.rt.ToValue(func(c goja.FunctionCall) goja.Value {
		start := time.Now()
		value, err := search(c.This, c.Arguments...)
		if err != nil {
			raise(err)
		}
		if time.Since(start) < defaultRegexp {
			return value
		}
		yes, err := found(goja.Undefined(), append([]goja.Value{value, c.This}, c.Arguments...)...)
		if err != nil {
			raise(err)
		}
		if !yes.ToBoolean() {
			v.fail("Error", "a regular expression took more than %v without an answer: it backtracks too much; make it simpler or search line by line", defaultRegexp)
		}
		return value
	})
}
