package shell

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/weir-run/weir/tool"
)

// final is how long something that cannot be refused may take: what was killed to be gone.
const final = 500 * time.Millisecond

// run runs a command to its end, its limit or the end of ctx, whichever is first, and ends whatever is
// left of it then.
func (r *runner) run(ctx context.Context, command string, limit time.Duration) tool.Result {
	call, _ := tool.CallFrom(ctx)
	to, finish := place(call)
	out := newOutput(to, r.cfg.MaxOutput, func(text string) { tool.Report(ctx, text) })
	p, pipe, err := r.start(command)
	if err != nil {
		return tool.Errorf("%s: the command was not run: it could not be started: %v", Name, err)
	}
	defer pipe.Close()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		out.copy(pipe)
	}()
	ended := make(chan *os.ProcessState, 1)
	go func() {
		state, _ := p.Wait() // fails only for a process that somebody else waited for
		ended <- state
	}()
	state, stopped := r.wait(ctx, limit, ended, out.full)
	left := nothing
	if state == nil || !within(Linger, func() bool { return closed(drained) && !running(p.Pid) }) {
		left = stop(p.Pid, r.cfg.Grace)
	}
	// All that could write is gone, unless it left the session: what the pipe holds is the last.
	_ = pipe.SetReadDeadline(time.Now())
	<-drained
	if state == nil {
		select {
		case <-ended: // nobody is left as a zombie
		case <-time.After(final):
		}
	}
	if out.over {
		stopped = fmt.Sprintf("[stopped: it printed more than its limit of %d bytes]", r.cfg.MaxOutput)
	}
	if stopped != "" {
		return tool.Result{Data: finish(out.end(stopped)), IsError: true}
	}
	about := left.lines()
	if out.held && left != unstoppable {
		about = append(about, "[something in a session of its own runs on; what it prints is not read any more]")
	}
	return tool.Result{Data: finish(out.end(append(about, status(state))...))}
}

// start starts a command with an empty standard input, and both of its other streams in the pipe.
func (r *runner) start(command string) (*os.Process, *os.File, error) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, nil, err
	}
	defer null.Close()
	pipe, write, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer write.Close()
	p, err := os.StartProcess(r.shell[0], append(r.shell[:len(r.shell):len(r.shell)], command), &os.ProcAttr{
		Dir: r.cfg.Dir, Env: r.env, Files: []*os.File{null, write, write}, Sys: ownSession(),
	})
	if err != nil {
		_ = pipe.Close()
		return nil, nil, err
	}
	return p, pipe, nil
}

// wait waits for the end of a command, or for the reason to stop it. One that ended is not stopped.
func (r *runner) wait(ctx context.Context, limit time.Duration, ended <-chan *os.ProcessState, full <-chan struct{}) (*os.ProcessState, string) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	why := ""
	select {
	case state := <-ended:
		return state, ""
	case <-full:
		return nil, "" // the output knows
	case <-timer.C:
		why = fmt.Sprintf("[stopped: it ran longer than its limit of %s]", limit)
	case <-ctx.Done():
		why = "[stopped: the call was cancelled]"
	}
	select {
	case state := <-ended:
		return state, ""
	default:
		return nil, why
	}
}

// remains is what became of processes that a command left behind.
type remains int

const (
	nothing remains = iota
	ceased
	unstoppable
)

func (l remains) lines() []string {
	switch l {
	case ceased:
		return []string{"[what it left running in the background was stopped]"}
	case unstoppable:
		return []string{"[something that it left running in the background could not be stopped]"}
	}
	return nil
}

// stop ends what is left of a session: it is told to end, and killed after the grace.
func stop(session int, grace time.Duration) remains {
	if !running(session) {
		return nothing
	}
	signal(session, terminate)
	if within(grace, func() bool { return !running(session) }) {
		return ceased
	}
	if within(final, func() bool {
		signal(session, kill) // again, while it goes on making new processes
		return !running(session)
	}) {
		return ceased
	}
	return unstoppable
}

// within asks until the answer is yes, or the time is over.
func within(limit time.Duration, yes func() bool) bool {
	end := time.Now().Add(limit)
	for pause := time.Millisecond; !yes(); pause = min(2*pause, 50*time.Millisecond) {
		left := time.Until(end)
		if left <= 0 {
			return false
		}
		time.Sleep(min(pause, left))
	}
	return true
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
