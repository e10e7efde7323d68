package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/weir-run/weir/internal/schema"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

// remote calls one tool of a server.
type remote struct {
	gateway *Gateway
	name    string // under which it is listed
	checks  *schema.Schema
}

// run runs one call: what the server answers is kept as it came, and stored as the view shows it.
func (r remote) run(ctx context.Context, c tool.Call) (tool.Result, error) {
	g := r.gateway
	g.running.Add(1)
	defer g.running.Add(-1)
	to, err := g.reach(ctx, r.name)
	if err != nil {
		return tool.Result{}, err
	}
	if to.withheld != "" {
		return tool.Error(r.name + " was not run: " + to.withheld), nil
	}
	heard := func(params json.RawMessage) { server.Progress(ctx, params) }
	raw, rpc, err := g.set.CallRaw(client.WithProgress(ctx, heard), to.server, to.tool, c.Args)
	var lost *client.Lost
	switch {
	case err != nil && ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	case errors.As(err, &lost) && !lost.Sent:
		return tool.Errorf("%s was not started: MCP server %s cannot be reached: %v. It is tried again with the next call", r.name, to.server, lost.Why), nil
	case err != nil:
		return tool.Errorf("%s: %v. It may have taken effect, and it was not repeated: find out before you call it again", r.name, err), nil
	case rpc != nil:
		server.Pass(ctx, nil, &jsonrpc.Error{Code: rpc.Code, Message: rpc.Message, Data: rpc.Data}, "")
		return tool.Errorf("%s failed: %v", r.name, rpc), nil
	}
	return r.received(ctx, raw, g.status(to.server).Protocol), nil
}

// received reads a result.
func (r remote) received(ctx context.Context, raw json.RawMessage, revision string) tool.Result {
	got := client.Receive(raw)
	chars := 0
	for _, b := range got.Blocks {
		chars += utf8.RuneCountInString(b.Text)
	}
	if got.Refused == "" && chars <= r.gateway.cfg.Server.MaxChars {
		server.Pass(ctx, raw, nil, revision)
	}
	view := r.gateway.cfg.Client.View
	if view == nil {
		v := client.Default()
		view = &v
	}
	return view.Show(got, r.verdict(got), nil).Result
}

// verdict checks a result against the tool's output schema.
func (r remote) verdict(got client.Received) client.Verdict {
	if r.checks == nil || got.IsError || got.Refused != "" {
		return client.Verdict{}
	}
	if got.Structured == nil {
		return client.Verdict{Code: client.CodeMissing}
	}
	found, err := r.checks.Check(got.Structured)
	switch {
	case err != nil:
		return client.Verdict{Unchecked: err.Error()}
	case len(found) == 0:
		return client.Verdict{}
	}
	v := client.Verdict{Code: client.CodeViolates}
	for _, f := range found[:min(len(found), schema.MaxViolations)] {
		v.Violations = append(v.Violations, f.String())
	}
	if n := len(found) - schema.MaxViolations; n > 0 {
		v.Violations = append(v.Violations, fmt.Sprintf("and %d more", n))
	}
	return v
}

// reach finds where a call goes, after what its server has said of its tools until now. A server that
// cannot be used is tried again, and one whose tool is withheld may have been accepted meanwhile.
func (g *Gateway) reach(ctx context.Context, name string) (target, error) {
	to := g.target(name)
	changed := g.set.RefreshServer(ctx, to.server)
	if s := g.status(to.server); s.Err != nil {
		changed = g.set.Retry(ctx, to.server) || changed
	}
	if changed || to.withheld != "" {
		if err := g.update(); err != nil {
			return to, fmt.Errorf("take over the tools of MCP server %s: %w", to.server, err)
		}
		to = g.target(name)
	}
	return to, nil
}

func (g *Gateway) target(name string) target {
	g.mu.Lock()
	defer g.mu.Unlock()
	to, ok := g.tools[name]
	if !ok {
		to.withheld = "its server does not list it any more"
	}
	return to
}

// withheldOf names the tools of a server that are withheld, sorted.
func (g *Gateway) withheldOf(from string) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []string
	for name, to := range g.tools {
		if to.server == from && to.withheld != "" {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}
