package history

import (
	"crypto/sha256"
	"encoding/binary"
)

// Chain is the hash that ties a fragment to all before it: SHA-256 of the previous chain, the length of
// the bytes (8 bytes, big-endian) and the bytes. Before the first fragment the chain is all zeros.
func Chain(previous [32]byte, b []byte) [32]byte {
	h := sha256.New()
	h.Write(previous[:])
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(b)))
	h.Write(n[:])
	h.Write(b)
	return [32]byte(h.Sum(nil))
}
