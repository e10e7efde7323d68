package membrane

import (
	"encoding/json"

	"github.com/weir-run/weir/internal/canon"
)

// Own marks what a provider sent of a block with the dialect and the model that made it, as it stands
// in [Block.Raw]. Signatures and encrypted parts mean something only to the model that made them, so
// an adapter must know whose they are when it encodes a message again. block is JSON.
func Own(dialect, model string, block json.RawMessage) json.RawMessage {
	raw := canon.AppendString([]byte(`{"dialect":`), dialect)
	raw = canon.AppendString(append(raw, `,"model":`...), model)
	return append(append(append(raw, `,"block":`...), block...), '}')
}

// Owned gives what [Own] marked, when the mark is this dialect's, and the model that made it.
func Owned(dialect string, raw json.RawMessage) (model string, block json.RawMessage, ok bool) {
	var mark struct {
		Dialect, Model string
		Block          json.RawMessage
	}
	if len(raw) == 0 || json.Unmarshal(raw, &mark) != nil || mark.Dialect != dialect || mark.Block == nil {
		return "", nil, false
	}
	return mark.Model, mark.Block, true
}
