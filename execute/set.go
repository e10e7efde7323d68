// Package execute holds the three steps of one call, without a store: prepare it (find the tool, check
// the arguments, digest both), run it (the body, bounded, to its whole result), fit it (what is shown of
// the whole in the room that is left).
package execute

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/internal/schema"
	"github.com/weir-run/weir/tool"
)

// Set is the tools that can be called in one context. It is safe for concurrent use.
type Set struct {
	tools map[string]entry
	names []string
}

type entry struct {
	tool           tool.Tool
	schema, output *schema.Schema
}

// NewSet checks tools and compiles their schemas. It fails on a tool that is not usable and on two
// tools of one name.
func NewSet(tools []tool.Tool) (*Set, error) {
	s := &Set{tools: make(map[string]entry, len(tools))}
	for _, t := range tools {
		if err := t.Check(); err != nil {
			return nil, err
		}
		if _, twice := s.tools[t.Name]; twice {
			return nil, fmt.Errorf("two tools are named %s: give each its own name", t.Name)
		}
		compiled, err := schema.Compile(t.Schema)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.Name, err)
		}
		e := entry{tool: t, schema: compiled}
		if t.Fit != nil {
			if err := envelope.CheckClass(t.Fit.Class); err != nil {
				return nil, fmt.Errorf("tool %s: %w", t.Name, err)
			}
			if t.Output != nil {
				if e.output, err = schema.Compile(t.Output); err != nil {
					return nil, fmt.Errorf("tool %s: its output schema: %w", t.Name, err)
				}
			}
		}
		s.tools[t.Name] = e
		s.names = append(s.names, t.Name)
	}
	sort.Strings(s.names)
	return s, nil
}

// Names gives the names of the tools, sorted.
func (s *Set) Names() []string { return append([]string{}, s.names...) }

// Tool finds a tool by its exact name.
func (s *Set) Tool(name string) (tool.Tool, bool) {
	e, ok := s.tools[name]
	return e.tool, ok
}

// Tools gives the tools, sorted by name.
func (s *Set) Tools() []tool.Tool {
	all := make([]tool.Tool, 0, len(s.names))
	for _, n := range s.names {
		all = append(all, s.tools[n].tool)
	}
	return all
}

// Prepared is a call whose tool was found and whose arguments were checked.
type Prepared struct {
	Call tool.Call
	// Tool is the tool that was found; its zero value when there is none.
	Tool tool.Tool
	// Digest is the hash of the tool's name, its description, its schema and the exact arguments: an approval
	// is bound to it, so a tool that says of itself something else is asked about again.
	Digest [32]byte
	// Refusal answers the call instead of running it; nil when it may run.
	Refusal *tool.Result
	output  *schema.Schema
}

// conforms checks a structured value against the tool's output schema.
func (p Prepared) conforms(value json.RawMessage) error {
	if p.output == nil {
		return nil
	}
	found, err := p.output.Check(value)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return errors.New(schema.List(found))
	}
	return nil
}

// Prepare finds the tool of a call and checks the arguments. It never fails: what is wrong with a call
// is told to the model in Refusal, so that it can correct itself.
func (s *Set) Prepare(c tool.Call) Prepared {
	e, ok := s.tools[c.Name]
	p := Prepared{Call: c, Tool: e.tool, output: e.output, Digest: digest(c.Name, e.tool, c.Args)}
	if !ok {
		p.refuse("there is no tool named %s. The tools are: %s", named(c.Name), s.offer())
		return p
	}
	args := c.Args
	if tool.Absent(args) {
		args = []byte("{}")
	}
	found, err := e.schema.Check(args)
	if err := checkWish(c.Wish); err != nil {
		p.refuse("%s was not run: %v", named(c.Name), err)
		return p
	}
	switch {
	case err != nil:
		p.refuse("the arguments of %s are %v. They were not used; call it again with one JSON object that fits its schema. What was sent: %s",
			c.Name, err, excerpt(c.Args))
	case len(found) > 0:
		p.refuse("the arguments of %s do not fit its schema:\n%s", c.Name, schema.List(found))
	}
	return p
}

// checkWish refuses a wish that cannot be met, before anything is run for it.
func checkWish(w tool.Wish) error {
	effort, err := envelope.ParseEffort(w.Effort)
	if err != nil {
		return err
	}
	_, err = envelope.ResolveBudget(envelope.Wish{MaxTokens: w.MaxTokens, Effort: effort})
	return err
}

func (p *Prepared) refuse(format string, args ...any) {
	r := tool.Errorf(format, args...)
	p.Refusal = &r
}

// named quotes a name; a long one is cut, with its length.
func named(name string) string {
	if r := []rune(name); len(r) > 100 {
		return fmt.Sprintf("%q… (%d characters)", string(r[:100]), len(r))
	}
	return fmt.Sprintf("%q", name)
}

func (s *Set) offer() string {
	if len(s.names) == 0 {
		return "none"
	}
	const most = 60
	if len(s.names) > most {
		return strings.Join(s.names[:most], ", ") + fmt.Sprintf(" and %d more", len(s.names)-most)
	}
	return strings.Join(s.names, ", ")
}

// excerpt shows broken arguments, so that the model sees where they break: both ends, at most 400
// characters.
func excerpt(args []byte) string {
	r := []rune(strings.ToValidUTF8(string(args), "\uFFFD"))
	if len(r) > 400 {
		return fmt.Sprintf("%s … (%d characters left out) … %s", string(r[:250]), len(r)-400, string(r[len(r)-150:]))
	}
	return string(r)
}

func digest(name string, t tool.Tool, args []byte) [32]byte {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(name), []byte(t.Description), t.Schema, args} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return [32]byte(h.Sum(nil))
}
