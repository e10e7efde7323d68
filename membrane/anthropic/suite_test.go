package anthropic_test

import (
	"bytes"
	"testing"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/anthropic"
	"github.com/weir-run/weir/membrane/membranetest"
)

// TestSuite holds the dialect to what holds for all.
func TestSuite(t *testing.T) {
	t.Parallel()
	membranetest.Run(t, membranetest.Adapter{
		New: func(t testing.TB, url, model string) membrane.Model {
			t.Helper()
			m, err := anthropic.New(model, anthropic.Config{APIKey: "sk-suite-secret", BaseURL: url})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		Split: membranetest.SplitAt("messages"), Dir: "testdata/suite", Secret: "sk-suite-secret",
		Frame: membranetest.Named, Check: checkBody, Update: *update,
		// A round of many blocks carries a marker that is no part of the message.
		Unmarked: func(fragment []byte) []byte {
			return bytes.ReplaceAll(fragment, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
		},
	})
}
