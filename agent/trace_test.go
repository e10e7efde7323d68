package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// The spans of a turn: one for the run, below it one for each request and each call, with the names and
// attributes of the GenAI conventions, and no content.
func TestSpans(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	provider := trace.NewTracerProvider(trace.WithSpanProcessor(recorder))
	weather, err := tool.Func("weather", "", func(_ context.Context, in struct {
		City string `json:"city"`
	},
	) (string, error) {
		return "rain in " + in.City, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t,
		scripted.Step{Calls: []scripted.Call{{Tool: "weather", Args: []byte(`{"city":"Oslo"}`)}}},
		scripted.Step{Text: "secret answer"})
	w.tools, w.config = []tool.Tool{weather}, agent.Config{Bare: true, MaxTokens: 100, Tracer: provider.Tracer("test")}
	w.with(func(a *agent.Agent, _ *sqlite.Store) {
		if _, err := a.Run(t.Context(), agent.Turn{Conversation: "c", Text: "secret question"}).Collect(); err != nil {
			t.Fatal(err)
		}
	})
	parents := map[string]string{}
	for _, s := range recorder.Ended() {
		parents[s.SpanContext().SpanID().String()] = s.Name()
	}
	var got []string
	for _, s := range recorder.Ended() {
		var keys []string
		for _, a := range s.Attributes() {
			if v := a.Value.String(); strings.Contains(v, "secret") || strings.Contains(v, "Oslo") {
				t.Errorf("%s holds content: %s", s.Name(), v)
			}
			keys = append(keys, strings.TrimPrefix(string(a.Key), "gen_ai."))
		}
		got = append(got, fmt.Sprintf("%s < %s [%s] %s", s.Name(), parents[s.Parent().SpanID().String()], s.SpanKind(), strings.Join(keys, " ")))
	}
	const request = "[client] operation.name provider.name request.model conversation.id request.stream request.max_tokens " +
		"response.finish_reasons usage.input_tokens usage.output_tokens usage.cache_read.input_tokens usage.cache_creation.input_tokens"
	want := []string{
		"chat " + "script" + " < invoke_agent weir " + request,
		"execute_tool weather < invoke_agent weir [internal] operation.name tool.name tool.type tool.call.id conversation.id weir.result.id weir.call.attempt",
		"chat " + "script" + " < invoke_agent weir " + request,
		"invoke_agent weir <  [internal] operation.name agent.name conversation.id provider.name request.model weir.turn weir.turn.reason",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("spans (-want +got):\n%s", d)
	}
}
