package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/gateway"
	"github.com/weir-run/weir/mcp/lab"
)

// graph is a document like many: what is asked for, and much around it.
func graph(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf(`{"name":"entity %d","entityType":"thing","observations":["seen <once> & again"],"_etag":"W/%d","deleted_at":null}`, i, i))
	}
	return `{"entities":[` + strings.Join(all, ",") + `],"relations":[],"big":9007199254740993}`
}

func both(doc string) string {
	return `{"content":[{"type":"text","text":` + quoted(doc) + `}],"structuredContent":` + doc + `}`
}

const rules = `
tools:
  s--selected:
    select:
      - count: .entities | length
      - first: .entities[0].name
      - "big: .big"
      - none: .nothing
  s--drawn:
    select: {count: .entities | length, names: '[.entities[].name]'}
    template: "{{.count}} entities, first {{index .names 0}}"
  s--typed:
    select: [count: .entities | length]
    schema: {type: object, properties: {count: {type: integer}}, required: [count]}
  s--drifts:
    select: [count: '.entities[0].name']
    schema: {type: object, properties: {count: {type: integer}}, required: [count]}
  s--pruned:
    prune: true
  s--fails:
    select: [first: .entities.name]
  s--failed:
    select: [first: .first]
`

// A rule selects, prunes and renders, in the order that it states; the whole stays readable.
func TestRules(t *testing.T) {
	t.Parallel()
	doc := graph(300)
	var tools []lab.Tool
	for _, name := range []string{"selected", "drawn", "typed", "drifts", "pruned", "fails"} {
		tools = append(tools, shaped(name, `{"type":"object","properties":{"entities":{"type":"array"}}}`, both(doc)))
	}
	tools = append(tools, gives("failed", `{"content":[{"type":"text","text":"it broke"}],"isError":true}`))
	parsed, err := gateway.ParseRules([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	store := open(t)
	g := front(t, store, gateway.Config{Rules: parsed}, map[string]client.Server{"s": site(t, protocol(tools), "2025-11-25")})
	if p := g.Problems(); len(p) > 0 {
		t.Errorf("problems: %v", p)
	}
	h := reach(t, web(t, g), token, "2025-11-25")
	if got := strings.Join(h.list(), " "); strings.Contains(got, "whole") {
		t.Errorf("what stands behind a rule is listed: %s", got)
	}
	for name, want := range map[string]string{
		"selected": `{"count":300,"first":"entity 0","big":9007199254740993}`,
		"drawn":    "300 entities, first entity 0",
		"typed":    `{"count":300}`,
	} {
		a := h.call("s--"+name, `{}`)
		if !strings.Contains(a.text(), want) || a.IsError || len(a.text()) > len(want)+300 || (a.StructuredContent != nil) != (name == "typed") {
			t.Errorf("%s: %.400s", name, a.raw)
		}
		if name == "typed" && (string(a.StructuredContent) != want || a.Content[len(a.Content)-1].Text != want) {
			t.Errorf("typed: the text is not the structured content: %s", a.raw)
		}
		_, after, _ := strings.Cut(a.text(), "the whole is ")
		path, _, _ := strings.Cut(after, ",")
		grep := h.call("workspace--grep", fmt.Sprintf(`{"pattern":"entity 299","path":%q}`, path))
		if !strings.Contains(grep.text(), "entity 299") {
			t.Errorf("%s: the whole cannot be searched at %q: %.200s", name, path, grep.text())
		}
	}
	if a := h.call("s--pruned", `{}`); strings.Contains(a.text(), "_etag") || strings.Contains(a.text(), "deleted_at") || !strings.Contains(a.text(), "9007199254740993") || a.StructuredContent != nil {
		t.Errorf("pruned: %.300s", a.raw)
	}
	for name, word := range map[string]string{"fails": "first", "drifts": "expected integer, received string"} {
		a := h.call("s--"+name, `{}`)
		if !a.IsError || !strings.Contains(a.text(), "the rule for s--"+name+" failed") || !strings.Contains(a.text(), word) || !strings.Contains(a.text(), "tool-results/r") || a.StructuredContent != nil {
			t.Errorf("%s: %s", name, a.raw)
		}
	}
	if got := h.raw("s--selected.whole", `{}`); !strings.Contains(got, "unknown tool") {
		t.Errorf("what is not listed was called: %.200s", got)
	}
	if a := h.call("s--failed", `{}`); !a.IsError || a.text() != "it broke" {
		t.Errorf("an error of the tool's own: %s", a.raw)
	}
	sound(t, store)
}

// The listed schema is that of what is sent.
func TestARuleChangesTheSchema(t *testing.T) {
	t.Parallel()
	own := `{"type":"object","properties":{"entities":{"type":"array"}}}`
	parsed, err := gateway.ParseRules([]byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	behind := site(t, protocol([]lab.Tool{shaped("selected", own, both(graph(1))), shaped("typed", own, both(graph(1))), shaped("plain", own, both(graph(1)))}), "2025-11-25")
	h := reach(t, web(t, front(t, open(t), gateway.Config{Rules: parsed}, map[string]client.Server{"s": behind})), token, "2025-11-25")
	if a := h.call("s--selected", `{}`); !strings.Contains(a.text(), `{"count":1,`) || strings.Contains(a.raw, "_etag") {
		t.Errorf("what is shaped comes as the server sent it: %s", a.raw)
	}
	raws, err := h.set.ToolsRaw("x")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, raw := range raws {
		var e struct {
			Name   string
			Output json.RawMessage `json:"outputSchema"`
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(e.Name, "s--") {
			got[e.Name] = string(canon.Compact(e.Output))
		}
	}
	want := map[string]string{"s--selected": "", "s--typed": `{"properties":{"count":{"type":"integer"}},"required":["count"],"type":"object"}`, "s--plain": own}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// What is wrong with a rule is one line that says where and what.
func TestBadRules(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ yaml, want string }{
		"no yaml":    {"tools: [", "yaml"},
		"a list":     {"tools: [x]", "cannot unmarshal"},
		"unknown":    {"tools:\n  a--b:\n    selct: [a: .a]", `line 3: "selct" is no key of a rule: it takes select, prune, render`},
		"expression": {"tools:\n  a--b:\n    select: [n: '.a | nope(']", "select: "},
		"form":       {"tools:\n  a--b:\n    render: yaml", "yaml"},
		"both":       {"tools:\n  a--b:\n    prune: true\n    select: [a: .a]", "leave out one"},
		"nothing":    {"tools:\n  a--b: {}", "says nothing"},
		"template":   {"tools:\n  a--b:\n    template: '{{.a'", "template"},
		"wrong form": {"tools:\n  a--b:\n    template: x\n    render: json", "renders markdown"},
		"schema":     {"tools:\n  a--b:\n    select: [a: .a]\n    schema: {type: nope}", "schema"},
		"prune":      {"tools:\n  a--b:\n    prune: false", "prune: it is true"},
		"budget":     {"tools:\n  a--b:\n    budget: -1", "budget"},
		"huge":       {"#" + strings.Repeat("x", 2<<20), "longer than"},
	} {
		_, err := gateway.ParseRules([]byte(c.yaml))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	shared := "few: &few [count: .n]\ntools:\n  a--b: &rule {select: *few}\n  a--c: *rule\n"
	if r, err := gateway.ParseRules([]byte(shared)); err != nil || len(r) != 2 || len(r["a--c"].Select) != 1 {
		t.Errorf("what is written once and used twice: %v, %v", r, err)
	}
	if r, err := gateway.ParseRules([]byte("model: x\n")); err != nil || len(r) != 0 {
		t.Errorf("a file without rules: %v, %v", r, err)
	}
}

// A rule for a tool that is not there is told, with what was perhaps meant.
func TestARuleForNoTool(t *testing.T) {
	t.Parallel()
	parsed, err := gateway.ParseRules([]byte("tools:\n  memory--read_graf: {prune: true}\n  m--read_graph: {prune: true}\n  memory_read_graph: {prune: true}\n"))
	if err != nil {
		t.Fatal(err)
	}
	behind := site(t, protocol([]lab.Tool{gives("read_graph", both(graph(1)))}), "2025-11-25")
	g := front(t, open(t), gateway.Config{Rules: parsed}, map[string]client.Server{"m": behind})
	want := []string{`the rules name a tool "memory--read_graf" that no server lists: did you mean m--read_graph?`, `the rules name a tool "memory_read_graph" that no server lists: did you mean m--read_graph?`}
	if d := cmp.Diff(want, g.Problems()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func FuzzRules(f *testing.F) {
	f.Add([]byte(rules))
	f.Add([]byte("tools: {a--b: {select: [a: .a, 'b: .b'], prune: null}}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		parsed, err := gateway.ParseRules(raw)
		if err == nil && parsed == nil || err != nil && strings.ContainsAny(err.Error(), "\n") {
			t.Errorf("%v, %v", parsed, err)
		}
	})
}
