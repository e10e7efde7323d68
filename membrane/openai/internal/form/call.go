package form

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/weir-run/weir/membrane"
)

// IDs says which ids of calls a server takes.
type IDs string

// The kinds of ids.
const (
	// IDs40 are at most 40 characters of A-Z a-z 0-9 _ -, as Chat Completions takes them.
	IDs40 IDs = "40"
	// IDs9 are nine letters and digits, as Mistral takes them.
	IDs9 IDs = "9"
)

// Wire gives the id under which a call stands on the wire: itself where it fits, else one that is made
// of nothing but the id.
func (k IDs) Wire(id string) string {
	name := membrane.WireName(id)
	switch {
	case k == IDs9 && !nine(name):
		return digest(id)[:9]
	case k == IDs40 && len(name) > 40:
		return name[:22] + "_x" + digest(id)[:16]
	}
	return name
}

func nine(s string) bool {
	for _, c := range []byte(s) {
		if c == '_' || c == '-' {
			return false
		}
	}
	return len(s) == 9
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// FullNames gives the calls the names that their tools have outside of the wire. descriptions reads the
// descriptions of the tools in the head that was sent, so this works after a restart, with a stored head.
func FullNames(blocks []membrane.Block, descriptions func() map[string]string) {
	var described map[string]string
	for i, b := range blocks {
		if b.Type != membrane.Call {
			continue
		}
		full, ok := membrane.FullName(b.Tool, "")
		if !ok {
			if described == nil {
				described = descriptions()
			}
			full, ok = membrane.FullName(b.Tool, described[b.Tool])
		}
		if ok {
			blocks[i].Tool = full
		}
	}
}
