package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/gateway"
	"github.com/weir-run/weir/mcp/lab"
	"github.com/weir-run/weir/mcp/server"
)

// promptServer answers with raw results.
func promptServer(t *testing.T, answers map[string]string) client.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		switch {
		case r.Method != http.MethodPost || json.Unmarshal(raw, &m) != nil:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "application/json")
			answer, ok := answers[m.Method+" "+m.Params.Name]
			if !ok {
				answer = `"error":{"code":-32602,"message":"not here","data":{"why":1}}`
			}
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)
		}
	}))
	t.Cleanup(s.Close)
	return client.Server{URL: s.URL, Protocol: "2025-11-25"}
}

// Prompts come through byte for byte, under the names of their servers.
func TestPromptsPassThrough(t *testing.T) {
	t.Parallel()
	got := `{"messages":[{"role":"user","content":{"type":"text","text":"She said \"hi\".\nNext <&>"}}],"odd":{"b":1.50,"a":9007199254740993}}`
	entry := `{"odd":1,"name":"hello","arguments":[{"name":"who","required":true}]}`
	hello := `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"p","version":"1"}}`
	p := promptServer(t, map[string]string{
		"initialize ": hello, "tools/list ": `"result":{"tools":[]}`, "prompts/list ": `"result":{"prompts":[` + entry + `]}`,
		"prompts/get hello": `"result":` + got,
	})
	bare := connect(t, p)
	for _, many := range []bool{false, true} {
		servers := map[string]client.Server{"p": p}
		if many {
			servers["q"] = p
		}
		h := reach(t, web(t, front(t, open(t), gateway.Config{Plain: !many}, servers)), token, "2025-11-25")
		entries, err := h.set.PromptsRaw(t.Context(), "x")
		if err != nil {
			t.Fatal(err)
		}
		want, name := []string{entry}, "hello"
		if many {
			want, name = []string{strings.Replace(entry, `"hello"`, `"p--hello"`, 1), strings.Replace(entry, `"hello"`, `"q--hello"`, 1)}, "q--hello"
		}
		var list []string
		for _, e := range entries {
			list = append(list, string(e))
		}
		if d := cmp.Diff(want, list); d != "" {
			t.Errorf("listed (-want +got):\n%s", d)
		}
		without, _, err1 := bare.set.PromptRaw(t.Context(), "x", "hello", []byte(`{"who":"you"}`))
		through, rpc, err2 := h.set.PromptRaw(t.Context(), "x", name, []byte(`{"who":"you"}`))
		if err1 != nil || err2 != nil || rpc != nil || string(without) != string(through) {
			t.Errorf("the prompt: %v, %v, %v: %s", err1, err2, rpc, through)
		}
		if _, rpc, err := h.set.PromptRaw(t.Context(), "x", "nope", nil); err != nil || rpc == nil || rpc.Code != -32602 {
			t.Errorf("a prompt that is not there: %v, %v", rpc, err)
		}
	}
}

// An error of the protocol comes through as it was.
func TestErrorsOfTheProtocolPassThrough(t *testing.T) {
	t.Parallel()
	hello := `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"p","version":"1"}}`
	p := promptServer(t, map[string]string{"initialize ": hello, "tools/list ": `"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`})
	h := reach(t, web(t, front(t, open(t), gateway.Config{}, map[string]client.Server{"p": p})), token, "2025-11-25")
	_, rpc, err := h.set.CallRaw(t.Context(), "x", "p--t", []byte(`{}`))
	if err != nil || rpc == nil || rpc.Code != -32602 || rpc.Message != "not here" || string(rpc.Data) != `{"why":1}` {
		t.Errorf("got %+v, %v", rpc, err)
	}
}

// slow is a server with a tool that tells of its progress, can be stopped and takes a while.
func slow(long time.Duration, stopped chan<- struct{}) *mcp.Server {
	p := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	p.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if token := r.Params.GetProgressToken(); token != nil {
			_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1, Total: 2, Message: "half"})
		}
		select {
		case <-time.After(long):
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "<done>"}}}, nil
		case <-ctx.Done():
			close(stopped)
			return nil, ctx.Err()
		}
	})
	return p
}

// A call that takes longer than a host waits goes on as a job; its result has the server's bytes.
func TestALongCallOfAServer(t *testing.T) {
	t.Parallel()
	store := open(t)
	g := front(t, store, gateway.Config{Server: server.Config{SyncWait: 250 * time.Millisecond}}, map[string]client.Server{
		"s": site(t, slow(time.Second, make(chan struct{})), "2025-11-25"),
	})
	h := reach(t, web(t, g), token, "2025-11-25")
	a := h.call("s--wait", `{}`)
	var handle struct {
		ID       string `json:"job_id"`
		Status   string
		Progress string
		Routing  string `json:"routing_hint"`
	}
	if err := json.Unmarshal([]byte(a.text()), &handle); err != nil || handle.ID != "r1-1" || handle.Status != "running" || handle.Routing != "async" {
		t.Fatalf("%v: %s", err, a.raw)
	}
	for range 100 {
		if got := h.raw("jobs--get", `{"job_id":"r1-1","wait_ms":5000}`); !strings.Contains(got, `job_id`) {
			if got != `{"content":[{"type":"text","text":"\u003cdone\u003e"}]}` { // as that server writes it
				t.Errorf("the result: %s", got)
			}
			sound(t, store)
			return
		}
	}
	t.Error("the job did not end")
}

// Progress reaches the host, and its cancel reaches the server.
func TestProgressAndCancelPassThrough(t *testing.T) {
	t.Parallel()
	stopped := make(chan struct{})
	store := open(t)
	g := front(t, store, gateway.Config{}, map[string]client.Server{"s": site(t, slow(time.Hour, stopped), "2025-11-25")})
	heard := make(chan string, 10)
	c := mcp.NewClient(&mcp.Implementation{Name: "host", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			heard <- fmt.Sprintf("%v %v %v %s", r.Params.ProgressToken, r.Params.Progress, r.Params.Total, r.Params.Message)
		},
	})
	near, far := io.Pipe()
	back, out := io.Pipe()
	go func() { _ = g.ServeStdio(context.WithoutCancel(t.Context()), near, out) }()
	session, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: back, Writer: far}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	ctx, cancel := context.WithCancel(t.Context())
	params := &mcp.CallToolParams{Name: "s--wait", Arguments: map[string]any{}}
	params.SetProgressToken("p1")
	go func() {
		if got := <-heard; got != "p1 1 2 half" {
			t.Errorf("progress says %q", got)
		}
		cancel()
	}()
	if _, err := session.CallTool(ctx, params); err == nil {
		t.Error("a cancelled call was answered")
	}
	select {
	case <-stopped:
	case <-time.After(10 * time.Second):
		t.Error("the server was not told of the cancel")
	}
}

// A call that its server does not end within the limits is answered, and the others go on.
func TestLimitsOfACall(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]client.Options{"absolute": {Absolute: 100 * time.Millisecond}, "idle": {Idle: 100 * time.Millisecond}} {
		g := front(t, open(t), gateway.Config{Client: o}, map[string]client.Server{"s": site(t, slow(time.Hour, make(chan struct{}, 1)), "2025-11-25")})
		a := reach(t, web(t, g), token, "2025-11-25").call("s--wait", `{}`)
		if !a.IsError || !strings.Contains(a.text(), "the limit") && !strings.Contains(a.text(), "its limit") || !strings.Contains(a.text(), "outcome unknown") {
			t.Errorf("%s: %s", name, a.raw)
		}
	}
}

// What stands among the arguments for the gateway is taken out, unless the tool has an argument of that name.
func TestAToolKeepsItsOwnArguments(t *testing.T) {
	t.Parallel()
	p := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	echo := func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
	}
	p.AddTool(&mcp.Tool{Name: "own", InputSchema: json.RawMessage(`{"type":"object","properties":{"max_tokens":{"type":"integer"}},"additionalProperties":false}`)}, echo)
	p.AddTool(&mcp.Tool{Name: "plain", InputSchema: json.RawMessage(`{"type":"object","properties":{"b":{},"a":{}},"additionalProperties":false}`)}, echo)
	h := reach(t, web(t, front(t, open(t), gateway.Config{}, map[string]client.Server{"s": site(t, p, "2025-11-25")})), token, "2025-11-25")
	if a := h.call("s--own", `{"max_tokens":7}`); a.text() != `{"max_tokens":7}` {
		t.Errorf("its own: %s", a.raw)
	}
	if a := h.call("s--plain", `{"b":1.50, "max_tokens":5000, "a":9007199254740993}`); a.text() != `{"b":1.50,"a":9007199254740993}` {
		t.Errorf("the gateway's: %s", a.raw)
	}
}

// Text that is for the user only counts towards the cap too: a host may show it all the same.
func TestTextForTheUserIsBounded(t *testing.T) {
	t.Parallel()
	text, _, _ := planted(100_000)
	behind := site(t, protocol([]lab.Tool{gives("t", `{"content":[{"type":"text","text":"short"},{"type":"text","text":`+quoted(text)+`,"annotations":{"audience":["user"]}}]}`)}), "2025-11-25")
	h := reach(t, web(t, front(t, open(t), gateway.Config{}, map[string]client.Server{"s": behind})), token, "2025-11-25")
	if a := h.call("s--t", `{}`); len(a.raw) > 1000 || !strings.HasPrefix(a.text(), "short\n[1 of 2 blocks are for the user only") {
		t.Errorf("%d bytes: %.300s", len(a.raw), a.raw)
	}
}

// A server that says that its list has changed, and then does not give it, keeps no other from serving.
func TestAServerThatHangs(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	var hangs atomic.Bool
	p := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	ok := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "here"}}}, nil
	}
	p.AddTool(&mcp.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}, ok)
	p.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "tools/list" && hangs.Load() {
				<-over
			}
			return next(ctx, method, r)
		}
	})
	servers := map[string]client.Server{"hangs": site(t, p, "2025-11-25"), "up": site(t, protocol([]lab.Tool{gives("echo", `{"content":[{"type":"text","text":"here"}]}`)}), "2025-11-25")}
	t.Cleanup(func() { close(over) }) // before the sites are closed
	g := front(t, open(t), gateway.Config{Poll: time.Hour}, servers)
	h := reach(t, web(t, g), token, "2025-11-25")
	hangs.Store(true)
	p.AddTool(&mcp.Tool{Name: "more", InputSchema: json.RawMessage(`{"type":"object"}`)}, ok)
	time.Sleep(100 * time.Millisecond)
	began := time.Now()
	if a := h.call("up--echo", `{}`); a.text() != "here" || time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %s", time.Since(began), a.raw)
	}
}
