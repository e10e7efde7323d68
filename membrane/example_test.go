package membrane_test

import (
	"fmt"

	"github.com/weir-run/weir/membrane"
)

// A message is stored as the bytes of its codec and read back whole: also arguments that were cut off
// and are no JSON. What goes back on a wire that demands an object is another matter.
func Example() {
	message := membrane.Message{Role: membrane.Assistant, Blocks: []membrane.Block{
		{Type: membrane.Text, Text: "I commit it."},
		{Type: membrane.Call, CallID: "c1", Tool: "git", Args: []byte(`{"message":"feat`)},
	}}
	body, err := membrane.Encode(message)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(body))

	again, err := membrane.Decode(membrane.Codec, body)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, call := range again.Calls() {
		fmt.Printf("%s\n%s\n", call.Args, membrane.ObjectArgs(call.Args))
	}
	// Output:
	// {"role":"assistant","blocks":[{"type":"text","text":"I commit it."},{"type":"call","id":"c1","tool":"git","args":"{\"message\":\"feat"}]}
	// {"message":"feat
	// {"_unparsed":"{\"message\":\"feat"}
}
