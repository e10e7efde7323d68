package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"

	codes "modernc.org/sqlite/lib"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite/internal/db"
)

// Append stores what belongs to no round.
func (s *Store) Append(ctx context.Context, l history.Lease, a history.Append) (history.Receipt, error) {
	return s.write(ctx, l, "append to the end", size(a), func(ctx context.Context, st *step) error {
		return st.append(ctx, a)
	})
}

// BeginTurn opens a turn and stores its first message.
func (s *Store) BeginTurn(ctx context.Context, l history.Lease, b history.Begin) (history.Receipt, error) {
	return s.write(ctx, l, fmt.Sprintf("begin turn %d", b.Turn), size(b.Append), func(ctx context.Context, st *step) error {
		t := st.t
		if b.Key != "" {
			n, err := st.q.TurnByKey(ctx, db.TurnByKeyParams{Conversation: l.Conversation, Key: text(b.Key)})
			if err == nil {
				return fmt.Errorf("turn %d has the key %.100q: %w", n, b.Key, history.ErrTurnExists)
			}
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
		}
		switch {
		case t.state != "" && t.state != history.TurnEnded:
			return refuse("turn %d is %s", t.turn, t.state)
		case len(t.open) > 0:
			return refuse("round %d is open", t.anyOpen())
		case b.Turn != t.turn+1:
			return refuse("expected turn %d, got %d", t.turn+1, b.Turn)
		}
		first := t.seq + 1
		if err := st.end(ctx, b.Append.Outcomes); err != nil {
			return err
		}
		if err := st.use(ctx); err != nil { // what ended before the turn is not its own
			return err
		}
		st.rounds, st.tokens = 0, 0
		err := st.q.AddTurn(ctx, db.AddTurnParams{
			Conversation: l.Conversation, N: int64(b.Turn), Key: text(b.Key), FirstSeq: first, StartedAt: ms(b.Append.Now),
		})
		if err != nil {
			return err
		}
		t.turn, t.state, st.receipt.Turn = b.Turn, history.TurnOpen, b.Turn
		b.Append.Outcomes = nil
		return st.append(ctx, b.Append)
	})
}

// SetTurn changes the state of the open turn.
func (s *Store) SetTurn(ctx context.Context, l history.Lease, c history.TurnChange) (history.Receipt, error) {
	return s.write(ctx, l, fmt.Sprintf("set turn %d", c.Turn), size(c.Append), func(ctx context.Context, st *step) error {
		t := st.t
		switch {
		case c.Turn != t.turn || t.turn == 0:
			return refuse("expected turn %d, the last one, got %d", t.turn, c.Turn)
		case t.state == history.TurnEnded:
			return refuse("turn %d has ended", t.turn)
		case c.State == history.TurnEnded && len(t.open) > 0:
			return refuse("round %d is open", t.anyOpen())
		case t.state == history.TurnCancelling && c.State != history.TurnCancelling && c.State != history.TurnEnded:
			return refuse("turn %d is cancelling and can only end, not be %s", t.turn, c.State)
		}
		if err := st.append(ctx, c.Append); err != nil {
			return err
		}
		t.state, st.receipt.Turn = c.State, c.Turn
		return st.q.SetTurn(ctx, db.SetTurnParams{State: string(c.State), Reason: c.Reason, Conversation: l.Conversation, N: int64(c.Turn)})
	})
}

// OpenRound stores the assistant's message and its calls before any of them runs.
func (s *Store) OpenRound(ctx context.Context, l history.Lease, o history.Opening) (history.Receipt, error) {
	bytes := size(o.Append)
	for _, c := range o.Calls {
		bytes += len(c.Args)
	}
	return s.write(ctx, l, fmt.Sprintf("open round %d", o.Round), bytes, func(ctx context.Context, st *step) error {
		if o.Parent != (history.CallID{}) {
			return st.openInner(ctx, o)
		}
		return st.openRound(ctx, o)
	})
}

func (st *step) openRound(ctx context.Context, o history.Opening) error {
	if err := st.newRound(ctx, o); err != nil {
		return err
	}
	t := st.t
	seq := messageOf(o.Append, o.Round)
	if err := st.append(ctx, withoutEvents(o.Append)); err != nil {
		return err
	}
	err := st.q.AddRound(ctx, db.AddRoundParams{
		Conversation: st.l.Conversation, N: int64(o.Round), Turn: int64(o.Turn), Key: text(o.Key),
		Digest: o.Digest[:], Seq: seq, Calls: int64(len(o.Calls)),
	})
	if err != nil {
		return st.roundExists(ctx, o, err)
	}
	t.round, t.open[o.Round] = o.Round, newOpenRound(o.Turn, seq, len(o.Calls))
	for i, c := range o.Calls {
		if want := (history.CallID{Round: o.Round, Index: i + 1}); c.ID != want {
			return refuse("expected call %s, got %s", want, c.ID)
		}
		if err := st.call(ctx, c, o, nil); err != nil {
			return err
		}
	}
	if o.Turn > 0 {
		st.rounds++
	}
	return st.events(ctx, o.Append.Events)
}

// newRound checks that a round may be opened.
func (st *step) newRound(ctx context.Context, o history.Opening) error {
	t := st.t
	var err error
	switch {
	case !t.mayOpen(o):
		err = refuse("round %d is open", t.anyOpen())
	case o.Round != t.round+1:
		err = refuse("expected round %d, got %d", t.round+1, o.Round)
	case len(o.Calls) == 0:
		err = refuse("a round has at least one call")
	case o.Turn != 0 && o.Turn != t.turn:
		err = refuse("expected turn %d, got %d", t.turn, o.Turn)
	case o.Turn != 0 && t.state != history.TurnOpen && t.state != history.TurnCancelling: // its calls are answered, not run
		err = refuse("turn %d is %s", t.turn, t.state)
	}
	if err != nil {
		return st.roundExists(ctx, o, err)
	}
	return nil
}

// mayOpen reports whether what is open allows another round: nothing, or rounds that all stand beside others.
func (t *tip) mayOpen(o history.Opening) bool {
	if len(t.open) == 0 {
		return true
	}
	for _, r := range t.open {
		if !r.beside() {
			return false
		}
	}
	return o.Beside && o.Turn == 0 && messageOf(o.Append, o.Round) == 0
}

// roundExists tells a key that is used already from any other reason why a round was refused.
func (st *step) roundExists(ctx context.Context, o history.Opening, reason error) error {
	refused := errors.Is(reason, history.ErrConflict) || code(reason) == codes.SQLITE_CONSTRAINT
	if o.Key == "" || !refused {
		return reason
	}
	n, err := st.q.RoundByKey(ctx, db.RoundByKeyParams{Conversation: st.l.Conversation, Key: text(o.Key)})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return reason
	case err != nil:
		return err
	}
	return fmt.Errorf("round %d has the key %.100q: %w", n, o.Key, history.ErrRoundExists)
}

// openInner stores the calls that one call makes itself.
func (st *step) openInner(ctx context.Context, o history.Opening) error {
	open := st.t.open[o.Round]
	switch {
	case open == nil || o.Parent.Round != o.Round:
		return refuse("round %d of call %s is not open", o.Round, o.Parent)
	case o.Key != "":
		return refuse("inner calls have no key of their own")
	case len(o.Calls) == 0:
		return refuse("there is no call to open")
	}
	parent := open.state[o.Parent]
	if parent == nil {
		return refuse("there is no call %s", o.Parent)
	}
	if parent.state == history.CallSettled {
		return refuse("call %s has its result", o.Parent)
	}
	if err := st.append(ctx, withoutEvents(o.Append)); err != nil {
		return err
	}
	sub := int64(o.Parent.Sub)
	for _, c := range o.Calls {
		want := history.CallID{Round: o.Round, Index: o.Parent.Index, Sub: open.subs[o.Parent.Index] + 1}
		if c.ID != want {
			return refuse("expected call %s, got %s", want, c.ID)
		}
		if err := st.call(ctx, c, o, &sub); err != nil {
			return err
		}
	}
	return st.events(ctx, o.Append.Events)
}

func (st *step) call(ctx context.Context, c history.Call, o history.Opening, parent *int64) error {
	switch c.State {
	case history.CallPending, history.CallWaiting, history.CallRunning:
	default:
		return refuse("call %s cannot begin as %q", c.ID, c.State)
	}
	created, started := c.Created, c.Started
	if created.IsZero() {
		created = o.Append.Now
	}
	if started.IsZero() && c.State == history.CallRunning {
		started = o.Append.Now
	}
	st.t.open[c.ID.Round].add(c.ID, &callTip{state: c.State, attempt: c.Attempt})
	sum := sha256.Sum256(c.Args)
	return st.q.AddCall(ctx, db.AddCallParams{
		Conversation: st.l.Conversation, Round: int64(c.ID.Round), Idx: int64(c.ID.Index), Sub: int64(c.ID.Sub),
		ParentSub: parent, ProviderID: c.ProviderID, Tool: c.Tool, State: string(c.State), Attempt: int64(c.Attempt),
		Fence: st.l.Fence, CreatedAt: ms(created), StartedAt: ms(started), ArgsSha256: sum[:], Args: full(c.Args),
	})
}

// StartCalls marks calls as running, or as waiting for an approval, in one commit.
func (s *Store) StartCalls(ctx context.Context, l history.Lease, starts []history.Start) error {
	_, err := s.write(ctx, l, "start calls", 0, func(ctx context.Context, st *step) error {
		for _, start := range starts {
			if err := st.start(ctx, start); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

func (st *step) start(ctx context.Context, start history.Start) error {
	c, err := st.unsettled(start.ID)
	if err != nil {
		return err
	}
	if start.Attempt < c.attempt {
		return refuse("call %s was begun %d times, %d is no next attempt", start.ID, c.attempt, start.Attempt)
	}
	if start.Approval != [32]byte{} {
		n, err := st.q.UseApproval(ctx, db.UseApprovalParams{
			UsedAt: ms(start.Now), Conversation: st.l.Conversation, Round: int64(start.ID.Round), Idx: int64(start.ID.Index),
			Sub: int64(start.ID.Sub), Digest: start.Approval[:],
		})
		switch {
		case err != nil:
			return err
		case n == 0:
			return refuse("call %s has no granted approval of this digest", start.ID)
		}
	}
	c.state, c.attempt = history.CallRunning, start.Attempt
	if start.Waiting {
		c.state = history.CallWaiting
	}
	return st.q.StartCall(ctx, db.StartCallParams{
		State: string(c.state), Attempt: int64(start.Attempt), Fence: st.l.Fence, StartedAt: ms(start.Now),
		Conversation: st.l.Conversation, Round: int64(start.ID.Round), Idx: int64(start.ID.Index), Sub: int64(start.ID.Sub),
	})
}

// unsettled finds a call of the open round that has no result yet.
func (st *step) unsettled(id history.CallID) (*callTip, error) {
	t := st.t
	open := t.open[id.Round]
	if open == nil {
		if id.Round > 0 && id.Round <= t.round {
			return nil, refuse("call %s was answered: its round is closed", id)
		}
		return nil, refuse("round %d of call %s is not open", id.Round, id)
	}
	c := open.state[id]
	if c == nil {
		return nil, refuse("there is no call %s", id)
	}
	if c.state == history.CallSettled {
		return nil, refuse("call %s has its result", id)
	}
	return c, nil
}

// messageOf finds the message of a round in what is appended, 0 for none.
func messageOf(a history.Append, round int) int64 {
	for _, m := range a.Messages {
		if m.Round == round {
			return m.Seq
		}
	}
	return 0
}

// withoutEvents leaves the events for the end of a step, after the rows that they report.
func withoutEvents(a history.Append) history.Append {
	a.Events = nil
	return a
}

// AskApprovals marks calls as waiting and stores the questions about them, in one commit. Asking again
// replaces a question that was not used.
func (s *Store) AskApprovals(ctx context.Context, l history.Lease, asked []history.Approval, a history.Append) (history.Receipt, error) {
	return s.write(ctx, l, "ask for approvals", size(a), func(ctx context.Context, st *step) error {
		for _, q := range asked {
			c, err := st.unsettled(q.ID)
			if err != nil {
				return err
			}
			n, err := st.q.AskApproval(ctx, db.AskApprovalParams{
				Conversation: l.Conversation, Round: int64(q.ID.Round), Idx: int64(q.ID.Index), Sub: int64(q.ID.Sub),
				Digest: q.Digest[:], AskedAt: ms(q.Asked),
			})
			switch {
			case err != nil:
				return err
			case n == 0:
				return refuse("the approval of call %s was used", q.ID)
			}
			if err := st.start(ctx, history.Start{ID: q.ID, Attempt: c.attempt, Waiting: true}); err != nil {
				return err
			}
		}
		return st.append(ctx, a)
	})
}

// AnswerApprovals stores answers. [history.ErrNotFound] for a call that was not asked about,
// [history.ErrConflict] for one that was answered before or is not waiting.
func (s *Store) AnswerApprovals(ctx context.Context, l history.Lease, answers []history.Answer, a history.Append) (history.Receipt, error) {
	return s.write(ctx, l, "answer approvals", size(a), func(ctx context.Context, st *step) error {
		for _, answer := range answers {
			if err := st.answerApproval(ctx, answer); err != nil {
				return err
			}
		}
		return st.append(ctx, a)
	})
}

func (st *step) answerApproval(ctx context.Context, a history.Answer) error {
	key := db.HasApprovalParams{
		Conversation: st.l.Conversation, Round: int64(a.ID.Round), Idx: int64(a.ID.Index), Sub: int64(a.ID.Sub),
	}
	there, err := st.q.HasApproval(ctx, key)
	switch {
	case err != nil:
		return err
	case !there:
		return fmt.Errorf("call %s was not asked about: %w", a.ID, history.ErrNotFound)
	}
	c, err := st.unsettled(a.ID)
	switch {
	case err != nil:
		return err
	case c.state != history.CallWaiting:
		return refuse("call %s is %s, not waiting", a.ID, c.state)
	}
	state := history.ApprovalDenied
	if a.Granted {
		state = history.ApprovalGranted
	}
	n, err := st.q.AnswerApproval(ctx, db.AnswerApprovalParams{
		State: string(state), Reason: a.Reason, AnsweredAt: ms(a.Now), Conversation: key.Conversation, Round: key.Round, Idx: key.Idx, Sub: key.Sub,
	})
	if err == nil && n == 0 {
		err = refuse("the question about call %s was answered", a.ID)
	}
	return err
}

// ApprovalsOf lists the questions of a conversation in call order; round 0 means all rounds.
func (s *Store) ApprovalsOf(ctx context.Context, conversation string, round int) ([]history.Approval, error) {
	first, last := span(round)
	rows, err := s.read.Approvals(ctx, db.ApprovalsParams{Conversation: conversation, First: first, Last: last})
	if err != nil {
		return nil, fmt.Errorf("list approvals of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Approval, 0, len(rows))
	for _, r := range rows {
		out = append(out, history.Approval{
			ID: history.CallID{Round: int(r.Round), Index: int(r.Idx), Sub: int(r.Sub)}, Digest: hash(r.Digest),
			State: history.ApprovalState(r.State), Reason: r.Reason, Asked: fromMS(r.AskedAt), Answered: fromMS(r.AnsweredAt),
		})
	}
	return out, nil
}

// PutJob stores a job, or its next state.
func (s *Store) PutJob(ctx context.Context, l history.Lease, j history.Job) error {
	_, err := s.write(ctx, l, fmt.Sprintf("put job %s", j.ID), len(j.Args), func(ctx context.Context, st *step) error {
		switch j.State {
		case history.JobRunning, history.JobEnded, history.JobCancelled:
		default:
			return refuse("a job cannot be %q", j.State)
		}
		n, err := st.q.PutJob(ctx, db.PutJobParams{
			Conversation: l.Conversation, ID: j.ID.String(), Tool: j.Tool, State: string(j.State), CreatedAt: ms(j.Created),
			StartedAt: ms(j.Started), EndedAt: ms(j.Ended), Args: full(j.Args),
		})
		if err == nil && n == 0 {
			err = refuse("job %s has ended", j.ID)
		}
		return err
	})
	return err
}

// JobsOf lists the jobs of a conversation.
func (s *Store) JobsOf(ctx context.Context, conversation string) ([]history.Job, error) {
	rows, err := s.read.Jobs(ctx, conversation)
	if err != nil {
		return nil, fmt.Errorf("list jobs of conversation %.100q: %w", conversation, plain(err))
	}
	out := make([]history.Job, 0, len(rows))
	for _, r := range rows {
		id, err := history.ParseCallID(r.ID)
		if err != nil {
			return nil, fmt.Errorf("list jobs of conversation %.100q: %w: %w", conversation, err, history.ErrCorrupt)
		}
		out = append(out, history.Job{
			ID: id, Tool: r.Tool, Args: r.Args, State: history.JobState(r.State), Created: fromMS(r.CreatedAt),
			Started: fromMS(r.StartedAt), Ended: fromMS(r.EndedAt),
		})
	}
	return out, nil
}
