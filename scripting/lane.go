package scripting

import (
	"context"
	"sync"
)

// lanes let one script of each conversation run at a time; others wait.
type lanes struct {
	mu   sync.Mutex
	busy map[string]*lane
}

// lane is one conversation's.
type lane struct {
	turn  chan struct{} // holds one token
	users int
}

// enter waits for the turn; leave ends it.
func (l *lanes) enter(ctx context.Context, conversation string) (leave func(), err error) {
	l.mu.Lock()
	if l.busy == nil {
		l.busy = map[string]*lane{}
	}
	own := l.busy[conversation]
	if own == nil {
		own = &lane{turn: make(chan struct{}, 1)}
		own.turn <- struct{}{}
		l.busy[conversation] = own
	}
	own.users++
	l.mu.Unlock()
	gone := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(l.busy, conversation)
		}
	}
	select {
	case <-own.turn:
		return func() { own.turn <- struct{}{}; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, context.Cause(ctx)
	}
}
