package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pause stands between two messages of one call, so that they do not come as one.
const pause = 50 * time.Millisecond

// addLive adds the tools that talk with the client while they run.
func addLive(p *mcp.Server) {
	add(p, "test_tool_with_logging", "Logs while it runs.", noArguments, logs)
	add(p, "test_tool_with_progress", "Reports progress while it runs.", noArguments, progresses)
	add(p, "test_reconnection", "Closes its stream and answers on the next one.", noArguments, reconnects)
	add(p, "test_missing_capability", "Needs the sampling capability.", noArguments, needsSampling)
	add(p, "test_streaming_elicitation", "Answers on a stream that carries no request.", noArguments,
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return says("nothing was asked"), nil
		})
	add(p, "test_logging_tool", "Logs once, for those who asked for it.", noArguments,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return says("logged where it was asked for"), log(ctx, req, "test_logging_tool was called")
		})
	add(p, "test_sampling", "Asks the client's model.",
		`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`, samples)
	add(p, "test_elicitation", "Asks the user.",
		`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct{ Message string }
			if json.Unmarshal(req.Params.Arguments, &in) != nil {
				return nil, errUnread
			}
			return elicits(ctx, req, in.Message, `{"type":"object","properties":{"username":{"type":"string","description":"How to call you"},"email":{"type":"string","description":"Where to write to"}},"required":["username","email"]}`)
		})
	for name, schema := range map[string]string{
		"test_elicitation_sep1034_defaults": defaults, "test_elicitation_sep1330_enums": enums,
	} {
		add(p, name, "Asks the user with a form.", noArguments, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return elicits(ctx, req, "Please fill in the form.", schema)
		})
	}
}

// log sends a message to clients that take messages of this level. The suite tests it while it is in the protocol.
func log(ctx context.Context, req *mcp.CallToolRequest, text string) error {
	return req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: text}) //nolint:staticcheck // deprecated, and still tested
}

func logs(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	for _, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if err := log(ctx, req, text); err != nil {
			return nil, err
		}
		time.Sleep(pause)
	}
	return says("logged three times"), nil
}

func progresses(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	token := req.Params.GetProgressToken()
	for _, done := range []float64{0, 50, 100} {
		if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100}); err != nil {
			return nil, err
		}
		time.Sleep(pause)
	}
	return says(fmt.Sprint(token)), nil
}

func reconnects(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Extra != nil && req.Extra.CloseSSEStream != nil {
		req.Extra.CloseSSEStream(mcp.CloseSSEStreamArgs{RetryAfter: 10 * time.Millisecond})
	}
	time.Sleep(2 * pause)
	return says("answered after the stream was closed"), nil
}

// needsSampling fails for clients without the capability, in the form of revision 2026-07-28.
func needsSampling(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if c := req.ClientCapabilities(); c != nil && c.Sampling != nil { //nolint:staticcheck // deprecated, and still tested
		return says("the client has the capability"), nil
	}
	data, err := json.Marshal(mcp.MissingRequiredClientCapabilityData{
		RequiredCapabilities: &mcp.ClientCapabilities{Sampling: &mcp.SamplingCapabilities{}}, //nolint:staticcheck // deprecated, and still tested
	})
	if err != nil {
		return nil, err
	}
	return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "this tool needs the sampling capability", Data: data}
}

func samples(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Prompt string }
	if json.Unmarshal(req.Params.Arguments, &in) != nil {
		return nil, errUnread
	}
	r, err := req.Session.CreateMessage(ctx, asking(in.Prompt)) //nolint:staticcheck // deprecated, and still tested
	if err != nil {
		return nil, fmt.Errorf("ask the client's model: %w", err)
	}
	text, ok := r.Content.(*mcp.TextContent)
	if !ok {
		return says("the model answered with something else than a text"), nil
	}
	return says("LLM response: " + text.Text), nil
}

// asking is a question to the client's model.
func asking(prompt string) *mcp.CreateMessageParams { //nolint:staticcheck // deprecated, and still tested
	return &mcp.CreateMessageParams{ //nolint:staticcheck // deprecated, and still tested
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: prompt}}}, //nolint:staticcheck // deprecated, and still tested
		MaxTokens: 100,
	}
}

func elicits(ctx context.Context, req *mcp.CallToolRequest, message, schema string) (*mcp.CallToolResult, error) {
	r, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)})
	if err != nil {
		return nil, fmt.Errorf("ask the user: %w", err)
	}
	content, err := json.Marshal(r.Content)
	if err != nil {
		return nil, err
	}
	return says(fmt.Sprintf("User response: action=%s, content=%s", r.Action, content)), nil
}

// The forms of two tools: every primitive with a default, and every kind of choice.
const (
	defaults = `{"type":"object","properties":{` +
		`"name":{"type":"string","description":"A name","default":"John Doe"},` +
		`"age":{"type":"integer","description":"An age","default":30},` +
		`"score":{"type":"number","description":"A score","default":95.5},` +
		`"status":{"type":"string","description":"A status","enum":["active","inactive","pending"],"default":"active"},` +
		`"verified":{"type":"boolean","description":"Whether it was verified","default":true}},"required":[]}`
	enums = `{"type":"object","properties":{` +
		`"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},` +
		`"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},` +
		`"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},` +
		`"untitledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"type":"string","enum":["option1","option2","option3"]}},` +
		`"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},` +
		`"required":[]}`
)

// addChanges adds the tools that change the lists.
func addChanges(p *mcp.Server) {
	add(p, "test_trigger_tool_change", "Changes the list of tools.", noArguments,
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			// Adding a tool again counts as a change, and is told to those who listen.
			add(p, "test_transient_tool", "Was added while the server runs.", noArguments, echo)
			return says("the list of tools was changed"), nil
		})
	add(p, "test_trigger_prompt_change", "Changes the list of prompts.", noArguments,
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			addPrompt(p, "test_transient_prompt", nil, &mcp.TextContent{Text: "added while the server runs"})
			return says("the list of prompts was changed"), nil
		})
}
