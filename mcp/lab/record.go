package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Recorder writes down what a real client sent and asked, so that a person can fill in a column of the table
// for a host of their own. It is safe for concurrent use.
type Recorder struct {
	tools []Tool
	asRaw bool

	mu     sync.Mutex
	out    io.Writer
	err    error
	client string
	listed bool
	called map[string]int
	// unlisted are calls that came before the list was asked for.
	unlisted int
}

// NewRecorder makes a recorder for a lab of these tools. It writes a line for each message to out: words for a
// person, or with asJSON one JSON object a line.
func NewRecorder(out io.Writer, tools []Tool, asJSON bool) *Recorder {
	return &Recorder{out: out, tools: tools, asRaw: asJSON, called: map[string]int{}}
}

// Heard takes one message of the client; it is what [Protocol] wants.
func (r *Recorder) Heard(method string, params any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what := ""
	switch p := params.(type) {
	case *mcp.InitializeParams:
		if p.ClientInfo != nil {
			r.client = strings.TrimSpace(p.ClientInfo.Name + " " + p.ClientInfo.Version)
		}
		what = fmt.Sprintf("client %q, revision %s, capabilities %s", r.client, p.ProtocolVersion, capabilities(p.Capabilities))
	case *mcp.ListToolsParams:
		r.listed = true
	case *mcp.CallToolParamsRaw:
		r.called[p.Name]++
		if !r.listed {
			r.unlisted++
		}
		what = p.Name + " " + string(p.Arguments)
	}
	r.write(method, what, params)
}

func (r *Recorder) write(method, what string, params any) {
	line := strings.TrimSpace(method + "  " + what)
	if r.asRaw {
		raw, err := json.Marshal(map[string]any{"method": method, "params": params})
		if err != nil {
			raw = fmt.Appendf(nil, `{"method":%q}`, method)
		}
		line = string(raw)
	}
	if _, err := fmt.Fprintln(r.out, line); err != nil && r.err == nil {
		r.err = fmt.Errorf("write the record: %w", err)
	}
}

func capabilities(c *mcp.ClientCapabilities) string {
	raw, err := json.Marshal(c)
	if err != nil {
		return "unreadable"
	}
	return string(raw)
}

// Column is a table to fill in by hand: the tools, whether each was called, and room for what the model said
// that it was shown.
func (r *Recorder) Column() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := r.client
	if name == "" {
		name = "a client that did not say its name"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| tool | called | what %s showed its model |\n|---|--:|---|\n", strings.NewReplacer("|", `\|`, "\n", " ").Replace(name))
	for _, t := range r.tools {
		fmt.Fprintf(&b, "| `%s` | %d | |\n", t.Name, r.called[t.Name])
	}
	if r.unlisted > 0 {
		fmt.Fprintf(&b, "\n%d calls came before the tools were listed: a client that checks only listed tools checks none of those.\n", r.unlisted)
	}
	return b.String()
}

// Err is the first failure to write; nil when there was none.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
