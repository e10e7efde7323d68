package history

import (
	"context"
	"time"
)

// Seen is what a conversation last saw of a file.
type Seen struct {
	// Path is how the conversation addresses the file, mount first; at most 4,096 bytes.
	Path string
	// Size is its length in bytes, Changed when it changed last (kept to the nanosecond, from 1678 to 2262),
	// SHA256 the hash of its bytes.
	Size    int64
	Changed time.Time
	SHA256  [32]byte
	// By is the call that saw it; the zero value is nobody.
	By CallID
}

// Sights are what conversations last saw of files. They are no part of what a conversation said: they tell
// it later that a file is another one now.
type Sights interface {
	// PutSeen keeps what a conversation has just seen, in place of what it saw of the same path before.
	// ErrStale unless this handle drives the conversation, ErrNotFound when there is no such conversation.
	PutSeen(ctx context.Context, conversation string, s Seen) error
	// SeenOf reads what a conversation last saw of a path; ErrNotFound when it saw nothing.
	SeenOf(ctx context.Context, conversation, path string) (Seen, error)
}
