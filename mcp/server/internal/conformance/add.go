// Package conformance has the tools, resources and prompts that the protocol's conformance suite calls for.
//
// The suite (npm @modelcontextprotocol/conformance) drives a server through features that Weir's own tools
// do not use, under names that it fixes: blocks of every type, requests to the client, input that is asked
// for within a result, subscriptions. They stand here, beside Weir's tools on the same server, so that what
// is tested is the server that is served.
package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"image"
	"image/color"
	"image/png"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Add adds everything to a server.
func Add(p *mcp.Server) {
	addContent(p)
	addLive(p)
	addChanges(p)
	addInput(p)
	addResources(p)
	addPrompts(p)
}

// Options sets what only options can set: completion and subscriptions are taken, and the capabilities are
// those that follow from what is added.
func Options(o *mcp.ServerOptions) {
	o.Capabilities = nil
	o.CompletionHandler = func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
	}
	o.SubscribeHandler = func(context.Context, *mcp.SubscribeRequest) error { return nil }
	o.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
}

// handler answers a call of one of the suite's tools.
type handler func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

const noArguments = `{"type":"object"}`

// add adds one tool.
func add(p *mcp.Server, name, description, schema string, h handler) {
	p.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}, mcp.ToolHandler(h))
}

// says is a result of one text.
func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// addContent adds the tools that answer with fixed blocks.
func addContent(p *mcp.Server) {
	text := &mcp.TextContent{Text: "This is a simple text response for testing."}
	picture := &mcp.ImageContent{Data: pixel(), MIMEType: "image/png"}
	sound := &mcp.AudioContent{Data: silence(), MIMEType: "audio/wav"}
	embedded := func(uri, kind, text string) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: kind, Text: text}}
	}
	for _, t := range []struct {
		name, description string
		blocks            []mcp.Content
	}{
		{"test_simple_text", "Answers with a text block.", []mcp.Content{text}},
		{"test_image_content", "Answers with an image block.", []mcp.Content{picture}},
		{"test_audio_content", "Answers with an audio block.", []mcp.Content{sound}},
		{
			"test_embedded_resource", "Answers with an embedded resource.",
			[]mcp.Content{embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")},
		},
		{
			"test_multiple_content_types", "Answers with a text, an image and a resource.",
			[]mcp.Content{
				&mcp.TextContent{Text: "Multiple content types test:"}, picture,
				embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
			},
		},
	} {
		add(p, t.name, t.description, noArguments, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: t.blocks}, nil
		})
	}
	add(p, "test_error_handling", "Always fails.", noArguments, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := says("This tool intentionally returns an error for testing")
		r.IsError = true
		return r, nil
	})
	add(p, "json_schema_2020_12_tool", "Has a schema with the vocabulary of JSON Schema 2020-12.", schema202012, echo)
	add(p, "test_x_mcp_header", "Has an argument that is mirrored into a header.",
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`, echo)
}

// echo answers with its arguments.
func echo(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return says("called with " + string(req.Params.Arguments)), nil
}

// schema202012 has each keyword whose passage the suite looks for.
const schema202012 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",` +
	`"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},` +
	`"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},` +
	`"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},` +
	`"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],` +
	`"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},` +
	`"then":{"required":["phone"]},"else":{"required":["email"]},"additionalProperties":false}`

// pixel is a picture of one red point.
func pixel() []byte {
	p := image.NewRGBA(image.Rect(0, 0, 1, 1))
	p.Set(0, 0, color.RGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		return nil // a buffer takes everything
	}
	return b.Bytes()
}

// silence is a sound of one sample: RIFF WAVE, PCM, one channel, 8 kHz, 16 bits.
func silence() []byte {
	le := binary.LittleEndian
	b := append([]byte("RIFF"), le.AppendUint32(nil, 38)...)
	b = append(b, "WAVEfmt "...)
	b = le.AppendUint32(b, 16)
	b = le.AppendUint16(b, 1)
	b = le.AppendUint16(b, 1)
	b = le.AppendUint32(b, 8000)
	b = le.AppendUint32(b, 16000)
	b = le.AppendUint16(b, 2)
	b = le.AppendUint16(b, 16)
	b = append(b, "data"...)
	b = le.AppendUint32(b, 2)
	return append(b, 0, 0)
}

// errUnread says that arguments are not what the schema asks for.
var errUnread = errors.New("the arguments cannot be read")
