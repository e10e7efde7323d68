// Command conformance is the client that the MCP conformance suite drives: it does with Weir's client what a
// scenario asks of one.
//
// The suite gives the server's URL as the argument, the scenario's name in MCP_CONFORMANCE_SCENARIO and what
// belongs to it in MCP_CONFORMANCE_CONTEXT. See make conformance-client.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/weir-run/weir/mcp/client"
)

func main() {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Getenv("MCP_CONFORMANCE_CONTEXT")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1) //nolint:forbidigo // it is a program of its own: the suite reads the status
	}
}

// server is the name that the suite's server gets.
const server = "suite"

func run(ctx context.Context, args []string, scenario, given string) error {
	if len(args) != 1 {
		return errors.New("give the URL of the suite's server")
	}
	o := client.Options{}
	switch scenario {
	case "elicitation-sep1034-client-defaults":
		o.Elicit = accept(`{}`)
	case "sep-2322-client-request-state":
		o.Elicit = accept(`{"confirmed":true}`)
	}
	set, err := client.Connect(ctx, client.Config{Servers: map[string]client.Server{server: {URL: args[0]}}}, o)
	if err != nil {
		return err
	}
	defer set.Close()
	if s := set.Servers()[0]; s.Err != nil {
		return s.Err
	}
	for _, p := range set.Servers()[0].Problems {
		fmt.Fprintln(os.Stderr, p)
	}
	return play(ctx, set, scenario, given)
}

func accept(content string) func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return json.RawMessage(`{"action":"accept","content":` + content + `}`), nil
	}
}

// play does what a scenario looks at.
func play(ctx context.Context, set *client.Set, scenario, given string) error {
	switch scenario {
	case "tools_call":
		return call(ctx, set, "add_numbers", `{"a":5,"b":3}`)
	case "elicitation-sep1034-client-defaults":
		return call(ctx, set, "test_client_elicitation_defaults", `{}`)
	case "sse-retry":
		return call(ctx, set, "test_reconnection", `{}`)
	case "http-invalid-tool-headers":
		for _, t := range set.Tools() {
			_ = call(ctx, set, remote(set, t.Name), `{"region":"us-west1"}`) // what is looked at is which are called
		}
	case "sep-2322-client-request-state":
		for _, name := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			if err := call(ctx, set, name, `{}`); err != nil {
				fmt.Fprintln(os.Stderr, err) // one of them is refused, which is right
			}
		}
	case "http-standard-headers":
		return standard(ctx, set)
	case "http-custom-headers":
		var c struct {
			Calls []struct {
				Name string          `json:"name"`
				Args json.RawMessage `json:"arguments"`
			} `json:"toolCalls"`
		}
		if err := json.Unmarshal([]byte(given), &c); err != nil {
			return fmt.Errorf("read the calls of the scenario: %w", err)
		}
		for _, one := range c.Calls {
			if err := call(ctx, set, one.Name, string(one.Args)); err != nil {
				fmt.Fprintln(os.Stderr, err) // the suite judges what was sent
			}
		}
	case "json-schema-2020-12-preservation":
		for _, t := range set.Tools() {
			if remote(set, t.Name) == "json_schema_2020_12_tool" {
				return call(ctx, set, "json_schema_echo", `{"schema":`+string(t.Schema)+`}`)
			}
		}
		return errors.New("the tool whose schema is looked at is not listed")
	}
	return nil // connecting and listing is all that the others look at
}

func remote(set *client.Set, name string) string {
	_, tool, _ := set.Origin(name)
	return tool
}

// call calls a tool of the suite's server by the name that the model would use.
func call(ctx context.Context, set *client.Set, name, args string) error {
	result, err := set.Call(ctx, server, name, json.RawMessage(args))
	if err != nil {
		return err
	}
	if result.IsError {
		return fmt.Errorf("%s: %s", name, result.Error)
	}
	return nil
}

// standard sends one request of each kind.
func standard(ctx context.Context, set *client.Set) error {
	if tools := set.Tools(); len(tools) > 0 {
		if err := call(ctx, set, remote(set, tools[0].Name), `{}`); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	prompts, err := set.PromptsRaw(ctx, server)
	if err != nil || len(prompts) == 0 {
		return err
	}
	var named struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(prompts[0], &named); err != nil {
		return err
	}
	_, _, err = set.PromptRaw(ctx, server, named.Name, nil)
	return err
}
