package envelope_test

import (
	"fmt"
	"strings"

	"github.com/weir-run/weir/envelope"
)

// A result that is over its budget keeps the ends of its list, and says what is left out and where it is.
func Example() {
	budget, err := envelope.ResolveBudget(envelope.Wish{Session: 300, Effort: envelope.Medium})
	if err != nil {
		fmt.Println(err)
		return
	}
	list := strings.TrimSuffix(strings.Repeat(`"another/file.go",`, 398), ",")
	shown := envelope.Fit(envelope.Result{
		Text: `{"files":["first.go",` + list + `,"last.go"],"count":400}`,
		Path: "tool-results/r1-1-find.txt",
	}, envelope.Options{Budget: budget, Offered: []string{"workspace--read"}, Contract: envelope.Lean})
	fmt.Println("stage", shown.Stage)
	fmt.Println(strings.SplitAfter(shown.Text, `"count":400`)[0])
	// Output:
	// stage 4
	// {"success":true,"data":{"files":["first.go","another/file.go","last.go"],"files_omitted_count":397,"count":400
}
