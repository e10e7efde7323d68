package client_test

import (
	"fmt"

	"github.com/weir-run/weir/mcp/client"
)

// What a model is shown of a result is a policy: the same result, as Weir shows it and as a host does that
// knows structured content alone.
func ExampleView_Show() {
	r := client.Receive([]byte(`{"content":[{"type":"text","text":"Widget costs $9.99."}],"structuredContent":{"sku":"w-1"}}`))
	for _, view := range []client.View{client.Default(), {Pick: client.StructuredReplacesAll}} {
		seen := view.Show(r, client.Check(r, nil), nil)
		fmt.Printf("%s\ndropped: %v\n", seen.Text, seen.Dropped)
	}
	// Output:
	// Widget costs $9.99.
	// {"sku":"w-1"}
	// dropped: []
	// {"sku":"w-1"}
	// dropped: [1 text block]
}
