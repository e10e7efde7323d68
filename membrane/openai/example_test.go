package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/openai"
)

// A local server stands in the place of Ollama, vLLM or llama.cpp; at the provider's own address a
// program leaves BaseURL out and gives a key.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\": "}}]}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":40,"completion_tokens":12}}

data: [DONE]

`)
	}))
	defer server.Close()

	model, err := openai.New("qwen3:8b", openai.Config{BaseURL: server.URL + "/v1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	head, err := model.EncodeHead(membrane.Head{Tools: []membrane.ToolSpec{{Name: "weather"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	question, err := model.EncodeMessage(membrane.UserText("Is it raining in Oslo?"))
	if err != nil {
		fmt.Println(err)
		return
	}
	request := membrane.Request{Head: head.Head, Messages: question, Tail: head.Tail}
	for event, err := range model.Stream(context.Background(), request) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if done, ok := event.(membrane.Done); ok {
			for _, call := range done.Message.Calls() {
				fmt.Printf("%s %s %s %s\n", done.Stop, call.CallID, call.Tool, call.Args)
			}
			fmt.Printf("%s\n%d tokens in, %d out\n", done.Fragment, done.Usage.In, done.Usage.Out)
		}
	}
	// Output:
	// calls call_1 weather {"city": "Oslo"}
	// {"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Oslo\"}"}}]}
	// 40 tokens in, 12 out
}
