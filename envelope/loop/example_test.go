package loop_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/weir-run/weir/envelope/loop"
)

// The third time that a call gives the same, the model is warned; key order and metadata do not count.
func Example() {
	var ring loop.Ring
	for i, args := range []string{`{"p":"x","d":"."}`, `{"d":".","p":"x"}`, `{"p":"x","d":".","_lean":true}`} {
		verdict := ring.Observe(loop.Step{At: time.Duration(i) * time.Minute, Calls: []loop.Call{{
			Tool: "grep", Identity: loop.Identity("grep", json.RawMessage(args)), Result: loop.ResultOf("none", false), ReadOnly: true,
		}}})
		if verdict.Action == loop.Warn {
			fmt.Println(i+1, verdict.Warning)
		}
	}
	// Output:
	// 3 the same call of grep gave the same result 3 times in a row: repeating it changes nothing, so do something else
}
