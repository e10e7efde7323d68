package scripted_test

import (
	"strings"
	"testing"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/scripted"
)

// BenchmarkStream answers a request of 4 MB: 170 rounds with a result of 24 KB each.
func BenchmarkStream(b *testing.B) {
	for _, c := range []struct {
		name string
		step scripted.Step
	}{
		{"plain", scripted.Step{Text: "ok"}},
		{"expect the last result", scripted.Step{Text: "ok", Expect: []scripted.Expect{{Result: 1, Contains: "line"}}}},
		{"expect of all", scripted.Step{Text: "ok", Expect: []scripted.Expect{{In: scripted.InAll, Contains: "line"}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			m, err := scripted.New(scripted.Script{AfterEnd: scripted.Repeat, Steps: []scripted.Step{c.step}}, scripted.Config{})
			if err != nil {
				b.Fatal(err)
			}
			env, err := m.EncodeHead(membrane.Head{})
			if err != nil {
				b.Fatal(err)
			}
			text := strings.Repeat("a line of a result that has \"quotes\"\n", 24_000/37)
			var messages []byte
			for range 170 {
				for _, msg := range []membrane.Message{
					{Role: membrane.Assistant, Blocks: []membrane.Block{{Type: membrane.Call, CallID: "c", Tool: "t", Args: []byte(`{}`)}}},
					{Role: membrane.Results, Results: []membrane.Result{{CallID: "c", Tool: "t", Text: text}}},
				} {
					fragment, err := m.EncodeMessage(msg)
					if err != nil {
						b.Fatal(err)
					}
					messages = membrane.Joined(env.Head, messages, fragment)
				}
			}
			r := membrane.Request{Head: env.Head, Messages: messages, Tail: env.Tail}
			b.SetBytes(r.Len())
			for b.Loop() {
				for _, err := range m.Stream(b.Context(), r) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
