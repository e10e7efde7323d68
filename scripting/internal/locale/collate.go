package locale

import (
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// Collation says how texts are compared.
type Collation struct {
	// Numeric compares runs of digits by their value.
	Numeric bool
	// Sensitivity is base, accent or variant.
	Sensitivity string
}

// Collator compares two texts: negative, zero or positive. It is not safe for concurrent use.
func Collator(c Collation) func(a, b string) int {
	var options []collate.Option
	if c.Numeric {
		options = append(options, collate.Numeric)
	}
	switch c.Sensitivity {
	case "base":
		options = append(options, collate.Loose)
	case "accent":
		options = append(options, collate.IgnoreCase, collate.IgnoreWidth)
	}
	return collate.New(language.English, options...).CompareString
}
