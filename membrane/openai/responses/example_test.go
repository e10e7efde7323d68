package responses_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/openai/responses"
)

// A local server stands in the place of the provider; a program leaves BaseURL out and takes the key from
// the environment.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"}}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"weather","arguments":"{\"city\": \"Oslo\"}"}}

event: response.completed
data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":40,"output_tokens":12}}}

`)
	}))
	defer server.Close()

	model, err := responses.New("gpt-5.5", responses.Config{APIKey: "sk-example", BaseURL: server.URL + "/v1"})
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
			fmt.Printf("%s, %d tokens in, %d out\n%s\n", done.Stop, done.Usage.In, done.Usage.Out, done.Fragment)
		}
	}
	// Output:
	// calls, 40 tokens in, 12 out
	// {"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA"},{"type":"function_call","call_id":"call_1","name":"weather","arguments":"{\"city\": \"Oslo\"}","status":"completed"}
}
