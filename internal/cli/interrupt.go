package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// interrupts is who hears of a Ctrl-C before the command ends, and what is put back before the process does.
type interrupts struct {
	mu     sync.Mutex
	catch  func() bool
	atExit func()
	// asked is when the first signal asked to stop.
	asked time.Time
}

// markTime is how long after the first signal a second one waits before it leaves: the turn is being marked
// as cancelling then, so that it is not taken up again.
const markTime = 500 * time.Millisecond

// stopping notes that it was asked to stop.
func (i *interrupts) stopping() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked = time.Now()
}

// settle waits for the rest of markTime.
func (i *interrupts) settle() {
	i.mu.Lock()
	left := markTime - time.Since(i.asked)
	i.mu.Unlock()
	time.Sleep(left) // not at all when it has passed
}

// caught lets f hear of each Ctrl-C until the returned function is called; f says whether that was all there
// is to do about it.
func (i *interrupts) caught(f func() bool) func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.catch = f
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.catch = nil
	}
}

// before has f called before the process ends at once, until the returned function is called, which calls
// it too. So f is called once.
func (i *interrupts) before(f func()) func() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.atExit = f
	return i.putBack
}

func (i *interrupts) putBack() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.atExit != nil {
		i.atExit()
	}
	i.atExit = nil
}

func (i *interrupts) dealt() bool {
	i.mu.Lock()
	f := i.catch
	i.mu.Unlock()
	return f != nil && f()
}

// interruptible gives a context that ends with errInterrupted at the first SIGINT or SIGTERM, so that what
// runs can settle; the second one leaves at once. A reader of the output that goes away is no signal but
// an error of writing.
func (a *app) interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 4)
	done := make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	go func() {
		for first := true; ; {
			select {
			case <-done:
				return
			case s := <-signals:
				switch {
				case s == syscall.SIGPIPE:
				case s == os.Interrupt && a.interrupts.dealt():
				case first:
					first = false
					a.interrupts.stopping()
					cancel(errInterrupted)
				default:
					a.leaveAtOnce()
				}
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// leaveAtOnce ends the process in the middle of whatever it does, half a second after it was asked to stop
// at the earliest.
func (a *app) leaveAtOnce() {
	a.interrupts.settle()
	a.interrupts.putBack()
	fmt.Fprintln(a.err, "weir: left at once; what was stored is whole: weir resume goes on")
	os.Exit(statusInterrupted)
}
