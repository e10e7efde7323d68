package tool_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/tool"
)

func TestArgumentsKeepEveryDigit(t *testing.T) {
	var got string
	one, err := tool.Func("t", "", func(_ context.Context, in map[string]any) (*tool.Result, error) {
		got = fmt.Sprint(in["id"])
		return &tool.Result{Data: "full control"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := one.Run(t.Context(), tool.Call{Args: []byte(`{"id":7203685477580001237}`)})
	if err != nil || got != "7203685477580001237" || r.Data != "full control" {
		t.Errorf("read %s, result %v, %v", got, r.Data, err)
	}
}

func TestValueIsTakenAtOnce(t *testing.T) {
	blocks := []tool.Content{{Type: "text", Text: "before"}}
	r := tool.Value(blocks)
	blocks[0].Text = "after"
	if d := cmp.Diff([]tool.Content{{Type: "text", Text: "before"}}, r.Data); d != "" {
		t.Errorf("a later change is seen:\n%s", d)
	}
}

func TestCheckRefusesASchemaThatIsNoObject(t *testing.T) {
	run := func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil }
	for _, schema := range []string{"null", "[]", "{", "1"} {
		if err := (tool.Tool{Name: "t", Schema: []byte(schema), Run: run}).Check(); err == nil {
			t.Errorf("schema %s is taken", schema)
		}
	}
}
