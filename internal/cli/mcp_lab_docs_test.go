package cli

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/mcp/client"
)

// labBlocks gives the fenced blocks of the lab's part of docs/mcp.md, by their language.
func labBlocks(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	_, part, ok := strings.Cut(string(raw), "\n## The lab\n")
	if !ok {
		t.Fatal("docs/mcp.md has no part about the lab")
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

// labRun runs a line of a shell without quotes, and gives what it printed.
func labRun(t *testing.T, line string) string {
	t.Helper()
	out, errs := &pool{}, &pool{}
	a := &app{in: strings.NewReader(""), out: out, err: errs, env: func(string) string { return "" }}
	if status := a.run(t.Context(), strings.Fields(strings.TrimPrefix(line, "weir "))); status != statusDone {
		t.Errorf("%s: status %d: %s", line, status, errs.String())
	}
	return out.String()
}

// TestLabDocs runs every command and every configuration of the lab's part of docs/mcp.md. Ports are free ones in
// the place of those that are named.
func TestLabDocs(t *testing.T) {
	all := labBlocks(t)
	if len(all["json"]) != 3 || len(all["console"]) != 2 || len(all["sh"]) != 5 || len(all["text"]) != 1 || len(all) != 4 {
		t.Fatalf("there are other blocks than this test runs: %v", all)
	}
	t.Chdir(t.TempDir())
	if err := os.WriteFile(serversFile, []byte(all["json"][0]), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, block := range all["console"] {
		line, want, _ := strings.Cut(strings.TrimPrefix(block, "$ "), "\n")
		if got := labRun(t, line); got != want {
			t.Errorf("%s (-want +got):\n%s", line, cmp.Diff(want, got))
		}
	}
	port := regexp.MustCompile(`127\.0\.0\.1:3939`)
	for _, block := range all["sh"] {
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if !port.MatchString(line) {
				labRun(t, line)
				continue
			}
			errs := &pool{}
			words := strings.Fields(port.ReplaceAllString(line, "127.0.0.1:0"))
			stop := labCommand(t, errs, words[3:]...)
			url := awaitLine(t, errs, `serving MCP on (http://\S+/mcp)\n`)
			if status := shake(t, url, "", "", bearer(words)); status != 200 {
				t.Errorf("%s: a client's status is %d", line, status)
			}
			if status := stop(); status != statusDone {
				t.Errorf("%s: status %d: %s", line, status, errs.String())
			}
		}
	}
	if raw, err := os.ReadFile("lab-record.jsonl"); err != nil || !strings.Contains(string(raw), `{"method":"initialize","params":`) || !strings.Contains(string(raw), `{"column":`) {
		t.Errorf("%v: %s", err, raw)
	}
	labHosts(t, all["json"])
}

// labHosts does what a host does with each configuration: it starts or reaches the lab and calls its tools.
func labHosts(t *testing.T, configs []string) {
	t.Helper()
	errs := &pool{}
	stop := labCommand(t, errs, "serve", "--http", "127.0.0.1:0")
	defer stop()
	address := regexp.MustCompile(`//([^/]+)/`).FindStringSubmatch(awaitLine(t, errs, `serving MCP on (http://\S+/mcp)\n`))[1]
	if _, _, err := net.SplitHostPort(address); err != nil {
		t.Fatal(err)
	}
	for i, config := range configs {
		if _, err := client.Parse([]byte(config), os.LookupEnv); err != nil {
			t.Errorf("%s: %v", config, err)
		}
		file := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(file, []byte(strings.ReplaceAll(config, "127.0.0.1:3939", address)), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := labRun(t, "weir mcp lab probe --config "+file); !strings.HasSuffix(got, "\n8 findings: 5 agree, 1 missing, 1 violates, 1 disagree\n") {
			t.Errorf("configuration %d: %s", i+1, got)
		}
	}
	if raw, err := os.ReadFile("lab-record.txt"); err != nil || !strings.Contains(string(raw), "| `with_schema__structured_missing` | 1 | |") {
		t.Errorf("%v: %s", err, raw)
	}
}

// bearer is the header for the token of a command line; empty for none.
func bearer(words []string) string {
	for i, w := range words {
		if w == "--token" && i+1 < len(words) {
			return "Bearer " + words[i+1]
		}
	}
	return ""
}
