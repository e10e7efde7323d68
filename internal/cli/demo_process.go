package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/weir-run/weir/agent"
)

// news is what the demo's process tells: one JSON object for each event, on stdout.
type news struct {
	Kind string `json:"kind"`
	// Result, Tool and Text are those of a call; Calls is the number of calls of an answer, Round the
	// number of a round that is closed.
	Result string `json:"result,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Text   string `json:"text,omitempty"`
	Calls  int    `json:"calls,omitempty"`
	Round  int    `json:"round,omitempty"`
}

// The kinds of news.
const (
	newsAnswered = "answered"
	newsProgress = "progress"
	newsSettled  = "settled"
	newsClosed   = "closed"
)

// newsOf is what is told of an event; false for nothing.
func newsOf(e agent.Event) (news, bool) {
	switch e := e.(type) {
	case agent.Answered:
		return news{Kind: newsAnswered, Calls: e.Calls}, true
	case agent.Progress:
		return news{Kind: newsProgress, Result: e.Result, Tool: e.Tool, Text: e.Text}, true
	case agent.CallSettled:
		return news{Kind: newsSettled, Result: e.Result, Tool: e.Tool}, true
	case agent.RoundClosed:
		return news{Kind: newsClosed, Round: e.Round}, true
	}
	return news{}, false
}

// demoWork is the process that works until it is killed. It ends with the demo, at once, so that the turn can
// be resumed: stdin and stdout are pipes that close when the demo is gone, however that ended.
func (a *app) demoWork(ctx context.Context, on string) (err error) {
	if on == "" {
		return misuse("weir demo starts this: run weir demo")
	}
	go func() {
		_, _ = io.Copy(io.Discard, a.in)
		os.Exit(statusFailed)
	}()
	// Ctrl-C reaches every process of a terminal. What becomes of this one the demo decides.
	ctx = context.WithoutCancel(ctx)
	s, err := a.demoSettings(on)
	if err != nil {
		return err
	}
	if err := a.equip(s); err != nil {
		return err
	}
	model, err := s.demoModel()
	if err != nil {
		return err
	}
	settings, err := s.encoded()
	if err != nil {
		return err
	}
	store, err := a.openToWrite(ctx)
	if err != nil {
		return err
	}
	defer closing(store, &err)
	made, err := agent.New(store, model, a.config(s))
	if err != nil {
		return err
	}
	out := json.NewEncoder(a.out)
	for e, err := range made.Run(ctx, agent.Turn{Conversation: demoConversation, Text: demoAsk, Settings: settings}) {
		if err != nil {
			return err
		}
		if n, ok := newsOf(e); ok {
			if err := out.Encode(n); err != nil {
				os.Exit(statusFailed) // the same: to leave the loop would cancel the turn
			}
		}
	}
	return nil
}

// process is a process of this program that works on the demo's folder. It is killed when ctx ends.
type process struct {
	cmd    *exec.Cmd
	news   *json.Decoder
	errors bytes.Buffer
}

// process makes a call of this program on the demo's folder.
func (d *demo) process(ctx context.Context, args ...string) (*exec.Cmd, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, exe, append([]string{"--dir", d.report.Dir}, args...)...)
	cmd.WaitDelay = 5 * time.Second
	return cmd, nil
}

// start starts the process that works.
func (d *demo) start(ctx context.Context) (*process, error) {
	cmd, err := d.process(ctx, "demo", "work", "--on", d.on)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd}
	if _, err := cmd.StdinPipe(); err != nil { // it stays open until the process ends, or this one does
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	cmd.Stderr = &p.errors
	p.news = json.NewDecoder(out)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the demo's process: %w", err)
	}
	return p, nil
}

// next waits for the next news; false when the process has ended.
func (p *process) next() (news, bool) {
	var n news
	return n, p.news.Decode(&n) == nil
}

// end waits for the end of the process and says whether SIGKILL ended it.
func (p *process) end() (killed bool, err error) {
	for {
		if _, ok := p.next(); !ok {
			break
		}
	}
	err = p.cmd.Wait()
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() && status.Signal() == syscall.SIGKILL {
		return true, nil
	}
	return false, p.failed(err)
}

// stop ends the process.
func (p *process) stop() error {
	err := p.cmd.Process.Kill()
	_, _ = p.end() // it was killed: there is nothing to hear from it
	return err
}

// failed gives the process's own words for its failure.
func (p *process) failed(err error) error {
	if said := strings.TrimPrefix(oneLine(p.errors.String()), "weir: "); said != "" {
		return errors.New(said)
	}
	return err
}
