package tokens_test

import (
	"fmt"

	"github.com/weir-run/weir/tokens"
)

// A budget is kept by estimate; a figure that is reported is counted.
func Example() {
	text := "The result is kept whole on disk; the model sees both ends of it."
	fmt.Println("about", tokens.Estimate(text))

	encoding, err := tokens.New(tokens.O200K)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(encoding.Name(), encoding.Count(text))
	// Output:
	// about 17
	// o200k_base 16
}
