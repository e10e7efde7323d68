package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/internal/schema"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// pending is one call on its way, with what its answer needs.
type pending struct {
	offer  offer
	job    *round.Job
	ticket *ticket
	lean   json.RawMessage
	gone   func() bool
	cancel context.CancelFunc
}

// wait waits for the result, so long at most, and reports whether it is there. While it waits the client's
// cancel ends the call, and the result is waited for.
func (p *pending) wait(ctx context.Context, most time.Duration) bool {
	stop := context.AfterFunc(ctx, func() {
		if !p.gone() {
			p.cancel()
		}
	})
	defer stop()
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-p.job.Done():
		return true
	case <-limit.C:
	}
	if !stop() && !p.gone() { // it was cancelled just before: its result comes within the grace time
		<-p.job.Done()
		return true
	}
	select {
	case <-p.job.Done():
		return true
	default:
		return false
	}
}

// keep remembers a job whose handle is given out, so that its result can be sent as it came.
func (d *desk) keep(p *pending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept = append(d.kept, p); len(d.kept) > round.MaxJobs {
		d.kept = d.kept[1:]
	}
}

// find finds a job of this client.
func (d *desk) find(ctx context.Context, id string) (*pending, error) {
	line, err := d.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer d.running.Done()
	d.mu.Lock()
	for _, p := range d.kept {
		if p.job.ID.String() == id {
			d.mu.Unlock()
			return p, nil
		}
	}
	d.mu.Unlock()
	job, err := line.Job(ctx, id)
	if err != nil {
		return nil, err
	}
	o, ok := d.server.menu.Load().find(job.Tool)
	if !ok {
		o = offer{Tool: tool.Tool{Name: job.Tool}, cap: d.server.cfg.MaxChars}
	}
	return &pending{offer: o, job: job, ticket: &ticket{}, gone: d.gone, cancel: job.Cancel}, nil
}

// handleOf is what a client is told of a job that has no result yet.
type handleOf struct {
	ID       string `json:"job_id"`
	Tool     string `json:"tool"`
	Status   string `json:"status"`
	Started  string `json:"started_at,omitempty"`
	Progress string `json:"progress,omitempty"`
	Routing  string `json:"routing_hint"`
	Hint     string `json:"recovery_hint,omitempty"`
}

// handle is the answer in the place of a result that is not there yet. Where the tool declares an output
// schema it is marked as an error, since clients refuse a success without structured content then.
func handle(o offer, job *round.Job) *mcp.CallToolResult {
	h := handleOf{
		ID: job.ID.String(), Tool: job.Tool, Status: "running", Progress: job.Progress(), Routing: "async",
		Hint: fmt.Sprintf(`the call goes on: get its result with %s {"job_id":%q,"wait_ms":20000}, or end it with %s; do not repeat it`, getName, job.ID, cancelName),
	}
	if !job.Started.IsZero() {
		h.Started = job.Started.UTC().Format(time.RFC3339)
	}
	if job.Cancelled() {
		h.Status, h.Hint = "cancelling", fmt.Sprintf("it was told to stop: ask %s once more", getName)
	}
	res := objectResult(h)
	if res.IsError = len(o.Output) > 0; res.IsError {
		res.StructuredContent = nil
	}
	res.Meta = mcp.Meta{metaResult: h.ID}
	return res
}

// objectResult is a value as text and as structured content.
func objectResult(v any) *mcp.CallToolResult {
	raw, err := canon.Marshal(v)
	if err != nil {
		return mistaken("the answer could not be written: %v", err)
	}
	return &mcp.CallToolResult{
		Meta: mcp.Meta{}, Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}, StructuredContent: json.RawMessage(raw),
	}
}

// mistaken is an error that the model can mend.
func mistaken(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Meta: mcp.Meta{}, IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}},
	}
}

// The tools that are answered without a round of their own.
const (
	startName   = "jobs--start"
	getName     = "jobs--get"
	cancelName  = "jobs--cancel"
	prepareName = "session--prepare"
)

// answerer makes a tool that is answered here. In is a struct with the arguments.
func answerer[In any](s *Server, name, description, arguments string, readOnly bool, answer func(*desk, context.Context, *mcp.CallToolRequest, In, added) (*mcp.CallToolResult, error)) (offer, error) {
	never := func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Errorf("%s is answered by the server alone", name), nil
	}
	o, err := newOffer(tool.Tool{
		Name: name, Description: description, Schema: json.RawMessage(arguments), Run: never,
		Traits: tool.Traits{ReadOnly: readOnly, Idempotent: name != startName, Pollable: true},
	}, s.cfg.MaxChars)
	if err != nil {
		return o, err
	}
	checks, err := schema.Compile(o.Schema)
	if err != nil {
		return o, fmt.Errorf("input schema of %s: %w", name, err)
	}
	o.here = func(ctx context.Context, d *desk, req *mcp.CallToolRequest, args []byte, add added) (*mcp.CallToolResult, error) {
		if tool.Absent(args) {
			args = []byte("{}")
		}
		switch found, err := checks.Check(args); {
		case err != nil:
			return mistaken("the arguments of %s are %v", name, err), nil
		case len(found) > 0:
			return mistaken("the arguments of %s do not fit its schema:\n%s", name, schema.List(found)), nil
		}
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return mistaken("the arguments of %s cannot be read: %v", name, err), nil
		}
		return answer(d, ctx, req, in, add)
	}
	return o, nil
}

// answered are the tools that are answered here.
func (s *Server) answered() ([]offer, error) {
	start, err1 := answerer(s, startName, "Begin a call that takes long and get its handle at once; "+getName+" gives its result.",
		`{"type":"object","properties":{"tool":{"type":"string","description":"the name of the tool"},"arguments":{"type":"object","description":"its arguments"}},"required":["tool"],"additionalProperties":false}`,
		false, (*desk).jobsStart)
	get, err2 := answerer(s, getName, "The result of a job, as its tool's call would have given it, or its handle while it runs. Without job_id: the jobs of this session.",
		`{"type":"object","properties":{"job_id":{"type":"string","description":"the id in the handle, such as r3-1"},"wait_ms":{"type":"integer","minimum":0,"description":"how long to wait for the result; default 0"}},"additionalProperties":false}`,
		true, (*desk).jobsGet)
	cancel, err3 := answerer(s, cancelName, "Tell a job to stop. What came of it is its result.",
		`{"type":"object","properties":{"job_id":{"type":"string","description":"the id in the handle, such as r3-1"}},"required":["job_id"],"additionalProperties":false}`,
		false, (*desk).jobsCancel)
	prepare, err4 := answerer(s, prepareName, "What holds in this session: the fingerprint of the tools with a hash for each, the budget, the effort and the contract of results. Warns when the tools are not those that the client knows.",
		`{"type":"object","properties":{"known_tool_schema_fingerprint":{"type":"string","description":"the fingerprint that the client saw last"}},"additionalProperties":false}`,
		true, (*desk).prepare)
	return []offer{start, get, cancel, prepare}, errors.Join(err1, err2, err3, err4)
}

func (d *desk) jobsStart(ctx context.Context, req *mcp.CallToolRequest, in struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}, add added,
) (*mcp.CallToolResult, error) {
	o, ok := d.server.menu.Load().find(in.Tool)
	if !ok || o.here != nil || o.hidden {
		return mistaken("there is no tool named %.80q that a job can be begun for. The tools are: %s", in.Tool, d.server.names()), nil
	}
	asked := o.ask(in.Arguments, nil)
	asked.wish = d.server.wish(asked.wish)
	p, err := d.begin(ctx, o, asked, req)
	if err != nil {
		return nil, d.unanswered(ctx, o, err)
	}
	p.ticket.silence()
	if err := p.job.HandOut(ctx); err != nil {
		p.job.Cancel()
		return nil, d.unanswered(ctx, o, err)
	}
	d.keep(p)
	return add.to(handle(offer{}, p.job)), nil
}

func (d *desk) jobsGet(ctx context.Context, req *mcp.CallToolRequest, in struct {
	ID   string `json:"job_id"`
	Wait int64  `json:"wait_ms"`
}, add added,
) (*mcp.CallToolResult, error) {
	if in.ID == "" {
		return d.jobsList(ctx, add)
	}
	p, err := d.find(ctx, in.ID)
	switch {
	case errors.Is(err, history.ErrNotFound):
		return mistaken("there is no job %.40q: %s without arguments lists the jobs of this session", in.ID, getName), nil
	case err != nil:
		return nil, d.unanswered(ctx, offer{Tool: tool.Tool{Name: getName}}, err)
	}
	most := d.server.cfg.SyncWait
	if ms := most.Milliseconds(); in.Wait < ms {
		most = time.Duration(in.Wait) * time.Millisecond
	}
	limit := time.NewTimer(most)
	defer limit.Stop()
	select {
	case <-p.job.Done():
		return d.result(ctx, p, RevisionOf(req.Session), add)
	case <-ctx.Done():
	case <-limit.C:
	}
	select {
	case <-p.job.Done():
		return d.result(ctx, p, RevisionOf(req.Session), add)
	default:
		return add.to(handle(offer{}, p.job)), nil
	}
}

func (d *desk) jobsList(ctx context.Context, add added) (*mcp.CallToolResult, error) {
	line, err := d.enter(ctx)
	if err != nil {
		return nil, d.unanswered(ctx, offer{Tool: tool.Tool{Name: getName}}, err)
	}
	defer d.running.Done()
	rows, err := line.Jobs(ctx)
	if err != nil {
		return nil, d.unanswered(ctx, offer{Tool: tool.Tool{Name: getName}}, err)
	}
	all := []handleOf{}
	for _, r := range rows {
		all = append(all, handleOf{ID: r.ID.String(), Tool: r.Tool, Status: string(r.State), Started: r.Started.UTC().Format(time.RFC3339), Routing: "async"})
	}
	return add.to(objectResult(map[string]any{"jobs": all})), nil
}

// stopping is how long a job that was told to stop is waited for.
const stopping = 5 * time.Second

func (d *desk) jobsCancel(ctx context.Context, _ *mcp.CallToolRequest, in struct {
	ID string `json:"job_id"`
}, add added,
) (*mcp.CallToolResult, error) {
	p, err := d.find(ctx, in.ID)
	switch {
	case errors.Is(err, history.ErrNotFound):
		return mistaken("there is no job %.40q: %s without arguments lists the jobs of this session", in.ID, getName), nil
	case err != nil:
		return nil, d.unanswered(ctx, offer{Tool: tool.Tool{Name: cancelName}}, err)
	}
	select {
	case <-p.job.Done():
	default:
		p.job.Cancel()
	}
	limit := time.NewTimer(min(stopping, d.server.cfg.SyncWait))
	defer limit.Stop()
	select {
	case <-p.job.Done():
	case <-limit.C:
		return add.to(handle(offer{}, p.job)), nil
	}
	h := handleOf{ID: in.ID, Tool: p.job.Tool, Status: "ended", Routing: "async", Hint: getName + " gives its result"}
	if p.job.Cancelled() {
		h.Status = "cancelled"
	}
	return add.to(objectResult(h)), nil
}

// names are the tools that a client can call, for an error that says which.
func (s *Server) names() string {
	var all []string
	for _, o := range s.menu.Load().offers {
		if !o.hidden && o.here == nil {
			all = append(all, o.Name)
		}
	}
	return strings.Join(all[:min(len(all), 100)], ", ")
}
