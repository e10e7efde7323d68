package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/weir-run/weir/internal/canon"
)

// Func makes a tool from a typed Go function. The schema of In is derived once (from its JSON tags and
// its `jsonschema` tags, which hold descriptions) and frozen as bytes. In must be a struct or a map.
//
// Out decides the result: a string is text as it is, a [Result] is full control, anything else is
// written as compact JSON, once, when the function returns. The arguments are decoded with unknown
// fields refused, numbers in fields of type any as [json.Number]; the record keeps the model's own bytes.
//
// It fails when the name is not one, when In has no object schema, or when fn is nil.
func Func[In, Out any](name, description string, fn func(context.Context, In) (Out, error)) (Tool, error) {
	if fn == nil {
		return Tool{}, fmt.Errorf("tool %s: it has no function to run", name)
	}
	schema, err := schemaOf[In]()
	if err != nil {
		return Tool{}, fmt.Errorf("derive the schema of tool %s: %w", name, err)
	}
	t := Tool{Name: name, Description: description, Schema: schema, Run: func(ctx context.Context, c Call) (Result, error) {
		var in In
		if err := decode(c.Args, &in); err != nil {
			return Errorf("the arguments of %s do not fit: %v", name, err), nil
		}
		out, err := fn(ctx, in)
		if err != nil {
			return Result{}, err
		}
		switch r := any(out).(type) {
		case Result:
			return r, nil
		case *Result:
			if r == nil {
				return Result{}, nil
			}
			return *r, nil
		}
		return Value(out), nil
	}}
	return t, t.Check()
}

func schemaOf[In any]() (json.RawMessage, error) {
	t := reflect.TypeFor[In]()
	if k := t.Kind(); k != reflect.Struct && k != reflect.Map {
		return nil, fmt.Errorf("arguments are a JSON object, so the input must be a struct or a map, not %s", t)
	}
	s, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {}, // any JSON, not the bytes that it is made of
		reflect.TypeFor[json.Number]():     {Type: "number"},
	}})
	if err != nil {
		return nil, err
	}
	return canon.Marshal(s)
}

// decode reads arguments into a Go value. Absent, null and empty arguments all mean {}.
func decode(args json.RawMessage, into any) error {
	if Absent(args) {
		args = json.RawMessage("{}")
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.DisallowUnknownFields()
	d.UseNumber() // an integer beyond 2^53 in a field of type any keeps its digits
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	return nil
}

// Absent reports whether arguments mean {}: they are missing, empty, blank or null.
func Absent(args json.RawMessage) bool {
	t := bytes.TrimSpace(args)
	return len(t) == 0 || bytes.Equal(t, []byte("null"))
}
