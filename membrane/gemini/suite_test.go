package gemini_test

import (
	"flag"
	"testing"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/gemini"
	"github.com/weir-run/weir/membrane/membranetest"
)

var update = flag.Bool("update", false, "write what is seen into testdata")

// secret is the key of all tests: it must stand in no error.
const secret = "sk-suite-secret"

func newModel(t testing.TB, url, name string, more ...func(*gemini.Config)) *gemini.Model {
	t.Helper()
	cfg := gemini.Config{APIKey: secret, BaseURL: url}
	for _, f := range more {
		f(&cfg)
	}
	m, err := gemini.New(name, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestSuite holds the dialect to what holds for all.
func TestSuite(t *testing.T) {
	t.Parallel()
	const whole = "the provider gives the arguments of a call as a whole object, never as text"
	membranetest.Run(t, membranetest.Adapter{
		New:   func(t testing.TB, url, model string) membrane.Model { return newModel(t, url, model) },
		Split: membranetest.SplitAt("contents"), Dir: "testdata/suite", Secret: secret, Check: checkBody, Update: *update,
		Lacks: map[string]string{
			"args_not_json": whole,
			"cut_in_call":   whole + "; a call that it cannot read ends the answer with MALFORMED_FUNCTION_CALL",
			"paused":        "the provider has no reason to stop that asks to be asked again",
			"context_full":  "the provider says that an answer was cut, not whether by the limit of the answer or of the context",
		},
	})
}
