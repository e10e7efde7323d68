package lab

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/weir-run/weir/internal/canon"
)

// Recorder writes down what a real client sent and asked, so that a person can fill in a column of the table
// for a host of their own. It is safe for concurrent use.
type Recorder struct {
	tools  []Tool
	asJSON bool

	mu  sync.Mutex
	out io.Writer
	err error
	// client is who came last, came the whole of what it said of itself.
	client, came string
	listed       bool
	called       map[string]int
	// unlisted are calls of clients that had not asked for the list.
	unlisted int
}

// NewRecorder makes a recorder for a lab of these tools. It writes a line for each message to out: words for a
// person, or with asJSON one JSON object, {"method","params"}, with the params as they were sent.
func NewRecorder(out io.Writer, tools []Tool, asJSON bool) *Recorder {
	called := map[string]int{}
	for _, t := range tools {
		called[t.Name] = 0
	}
	return &Recorder{out: out, tools: tools, asJSON: asJSON, called: called}
}

// message is what of a client's message is told in words.
type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// asked is what of a message's params is told in words.
type asked struct {
	claims
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Meta      struct {
		Info         *implementation `json:"io.modelcontextprotocol/clientInfo"`
		Revision     string          `json:"io.modelcontextprotocol/protocolVersion"`
		Capabilities json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
	} `json:"_meta"`
}

// claims are what a client says of itself: in the handshake, or in a revision without one under _meta of every
// message.
type claims struct {
	Info         *implementation `json:"clientInfo"`
	Revision     string          `json:"protocolVersion"`
	Capabilities json.RawMessage `json:"capabilities"`
}

type implementation struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Heard takes a line of the client, and whether it is a message; it is what [ServeStdio] wants.
func (r *Recorder) Heard(line []byte, isMessage bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.heard(line, isMessage)
}

func (r *Recorder) heard(line []byte, isMessage bool) {
	var m message
	if !isMessage || json.Unmarshal(line, &m) != nil {
		raw, err := json.Marshal(string(line))
		if err != nil {
			raw = []byte("null")
		}
		r.write("no message", fmt.Sprintf("%.200q", line), raw)
		return
	}
	if m.Method == "" {
		r.write("answer", fmt.Sprintf("%.1000s", canon.Compact(line)), line)
		return
	}
	var p asked
	if json.Unmarshal(m.Params, &p) != nil {
		p = asked{} // the line has the method alone
	}
	if p.Info == nil {
		p.claims = claims(p.Meta)
	}
	var what []string
	if p.Info != nil {
		r.client = strings.TrimSpace(p.Info.Name + " " + p.Info.Version)
		came := fmt.Sprintf("client %.200q, revision %.40s, capabilities %.1000s", r.client, p.Revision, canon.Compact(p.Capabilities))
		if came != r.came {
			// Another client has listed nothing yet.
			r.came, r.listed, what = came, false, append(what, came)
		}
	}
	switch m.Method {
	case "tools/list":
		r.listed = true
	case "tools/call":
		if n, ours := r.called[p.Name]; ours {
			r.called[p.Name] = n + 1
		}
		if !r.listed {
			r.unlisted++
		}
		what = append(what, fmt.Sprintf("%.200s %.1000s", p.Name, canon.Compact(p.Arguments)))
	}
	r.write(m.Method, strings.Join(what, "; "), m.Params)
}

func (r *Recorder) write(method, what string, params json.RawMessage) {
	line := strings.TrimSpace(method + "  " + strings.ReplaceAll(what, "\n", " "))
	if r.asJSON {
		raw, err := canon.Marshal(struct {
			Method string          `json:"method"`
			Params json.RawMessage `json:"params,omitempty"`
		}{method, params})
		if err != nil {
			raw = fmt.Appendf(nil, `{"method":%q}`, method)
		}
		line = string(raw)
	}
	if _, err := fmt.Fprintln(r.out, line); err != nil && r.err == nil {
		r.err = fmt.Errorf("write the record: %w", err)
	}
}

// Filled is what a recorder knows of a column: who came, and how often each tool was called.
type Filled struct {
	// Client is the name and the version that the client gave; empty when it gave none.
	Client string `json:"client"`
	// Called are the tools, in the order of the lab, with how often each was called.
	Called []Count `json:"called"`
	// Unlisted is how many calls came before the list was asked for.
	Unlisted int `json:"unlisted"`
}

// Count is how often a tool was called.
type Count struct {
	Tool  string `json:"tool"`
	Times int    `json:"times"`
}

// Filled gives what is known so far.
func (r *Recorder) Filled() Filled {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := Filled{Client: r.client, Called: []Count{}, Unlisted: r.unlisted}
	for _, t := range r.tools {
		f.Called = append(f.Called, Count{t.Name, r.called[t.Name]})
	}
	return f
}

// Column is a table to fill in by hand: the tools, whether each was called, and room for what the model said
// that it was shown.
func (r *Recorder) Column() string {
	f := r.Filled()
	name := f.Client
	if name == "" {
		name = "a client that did not say its name"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| tool | called | what %s showed its model |\n|---|--:|---|\n", strings.NewReplacer("|", `\|`, "\n", " ").Replace(name))
	for _, c := range f.Called {
		fmt.Fprintf(&b, "| `%s` | %d | |\n", c.Tool, c.Times)
	}
	if f.Unlisted > 0 {
		fmt.Fprintf(&b, "\nCalls before the tools were listed: %d. A client that checks only what it has listed checks none of those.\n", f.Unlisted)
	}
	return b.String()
}

// Err is the first failure to write; nil when there was none.
func (r *Recorder) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}
