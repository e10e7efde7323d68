package gemini

import (
	"bytes"

	"github.com/weir-run/weir/membrane"
	"github.com/weir-run/weir/membrane/wire"
)

// Assembled puts an answer together from chunks, a line each.
func Assembled(m *Model, lines []byte) (membrane.Done, error) {
	a := &answer{of: m, request: membrane.Request{Head: []byte(`{"contents":[`)}}
	for line := range bytes.Lines(lines) {
		if _, _, err := a.Read(wire.Event{Data: line}); err != nil {
			return membrane.Done{}, err
		}
	}
	return a.Done()
}

// Fit is the filter of schemas.
var Fit = fit
