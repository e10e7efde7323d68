//go:build unix

package lab_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/lab"
	"github.com/weir-run/weir/mcp/server"
)

// peers gives the folder of the third-party clients.
func peers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WEIR_PEERS")
	if dir == "" {
		t.Skip("third-party clients are not installed: make peers installs them and runs this with WEIR_PEERS set")
	}
	return dir
}

// peerLab gives where the eight tools are: an address, and the command of this test as a child.
func peerLab(t *testing.T) (url, self string) {
	t.Helper()
	h, err := server.Mount(lab.Protocol("test", lab.Matrix()), server.HTTPConfig{Open: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(h)
	t.Cleanup(web.Close)
	if self, err = os.Executable(); err != nil {
		t.Fatal(err)
	}
	return web.URL + "/mcp", self
}

// node runs a program of node and gives what it printed and its exit status.
func node(t *testing.T, dir string, args ...string) (out string, status int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var names []string
	for _, tl := range lab.Matrix() {
		names = append(names, tl.Name)
	}
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(dir, "node_modules"), "WEIR_LAB_CHILD=eight", "WEIR_LAB_TOOLS="+strings.Join(names, " "))
	var said, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("node: %v", err)
	}
	return said.String() + errs.String(), cmd.ProcessState.ExitCode()
}

// inspectorCells are what the inspector's column says, by tool.
func inspectorCells(t *testing.T) map[string]lab.Cell {
	t.Helper()
	host, ok := lab.Preset("inspector")
	if !ok {
		t.Fatal("there is no inspector")
	}
	cells := map[string]lab.Cell{}
	for _, c := range lab.Table(lab.Matrix(), []lab.Host{host}, nil) {
		cells[c.Tool] = c
	}
	return cells
}

// same fails for a result that is another than the lab sent, in whatever order and spacing.
func same(t *testing.T, who string, tl lab.Tool, got []byte) {
	t.Helper()
	if !canon.Equal(tl.Result, got) {
		t.Errorf("%s: %s (-want +got):\n%s", who, tl.Name, cmp.Diff(string(tl.Result), string(got)))
	}
}

// violations are the three that a refusal names.
func violations() []string {
	return []string{"required property 'name'", "price must be number", "in_stock must be boolean"}
}

// The reference client's own command line agrees with its column: it refuses what the column refuses, with all
// three violations, and shows the rest as it was sent.
func TestPeerInspector(t *testing.T) {
	t.Parallel()
	dir := peers(t)
	url, self := peerLab(t)
	cells := inspectorCells(t)
	cli := filepath.Join(dir, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	for kind, target := range map[string][]string{"stdio": {self, "-e", "WEIR_LAB_CHILD=eight"}, "http": {url, "--transport", "http"}} {
		for _, tl := range lab.Matrix() {
			t.Run(kind+"/"+tl.Name, func(t *testing.T) {
				out, status := node(t, dir, append(append([]string{cli, "--cli"}, target...), "--method", "tools/call", "--tool-name", tl.Name)...)
				switch cells[tl.Name].Code {
				case 0:
					if status != 0 {
						t.Fatalf("status %d: %s", status, out)
					}
					same(t, "inspector", tl, []byte(out))
				case -32602:
					for _, word := range violations() {
						if status == 0 || !strings.Contains(out, word) {
							t.Errorf("status %d, and the refusal does not say %q: %s", status, word, out)
						}
					}
				default:
					if status == 0 || !strings.Contains(out, "output schema") || !strings.Contains(out, "structured content") {
						t.Errorf("status %d: %s", status, out)
					}
				}
			})
		}
	}
}

// Clients of the TypeScript SDK, both generations, over both transports: before they have listed the tools
// everything passes as it was sent, after it they refuse what the inspector's column refuses.
func TestPeerTypeScript(t *testing.T) {
	t.Parallel()
	dir := peers(t)
	url, self := peerLab(t)
	cells := inspectorCells(t)
	for _, sdk := range []string{"v1", "v2", "v2-legacy"} {
		for kind, target := range map[string]string{"stdio": self, "http": url} {
			t.Run(sdk+"/"+kind, func(t *testing.T) {
				out, status := node(t, dir, "testdata/peer.cjs", sdk, kind, target)
				var got struct {
					Before, After map[string]json.RawMessage
					Listed        []string
				}
				if err := json.Unmarshal([]byte(out), &got); status != 0 || err != nil {
					t.Fatalf("status %d, %v: %s", status, err, out)
				}
				for _, tl := range lab.Matrix() {
					same(t, "before the list", tl, got.Before[tl.Name])
					if !slices.Contains(got.Listed, tl.Name) {
						t.Errorf("%s is not listed", tl.Name)
					}
					code := cells[tl.Name].Code
					if code == 0 {
						same(t, "after the list", tl, got.After[tl.Name])
						continue
					}
					var refused struct {
						Code    int
						Message string
					}
					if err := json.Unmarshal(got.After[tl.Name], &refused); err != nil || refused.Code != code {
						t.Errorf("%s after the list: %s, want code %d", tl.Name, got.After[tl.Name], code)
					}
					for _, word := range violations() {
						if code == -32602 && !strings.Contains(refused.Message, word) {
							t.Errorf("the refusal does not say %q: %s", word, refused.Message)
						}
					}
				}
			})
		}
	}
}
