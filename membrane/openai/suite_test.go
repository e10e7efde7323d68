package openai_test

import (
	"encoding/json"
	"flag"
	"testing"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/membranetest"
	"github.com/weir-run/weir/membrane/openai"
)

var update = flag.Bool("update", false, "write what is seen into testdata")

// secret is the key of the suite: it must stand in no error.
const secret = "sk-suite-secret"

// newModel makes a model of a server that is not known, but takes images.
func newModel(t testing.TB, url, name string, more ...func(*openai.Config)) *openai.Model {
	t.Helper()
	quirks := openai.QuirksOf(url)
	quirks.Images = true
	cfg := openai.Config{APIKey: secret, BaseURL: url, Quirks: &quirks}
	for _, f := range more {
		f(&cfg)
	}
	m, err := openai.New(name, cfg)
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
		Split: membranetest.SplitAt("messages"), Dir: "testdata/suite", Secret: secret, Check: checkBody, Update: *update,
		Lacks: map[string]string{"paused": "Chat Completions has no reason to stop that asks to be asked again"},
	})
}

// checkBody holds a body to what every server wants: a result for each call, right behind the answer that
// calls, arguments that are read as an object, and a content.
func checkBody(t testing.TB, body []byte) {
	t.Helper()
	var sent struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role    string
			Content json.RawMessage
			Calls   []struct {
				ID, Type string
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
			Of string `json:"tool_call_id"`
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		t.Errorf("the body is not read: %v\n%s", err, body)
		return
	}
	if sent.Model == "" || !sent.Stream {
		t.Errorf("no model, or no stream: %s", body)
	}
	var due []string
	for i, m := range sent.Messages {
		switch {
		case m.Role == "tool" && (len(due) == 0 || due[0] != m.Of):
			t.Errorf("message %d is the result of %q, and due is %q", i, m.Of, due)
			return
		case m.Role == "tool":
			due = due[1:]
			continue
		case len(due) > 0:
			t.Errorf("message %d comes before the results of %q", i, due)
			return
		}
		if kind := string(m.Content); kind == "" || kind == "null" && len(m.Calls) == 0 {
			t.Errorf("message %d has no content", i)
		}
		for _, c := range m.Calls {
			var args map[string]any
			if c.Type != "function" || len(c.ID) > 40 || c.ID == "" || json.Unmarshal([]byte(c.Function.Arguments), &args) != nil {
				t.Errorf("message %d has the call %+v", i, c)
			}
			due = append(due, c.ID)
		}
	}
}
