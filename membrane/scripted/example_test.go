package scripted_test

import (
	"context"
	"fmt"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

// A script is read, asked once, and the answer printed.
func Example() {
	script, err := scripted.Parse("weather.json", []byte(`{"steps": [
		{
			"text":   "I look.",
			"calls":  [{"name": "weather", "args": {"city": "Oslo"}}],
			"expect": [{"contains": "Oslo"}, {"tool": "weather"}]
		},
		{"text": "It rains.", "expect": [{"result": 1, "equals": "rain, 4 °C"}]}
	]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	model, err := scripted.New(script, scripted.Config{})
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
			fmt.Println(done.Stop, done.Message.PlainText())
			for _, call := range done.Message.Calls() {
				fmt.Printf("%s %s %s\n", call.CallID, call.Tool, call.Args)
			}
		}
	}
	// Output:
	// calls I look.
	// call-1 weather {"city": "Oslo"}
}
