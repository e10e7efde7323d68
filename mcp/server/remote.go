package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/envelope/fingerprint"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// Remote is a tool of another server that is served on.
type Remote struct {
	tool.Tool
	// Entry is the tool's entry in tools/list as its server sent it: titles, hints and icons are passed on,
	// while name, description and schemas are those of Tool. Nil lists what stands in Tool alone.
	Entry json.RawMessage
	// Hidden keeps it out of the list: only scripts and other tools can call it.
	Hidden bool
}

// Backing is what stands behind a server that serves others on.
type Backing interface {
	// Prompts gives the entries of prompts/list as they were sent, under the names that Prompt takes.
	Prompts(ctx context.Context) []json.RawMessage
	// Prompt gives the result of prompts/get as it was sent. An error that is a *[jsonrpc.Error] is passed on.
	Prompt(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, error)
	// Instructions are what the servers say about their use, for the model; read when a client connects, or
	// over HTTP when the handler is made.
	Instructions() string
	// Status is a JSON object about the servers behind, for session--prepare.
	Status() json.RawMessage
}

// Pass keeps what another server answered for the call that is running, as it came: a result's bytes, or
// the error of the protocol. Where nothing has to be changed about it the client is sent these bytes.
// revision is what that server speaks. In a call that another one makes it does nothing.
func Pass(ctx context.Context, result json.RawMessage, failure *jsonrpc.Error, revision string) {
	pass(ctx, &passed{raw: result, failure: failure, revision: revision})
}

// Back makes this server serve on for others. It must be called before anybody is served.
func (s *Server) Back(b Backing) { s.backing = b }

// Offer replaces the tools of other servers that are served on. Calls that run are ended by what they began
// with; clients that listen are told that the list has changed. A tool that cannot be listed is left out and
// told. It fails when the tools cannot be used together.
func (s *Server) Offer(all []Remote) (leftOut []string, err error) {
	offers := slices.Clone(s.own)
	for _, r := range all {
		o, err := newRemote(r, s.cfg.MaxChars)
		if err == nil && slices.ContainsFunc(offers, func(o offer) bool { return o.Name == r.Name }) {
			err = fmt.Errorf("tool %s: the name is taken", r.Name)
		}
		if err != nil {
			leftOut = append(leftOut, err.Error())
			continue
		}
		offers = append(offers, o)
	}
	m, err := s.newMenu(offers)
	if err != nil {
		return leftOut, err
	}
	s.put(m)
	return leftOut, nil
}

func newRemote(r Remote, most int) (offer, error) {
	o := offer{Tool: r.Tool, cap: most, remote: true, hidden: r.Hidden, entry: r.Entry}
	if err := r.Check(); err != nil {
		return o, err
	}
	if kind := rooted(r.Schema); kind != "object" {
		return o, fmt.Errorf(`tool %s: the root of its input schema has no "type":"object"`, r.Name)
	}
	return o, listable(o.listed())
}

// listable fails where the protocol's own layer does not take a tool.
func listable(t *mcp.Tool) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("tool %s cannot be listed: %.300s", t.Name, fmt.Sprint(v))
		}
	}()
	mcp.NewServer(&mcp.Implementation{Name: "trial"}, nil).AddTool(t, nil)
	return nil
}

// menu is what is offered at one time, and what settles its calls.
type menu struct {
	offers  []offer // sorted by name
	settler *round.Settler
	print   fingerprint.Print
}

// finder finds the desk of a call.
type finder func(*mcp.CallToolRequest) (*desk, error)

// served is one server of the protocol, and how it finds the desk of a call.
type served struct {
	protocol *mcp.Server
	find     finder
}

func (s *Server) newMenu(offers []offer) (*menu, error) {
	m := &menu{offers: slices.Clone(offers)}
	slices.SortFunc(m.offers, func(a, b offer) int { return strings.Compare(a.Name, b.Name) })
	var run []tool.Tool
	var prints []fingerprint.Tool
	for _, o := range m.offers {
		if o.here == nil {
			run = append(run, o.runs())
		}
		if !o.hidden {
			prints = append(prints, fingerprint.Tool{Name: o.Name, Description: o.Description, Input: o.Schema, Output: o.Output, Rest: o.entry})
		}
	}
	var err error
	m.settler, err = round.New(s.store, round.Config{
		Tools: run, MaxChars: s.cfg.MaxChars, Fit: s.cfg.Fit, Loops: true,
		// A round is one call, so the bound of a round never binds where the cap does not.
		RoundChars: max(round.DefaultRoundChars, s.cfg.MaxChars),
		Parallel:   s.cfg.Parallel, Timeout: s.cfg.Timeout, Grace: s.cfg.Grace, Redact: s.cfg.Redact, Now: s.cfg.Now, Logger: s.cfg.Logger,
	})
	if err != nil {
		return nil, err
	}
	if m.print, err = fingerprint.Of(prints); err != nil {
		return nil, fmt.Errorf("fingerprint the tools: %w", err)
	}
	return m, nil
}

// maxSeen is how many fingerprints are kept to say which tools have changed since.
const maxSeen = 16

// put makes a menu the one that is offered, everywhere.
func (s *Server) put(m *menu) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.menu.Swap(m)
	if s.seen = append(s.seen, m.print); len(s.seen) > maxSeen {
		s.seen = s.seen[1:]
	}
	if before == nil {
		return
	}
	for _, d := range s.desks {
		d.use(m.settler)
	}
	for _, v := range s.served {
		for _, o := range before.offers {
			if now, ok := m.find(o.Name); !o.hidden && (!ok || now.hidden) {
				v.protocol.RemoveTools(o.Name)
			}
		}
		for _, o := range m.offers {
			if was, ok := before.find(o.Name); !ok || was.hidden != o.hidden || !o.same(was) {
				s.list(v, o)
			}
		}
	}
}

// list offers one tool to the clients of one server of the protocol.
func (s *Server) list(v served, o offer) {
	if o.hidden {
		return
	}
	v.protocol.AddTool(o.listed(), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		now, ok := s.menu.Load().find(o.Name)
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("unknown tool %q: the list of tools has changed", o.Name)}
		}
		d, err := v.find(req)
		if err != nil {
			return nil, failed(o.Name + " was not run: " + err.Error())
		}
		return d.answer(ctx, now, req)
	})
}

// forget drops a server of the protocol whose clients have gone.
func (s *Server) forget(p *mcp.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = slices.DeleteFunc(s.served, func(v served) bool { return v.protocol == p })
}

func (m *menu) find(name string) (offer, bool) {
	i, ok := slices.BinarySearchFunc(m.offers, name, func(o offer, name string) int { return strings.Compare(o.Name, name) })
	if !ok {
		return offer{}, false
	}
	return m.offers[i], true
}

// same reports whether two offers are listed alike.
func (o offer) same(b offer) bool {
	return o.Description == b.Description && string(o.Schema) == string(b.Schema) && string(o.Output) == string(b.Output) &&
		string(o.entry) == string(b.entry) && o.ReadOnly == b.ReadOnly && o.Repeatable() == b.Repeatable()
}

// prompt answers what is asked of prompts by what stands behind this server; anything else goes on.
func (s *Server) prompt(ctx context.Context, method string, req mcp.Request, next mcp.MethodHandler) (mcp.Result, error) {
	if s.backing == nil {
		return s.carried(ctx, method, req, next)
	}
	switch r := req.(type) {
	case *mcp.ListPromptsRequest:
		entries, err := canon.Marshal(append([]json.RawMessage{}, s.backing.Prompts(ctx)...))
		if err != nil {
			return nil, failed("list the prompts: " + err.Error())
		}
		raw := append(append([]byte(`{"prompts":`), entries...), '}')
		if RevisionOf(r.Session) >= Stateless {
			raw = append(append([]byte(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","prompts":`), entries...), '}')
		}
		return &rawPrompts{&mcp.ListPromptsResult{}, raw}, nil
	case *mcp.GetPromptRequest:
		args, err := json.Marshal(r.Params.Arguments)
		if err != nil || len(r.Params.Arguments) == 0 {
			args = nil
		}
		raw, err := s.backing.Prompt(ctx, r.Params.Name, args)
		if err != nil {
			return nil, err
		}
		return &rawPrompt{&mcp.GetPromptResult{}, typed(raw, RevisionOf(r.Session))}, nil
	}
	return s.carried(ctx, method, req, next)
}

// rawPrompts and rawPrompt are results that are written as they came.
type (
	rawPrompts struct {
		*mcp.ListPromptsResult
		raw json.RawMessage
	}
	rawPrompt struct {
		*mcp.GetPromptResult
		raw json.RawMessage
	}
)

// MarshalJSON gives the bytes.
func (r *rawPrompts) MarshalJSON() ([]byte, error) { return r.raw, nil }

// MarshalJSON gives the bytes.
func (r *rawPrompt) MarshalJSON() ([]byte, error) { return r.raw, nil }
