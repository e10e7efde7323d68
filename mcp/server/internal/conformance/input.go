package conformance

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The forms of what is asked for within a result.
const (
	nameForm    = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
	colorForm   = `{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`
	contextForm = `{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`
	confirmForm = `{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`
)

// form asks the user.
func form(message, schema string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)}
}

// needs is a result that asks for input (revision 2026-07-28, multi-round-trip requests).
func needs(state string, asked mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: asked, RequestState: state}
}

// seal signs a state, so that what comes back is known to be what was sent.
type seal struct{ key []byte }

func newSeal() seal {
	key := make([]byte, 32)
	rand.Read(key)
	return seal{key}
}

func (s seal) sum(state string) string {
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(state))
	return hex.EncodeToString(m.Sum(nil))
}

// close gives a state with its signature.
func (s seal) close(state string) string { return state + "." + s.sum(state) }

// open gives the state of what close gave; an error of the protocol for anything else.
func (s seal) open(sealed string) (string, error) {
	i := strings.LastIndexByte(sealed, '.')
	if i < 0 || !hmac.Equal([]byte(sealed[i+1:]), []byte(s.sum(sealed[:i]))) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is not what was sent"}
	}
	return sealed[:i], nil
}

// accepted gives a field of what the user answered to a form; empty when it was not accepted.
func accepted(all mcp.InputResponseMap, key, field string) string {
	r, ok := all[key].(*mcp.ElicitResult)
	if !ok || r == nil || r.Action != "accept" || r.Content[field] == nil {
		return ""
	}
	return fmt.Sprint(r.Content[field])
}

// completed gives the text that the client's model answered.
func completed(all mcp.InputResponseMap, key string) (string, bool) {
	r, ok := all[key].(*mcp.CreateMessageWithToolsResult) //nolint:staticcheck // deprecated, and still tested
	if !ok || r == nil {
		return "", false
	}
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			return t.Text, true
		}
	}
	return "", true
}

// roots gives the folders that the client offers.
func roots(all mcp.InputResponseMap, key string) ([]string, bool) {
	r, ok := all[key].(*mcp.ListRootsResult) //nolint:staticcheck // deprecated, and still tested
	if !ok || r == nil {
		return nil, false
	}
	var uris []string
	for _, root := range r.Roots {
		uris = append(uris, root.URI)
	}
	return uris, true
}

// addInput adds the tools that ask for input within their result.
func addInput(p *mcp.Server) {
	const prefix = "test_input_required_result_"
	s := newSeal()
	for name, h := range map[string]handler{
		"elicitation": inputName, "sampling": inputCompletion, "list_roots": inputRoots,
		"request_state": s.inputConfirm, "tampered_state": s.inputConfirm,
		"multiple_inputs": s.inputMany, "multi_round": s.inputTwice, "capabilities": inputPossible,
	} {
		add(p, prefix+name, "Asks for input within its result: "+strings.ReplaceAll(name, "_", " ")+".", noArguments, h)
	}
}

func inputName(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if name := accepted(req.Params.InputResponses, "user_name", "name"); name != "" {
		return says("Hello, " + name + "!"), nil
	}
	return needs("", mcp.InputRequestMap{"user_name": form("What is your name?", nameForm)}), nil
}

func inputCompletion(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if text, ok := completed(req.Params.InputResponses, "capital_question"); ok {
		return says("The model says: " + text), nil
	}
	return needs("", mcp.InputRequestMap{"capital_question": asking("What is the capital of France?")}), nil
}

func inputRoots(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if uris, ok := roots(req.Params.InputResponses, "client_roots"); ok {
		return says(fmt.Sprintf("%d roots: %s", len(uris), strings.Join(uris, ", "))), nil
	}
	return needs("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}), nil //nolint:staticcheck // deprecated, and still tested
}

// inputConfirm asks once and takes the answer only with the state that it sent.
func (s seal) inputConfirm(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState != "" {
		if _, err := s.open(req.Params.RequestState); err != nil {
			return nil, err
		}
		if accepted(req.Params.InputResponses, "confirm", "ok") != "" {
			return says("state-ok: it was confirmed"), nil
		}
	}
	return needs(s.close("confirm"), mcp.InputRequestMap{"confirm": form("Please confirm.", confirmForm)}), nil
}

// inputMany asks for input of three kinds at once.
func (s seal) inputMany(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	in := req.Params.InputResponses
	name := accepted(in, "user_name", "name")
	greeting, greeted := completed(in, "greeting")
	uris, listed := roots(in, "client_roots")
	if name != "" && greeted && listed {
		if _, err := s.open(req.Params.RequestState); err != nil {
			return nil, err
		}
		return says(fmt.Sprintf("%s %s (%d roots)", greeting, name, len(uris))), nil
	}
	return needs(s.close("many"), mcp.InputRequestMap{
		"user_name": form("What is your name?", nameForm), "greeting": asking("Write a greeting."),
		"client_roots": &mcp.ListRootsParams{}, //nolint:staticcheck // deprecated, and still tested
	}), nil
}

// inputTwice asks twice. What it knows travels in the state, for the server remembers nothing.
func (s seal) inputTwice(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Params.RequestState == "" {
		return needs(s.close("1"), mcp.InputRequestMap{"step1": form("Step 1: what is your name?", nameForm)}), nil
	}
	state, err := s.open(req.Params.RequestState)
	if err != nil {
		return nil, err
	}
	if state == "1" {
		name := accepted(req.Params.InputResponses, "step1", "name")
		return needs(s.close("2 "+name), mcp.InputRequestMap{"step2": form("Step 2: which color do you like?", colorForm)}), nil
	}
	return says(strings.TrimPrefix(state, "2 ") + " likes " + accepted(req.Params.InputResponses, "step2", "color")), nil
}

// inputPossible asks only for what the client says that it can give.
func inputPossible(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if len(req.Params.InputResponses) > 0 {
		return says("what was asked for has come"), nil
	}
	asked := mcp.InputRequestMap{}
	if c := req.ClientCapabilities(); c != nil {
		if c.Elicitation != nil {
			asked["user_name"] = form("What is your name?", nameForm)
		}
		if c.Sampling != nil { //nolint:staticcheck // deprecated, and still tested
			asked["greeting"] = asking("Write a short greeting.")
		}
		if c.RootsV2 != nil { //nolint:staticcheck // deprecated, and still tested
			asked["client_roots"] = &mcp.ListRootsParams{} //nolint:staticcheck // deprecated, and still tested
		}
	}
	if len(asked) == 0 {
		return says("the client can give no input"), nil
	}
	return needs("", asked), nil
}
