// Package realm runs one script in a JavaScript world of its own: lowers the syntax, sets up the globals,
// turns results into script values and back, and says in one line what went wrong.
//
// It is the inside of a script process. It starts no process, opens no file and no connection, and has no
// clock limit of its own: a script ends when its context ends. Memory is bounded by the process that runs
// it; the guards here keep a single call from allocating more than the heap before anything can stop it.
//
// Where the realm is not JavaScript to the letter: JSON.parse gives a BigInt for an integer beyond 2^53 and
// JSON.stringify takes one; a search that takes the back-tracking engine more than two seconds throws; with flag i
// and without u, the letters ſ and K (the Kelvin sign) match s and k; stack overflow ends the script. Adding
// to a text takes the time of what is added where the text is a variable that began as one (let s = ""); elsewhere, as in
// o.text += x, it takes that of the whole, as the engine has no ropes.
package realm

import (
	"context"
	"encoding/json"
	"time"

	"github.com/weir-run/weir/tool"
)

// MaxCode is the most bytes of source that a script may have.
const MaxCode = 1_000_000

// Script is one run.
type Script struct {
	// Code is the body of an async function: top-level await and return work. At most MaxCode bytes.
	Code string
	// Args is the global args, as JSON; nil when absent (args is then undefined).
	Args json.RawMessage
	// Tools names the tools that are offered. Each is tools["server--name"], and tools.server__name unless
	// two names share that form: then the short form throws and names the exact ones.
	Tools []string
	// Seed decides Math.random and crypto.randomUUID: equal seeds give equal sequences.
	Seed uint64
	// Now is what Date.now answers when the script starts; from there the clock runs on by the time that
	// has really passed. The zero value starts at the machine's clock. Intl's time zone is UTC; the local time of Date is
	// that of the process (time.Local), which a script process sets to UTC before anything else.
	Now time.Time
	// Limits bounds what the engine itself must bound.
	Limits Limits
}

// Limits are the engine's own bounds. A zero field takes its default.
type Limits struct {
	// Stack is the most nested calls; default 8,000.
	Stack int
	// Depth is the most nested arrays and objects of JSON, in both directions; default 1,000.
	Depth int
	// InnerChars is the longest text, in characters, that one result may hand over whole; default
	// 20,000,000. The host leaves a longer text out (Answer.Large).
	InnerChars int64
	// Heap is the heap that the process has, in bytes; default 512 MiB. No single call may ask for more
	// than a quarter of it: repeat, padStart, Array.from, fill, join, ArrayBuffer and their like throw a RangeError.
	Heap int64
	// Timers is the most timers that may be pending at once; default 10,000.
	Timers int
}

// Host is all that a script can reach outside of its realm. Call runs on a goroutine of its own per call;
// the others are called from the script's loop, one at a time, and block it.
//
// Call, List, Get, Read and Grep must be safe for concurrent use and return soon after ctx has ended. An error of List, Get,
// Read or Grep is thrown in the script.
type Host interface {
	// Print takes the text of one console call, its newline included, as it is printed, in order.
	Print(text string)
	// Call runs one tool. An error means that the run must end (a limit, a cancel): its text becomes the
	// failure. Everything else that goes wrong is an Answer with IsError.
	Call(ctx context.Context, name string, args json.RawMessage) (Answer, error)
	// List gives the conversation's stored results.
	List(ctx context.Context) ([]tool.Stored, error)
	// Get opens one stored result.
	Get(ctx context.Context, id string) (Answer, error)
	// Read gives the lines from..to, counted from 1 and both included, of a stored result, joined by "\n" and without a
	// newline at the end. It may stop early after a whole line; it never gives less than one line
	// unless from is past the end.
	Read(ctx context.Context, id string, from, to int64) (string, error)
	// Grep gives the lines of a stored result that match pattern, a regular expression in JavaScript's
	// syntax with JavaScript's flags (of which i, m, s, u and g may be present).
	Grep(ctx context.Context, id, pattern, flags string) ([]Line, error)
}

// Beginner is a Host that keeps the order of calls: Begin is called on the script's loop, in the order in
// which the script makes its calls, and the function that it returns waits on a goroutine of its own. It is
// used in the place of Call where there is one.
type Beginner interface {
	// Begin starts one tool. What the function returns is that of Host.Call.
	Begin(ctx context.Context, name string, args json.RawMessage) func() (Answer, error)
}

// Answer is one result as a script gets it.
type Answer struct {
	// Stored says which result it is; only ID and IsError must be set for the answer of a call, ID may be
	// empty where nothing was stored. Lines is used where Large is set.
	tool.Stored
	// Text is the whole text, unless Large.
	Text string
	// Large says that the text is over Limits.InnerChars and was left out: .text throws and names the ways to read it in pieces.
	Large bool
	// Structured is the machine's view as it was received; nil when absent.
	Structured json.RawMessage
}

// Line is one line of a stored result.
type Line struct {
	// N is its number, from 1.
	N int64
	// Text is the line without its newline.
	Text string
}

// Outcome is how a run ended.
type Outcome struct {
	// Value is the returned value: the text itself for a string, else its JSON; empty without one.
	Value string
	// HasValue says that something other than undefined was returned.
	HasValue bool
	// Failure is one status line when something is off, with line and column in the script's own numbering:
	// an uncaught error, an unhandled rejection, a limit, promises that never settled. Empty when all is well.
	Failure string
	// Failed says that the script did not get to its end. A Failure without it is a remark (a rejection that nobody handled, a call that was not awaited).
	Failed bool
}

// Run runs a script to its end, at the latest until ctx ends, and never panics for anything that a script
// does. Text printed before a failure has reached the host.
func Run(ctx context.Context, s Script, h Host) Outcome {
	return Prepare().Run(ctx, s, h)
}

// Prepared is a realm that waits for its script: all that does not depend on the script has been done. It is
// for one script, and not for concurrent use.
type Prepared struct {
	vm  *vm
	err error // why there is none
}

// Prepare makes a realm ahead of its script. What went wrong is the outcome of the run.
func Prepare() *Prepared {
	vm, err := newVM()
	return &Prepared{vm: vm, err: err}
}

// Run is the package's Run in a realm that was prepared. A second script fails and does nothing.
func (p *Prepared) Run(ctx context.Context, s Script, h Host) Outcome {
	return p.run(ctx, s, h)
}

// Warm compiles what every script needs, once per process, so that a pre-started process is ready. It sets
// defaults of regexp2 that hold for the whole process, as the engine gives no other way: 2 s for a match, and a
// stack without a bound.
func Warm() {
	warm()
}
