package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

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
				case first:
					first = false
					cancel(errInterrupted)
				default:
					fmt.Fprintln(a.err, "weir: left at once; what was stored is whole: weir resume goes on")
					os.Exit(statusInterrupted)
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
