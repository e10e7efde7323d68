package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/weir-run/weir/history"
)

// errNoKill says that the demo came too late.
var errNoKill = errors.New("the process ended before it was killed: is the machine very busy? run the demo again")

// work runs the rounds until the process is killed in the last of them.
func (d *demo) work(ctx context.Context) error {
	p, err := d.start(ctx)
	if err != nil {
		return err
	}
	rounds := demoRounds()
	closed, calls, settled, publishing, killing := 0, 0, 0, false, false
	for {
		n, ok := p.next()
		if !ok {
			break
		}
		switch n.Kind {
		case newsAnswered:
			calls, settled = n.Calls, 0
		case newsSettled:
			settled++
		case newsProgress:
			d.show(n)
			publishing = publishing || n.Tool == publishTool
		case newsClosed:
			if err := d.closed(ctx, n.Round, rounds); err != nil {
				return errors.Join(err, p.stop())
			}
			closed = n.Round
		}
		// Everything but the last call has its result, and that one is at work.
		if !killing && closed < len(rounds) && rounds[closed].killed && publishing && settled == calls-1 {
			killing = true
			if err := p.cmd.Process.Kill(); err != nil {
				return fmt.Errorf("kill the demo's process: %w", err)
			}
		}
	}
	d.report.Killed, err = p.end()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return err
	case !killing || !d.report.Killed:
		return errNoKill
	}
	return d.interrupted(ctx, closed+1)
}

// closed ends a round of the conversation: how long it took, and what is to be said of it.
func (d *demo) closed(ctx context.Context, n int, rounds []demoRound) error {
	if n < 1 || n > len(rounds) {
		return fmt.Errorf("round %d is none of the demo's", n)
	}
	d.passed(rounds[n-1].step)
	return d.tellRound(ctx, n, rounds[n-1].step)
}

// interrupted looks at what the killed process has left.
func (d *demo) interrupted(ctx context.Context, round int) (err error) {
	store, err := d.app.openToRead(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	if d.stored, err = store.ResultsOf(ctx, demoConversation, 0); err != nil {
		return err
	}
	bodies, err := d.bodies()
	if err != nil {
		return err
	}
	d.before = len(bodies)
	calls, err := store.CallsOf(ctx, demoConversation, round)
	if err != nil {
		return err
	}
	d.passed(stepKill)
	return d.tellKill(calls)
}

// resume goes on in a new process, with the command that anybody would use.
func (d *demo) resume(ctx context.Context) error {
	cmd, err := d.process(ctx, "resume", demoConversation, "--json")
	if err != nil {
		return err
	}
	out, err := cmd.Output()
	var said report
	switch read := json.Unmarshal(out, &said); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case read == nil && said.Error != "":
		return fmt.Errorf("weir resume: %s", said.Error)
	case err != nil:
		return fmt.Errorf("weir resume: %w", err)
	case read != nil:
		return fmt.Errorf("read what weir resume says: %w", read)
	}
	d.report.Resumed = said.Reason == "done"
	d.passed(stepResume)
	return d.tellResume(ctx, said)
}

// kept compares what is stored now with what the killed process had stored.
func (d *demo) kept(now []history.Result) int {
	n := 0
	for _, before := range d.stored {
		i := slices.IndexFunc(now, func(r history.Result) bool { return r.ID == before.ID })
		if i >= 0 && now[i].SHA256 == before.SHA256 && now[i].IsError == before.IsError {
			n++
		}
	}
	return n
}
