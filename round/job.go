package round

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/tool"
)

// MaxJobs is how many ended jobs a [Line] keeps at hand; older ones are read from the store.
const MaxJobs = 64

// Job is a call of a [Line] that runs by itself: its caller may wait for it, leave and come back.
type Job struct {
	// ID is that of its result: "r3-1".
	ID   history.CallID
	Tool string
	// Started is when its call was opened.
	Started time.Time

	call    tool.Call
	line    *Line
	settler *Settler
	stop    context.CancelFunc
	done    chan struct{}
	said    atomic.Pointer[string]

	mu        sync.Mutex
	handed    bool
	cancelled bool
	settled   Settled
	err       error
}

// Start begins one call and returns when it is stored, under the next number. ctx is the life of the call:
// give one that outlives the request for a call that may. The errors are those of [Line.Do].
func (l *Line) Start(ctx context.Context, c tool.Call) (*Job, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, end, err := l.begin(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open a round of %s: %w", l.conversation, err)
	}
	return l.run(w, false, end), nil
}

// run lets an open round run by itself. The caller holds the line's lock.
func (l *Line) run(w *work, handed bool, end context.CancelFunc) *Job {
	c := w.calls[0]
	j := &Job{
		ID: c.id, Tool: c.prepared.Call.Name, Started: w.settler.cfg.Now(), call: c.prepared.Call,
		line: l, settler: w.settler, stop: w.stop, done: make(chan struct{}), handed: handed,
	}
	w.heard = func(text string) { j.said.Store(&text) }
	l.jobs[j.ID] = j
	go func() {
		defer end()
		settled, err := w.end()
		j.ended(settled, err)
		l.forget(j)
	}()
	return j
}

// end drives an open round of one call to its close.
func (w *work) end() (Settled, error) {
	if err := w.drive(); err != nil {
		return Settled{}, fmt.Errorf("store the result of round %d of %s: %w", w.n, w.request.Conversation, err)
	}
	closed, err := w.close()
	if err != nil {
		return Settled{}, fmt.Errorf("close round %d of %s: %w", w.n, w.request.Conversation, err)
	}
	return closed.Results[0], nil
}

// Done is closed when the job has its result.
func (j *Job) Done() <-chan struct{} { return j.done }

// Progress is what its tool last reported; empty when it reported nothing.
func (j *Job) Progress() string {
	if text := j.said.Load(); text != nil {
		return *text
	}
	return ""
}

// Wait gives the result when the job has it, or the error of ctx when that ends first: the job goes on.
func (j *Job) Wait(ctx context.Context) (Settled, error) {
	select {
	case <-j.done:
		j.mu.Lock()
		defer j.mu.Unlock()
		return j.settled, j.err
	case <-ctx.Done():
		return Settled{}, ctx.Err()
	}
}

// Cancelled reports whether [Job.Cancel] was called before the job ended.
func (j *Job) Cancelled() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.cancelled
}

// Cancel tells the call to stop. Its result says what came of it; on one that has ended it does nothing.
func (j *Job) Cancel() {
	j.mu.Lock()
	defer j.mu.Unlock()
	select {
	case <-j.done:
	default:
		j.cancelled = true
		j.stop()
	}
}

// HandOut stores that the call outlives its request, so that it is listed, and found again after a restart.
// It must be called before anybody is told of the handle.
func (j *Job) HandOut(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.handed {
		return nil
	}
	if err := j.put(ctx); err != nil {
		return fmt.Errorf("store job %s: %w", j.ID, err)
	}
	j.handed = true
	return nil
}

// put stores the job as it stands. The caller holds its lock.
func (j *Job) put(ctx context.Context) error {
	now := j.settler.cfg.Now()
	row := history.Job{ID: j.ID, Tool: j.Tool, Args: j.call.Args, State: history.JobRunning, Created: now, Started: j.Started}
	select {
	case <-j.done:
		row.State, row.Ended = history.JobEnded, now
		if j.cancelled {
			row.State = history.JobCancelled
		}
	default:
	}
	return j.settler.store.PutJob(context.WithoutCancel(ctx), j.line.held.Lease(), row)
}

func (j *Job) ended(settled Settled, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.settled, j.err = settled, err
	close(j.done)
	if !j.handed || err != nil { // without a stored result it has not ended
		return
	}
	// The call's row is the truth; this one only lists it.
	if err := j.put(j.line.ctx); err != nil && !errors.Is(err, history.ErrStale) {
		j.settler.cfg.Logger.Warn("the end of a job was not stored", "job", j.ID.String(), "err", err)
	}
}

// forget keeps the latest ended jobs at hand, and the others in the store only.
func (l *Line) forget(j *Job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endedJobs = append(l.endedJobs, j.ID)
	if len(l.endedJobs) > MaxJobs {
		delete(l.jobs, l.endedJobs[0])
		l.endedJobs = l.endedJobs[1:]
	}
}

// Job finds a call of this line by its id, whether it runs or has ended, in this process or an earlier one.
// [history.ErrNotFound] when there is none.
func (l *Line) Job(ctx context.Context, id string) (*Job, error) {
	parsed, err := history.ParseCallID(id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, history.ErrNotFound)
	}
	l.mu.Lock()
	j, settler := l.jobs[parsed], l.settler
	l.mu.Unlock()
	if j != nil {
		return j, nil
	}
	w := &work{
		settler: settler, ctx: ctx, durable: ctx, lease: l.held.Lease(), n: parsed.Round,
		request: Request{Conversation: l.conversation}, slots: newSlots(1),
	}
	settled, err := w.answered(parsed)
	if err != nil {
		return nil, fmt.Errorf("find job %s of %s: %w", parsed, l.conversation, err)
	}
	j = &Job{ID: parsed, Tool: settled.Call.Name, call: settled.Call, line: l, settler: settler, stop: func() {}, done: make(chan struct{}), settled: settled}
	close(j.done)
	return j, nil
}

// answered reads one answered call back, as it was shown.
func (w *work) answered(id history.CallID) (Settled, error) {
	calls, err := w.settler.store.CallsOf(w.durable, w.request.Conversation, id.Round)
	if err != nil {
		return Settled{}, err
	}
	for _, stored := range calls {
		if stored.ID != id || id.Sub > 0 || stored.State != history.CallAnswered {
			continue
		}
		c := &call{
			id: id, state: stored.State, attempt: stored.Attempt, outcome: stored.Outcome,
			prepared: w.settler.set.Prepare(tool.Call{ID: stored.ProviderID, Name: stored.Tool, Args: stored.Args}),
		}
		if err := w.loadResult(c); err != nil {
			return Settled{}, err
		}
		text := c.record.Shown
		if c.record.Same {
			text = c.record.Whole
		}
		return w.settled(c, string(text)), nil
	}
	return Settled{}, history.ErrNotFound
}

// Jobs lists the calls of this conversation whose handle was given out, in order, with what their rows say.
func (l *Line) Jobs(ctx context.Context) ([]history.Job, error) {
	l.mu.Lock()
	store := l.settler.store
	l.mu.Unlock()
	jobs, err := store.JobsOf(ctx, l.conversation)
	if err != nil {
		return nil, fmt.Errorf("list the jobs of %s: %w", l.conversation, err)
	}
	return jobs, nil
}
