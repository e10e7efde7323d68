package shape_test

import (
	"context"
	"fmt"

	"github.com/weir-run/weir/result/shape"
)

// A document of an API becomes what a decision needs, in its order; digits stay as they are.
func Example() {
	doc := `{"data":{"id":"inv_7","_etag":"x1","attributes":{"total":1024.50,"status":"open","note":null}}}`
	selector, err := shape.JQ([]string{
		"status: .data.attributes.status",
		"total: .data.attributes.total",
		"paid_at: .data.attributes.paid_at",
		"id: .data.id",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	shaper, err := shape.New(shape.Config{Select: selector})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, name := range []shape.Name{shape.Pruned, shape.JSON, shape.Markdown} {
		r, err := shaper.Render(context.Background(), []byte(doc), name)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.Text)
	}
	// Output:
	// {"data":{"id":"inv_7","attributes":{"total":1024.50,"status":"open"}}}
	// {"status":"open","total":1024.50,"id":"inv_7"}
	// - status: open
	// - total: 1024.50
	// - id: inv_7
}
