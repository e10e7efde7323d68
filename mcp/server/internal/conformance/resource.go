package conformance

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addResources adds a text, a picture, one that can be watched, and a template.
func addResources(p *mcp.Server) {
	for _, r := range []struct{ uri, name, kind, text string }{
		{"test://static-text", "static text", "text/plain", "This is the content of the static text resource."},
		{"test://static-binary", "static binary", "image/png", ""},
		{"test://watched-resource", "watched resource", "text/plain", "Watched resource content"},
	} {
		p.AddResource(&mcp.Resource{URI: r.uri, Name: r.name, Description: "A resource of the suite: " + r.name, MIMEType: r.kind},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				c := &mcp.ResourceContents{URI: r.uri, MIMEType: r.kind, Text: r.text}
				if r.text == "" {
					c.Blob = pixel()
				}
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{c}}, nil
			})
	}
	const before, after = "test://template/", "/data"
	p.AddResourceTemplate(&mcp.ResourceTemplate{
		URITemplate: before + "{id}" + after, Name: "template", Description: "A resource of the suite for any id", MIMEType: "application/json",
	}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, before), after)
		data, err := json.Marshal(map[string]any{"id": id, "templateTest": true, "data": "Data for ID: " + id})
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
			URI: req.Params.URI, MIMEType: "application/json", Text: string(data),
		}}}, nil
	})
}

// addPrompt adds a prompt. In its texts and URIs, {name} stands for the argument of that name.
func addPrompt(p *mcp.Server, name string, arguments []string, content ...mcp.Content) {
	prompt := &mcp.Prompt{Name: name, Description: "A prompt of the suite"}
	for _, a := range arguments {
		prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: a, Description: "An argument", Required: true})
	}
	p.AddPrompt(prompt, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		var pairs []string
		for _, a := range arguments {
			pairs = append(pairs, "{"+a+"}", req.Params.Arguments[a])
		}
		fill := strings.NewReplacer(pairs...)
		r := &mcp.GetPromptResult{Description: prompt.Description}
		for _, c := range content {
			switch x := c.(type) {
			case *mcp.TextContent:
				c = &mcp.TextContent{Text: fill.Replace(x.Text)}
			case *mcp.EmbeddedResource:
				c = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
					URI: fill.Replace(x.Resource.URI), MIMEType: x.Resource.MIMEType, Text: x.Resource.Text,
				}}
			}
			r.Messages = append(r.Messages, &mcp.PromptMessage{Role: "user", Content: c})
		}
		return r, nil
	})
}

func addPrompts(p *mcp.Server) {
	addPrompt(p, "test_simple_prompt", nil, &mcp.TextContent{Text: "This is a simple prompt for testing."})
	addPrompt(p, "test_prompt_with_arguments", []string{"arg1", "arg2"},
		&mcp.TextContent{Text: "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"})
	addPrompt(p, "test_prompt_with_embedded_resource", []string{"resourceUri"},
		&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{
			URI: "{resourceUri}", MIMEType: "text/plain", Text: "Embedded resource content for testing.",
		}},
		&mcp.TextContent{Text: "Please process the embedded resource above."})
	addPrompt(p, "test_prompt_with_image", nil,
		&mcp.ImageContent{Data: pixel(), MIMEType: "image/png"}, &mcp.TextContent{Text: "Please analyze the image above."})
	p.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "A prompt that asks for input within its result"},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if text := accepted(req.Params.InputResponses, "user_context", "context"); text != "" {
				return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "Context: " + text}}}}, nil
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": form("What is it about?", contextForm)}}, nil
		})
}
