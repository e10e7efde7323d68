package openai_test

import (
	"context"
	"strings"
	"testing"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/openai"
	"github.com/weir-run/weir/tool"
)

// TestLaw03PrefixAndMove runs turns of one conversation at two servers that want different things, each
// turn with a model of its own: within a server each body goes on where the one before ended, and the
// second gets nothing that it would refuse.
func TestLaw03PrefixAndMove(t *testing.T) {
	t.Parallel()
	calls := piece(`{"index":0,"id":"call_1","function":{"name":"rows","arguments":"a = 1"}},{"index":1,"id":"call_1","function":{"name":"rows","arguments":"{}"}},{"index":2,"id":"call_2","function":{"name":"rows","arguments":"{}"},"extra_content":{"s":"S"}}`)
	server := membranetest.Serve(t)
	for _, body := range []string{
		delta(`{"reasoning_content":"R"}`) + "\n" + calls + "\n" + finish("tool_calls"), delta(`{"content":"One."}`) + "\n" + finish("stop"),
		delta(`{"content":"I write."}`) + "\n" + piece(`{"index":0,"id":"call_3","function":{"name":"rows","arguments":"{\"a"}}`) + "\n" + finish("length"), delta(`{"content":"Two."}`) + "\n" + finish("stop"),
		calls + "\n" + finish("tool_calls"), delta(`{"content":"Three."}`) + "\n" + finish("stop"),
	} {
		server.Add(membranetest.Answer{Body: lines(body)})
	}
	store, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	rows := tool.Tool{Name: "rows", Traits: tool.Traits{ReadOnly: true}, Schema: []byte(`{"type":"object"}`), Run: func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Text("row <1>"), nil
	}}
	for _, turn := range []struct{ text, base, want string }{
		{"one", "https://api.openai.com/v1", "One."}, {"two", "https://api.openai.com/v1", "Two."}, {"three", "https://api.mistral.ai/v1", "Three."},
	} {
		quirks := openai.QuirksOf(turn.base)
		m := newModel(t, server.URL, "m", func(c *openai.Config) { c.Quirks = &quirks })
		a, err := agent.New(store, m, agent.Config{System: "Be brief.", Tools: []tool.Tool{rows}})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Key: turn.text, Text: turn.text}).Collect(); err != nil || out.Text != turn.want {
			t.Fatalf("%s: %q, %v", turn.text, out.Text, err)
		}
	}
	bodies := server.Bodies()
	if len(bodies) != 6 {
		t.Fatalf("%d requests", len(bodies))
	}
	membranetest.Prefix(t, membranetest.SplitAt("messages"), bodies[:4]...)
	membranetest.Prefix(t, membranetest.SplitAt("messages"), bodies[4:]...)
	for _, body := range bodies[4:] {
		checkBody(t, body)
		for _, bad := range []string{`"id":"call_`, `"R"`, `"S"`, "developer", "stream_options", "null"} {
			if strings.Contains(string(body), bad) {
				t.Errorf("the second server gets %s: %s", bad, body)
			}
		}
	}
	if problems, err := history.Verify(t.Context(), store, "c"); err != nil || len(problems) > 0 {
		t.Errorf("verify: %v %v", problems, err)
	}
}
