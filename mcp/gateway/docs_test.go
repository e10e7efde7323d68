//go:build unix

package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/gateway"
)

// blocks gives the fenced blocks of the gateway's part of docs/mcp.md, by their language.
func blocks(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(raw), "\n## The gateway\n")
	if !ok {
		t.Fatal("docs/mcp.md has no part about the gateway")
	}
	part, _, _ = strings.Cut(part, "\n## ")
	all := map[string][]string{}
	for i, piece := range strings.Split(part, "```") {
		if i%2 == 1 {
			language, body, _ := strings.Cut(piece, "\n")
			all[language] = append(all[language], body)
		}
	}
	return all
}

// TestDocsBlocks reads the configuration and the rules of docs/mcp.md.
func TestDocsBlocks(t *testing.T) {
	t.Parallel()
	all := blocks(t)
	if len(all["json"]) != 1 || len(all["yaml"]) != 1 || len(all["sh"]) < 3 {
		t.Fatalf("there are other blocks than this test runs: %v", all)
	}
	if _, err := client.Parse([]byte(all["json"][0]), os.LookupEnv); err != nil {
		t.Error(err)
	}
	if rules, err := gateway.ParseRules([]byte(all["yaml"][0])); err != nil || len(rules) != 4 {
		t.Errorf("%v, %v", rules, err)
	}
}

// site of the third-party servers, as npx would find them.
const npx = `#!/bin/sh
test "$1" = -y && shift
package="$1"; shift
exec node "%s/node_modules/$package/dist/index.js" "$@"
`

// TestPeerDocs runs every command of the gateway's part of docs/mcp.md, with its servers and its rules.
func TestPeerDocs(t *testing.T) {
	t.Parallel()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(home, "bin")
	for name, text := range map[string]string{
		"bin/npx": fmt.Sprintf(npx, peers(t)), "weir.yaml": blocks(t)["yaml"][0], "notes.txt": "a note",
		".mcp.json": `{"mcpServers":{
			"filesystem":{"command":"npx","args":["-y","@modelcontextprotocol/server-filesystem","` + home + `"]},
			"memory":{"command":"npx","args":["-y","@modelcontextprotocol/server-memory"],"env":{"MEMORY_FILE_PATH":"` + home + `/m.json"}}}}`,
	} {
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(bin, "weir"), "../../cmd/weir").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	run := func(line, input string, limit time.Duration) string {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), limit)
		defer stop()
		cmd := exec.CommandContext(ctx, "sh", "-c", "exec "+line)
		cmd.Dir, cmd.Env, cmd.WaitDelay = home, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")), 5*time.Second
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.Stdin = strings.NewReader(input)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil && ctx.Err() == nil {
			t.Errorf("%s: %v: %.1000s", line, err, out.String())
		}
		return out.String()
	}
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"docs","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`
	var config struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(blocks(t)["json"][0]), &config); err != nil {
		t.Fatal(err)
	}
	files := config.Servers["files"]
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"` + home + `/notes.txt"}}}` + "\n"
	if got := run(files.Command+" "+strings.Join(files.Args, " "), hello+call, time.Minute); !strings.Contains(got, `"result":{"content":[{"type":"text","text":"a note"}],"structuredContent":{"content":"a note"}}`) {
		t.Errorf("the host's configuration: %s", got)
	}
	graph := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"memory--read_graph","arguments":{}}}` + "\n"
	for _, block := range blocks(t)["sh"] {
		for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
			switch {
			case strings.Contains(line, "--accept"):
				if got := run(line, "", time.Minute); got != "nothing has changed\n" {
					t.Errorf("%s: %s", line, got)
				}
			case strings.Contains(line, "--http"):
				if got := run(strings.Replace(line, ":3940", ":0", 1), "", 8*time.Second); !strings.Contains(got, "weir: serving MCP on http://127.0.0.1:") {
					t.Errorf("%s: %s", line, got)
				}
			default:
				if got := run(line, hello+graph, time.Minute); !strings.Contains(got, "0 things: ") || !strings.Contains(got, "the whole is tool-results/r1-1.1-memory--read_graph.whole.txt") {
					t.Errorf("%s: %s", line, got)
				}
			}
		}
	}
}
