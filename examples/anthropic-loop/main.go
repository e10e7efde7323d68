// Command anthropic-loop keeps the official SDK's own loop (loop.go) and leaves the calls to Weir: they are
// stored before they run, long results are kept whole in files, and a run that was stopped goes on where
// it was.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/round"
)

func main() {
	dir := flag.String("dir", ".weir", "folder of the store")
	base := flag.String("base-url", "", "another address of the API; the key is taken from ANTHROPIC_API_KEY")
	model := flag.String("model", string(anthropic.ModelClaudeSonnet5), "model to ask")
	stubbed := flag.Bool("stub", false, "ask a small server in this process instead, which needs no key")
	question := flag.String("ask", "What does Shutdown of Go's http.Server wait for?", "what to ask")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var options []option.RequestOption
	if *stubbed {
		server := httptest.NewServer(http.HandlerFunc(stub))
		options = append(options, option.WithBaseURL(server.URL), option.WithAPIKey("none"))
	} else if *base != "" {
		options = append(options, option.WithBaseURL(*base))
	}
	text, err := ask(ctx, *dir, *model, *question, options...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(text)
}

// ask opens the store and asks.
func ask(ctx context.Context, dir, model, question string, options ...option.RequestOption) (text string, err error) {
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
	h := host{client: anthropic.NewClient(options...), model: model, store: store, settler: settler}
	return h.run(ctx, question)
}
