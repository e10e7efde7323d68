package round

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/tool"
)

// MaxBeside is how many calls of a [Line] may be open at a time, those that wait for a slot included.
const MaxBeside = 4096

// ErrLineEnded says that a [Line] was closed, or that another process took its conversation over.
var ErrLineEnded = errors.New("the conversation is closed here")

// Line is a conversation without messages whose calls come from outside, one by one and when they come:
// those of an MCP client, of a gateway's host, of a job. Each is a round of its own, numbered on arrival,
// and a long one keeps no other waiting. It is safe for concurrent use.
type Line struct {
	conversation string
	held         *Held
	slots        *slots
	// ctx ends when the line is closed or its lease is lost; it is the line's life, which is why it stands
	// in a struct here.
	ctx     context.Context
	stop    context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	settler   *Settler
	last      int
	open      int
	ended     bool
	jobs      map[history.CallID]*Job
	endedJobs []history.CallID
}

// Line takes a conversation, which is created when it is not there, and keeps it until [Line.Close]. What
// a crash left open is answered first: as not started, or as of unknown outcome. It fails with
// *[history.BusyError] while somebody else has the conversation.
func (s *Settler) Line(ctx context.Context, conversation string) (*Line, error) {
	kept := context.WithoutCancel(ctx)
	held, driven, err := Hold(kept, s.store, history.Take{
		Conversation: conversation,
		Create:       &history.Conversation{ID: conversation, CreatedAt: s.cfg.Now()},
	}, s.cfg.Now)
	if err != nil {
		return nil, err
	}
	l := &Line{
		settler: s, conversation: conversation, held: held, slots: newSlots(s.cfg.Parallel), jobs: map[history.CallID]*Job{},
	}
	l.ctx, l.stop = context.WithCancel(driven)
	if err := l.leave(kept); err != nil {
		l.stop()
		l.running.Wait() // jobs that were taken up already write under the lease that is given back
		return nil, errors.Join(fmt.Errorf("end the interrupted calls of %s: %w", conversation, err), held.Release(kept))
	}
	return l, nil
}

// leave answers the open rounds of an earlier process. A job that may be repeated runs again.
func (l *Line) leave(ctx context.Context) error {
	rounds, err := l.settler.store.RoundsOf(ctx, l.conversation)
	if err != nil {
		return err
	}
	jobs, err := l.settler.store.JobsOf(ctx, l.conversation)
	if err != nil {
		return err
	}
	handed := map[int]bool{}
	for _, j := range jobs {
		handed[j.ID.Round] = j.State == history.JobRunning
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range rounds {
		l.last = max(l.last, r.N)
		if r.Closed {
			continue
		}
		w, end := l.work(ctx, r.N)
		if handed[r.N] {
			if _, err := w.takeUp(r); err != nil {
				end()
				return err
			}
			l.open++
			l.running.Add(1)
			l.run(w, true, func() {
				end()
				l.left()
			})
			continue
		}
		err := w.leave(r)
		end()
		if err != nil {
			return err
		}
	}
	return nil
}

// Use lets calls that begin from now on be settled by s, which has other tools and the same store. Calls that
// run are ended by the settler that they began with.
func (l *Line) Use(s *Settler) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settler = s
}

// Conversation is the id of the conversation.
func (l *Line) Conversation() string { return l.conversation }

// Do runs one call to its settled, stored result. Everything that is wrong with the call is a result with
// IsError; an error means that the runtime cannot go on: [ErrLineEnded], a store that fails, or more than
// [MaxBeside] calls at a time. When ctx ends, a call that did not begin is answered as not started, and a
// running one gets its grace time; the result is stored all the same.
func (l *Line) Do(ctx context.Context, c tool.Call) (Settled, error) {
	j, err := l.Start(ctx, c)
	if err != nil {
		return Settled{}, err
	}
	return j.Wait(context.WithoutCancel(ctx))
}

// begin numbers a call and stores it, in order of arrival. The caller holds the line's lock.
func (l *Line) begin(ctx context.Context, c tool.Call) (*work, context.CancelFunc, error) {
	switch {
	case l.ended || l.ctx.Err() != nil:
		return nil, nil, ErrLineEnded
	case l.open >= MaxBeside:
		return nil, nil, fmt.Errorf("%d calls are open; wait until some have ended", l.open)
	}
	w, end := l.work(ctx, l.last+1)
	w.request.Calls = []tool.Call{c}
	if err := w.create(); err != nil {
		end()
		if errors.Is(err, history.ErrStale) {
			l.ended = true
			err = fmt.Errorf("%w: %w", ErrLineEnded, err)
		}
		return nil, nil, err
	}
	l.last++
	l.open++
	l.running.Add(1)
	return w, func() {
		end()
		l.left()
	}, nil
}

// left counts a round that has ended.
func (l *Line) left() {
	l.mu.Lock()
	l.open--
	l.mu.Unlock()
	l.running.Done()
}

// work is a round of this line; the function ends its context.
func (l *Line) work(ctx context.Context, n int) (*work, context.CancelFunc) {
	driven, stop := context.WithCancel(ctx)
	detach := context.AfterFunc(l.ctx, stop)
	w := &work{
		settler: l.settler, ctx: driven, durable: context.WithoutCancel(ctx), lease: l.held.Lease(), n: n, stop: stop,
		// Nobody can be asked later about a call that somebody waits for now.
		request: Request{Conversation: l.conversation, Unasked: true},
		beside:  true, slots: l.slots,
	}
	return w, func() {
		detach()
		stop()
	}
}

// Close ends the calls that still run, waits until their results are stored, and gives the conversation
// back. It may be called again.
func (l *Line) Close(ctx context.Context) error {
	l.mu.Lock()
	l.ended = true
	l.mu.Unlock()
	l.stop()
	l.running.Wait()
	return l.held.Release(context.WithoutCancel(ctx))
}
