// Package history is the store's contract and its records: conversations, turns, rounds, calls,
// results, and the bytes that were sent for them. Bodies are opaque bytes, so byte-exactness cannot be
// broken by a change of some struct; the package knows no message type and no model.
package history

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-run/weir/spill"
)

// Errors that callers branch on. Every store returns these, wrapped with the act and its key.
var (
	// ErrNotFound says that there is no such conversation, turn, round, call or result.
	ErrNotFound = errors.New("not found")
	// ErrStale says that a newer fence exists: this driver was taken over and may write nothing more.
	ErrStale = errors.New("this run was taken over by another one")
	// ErrConflict says that a write does not fit what is stored, such as a sequence number that is not
	// the next one, or a state that does not allow the step.
	ErrConflict = errors.New("the write does not fit what is stored")
	// ErrRoundExists says that a round with the same key is stored already.
	ErrRoundExists = errors.New("a round with this key is stored")
	// ErrTurnExists says that a turn with the same key is stored already.
	ErrTurnExists = errors.New("a turn with this key is stored")
	// ErrNewer says that the database was written by a newer version of the program.
	ErrNewer = errors.New("the store was written by a newer version")
	// ErrCorrupt says that the database cannot be read.
	ErrCorrupt = errors.New("the store is damaged")
)

// BusyError says that somebody else drives the conversation.
type BusyError struct {
	Conversation string
	// Holder is the store handle that holds the lease.
	Holder string
	// Until is when its lease ends, unless it is renewed.
	Until time.Time
	// Here is true when the other run is in this process.
	Here bool
}

// Error says who holds the conversation and what to do.
func (e *BusyError) Error() string {
	if e.Here {
		return fmt.Sprintf("conversation %s is being run in this process already: wait for that run to end", e.Conversation)
	}
	return fmt.Sprintf("conversation %s is being run by another process: wait for it to end, or stop it", e.Conversation)
}

// Store is everything that a driver needs. One value hands out the rows and the spilled files, so that
// the two cannot come from different places. It is safe for concurrent use. What a write was given belongs
// to the store from then on: a caller must not change those bytes, not even when its context ended early.
type Store interface {
	Turns
	Rounds
	Leases
	Reader
	Replay
	Keeper
	// Spills is where whole results over the cap are kept.
	Spills() spill.Store
	// Close ends the handle: pending writes are finished, its leases are released.
	Close() error
}

// Leases say who drives a conversation.
type Leases interface {
	// TakeLease takes the conversation for one run and creates it when Create is set and it is not
	// there. It fails with *BusyError while a live holder has it, and with ErrNotFound when there is
	// no such conversation. A dead holder's lease is taken at once, with the next fence.
	TakeLease(ctx context.Context, t Take) (Lease, error)
	// RenewLease moves the end of the lease; ErrStale when it was taken over.
	RenewLease(ctx context.Context, l Lease, now time.Time) (Lease, error)
	// ReleaseLease gives the conversation back. Releasing a lease that was taken over is no error.
	ReleaseLease(ctx context.Context, l Lease) error
}

// Turns are the user's turns of a conversation.
type Turns interface {
	// BeginTurn opens a turn and stores its first message in one commit. ErrTurnExists when the
	// conversation has a turn with the same key, ErrConflict when a turn or a round is open.
	BeginTurn(ctx context.Context, l Lease, b Begin) (Receipt, error)
	// Append stores what belongs to no round: a message, an epoch, the outcome of a request, events.
	Append(ctx context.Context, l Lease, a Append) (Receipt, error)
	// SetTurn changes the state of the open turn; [TurnEnded] closes it for good.
	SetTurn(ctx context.Context, l Lease, s TurnChange) (Receipt, error)
}

// Rounds are the tool rounds of a conversation. The order of writes is the promise: see package round.
type Rounds interface {
	// OpenRound stores the assistant's message and its calls before any of them runs. With Parent set
	// it stores the inner calls of a script or a gateway instead, which have no message of their own.
	OpenRound(ctx context.Context, l Lease, o Opening) (Receipt, error)
	// StartCalls marks calls as running, in one commit.
	StartCalls(ctx context.Context, l Lease, starts []Start) error
	// SettleCalls stores whole results as they arrive. A call that has its result keeps it: settling it
	// again is ErrConflict. With OutcomeLate it stores an event "late_result" and changes nothing else;
	// that is allowed also to a driver that was taken over.
	SettleCalls(ctx context.Context, l Lease, settled []Settled, events []Event) (Receipt, error)
	// CloseRound stores what the model is shown for each call, the results message, its fragment and the
	// intent of the next request, in one commit, together with results that came last.
	CloseRound(ctx context.Context, l Lease, c Closing) (Receipt, error)
	// Approvals are asked between the opening of a round and its close.
	Approvals
	// Jobs are calls that outlive the request that made them.
	Jobs
	// Sights are what its calls saw of files.
	Sights
}

// Reader reads what is stored. Every list has a total order that no clock decides.
type Reader interface {
	// Conversations lists the newest first; limit 0 means all.
	Conversations(ctx context.Context, limit int) ([]Conversation, error)
	// Conversation reads one; ErrNotFound.
	Conversation(ctx context.Context, id string) (Conversation, error)
	// TurnsOf lists the turns of a conversation in order.
	TurnsOf(ctx context.Context, conversation string) ([]Turn, error)
	// RoundsOf lists the rounds of a conversation in order.
	RoundsOf(ctx context.Context, conversation string) ([]Round, error)
	// FindRound reads the round of a key; the empty key means the latest round. ErrNotFound. Its cost does
	// not depend on the number of rounds.
	FindRound(ctx context.Context, conversation, key string) (Round, error)
	// CallsOf lists the calls of one round in call order, inner calls after their parent; round 0 means
	// all rounds.
	CallsOf(ctx context.Context, conversation string, round int) ([]Call, error)
	// ResultsOf lists the stored results without their bodies, in call order; round 0 means all rounds.
	ResultsOf(ctx context.Context, conversation string, round int) ([]Result, error)
	// ResultOf reads one result with its bodies; ErrNotFound.
	ResultOf(ctx context.Context, conversation string, id CallID) (Result, error)
}

// Recent reads the end of a conversation; its cost does not depend on the number of rounds before.
type Recent interface {
	// CallsAfter lists the calls of all rounds above after, in order, inner calls after their parent.
	CallsAfter(ctx context.Context, conversation string, after int) ([]Call, error)
}

// Replay reads what requests are made of.
type Replay interface {
	// Recent reads the end of it.
	Recent
	// Messages lists the messages with a sequence number above after, in order.
	Messages(ctx context.Context, conversation string, after int64) ([]Message, error)
	// Epochs lists the epochs of a conversation in order.
	Epochs(ctx context.Context, conversation string) ([]Epoch, error)
	// Fragments calls yield for the fragments of an epoch with a position above after, in order,
	// through its base epochs. The bytes are valid only during the call, and yield must not call the
	// store, one of whose connections it holds. ErrNotFound when there is no such epoch.
	Fragments(ctx context.Context, conversation string, epoch int, after int, yield func(Fragment) error) error
	// Requests lists the requests of a conversation in order.
	Requests(ctx context.Context, conversation string) ([]Request, error)
	// Events lists the record events with a sequence number above after, in order.
	Events(ctx context.Context, conversation string, after int64) ([]Event, error)
	// SpillsOf lists the files kept for a conversation, by name.
	SpillsOf(ctx context.Context, conversation string) ([]spill.Ref, error)
}
