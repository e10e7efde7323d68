package result_test

import (
	"encoding/json"
	"fmt"

	"github.com/weir-run/weir/result"
	"github.com/weir-run/weir/tool"
)

func ExampleText() {
	fmt.Println(result.Text(tool.Text("a \"string\" is itself")))
	fmt.Println(result.Text(tool.Value(map[string]int{"b": 1, "a": 2})))
	fmt.Println(result.Text(tool.JSON(json.RawMessage(`{"b":1.0, "a":[]}`))))
	fmt.Println(result.Text(tool.Value(make(chan int))))
	// Output:
	// a "string" is itself
	// {"a":2,"b":1}
	// {"b":1.0, "a":[]}
	// the tool ran, but its result could not be converted: marshal chan int: chan int: it has no JSON form
}

func ExampleConvert() {
	w := result.Convert(tool.Blocks(
		tool.Content{Type: "text", Text: "\x1b[32mdone\x1b[0m"},
		tool.Content{Type: "image", MIMEType: "image/jpeg", Data: []byte("\x89PNG\r\n\x1a\n")},
	), "tool-results/r3-1-shot")
	shown, _ := w.Model(true)
	fmt.Println(shown)
	fmt.Println("the whole:", shown == w.Text)
	for _, p := range w.Payloads {
		fmt.Println(p.Path("tool-results/r3-1-shot"), p.MIMEType, len(p.Data))
	}
	// Output:
	// done
	// [image: image/png, 8B, tool-results/r3-1-shot.png]
	// the whole: false
	// tool-results/r3-1-shot.png image/png 8
}
