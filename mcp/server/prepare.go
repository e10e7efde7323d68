package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/envelope"
	"github.com/weir-run/weir/envelope/fingerprint"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/tool"
)

// asked is what a client asks: the tool's own arguments, and what stands among them for this server.
type asked struct {
	args json.RawMessage
	wish tool.Wish
	// known is the fingerprint of the tools that the client has seen.
	known string
}

// The arguments that are taken out before the tool's schema is looked at. A tool that has one of its own by
// that name keeps it.
const (
	argLean   = "_lean"
	argEffort = "_effort"
	argTokens = "max_tokens"
	argKnown  = "known_tool_schema_fingerprint"
)

// metaOf is what a client sent as _meta of its call.
func metaOf(req *mcp.CallToolRequest) json.RawMessage {
	if v, ok := req.Params.Meta[argKnown].(string); ok {
		return append(append([]byte(`{"`+argKnown+`":`), canon.AppendString(nil, v)...), '}')
	}
	return nil
}

// ask reads the arguments of a call. Where nothing is taken out they stay as they came.
func (o offer) ask(args, meta json.RawMessage) asked {
	a := asked{args: args, known: fingerprint.Known(meta)}
	members, ok := membersOf(args)
	if !ok {
		return a
	}
	var own struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(o.Schema, &own) // a schema without properties declares none
	rest := slices.DeleteFunc(slices.Clone(members), func(m member) bool {
		if _, declared := own.Properties[m.key]; declared {
			return false
		}
		return a.take(o, m)
	})
	if len(rest) == len(members) {
		return a
	}
	out := []byte{'{'}
	for i, m := range rest {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, args[m.start:m.end]...)
	}
	a.args = append(out, '}')
	return a
}

// take reads one member that may be for this server, and reports whether it is.
func (a *asked) take(o offer, m member) bool {
	value := json.RawMessage(m.value)
	switch {
	case m.key == argKnown:
		a.known = fingerprint.Known(json.RawMessage(`{"` + argKnown + `":` + string(m.value) + `}`))
	case o.Fit == nil:
		return false
	case m.key == argLean:
		a.wish.Lean = value
	case m.key == argEffort:
		a.wish.Effort = strings.Trim(string(m.value), `"`)
	case m.key == argTokens:
		a.wish.MaxTokens = value
	default:
		return false
	}
	return true
}

// wish completes what a client wishes: an effort is one of a budget, so where the session has none below the
// cap it asks for the default one.
func (s *Server) wish(w tool.Wish) tool.Wish {
	if w.Effort != "" && w.MaxTokens == nil && s.cfg.Fit.Budget >= s.cfg.MaxChars {
		w.MaxTokens = json.RawMessage(strconv.Itoa(envelope.DefaultBudget))
	}
	return w
}

// stale warns a client that has seen other tools than there are.
func (s *Server) stale(known string) added {
	warning := s.warning(known)
	if warning == nil {
		return added{}
	}
	return added{
		blocks:  []string{"[" + string(warning) + "]"},
		signals: append(append([]byte(`{"warnings":[`), warning...), "]}"...),
	}
}

func (s *Server) warning(known string) json.RawMessage {
	if known == "" {
		return nil
	}
	m := s.menu.Load()
	var changed []string
	s.mu.Lock()
	for _, before := range s.seen {
		if before.Surface == known {
			changed = m.print.Changed(before)
		}
	}
	s.mu.Unlock()
	return m.print.StaleWarning(known, changed)
}

// prepared is what session--prepare gives.
type prepared struct {
	Fingerprint string            `json:"tool_schema_fingerprint"`
	Contract    string            `json:"tool_contract_fingerprint"`
	Tools       []preparedTool    `json:"tools"`
	Effort      string            `json:"effort"`
	Budget      int               `json:"effective_budget,omitempty"`
	Response    string            `json:"response_contract"`
	MaxChars    int               `json:"max_chars"`
	SyncWait    int64             `json:"sync_wait_ms"`
	Behind      json.RawMessage   `json:"behind,omitempty"`
	Warnings    []json.RawMessage `json:"warnings,omitempty"`
}

type preparedTool struct {
	Name     string `json:"name"`
	Surface  string `json:"hash"`
	Contract string `json:"contract_hash"`
}

func (d *desk) prepare(_ context.Context, req *mcp.CallToolRequest, in struct {
	Known string `json:"known_tool_schema_fingerprint"`
}, _ added,
) (*mcp.CallToolResult, error) {
	s := d.server
	m := s.menu.Load()
	out := prepared{
		Fingerprint: m.print.Surface, Contract: m.print.Contract, Effort: s.cfg.Fit.Effort.String(),
		Response: contractWord(s.cfg.Fit.Contract), MaxChars: s.cfg.MaxChars, SyncWait: s.cfg.SyncWait.Milliseconds(),
	}
	for _, t := range m.print.Tools {
		out.Tools = append(out.Tools, preparedTool{t.Name, t.Surface, t.Contract})
	}
	budget, err := envelope.ResolveBudget(envelope.Wish{Session: s.cfg.Fit.Budget, Effort: s.cfg.Fit.Effort})
	if err != nil {
		return nil, fmt.Errorf("resolve the budget: %w", err)
	}
	out.Budget = budget.Tokens
	if s.backing != nil {
		out.Behind = s.backing.Status()
	}
	if in.Known == "" {
		in.Known = fingerprint.Known(metaOf(req))
	}
	if w := s.warning(in.Known); w != nil {
		out.Warnings = append(out.Warnings, w)
	}
	return objectResult(out), nil
}

func contractWord(c envelope.Contract) string {
	return map[envelope.Contract]string{envelope.Full: "full", envelope.Lean: "lean", envelope.Bare: "bare"}[c]
}
