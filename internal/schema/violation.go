package schema

import (
	"fmt"
	"sort"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// Violation is one way in which a value does not fit.
type Violation struct {
	// Pointer is the JSON Pointer (RFC 6901) of the place; "" is the whole value.
	Pointer string
	// Text says what is expected there. It never repeats the value.
	Text string
}

// String gives "at /a/b: text".
func (v Violation) String() string {
	if v.Pointer == "" {
		return "at the top: " + v.Text
	}
	return "at " + v.Pointer + ": " + v.Text
}

// List joins violations, one a line, at most [MaxViolations].
func List(all []Violation) string {
	var b strings.Builder
	for i, v := range all {
		if i == MaxViolations {
			fmt.Fprintf(&b, "\n- and %d more", len(all)-i)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + v.String())
	}
	return b.String()
}

// collect flattens the tree of causes and sorts it, since the validator walks maps.
func collect(e *jsonschema.ValidationError) []Violation {
	var all []Violation
	var walk func(e *jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if text, leaf := describe(e); leaf {
			all = append(all, Violation{Pointer: pointer(e.InstanceLocation), Text: text})
		}
		for _, cause := range e.Causes {
			walk(cause)
		}
	}
	walk(e)
	if len(all) == 0 {
		all = append(all, Violation{Pointer: pointer(e.InstanceLocation), Text: "does not fit the schema"})
	}
	sort.Slice(all, func(i, j int) bool {
		if all[i].Pointer != all[j].Pointer {
			return all[i].Pointer < all[j].Pointer
		}
		return all[i].Text < all[j].Text
	})
	return dedupe(all)
}

func dedupe(all []Violation) []Violation {
	kept := all[:0]
	for i, v := range all {
		if i == 0 || v != all[i-1] {
			kept = append(kept, v)
		}
	}
	return kept
}

func pointer(tokens []string) string {
	var b strings.Builder
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(clip(escape.Replace(t), 80))
	}
	return b.String()
}

// describe words one violation without its value; false for a node that only groups others.
func describe(e *jsonschema.ValidationError) (string, bool) {
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("expected %s, received %s", strings.Join(k.Want, " or "), k.Got), true
	case *kind.Required:
		return "required and missing: " + names(k.Missing), true
	case *kind.AdditionalProperties:
		return "not known here: " + names(k.Properties), true
	case *kind.Enum:
		return "must be one of " + list(k.Want), true
	case *kind.Const:
		return "must be " + list([]any{k.Want}), true
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString(), true
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString(), true
	case *kind.ExclusiveMinimum:
		return "must be above " + k.Want.RatString(), true
	case *kind.ExclusiveMaximum:
		return "must be below " + k.Want.RatString(), true
	case *kind.MultipleOf:
		return "must be a multiple of " + k.Want.RatString(), true
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters, has %d", k.Want, k.Got), true
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters, has %d", k.Want, k.Got), true
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d items, has %d", k.Want, k.Got), true
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d items, has %d", k.Want, k.Got), true
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d members, has %d", k.Want, k.Got), true
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d members, has %d", k.Want, k.Got), true
	case *kind.Pattern:
		return "must match the pattern " + clip(k.Want, 120), true
	case *kind.Format:
		return "must be a valid " + clip(k.Want, 40), true
	case *kind.UniqueItems:
		return "must not repeat items", true
	case *kind.DependentRequired:
		return "required beside " + names([]string{k.Prop}) + " and missing: " + names(k.Missing), true
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			return "fits more than one of the alternatives", true
		}
		return "fits none of the alternatives", true
	case *kind.AnyOf:
		return "fits none of the alternatives", true
	case *kind.Not:
		return "is of a kind that is not allowed", true
	case *kind.FalseSchema:
		return "nothing is allowed here", true
	case *kind.RefCycle:
		return "the schema refers to itself without an end", true
	}
	if len(e.Causes) > 0 {
		return "", false
	}
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		return "does not satisfy " + clip(strings.Join(path, "/"), 80), true
	}
	return "does not fit the schema", true
}

func names(all []string) string {
	sorted := append([]string{}, all...)
	sort.Strings(sorted)
	for i, n := range sorted {
		sorted[i] = fmt.Sprintf("%q", clip(n, 80))
		if i == 20 {
			return strings.Join(sorted[:i], ", ") + fmt.Sprintf(" and %d more", len(sorted)-i)
		}
	}
	return strings.Join(sorted, ", ")
}

// list shows values of the schema, which are the author's, not the caller's.
func list(values []any) string {
	var parts []string
	for i, v := range values {
		if i == 20 {
			parts = append(parts, fmt.Sprintf("and %d more", len(values)-i))
			break
		}
		if s, ok := v.(string); ok {
			parts = append(parts, fmt.Sprintf("%q", clip(s, 80)))
			continue
		}
		parts = append(parts, clip(fmt.Sprint(v), 80))
	}
	return strings.Join(parts, ", ")
}

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n]) + "…"
}
