package regex

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// emoji holds the properties of Unicode's emoji-data (UTS #51), which the standard library lacks: a name
// and its ranges in hexadecimal, a line each.
//
//go:embed emoji.txt
var emoji string

//nolint:gochecknoglobals // each set is built once a process; they never change
var sets struct {
	sync.Mutex
	known map[string]Set
}

// Property gives the set of an expression such as L, Lu, Letter, Script=Greek or Alphabetic. One that is not
// known or not exact here is an error that names it.
func Property(expression string) (Set, error) {
	sets.Lock()
	defer sets.Unlock()
	if s, ok := sets.known[expression]; ok {
		return s, nil
	}
	s, err := property(expression)
	if err != nil {
		return nil, err
	}
	if sets.known == nil {
		sets.known = map[string]Set{}
	}
	sets.known[expression] = s
	return s, nil
}

func property(expression string) (Set, error) {
	name, value, pair := strings.Cut(expression, "=")
	if pair {
		switch name {
		case "General_Category", "gc":
			if s, ok := category(value); ok {
				return s, nil
			}
		case "Script", "sc":
			if t, ok := unicode.Scripts[value]; ok {
				return from(t), nil
			}
		}
		return nil, fmt.Errorf("the Unicode property escape \\p{%s} is not supported; \\p{Script=…} takes long names such as Greek, \\p{gc=…} any category", expression)
	}
	if s, ok := category(name); ok {
		return s, nil
	}
	if s, ok := binary(name); ok {
		return s, nil
	}
	return nil, fmt.Errorf("the Unicode property escape \\p{%s} is not known or not supported", expression)
}

func category(name string) (Set, bool) {
	if short, ok := categories()[name]; ok {
		name = short
	}
	switch name {
	case "LC":
		return from(unicode.Lu, unicode.Ll, unicode.Lt), true
	case "Cn":
		return assigned().not(), true
	case "C":
		// Everything that is no letter, mark, number, punctuation, symbol or separator.
		return from(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z).not(), true
	}
	if len(name) > 2 {
		return nil, false
	}
	t, ok := unicode.Categories[name]
	if !ok {
		return nil, false
	}
	return from(t), true
}

// has looks a code point up.
func has(s Set, r rune) bool {
	lo, hi := 0, len(s)
	for lo < hi {
		if m := (lo + hi) / 2; s[m].Hi < r {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo < len(s) && s[lo].Lo <= r
}

func assigned() Set {
	return from(unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs)
}

func binary(name string) (Set, bool) {
	short := map[string]string{
		"Alpha": "Alphabetic", "Upper": "Uppercase", "Lower": "Lowercase", "space": "White_Space", "AHex": "ASCII_Hex_Digit",
		"Hex": "Hex_Digit", "Ideo": "Ideographic", "Dia": "Diacritic", "QMark": "Quotation_Mark", "STerm": "Sentence_Terminal",
		"Term": "Terminal_Punctuation", "IDS": "ID_Start", "IDC": "ID_Continue", "EPres": "Emoji_Presentation",
		"EMod": "Emoji_Modifier", "EBase": "Emoji_Modifier_Base", "EComp": "Emoji_Component", "ExtPict": "Extended_Pictographic",
		"RI": "Regional_Indicator", "Ext": "Extender", "VS": "Variation_Selector", "UIdeo": "Unified_Ideograph",
	}
	if long, ok := short[name]; ok {
		name = long
	}
	p := unicode.Properties
	switch name {
	case "Any":
		return Set{{0, unicode.MaxRune}}, true
	case "ASCII":
		return Set{{0, 0x7F}}, true
	case "Assigned":
		return assigned(), true
	case "Alphabetic":
		return from(unicode.L, unicode.Nl, p["Other_Alphabetic"]), true
	case "Uppercase":
		return from(unicode.Lu, p["Other_Uppercase"]), true
	case "Lowercase":
		return from(unicode.Ll, p["Other_Lowercase"]), true
	case "ID_Start":
		return from(unicode.L, unicode.Nl, p["Other_ID_Start"]).minus(from(p["Pattern_Syntax"], p["Pattern_White_Space"])), true
	case "ID_Continue":
		return from(unicode.L, unicode.Nl, p["Other_ID_Start"], unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, p["Other_ID_Continue"]).
			minus(from(p["Pattern_Syntax"], p["Pattern_White_Space"])), true
	case "White_Space", "ASCII_Hex_Digit", "Hex_Digit", "Ideographic", "Diacritic", "Quotation_Mark", "Sentence_Terminal", "Dash",
		"Terminal_Punctuation", "Extender", "Variation_Selector", "Unified_Ideograph", "Pattern_Syntax", "Pattern_White_Space",
		"Radical", "Join_Control", "Noncharacter_Code_Point", "Deprecated", "Logical_Order_Exception", "Soft_Dotted":
		return from(p[name]), true
	}
	return pictures(name)
}

func (s Set) minus(t Set) Set {
	return collect(func(r rune) bool { return has(s, r) && !has(t, r) })
}

// pictures looks a property up in emoji.
func pictures(name string) (Set, bool) {
	for line := range strings.Lines(emoji) {
		fields := strings.Fields(line)
		if fields[0] != name {
			continue
		}
		var s Set
		for _, f := range fields[1:] {
			lo, hi, ranged := strings.Cut(f, "-")
			if !ranged {
				hi = lo
			}
			a, _ := strconv.ParseInt(lo, 16, 32)
			b, _ := strconv.ParseInt(hi, 16, 32)
			s = append(s, Range{rune(a), rune(b)})
		}
		return s, true
	}
	return nil, false
}

// categories maps the long names of the general categories to the short ones (Unicode, PropertyValueAliases).
func categories() map[string]string {
	return map[string]string{
		"Letter": "L", "Cased_Letter": "LC", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Titlecase_Letter": "Lt",
		"Modifier_Letter": "Lm", "Other_Letter": "Lo", "Mark": "M", "Combining_Mark": "M", "Nonspacing_Mark": "Mn",
		"Spacing_Mark": "Mc", "Enclosing_Mark": "Me", "Number": "N", "Decimal_Number": "Nd", "digit": "Nd", "Letter_Number": "Nl",
		"Other_Number": "No", "Symbol": "S", "Math_Symbol": "Sm", "Currency_Symbol": "Sc", "Modifier_Symbol": "Sk",
		"Other_Symbol": "So", "Punctuation": "P", "punct": "P", "Connector_Punctuation": "Pc", "Dash_Punctuation": "Pd",
		"Open_Punctuation": "Ps", "Close_Punctuation": "Pe", "Initial_Punctuation": "Pi", "Final_Punctuation": "Pf",
		"Other_Punctuation": "Po", "Separator": "Z", "Space_Separator": "Zs", "Line_Separator": "Zl", "Paragraph_Separator": "Zp",
		"Other": "C", "Control": "Cc", "cntrl": "Cc", "Format": "Cf", "Surrogate": "Cs", "Private_Use": "Co", "Unassigned": "Cn",
	}
}
