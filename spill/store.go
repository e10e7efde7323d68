// Package spill keeps text that is over the cap as a file, addressed by line, and makes the preview
// that stands in its place.
package spill

import (
	"context"
	"errors"
	"io"

	"github.com/weir-run/weir/internal/lines"
)

// Errors that callers branch on.
var (
	// ErrNotFound says that no file has that name.
	ErrNotFound = errors.New("no such spilled result")
	// ErrExists says that the name is taken: names are written once and never replaced.
	ErrExists = errors.New("a spilled result of this name exists")
	// ErrQuota says that the folder has reached its quota, so nothing more is kept.
	ErrQuota = errors.New("the quota for spilled results is used up")
)

// Name says which result a file belongs to. It decides the name that the model addresses
// ("r3-1-grep.txt") and the one on disk ("r3-1-grep.f7.txt"): only the second carries the fence, so
// that a driver which was taken over can never write over its successor's file.
type Name struct {
	// Conversation is the conversation's id; it names the folder.
	Conversation string
	// Result is the result's id, such as "r3-1".
	Result string
	// Tool is the name of the tool; in file names it is sanitised and cut to 40 characters.
	Tool string
	// Fence is the fence of the lease that writes; 0 where nobody holds one.
	Fence int64
	// Ext is the extension with its dot, ".txt" when empty: the text itself is ".txt", the raw original
	// of a decoded text ".raw", a binary payload has its own, such as ".png".
	Ext string
	// Part tells the payloads of one result apart: they count from 1, the text and the raw original are
	// 0. The first payload has no number in its name ("r3-1-shot.png"), the second has
	// ("r3-1-shot.2.png"); a payload with the text's own extension always has ("r3-1-shot.1.txt").
	Part int
}

// Ref is a file that was kept. Every figure is of the whole text.
type Ref struct {
	// Name is what the model addresses below tool-results/, such as "r3-1-grep.txt".
	Name string
	// File is where it lies, relative to the store's folder: "<conversation>/r3-1-grep.f7.txt".
	File string
	// SHA256 is the hash of the bytes.
	SHA256 [32]byte
	// Index counts the bytes, the lines and the characters, and the newlines of every block.
	Index lines.Index
	// Complete is false when the writer stopped before the end of the text.
	Complete bool
}

// Path is how the model addresses the file.
func (r Ref) Path() string { return Mount + "/" + r.Name }

// Mount is the mount under which the model finds stored results.
const Mount = "tool-results"

// File is a kept file, open for reading.
type File interface {
	io.ReaderAt
	io.Closer
	// Size is the length in bytes.
	Size() int64
}

// Writer takes a text as it comes. One of Commit and Abort ends it; both may be called again without harm.
// A write that failed stays failed: every later call, Commit too, returns the same error. A writer is for
// one goroutine at a time.
type Writer interface {
	io.Writer
	// ReaderAt reads back what was written so far, until the writer is ended.
	io.ReaderAt
	// Commit makes what was written durable and publishes it under its name: fsync, link, fsync of the
	// folder. It fails with ErrExists when the name is taken, and then leaves nothing behind.
	Commit() (Ref, error)
	// Abort throws away what was written.
	Abort() error
}

// Store keeps spilled results. The first implementation is a folder ([Dir]).
type Store interface {
	// Create begins a file. Nothing is visible under its name before Commit.
	Create(ctx context.Context, n Name) (Writer, error)
	// Open opens a kept file by Ref.File; ErrNotFound when it is not there.
	Open(ctx context.Context, file string) (File, error)
	// Share keeps a file for another conversation as well, under the same name, and returns its Ref.File
	// there. Each of the two can be removed without harm to the other. ErrExists when that name is taken.
	Share(ctx context.Context, file, conversation string) (string, error)
	// Remove deletes everything kept for a conversation. What is not there is no error.
	Remove(ctx context.Context, conversation string) error
}
