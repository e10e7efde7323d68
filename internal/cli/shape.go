package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weir-run/weir/result/shape"
)

func newShape(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shape COMMAND",
		Short: "Measure and render what a model is shown of a document",
		Long: `shape turns a document, such as the answer of an API, into one of five forms: raw, pruned, and, of what is
selected, markdown, json or structured. FILE is - for stdin.`,
		Example: "  weir shape measure order.json --select 'status: .data.attributes.status'",
	}
	group(cmd, newShapeMeasure(a), newShapeRender(a))
	return cmd
}

// shapeFlags say how a document is shaped.
type shapeFlags struct {
	selects, prunes  []string
	schema, template string
	asJSON           bool
}

func (f *shapeFlags) bind(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.selects, "select", nil, "show a field: `'NAME: JQ'`, in the order in which they are given (without one the document is shown)")
	cmd.Flags().StringArrayVar(&f.prunes, "prune", nil, "a `RULE` more for pruned: a pattern of a key that is dropped, !KEY for one that is kept, or null")
	cmd.Flags().StringVar(&f.schema, "schema", "", "the JSON Schema in `FILE`, which what is selected must fit")
	cmd.Flags().StringVar(&f.template, "template", "", "the template in `FILE` for markdown (text/template)")
}

func newShapeMeasure(a *app) *cobra.Command {
	var f shapeFlags
	var infer bool
	cmd := &cobra.Command{
		Use:   "measure [--select 'NAME: JQ']… [--prune RULE]… [--schema FILE] [--template FILE] [--infer] [--json] FILE",
		Short: "Print what each form of a document costs",
		Long: `measure prints, for each of the five forms, the bytes and the tokens (o200k_base, exact) of its text, the bytes of
the MCP result object and how many keys its structured content has; then the three heaviest paths of the document.
Without --schema the structured row is what it would be with one.

--json prints {shapes [{shape, text_bytes, text_tokens, result_bytes, structured_keys}], heaviest [{path, tokens}],
note}, the note when there is something to say about the document.`,
		Example: `  weir shape measure order.json
  weir shape measure order.json --select 'status: .data.attributes.status' --select 'id: .data.id' --json`,
		Args: exactly(1, "a FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.measure(cmd.Context(), f, infer, args[0]) },
	}
	f.bind(cmd)
	cmd.Flags().BoolVar(&infer, "infer", false, "print a schema of the types that were seen instead, to complete and adopt")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print one JSON object")
	return cmd
}

func newShapeRender(a *app) *cobra.Command {
	var f shapeFlags
	var name string
	cmd := &cobra.Command{
		Use:   "render --shape NAME [--select 'NAME: JQ']… [--prune RULE]… [--schema FILE] [--template FILE] [--json] FILE",
		Short: "Print one form of a document",
		Long: `render prints the text of one form: raw, pruned, markdown, json or structured. --json prints the MCP result object
instead, as it would be sent: compact, with structuredContent where --schema declares one.

The exit status is 1 when a selection fails or what is selected does not fit the schema.`,
		Example: `  weir shape render order.json --shape pruned
  weir shape render order.json --shape markdown --select 'status: .data.attributes.status'`,
		Args: exactly(1, "a FILE"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.render(cmd.Context(), f, name, args[0]) },
	}
	f.bind(cmd)
	cmd.Flags().StringVar(&name, "shape", "", "the form: raw, pruned, markdown, json or structured (`NAME`)")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print the MCP result object")
	return cmd
}

func (a *app) measure(ctx context.Context, f shapeFlags, infer bool, file string) error {
	s, err := f.shaper()
	if err != nil {
		return err
	}
	doc, err := a.document(file)
	if err != nil {
		return err
	}
	if infer {
		r, err := s.Render(ctx, doc, shape.JSON)
		if err == nil && r.IsError {
			err = errors.New(r.Text)
		}
		if err != nil {
			return err
		}
		raw, err := shape.Infer([]byte(r.Text))
		if err != nil {
			return err
		}
		return a.emit(append(raw, '\n'))
	}
	m, err := s.Measure(ctx, doc)
	if err != nil {
		return err
	}
	if f.asJSON {
		return a.emitJSON(m)
	}
	if m.Note != "" {
		a.note("weir: %s", m.Note)
	}
	rows := table{}
	rows.add("shape", ">text bytes", ">text tokens", ">result bytes", "structuredContent")
	for _, r := range m.Shapes {
		keys := "none"
		switch {
		case r.StructuredKeys == 1:
			keys = "1 key"
		case r.StructuredKeys > 0:
			keys = strconv.Itoa(r.StructuredKeys) + " keys"
		}
		rows.add(string(r.Shape), number(int64(r.TextBytes)), number(int64(r.TextTokens)), number(int64(r.ResultBytes)), keys)
	}
	text := rows.String()
	if len(m.Heaviest) > 0 {
		heavy := table{}
		heavy.add("heaviest path", ">tokens")
		for _, p := range m.Heaviest {
			heavy.add(printable(p.Path), number(int64(p.Tokens)))
		}
		text += "\n" + heavy.String()
	}
	return a.emit([]byte(text))
}

func (a *app) render(ctx context.Context, f shapeFlags, word, file string) error {
	if word == "" {
		return misuse("--shape is missing: name raw, pruned, markdown, json or structured")
	}
	name, err := shape.Parse(word)
	if err != nil {
		return misuse("%w", err)
	}
	s, err := f.shaper()
	if err != nil {
		return err
	}
	doc, err := a.document(file)
	if err != nil {
		return err
	}
	r, err := s.Render(ctx, doc, name)
	if err != nil {
		return err
	}
	if r.Note != "" {
		a.note("weir: %s", r.Note)
	}
	if f.asJSON {
		wire, err := r.Wire()
		if err == nil {
			err = a.emit(append(wire, '\n'))
		}
		if err == nil && r.IsError {
			err = quiet(statusFailed)
		}
		return err
	}
	if r.IsError {
		return errors.New(r.Text)
	}
	text := r.Text
	if terminal(a.out) {
		text = harmless(text)
	}
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return a.emit([]byte(text))
}

// shaper makes a shaper by the flags; what is wrong with them is misuse.
func (f *shapeFlags) shaper() (*shape.Shaper, error) {
	cfg := shape.Config{}
	if len(f.selects) > 0 {
		selector, err := shape.JQ(f.selects)
		if err != nil {
			return nil, misuse("--%w", err)
		}
		cfg.Select = selector
	}
	if len(f.prunes) > 0 {
		cfg.Rules = append(shape.DefaultRules(), f.prunes...)
	}
	if f.schema != "" {
		raw, err := os.ReadFile(f.schema)
		if err != nil {
			return nil, misuse("read the schema: %w", err)
		}
		cfg.Schema = json.RawMessage(raw)
	}
	if f.template != "" {
		raw, err := os.ReadFile(f.template)
		if err != nil {
			return nil, misuse("read the template: %w", err)
		}
		if cfg.Markdown, err = shape.Template(string(raw)); err != nil {
			return nil, misuse("%w", err)
		}
	}
	s, err := shape.New(cfg)
	if err != nil {
		return nil, misuse("%w", err)
	}
	return s, nil
}

// document reads a file, or stdin for -, up to what raw may have.
func (a *app) document(file string) ([]byte, error) {
	from := a.in
	if file != "-" {
		opened, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("read the document: %w", err)
		}
		defer opened.Close()
		from = opened
	}
	doc, err := io.ReadAll(io.LimitReader(from, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("the document has more than %s bytes, which is more than one result may have", number(maxDocument))
	}
	return doc, nil
}

// maxDocument is the longest document that is read, in bytes.
const maxDocument = 64 << 20
