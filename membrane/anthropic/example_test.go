package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
)

// A local server stands in the place of the provider; a program leaves BaseURL out and takes the key
// from the environment.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `event: message_start
data: {"type":"message_start","message":{"content":[],"usage":{"input_tokens":40,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\": \"Oslo\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":12}}

event: message_stop
data: {"type":"message_stop"}

`)
	}))
	defer server.Close()

	model, err := anthropic.New("claude-opus-5-5", anthropic.Config{APIKey: "sk-example", BaseURL: server.URL})
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
	// calls toolu_1 weather {"city": "Oslo"}
	// {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city": "Oslo"}}]}
	// 40 tokens in, 12 out
}
