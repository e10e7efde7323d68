package scripting

import (
	"context"
	"sync"
	"time"

	"github.com/weir-run/weir/scripting/internal/child"
)

// ahead is how many processes are ready before they are needed, at most: as many as scripts run at once.
const ahead = 2

// pause is how long after the start of a script the next process is started.
const pause = 25 * time.Millisecond

// pool keeps processes ready. Each runs one script and is thrown away.
type pool struct {
	command child.Command
	here    child.Build
	heap    int64

	mu      sync.Mutex
	ready   []*child.Process
	coming  int // being started to be ready
	running int // scripts
	closed  bool
	stopped context.Context
	stop    context.CancelFunc
}

func newPool(c child.Command, here child.Build, heap int64) *pool {
	p := &pool{command: c, here: here, heap: heap}
	p.stopped, p.stop = context.WithCancel(context.Background())
	return p
}

// take gives a process of its own to one script, and has others made ready behind its back. Without an
// error leave must follow.
func (p *pool) take(ctx context.Context) (*child.Process, error) {
	process := p.pick()
	if process == nil {
		var err error
		if process, err = child.Start(ctx, p.command, p.here, p.heap); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	p.running++
	p.mu.Unlock()
	time.AfterFunc(pause, p.refill) // the script begins first
	return process, nil
}

// leave says that a script has ended.
func (p *pool) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running--
}

// pick takes one that is ready. One that has ended meanwhile is not.
func (p *pool) pick() *child.Process {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.ready) > 0 {
		process := p.ready[0]
		p.ready = p.ready[1:]
		select {
		case <-process.Ended():
			process.Close()
		default:
			return process
		}
	}
	return nil
}

// refill starts what is missing. One that cannot be started is not tried again here: the next script says
// why.
func (p *pool) refill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	for len(p.ready)+p.coming < min(ahead, max(1, p.running)) {
		p.coming++
		go func() {
			process, err := child.Start(p.stopped, p.command, p.here, p.heap)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.coming--
			switch {
			case err != nil:
			case p.closed:
				process.Close()
			default:
				p.ready = append(p.ready, process)
			}
		}()
	}
}

// close ends what is ready.
func (p *pool) close() {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, process := range p.ready {
		process.Close()
	}
	p.ready = nil
}
