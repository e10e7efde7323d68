package tool

import (
	"context"
	"errors"
)

// Running is what a tool may know about the call that it is running; see [CallFrom].
type Running struct {
	// Conversation is the conversation that the call belongs to.
	Conversation string
	// Round is the number of the round, from 1.
	Round int
	// Result is the id of the result to be: "r3-1" is the first call of the third round.
	Result string
	// Call is the call itself.
	Call Call
	// Attempt counts the times that this call was begun, from 1.
	Attempt int
	// Key is an idempotency key: equal for every attempt of one call, different for every other call.
	Key string
	// Room is the number of characters that a page of this call may have; 0 when nobody set one.
	Room int
	// Offered are the names of the tools that the model can call in this context, sorted.
	Offered []string
	// Progress reports that the call is alive, with a short text for people. It is never nil in a
	// running call and resets the tool's idle limit.
	Progress func(text string)
	// Spool gives the place to write output to while it is produced; see [Spool].
	Spool func() Spool
	// Dispatch calls other tools and opens stored results; nil where nothing can be dispatched.
	Dispatch Dispatcher
}

// Spool takes output as it is produced. Up to the inline cap it is held in memory, past it the whole
// goes to a file, so that an output of any size costs the cap. A tool that has written to its spool
// returns [Spooled]; what it wrote is its text.
type Spool interface {
	// Write appends bytes of output. A character that is split between two writes is put together.
	Write(p []byte) (int, error)
	// Chars is the number of characters written so far.
	Chars() int64
}

type runningKey struct{}

// WithCall returns a context that carries what a tool may know about its call.
func WithCall(ctx context.Context, r Running) context.Context {
	return context.WithValue(ctx, runningKey{}, r)
}

// CallFrom gives what is known about the running call; false outside of one.
func CallFrom(ctx context.Context) (Running, bool) {
	r, ok := ctx.Value(runningKey{}).(Running)
	return r, ok
}

// Report tells that the running call is alive. Outside a call it does nothing.
func Report(ctx context.Context, text string) {
	if r, ok := CallFrom(ctx); ok && r.Progress != nil {
		r.Progress(text)
	}
}

// Spooled is the data of a result whose text was written to the call's [Spool].
type Spooled struct {
	// Tail is text to stand after what was written, such as an exit status. It is kept whole.
	Tail string
}

// Fatal marks an error as one that ends the turn: the call still gets an error result, then the turn
// ends with the error. A nil error stays nil.
func Fatal(err error) error {
	if err == nil {
		return nil
	}
	return &fatalError{err}
}

type fatalError struct{ err error }

func (f *fatalError) Error() string { return f.err.Error() }
func (f *fatalError) Unwrap() error { return f.err }

// IsFatal reports whether an error was marked by [Fatal].
func IsFatal(err error) bool {
	var f *fatalError
	return errors.As(err, &f)
}
