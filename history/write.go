package history

import (
	"time"

	"github.com/weir-run/weir/spill"
)

// LeaseTime is how long a lease lasts without being renewed; it is renewed every third of that.
const LeaseTime = 30 * time.Second

// Take asks for a conversation.
type Take struct {
	Conversation string
	// Create is what to store when the conversation is not there; nil means that it must be.
	Create *Conversation
	// Run names the run, unique in the process.
	Run string
	// TakeOver takes the conversation from a live holder whose lease has expired, with the next fence:
	// from then on the other can write nothing. A lease that has not expired is never taken.
	TakeOver bool
	Now      time.Time
}

// Lease is the right to drive a conversation. Every write carries its fence.
type Lease struct {
	Conversation string
	Holder, Run  string
	// Fence grows with every lease of the conversation.
	Fence   int64
	Expires time.Time
}

// Append is what a step adds to a conversation beside its own rows, in this order.
type Append struct {
	// Now is the caller's clock; times are stored in milliseconds, UTC.
	Now time.Time
	// Outcomes end requests that were announced before.
	Outcomes []Outcomes
	// Messages carry their sequence numbers, which must be the next ones.
	Messages []Message
	// Epoch is opened before the fragments are stored; nil for none. Its number must be the next one.
	Epoch *Epoch
	// Fragments carry their positions, which must be the next ones of their epoch.
	Fragments []Fragment
	// Intent announces the next request; its number must be the next one.
	Intent *Request
	Events []Event
}

// Outcomes is how a request ended.
type Outcomes struct {
	N       int
	Outcome string
	Usage   Usage
	Latency time.Duration
}

// Receipt says what a write did.
type Receipt struct {
	// Turn is the number of the turn that was begun.
	Turn int
	// Events are the events of the write with their sequence numbers.
	Events []Event
}

// Begin opens a turn. Its number must be the next one.
type Begin struct {
	Turn   int
	Key    string
	Append Append
}

// TurnChange changes the state of a turn.
type TurnChange struct {
	Turn   int
	State  TurnState
	Reason string
	Append Append
}

// Opening opens a round.
type Opening struct {
	// Round is the next round's number, Turn 0 under somebody else's loop.
	Round, Turn int
	Key         string
	Digest      [32]byte
	// Beside lets the round be opened while others are open that were opened so as well. It belongs to no
	// turn and has no message: the calls of a server's client, which come when they come.
	Beside bool
	// Parent is the call whose inner calls these are; the zero value for a round of its own.
	Parent CallID
	// Calls are in call order with their ids set.
	Calls  []Call
	Append Append
}

// Start marks a call as begun.
type Start struct {
	ID      CallID
	Attempt int
	// Waiting marks it as waiting for an approval instead.
	Waiting bool
	// Approval is the digest of the approval that is used up by this start; all zeros for none. A start
	// with an approval that is not granted, or of another digest, is ErrConflict.
	Approval [32]byte
	Now      time.Time
}

// Settled is the whole result of a call, as it arrived.
type Settled struct {
	Result  Result
	Outcome Outcome
	// Payloads are files that were kept beside the text, such as images.
	Payloads []spill.Ref
	Now      time.Time
}

// Shown is what the model is shown for one call.
type Shown struct {
	ID CallID
	// Text is stored as it is; Same says that it is the whole text.
	Text []byte
	Same bool
	// Spill is set when the whole was kept as a file only now.
	Spill *spill.Ref
}

// Closing closes a round.
type Closing struct {
	Round int
	// Settled are results that came last and were not stored before.
	Settled []Settled
	// Shown has one entry for each call of the round, in call order.
	Shown  []Shown
	Append Append
}
