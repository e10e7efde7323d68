package history

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/weir-run/weir/spill"
)

// Conversation is one conversation.
type Conversation struct {
	// ID is 1 to 100 characters of A-Z a-z 0-9 . _ - and does not begin with a dot: it names a folder.
	ID string
	// Title is a short text for people.
	Title string
	// CreatedAt is in UTC, to the millisecond.
	CreatedAt time.Time
	// Parent and ForkRound say what it was forked from; information only.
	Parent    string
	ForkRound int
	// Settings are the host's own settings, as JSON bytes that the store does not read.
	Settings []byte
}

// TurnState is where a turn stands.
type TurnState string

// The states of a turn.
const (
	// TurnOpen has work to do.
	TurnOpen TurnState = "open"
	// TurnCancelling is being cancelled: every call is answered, then it ends.
	TurnCancelling TurnState = "cancelling"
	// TurnWaiting waits for an approval.
	TurnWaiting TurnState = "waiting"
	// TurnEnded is over; it is never taken up again.
	TurnEnded TurnState = "ended"
)

// Turn is one user turn.
type Turn struct {
	// N counts from 1 in the conversation.
	N int
	// Key is the caller's own name for the turn, unique in the conversation when given.
	Key string
	// FirstSeq is the sequence number of its first message.
	FirstSeq int64
	State    TurnState
	// Reason says why it ended: done, limit, cancelled, failed and so on.
	Reason string
	// Rounds and Tokens (output tokens) are what was used of the turn's limits.
	Rounds    int
	Tokens    int64
	StartedAt time.Time
}

// Epoch is a stretch of requests with one head.
type Epoch struct {
	// N counts from 1 in the conversation.
	N int
	// Dialect names the wire format, such as "anthropic".
	Dialect string
	// Reason says why it was opened: start, tools, system, model, settings, dialect or compaction.
	Reason string
	// Head is what stands before the fragments in every request body, Tail what stands after them.
	Head, Tail []byte
	// HeadSHA is the hash of Head; the store computes it.
	HeadSHA [32]byte
	// Fingerprint is the hash of what the head means: while it is equal the stored head is kept,
	// whatever bytes a newer program would write for it.
	Fingerprint []byte
	// Base is the earlier epoch whose first BaseCount fragments are also the first of this one.
	Base      int
	BaseCount int
}

// Message is one neutral message.
type Message struct {
	// Seq is dense from 1 in the conversation.
	Seq  int64
	Turn int
	// Role is the codec's own word for who speaks.
	Role string
	// Codec names the encoding of Body.
	Codec string
	// Body is empty for a results message: its content is its rows.
	Body []byte
	// SHA256 is the hash of Body; the store computes it when it writes, and gives it back as it is stored.
	SHA256 [32]byte
	// Round is the round that a results message closes, or that an assistant's message opens; 0 for none.
	Round int
}

// Damaged reports whether the body is not what was stored.
func (m Message) Damaged() bool { return m.SHA256 != sha256.Sum256(m.Body) }

// Fragment is what one message is on the wire in one epoch.
type Fragment struct {
	Epoch int
	// Pos is dense from 1 in the epoch, counting those of its base.
	Pos int
	// Seq is the message that it encodes.
	Seq int64
	// Encoder is the version of the encoder that made it; information only.
	Encoder string
	// Bytes are zero or more elements of a JSON array joined by a comma.
	Bytes []byte
	// Chain is [Chain] of the previous fragment's chain and Bytes; the store computes it.
	Chain [32]byte
}

// CallID addresses a call and its result in one conversation.
type CallID struct {
	// Round and Index count from 1.
	Round, Index int
	// Sub counts a script's inner calls from 1; 0 for a call that the model made.
	Sub int
}

// String gives the id as everybody writes it: "r3-1", or "r3-1.2" for an inner call.
func (id CallID) String() string {
	if id.Sub > 0 {
		return fmt.Sprintf("r%d-%d.%d", id.Round, id.Index, id.Sub)
	}
	return fmt.Sprintf("r%d-%d", id.Round, id.Index)
}

// ParseCallID reads an id in the form that String gives.
func ParseCallID(s string) (CallID, error) {
	bad := fmt.Errorf("result id %.40q: an id looks like r3-1", s)
	rest, ok := strings.CutPrefix(s, "r")
	if !ok {
		return CallID{}, bad
	}
	head, sub, inner := strings.Cut(rest, ".")
	round, index, ok := strings.Cut(head, "-")
	if !ok {
		return CallID{}, bad
	}
	var id CallID
	for _, part := range []struct {
		text string
		into *int
		want bool
	}{{round, &id.Round, true}, {index, &id.Index, true}, {sub, &id.Sub, inner}} {
		if !part.want {
			continue
		}
		n, err := strconv.Atoi(part.text)
		if err != nil || n < 1 || strconv.Itoa(n) != part.text {
			return CallID{}, bad
		}
		*part.into = n
	}
	return id, nil
}

// CallState is where a call stands.
type CallState string

// The states of a call.
const (
	// CallPending was not begun, or may be begun again without harm.
	CallPending CallState = "pending"
	// CallWaiting waits for an approval.
	CallWaiting CallState = "waiting"
	// CallRunning was begun; without a result its outcome is unknown.
	CallRunning CallState = "running"
	// CallSettled has its whole result.
	CallSettled CallState = "settled"
	// CallAnswered was shown to the model.
	CallAnswered CallState = "answered"
)

// Outcome says how a call ended.
type Outcome string

// The outcomes of a call.
const (
	OutcomeDone       Outcome = "done"
	OutcomeFailed     Outcome = "failed"
	OutcomeCancelled  Outcome = "cancelled"
	OutcomeNotStarted Outcome = "not_started"
	OutcomeUnknown    Outcome = "unknown"
	// OutcomeLate is a result that came after its call was answered otherwise.
	OutcomeLate Outcome = "late"
)

// Call is one tool call.
type Call struct {
	ID CallID
	// ProviderID is the provider's own id.
	ProviderID string
	Tool       string
	// Args are exactly as the model wrote them.
	Args []byte
	// ArgsSHA256 is the hash of Args; the store computes it when it writes, and gives it back as it is stored.
	ArgsSHA256 [32]byte
	State      CallState
	Outcome    Outcome
	// Attempt counts the times it was begun.
	Attempt int
	// Fence is that of the lease that wrote it last.
	Fence                     int64
	Created, Started, Settled time.Time
}

// Round is one tool round.
type Round struct {
	// N counts from 1 in the conversation.
	N int
	// Turn is 0 for a round under somebody else's loop.
	Turn int
	// Key is the caller's own name for the round, unique in the conversation when given.
	Key string
	// Digest is the hash of the calls, so that a key cannot be used for others.
	Digest [32]byte
	// Seq is the assistant's message, 0 for none; ResultsSeq is the results message once it is closed.
	Seq, ResultsSeq int64
	Closed          bool
	Calls           int
}

// Result is what came back from one call.
type Result struct {
	ID CallID
	// Tool is the name of the tool that was called.
	Tool string
	// Whole is the whole text; nil when it was spilled, then Spill says where it is.
	Whole []byte
	Spill *spill.Ref
	// Structured is the machine's view; nil when absent.
	Structured []byte
	IsError    bool
	// Notes are JSON bytes about the result that whoever fits it needs again.
	Notes []byte
	// Bytes, Lines and Chars are those of the whole text, SHA256 its hash.
	Bytes, Lines, Chars int64
	SHA256              [32]byte
	// Tokens is an estimate for the whole text.
	Tokens   int64
	Duration time.Duration
	// Shown is what the model was sent; nil before the round is closed. Same is true when it is the
	// whole text, which is then not stored twice.
	Shown []byte
	Same  bool
	// ShownSHA256 is the hash of Shown where that is not the whole; zeros where it is, and where a store
	// did not keep it.
	ShownSHA256 [32]byte
}

// Request is one request to a model.
type Request struct {
	// N counts from 1 in the conversation.
	N     int
	Epoch int
	// LastPos is the last fragment of the body, Chain the chain there.
	LastPos int
	HeadSHA [32]byte
	Chain   [32]byte
	// MessageBytes is the length of the fragments with their commas, TotalBytes that of the body.
	MessageBytes, TotalBytes int64
	// Outcome is empty while nothing is known of it; else ok, failed, cancelled and so on.
	Outcome string
	Usage   Usage
	Latency time.Duration
}

// Usage is what the provider counted, in tokens.
type Usage struct {
	In, Out, CacheRead, CacheWrite int64
}

// Event is something worth telling later. It is written in the transaction that it reports.
type Event struct {
	// Seq is dense from 1 in the conversation; the store assigns it.
	Seq  int64
	Kind string
	// Data are JSON bytes.
	Data []byte
}
