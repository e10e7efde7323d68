package responses_test

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/openai/responses"
)

var update = flag.Bool("update", false, "write what is seen into testdata")

// secret is the key of the suite: it must stand in no error.
const secret = "sk-suite-secret"

// newModel makes a model of the provider's own kind behind a local address.
func newModel(t testing.TB, url, name string) *responses.Model {
	t.Helper()
	m, err := responses.New(name, responses.Config{APIKey: secret, BaseURL: url, Reasoning: responses.On, Images: responses.On})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSuite holds the dialect to what holds for all.
func TestSuite(t *testing.T) {
	t.Parallel()
	membranetest.Run(t, membranetest.Adapter{
		New:   func(t testing.TB, url, model string) membrane.Model { return newModel(t, url, model) },
		Split: membranetest.SplitAt("input"), Dir: "testdata/suite", Secret: secret, Frame: membranetest.Named, Check: checkBody, Update: *update,
		Lacks: map[string]string{
			"paused":       "the Responses API has no reason to stop that asks to be asked again",
			"context_full": "a full context is the error context_length_exceeded, and an answer that it cuts is one of max_output_tokens",
		},
	})
}

// checkBody holds a body to what the provider documents: nothing is stored, no item has the id under which
// it would have been, each call has its output, and reasoning is encrypted and followed by something.
func checkBody(t testing.TB, body []byte) {
	t.Helper()
	var sent struct {
		Store   *bool
		Stream  bool
		Include []string
		Tools   []struct{ Strict *bool }
		Input   []struct {
			ID, Type, Role string
			Call           string `json:"call_id"`
			Encrypted      string `json:"encrypted_content"`
			Output         json.RawMessage
			Summary        *[]json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Errorf("the body is not read: %v\n%s", err, body)
		return
	}
	if sent.Store == nil || *sent.Store || !sent.Stream || len(sent.Include) != 1 {
		t.Errorf("the parameters are not those of a conversation that is not stored: %s", body)
	}
	for _, tool := range sent.Tools {
		if tool.Strict == nil || *tool.Strict {
			t.Errorf("a tool is strict: %s", body)
		}
	}
	due := map[string]bool{}
	for i, it := range sent.Input {
		switch it.Type {
		case "function_call":
			if it.Call == "" || due[it.Call] {
				t.Errorf("item %d has the call id %q", i, it.Call)
			}
			due[it.Call] = true
		case "function_call_output":
			if !due[it.Call] || len(it.Output) == 0 {
				t.Errorf("item %d is the output of %q, which is not due", i, it.Call)
			}
			delete(due, it.Call)
		case "reasoning":
			if it.ID == "" || it.Encrypted == "" || it.Summary == nil || i == len(sent.Input)-1 {
				t.Errorf("item %d is reasoning that the provider refuses: %+v", i, it)
			}
			continue
		}
		if it.ID != "" && (it.Type == "message" || it.Type == "function_call") {
			t.Errorf("item %d has the id %s, under which nothing is stored", i, it.ID)
		}
	}
	if len(due) > 0 {
		t.Errorf("calls without an output: %v", due)
	}
}
