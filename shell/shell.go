// Package shell runs a command, bounded, into a spill.
//
// [New] gives the tool shell--run, which no agent has unless its host asks for it: a command may do
// whatever the program's own user may do, and nothing here is a sandbox. What is promised is an end. A
// command has a time limit and an output limit, what it prints is taken as it is produced and costs the
// cap in memory, and when it ends, or is ended, what it has started is ended too. It runs in a session of
// its own, without a terminal; only a process that makes yet another session, as setsid(1) does, lives on.
// (On Unix systems other than Linux, also one that makes another process group.)
//
// The text is what the command printed on both streams, as it came, and one last line, always there and
// always alone on its line, so that nothing a command prints can be mistaken for it:
//
//	[exit 0], [exit 2]                                it ended by itself
//	[killed by SIGSEGV]                               a signal ended it
//	[stopped: it ran longer than its limit of 2s]     this tool ended it; the output limit and a
//	                                                  cancelled call have lines like it
//
// A line before it tells of processes that were left in the background. Where bytes were replaced that
// are no text, the line that says so comes last.
//
// An exit status is an answer, whatever it is: grep that finds nothing did not fail. An error result is a
// command that was not run or that was stopped; its output is kept and shown like any other.
package shell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/weir-run/weir/tool"
)

// Name is the name of the tool.
const Name = "shell--run"

// Limits and defaults of a command.
const (
	// MaxCommand is the longest command in bytes: Linux takes 128 KiB in one argument, its end included.
	MaxCommand = 128<<10 - 1
	// DefaultTimeout is the limit of a command that sets none, DefaultMaxTimeout the most it may set.
	DefaultTimeout    = 2 * time.Minute
	DefaultMaxTimeout = 10 * time.Minute
	// Longest is the longest of all time limits that can be set.
	Longest = 24 * time.Hour
	// DefaultGrace is how long a command that was told to end may take.
	DefaultGrace = time.Second
	// DefaultMaxOutput is how many bytes a command may print.
	DefaultMaxOutput = 2 << 30
	// Linger is how long processes that a command left in the background may take to end by themselves.
	Linger = 500 * time.Millisecond
)

// margin is what the runner's limit of a call has over the longest that a call takes by itself.
const margin = 5 * time.Second

// Config says how commands are run. The zero value works.
type Config struct {
	// Dir is the folder that commands start in; empty is the one that the program is in when [New] is
	// called. It must be there.
	Dir string
	// Env is the whole environment of a command: "NAME" passes the program's own value on, if it has
	// one, "NAME=value" sets one. Of two entries of one name the later counts. It is read once, by
	// [New]. Nil means [DefaultEnv]; an empty list is an empty environment.
	Env []string
	// Shell is the program that a command is given to, with the arguments before it; nil means
	// /bin/sh -c --. A name without a slash is looked for in the program's PATH.
	Shell []string
	// Timeout is the limit of a command that sets none; 0 means [DefaultTimeout], or MaxTimeout where
	// that is less.
	Timeout time.Duration
	// MaxTimeout is the longest limit that a command may set; 0 means [DefaultMaxTimeout], or Timeout
	// where that is more.
	MaxTimeout time.Duration
	// Grace is how long a command that is stopped has between SIGTERM and SIGKILL; 0 means
	// [DefaultGrace]. Below the grace of the runner (2 s by default) the last words of a cancelled
	// command are kept.
	Grace time.Duration
	// MaxOutput is how many bytes a command may print before it is stopped; 0 means [DefaultMaxOutput].
	MaxOutput int64
}

// DefaultEnv returns the names of the variables that commands see unless the host decides otherwise:
// where programs, the home and temporary files are, who the user is, language and time zone. Keys and
// tokens of the program are not among them.
func DefaultEnv() []string {
	return []string{"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ"}
}

// New makes the tool. It fails on a system that is not Unix, when the folder or the shell is not there,
// on an environment that is none, on times that are not between a millisecond and [Longest], and on a
// Timeout over MaxTimeout.
func New(cfg Config) (tool.Tool, error) {
	if err := supported(); err != nil {
		return tool.Tool{}, err
	}
	r, err := newRunner(cfg)
	if err != nil {
		return tool.Tool{}, fmt.Errorf("make %s: %w", Name, err)
	}
	t := tool.Tool{
		Name: Name,
		Description: fmt.Sprintf("Run a command with %s and return what it prints, standard output and standard error as they come. "+
			"The last line is how it ended, such as [exit 0] or [exit 2]. Each call starts in the same folder with a fresh shell and "+
			"empty standard input; what it leaves in the background is stopped when it ends.", filepath.Base(r.shell[0])),
		Schema: r.schema(),
		Traits: tool.Traits{PlainTerminal: true, Timeout: r.cfg.MaxTimeout + Linger + r.cfg.Grace + margin},
		Run:    r.call,
	}
	return t, t.Check()
}

// schema is part of the prompt: for one configuration its bytes never change.
func (r *runner) schema() json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{`+
		`"command":{"type":"string","description":"what the shell is to run, at most %d bytes; it may have several lines"},`+
		`"timeout_ms":{"type":["integer","string"],"pattern":"^-?[0-9]+$","description":"time limit in milliseconds, 1 to %d; default %d"}},`+
		`"required":["command"],"additionalProperties":false}`,
		MaxCommand, r.cfg.MaxTimeout.Milliseconds(), r.cfg.Timeout.Milliseconds())
}

// runner runs commands in one way.
type runner struct {
	cfg   Config
	shell []string // of which the first is a path
	env   []string // never nil: nil would be the program's own
}

func newRunner(cfg Config) (*runner, error) {
	if err := limits(&cfg); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder that commands start in: %w", err)
	}
	if cfg.Dir = dir; !isDir(dir) {
		return nil, fmt.Errorf("commands cannot start in %s: it is not there, or no folder", dir)
	}
	shell := cfg.Shell
	if shell == nil {
		shell = []string{"/bin/sh", "-c", "--"}
	}
	if len(shell) == 0 {
		return nil, errors.New("the shell is an empty list: name the program, and the arguments before the command")
	}
	path, err := exec.LookPath(shell[0])
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, fmt.Errorf("find the shell: %w", err)
	}
	env, err := environment(cfg.Env)
	if err != nil {
		return nil, err
	}
	return &runner{cfg: cfg, shell: append([]string{path}, shell[1:]...), env: env}, nil
}

// limits puts the defaults in.
func limits(cfg *Config) error {
	for _, l := range []struct {
		name  string
		value time.Duration
	}{{"Timeout", cfg.Timeout}, {"MaxTimeout", cfg.MaxTimeout}, {"Grace", cfg.Grace}} {
		if l.value != 0 && (l.value < time.Millisecond || l.value > Longest) {
			return fmt.Errorf("%s is %s: it must be 1ms to %s, or 0 for the default", l.name, l.value, Longest)
		}
	}
	if cfg.MaxOutput < 0 {
		return fmt.Errorf("MaxOutput is %d bytes: it must be at least 1, or 0 for the default", cfg.MaxOutput)
	}
	if cfg.MaxTimeout == 0 {
		cfg.MaxTimeout = max(DefaultMaxTimeout, cfg.Timeout)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = min(DefaultTimeout, cfg.MaxTimeout)
	}
	if cfg.Timeout > cfg.MaxTimeout {
		return fmt.Errorf("the limit Timeout is %s, which is over MaxTimeout, %s", cfg.Timeout, cfg.MaxTimeout)
	}
	if cfg.Grace == 0 {
		cfg.Grace = DefaultGrace
	}
	if cfg.MaxOutput == 0 {
		cfg.MaxOutput = DefaultMaxOutput
	}
	return nil
}

// environment reads the list of variables.
func environment(entries []string) ([]string, error) {
	if entries == nil {
		entries = DefaultEnv()
	}
	env, at := []string{}, map[string]int{}
	for _, entry := range entries {
		name, _, sets := strings.Cut(entry, "=")
		if name == "" || strings.ContainsRune(entry, 0) {
			return nil, fmt.Errorf("the environment has an entry %.100q: write NAME to pass a variable on, NAME=value to set it", entry)
		}
		if !sets {
			value, ok := os.LookupEnv(name)
			if !ok {
				continue
			}
			entry = name + "=" + value
		}
		if i, twice := at[name]; twice {
			env[i] = entry
			continue
		}
		at[name] = len(env)
		env = append(env, entry)
	}
	return env, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// call runs one call of the tool.
func (r *runner) call(ctx context.Context, c tool.Call) (tool.Result, error) {
	command, limit, err := r.arguments(c.Args)
	if err != nil {
		return tool.Errorf("%s: %v. Example: %s", Name, err, r.example()), nil
	}
	if err := ctx.Err(); err != nil {
		return tool.Result{}, err
	}
	if !isDir(r.cfg.Dir) {
		return tool.Errorf("%s: the command was not run: the folder that commands start in is gone; it has to be made again, or the tool given another", Name), nil
	}
	return r.run(ctx, command, limit), nil
}
