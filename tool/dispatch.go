package tool

import (
	"context"
	"encoding/json"
	"errors"
	"io"
)

// ErrNoResult says that there is no such stored result.
var ErrNoResult = errors.New("there is no such result")

// NoResult is an [ErrNoResult] in its own words, such as which results there are.
type NoResult struct{ Text string }

// Error is the text.
func (n *NoResult) Error() string { return n.Text }

// Is reports that it is an [ErrNoResult].
func (n *NoResult) Is(target error) bool { return target == ErrNoResult }

// Dispatcher lets a running tool call other tools and read the conversation's stored results. It is the
// same in the loop, under a host's own loop, in the MCP server and in the gateway.
//
// What it runs takes the path of every call (validation, approval, limits, storage) but is never shown to
// the model. It is safe for concurrent use; calls beyond the round's parallel limit wait for their turn.
type Dispatcher interface {
	// Do runs one inner call and gives its whole result. Everything that is wrong with the call is a
	// result with IsError; an error means that the runtime cannot go on or that ctx has ended.
	Do(ctx context.Context, name string, args json.RawMessage) (Whole, error)
	// Begin is Do that returns at once: the call takes its number now, so that the order of ids is the
	// order of Begin, and runs by itself. The returned function waits for its result; its Whole must be
	// closed once. A call that nobody waits for ends with the call that began it.
	Begin(ctx context.Context, name string, args json.RawMessage) func() (Whole, error)
	// Results lists the stored results of the conversation's earlier rounds, in order, without inner ones.
	Results(ctx context.Context) ([]Stored, error)
	// Result opens one stored result by its id, such as "r3-1". [ErrNoResult] when there is none, with a
	// text that says which there are.
	Result(ctx context.Context, id string) (Whole, error)
}

// Stored is a stored result without its text.
type Stored struct {
	// ID is the result's id: "r3-1" is the first call of the third round, "r3-1.2" its second inner call.
	ID string
	// Tool and Args are the call's.
	Tool string
	Args json.RawMessage
	// Round is the number of its round, from 1.
	Round int
	// Bytes, Chars (Unicode code points) and Lines are those of the whole text.
	Bytes, Chars, Lines int64
	// IsError marks a failure that the model was told.
	IsError bool
	// Path is how the model addresses the whole text, such as "tool-results/r3-1-grep.txt".
	Path string
}

// Whole is a stored result with its whole text, also where the model saw a preview.
type Whole struct {
	Stored
	// Structured is the machine's view as it was received; nil when absent.
	Structured json.RawMessage
	// Text reads the text, Bytes long. It may be read until Close.
	Text io.ReaderAt
	// Close ends the use of Text. It is never nil.
	Close func() error
}
