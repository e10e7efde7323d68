package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/client/internal/wire"
)

// call calls a tool to its end: where the server asks for input, it is given and the call is sent again, at
// most [MaxTrips] times, with the server's requestState byte for byte as it came.
func (s *server) call(ctx context.Context, name string, args json.RawMessage) (json.RawMessage, *RPCError, error) {
	base := []wire.Member{{Key: "name", Value: quote(name)}, {Key: "arguments", Value: arguments(args)}}
	params := base
	for trip := 1; ; trip++ {
		result, rpc, err := s.once(ctx, "tools/call", name, params)
		if err != nil || rpc != nil {
			return result, rpc, err
		}
		top, _ := object(result)
		if kind, _ := canon.Unquote(top["resultType"]); kind != "input_required" {
			return result, nil, nil
		}
		if trip == MaxTrips {
			return nil, nil, fmt.Errorf("the server asked for more each of the %d times that the call was sent, so it is not sent again", MaxTrips)
		}
		params = slices.Clone(base)
		answers, asked, err := s.inputs(ctx, top["inputRequests"])
		if err != nil {
			return nil, nil, err
		}
		if asked {
			params = append(params, wire.Member{Key: "inputResponses", Value: answers})
		} else if err := pause(ctx, s.opts.Backoff*time.Duration(trip)); err != nil {
			return nil, nil, err
		}
		if state := top["requestState"]; state != nil {
			params = append(params, wire.Member{Key: "requestState", Value: state})
		}
	}
}

// arguments gives arguments as they are sent: absent ones are {}.
func arguments(args json.RawMessage) json.RawMessage {
	if canon.Kind(args) == "" || canon.Kind(args) == "null" {
		return json.RawMessage("{}")
	}
	return args
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxInputs is how many things a server may ask for at once.
const maxInputs = 32

// inputs answers what the server asks for. asked is false when it asks for nothing but a retry.
func (s *server) inputs(ctx context.Context, raw json.RawMessage) (answers json.RawMessage, asked bool, err error) {
	requests, ok := wire.Members(raw)
	switch {
	case raw != nil && !ok && canon.Kind(raw) != "null":
		return nil, false, fmt.Errorf("the server asks for input in a form that is not known: %s", excerpt(raw))
	case len(requests) > maxInputs:
		return nil, false, fmt.Errorf("the server asks for %d inputs at once; at most %d are answered", len(requests), maxInputs)
	case len(requests) == 0:
		return nil, false, nil
	}
	var out []wire.Member
	for _, r := range requests {
		request, _ := object(r.Value)
		method, _ := canon.Unquote(request["method"])
		answer := json.RawMessage(`{"roots":[]}`)
		switch {
		case method == "roots/list":
		case method == "elicitation/create" && s.opts.Elicit != nil:
			if answer, err = s.opts.Elicit(ctx, s.name, request["params"]); err != nil {
				return nil, false, fmt.Errorf("ask for what the server wants to know (%.60q): %w", r.Key, err)
			}
		default:
			params, _ := object(request["params"])
			message, _ := canon.Unquote(params["message"])
			return nil, false, fmt.Errorf("the server asks for input that cannot be given here (%.40s: %.300q), so the call was not completed. Give what it asks for in the arguments, if they can hold it", method, message)
		}
		out = append(out, wire.Member{Key: r.Key, Value: answer})
	}
	return wire.Object(out), true, nil
}

// elicited asks a person in the handshake era, where the server's question is a request of its own.
func (s *server) elicited(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	params, err := canon.Marshal(req.Params)
	if err != nil {
		return nil, fmt.Errorf("read what the server asks: %w", err)
	}
	answer, err := s.opts.Elicit(ctx, s.name, params)
	if err != nil {
		return nil, err
	}
	var result mcp.ElicitResult
	if err := json.Unmarshal(answer, &result); err != nil {
		return nil, errors.New("the answer to the server's question is not of the form of an elicitation's result")
	}
	return &result, nil
}
