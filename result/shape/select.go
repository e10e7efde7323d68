package shape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
	"unicode"

	"github.com/itchyny/gojq"

	"github.com/weir-run/weir/internal/canon"
)

// Limits of a selection by expressions.
const (
	// MaxFields is how many fields a selection may have.
	MaxFields = 100
	// SelectTime is how long all expressions of one selection may take together.
	SelectTime = 2 * time.Second
)

// field is one "name: expression".
type field struct {
	name string
	code *gojq.Code
	keys []string // the keys of objects that the expression makes, as they are written
}

// JQ makes a Selector of lines "name: expression" in the order in which the fields are shown. The
// expressions are jq (github.com/itchyny/gojq), each run on the whole document.
//
// An expression gives one value; null leaves its field out, so a missing source does. One that fails,
// gives nothing or more than one value makes the selection fail, with the field's name. Numbers that are
// selected as they are keep their literal; integers are computed exactly, decimals in float64. An
// expression that computes with a number which float64 cannot hold fails rather than round it. Keys of
// objects that an expression makes stand in the order in which it writes them, others as in the document.
//
// What depends on the clock, the machine or the process (now, env, localtime, input, debug, halt …) is
// refused here, as are more than [MaxFields] lines and a name that stands twice. A run ends after
// [SelectTime].
func JQ(lines []string) (Selector, error) {
	if len(lines) > MaxFields {
		return nil, fmt.Errorf("the selection has %d fields; at most %d are allowed", len(lines), MaxFields)
	}
	fields := make([]field, 0, len(lines))
	seen := map[string]bool{}
	for _, line := range lines {
		f, err := compile(line)
		if err != nil {
			return nil, err
		}
		if seen[f.name] {
			return nil, fmt.Errorf("select %s: the name stands twice", f.name)
		}
		seen[f.name] = true
		fields = append(fields, f)
	}
	return func(ctx context.Context, doc json.RawMessage) (any, error) {
		root, err := parse(doc)
		if err != nil {
			return nil, fmt.Errorf("the document cannot be shaped: %w", err)
		}
		return evaluate(ctx, root, fields)
	}, nil
}

func compile(line string) (field, error) {
	name, text, ok := strings.Cut(line, ":")
	name = strings.TrimSpace(name)
	if !ok || name == "" || len(name) > 100 || strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.", r)
	}) {
		return field{}, fmt.Errorf("select %.80q: write NAME: EXPRESSION, such as status: .data.status", line)
	}
	query, err := gojq.Parse(text)
	if err != nil {
		return field{}, fmt.Errorf("select %s: the expression is not jq: %w", name, err)
	}
	f := field{name: name}
	var refused string
	walk(reflect.ValueOf(query), func(part any) {
		switch p := part.(type) {
		case *gojq.Func:
			if unstable[p.Name] {
				refused = p.Name
			}
		case *gojq.ObjectKeyVal:
			if p.Key != "" {
				f.keys = append(f.keys, strings.TrimPrefix(p.Key, "$"))
			} else if p.KeyString != nil && p.KeyString.Queries == nil {
				f.keys = append(f.keys, p.KeyString.Str)
			}
		}
	})
	if refused != "" {
		return field{}, fmt.Errorf("select %s: %s is not available, since its answer is not in the document", name, refused)
	}
	if len(query.Imports) > 0 {
		return field{}, fmt.Errorf("select %s: modules are not available", name)
	}
	if f.code, err = gojq.Compile(query); err != nil {
		return field{}, fmt.Errorf("select %s: %w", name, err)
	}
	return f, nil
}

// unstable are the functions whose answer depends on something else than the document.
var unstable = map[string]bool{
	"now": true, "localtime": true, "strflocaltime": true, "env": true, "$ENV": true, "input": true, "inputs": true,
	"input_filename": true, "input_line_number": true, "debug": true, "stderr": true, "halt": true, "halt_error": true,
	"get_search_list": true, "modulemeta": true, "$__prog_args": true,
}

// walk shows every part of a query in the order in which it is written.
func walk(v reflect.Value, show func(part any)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			show(v.Interface())
			walk(v.Elem(), show)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), show)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), show)
		}
	default:
	}
}

// evaluate runs the fields on the document. Where it has numbers that float64 cannot hold they run twice
// more, with others in the place of those: what differs then was computed with one of them.
func evaluate(ctx context.Context, root *node, fields []field) (json.RawMessage, error) {
	limited, cancel := context.WithTimeout(ctx, SelectTime)
	defer cancel()
	doc := view(root, false, "")
	var blind []*values
	if doc.fragile != "" {
		blind = []*values{view(root, true, ""), view(root, true, "-")}
	}
	to := []byte{'{'}
	for _, f := range fields {
		value, err := f.run(limited, doc)
		if err != nil {
			return nil, selectError(f, err)
		}
		if value == nil {
			continue
		}
		raw, err := doc.write(f, value)
		if err != nil {
			return nil, selectError(f, err)
		}
		for _, other := range blind {
			if err := f.compare(limited, other, value, raw); err != nil {
				return nil, selectError(f, err)
			}
		}
		if len(to) > 1 {
			to = append(to, ',')
		}
		to = append(canon.AppendString(to, f.name), ':')
		if to = append(to, raw...); len(to) > MaxSelected {
			return nil, fmt.Errorf("select %s: the selection has more than %d bytes: select less", f.name, MaxSelected)
		}
	}
	return append(to, '}'), nil
}

func selectError(f field, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it took longer than %v", SelectTime)
	}
	return fmt.Errorf("select %s: %w", f.name, err)
}

// run gives the one value of an expression; nil is null.
func (f field) run(ctx context.Context, doc *values) (value any, err error) {
	defer func() {
		if p := recover(); p != nil {
			value, err = nil, fmt.Errorf("the expression failed: %.200v", p)
		}
	}()
	iter := f.code.RunWithContext(ctx, doc.root)
	value, ok := iter.Next()
	if !ok {
		return nil, errors.New("the expression gives nothing: end it with // null when the field may be left out")
	}
	if err, failed := value.(error); failed {
		return nil, clipped(err)
	}
	more, ok := iter.Next()
	if err, failed := more.(error); ok && failed {
		return nil, clipped(err)
	}
	if ok {
		return nil, errors.New("the expression gives more than one value: put [ ] around it, or first()")
	}
	return value, nil
}

// clipped keeps an error's text, which may quote the document, on one short line.
func clipped(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err
	}
	text := strings.Join(strings.Fields(err.Error()), " ")
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	return errors.New(text)
}
