package round

import (
	"context"
	"sync"

	"github.com/weir-run/weir/tool"
)

// slots are the places that calls run in: so many at a time, and one of each serial tool.
type slots struct {
	places chan struct{}
	mu     sync.Mutex
	serial map[string]chan struct{}
}

func newSlots(n int) *slots {
	return &slots{places: make(chan struct{}, n), serial: map[string]chan struct{}{}}
}

// turn is the queue of a serial tool; nil for any other.
func (s *slots) turn(t tool.Tool) chan struct{} {
	if !t.Serial {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.serial[t.Name] == nil {
		s.serial[t.Name] = make(chan struct{}, 1)
	}
	return s.serial[t.Name]
}

// try takes a slot that is free now; nil when there is none. The function that it returns gives the slot
// back, once however often it is called.
func (s *slots) try(t tool.Tool) func() {
	turn := s.turn(t)
	if turn != nil {
		select {
		case turn <- struct{}{}:
		default:
			return nil
		}
	}
	select {
	case s.places <- struct{}{}:
		return s.free(turn)
	default:
	}
	if turn != nil {
		<-turn
	}
	return nil
}

// take waits for a slot; nil when ctx ended first.
func (s *slots) take(ctx context.Context, t tool.Tool) func() {
	turn := s.turn(t)
	if turn != nil {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
	}
	select {
	case s.places <- struct{}{}:
		return s.free(turn)
	case <-ctx.Done():
	}
	if turn != nil {
		<-turn
	}
	return nil
}

func (s *slots) free(turn chan struct{}) func() {
	return sync.OnceFunc(func() {
		<-s.places
		if turn != nil {
			<-turn
		}
	})
}
