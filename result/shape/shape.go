// Package shape selects, prunes, then renders as markdown / json / structured; it measures each.
//
// A raw API document costs a model thousands of tokens for a handful of facts. A [Shaper] turns it into
// one of five forms: the document itself, the document without what its rules drop, and three renderings
// of a new value that a [Selector] builds from chosen fields. What cannot be shaped without guessing is
// an error result, never a wrong figure.
package shape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/internal/schema"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

// Limits of a document.
const (
	// MaxDocument is the largest document that is shaped, in bytes. Beyond it only raw is rendered.
	MaxDocument = 16 << 20
	// MaxValues is how many values a document may have to be shaped: it bounds the memory, some hundred
	// bytes for each.
	MaxValues = 1 << 20
	// MaxDepth is how deep a document may be nested to be shaped.
	MaxDepth = 1000
	// MaxSelected is the largest value that a selection may build, in bytes of JSON.
	MaxSelected = 4 << 20
)

// Name is one of the five forms.
type Name string

// The forms, from the longest to what a host reads with the most certainty.
const (
	// Raw is the document byte for byte.
	Raw Name = "raw"
	// Pruned is the document, compact, without what the rules drop.
	Pruned Name = "pruned"
	// Markdown is the selected value as bullets and tables, or by a template.
	Markdown Name = "markdown"
	// JSON is the selected value as compact JSON.
	JSON Name = "json"
	// Structured is the selected value as structured content, and the same JSON repeated as text.
	Structured Name = "structured"
)

// Names are all forms, in the order in which they are measured.
func Names() []Name { return []Name{Raw, Pruned, Markdown, JSON, Structured} }

// Parse gives the form of that name. An unknown one is an error that lists them.
func Parse(name string) (Name, error) {
	for _, n := range Names() {
		if string(n) == name {
			return n, nil
		}
	}
	return "", fmt.Errorf("shape %.40q is not known: use raw, pruned, markdown, json or structured", name)
}

// Selector builds the value that is shown from the document, which is valid JSON without a key that
// stands twice in one object. What it returns is marshalled: a struct keeps the order of its fields and
// omits what its tags say. In Go it is any function; [JQ] makes one of a list of expressions.
type Selector func(ctx context.Context, doc json.RawMessage) (any, error)

// Renderer makes the Markdown of a selected value. In Go it is any function; [Template] makes one of a
// text.
type Renderer func(ctx context.Context, selected json.RawMessage) (string, error)

// Config says how documents of one kind are shaped. The zero Config shows the document itself in the
// forms that select, and prunes by [DefaultRules].
type Config struct {
	// Select builds the selected value; nil takes the document as it is.
	Select Selector
	// Rules say what pruning drops; nil means [DefaultRules].
	Rules []string
	// Markdown renders the selected value; nil means bullets and tables.
	Markdown Renderer
	// Schema is the output schema of the selected value (JSON Schema). Every selected value is checked
	// before it is rendered, in each of the forms that select. A field that may be left out must not be
	// required in it. Without one the structured form stays text.
	Schema json.RawMessage
}

// Shaper renders documents by one Config. It is safe for concurrent use when its functions are.
type Shaper struct {
	cfg    Config
	rules  rules
	schema *schema.Schema
}

// New makes a Shaper. A rule that is no pattern and a schema that does not compile are errors.
func New(cfg Config) (*Shaper, error) {
	s := &Shaper{cfg: cfg}
	lines := cfg.Rules
	if lines == nil {
		lines = DefaultRules()
	}
	var err error
	if s.rules, err = parseRules(lines); err != nil {
		return nil, err
	}
	if len(cfg.Schema) > 0 {
		if s.schema, err = schema.Compile(cfg.Schema); err != nil {
			return nil, fmt.Errorf("output schema: %w", err)
		}
	}
	return s, nil
}

// Rendered is a document in one form.
type Rendered struct {
	// Text is what a model reads, or what was wrong when IsError.
	Text string
	// Structured is the machine's view: the structured form with a declared schema has one.
	Structured json.RawMessage
	// IsError marks what must not be taken for the document: a failed selection, drift from the schema.
	IsError bool
	// Note is one line about how the document was read; empty when there is nothing to say.
	Note string
}

// Result is what a tool returns for it.
func (r Rendered) Result() tool.Result {
	if r.IsError {
		return tool.Error(r.Text)
	}
	return tool.Result{Data: r.Text, Structured: r.Structured}
}

// Render gives a document in one form. Everything that is wrong with the document is a Rendered with
// IsError: a selection that fails, a value that does not fit the schema (each violation names the field,
// what was expected and what was received). A document that is no JSON is text in every form when nothing
// is selected, and the note says so. An error means an unknown form or that ctx has ended.
func (s *Shaper) Render(ctx context.Context, doc []byte, name Name) (Rendered, error) {
	if _, err := Parse(string(name)); err != nil {
		return Rendered{}, err
	}
	r, err := s.render(ctx, doc, name, false)
	if ctx.Err() != nil {
		return Rendered{}, fmt.Errorf("shape %s: %w", name, context.Cause(ctx))
	}
	var refused *refusal
	if errors.As(err, &refused) {
		return Rendered{Text: refused.text, IsError: true}, nil
	}
	return r, err
}

// refusal is what a model is told instead of the document.
type refusal struct{ text string }

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error {
	return &refusal{result.Text(tool.Text(fmt.Sprintf(format, args...)))}
}

// render is Render with its refusals as errors. assume has a structured view also without a schema.
func (s *Shaper) render(ctx context.Context, doc []byte, name Name, assume bool) (Rendered, error) {
	if name == Raw {
		return Rendered{Text: result.Text(tool.Result{Data: doc})}, nil
	}
	if len(doc) > MaxDocument {
		return Rendered{}, refuse("the document has %d bytes; at most %d are shaped: use raw", len(doc), MaxDocument)
	}
	root, err := parse(doc)
	if err != nil {
		var syntax *canon.SyntaxError
		if !errors.As(err, &syntax) {
			return Rendered{}, refuse("the document cannot be shaped: %v", err)
		}
		if s.cfg.Select == nil && s.schema == nil && !strings.Contains(syntax.Reason, "nests deeper") {
			return Rendered{Text: result.Text(tool.Result{Data: doc}), Note: fmt.Sprintf("the document is not JSON (%v): it is shown as text", err)}, nil
		}
		return Rendered{}, refuse("the document cannot be shaped: %v", err)
	}
	if name == Pruned {
		return Rendered{Text: string(s.rules.prune(root).appendTo(nil))}, nil
	}
	selected, err := s.selected(ctx, root)
	if err != nil {
		return Rendered{}, err
	}
	switch {
	case name == Markdown && s.cfg.Markdown != nil:
		text, err := guard("the renderer", func() (string, error) { return s.cfg.Markdown(ctx, selected) })
		if err != nil {
			return Rendered{}, refuse("render markdown: %v", err)
		}
		return Rendered{Text: result.Text(tool.Text(text))}, nil
	case name == Markdown:
		text, err := markdown(selected)
		return Rendered{Text: text}, err
	case name == JSON:
		return Rendered{Text: string(selected)}, nil
	case s.schema == nil && !assume:
		return Rendered{Text: string(selected), Note: "no output schema is declared: the result stays text"}, nil
	}
	return Rendered{Text: string(selected), Structured: object(selected, s.schema != nil)}, nil
}

// guard turns a panic of a function that is not ours into an error.
func guard[T any](what string, f func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s panicked: %.200v", what, p)
		}
	}()
	return f()
}

// selected builds the value that is shown and checks it.
func (s *Shaper) selected(ctx context.Context, root *node) (json.RawMessage, error) {
	if twice := root.twice(""); twice != "" {
		return nil, refuse("the document cannot be shaped: %s stands twice in one object, and which of the two is meant cannot be known", twice)
	}
	selected := json.RawMessage(root.appendTo(nil))
	if s.cfg.Select != nil {
		value, err := guard("the selection", func() (any, error) { return s.cfg.Select(ctx, selected) })
		if err != nil {
			return nil, refuse("%v", err)
		}
		if selected, err = canon.Marshal(value); err != nil {
			return nil, refuse("the selection is no JSON: %v", err)
		}
		if len(selected) > MaxSelected {
			return nil, refuse("the selection has %d bytes; at most %d are allowed: select less", len(selected), MaxSelected)
		}
	}
	if s.schema == nil {
		return selected, nil
	}
	violations, err := s.schema.Check(selected)
	if err != nil {
		return nil, refuse("the result could not be checked against its output schema: %v", err)
	}
	if len(violations) > 0 {
		return nil, refuse("the result does not fit its output schema, so it is not sent:\n%s", schema.List(violations))
	}
	return selected, nil
}

// object makes structured content an object, which every peer takes; with a declared schema the value is
// what the schema describes.
func object(selected json.RawMessage, declared bool) json.RawMessage {
	switch {
	case declared || len(selected) > 0 && selected[0] == '{':
		return selected
	case len(selected) > 0 && selected[0] == '[':
		return append(append(json.RawMessage(`{"items":`), selected...), '}')
	}
	return append(append(json.RawMessage(`{"result":`), selected...), '}')
}
