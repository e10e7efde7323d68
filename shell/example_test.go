//go:build unix

package shell_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/shell"
	"github.com/weir-run/weir/tool"
)

func ExampleNew() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "weir-shell-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	run, err := shell.New(shell.Config{Dir: dir, Env: append(shell.DefaultEnv(), "GREETING=hello")})
	if err != nil {
		fmt.Println(err)
		return
	}
	store, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	settled, err := round.Settle(ctx, store, round.Request{Conversation: "c1", Calls: []tool.Call{
		{Name: shell.Name, Args: json.RawMessage(`{"command":"echo $GREETING; grep -q world /dev/null"}`)},
		{Name: shell.Name, Args: json.RawMessage(`{"command":"echo so far; sleep 60","timeout_ms":100}`)},
	}}, round.Config{Tools: []tool.Tool{run}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range settled.Results {
		fmt.Println(r.ID, r.IsError)
		fmt.Println(r.Text)
	}
	// Output:
	// r1-1 false
	// hello
	// [exit 1]
	// r1-2 true
	// so far
	// [stopped: it ran longer than its limit of 100ms]
}
