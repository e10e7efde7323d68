package shape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-run/weir/internal/canon"
)

// values is a document as an expression sees it.
type values struct {
	root   any
	orders map[uintptr][]string // the keys of each object of the document, in its order
	ranks  map[string]int       // when each key first comes
	// fragile is the first number that float64 cannot hold; "" when there is none.
	fragile string
	// whole says that all such numbers are integers.
	whole bool
	// blinds are the numbers that stand for them in a blind view, and theirs is what undoes it.
	blinds []string
	theirs *strings.Replacer
}

// view makes the values of a document. With a sign it is a blind one: in the place of each number that
// float64 cannot hold stands another, far above ("") or far below ("-") any that is real.
func view(root *node, blind bool, sign string) *values {
	v := &values{orders: map[uintptr][]string{}, ranks: map[string]int{}, whole: true}
	v.root = v.of(root, blind, sign)
	v.theirs = strings.NewReplacer(v.blinds...)
	return v
}

func (v *values) of(n *node, blind bool, sign string) any {
	switch n.kind {
	case '{':
		m := make(map[string]any, len(n.members))
		order := make([]string, 0, len(n.members))
		for _, member := range n.members {
			if _, ok := v.ranks[member.key]; !ok {
				v.ranks[member.key] = len(v.ranks)
			}
			m[member.key] = v.of(member.value, blind, sign)
			order = append(order, member.key)
		}
		v.orders[reflect.ValueOf(m).Pointer()] = order
		return m
	case '[':
		items := make([]any, len(n.items))
		for i, item := range n.items {
			items[i] = v.of(item, blind, sign)
		}
		return items
	case '"':
		return n.text()
	case 't', 'f':
		return n.kind == 't'
	case '0':
		literal := string(n.raw)
		if !holds(literal) {
			if v.fragile == "" {
				v.fragile = literal
			}
			decimal := strings.ContainsAny(literal, ".eE")
			v.whole = v.whole && !decimal
			if blind {
				literal = v.standIn(literal, sign, decimal)
			}
		}
		return json.Number(literal)
	}
	return nil
}

// holds says that float64 has exactly one shortest decimal for a literal, and that it is the literal's
// own figure. Integers beyond 2^53 are held exactly as integers, but not when they meet decimals.
func holds(literal string) bool {
	f, err := strconv.ParseFloat(literal, 64)
	if err != nil || math.IsInf(f, 0) {
		return false
	}
	mine, myExponent := figures(literal)
	other, otherExponent := figures(strconv.FormatFloat(f, 'e', -1, 64))
	return mine == other && (mine == "" || myExponent == otherExponent)
}

// figures gives the digits of a number without zeros at either end, and its power of ten.
func figures(literal string) (digits string, exponent int) {
	literal = strings.ToLower(strings.TrimPrefix(literal, "-"))
	mantissa, power, _ := strings.Cut(literal, "e")
	if power != "" {
		n, err := strconv.Atoi(power)
		if err != nil {
			return "beyond", 0
		}
		exponent = n
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	digits = whole + part
	exponent -= len(part)
	for strings.HasSuffix(digits, "0") {
		digits = digits[:len(digits)-1]
		exponent++
	}
	return strings.TrimLeft(digits, "0"), exponent
}

// standIn gives a number for one that is hidden from an expression, and remembers which it is.
func (v *values) standIn(literal, sign string, decimal bool) string {
	other := fmt.Sprintf("%s17%09d", sign, len(v.blinds)/2)
	if decimal {
		other += ".5e297"
	} else {
		other += strings.Repeat("7", 290)
	}
	v.blinds = append(v.blinds, other, literal)
	return other
}

// compare refuses a value that was computed with a number that float64 cannot hold. Integers may be,
// as long as nothing but integers came of it.
func (f field) compare(ctx context.Context, blind *values, value any, raw []byte) error {
	again, err := f.run(ctx, blind)
	if err == nil {
		var other []byte
		if other, err = blind.write(f, again); err == nil && bytes.Equal(raw, other) {
			return nil
		}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	if whole(value) && blind.whole {
		return nil
	}
	return fmt.Errorf("it computes with %.60s, which float64 cannot hold: select the number as it is", blind.fragile)
}

// whole says that a value has integers and no other figures.
func whole(value any) bool {
	switch x := value.(type) {
	case int, *big.Int:
		return true
	case json.Number:
		return !strings.ContainsAny(string(x), ".eE")
	case []any:
		return !slices.ContainsFunc(x, func(item any) bool { return !whole(item) })
	}
	return false
}

// write gives a value as compact JSON.
func (v *values) write(f field, value any) ([]byte, error) {
	return v.append(nil, f, value, 0)
}

func (v *values) append(to []byte, f field, value any, deep int) ([]byte, error) {
	if deep > MaxDepth {
		return nil, fmt.Errorf("its value nests deeper than %d levels", MaxDepth)
	}
	if len(to) > MaxSelected {
		return nil, fmt.Errorf("its value has more than %d bytes: select less", MaxSelected)
	}
	var err error
	switch x := value.(type) {
	case nil:
		return append(to, "null"...), nil
	case bool:
		return strconv.AppendBool(to, x), nil
	case int:
		return strconv.AppendInt(to, int64(x), 10), nil
	case *big.Int:
		return append(to, v.theirs.Replace(x.String())...), nil
	case json.Number:
		return append(to, v.theirs.Replace(string(x))...), nil
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return nil, errors.New("it gives no finite number")
		}
		raw, err := canon.Marshal(x)
		return append(to, raw...), err
	case string:
		return canon.AppendString(to, v.theirs.Replace(x)), nil
	case []any:
		to = append(to, '[')
		for i, item := range x {
			if i > 0 {
				to = append(to, ',')
			}
			if to, err = v.append(to, f, item, deep+1); err != nil {
				return nil, err
			}
		}
		return append(to, ']'), nil
	case map[string]any:
		to = append(to, '{')
		for i, key := range v.order(f, x) {
			if i > 0 {
				to = append(to, ',')
			}
			if to, err = v.append(append(canon.AppendString(to, key), ':'), f, x[key], deep+1); err != nil {
				return nil, err
			}
		}
		return append(to, '}'), nil
	}
	return nil, fmt.Errorf("it gives a %T, which is no JSON", value)
}

// order is the order of an object's keys: as received for an object of the document; of one that the
// expression made, first as the expression writes them, then as they first come in the document.
func (v *values) order(f field, m map[string]any) []string {
	if order, ok := v.orders[reflect.ValueOf(m).Pointer()]; ok && len(order) == len(m) {
		return order
	}
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	rank := func(key string) int {
		if i := slices.Index(f.keys, key); i >= 0 {
			return i
		}
		if i, ok := v.ranks[key]; ok {
			return len(f.keys) + i
		}
		return math.MaxInt
	}
	slices.SortFunc(keys, func(a, b string) int {
		if ra, rb := rank(a), rank(b); ra != rb {
			if ra < rb {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	return keys
}
