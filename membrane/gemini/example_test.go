package gemini_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/gemini"
)

// A local server stands in the place of the provider; a program leaves BaseURL out and takes the key
// from the environment.
func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Println(r.URL)
		_, _ = io.WriteString(w, `data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city": "Oslo"}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":40,"candidatesTokenCount":12}}`+"\n\n")
	}))
	defer server.Close()

	model, err := gemini.New("gemini-3-pro", gemini.Config{APIKey: "example", BaseURL: server.URL})
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
	// /v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse
	// calls, 40 tokens in, 12 out
	// {"role":"model","parts":[{"functionCall":{"id":"call-1","name":"weather","args":{"city": "Oslo"}},"thoughtSignature":"c2ln"}]}
}
