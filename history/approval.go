package history

import (
	"context"
	"time"
)

// ApprovalState is where a question stands.
type ApprovalState string

// The states of an approval.
const (
	// ApprovalAsked waits for an answer.
	ApprovalAsked ApprovalState = "asked"
	// ApprovalGranted may be used once.
	ApprovalGranted ApprovalState = "granted"
	// ApprovalDenied was answered with no.
	ApprovalDenied ApprovalState = "denied"
	// ApprovalUsed was granted and the call was begun with it; it is good for nothing more.
	ApprovalUsed ApprovalState = "used"
)

// Approval is one question: may this call run? It is bound to a digest of the tool's schema and the
// exact arguments, so that an answer never carries over to something else.
type Approval struct {
	ID     CallID
	Digest [32]byte
	State  ApprovalState
	// Reason is what the person who answered said; it may be empty.
	Reason          string
	Asked, Answered time.Time
}

// Answer answers a question.
type Answer struct {
	ID      CallID
	Granted bool
	Reason  string
	Now     time.Time
}

// Approvals are the questions about calls, asked and answered durably: the answer may come days later,
// in another process.
type Approvals interface {
	// AskApprovals marks calls as waiting and stores the questions, with what comes with them, in one
	// commit. Asking again about a call replaces a question that was not used, with the new digest.
	AskApprovals(ctx context.Context, l Lease, asked []Approval, a Append) (Receipt, error)
	// AnswerApprovals stores answers. ErrNotFound for a call that was not asked about, ErrConflict for
	// one that was answered before or is not waiting.
	AnswerApprovals(ctx context.Context, l Lease, answers []Answer, a Append) (Receipt, error)
	// ApprovalsOf lists the questions of a conversation in call order; round 0 means all rounds.
	ApprovalsOf(ctx context.Context, conversation string, round int) ([]Approval, error)
}
