package lines_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/weir-run/weir/internal/lines"
)

// A log is indexed while it is copied; later two of its lines are read without
// the rest.
func Example() {
	text := "one\ntwo\nthree\nfour"
	var x lines.Indexer
	if _, err := io.Copy(&x, strings.NewReader(text)); err != nil {
		fmt.Println(err)
	}
	ix := x.Index()
	from, to, err := ix.Range(strings.NewReader(text), 2, 3)
	fmt.Printf("%q %v, %d lines, %d characters\n", text[from:to], err, ix.Lines, ix.Chars)
	_, err = ix.Seek(strings.NewReader(text), 5)
	fmt.Println(err)
	// Output:
	// "two\nthree\n" <nil>, 4 lines, 18 characters
	// line 5 out of range: valid lines are 1 to 4
}
