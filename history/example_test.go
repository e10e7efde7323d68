package history_test

import (
	"fmt"

	"github.com/weir-run/weir/history"
)

// A result has one id everywhere: in the store, in its file's name, in the model's notice.
func ExampleParseCallID() {
	id, err := history.ParseCallID("r3-1")
	fmt.Println(id.Round, id.Index, id, err)
	_, err = history.ParseCallID("3-1")
	fmt.Println(err)
	// Output:
	// 3 1 r3-1 <nil>
	// result id "3-1": an id looks like r3-1
}
