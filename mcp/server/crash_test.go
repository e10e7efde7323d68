//go:build unix

package server_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

// childEnv names the state folder for a child that serves; with stdioEnv it speaks on its own streams.
const childEnv, stdioEnv = "WEIR_TEST_MCP_CHILD", "WEIR_TEST_MCP_STDIO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := child(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child serves until it is killed.
func child(dir string) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		return err
	}
	if os.Getenv(stdioEnv) != "" {
		s, err := server.New(store, server.Config{Tools: peerTools()})
		if err != nil {
			return err
		}
		return errors.Join(s.ServeStdio(ctx, os.Stdin, os.Stdout), s.Close(ctx), store.Close())
	}
	hang := func(context.Context, tool.Call) (tool.Result, error) { select {} }
	reads := does("reads", hang)
	reads.ReadOnly = true
	s, err := server.New(store, server.Config{Tools: []tool.Tool{does("hangs", hang), reads, gives("quick", tool.Text("done"))}})
	if err != nil {
		return err
	}
	h, err := s.Handler(server.HTTPConfig{Tokens: principals})
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	site := &http.Server{Handler: h, ReadHeaderTimeout: time.Second}
	return site.Serve(l)
}

func spawn(t *testing.T, dir string) (string, func()) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() {
		_ = cmd.Process.Kill() // SIGKILL
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line), kill
}

// A server that is killed in the middle of calls leaves a conversation that holds together; the next one
// answers what was open, and goes on with the next number.
func TestAServerThatIsKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	url, kill := spawn(t, dir)
	c := client(t, url, token, "2026-07-28")
	do(t, c, "quick", nil)
	for _, name := range []string{"hangs", "reads"} {
		go func() { _, _ = c.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: name}) }()
	}
	store := open(t, dir)
	for n := 0; ; n++ {
		if rows, err := store.CallsOf(t.Context(), "mcp-for-one", 0); err == nil && len(rows) == 3 {
			break
		}
		if n == 400 {
			t.Fatal("the calls were not stored")
		}
		time.Sleep(25 * time.Millisecond)
	}
	kill()
	sound(t, store)

	url, kill = spawn(t, dir)
	r := do(t, client(t, url, token, "2026-07-28"), "quick", nil)
	if got := fmt.Sprint(r.Meta["weir/result"]); got != "r4-1" {
		t.Errorf("the next call is %s", got)
	}
	kill()
	got := map[string]string{}
	rows, err := store.CallsOf(t.Context(), "mcp-for-one", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		got[row.Tool] = string(row.Outcome)
	}
	if d := cmp.Diff(map[string]string{"quick": "done", "hangs": "unknown", "reads": "not_started"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	sound(t, store)
}
