package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/weir-run/weir/tool"
)

// The names of the tools with which the demo publishes its report.
const (
	publishTool   = "report--publish"
	publishedTool = "report--published"
)

// publishTime is how long it takes until a published report is confirmed. The demo is killed within it.
const publishTime = 10 * time.Second

// publishIn is a report.
type publishIn struct {
	Title string `json:"title" jsonschema:"one line"`
	Text  string `json:"text" jsonschema:"the report, as plain text"`
}

// reportTools are a tool that publishes to a file, which is slow and must not be repeated, and one that
// tells what was published.
func reportTools(file string) ([]tool.Tool, error) {
	publish, err := tool.Func(publishTool, "Publish a report, then wait until it is confirmed. Each call publishes once more.",
		func(ctx context.Context, in publishIn) (string, error) {
			if err := appendLine(file, in.Title+": "+in.Text); err != nil {
				return "", fmt.Errorf("publish the report: %w", err)
			}
			return "published and confirmed", confirmed(ctx)
		})
	if err != nil {
		return nil, err
	}
	published, err := tool.Func(publishedTool, "List the reports that were published, one a line.",
		func(context.Context, struct{}) (string, error) {
			text, err := os.ReadFile(file)
			if errors.Is(err, fs.ErrNotExist) {
				return "", nil
			}
			return string(text), err
		})
	published.ReadOnly = true
	return []tool.Tool{publish, published}, err
}

// confirmed waits, and says so all the while.
func confirmed(ctx context.Context) error {
	over := time.NewTimer(publishTime)
	defer over.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		tool.Report(ctx, "published, waits until it is confirmed")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-over.C:
			return nil
		case <-tick.C:
		}
	}
}

// appendLine adds a line to a file, on the disk before it returns.
func appendLine(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.ReplaceAll(text, "\n", " ") + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}
