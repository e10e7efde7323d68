package scripted

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-run/weir/membrane"
)

// The places that an expectation looks at, beside a result.
const (
	// InNew is everything that the model is shown since its last answer.
	InNew = "new"
	// InSystem is the system text.
	InSystem = "system"
	// InAll is every text, call and result of the messages.
	InAll = "all"
)

// Expect is one thing that must be true of a request. It names at most one place (In or Result) and
// exactly one condition.
type Expect struct {
	// In is the place: InNew (also when empty), InSystem or InAll.
	In string `json:"in"`
	// Result is the number, from 1, of a result since the last answer, instead of In.
	Result int `json:"result"`

	// Contains, NotContains, Equals and Matches are conditions on the text of the place; Matches is a
	// regular expression (RE2).
	Contains    string  `json:"contains"`
	NotContains string  `json:"not_contains"`
	Equals      *string `json:"equals"`
	Matches     string  `json:"matches"`
	// IsError is whether the result is an error.
	IsError *bool `json:"is_error"`
	// Tool is the name of a tool that must be offered, NoTool of one that must not.
	Tool   string `json:"tool"`
	NoTool string `json:"no_tool"`
}

// Unmet tells which expectation of a script does not hold.
type Unmet struct {
	// Script names the script; Step and Number count from 1.
	Script string
	Step   int
	Number int
	// Expect is the expectation, and Shown the start of what the model was shown instead.
	Expect Expect
	Shown  string
}

// Error names the script, the step, the expectation and what was shown.
func (u *Unmet) Error() string {
	return fmt.Sprintf("%s: step %d: expectation %d is not met: %s; shown: %s", u.Script, u.Step, u.Number, u.Expect, u.Shown)
}

func (e Expect) check() error {
	conditions := 0
	for _, is := range []bool{
		e.Contains != "", e.NotContains != "", e.Equals != nil, e.Matches != "", e.IsError != nil, e.Tool != "", e.NoTool != "",
	} {
		if is {
			conditions++
		}
	}
	switch {
	case conditions != 1:
		return fmt.Errorf("it has %d conditions, not one of contains, not_contains, equals, matches, is_error, tool, no_tool", conditions)
	case e.Result < 0:
		return errors.New("results are counted from 1")
	case e.Result > 0 && e.In != "":
		return errors.New("it looks at one place: result or in, not both")
	case e.IsError != nil && e.Result == 0:
		return errors.New("is_error needs the number of a result")
	case (e.Tool != "" || e.NoTool != "") && (e.In != "" || e.Result > 0):
		return errors.New("tool and no_tool look at the offered tools; leave out the place")
	}
	if e.In != "" && e.In != InNew && e.In != InSystem && e.In != InAll {
		return fmt.Errorf("in is %.40q; it must be %s, %s or %s", e.In, InNew, InSystem, InAll)
	}
	_, err := regexp.Compile(e.Matches)
	return err
}

// String says the expectation in words.
func (e Expect) String() string {
	place := "what is new"
	switch {
	case e.Result > 0:
		place = "result " + strconv.Itoa(e.Result)
	case e.In == InSystem:
		place = "the system text"
	case e.In == InAll:
		place = "the conversation"
	}
	switch {
	case e.Contains != "":
		return fmt.Sprintf("%s contains %q", place, e.Contains)
	case e.NotContains != "":
		return fmt.Sprintf("%s does not contain %q", place, e.NotContains)
	case e.Equals != nil:
		return fmt.Sprintf("%s equals %q", place, *e.Equals)
	case e.Matches != "":
		return fmt.Sprintf("%s matches %q", place, e.Matches)
	case e.IsError != nil && *e.IsError:
		return place + " is an error"
	case e.IsError != nil:
		return place + " is no error"
	case e.Tool != "":
		return fmt.Sprintf("the tool %q is offered", e.Tool)
	default:
		return fmt.Sprintf("the tool %q is not offered", e.NoTool)
	}
}

// met reports whether the expectation holds, and what was shown when it does not.
func (e Expect) met(seen Seen) (ok bool, shown string) {
	if e.Tool != "" || e.NoTool != "" {
		offered := slices.ContainsFunc(seen.Tools, func(t membrane.ToolSpec) bool { return t.Name == e.Tool || t.Name == e.NoTool })
		return offered == (e.Tool != ""), "tools " + strings.Join(seen.names(), ", ")
	}
	var text string
	switch {
	case e.Result > 0:
		results := seen.Results()
		if e.Result > len(results) {
			return false, fmt.Sprintf("%d results", len(results))
		}
		r := results[e.Result-1]
		if e.IsError != nil {
			return r.IsError == *e.IsError, excerpt(r.Text)
		}
		text = r.Text
	case e.In == InSystem:
		text = seen.System
	case e.In == InAll:
		text = textOf(seen.Messages)
	default:
		text = textOf(seen.New())
	}
	switch {
	case e.Contains != "":
		ok = strings.Contains(text, e.Contains)
	case e.NotContains != "":
		ok = !strings.Contains(text, e.NotContains)
	case e.Equals != nil:
		ok = text == *e.Equals
	default:
		re, err := regexp.Compile(e.Matches)
		ok = err == nil && re.MatchString(text)
	}
	return ok, excerpt(text)
}

// excerpt gives both ends of a text for an error, quoted, in one line.
func excerpt(text string) string {
	const end = 80
	runes := []rune(text)
	if len(runes) <= 2*end {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("%q … %q (%d characters)", string(runes[:end]), string(runes[len(runes)-end:]), len(runes))
}
