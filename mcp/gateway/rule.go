package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/result/shape"
)

// Rules shape results, by the name of the tool. Under the key "tools" of a weir.yaml:
//
//	tools:
//	  memory--read_graph:
//	    select:
//	      - entities: .entities | length
//	      - names: '[.entities[].name]'
//	    render: markdown
//	  filesystem--directory_tree:
//	    prune: true
type Rules map[string]Rule

// Rule shapes the results of one tool.
type Rule struct {
	// Select are lines "name: expression" (jq), in the order in which the fields are shown; see [shape.JQ].
	Select []string
	// Prune are the rules of what is dropped; see [shape.DefaultRules].
	Prune []string
	// Render is the form; empty is markdown with a template, structured with a schema, json with a
	// selection, else pruned.
	Render shape.Name
	// Template renders the selected value; see [shape.Template].
	Template string
	// Schema is the output schema of the selected value; see [shape.Config].
	Schema json.RawMessage
	// Budget is the most tokens of the shaped result; 0 is the session's.
	Budget int
}

// maxRules is the longest file of rules that is read, in bytes.
const maxRules = 1 << 20

// LoadRules reads rules from a YAML file. It fails, in one line that says where, for what is no YAML, for a
// key that it does not know, and for a rule that cannot be used.
func LoadRules(path string) (Rules, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxRules+1))
	if err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	rules, err := ParseRules(raw)
	if err != nil {
		return nil, fmt.Errorf("read the rules of %s: %w", path, err)
	}
	return rules, nil
}

// ParseRules reads rules from YAML; other keys than "tools" at its root are not looked at.
func ParseRules(raw []byte) (Rules, error) {
	if len(raw) > maxRules {
		return nil, fmt.Errorf("they are longer than %d bytes", maxRules)
	}
	var file struct {
		Tools map[string]yaml.Node `yaml:"tools"`
	}
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	rules := Rules{}
	names := make([]string, 0, len(file.Tools))
	for name := range file.Tools {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		node := file.Tools[name]
		r, err := readRule(&node)
		if err == nil {
			_, err = r.compile()
		}
		if err != nil {
			return nil, fmt.Errorf("line %d, the rule of %.80q: %s", node.Line, name, oneLine(err.Error()))
		}
		rules[name] = r
	}
	return rules, nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// known are the keys of a rule.
var known = []string{"select", "prune", "render", "template", "schema", "budget"}

// resolved is what an alias stands for.
func resolved(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

func readRule(node *yaml.Node) (Rule, error) {
	var given struct {
		Select   yaml.Node `yaml:"select"`
		Prune    yaml.Node `yaml:"prune"`
		Render   string    `yaml:"render"`
		Template string    `yaml:"template"`
		Schema   any       `yaml:"schema"`
		Budget   int       `yaml:"budget"`
	}
	node = resolved(node)
	for i := 0; node.Kind == yaml.MappingNode && i < len(node.Content); i += 2 {
		if key := node.Content[i]; !slices.Contains(known, key.Value) {
			return Rule{}, fmt.Errorf("line %d: %.40q is no key of a rule: it takes %s", key.Line, key.Value, strings.Join(known, ", "))
		}
	}
	var err error
	if err := node.Decode(&given); err != nil {
		return Rule{}, err
	}
	r := Rule{Template: given.Template, Budget: given.Budget}
	if given.Render != "" {
		if r.Render, err = shape.Parse(given.Render); err != nil {
			return r, err
		}
	}
	if r.Select, err = lines(&given.Select); err != nil {
		return r, err
	}
	if r.Prune, err = patterns(&given.Prune); err != nil {
		return r, err
	}
	if given.Schema != nil {
		if r.Schema, err = canon.Marshal(given.Schema); err != nil {
			return r, fmt.Errorf("schema: %w", err)
		}
	}
	return r, nil
}

// lines reads a selection: a map, or a list of maps with one key or of texts "name: expression".
func lines(n *yaml.Node) ([]string, error) {
	var all []string
	pairs := func(m *yaml.Node) {
		for i := 0; i+1 < len(m.Content); i += 2 {
			all = append(all, m.Content[i].Value+": "+resolved(m.Content[i+1]).Value)
		}
	}
	switch n = resolved(n); n.Kind {
	case 0:
	case yaml.MappingNode:
		pairs(n)
	case yaml.SequenceNode:
		for _, c := range n.Content {
			switch c = resolved(c); c.Kind {
			case yaml.MappingNode:
				pairs(c)
			case yaml.ScalarNode:
				all = append(all, c.Value)
			default:
				return nil, errors.New("select: each of its entries is name: expression")
			}
		}
	default:
		return nil, errors.New("select: it is a list of name: expression")
	}
	return all, nil
}

// patterns reads what is dropped: true for the default, or a list.
func patterns(n *yaml.Node) ([]string, error) {
	switch n = resolved(n); n.Kind {
	case 0:
		return nil, nil
	case yaml.ScalarNode:
		if n.Value == "true" {
			return shape.DefaultRules(), nil
		}
		return nil, errors.New("prune: it is true, or a list of patterns")
	case yaml.SequenceNode:
		all := []string{}
		for _, c := range n.Content {
			all = append(all, resolved(c).Value)
		}
		return all, nil
	}
	return nil, errors.New("prune: it is true, or a list of patterns")
}

// compile makes what shapes of a rule.
func (r Rule) compile() (shaper, error) {
	s := shaper{form: r.Render, budget: r.Budget}
	cfg := shape.Config{Rules: r.Prune, Schema: r.Schema}
	var err error
	switch {
	case len(r.Select) == 0 && r.Prune == nil && r.Template == "" && r.Schema == nil && r.Render == "" && r.Budget == 0:
		return s, errNothing
	case len(r.Select) > 0 && r.Prune != nil:
		return s, errors.New("select builds a value of its own, from which nothing is pruned: leave out one of them")
	case r.Budget < 0:
		return s, errors.New("budget: it is a number of tokens")
	}
	if s.form == "" {
		switch {
		case r.Template != "":
			s.form = shape.Markdown
		case r.Schema != nil:
			s.form = shape.Structured
		case len(r.Select) > 0:
			s.form = shape.JSON
		case r.Prune != nil:
			s.form = shape.Pruned
		default:
			s.form = shape.Raw
		}
	}
	if len(r.Select) > 0 {
		if cfg.Select, err = shape.JQ(r.Select); err != nil {
			return s, fmt.Errorf("select: %w", err)
		}
	}
	if r.Template != "" {
		if s.form != shape.Markdown {
			return s, fmt.Errorf("a template renders markdown, and render is %s", s.form)
		}
		if cfg.Markdown, err = shape.Template(r.Template); err != nil {
			return s, fmt.Errorf("template: %w", err)
		}
	}
	if s.form == shape.Structured && r.Schema != nil {
		s.output = r.Schema
	}
	s.shaper, err = shape.New(cfg)
	return s, err
}

// compile makes what shapes of all rules.
func (r Rules) compile() (map[string]shaper, error) {
	all := map[string]shaper{}
	for name, rule := range r {
		s, err := rule.compile()
		if err != nil {
			return nil, fmt.Errorf("the rule of %.80q: %s", name, oneLine(err.Error()))
		}
		all[name] = s
	}
	return all, nil
}
