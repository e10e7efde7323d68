package membrane

import "bytes"

// Prefixed reports whether request b goes on where request a ended: the heads are equal, and the
// message bytes of a are the first message bytes of b, up to the end of an element. It is what holds
// between any two consecutive requests of one epoch.
func Prefixed(a, b Request) bool {
	if !bytes.Equal(a.Head, b.Head) || !bytes.HasPrefix(b.Messages, a.Messages) {
		return false
	}
	rest := b.Messages[len(a.Messages):]
	return len(rest) == 0 || len(a.Messages) == 0 || rest[0] == ','
}
