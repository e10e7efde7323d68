package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/internal/schema"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

// entry is what is read of an entry in tools/list.
type entry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"inputSchema"`
	Output      json.RawMessage `json:"outputSchema"`
	raw         json.RawMessage
}

func readEntry(raw json.RawMessage) (entry, bool) {
	e := entry{raw: raw}
	if json.Unmarshal(raw, &e) != nil || e.Name == "" || canon.Kind(e.Input) != "object" {
		return e, false
	}
	if canon.Kind(e.Output) == "null" {
		e.Output = nil
	}
	return e, true
}

// listing is what is to be offered, as it is put together.
type listing struct {
	g        *Gateway
	remotes  []server.Remote
	tools    map[string]target
	problems []string
	pins     pins
	pinned   bool // something is pinned that was not
	marks    strings.Builder
}

// update puts together what is offered of what the servers list now, and offers it.
func (g *Gateway) update() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	kept := g.pins
	if g.cfg.Pins != "" {
		var err error
		if kept, err = readPins(g.cfg.Pins); err != nil {
			return err
		}
	}
	l := &listing{g: g, tools: map[string]target{}, pins: kept}
	listed := map[string][]tool.Tool{}
	for _, t := range g.set.Tools() {
		from, _, _ := g.set.Origin(t.Name)
		listed[from] = append(listed[from], t)
	}
	for _, s := range g.set.Servers() {
		if err := l.add(s, listed[s.Name]); err != nil {
			return err
		}
	}
	l.unused()
	g.tools, g.problems, g.pins = l.tools, l.problems, l.pins
	if l.pinned && g.cfg.Pins != "" {
		if err := l.pins.write(g.cfg.Pins); err != nil {
			return err
		}
	}
	if mark := l.marks.String(); mark != g.offered || g.offered == "" {
		left, err := g.server.Offer(l.remotes)
		if err != nil {
			return fmt.Errorf("offer the servers' tools: %w", err)
		}
		g.offered, g.problems = mark, append(g.problems, left...)
	}
	return nil
}

// add adds the tools of one server.
func (l *listing) add(s client.Status, tools []tool.Tool) error {
	spec := l.g.cfg.Servers.Servers[s.Name]
	key := pinKey(s.Name, spec)
	pin, known := l.pins.Servers[key]
	if len(tools) == 0 && s.Err != nil {
		for _, name := range pin.names() { // it is down: what it had is called, and says why
			if e, ok := readEntry(pin.Tools[name].Entry); ok {
				l.put(s.Name, e, tool.Traits{}, "")
			}
		}
		return nil
	}
	raws, err := l.g.set.ToolsRaw(s.Name)
	if err != nil {
		return err
	}
	entries := map[string]entry{}
	for _, raw := range raws {
		if e, ok := readEntry(raw); ok {
			if _, twice := entries[e.Name]; !twice {
				entries[e.Name] = e
			}
		}
	}
	if !known {
		pin = pinned{Tools: map[string]pinnedTool{}, Said: s.Instructions, At: time.Now().UTC().Format(time.RFC3339)}
	}
	for _, t := range tools {
		_, name, _ := l.g.set.Origin(t.Name)
		e, ok := entries[name]
		if !ok {
			continue
		}
		before, approved := pin.Tools[name]
		switch {
		case !known:
			pin.Tools[name] = pinnedTool{Hash: contract(e.raw), Entry: e.raw}
			l.put(s.Name, e, t.Traits, "")
		case !approved:
			// What it says of itself is shown to nobody before somebody has looked at it.
			unknown := entry{Name: name, Description: "Withheld: this tool came after its server was approved.", Input: json.RawMessage(`{"type":"object"}`)}
			l.put(s.Name, unknown, tool.Traits{}, withheld(s.Name, "it is new since its server was approved"))
		case before.Hash == contract(e.raw):
			l.put(s.Name, e, t.Traits, "")
		default:
			old, ok := readEntry(before.Entry)
			if !ok {
				old = entry{Name: name, Input: json.RawMessage(`{"type":"object"}`)}
			}
			l.put(s.Name, old, tool.Traits{}, withheld(s.Name, "it is not what was approved any more: "+strings.Join(changes(before.Entry, e.raw), ", ")+" changed"))
		}
	}
	if !known && len(pin.Tools) > 0 {
		l.pins.Servers[key], l.pinned = pin, true
	}
	return nil
}

func withheld(server, why string) string {
	return fmt.Sprintf("it is withheld, since %s. Look at what MCP server %s lists now; \"weir mcp gateway --accept\" with the same "+
		"servers accepts it. Its other tools serve on", why, server)
}

// put adds one tool, and the rule that shapes it.
func (l *listing) put(from string, e entry, traits tool.Traits, why string) {
	name := l.g.named(from, e.Name)
	if _, taken := l.tools[name]; taken {
		l.problems = append(l.problems, fmt.Sprintf("tool %.80q of MCP server %s is left out: the name %s is taken", e.Name, from, name))
		return
	}
	l.tools[name] = target{server: from, tool: e.Name, withheld: why}
	if why != "" {
		l.problems = append(l.problems, name+" is withheld: "+why)
	}
	r := remote{gateway: l.g, name: name}
	if len(e.Output) > 0 {
		r.checks, _ = schema.Compile(e.Output) // one that cannot be used checks nothing; the client has told of it
	}
	traits.Timeout = l.g.cfg.Client.Absolute + grace
	traits.Fit = &tool.Fit{Class: class(l.g.cfg.Server.MaxChars), Primary: required(e.Output)}
	t := tool.Tool{Name: name, Description: e.Description, Schema: compact(e.Input), Output: opened(compact(e.Output)), Traits: traits, Run: r.run}
	made := []server.Remote{{Tool: t, Entry: e.raw}}
	if s, ok := l.g.ruleOf(from, e.Name, name); ok && why == "" {
		made = s.over(t, e.raw)
		l.tools[made[1].Name] = l.tools[name]
	}
	l.remotes = append(l.remotes, made...)
	for _, m := range made {
		fmt.Fprintf(&l.marks, "%s\x00%s\x00%s\x00%s\x00%s\x00%v\n", m.Name, m.Description, m.Schema, m.Output, m.Entry, m.Repeatable())
	}
}

// grace is how much longer than the client's own limit the runner's is: the client's answer says more.
const grace = 5 * time.Second

// class is the least whose texts may be as long as the cap.
func class(chars int) string {
	switch {
	case chars > 100_000:
		return "workflow"
	case chars > 50_000:
		return "analysis"
	}
	return ""
}

// required are the fields that an output schema demands: a result that is shortened keeps them, so that it
// conforms.
func required(output json.RawMessage) []string {
	var root struct {
		Required []string `json:"required"`
	}
	if json.Unmarshal(output, &root) != nil {
		return nil
	}
	return root.Required
}

// opened is an output schema that lets the gateway say what it left out, under _weir, where it would allow
// nothing beside its own fields: a host may show its model the structured content alone. Every other byte stays.
func opened(output json.RawMessage) json.RawMessage {
	var root struct {
		Type       string
		Properties map[string]json.RawMessage
		More       json.RawMessage `json:"additionalProperties"`
	}
	if json.Unmarshal(output, &root) != nil || root.Type != "object" || root.Properties == nil || string(root.More) != "false" || root.Properties[signals] != nil {
		return output
	}
	at := propertiesOf(output)
	if at < 0 {
		return output
	}
	added := `"` + signals + `":{"type":"object"}`
	if len(root.Properties) > 0 {
		added += ","
	}
	return slices.Insert(slices.Clone(output), at, []byte(added)...)
}

// signals is where what is left out of structured content is told.
const signals = "_weir"

// propertiesOf finds where the properties of a schema begin, behind their bracket; -1 where they do not.
func propertiesOf(schema json.RawMessage) int {
	l := canon.NewLexer(schema)
	here, at := false, -1
	for {
		t, err := l.Next()
		switch {
		case err != nil:
			return at
		case t.Key && t.Depth == 1:
			key, _ := canon.Unquote(t.Raw)
			here = key == "properties"
		case here && t.Kind == '{' && t.Depth == 1:
			here, at = false, t.Start+1
		}
	}
}

func compact(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	return slices.Clone(canon.Compact(raw))
}

// own are the first halves of the names of Weir's own tools, which no server's tool may have.
var own = []string{"workspace", "results", "jobs", "session", "agent", "shell", "weir"}

// named is the name under which a server's tool or prompt is listed.
func (g *Gateway) named(from, name string) string {
	before, _, joined := strings.Cut(name, "--")
	plain := tool.Tool{Name: name, Run: (remote{}).run}
	if g.cfg.Plain && name != "code_execution" && !strings.HasSuffix(name, whole) && (!joined || !slices.Contains(own, before)) && plain.Check() == nil {
		return name
	}
	return client.Name(from, name)
}

// ruleOf finds the rule of a tool, by the name under which it is listed or that with its server before it.
func (g *Gateway) ruleOf(from, name, listed string) (shaper, bool) {
	if s, ok := g.rules[listed]; ok {
		return s, true
	}
	s, ok := g.rules[client.Name(from, name)]
	return s, ok
}

// unused names the rules that no tool has. A server that is down may have it later.
func (l *listing) unused() {
	names := make([]string, 0, len(l.g.rules))
	for name := range l.g.rules {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		used := slices.ContainsFunc(l.remotes, func(r server.Remote) bool {
			to := l.tools[r.Name]
			return r.Name == name || client.Name(to.server, to.tool) == name
		})
		if !used {
			l.problems = append(l.problems, fmt.Sprintf("the rules name a tool %.80q that no server lists%s", name, near(name, l.remotes)))
		}
	}
}

// near names the tools that a wrong name may have meant: those whose own names begin like it, or end it.
func near(name string, remotes []server.Remote) string {
	last := name[strings.LastIndex(name, "--")+1:]
	var found []string
	for _, r := range remotes {
		of := r.Name[strings.LastIndex(r.Name, "--")+1:]
		same := 0
		for same < len(of) && same < len(last) && of[same] == last[same] {
			same++
		}
		if !r.Hidden && len(found) < 3 && (3*same >= 2*len(of) || strings.HasSuffix(name, strings.Trim(of, "-"))) {
			found = append(found, r.Name)
		}
	}
	if found == nil {
		return ""
	}
	return ": did you mean " + strings.Join(found, " or ") + "?"
}
