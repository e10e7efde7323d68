// Package scripting is the JavaScript sandbox and the tool code_execution; tools arrive as functions.
//
// A script does the work that would otherwise flow through the model: it filters a stored result, joins
// two, calls a tool for each item of a list. Only what it prints or returns reaches the model. Its calls
// take the path of the model's own: validation, approval, limits and storage.
//
// A script runs in a process of its own, because no JavaScript engine in Go can hold a limit of memory, and
// because the end of that process is then an error result and nothing more. A library cannot start a
// program again that does not expect it, so the program says that it does: the first line of main, and of
// TestMain, is
//
//	scripting.Main()
//
// It returns at once unless this process is to run a script.
package scripting

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/weir-run/weir/scripting/internal/child"
	"github.com/weir-run/weir/scripting/internal/realm"
)

// Name is the name of the tool.
const Name = "code_execution"

// The defaults of [Limits], and what belongs to them.
const (
	// DefaultWall is the time limit of a script that sets none, DefaultMaxWall the most it may set.
	DefaultWall    = time.Minute
	DefaultMaxWall = 10 * time.Minute
	// LongestWall is the longest of all time limits that can be set.
	LongestWall = 24 * time.Hour
	// DefaultHeap is the memory of a script in bytes, MinHeap the least that can be set.
	DefaultHeap = 512 << 20
	MinHeap     = 32 << 20
	// DefaultCalls is how many tools a script may call.
	DefaultCalls = 200
	// DefaultOutput is how many characters a script may print and return.
	DefaultOutput = 1_000_000
	// DefaultInner is the longest result, in characters, that a script gets whole.
	DefaultInner = 20_000_000
	// MaxCode is the longest script in bytes.
	MaxCode = realm.MaxCode
)

// Limits bound one script. A zero field takes its default.
type Limits struct {
	// Wall is the time of a script that sets none; MaxWall the most that a call may ask for.
	Wall, MaxWall time.Duration
	// Heap is the memory of a script in bytes, at least [MinHeap]. It is not held in [InProcess], nor
	// under the race detector.
	Heap int64
	// Calls is how many tools a script may call.
	Calls int
	// Output is how many characters a script may print and return.
	Output int64
	// Inner is the longest result, in characters, that a script gets whole. A longer one is read in pieces.
	Inner int64
}

// Config says how scripts run. The zero value works in a program whose main begins with [Main].
type Config struct {
	// Command is a program that calls [Main] first, such as the weir binary, with arguments to stand
	// before Weir's own; nil means this program.
	Command []string
	// Limits bound each script.
	Limits Limits
	// Logger hears why a script's process crashed; nil is silent.
	Logger *slog.Logger
}

// Scripting runs scripts, each in a process of its own. One serves all conversations of a program.
type Scripting struct {
	limits  Limits
	log     *slog.Logger
	pool    *pool // nil when scripts run in this process
	lanes   lanes
	inPlace bool
}

// prepared is set by Main: this program can be a script process. It is the only state of this package.
var prepared atomic.Pointer[child.Build]

// Main is the first line of a program's main, and of TestMain. When the process was started to run a
// script, Main runs it and ends the process. Otherwise it records that the program can be started so, and
// returns at once.
func Main() {
	if heap, asked := child.Asked(os.Args); asked {
		child.Serve(heap)
	}
	here := child.Self()
	prepared.Store(&here)
}

// ErrNoProgram says that there is no program to run scripts in; the error of [New] names the ways out.
var ErrNoProgram = errors.New("no program to run scripts in")

// New makes what runs scripts. It uses Config.Command, or this program if it has called [Main]; else it
// fails with [ErrNoProgram]. It fails too on limits that cannot be. No process is started yet.
func New(cfg Config) (*Scripting, error) {
	s, err := newScripting(cfg)
	if err != nil {
		return nil, err
	}
	here := prepared.Load()
	var command child.Command
	switch {
	case len(cfg.Command) > 0:
		if cfg.Command[0] == "" {
			return nil, errors.New("make scripting: the first word of Config.Command is empty: name the program")
		}
		command = child.Command{Path: cfg.Command[0], Args: cfg.Command[1:]}
		if here == nil {
			self := child.Self()
			here = &self
		}
	case here != nil:
		if command, err = child.SelfCommand(); err != nil {
			return nil, fmt.Errorf("make scripting: %w: name a program in Config.Command", err)
		}
	default:
		return nil, fmt.Errorf("make scripting: %w: begin main (in a test, TestMain) with scripting.Main(), "+
			"or name a program that does in Config.Command, such as the weir binary, "+
			"or use scripting.InProcess, which holds no limit of memory", ErrNoProgram)
	}
	s.pool = newPool(command, *here, s.limits.Heap)
	return s, nil
}

// InProcess makes what runs scripts in this process: for a program that cannot be started again. There is
// no limit of memory then, a script that exhausts it ends the program, and one that is inside a single
// long operation of the engine when its time is up goes on in the background until that operation ends.
// Config.Command is not used.
//
// Two settings are those of the whole program: the local time of a script's Date is [time.Local], which makes
// results depend on the machine unless the program sets it to UTC (a script process does); and the first script
// sets regexp2.DefaultMatchTimeout of github.com/dlclark/regexp2/v2 to 2 s and its largest stack to unbounded.
func InProcess(cfg Config) (*Scripting, error) {
	s, err := newScripting(cfg)
	if err != nil {
		return nil, err
	}
	s.inPlace = true
	return s, nil
}

// Close ends the processes that were started before they are needed. Scripts that run go on.
func (s *Scripting) Close() error {
	if s.pool != nil {
		s.pool.close()
	}
	return nil
}

func newScripting(cfg Config) (*Scripting, error) {
	l := cfg.Limits
	if err := l.complete(); err != nil {
		return nil, fmt.Errorf("make scripting: %w", err)
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Scripting{limits: l, log: log}, nil
}

// complete puts the defaults in.
func (l *Limits) complete() error {
	for _, w := range []struct {
		name  string
		value time.Duration
	}{{"Wall", l.Wall}, {"MaxWall", l.MaxWall}} {
		if w.value != 0 && (w.value < time.Millisecond || w.value > LongestWall) {
			return fmt.Errorf("the limit %s is %s: it must be 1ms to %s, or 0 for the default", w.name, w.value, LongestWall)
		}
	}
	if l.MaxWall == 0 {
		l.MaxWall = max(DefaultMaxWall, l.Wall)
	}
	if l.Wall == 0 {
		l.Wall = min(DefaultWall, l.MaxWall)
	}
	if l.Wall > l.MaxWall {
		return fmt.Errorf("the limit Wall is %s, which is over MaxWall, %s", l.Wall, l.MaxWall)
	}
	calls := int64(l.Calls)
	for _, n := range []struct {
		name           string
		value          *int64
		least, most, d int64
	}{
		{"Heap", &l.Heap, MinHeap, 1 << 40, DefaultHeap},
		{"Calls", &calls, 1, 1_000_000, DefaultCalls},
		{"Output", &l.Output, 1, 100_000_000, DefaultOutput},
		{"Inner", &l.Inner, 1, 200_000_000, DefaultInner},
	} {
		switch {
		case *n.value == 0:
			*n.value = n.d
		case *n.value < n.least || *n.value > n.most:
			return fmt.Errorf("the limit %s is %d: it must be %d to %d, or 0 for %d", n.name, *n.value, n.least, n.most, n.d)
		}
	}
	l.Calls = int(calls)
	return nil
}
