package cases

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/scripting"
	"github.com/weir-run/weir/tool"
	"github.com/weir-run/weir/workspace"
)

// The test binary is also the other process: jobFile names the file that says what it does.
const jobFile = "WEIR_CASES_JOB"

func TestMain(m *testing.M) {
	scripting.Main()
	path := os.Getenv(jobFile)
	if path == "" {
		os.Exit(m.Run())
	}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = work(raw)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// job is what a child does: open the store, run a turn in it, close it.
type job struct {
	Dir, Bodies, Project string
	// Script is a script in the form of its files.
	Script json.RawMessage
	Tools  []jobTool
	// Text is the turn's; with Resume the open turn is resumed instead, with Open nothing is run.
	Text, Key    string
	Resume, Open bool
	// Wait makes it say "ready" and wait for a line before it opens the store.
	Wait bool
}

// jobTool is a tool of a child. It appends a line to Log when it runs, and with Hang it never ends.
type jobTool struct {
	Name   string
	Data   []byte
	Text   string
	Stream bool
	Hang   bool
	Log    string
}

func work(raw []byte) error {
	var j job
	if err := json.Unmarshal(raw, &j); err != nil {
		return err
	}
	if j.Wait {
		fmt.Println("ready")
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			return err
		}
	}
	ctx := context.Background()
	s, err := sqlite.Open(ctx, j.Dir, sqlite.Config{})
	if err != nil {
		return err
	}
	if !j.Open {
		err = j.run(ctx, s)
	}
	return errors.Join(err, s.Close())
}

// run drives a turn and says what happens, one event a line.
func (j job) run(ctx context.Context, s *sqlite.Store) error {
	script, err := scripted.Parse("script", j.Script)
	if err != nil {
		return err
	}
	script.Name = "" // the model's name is that of the parent's
	model, err := scripted.New(script, scripted.Config{Bodies: j.Bodies})
	if err != nil {
		return err
	}
	cfg := agent.Config{}
	for _, t := range j.Tools {
		cfg.Tools = append(cfg.Tools, t.tool())
	}
	if _, err := os.Stat(j.Project); err == nil {
		cfg.Mounts = []workspace.Mount{{Name: filepath.Base(j.Project), Dir: j.Project}}
	}
	a, err := agent.New(s, model, cfg)
	if err != nil {
		return err
	}
	stream := a.Run(ctx, agent.Turn{Conversation: talk, Text: j.Text, Key: j.Key})
	if j.Resume {
		stream = a.Resume(ctx, talk)
	}
	for e, err := range stream {
		if err != nil {
			return err
		}
		switch e := e.(type) {
		case agent.CallStarted:
			fmt.Println("started", e.Result)
		case agent.CallSettled:
			fmt.Println("settled", e.Result, e.Outcome)
		case agent.TextDelta:
			fmt.Println("says", e.Text)
		case agent.TurnEnded:
			fmt.Println("ended", e.Reason)
		}
	}
	return nil
}

func (j jobTool) tool() tool.Tool {
	return handler(j.Name, func(ctx context.Context, c tool.Call) (tool.Result, error) {
		if j.Log != "" {
			if err := note(j.Log); err != nil {
				return tool.Result{}, err
			}
		}
		switch {
		case j.Hang:
			fmt.Println("hangs", j.Name)
			select {} // until it is killed
		case j.Stream:
			return prints(j.Name, [][]byte{j.Data}, 0).Run(ctx, c)
		case j.Data != nil:
			return tool.Result{Data: j.Data}, nil
		}
		return tool.Text(j.Text), nil
	})
}

// note appends a line to a file outside of the store.
func note(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("ran\n")
	return errors.Join(err, f.Close())
}

// child is a process that does a job on the folder of a world.
type child struct {
	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
	errs strings.Builder
}

// child starts a process with the script of the world.
func (w *world) child(j job, env ...string) *child {
	w.t.Helper()
	return w.start(os.Args[0], j, nil, env...)
}

func (w *world) start(binary string, j job, prepare func(*exec.Cmd), env ...string) *child {
	w.t.Helper()
	j.Dir, j.Bodies, j.Project, j.Script = w.dir, w.bodies, w.project, scriptOf(w.t, w.steps)
	raw, err := json.Marshal(j)
	if err != nil {
		w.t.Fatal(err)
	}
	f, err := os.CreateTemp(filepath.Dir(w.bodies), "job-*.json")
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = f.Write(raw)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		w.t.Fatal(err)
	}
	c := &child{t: w.t, cmd: exec.CommandContext(w.t.Context(), binary, "-test.run=^$")}
	c.cmd.Env = append(append(os.Environ(), jobFile+"="+f.Name()), env...)
	c.cmd.Stderr = &c.errs
	if prepare != nil {
		prepare(c.cmd)
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	if err := c.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if c.cmd.ProcessState == nil {
			_ = c.cmd.Process.Kill()
			_ = c.cmd.Wait()
		}
	})
	return c
}

// until reads what the child says up to a line that begins with these words.
func (c *child) until(words string) {
	c.t.Helper()
	for c.out.Scan() {
		if strings.HasPrefix(c.out.Text(), words) {
			return
		}
	}
	c.t.Fatalf("the child ended before it said %q: %v %s", words, c.out.Err(), c.errs.String())
}

// tell lets a child go on that waits.
func (c *child) tell() {
	c.t.Helper()
	if _, err := io.WriteString(c.in, "\n"); err != nil {
		c.t.Fatal(err)
	}
}

// kill ends the child as kill -9 does.
func (c *child) kill() {
	c.t.Helper()
	if err := c.cmd.Process.Kill(); err != nil {
		c.t.Fatal(err)
	}
	_ = c.cmd.Wait() // it says that it was killed
}

// done waits for a child that ends by itself.
func (c *child) done() {
	c.t.Helper()
	for c.out.Scan() {
	}
	if err := c.cmd.Wait(); err != nil {
		c.t.Fatalf("the child failed: %v: %s", err, c.errs.String())
	}
}

// scriptOf writes steps in the form of a script's file.
func scriptOf(t *testing.T, steps []scripted.Step) json.RawMessage {
	t.Helper()
	type call struct {
		ID   string `json:"id,omitempty"`
		Name string `json:"name"`
		Args string `json:"args_text"`
	}
	type step struct {
		Text  string `json:"text,omitempty"`
		Calls []call `json:"calls,omitempty"`
		Stall bool   `json:"stall,omitempty"`
	}
	file := struct {
		Steps []step `json:"steps"`
	}{Steps: []step{}}
	for _, s := range steps {
		out := step{Text: s.Text, Stall: s.Stall}
		for _, c := range s.Calls {
			out.Calls = append(out.Calls, call{c.ID, c.Tool, string(c.Args)})
		}
		file.Steps = append(file.Steps, out)
	}
	if len(steps) == 0 {
		file.Steps = append(file.Steps, step{Text: "Nobody asks."})
	}
	raw, err := json.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
