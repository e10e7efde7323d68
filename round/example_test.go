package round_test

import (
	"context"
	"fmt"
	"os"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
)

// A host with a loop of its own settles the calls of one model message. Settling the same message again,
// after a crash for example, runs nothing and gives the same bytes.
func ExampleSettle() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	type in struct {
		Name string `json:"name"`
	}
	greet, err := tool.Func("greet", "Greets somebody.", func(_ context.Context, in in) (string, error) {
		return "Hello, " + in.Name + "!", nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 2 {
		settled, err := round.Settle(ctx, store, round.Request{
			Conversation: "c1", Key: "msg_01",
			Calls: []tool.Call{{ID: "toolu_01", Name: "greet", Args: []byte(`{"name":"Ada"}`)}},
		}, round.Config{Tools: []tool.Tool{greet}})
		if err != nil {
			fmt.Println(err)
			return
		}
		r := settled.Results[0]
		fmt.Println(r.ID, r.Call.ID, r.Text, settled.Stored)
	}
	// Output:
	// r1-1 toolu_01 Hello, Ada! false
	// r1-1 toolu_01 Hello, Ada! true
}
