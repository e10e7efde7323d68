// Package canon makes stable JSON bytes that keep order and digits.
//
// Bytes that came from outside stay as they were written: [CleanJSON] touches
// nothing but what is not text, [Compact] nothing but white space. Go values
// are written by one encoder of our own ([Marshal]), so the bytes depend on
// neither the Go release nor an experiment of its json package. [Canonical]
// makes the form that is hashed, [Equal] compares values.
//
// One rule of what is text holds in all of them. A surrogate that stands alone
// (a \ud83d escape, or its three bytes in a Go string) and a byte that is no
// UTF-8 become U+FFFD; a pair is the character it means. Nesting ends at
// [MaxDepth]. No input makes a function of this package panic.
package canon

// MaxDepth is how many arrays and objects may be open at once. It is the limit
// of encoding/json, so what is valid here can be decoded there.
const MaxDepth = 10_000
