package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// stub is a chat model for one question. It answers by the number of answers before, so it serves any run
// of the program the same way.
type stub struct{ offered []string }

// WithTools gives the stub that may call these tools.
func (s stub) WithTools(tools []*schema.ToolInfo) (model.ToolCallingChatModel, error) {
	s.offered = nil
	for _, t := range tools {
		s.offered = append(s.offered, t.Name)
	}
	return s, nil
}

// Stream gives the same answer in one piece.
func (s stub) Stream(ctx context.Context, in []*schema.Message, opts ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	m, err := s.Generate(ctx, in, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderFromArray([]*schema.Message{m}), nil
}

// In a preview the notice names the file; in a search each match has path, line and text; in a page each
// line has its number.
var (
	keptFile = regexp.MustCompile(`tool-results/[A-Za-z0-9._-]+\.txt`)
	match    = regexp.MustCompile(`(tool-results/[^:\n]+):([0-9]+):func`)
	numbered = regexp.MustCompile(`(?m)^[0-9]+\t(.*)$`)
)

// Generate runs a command, searches what was kept of its output, reads there, answers.
func (s stub) Generate(_ context.Context, in []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	n := 0
	for _, m := range in {
		if m.Role == schema.Assistant {
			n++
		}
	}
	last := in[len(in)-1].Content
	switch found := match.FindStringSubmatch(last); {
	case n == 0:
		return s.call(n, "shell--run", map[string]any{"command": "go doc -all net/http"})
	case n == 1:
		return s.call(n, "workspace--grep", map[string]any{"pattern": `^func \(.*Server\) Shutdown`, "path": keptFile.FindString(last)})
	case n == 2 && found != nil:
		return s.call(n, "workspace--read", map[string]any{"path": found[1], "offset": found[2], "limit": 12})
	case n == 2:
		return schema.AssistantMessage("The documentation does not tell.", nil), nil
	}
	var page []string
	for _, l := range numbered.FindAllStringSubmatch(last, -1) {
		page = append(page, l[1])
	}
	return schema.AssistantMessage(strings.Join(page, "\n"), nil), nil
}

func (s stub) call(n int, name string, args map[string]any) (*schema.Message, error) {
	if !slices.Contains(s.offered, name) {
		return nil, errors.New(name + " is not offered")
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return schema.AssistantMessage("", []schema.ToolCall{{
		ID: fmt.Sprintf("call_%02d", n+1), Type: "function", Function: schema.FunctionCall{Name: name, Arguments: string(raw)},
	}}), nil
}
