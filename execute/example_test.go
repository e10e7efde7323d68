package execute_test

import (
	"context"
	"fmt"

	"github.com/weir-run/weir/execute"
	"github.com/weir-run/weir/tool"
)

// The three steps of one call: what does not fit the schema is answered without running the tool.
func ExampleSet_Prepare() {
	type in struct {
		City string `json:"city"`
	}
	weather, err := tool.Func("weather", "The weather in a city.", func(_ context.Context, in in) (string, error) {
		return "rain in " + in.City, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := execute.NewSet([]tool.Tool{weather})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, args := range []string{`{"city":"Oslo"}`, `{"town":"Oslo"}`} {
		prepared := set.Prepare(tool.Call{Name: "weather", Args: []byte(args)})
		ran := execute.Run(context.Background(), prepared, execute.Env{})
		whole := execute.Convert(prepared, ran.Result, "")
		fmt.Println(whole.Fit(24000, nil).Text)
	}
	// Output:
	// rain in Oslo
	// the arguments of weather do not fit its schema:
	// - at the top: not known here: "town"
	// - at the top: required and missing: "city"
}
