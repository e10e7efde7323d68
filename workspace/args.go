package workspace

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

	"github.com/weir-run/weir/tool"
)

// args are the arguments of one call. The first thing wrong with them is kept in err.
type args struct {
	names []string // the names there are
	raw   map[string]json.RawMessage
	err   error
}

// parse reads the arguments of a call.
func parse(c tool.Call, names ...string) *args {
	a := &args{names: names}
	if tool.Absent(c.Args) {
		return a
	}
	d := json.NewDecoder(bytes.NewReader(c.Args))
	if err := d.Decode(&a.raw); err != nil || a.raw == nil {
		a.fail("the arguments are not a JSON object")
		return a
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		a.fail("something follows the JSON object of the arguments")
	}
	var unknown []string
	for name := range a.raw {
		if !slices.Contains(names, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		a.fail("there is no argument %s; there are: %s", quote(slices.Min(unknown)), strings.Join(names, ", "))
	}
	return a
}

func (a *args) fail(format string, values ...any) {
	if a.err == nil {
		a.err = fmt.Errorf(format, values...)
	}
}

func (a *args) has(name string) bool { _, ok := a.raw[name]; return ok }

// got shows a value in an error.
func got(raw json.RawMessage) string {
	if string(raw) == "null" {
		return "got null: leave it out instead"
	}
	return "got " + strings.Trim(quote(string(raw)), `"`)
}

// text reads a string; a required one must be there and not be empty.
func (a *args) text(name string, required bool) string {
	raw, ok := a.raw[name]
	if !ok {
		if required {
			a.fail("%s is missing", name)
		}
		return ""
	}
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil || s == nil {
		a.fail("%s must be a string; %s", name, got(raw))
		return ""
	}
	if *s == "" && required {
		a.fail("%s is empty", name)
	}
	return *s
}

// flag reads true or false.
func (a *args) flag(name string) bool {
	raw, ok := a.raw[name]
	if ok && string(raw) != "true" && string(raw) != "false" {
		a.fail("%s must be true or false; %s", name, got(raw))
	}
	return string(raw) == "true"
}

// whole reads a whole number, also one written as a string of digits; valid says which are allowed, in
// words.
func (a *args) whole(name string, from, to int64, valid string) int64 {
	raw, ok := a.raw[name]
	if !ok {
		return 0
	}
	n, ok := integer(raw)
	if !ok || n < from || n > to {
		a.fail("%s must be a whole number, %s; %s", name, valid, got(raw))
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

// same gives the arguments of these names as they were given, for the call that goes on.
func (a *args) same(names []string) []arg {
	var out []arg
	for _, name := range names {
		raw, ok := a.raw[name]
		if !ok {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) == nil {
			out = append(out, textArg(name, text))
			continue
		}
		out = append(out, arg{name, string(raw)})
	}
	return out
}
