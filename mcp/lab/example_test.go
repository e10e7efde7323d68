package lab_test

import (
	"fmt"

	"github.com/weir-run/weir/mcp/lab"
)

// One result, and what the models of three hosts are shown of it.
func ExampleTable() {
	tools, _ := lab.Find(lab.Matrix(), []string{"with_schema__structured_missing"})
	for _, name := range []string{"claude-desktop", "claude-code", "inspector"} {
		host, _ := lab.Preset(name)
		for _, cell := range lab.Table(tools, []lab.Host{host}, nil) {
			fmt.Printf("%s: %s %d\n  %s\n", cell.Host, cell.Shown, cell.Code, cell.Value)
		}
	}
	// Output:
	// claude-desktop: text 0
	//   Widget costs $9.99 and is currently out of stock.
	// claude-code: text 0
	//   Widget costs $9.99 and is currently out of stock.
	// inspector: error -32600
	//   MCP error -32600: the tool has an output schema, but its result has no structured content
}
