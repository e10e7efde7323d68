package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/weir-run/weir/tool"
)

func ExampleFunc() {
	type input struct {
		Text  string `json:"text" jsonschema:"what to repeat"`
		Times int    `json:"times"`
	}
	repeat, err := tool.Func("repeat", "Repeats a text.", func(_ context.Context, in input) (string, error) {
		return strings.Repeat(in.Text, in.Times), nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(repeat.Schema))

	r, _ := repeat.Run(context.Background(), tool.Call{Args: json.RawMessage(`{"text":"ab","times":3}`)})
	fmt.Println(r.Data)
	r, _ = repeat.Run(context.Background(), tool.Call{Args: json.RawMessage(`{"txt":"ab"}`)})
	fmt.Println(r.Error)
	// Output:
	// {"type":"object","properties":{"text":{"type":"string","description":"what to repeat"},"times":{"type":"integer"}},"required":["text","times"],"additionalProperties":false}
	// ababab
	// the arguments of repeat do not fit: json: unknown field "txt"
}
