package fingerprint_test

import (
	"encoding/json"
	"fmt"

	"github.com/weir-run/weir/envelope/fingerprint"
)

// An edit of a description changes what is sent, not the surface.
func Example() {
	tools := []fingerprint.Tool{{Name: "read", Description: "Reads a file.", Input: json.RawMessage(`{"type":"object"}`)}}
	before, err := fingerprint.Of(tools)
	if err != nil {
		fmt.Println(err)
		return
	}
	tools[0].Description = "Reads the lines of a file."
	after, err := fingerprint.Of(tools)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(before.Surface == after.Surface, before.Contract == after.Contract)
	// Output: true false
}
