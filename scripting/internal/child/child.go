// Package child is the process that a script runs in: how a program becomes one, how it limits itself,
// how it is started, and what its end means.
//
// A script process has an empty environment, a process group of its own and no descriptors but the three
// pipes to the program that started it. It limits its memory before it reads anything, runs one script,
// and is gone when its input closes, whatever it is doing.
package child

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/weir-run/weir/scripting/internal/pipe"
	"github.com/weir-run/weir/scripting/internal/realm"
)

// marker is the argument before the last of a script process; the last is its heap limit.
const marker = "weir-script-process-5f0c"

// The exit statuses of a script process.
const (
	exitDone   = 0
	exitMemory = 87
	exitPipe   = 88
)

const (
	// spare is what a process comes to need beside its heap, in bytes.
	spare = 64 << 20
	// processors is how many a process uses, at most: a script runs on one, collections on others. Each
	// takes threads, and those memory, which must not depend on how large the machine is.
	processors = 4
	// gcPercent lets the heap of a short script grow before it is collected; near the limit the runtime
	// collects early all the same.
	gcPercent = 400
	// maxStack is the largest stack of a goroutine, in bytes: past it the process ends with a clear reason.
	maxStack = 128 << 20
)

// Asked reports whether a program was started as a script process, and with which heap limit in bytes.
func Asked(args []string) (heap int64, yes bool) {
	if len(args) < 3 || args[len(args)-2] != marker {
		return 0, false
	}
	heap, err := strconv.ParseInt(args[len(args)-1], 10, 64)
	return heap, err == nil && heap > 0
}

// Serve is the life of a script process. It ends the process.
func Serve(heap int64) {
	// With an empty environment the local time would be that of the machine, which is no part of a script.
	time.Local = time.UTC
	runtime.GOMAXPROCS(min(processors, runtime.GOMAXPROCS(0)))
	out := os.Stdout
	os.Stdout = os.Stderr // what anything prints from here on is no part of the conversation
	here := Self()
	limit(heap)
	_ = os.Chdir(string(os.PathSeparator)) // no folder is kept in use; a failure changes nothing
	realm.Warm()
	w := pipe.NewWriter(out)
	if _, err := out.WriteString(pipe.Magic); err != nil {
		leave(exitPipe)
	}
	if err := w.Send(pipe.KindHello, 0, pipe.Greeting{Protocol: pipe.Protocol, Weir: here.Weir, Build: here.Build}, nil); err != nil {
		leave(exitPipe)
	}
	r := pipe.NewReader(os.Stdin, pipe.MaxFromProgram)
	f, ready := first(r)
	var job pipe.Job
	if f.Kind != pipe.KindStart || f.Into(&job) != nil {
		leave(exitPipe)
	}
	client := pipe.NewClient(w)
	go listen(r, client)
	go watch(heap)
	run(w, client, ready, job, string(f.Text))
	leave(exitDone)
}

// idle is after how long without a script a process uses its time to make the first one faster.
const idle = 20 * time.Millisecond

// first waits for the script, and makes its realm meanwhile. A process that waits longer runs an empty script
// in another one: what the engine does once in a process is done then.
func first(r *pipe.Reader) (pipe.Frame, *realm.Prepared) {
	came := make(chan pipe.Frame, 1)
	go func() {
		f, err := r.Next()
		if err != nil {
			leave(exitDone) // it was not needed
		}
		came <- f
	}()
	ready := realm.Prepare()
	select {
	case f := <-came:
		return f, ready
	case <-time.After(idle):
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		realm.Run(ctx, realm.Script{Code: "console.log([{}].map(String))"}, nothing{})
		return <-came, ready
	}
}

// leave ends this process, which is all that a script process is for.
func leave(status int) {
	os.Exit(status) //nolint:forbidigo // a process that runs one script ends itself
}

// run runs the script and tells how it ended.
func run(w *pipe.Writer, client *pipe.Client, ready *realm.Prepared, job pipe.Job, code string) {
	ctx, stop := context.WithTimeout(context.Background(), job.Wall)
	defer stop()
	o := ready.Run(ctx, realm.Script{
		Code: code, Args: job.Args, Tools: job.Tools, Seed: job.Seed, Now: job.Now, Limits: job.Limits,
	}, client)
	client.Value(o.Value)
	end := pipe.Ending{HasValue: o.HasValue, Failure: o.Failure, Failed: o.Failed, Late: o.Failed && ctx.Err() != nil}
	if w.Send(pipe.KindDone, 0, end, nil) != nil {
		leave(exitPipe)
	}
}

// listen hands answers on. When the input closes, nobody is there any more.
func listen(r *pipe.Reader, client *pipe.Client) {
	for {
		f, err := r.Next()
		if err != nil {
			leave(exitPipe)
		}
		if f.Kind == pipe.KindAnswer {
			client.Take(f)
		}
	}
}

// nothing is the host of an empty script.
type nothing struct{ realm.Host }

func (nothing) Print(string) {}

// limit bounds the memory of this process: by the system where it can, and by the runtime, which then
// collects early. Under the race detector there is none: what it reserves would count.
func limit(heap int64) {
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(gcPercent)
	debug.SetTraceback("none")
	if raced {
		return
	}
	debug.SetMemoryLimit(heap - heap/8)
	limitSystem(heap)
}

// tick is how often the heap is looked at.
const tick = time.Millisecond
