package scripting_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
)

// A program whose main begins with scripting.Main offers code_execution beside its other tools. (This
// example runs in a test, whose TestMain does.)
func ExampleScripting_Tool() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "weir-scripting-")
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
	weather, err := tool.Func("weather", "The weather of a city.", func(_ context.Context, in struct {
		City string `json:"city"`
	},
	) (map[string]any, error) {
		return map[string]any{"city": in.City, "degrees": len(in.City)}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	scripts, err := scripting.New(scripting.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer scripts.Close()
	settled, err := round.Settle(ctx, store, round.Request{Conversation: "c1", Calls: []tool.Call{{
		Name: scripting.Name, Args: json.RawMessage(`{"code":"const all = await Promise.all(args.map(city => tools.weather({city}))); return all.map(r => r.data).filter(w => w.degrees > 4).map(w => w.city).join(', ')","args":["Oslo","Bergen","Hamar"]}`),
	}}}, round.Config{Tools: []tool.Tool{weather, scripts.Tool("weather")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(settled.Results[0].Text)
	// Output: Bergen, Hamar
}
