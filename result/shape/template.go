package shape

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template"
	"time"
)

// Limits of a template.
const (
	// TemplateTime is how long one rendering by a template may take.
	TemplateTime = 2 * time.Second
	// MaxTemplated is the longest text that a template may give, in bytes.
	MaxTemplated = 4 << 20
)

// Template makes a Renderer of a text in the syntax of text/template, run over the selected value.
// Numbers print as received. A field that is not there is an error, not an invented value: ask with
// {{if has . "name"}} first. one prints a text with its line ends as spaces, json prints a value as
// compact JSON, and join lists one field of each element:
//
//	{{join .alerts "kind" ", "}}
func Template(text string) (Renderer, error) {
	t, err := template.New("markdown").Option("missingkey=error").Funcs(template.FuncMap{
		"has": func(object any, name string) bool {
			m, ok := object.(map[string]any)
			_, there := m[name]
			return ok && there
		},
		"one":  func(text any) string { return strings.Join(strings.Fields(fmt.Sprint(text)), " ") },
		"json": func(value any) (string, error) { return compact(value) },
		"join": join,
	}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("markdown template: %w", err)
	}
	return func(ctx context.Context, selected json.RawMessage) (string, error) {
		decoder := json.NewDecoder(bytes.NewReader(selected))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			return "", fmt.Errorf("read the selection: %w", err)
		}
		ctx, cancel := context.WithTimeout(ctx, TemplateTime)
		defer cancel()
		out := &bounded{ctx: ctx}
		done := make(chan error, 1)
		go func() {
			_, err := guard("the template", func() (struct{}, error) { return struct{}{}, t.Execute(out, value) })
			done <- err
		}()
		select {
		case err = <-done:
		case <-ctx.Done():
			return "", fmt.Errorf("the template took longer than %v", TemplateTime)
		}
		if err != nil {
			return "", clipped(err)
		}
		return out.text.String(), nil
	}, nil
}

func compact(value any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func join(list any, name, between string) (string, error) {
	items, ok := list.([]any)
	if !ok {
		return "", fmt.Errorf("join wants an array, not %T", list)
	}
	parts := make([]string, len(items))
	for i, item := range items {
		m, ok := item.(map[string]any)
		if _, there := m[name]; !ok || !there {
			return "", fmt.Errorf("join: element %d has no %q", i, name)
		}
		parts[i] = fmt.Sprint(m[name])
	}
	return strings.Join(parts, between), nil
}

// bounded ends a template that writes too much or for too long.
type bounded struct {
	ctx  context.Context //nolint:containedctx // a writer has no other way to learn that it is over
	text bytes.Buffer
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, b.ctx.Err()
	}
	if b.text.Len()+len(p) > MaxTemplated {
		return 0, errors.New("the text is longer than a template may make it")
	}
	return b.text.Write(p)
}
