// Package args reads the arguments of one call, with errors that a model can act on, and writes
// arguments for the call that should come next.
package args

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-run/weir/tool"
)

// Args are the arguments of one call. The first thing wrong with them is kept; see [Args.Err].
type Args struct {
	raw map[string]json.RawMessage
	err error
}

// Parse reads the arguments of a call. A name that is none of names is wrong.
func Parse(c tool.Call, names ...string) *Args {
	a := &Args{}
	if tool.Absent(c.Args) {
		return a
	}
	d := json.NewDecoder(bytes.NewReader(c.Args))
	if err := d.Decode(&a.raw); err != nil || a.raw == nil {
		a.Fail("the arguments are not a JSON object")
		return a
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		a.Fail("something follows the JSON object of the arguments")
	}
	var unknown []string
	for name := range a.raw {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		a.Fail("there is no argument %s; there are: %s", quoted(slices.Min(unknown)), strings.Join(names, ", "))
	}
	return a
}

// Err is the first thing that is wrong with the arguments, one line.
func (a *Args) Err() error { return a.err }

// Fail keeps an error, unless one is kept already.
func (a *Args) Fail(format string, values ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, values...)
	}
}

// Has reports whether an argument was given.
func (a *Args) Has(name string) bool { _, ok := a.raw[name]; return ok }

// got shows a value in an error.
func got(raw json.RawMessage) string {
	if string(raw) == "null" {
		return "got null: leave it out instead"
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return "got something else"
	}
	if s := strings.ToValidUTF8(b.String(), "\ufffd"); utf8.RuneCountInString(s) <= 120 {
		return "got " + s
	}
	return fmt.Sprintf("got a value of %d bytes", b.Len())
}

// Text reads a string; a required one must be there and not be empty.
func (a *Args) Text(name string, required bool) string {
	raw, ok := a.raw[name]
	if !ok {
		if required {
			a.Fail("%s is missing", name)
		}
		return ""
	}
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		a.Fail("%s must be a string; %s", name, got(raw))
		return ""
	}
	if *s == "" && required {
		a.Fail("%s is empty", name)
	}
	return *s
}

// Flag reads true or false.
func (a *Args) Flag(name string) bool {
	raw, ok := a.raw[name]
	if ok && string(raw) != "true" && string(raw) != "false" {
		a.Fail("%s must be true or false; %s", name, got(raw))
	}
	return string(raw) == "true"
}

// Whole reads a whole number, also one written as a string of digits; valid says which are allowed, in
// words.
func (a *Args) Whole(name string, from, to int64, valid string) int64 {
	raw, ok := a.raw[name]
	if !ok {
		return 0
	}
	n, ok := integer(raw)
	if !ok || n < from || n > to {
		a.Fail("%s must be a whole number, %s; %s", name, valid, got(raw))
		return 0
	}
	return n
}

// integer reads a JSON number without a fraction, or a string of digits.
func integer(raw json.RawMessage) (int64, bool) {
	text := string(raw)
	if strings.HasPrefix(text, `"`) {
		if json.Unmarshal(raw, &text) != nil || strings.Trim(strings.TrimPrefix(text, "-"), "0123456789") != "" {
			return 0, false
		}
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	// 2e3 and 200.0 are whole numbers too.
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Same gives the arguments of these names as they were given, for the call that goes on.
func (a *Args) Same(names ...string) []Arg {
	var out []Arg
	for _, name := range names {
		raw, ok := a.raw[name]
		if !ok {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			out = append(out, String(name, text))
			continue
		}
		out = append(out, Arg{name, string(raw)})
	}
	return out
}

// Arg is one argument of a call, its value as JSON.
type Arg struct{ Name, Value string }

// Number is a whole number.
func Number(name string, n int64) Arg { return Arg{name, strconv.FormatInt(n, 10)} }

// Bool is true or false.
func Bool(name string, b bool) Arg { return Arg{name, strconv.FormatBool(b)} }

// String is a text, without the escapes that only HTML needs.
func String(name, s string) Arg {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return Arg{name, strings.TrimSuffix(b.String(), "\n")}
}

// Object writes arguments as a JSON object, in order.
func Object(args ...Arg) string {
	parts := make([]string, len(args))
	for i, a := range args {
		parts[i] = `"` + a.Name + `":` + a.Value
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// quoted shows a value in an error; a long one is cut.
func quoted(s string) string {
	if utf8.RuneCountInString(s) > 120 {
		return fmt.Sprintf("%.120q…", s)
	}
	return fmt.Sprintf("%q", s)
}
