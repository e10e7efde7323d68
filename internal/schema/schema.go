// Package schema checks JSON against a JSON Schema, bounded in time, size and depth, with every
// violation named and no value repeated.
//
// Schemas come from tools' authors and from remote servers, values from models: both are hostile.
// Nothing is ever loaded from a file or the network, cycles of references are refused or detected, and
// patterns are RE2, so they match in linear time.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/weir-run/weir/internal/canon"
)

// Limits of a check.
const (
	// MaxDepth is how deep a value may be nested.
	MaxDepth = 1000
	// MaxSchema is the largest schema in bytes.
	MaxSchema = 1 << 20
	// MaxViolations is how many violations are listed; the rest is counted.
	MaxViolations = 50
	// Time is how long one check may take.
	Time = 5 * time.Second
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
}

// Compile reads a schema (draft 2020-12 unless it says otherwise). Empty bytes accept everything.
// It fails for what is no JSON, for schemas over [MaxSchema], and for references that lead out of it.
func Compile(raw []byte) (*Schema, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return &Schema{}, nil
	}
	if len(raw) > MaxSchema {
		return nil, fmt.Errorf("the schema has %d bytes; at most %d are allowed", len(raw), MaxSchema)
	}
	if err := depth(raw); err != nil {
		return nil, fmt.Errorf("the schema is %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema is not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	if err := c.AddResource(root, doc); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	compiled, err := compile(c)
	if err != nil {
		return nil, fmt.Errorf("compile the schema: %w", err)
	}
	return &Schema{compiled: compiled}, nil
}

// root is the name that a schema has for itself; it is never fetched.
const root = "weir:schema"

func compile(c *jsonschema.Compiler) (s *jsonschema.Schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be compiled: %v", p)
		}
	}()
	return c.Compile(root)
}

// nowhere refuses to load anything.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) {
	return nil, fmt.Errorf("the reference %.200q leads out of the schema; only references into it are followed", url)
}

// ErrTime says that a check took longer than [Time].
var ErrTime = errors.New("the check took too long")

// Check gives the violations of a value; none when it fits. The error is not nil when the value is no
// JSON, is nested deeper than [MaxDepth], or could not be checked within [Time].
func (s *Schema) Check(raw []byte) ([]Violation, error) {
	if err := depth(raw); err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, notJSON(raw, err)
	}
	if twice := duplicates(raw); len(twice) > 0 {
		return twice, nil // which of the two is meant cannot be known, so neither is used
	}
	if s == nil || s.compiled == nil {
		return nil, nil
	}
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- fmt.Errorf("the check failed: %v", p)
			}
		}()
		done <- s.compiled.Validate(value)
	}()
	limit := time.NewTimer(Time)
	defer limit.Stop()
	select {
	case err := <-done:
		return violations(err)
	case <-limit.C:
		return nil, ErrTime
	}
}

func violations(err error) ([]Violation, error) {
	if err == nil {
		return nil, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, err
	}
	return collect(invalid), nil
}

// depth walks the tokens, so that no recursion of a decoder can be driven deep.
func depth(raw []byte) error {
	deep, quoted, escaped := 0, false, false
	for _, b := range raw {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped = b == '\\'
			quoted = b != '"'
		case b == '"':
			quoted = true
		case b == '{' || b == '[':
			if deep++; deep > MaxDepth {
				return fmt.Errorf("nested deeper than %d levels", MaxDepth)
			}
		case b == '}' || b == ']':
			deep--
		}
	}
	return nil
}

// duplicates are the members that stand twice in an object. A decoder would take one of the two silently.
func duplicates(raw []byte) []Violation {
	type frame struct {
		seen map[string]bool
		key  string // of the member that is being read
		item int    // of the element that is being read, in an array
	}
	var open []*frame
	var twice []Violation
	where := func() string {
		var tokens []string
		for _, f := range open[:max(0, len(open)-1)] {
			if f.seen == nil {
				tokens = append(tokens, strconv.Itoa(f.item))
			} else {
				tokens = append(tokens, f.key)
			}
		}
		return pointer(tokens)
	}
	lexer := canon.NewLexer(raw)
	for {
		t, err := lexer.Next()
		if err != nil {
			return twice
		}
		switch {
		case t.Kind == '}' || t.Kind == ']':
			open = open[:len(open)-1]
			continue
		case t.Key:
			f := open[len(open)-1]
			f.key, _ = canon.Unquote(t.Raw)
			if f.seen[f.key] {
				twice = append(twice, Violation{Pointer: where(), Text: fmt.Sprintf("the key %q stands twice", clip(f.key, 80))})
			}
			f.seen[f.key] = true
			continue
		}
		if n := len(open); n > 0 && open[n-1].seen == nil {
			open[n-1].item++
		}
		switch t.Kind {
		case '{':
			open = append(open, &frame{seen: map[string]bool{}})
		case '[':
			open = append(open, &frame{item: -1})
		}
	}
}

// notJSON says where JSON ends to be JSON, without repeating it.
func notJSON(raw []byte, err error) error {
	var syntax *json.SyntaxError
	d := json.NewDecoder(bytes.NewReader(raw))
	var skip json.RawMessage
	if e := d.Decode(&skip); errors.As(e, &syntax) {
		return fmt.Errorf("not valid JSON at byte %d of %d: %s", syntax.Offset, len(raw), syntax.Error())
	} else if errors.Is(e, io.ErrUnexpectedEOF) || errors.Is(e, io.EOF) {
		return fmt.Errorf("not valid JSON: it ends after %d bytes in the middle of a value", len(raw))
	} else if e == nil {
		return fmt.Errorf("not valid JSON: something follows the value at byte %d", d.InputOffset())
	}
	return fmt.Errorf("not valid JSON: %w", err)
}
