package round

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/weir-run/weir/history"
)

// Held is a lease that is renewed until it is released.
type Held struct {
	store history.Leases
	stop  context.CancelFunc
	done  chan struct{}

	mu    sync.Mutex
	lease history.Lease
}

// Hold takes a conversation and keeps it: the lease is renewed every third of its time. The returned
// context ends with [history.ErrStale] as its cause when the lease was lost. It fails like
// [history.Leases.TakeLease].
func Hold(ctx context.Context, store history.Leases, t history.Take, now func() time.Time) (*Held, context.Context, error) {
	if t.Run == "" {
		id, err := uuid.NewV7()
		if err != nil {
			return nil, nil, err
		}
		t.Run = id.String()
	}
	t.Now = now()
	lease, err := store.TakeLease(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	driven, lost := context.WithCancelCause(ctx)
	// Renewing outlives a cancel of the run: its last writes still need the lease.
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	h := &Held{store: store, stop: stop, done: make(chan struct{}), lease: lease}
	go h.renew(renewing, now, lost)
	return h, driven, nil
}

// Lease gives the lease as it is now.
func (h *Held) Lease() history.Lease {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lease
}

// Release gives the conversation back. It may be called again.
func (h *Held) Release(ctx context.Context) error {
	h.stop()
	<-h.done
	return h.store.ReleaseLease(ctx, h.Lease())
}

func (h *Held) renew(ctx context.Context, now func() time.Time, lost context.CancelCauseFunc) {
	defer close(h.done)
	defer lost(nil)
	tick := time.NewTicker(history.LeaseTime / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		renewed, err := h.store.RenewLease(ctx, h.Lease(), now())
		if errors.Is(err, history.ErrStale) {
			lost(err)
			return
		}
		if err == nil {
			h.mu.Lock()
			h.lease = renewed
			h.mu.Unlock()
		}
		// Any other failure is the store's; the next write will tell it, and the next tick tries again.
	}
}
