package agent_test

import (
	"context"
	"fmt"
	"os"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/tool"
)

type place struct {
	City string `json:"city"`
}

func lookup(_ context.Context, in place) (string, error) {
	return "light rain in " + in.City, nil
}

func run(ctx context.Context, dir string, model membrane.Model) error {
	store, err := sqlite.Open(ctx, dir, sqlite.Config{}) // history and tool results in one folder
	if err != nil {
		return err
	}
	defer store.Close()
	weather, err := tool.Func("weather", "The weather in a city.", lookup) // func(context.Context, In) (string, error)
	if err != nil {
		return err
	}
	a, err := agent.New(store, model, agent.Config{Tools: []tool.Tool{weather}})
	if err != nil {
		return err
	}
	out, err := a.Run(ctx, agent.Turn{Conversation: "c1", Text: "Is it raining in Oslo?"}).Collect()
	fmt.Println(out.Text)
	return err
}

// A program that embeds Weir. The model is a scripted one here; any [membrane.Model] does.
func Example() {
	dir, err := os.MkdirTemp("", "weir")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	model, err := scripted.New(scripted.Script{Steps: []scripted.Step{
		{Calls: []scripted.Call{{Tool: "weather", Args: []byte(`{"city":"Oslo"}`)}}},
		{Text: "Yes, light rain.", Expect: []scripted.Expect{{Result: 1, Contains: "light rain in Oslo"}}},
	}}, scripted.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := run(context.Background(), dir, model); err != nil {
		fmt.Println(err)
	}
	// Output: Yes, light rain.
}
