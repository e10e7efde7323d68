package server_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

var full = flag.Bool("full", false, "tests of time-outs with the real figures")

// handle is what a client is told of a job.
type handle struct {
	ID       string `json:"job_id"`
	Status   string
	Progress string
	Started  string `json:"started_at"`
	Routing  string `json:"routing_hint"`
}

func handleOf(t *testing.T, a answer) handle {
	t.Helper()
	var h handle
	if err := json.Unmarshal([]byte(a.text()), &h); err != nil {
		t.Fatalf("%v: %.300s", err, a.raw)
	}
	return h
}

// slow is a tool that takes a while, tells of it, and can be stopped.
func slow(long time.Duration) tool.Tool {
	return does("slow", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		tool.Report(ctx, "half of it")
		select {
		case <-time.After(long):
			return tool.Text("<slow> & done"), nil
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	})
}

// A call that takes longer than a client is kept waiting goes on as a job, whose result is like any other.
func TestALongCallBecomesAJob(t *testing.T) {
	t.Parallel()
	wait, long := 250*time.Millisecond, time.Second
	if *full {
		wait, long = server.DefaultSyncWait, 40*time.Second
	}
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{SyncWait: wait, Tools: []tool.Tool{slow(long)}}), "2025-11-25")
	began := time.Now()
	w.ask("slow", `{}`)
	var a answer
	if *full {
		a = read(t, w.within(time.Minute))
	} else {
		a = read(t, w.next())
	}
	took := time.Since(began)
	h := handleOf(t, a)
	if _, err := time.Parse(time.RFC3339, h.Started); err != nil || took < wait || took > long {
		t.Errorf("the handle came after %s, started at %q", took, h.Started)
	}
	h.Started = ""
	if d := cmp.Diff(handle{ID: "r1-1", Status: "running", Progress: "half of it", Routing: "async"}, h); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if a := w.call("jobs--get", `{}`); !strings.Contains(a.text(), `"job_id":"r1-1","tool":"slow","status":"running"`) {
		t.Errorf("the list: %s", a.raw)
	}
	if a := w.call("jobs--get", `{"job_id":"r1-1","wait_ms":0}`); handleOf(t, a).Status != "running" {
		t.Errorf("at once: %s", a.raw)
	}
	for a = w.call("jobs--get", `{"job_id":"r1-1","wait_ms":60000}`); strings.HasPrefix(a.text(), `{"job_id"`); {
		a = w.call("jobs--get", `{"job_id":"r1-1","wait_ms":60000}`)
	}
	if a.text() != "<slow> & done" || a.Result.Meta["weir/result"] != "r1-1" || a.Result.IsError {
		t.Errorf("the result came as %s", a.raw)
	}
	if a := w.call("jobs--get", `{"job_id":"r9-1"}`); !a.Result.IsError || !strings.Contains(a.text(), `no job "r9-1"`) {
		t.Errorf("a job that is not there: %s", a.raw)
	}
	w.leave()
	if d := cmp.Diff([]string{"r1-1 slow done"}, calls(t, store)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	sound(t, store)
}

// A job can be begun and stopped, and what came of it is stored.
func TestJobsAreBegunAndStopped(t *testing.T) {
	t.Parallel()
	store := open(t, t.TempDir())
	w := shake(t, serve(t, store, server.Config{Tools: []tool.Tool{slow(time.Hour), gives("quick", tool.Text("ok"))}}), "2025-11-25")
	if h := handleOf(t, w.call("jobs--start", `{"tool":"slow","arguments":{}}`)); h.ID != "r1-1" || h.Status != "running" {
		t.Errorf("begun: %+v", h)
	}
	if h := handleOf(t, w.call("jobs--cancel", `{"job_id":"r1-1"}`)); h.Status != "cancelled" {
		t.Errorf("stopped: %+v", h)
	}
	if a := w.call("jobs--get", `{"job_id":"r1-1"}`); !a.Result.IsError || !strings.Contains(a.text(), "cancel") {
		t.Errorf("the result of a stopped job: %s", a.raw)
	}
	if h := handleOf(t, w.call("jobs--start", `{"tool":"quick"}`)); h.ID != "r2-1" {
		t.Errorf("begun: %+v", h)
	}
	if a := w.call("jobs--get", `{"job_id":"r2-1","wait_ms":9000}`); a.text() != "ok" {
		t.Errorf("the result: %s", a.raw)
	}
	for args, word := range map[string]string{
		`{"tool":"nope"}`:                "no tool named",
		`{"tool":"jobs--start"}`:         "no tool named",
		`{}`:                             `required and missing: "tool"`,
		`{"tool":"quick","more":1}`:      `not known here: "more"`,
		`{"tool":"quick","arguments":1}`: "/arguments",
	} {
		if a := w.call("jobs--start", args); !a.Result.IsError || !strings.Contains(a.text(), word) {
			t.Errorf("%s: want %q in %s", args, word, a.raw)
		}
	}
	w.leave()
	sound(t, store)
}

// A job outlives its client: whoever comes back with the same token gets its result, nobody else does.
func TestAJobOutlivesItsClient(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	store := open(t, t.TempDir())
	waits := does("waits", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		select {
		case <-let:
			return tool.Text("late"), nil
		case <-ctx.Done():
			return tool.Result{}, ctx.Err()
		}
	})
	url := web(t, serve(t, store, server.Config{SyncWait: 50 * time.Millisecond, Tools: []tool.Tool{waits}}), server.HTTPConfig{})
	first := client(t, url, token, "2026-07-28")
	if got := said(do(t, first, "waits", nil)); !strings.Contains(got, `"job_id":"r1-1"`) {
		t.Fatalf("the handle came as %s", got)
	}
	_ = first.Close()
	time.Sleep(100 * time.Millisecond) // what ends with the client has ended
	close(let)
	if got := said(do(t, client(t, url, other, "2026-07-28"), "jobs--get", map[string]any{"job_id": "r1-1", "wait_ms": 9000})); !strings.Contains(got, "no job") {
		t.Errorf("another client was given %q", got)
	}
	again := client(t, url, token, "2026-07-28")
	for range 100 {
		if got := said(do(t, again, "jobs--get", map[string]any{"job_id": "r1-1", "wait_ms": 9000})); got == "late" {
			return
		}
	}
	t.Error("the client that came back was not given the result")
}

// Where a tool declares an output schema its handle is an error, since clients refuse a success without
// structured content.
func TestAHandleOfAToolWithASchema(t *testing.T) {
	t.Parallel()
	shaped := slow(time.Hour)
	shaped.Output = []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{SyncWait: 20 * time.Millisecond, Drain: time.Millisecond, Tools: []tool.Tool{shaped}}), "2025-11-25")
	if a := w.call("slow", `{}`); !a.Result.IsError || a.Result.StructuredContent != nil || handleOf(t, a).Status != "running" {
		t.Errorf("the handle came as %s", a.raw)
	}
}

// session--prepare says what holds, and warns a client that knows other tools; so does every call, which runs.
func TestAStaleListOfTools(t *testing.T) {
	t.Parallel()
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{does("t", func(_ context.Context, c tool.Call) (tool.Result, error) { return tool.Text("ran"), nil }), gives("u", tool.Text("ran"))}}), "2025-11-25")
	var got struct {
		Fingerprint string `json:"tool_schema_fingerprint"`
		Effort      string
		Budget      int    `json:"effective_budget"`
		Response    string `json:"response_contract"`
		MaxChars    int    `json:"max_chars"`
		Tools       []struct{ Name, Hash string }
		Warnings    []struct {
			Code          string
			RefreshAction string `json:"refresh_action"`
		}
	}
	prepare := func(args string) {
		t.Helper()
		got.Warnings = nil
		if err := json.Unmarshal(w.call("session--prepare", args).Result.StructuredContent, &got); err != nil {
			t.Fatal(err)
		}
	}
	prepare(`{}`)
	if len(got.Fingerprint) != 64 || got.Effort != "high" || got.Budget != 5200 || got.Response != "full" || got.MaxChars != 24_000 || len(got.Tools) != 11 || len(got.Warnings) != 0 {
		t.Errorf("prepared: %+v", got)
	}
	prepare(`{"known_tool_schema_fingerprint":"` + got.Fingerprint + `"}`)
	if len(got.Warnings) != 0 {
		t.Errorf("a client that knows the tools is warned: %+v", got.Warnings)
	}
	prepare(`{"known_tool_schema_fingerprint":"of another day"}`)
	if len(got.Warnings) != 1 || got.Warnings[0].Code != "tool_schema_cache_stale" || got.Warnings[0].RefreshAction != "reissue_tools_list_or_reconnect" {
		t.Errorf("a client that does not is not: %+v", got.Warnings)
	}
	a := w.call("t", `{"known_tool_schema_fingerprint":"of another day"}`)
	if !strings.HasPrefix(a.text(), "ran\n[") || !strings.Contains(a.text(), "tool_schema_cache_stale") || !strings.Contains(a.Result.Meta["weir/signals"], "tool_schema_cache_stale") || a.Result.IsError {
		t.Errorf("a call of it: %s", a.raw)
	}
	w.send(`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"known_tool_schema_fingerprint":"of another day"}}}`)
	if a := read(t, w.next()); !strings.Contains(a.raw, "reissue_tools_list_or_reconnect") {
		t.Errorf("said in _meta: %s", a.raw)
	}
	if a := w.call("u", `{"known_tool_schema_fingerprint":"`+got.Fingerprint+`"}`); a.text() != "ran" {
		t.Errorf("a call of one that does: %s", a.raw)
	}
}

// How long its texts may be stands at every tool and at every result, and holds.
func TestHowLongATextMayBe(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ chars, want int }{{0, 50_000}, {40_000, 100_000}, {90_000, 200_000}, {300_000, 600_000}} {
		astral := gives("t", tool.Text(strings.Repeat("\U0001F300", max(c.chars, 24_000))))
		w := shake(t, serve(t, open(t, t.TempDir()), server.Config{MaxChars: c.chars, Tools: []tool.Tool{astral}}), "2025-11-25")
		w.send(`{"jsonrpc":"2.0","id":5,"method":"tools/list"}`)
		if list, want := w.next(), fmt.Sprintf(`"anthropic/maxResultSizeChars":%d`, c.want); strings.Count(list, want) != 10 {
			t.Errorf("%d: the list says it %d times", c.chars, strings.Count(list, want))
		}
		a := w.call("t", `{}`)
		if a.Result.Meta["anthropic/maxResultSizeChars"] != fmt.Sprint(c.want) || 2*len([]rune(a.text())) > c.want {
			t.Errorf("%d: the result says %s", c.chars, a.Result.Meta["anthropic/maxResultSizeChars"])
		}
	}
}

// The same call again and again is warned of, and its eighth is an error.
func TestCallsThatGoInCircles(t *testing.T) {
	t.Parallel()
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{Tools: []tool.Tool{gives("t", tool.Text("same"))}}), "2025-11-25")
	var got []string
	for range 8 {
		a := w.call("t", `{}`)
		got = append(got, fmt.Sprint(a.Result.IsError, a.text() != "same"))
	}
	if d := cmp.Diff([]string{"false false", "false false", "false true", "false true", "false true", "false true", "false true", "true true"}, got); d != "" {
		t.Errorf("is an error, says more (-want +got):\n%s", d)
	}
}

// After the handle nothing is reported of the call that it stands for.
func TestNoProgressAfterTheHandle(t *testing.T) {
	t.Parallel()
	late := does("late", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		time.Sleep(200 * time.Millisecond)
		tool.Report(ctx, "late")
		return tool.Text("done"), nil
	})
	w := shake(t, serve(t, open(t, t.TempDir()), server.Config{SyncWait: 20 * time.Millisecond, Tools: []tool.Tool{late}}), "2025-11-25")
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"late","arguments":{},"_meta":{"progressToken":"p"}}}`)
	if h := handleOf(t, read(t, w.next())); h.ID != "r1-1" {
		t.Fatalf("the handle: %+v", h)
	}
	time.Sleep(400 * time.Millisecond)
	if line := func() string { w.ask("jobs--get", `{"job_id":"r1-1"}`); return w.next() }(); !strings.Contains(line, `"text":"done"`) {
		t.Errorf("after the handle came %s", line)
	}
}
