package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/round"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

// docOf is what go--doc is asked for.
type docOf struct {
	Package string `json:"package" jsonschema:"import path, such as net/http"`
}

var importPath = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9./_-]*$`)

// goDoc gives the documentation of a Go package, which is often far longer than a model should be sent.
func goDoc(ctx context.Context, in docOf) (string, error) {
	if !importPath.MatchString(in.Package) {
		return "", fmt.Errorf("%.80q is no import path", in.Package)
	}
	out, err := exec.CommandContext(ctx, "go", "doc", "-all", in.Package).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go doc %s: %w: %s", in.Package, err, out)
	}
	return string(out), nil
}

// tools are the program's own tool, and those that read and search what is stored of long results.
func tools(store history.Store) ([]tool.Tool, error) {
	doc, err := tool.Func("go--doc", "The whole documentation of a Go package.", goDoc)
	if err != nil {
		return nil, err
	}
	doc.ReadOnly = true // an interrupted call may be run again
	stored, err := workspace.New(workspace.Config{Stored: workspace.Results(store, store.Spills())})
	if err != nil {
		return nil, err
	}
	reading, err := stored.Tools()
	return append(reading, doc), err
}

// offered are the tools as the SDK takes them. The bytes of a schema go through as they are.
func offered(tools []tool.Tool) []anthropic.ToolUnionParam {
	var all []anthropic.ToolUnionParam
	for _, t := range tools {
		schema := param.Override[anthropic.ToolInputSchemaParam](json.RawMessage(t.Schema))
		all = append(all, anthropic.ToolUnionParam{OfTool: &anthropic.ToolParam{
			Name: t.Name, Description: anthropic.String(t.Description), InputSchema: schema,
		}})
	}
	return all
}

// where says where the whole of a result is.
func where(r round.Settled, stored bool) string {
	switch {
	case stored:
		return "as stored before"
	case r.Path != "":
		return "kept whole in " + r.Path
	}
	return "shown whole"
}
