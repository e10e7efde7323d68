package membrane

import (
	"errors"
	"io"
	"unicode/utf8"

	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/tool"
)

// MaxArgsDepth is how many arrays and objects may be open at once in arguments that [ObjectArgs] sends
// as an object.
const MaxArgsDepth = 100

// ObjectArgs gives the arguments of a call as a JSON object, for a dialect that demands one. The
// record keeps the model's own bytes; this is only what is sent back.
//
//   - Absent, empty, blank and null arguments, and a JSON string of any of these, become {}.
//   - An object stays as it is, byte for byte: key order, duplicate keys, digits, spacing.
//   - A JSON string that holds a JSON object becomes that object.
//   - Anything else (cut off, not JSON, an array, a number) becomes {"_unparsed":"…"} with the exact
//     text.
//
// What nests deeper than [MaxArgsDepth] is unparsed too: readers of JSON that stop at 128 levels are
// common, and a request that cannot be read makes the whole conversation unusable.
//
// A request must be text: bytes that are no UTF-8 make arguments unparsed and appear as U+FFFD, and in
// an object a surrogate escape without its other half is written as \ufffd. A provider that refuses
// them would refuse every later request as well.
func ObjectArgs(args []byte) []byte {
	if tool.Absent(args) {
		return []byte("{}")
	}
	if object, ok := objectOf(args); ok {
		return object
	}
	if text, ok := canon.Unquote(args); ok {
		inner := []byte(text)
		if tool.Absent(inner) {
			return []byte("{}")
		}
		if object, ok := objectOf(inner); ok {
			return object
		}
	}
	return append(append([]byte(`{"_unparsed":`), quoted(string(args))...), '}')
}

// objectOf gives args when they are one JSON object that can be sent.
func objectOf(args []byte) ([]byte, bool) {
	if !utf8.Valid(args) {
		return nil, false
	}
	l := canon.NewLexer(args)
	for first := true; ; first = false {
		t, err := l.Next()
		switch {
		case errors.Is(err, io.EOF):
			clean, _ := canon.CleanJSON(args)
			return clean, true
		case err != nil, first && t.Kind != '{', t.Depth >= MaxArgsDepth && (t.Kind == '{' || t.Kind == '['):
			return nil, false
		}
	}
}

// quoted gives s as a JSON string; bytes that are no UTF-8 become U+FFFD.
func quoted(s string) []byte {
	out, err := canon.Marshal(s)
	if err != nil { // only a string beyond canon.MaxBytes
		return []byte(`""`)
	}
	return out
}
