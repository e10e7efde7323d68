package shape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tokens"
	"github.com/weir-run/weir/tool"
)

// Row is what one form costs.
type Row struct {
	Shape Name `json:"shape"`
	// TextBytes and TextTokens (o200k_base, exact) are those of the text that a model reads.
	TextBytes  int `json:"text_bytes"`
	TextTokens int `json:"text_tokens"`
	// ResultBytes is the compact JSON of the MCP result object alone: content, and structuredContent
	// where it is sent; no frame and no _meta.
	ResultBytes int `json:"result_bytes"`
	// StructuredKeys is how many keys the structured content has; 0 when none is sent.
	StructuredKeys int `json:"structured_keys"`
}

// Path is a place of a document and what it costs there.
type Path struct {
	// Path is written as in jq, with [] for each element of an array.
	Path string `json:"path"`
	// Tokens are those of all values at the path, as they are written (o200k_base).
	Tokens int `json:"tokens"`
}

// Measurement says what a document costs in each form.
type Measurement struct {
	// Shapes are the five forms, in the order of [Names].
	Shapes []Row `json:"shapes"`
	// Heaviest are the three heaviest paths of the document that do not lie in each other; none for a
	// document that is no JSON.
	Heaviest []Path `json:"heaviest"`
	// Note is one line about how the document was read; empty when there is nothing to say.
	Note string `json:"note,omitempty"`
}

// Measure renders a document in all five forms and counts each. Without a declared schema the structured
// row is what it would be with one. A selection that fails, drift from the schema, and a document that
// cannot be shaped are errors.
func (s *Shaper) Measure(ctx context.Context, doc []byte) (Measurement, error) {
	count, err := tokens.New(tokens.O200K)
	if err != nil {
		return Measurement{}, err
	}
	m := Measurement{Heaviest: []Path{}}
	for _, name := range Names() {
		r, err := s.render(ctx, doc, name, true)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return Measurement{}, fmt.Errorf("measure %s: %w", name, err)
		}
		row := Row{Shape: name, TextBytes: len(r.Text), TextTokens: count.Count(r.Text)}
		wire, err := r.Wire()
		if err != nil {
			return Measurement{}, fmt.Errorf("measure %s: %w", name, err)
		}
		row.ResultBytes = len(wire)
		if r.Structured != nil {
			if root, err := parse(r.Structured); err == nil {
				row.StructuredKeys = len(root.members)
			}
		}
		m.Shapes = append(m.Shapes, row)
		if r.Note != "" {
			m.Note = r.Note
		}
	}
	root, err := parse(doc)
	var syntax *canon.SyntaxError
	if errors.As(err, &syntax) {
		return m, nil
	}
	if err != nil {
		return Measurement{}, err
	}
	m.Heaviest = heaviest(root, count, 3)
	return m, nil
}

// Wire is the MCP result object as compact JSON: content, structuredContent and isError where they are.
func (r Rendered) Wire() ([]byte, error) {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return canon.Marshal(struct {
		Content    []block         `json:"content"`
		Structured json.RawMessage `json:"structuredContent,omitempty"`
		IsError    bool            `json:"isError,omitempty"`
	}{[]block{{"text", result.Text(tool.Text(r.Text))}}, r.Structured, r.IsError})
}

// place is all values of a document at one path.
type place struct {
	path   string
	deep   int
	nodes  []*node
	tokens int
}

// maxDescent bounds how often a value is counted again as a part of another.
const maxDescent = 12

// heaviest gives the heaviest places that do not lie in each other. A place where one part holds nearly
// everything is passed over for its parts, since it says more where the weight lies; so is one without
// whose parts there would be too few.
func heaviest(root *node, count *tokens.Encoding, n int) []Path {
	weigh := func(p place) place {
		for _, v := range p.nodes {
			p.tokens += count.Count(string(v.raw))
		}
		return p
	}
	open := []place{weigh(place{path: "", nodes: []*node{root}})}
	paths := []Path{}
	for len(open) > 0 && len(paths) < n {
		at := 0
		for i, p := range open {
			if p.tokens > open[at].tokens {
				at = i
			}
		}
		p := open[at]
		open = slices.Delete(open, at, at+1)
		var parts []place
		if p.deep < maxDescent {
			parts = p.parts()
		}
		most, sum := 0, 0
		for i := range parts {
			parts[i] = weigh(parts[i])
			most = max(most, parts[i].tokens)
			sum += parts[i].tokens
		}
		few := len(paths)+len(open)+1 < n && sum*2 >= p.tokens
		if len(parts) > 0 && (p.path == "" || most*10 >= p.tokens*8 || few) {
			open = append(open, parts...)
			continue
		}
		if p.path == "" {
			p.path = "."
		}
		paths = append(paths, Path{p.path, p.tokens})
	}
	return paths
}

// parts are the places right below one.
func (p place) parts() []place {
	var parts []place
	at := map[string]int{}
	add := func(path string, n *node) {
		i, ok := at[path]
		if !ok {
			i = len(parts)
			at[path] = i
			parts = append(parts, place{path: path, deep: p.deep + 1})
		}
		parts[i].nodes = append(parts[i].nodes, n)
	}
	for _, n := range p.nodes {
		for _, m := range n.members {
			add(p.path+step(m.key), m.value)
		}
		for _, item := range n.items {
			path := p.path
			if path == "" {
				path = "."
			}
			add(path+"[]", item)
		}
	}
	return parts
}
