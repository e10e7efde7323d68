//go:build unix

package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/membrane/scripted"
)

// agentEnv makes the test binary a process that runs one turn; its value is a [killed].
const agentEnv = "WEIR_MCP_AGENT"

// killed is a turn that calls one tool of one server.
type killed struct {
	Dir    string
	Server client.Server
	Tool   string
	Args   json.RawMessage
}

// play runs the turn, or goes on with it, and gives the answer.
func (k killed) play(ctx context.Context, resume bool) (string, error) {
	store, err := sqlite.Open(ctx, k.Dir, sqlite.Config{})
	if err != nil {
		return "", err
	}
	defer store.Close()
	set, err := client.Connect(ctx, client.Config{Servers: map[string]client.Server{"far": k.Server}}, client.Options{})
	if err != nil {
		return "", err
	}
	defer set.Close()
	model, err := scripted.New(scripted.Script{Steps: []scripted.Step{
		{Calls: []scripted.Call{{Tool: "far--" + k.Tool, Args: k.Args}}},
		{Text: "I look what became of it.", Expect: []scripted.Expect{{Result: 1, Contains: "It may have taken effect, and it was not repeated: find out before you call it again"}}},
	}}, scripted.Config{})
	if err != nil {
		return "", err
	}
	a, err := agent.New(store, model, agent.Config{Refresh: set.Current})
	if err != nil {
		return "", err
	}
	stream := a.Resume(ctx, "c1")
	if !resume {
		stream = a.Run(ctx, agent.Turn{Conversation: "c1", Text: "do it"})
	}
	out, err := stream.Collect()
	return out.Text, err
}

// kill runs the turn in a process of its own, kills it once under reports that the call runs, and goes on
// with the turn here.
func (k killed) kill(t *testing.T, under func() bool) {
	t.Helper()
	raw, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), agentEnv+"="+string(raw))
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); !under(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			_ = child.Process.Kill()
			t.Fatal("the call never began")
		}
	}
	if err := child.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // it was killed
	text, err := k.play(t.Context(), true)
	if err != nil || text != "I look what became of it." {
		t.Fatalf("going on: %q, %v", text, err)
	}
	store, err := sqlite.Open(t.Context(), k.Dir, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	calls, err := store.CallsOf(t.Context(), "c1", 1)
	if err != nil || len(calls) != 1 || calls[0].Outcome != history.OutcomeUnknown || calls[0].Attempt != 1 {
		t.Errorf("want one call with an unknown outcome, begun once; got %+v (%v)", calls, err)
	}
}

// TestChangedInATurn changes a server's list in a round of a turn: the next request offers the new tools.
func TestChangedInATurn(t *testing.T) {
	t.Parallel()
	server := hostile(t, script{Tools: []string{list("change")}, After: list("change", "fresh"), Call: map[string]string{"change": ok, "fresh": ok}})
	s := connect(t, client.Options{}, map[string]client.Server{"s": server})
	store, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	model, err := scripted.New(scripted.Script{Steps: []scripted.Step{
		{Calls: []scripted.Call{{Tool: "s--change"}}, Expect: []scripted.Expect{{NoTool: "s--fresh"}}},
		{Calls: []scripted.Call{{Tool: "s--fresh"}}, Expect: []scripted.Expect{{Tool: "s--fresh"}}},
		{Text: "both", Expect: []scripted.Expect{{Result: 1, Contains: "fine"}}},
	}}, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(store, model, agent.Config{Refresh: s.Current})
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Run(t.Context(), agent.Turn{Conversation: "c1", Text: "go"}).Collect()
	if err != nil || out.Text != "both" {
		t.Errorf("got %q, %v", out.Text, err)
	}
}

// TestKilledInACall kills a process in the middle of a call of a server that never answers.
func TestKilledInACall(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	server := hostile(t, script{Tools: []string{list("hang")}, Call: map[string]string{"hang": "HANG"}})
	server.Env["WEIR_HOSTILE_LOG"] = log
	calls := func() int {
		sent, _ := os.ReadFile(log)
		return strings.Count(string(sent), `"tools/call"`)
	}
	killed{Dir: t.TempDir(), Server: server, Tool: "hang", Args: []byte(`{}`)}.kill(t, func() bool { return calls() == 1 })
	if n := calls(); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
}

// TestPeerKilledInACall does it with server-filesystem, which reads a pipe that nobody writes to.
func TestPeerKilledInACall(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	var held *os.File
	killed{Dir: t.TempDir(), Server: peer(t, "server-filesystem", dir), Tool: "read_text_file", Args: []byte(fmt.Sprintf(`{"path":%q}`, pipe))}.kill(t, func() bool {
		f, err := os.OpenFile(pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0)
		if errors.Is(err, syscall.ENXIO) {
			return false // nobody reads it yet
		}
		held = f
		return err == nil
	})
	_ = held.Close()
}
