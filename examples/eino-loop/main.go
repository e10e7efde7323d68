// Command eino-loop keeps eino's graph (loop.go) and puts a round of Weir in the place of its tools node:
// calls are stored before they run, long results are kept whole in files, and a run that was stopped goes
// on where it was. The model is a stub that needs no key; any chat model of eino's does instead.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/shell"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

func main() {
	dir := flag.String("dir", ".weir", "folder of the store")
	question := flag.String("ask", "What does Shutdown of Go's http.Server wait for?", "what to ask; the stub always answers this one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	text, err := ask(ctx, *dir, stub{}, *question)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(text)
}

// ask opens the store and asks.
func ask(ctx context.Context, dir string, m model.ToolCallingChatModel, question string) (text string, err error) {
	store, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	tools, err := tools(store)
	if err != nil {
		return "", err
	}
	settler, err := round.New(store, round.Config{Tools: tools})
	if err != nil {
		return "", err
	}
	h := &host{model: m, store: store, settler: settler}
	return h.run(ctx, question)
}

// tools run commands, and read and search what is stored of long results.
func tools(store history.Store) ([]tool.Tool, error) {
	run, err := shell.New(shell.Config{})
	if err != nil {
		return nil, err
	}
	stored, err := workspace.New(workspace.Config{Stored: workspace.Results(store, store.Spills())})
	if err != nil {
		return nil, err
	}
	reading, err := stored.Tools()
	return append(reading, run), err
}

// offered is the model with the tools, as eino takes them.
func offered(m model.ToolCallingChatModel, tools []tool.Tool) (model.ToolCallingChatModel, error) {
	var all []*schema.ToolInfo
	for _, t := range tools {
		s := &jsonschema.Schema{}
		if err := json.Unmarshal(t.Schema, s); err != nil {
			return nil, fmt.Errorf("read the schema of %s: %w", t.Name, err)
		}
		all = append(all, &schema.ToolInfo{Name: t.Name, Desc: t.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(s)})
	}
	return m.WithTools(all)
}
