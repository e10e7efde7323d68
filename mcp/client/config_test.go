//go:build unix

package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/mcp/client"
)

func TestParse(t *testing.T) {
	t.Parallel()
	env := map[string]string{"HOST": "example.com", "TOKEN": "s3", "EMPTY": ""}
	lookup := func(k string) (string, bool) { v, ok := env[k]; return v, ok }
	for _, c := range []struct {
		name, raw string
		want      map[string]client.Server
		err       string
	}{
		{
			"stdio", `{"mcpServers":{"a":{"command":"${CMD:-npx}","args":["-y","${HOST}"],"env":{"K":"${TOKEN}"},"cwd":"/x","other":1}}}`,
			map[string]client.Server{"a": {Type: "stdio", Command: "npx", Args: []string{"-y", "example.com"}, Env: map[string]string{"K": "s3"}, Cwd: "/x", Headers: map[string]string{}}},
			"",
		},
		{
			"http", `{"mcpServers":{"a":{"url":"https://${HOST}/mcp","headers":{"Authorization":"Bearer ${TOKEN}","X":"${EMPTY}${EMPTY:-d}$HOST"}}}}`,
			map[string]client.Server{"a": {Type: "http", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer s3", "X": "d$HOST"}, Env: map[string]string{}}},
			"",
		},
		{
			"a word of another host", `{"mcpServers":{"a":{"type":"streamable-http","url":"http://x"},"b":{"disabled":true}}}`,
			map[string]client.Server{"a": {Type: "http", URL: "http://x", Headers: map[string]string{}, Env: map[string]string{}}},
			"",
		},
		{"none", `{"mcpServers":{}}`, map[string]client.Server{}, ""},
		{"missing", `{}`, nil, `it has no "mcpServers"`},
		{"no JSON", `{`, nil, "it is not of the form"},
		{"no variable", `{"mcpServers":{"a":{"command":"${NO}${NOT}${NO}"}}}`, nil, `server "a": the environment has no NO, NOT: set it, or give a default as in ${NO:-…}`},
		{"neither", `{"mcpServers":{"a":{}}}`, nil, `server "a": it has neither a "command" nor a "url"`},
		{"a bad url", `{"mcpServers":{"a":{"url":"file:///x"}}}`, nil, "does not begin with http"},
		{"a bad type", `{"mcpServers":{"a":{"type":"ws","url":"http://x"}}}`, nil, `its type is "ws"`},
		{"a bad name", `{"mcpServers":{"a b":{"command":"x"}}}`, nil, "a server's name has"},
		{"Weir's own", `{"mcpServers":{"workspace":{"command":"x"}}}`, nil, "the name is Weir's own"},
	} {
		got, err := client.Parse([]byte(c.raw), lookup)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: want %q, got %v", c.name, c.err, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.want, got.Servers); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, []byte("\ufeff{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := client.Load(path); err != nil || c.Servers["a"].Command != "x" {
		t.Errorf("got %+v, %v", c, err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat(" ", 2<<20)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Load(path); err == nil || !strings.Contains(err.Error(), "longer than 1048576 bytes") {
		t.Errorf("a large file: %v", err)
	}
}

// TestEnvironment gives a child what it needs and no more.
func TestEnvironment(t *testing.T) {
	t.Setenv("WEIR_SECRET_TOKEN", "s3cret")
	s := connect(t, quick(), map[string]client.Server{"e": hostile(t, script{Tools: []string{list("env")}, Call: map[string]string{"env": "ENV"}})})
	_, text := call(t, s, "e--env", `{}`)
	if !strings.Contains(text, `"PATH=`) || strings.Contains(text, "s3cret") {
		t.Errorf("the child's environment: %s", text)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"mcpServers":{"a":{"command":"${X:-y}"}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = client.Parse(raw, func(string) (string, bool) { return "", false })
	})
}
