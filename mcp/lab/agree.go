package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/client"
)

// differences says what one channel of a result has and the other lacks, in plain words; none when they say
// the same, or when there is only one.
//
// A text that is JSON must be the structured content, in whatever order and spelling of numbers. Prose is
// compared value by value: every number of the text must be one of the structured content's, and every
// number and string there must stand in the text. Truth values and null have no one word in prose and are
// not compared.
func differences(r client.Received) []string {
	var texts []string
	for _, b := range r.Blocks {
		if b.Type == "text" && strings.TrimSpace(b.Text) != "" {
			texts = append(texts, b.Text)
		}
	}
	if r.Structured == nil || len(texts) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(r.Structured))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil {
		return nil // what is no JSON was told before
	}
	text := strings.Join(texts, "\n")
	switch {
	case echoes(texts, r.Structured):
		return nil
	case isJSON(text):
		return []string{"the text is JSON that differs from the structured content"}
	}
	return prose(text, value)
}

// isJSON reports whether a text is an object or an array.
func isJSON(text string) bool {
	t := strings.TrimSpace(text)
	return (t[0] == '{' || t[0] == '[') && json.Valid([]byte(t))
}

// echoes reports whether texts are the structured content, or its value where it has only one member: as one
// text, or one text for each element.
func echoes(texts []string, structured json.RawMessage) bool {
	forms := [][]byte{structured}
	var members map[string]json.RawMessage
	if json.Unmarshal(structured, &members) == nil && len(members) == 1 {
		for _, only := range members {
			forms = append(forms, only)
		}
	}
	whole, elements := []byte(strings.Join(texts, "\n")), []byte("["+strings.Join(texts, ",")+"]")
	return slices.ContainsFunc(forms, func(form []byte) bool { return canon.Equal(whole, form) || canon.Equal(elements, form) })
}

// maxDifferences is how many differences are told apart; maxCompared bounds, in bytes, how much text is
// searched for strings of the structured content.
const (
	maxDifferences = 8
	maxCompared    = 256 << 20
)

var figure = regexp.MustCompile(`[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,9})?`)

// prose compares a text with the values of structured content.
func prose(text string, structured any) []string {
	said := map[string]bool{}
	written := figure.FindAllString(text, -1)
	for _, n := range written {
		said[decimal(n)] = true
	}
	low := strings.ToLower(text)
	known := map[string]bool{}
	var all []string
	compared := 0
	leaves(structured, "", func(at string, leaf any) {
		switch v := leaf.(type) {
		case json.Number:
			known[decimal(v.String())] = true
			if !said[decimal(v.String())] {
				all = append(all, fmt.Sprintf("the text does not say %.40s, which is the structured content%s", v, place(at)))
			}
		case string:
			for _, n := range figure.FindAllString(v, -1) {
				known[decimal(n)] = true
			}
			if compared += len(low); compared <= maxCompared && !strings.Contains(low, strings.ToLower(v)) {
				all = append(all, fmt.Sprintf("the text does not say %.40q, which is the structured content%s", v, place(at)))
			}
		}
	})
	for _, n := range written {
		if !known[decimal(n)] {
			known[decimal(n)] = true
			all = append(all, fmt.Sprintf("the text says %.40s, which the structured content does not", n))
		}
	}
	if n := len(all) - maxDifferences; n > 0 {
		all = append(all[:maxDifferences], fmt.Sprintf("and %d more", n))
	}
	if compared > maxCompared {
		all = append(all, "the text and the structured content are too long to compare all of them")
	}
	return all
}

// place words where in the structured content something is.
func place(at string) string {
	if at == "" {
		return ""
	}
	return fmt.Sprintf("'s %.60s", at)
}

// leaves visits the values below a value that are neither an object nor an array, with their JSON Pointers
// (RFC 6901), objects by the order of their keys.
func leaves(value any, at string, visit func(at string, leaf any)) {
	switch v := value.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			leaves(v[k], at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(k), visit)
		}
	case []any:
		for i, e := range v {
			leaves(e, at+"/"+strconv.Itoa(i), visit)
		}
	default:
		visit(at, value)
	}
}

// decimal gives one spelling to the magnitude of a number: its digits without zeros at either end, and the
// power of ten of the last. 9.990, 9.99 and 999e-2 are one, and so are 1,000 and 1e3; the sign is left out,
// since a dash in prose is none.
func decimal(s string) string {
	s = strings.ReplaceAll(strings.ToLower(strings.TrimLeft(s, "+-")), ",", "")
	mantissa, exponent, _ := strings.Cut(s, "e")
	power, err := strconv.Atoi(exponent)
	if exponent != "" && err != nil {
		return s // beyond what can be compared: its spelling is what it is
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	power -= len(fraction)
	short := strings.TrimRight(digits, "0")
	if short == "" {
		return "0"
	}
	return short + "e" + strconv.Itoa(power+len(digits)-len(short))
}
