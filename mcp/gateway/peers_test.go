//go:build unix

package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/internal/canon"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/mcp/gateway"
	"github.com/weir-run/weir/tokens"
)

// childEnv names the folder of a child that is a gateway over stdio; serverEnv is the command behind it.
const childEnv, serverEnv = "WEIR_TEST_GATEWAY", "WEIR_TEST_SERVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := child(context.Background(), dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// child is a gateway to one server, as weir mcp gateway -- COMMAND is.
func child(ctx context.Context, dir string) error {
	store, err := sqlite.Open(ctx, dir, sqlite.Config{})
	if err != nil {
		return err
	}
	defer store.Close()
	var spec client.Server
	if err := json.Unmarshal([]byte(os.Getenv(serverEnv)), &spec); err != nil {
		return err
	}
	g, err := gateway.New(ctx, store, gateway.Config{Plain: true, Servers: client.Config{Servers: map[string]client.Server{"server": spec}}})
	if err != nil {
		return err
	}
	return errors.Join(g.ServeStdio(ctx, os.Stdin, os.Stdout), g.Close(ctx))
}

// peers gives the folder that make peers has filled.
func peers(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WEIR_PEERS")
	if dir == "" {
		t.Skip("third-party servers are not installed: make peers installs them and runs this with WEIR_PEERS set")
	}
	return dir
}

// peer gives one of the third-party servers.
func peer(t *testing.T, name string, args ...string) client.Server {
	t.Helper()
	script := filepath.Join(peers(t), "node_modules/@modelcontextprotocol", name, "dist/index.js")
	if _, err := os.Stat(script); err != nil {
		t.Fatalf("WEIR_PEERS names no folder that make peers has filled: %v", err)
	}
	return client.Server{Command: "node", Args: append([]string{script}, args...)}
}

// overheard is a server whose output is kept in a file too.
func overheard(t *testing.T, s client.Server) (client.Server, func(*testing.T) string) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "wire.log")
	s.Args = append([]string{"-c", `"$@" | tee "$WIRE_LOG"`, "sh", s.Command}, s.Args...)
	s.Command = "sh"
	env := map[string]string{"WIRE_LOG": log}
	for k, v := range s.Env {
		env[k] = v
	}
	s.Env = env
	seen := 0
	// The next call's result, as the server wrote it.
	return s, func(t *testing.T) string {
		t.Helper()
		for range 200 {
			raw, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			for end := bytes.IndexByte(raw[seen:], '\n'); end >= 0; end = bytes.IndexByte(raw[seen:], '\n') {
				line := raw[seen : seen+end]
				seen += end + 1
				var m struct {
					ID     json.RawMessage
					Result json.RawMessage
				}
				if json.Unmarshal(line, &m) == nil && m.ID != nil && m.Result != nil && bytes.Contains(m.Result, []byte(`"content"`)) && !bytes.Contains(m.Result, []byte(`"inputSchema"`)) {
					return string(canon.Compact(m.Result))
				}
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("the server answered nothing")
		return ""
	}
}

type peerCall struct{ tool, args string }

// sameBytes makes each call through a gateway and compares what the host received with what the server sent.
func sameBytes(t *testing.T, name string, s client.Server, calls []peerCall) {
	t.Helper()
	behind, sent := overheard(t, s)
	store := open(t)
	h := reach(t, web(t, front(t, store, gateway.Config{Plain: true}, map[string]client.Server{"server": behind})), token, "2025-11-25")
	var called []string
	for _, c := range calls {
		received := h.raw(c.tool, c.args)
		if want := sent(t); received != want {
			t.Errorf("%s %s (-sent +received):\n%s", name, c.tool, cmp.Diff(want, received))
		}
		called = append(called, c.tool)
	}
	listed := 0
	for _, n := range h.list() {
		if strings.Contains(n, "--") {
			continue
		}
		listed++
		if !slices.Contains(called, n) {
			t.Errorf("%s: %s was not called", name, n)
		}
	}
	t.Logf("%s: %d calls of %d tools, each byte the server's", name, len(calls), listed)
	sound(t, store)
}

// TestPeerBytes calls every tool of the four servers: the result's bytes are the server's.
func TestPeerBytes(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := func(name string) string { return fmt.Sprintf("%q", filepath.Join(dir, name)) }
	png := []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("0aZ9+\x00\x01\xfe", 1000))
	if err := os.WriteFile(filepath.Join(dir, "p.png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
	memory := peer(t, "server-memory")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "m.json")}
	for name, c := range map[string]struct {
		server client.Server
		calls  []peerCall
	}{
		"everything": {peer(t, "server-everything", "stdio"), []peerCall{
			{"echo", `{"message":"<b> & \"ü\" 9007199254740993"}`},
			{"get-sum", `{"a":2,"b":40}`},
			{"get-structured-content", `{"location":"New York"}`},
			{"get-annotated-message", `{"messageType":"error","includeImage":true}`},
			{"get-resource-links", `{"count":2}`},
			{"get-resource-reference", `{"resourceType":"Text","resourceId":1}`},
			{"trigger-long-running-operation", `{"duration":1,"steps":2}`},
			{"gzip-file-as-resource", `{"name":"x.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resource"}`},
			{"get-tiny-image", `{}`},
			{"toggle-simulated-logging", `{}`},
			{"toggle-subscriber-updates", `{}`},
			{"get-env", `{}`},
		}},
		"filesystem": {peer(t, "server-filesystem", dir), []peerCall{
			{"create_directory", `{"path":` + path("sub") + `}`},
			{"write_file", `{"path":` + path("a.txt") + `,"content":"one\ntwo <&> \"x\"\n"}`},
			{"edit_file", `{"path":` + path("a.txt") + `,"edits":[{"oldText":"one","newText":"1"}]}`},
			{"read_text_file", `{"path":` + path("a.txt") + `}`},
			{"read_file", `{"path":` + path("a.txt") + `}`},
			{"read_multiple_files", `{"paths":[` + path("a.txt") + `]}`},
			{"read_media_file", `{"path":` + path("p.png") + `}`},
			{"list_directory", `{"path":` + path("") + `}`},
			{"list_directory_with_sizes", `{"path":` + path("") + `}`},
			{"directory_tree", `{"path":` + path("") + `}`},
			{"move_file", `{"source":` + path("a.txt") + `,"destination":` + path("b.txt") + `}`},
			{"search_files", `{"path":` + path("") + `,"pattern":"*.txt"}`},
			{"get_file_info", `{"path":` + path("b.txt") + `}`},
			{"list_allowed_directories", `{}`},
			{"read_text_file", `{"path":"/etc/passwd"}`},
		}},
		"memory": {memory, []peerCall{
			{"create_entities", `{"entities":[{"name":"a","entityType":"b","observations":["c"]},{"name":"z","entityType":"b","observations":[]}]}`},
			{"create_relations", `{"relations":[{"from":"a","to":"z","relationType":"knows"}]}`},
			{"add_observations", `{"observations":[{"entityName":"a","contents":["d"]}]}`},
			{"read_graph", `{}`},
			{"search_nodes", `{"query":"a"}`},
			{"open_nodes", `{"names":["a"]}`},
			{"delete_observations", `{"deletions":[{"entityName":"a","observations":["d"]}]}`},
			{"delete_relations", `{"relations":[{"from":"a","to":"z","relationType":"knows"}]}`},
			{"delete_entities", `{"entityNames":["a"]}`},
		}},
		"sequential-thinking": {peer(t, "server-sequential-thinking"), []peerCall{
			{"sequentialthinking", `{"thought":"x","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":false}`},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sameBytes(t, name, c.server, c.calls)
		})
	}
}

// TestPeerFindsALine has a host of the TypeScript SDK, which knows nothing of Weir, find a planted line in a
// file of 5 MB with two calls.
func TestPeerFindsALine(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, line, at := planted(5 << 20)
	file := filepath.Join(dir, "large.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	spec, err := json.Marshal(peer(t, "server-filesystem", dir))
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "node", "testdata/host.cjs", file, "needle", exe)
	cmd.Env = append(os.Environ(), "NODE_PATH="+filepath.Join(peers(t), "node_modules"), childEnv+"="+t.TempDir(), serverEnv+"="+string(spec))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	var got struct {
		Shown, Structured, Cap int
		Told                   bool
		Found                  string
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if got.Shown > 24_000 || got.Shown < 10_000 || got.Structured < 200 || got.Structured > 50_000 || got.Cap != 50_000 || !got.Told || !strings.Contains(got.Found, fmt.Sprintf(".txt:%d:%s", at, line)) {
		t.Errorf("%d characters shown, %d structured, cap %d, found %.300s", got.Shown, got.Structured, got.Cap, got.Found)
	}
	t.Logf("5 MB: %d characters of text and %d of structured content are shown, and the line is found", got.Shown, got.Structured)
}

// TestPeerRules shapes results of server-memory and server-filesystem, and says what that saves.
func TestPeerRules(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("report-%02d.txt", i)), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := gateway.ParseRules([]byte(`
tools:
  memory--read_graph:
    select:
      - things: .entities | length
      - names: '[.entities[].name]'
    template: "{{.things}} things: {{range .names}}{{.}} {{end}}"
  memory--search_nodes:
    select:
      - names: '[.entities[].name]'
  memory--open_nodes:
    prune: ["entityType", "relations"]
  filesystem--directory_tree:
    select:
      - files: '[.content | fromjson | .[].name]'
    render: markdown
`))
	if err != nil {
		t.Fatal(err)
	}
	memory := peer(t, "server-memory")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "m.json")}
	servers := map[string]client.Server{"memory": memory, "filesystem": peer(t, "server-filesystem", dir)}
	plain := reach(t, web(t, front(t, open(t), gateway.Config{}, servers)), token, "2025-11-25")
	g := front(t, open(t), gateway.Config{Rules: parsed}, servers)
	if p := g.Problems(); len(p) > 0 {
		t.Errorf("problems: %v", p)
	}
	ruled := reach(t, web(t, g), token, "2025-11-25")
	var entities []string
	for i := range 40 {
		entities = append(entities, fmt.Sprintf(`{"name":"thing-%d","entityType":"part of the house","observations":["it was seen on day %d","it was seen again"]}`, i, i))
	}
	count, err := tokens.New(tokens.O200K)
	if err != nil {
		t.Fatal(err)
	}
	ruled.call("memory--create_entities", `{"entities":[`+strings.Join(entities, ",")+`]}`)
	for _, c := range []struct{ tool, args, shown, whole string }{
		{"memory--read_graph", `{}`, "40 things: thing-0 thing-1", "seen on day 39"},
		{"memory--search_nodes", `{"query":"thing"}`, `"thing-39"`, "seen on day 39"},
		{"memory--open_nodes", `{"names":["thing-0","thing-1","thing-2"]}`, `"thing-2"`, "part of the house"},
		{"filesystem--directory_tree", fmt.Sprintf(`{"path":%q}`, dir), "report-59.txt", `"type": "file"`},
	} {
		before, after := plain.call(c.tool, c.args).text(), ruled.call(c.tool, c.args)
		if !strings.Contains(after.text(), c.shown) || after.IsError || strings.Contains(after.text(), c.whole) {
			t.Errorf("%s: %.400s", c.tool, after.raw)
		}
		_, tail, _ := strings.Cut(after.text(), "the whole is ")
		path, _, _ := strings.Cut(tail, ",")
		if got := ruled.call("workspace--grep", fmt.Sprintf(`{"pattern":%q,"path":%q}`, c.whole, path)); got.IsError || !strings.Contains(got.text(), c.whole) {
			t.Errorf("%s: the whole at %q: %.300s", c.tool, path, got.text())
		}
		n, m := count.Count(before), count.Count(after.text())
		t.Logf("%s: %d tokens before, %d after", c.tool, n, m)
		if m >= n {
			t.Errorf("%s: a rule saves nothing: %d, %d", c.tool, n, m)
		}
	}
}

// TestPeerTokens says what reading a large source file costs a model, without and with the gateway: the file of
// docs/mcp.md.
func TestPeerTokens(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(filepath.Join(strings.TrimSpace(string(out)), "src/net/http"))
	if err != nil {
		t.Fatal(err)
	}
	count, err := tokens.New(tokens.O200K)
	if err != nil {
		t.Fatal(err)
	}
	behind := peer(t, "server-filesystem", root)
	args := fmt.Sprintf(`{"path":%q}`, filepath.Join(root, "server.go"))
	before := connect(t, behind).call("read_text_file", args)
	h := reach(t, web(t, front(t, open(t), gateway.Config{Plain: true}, map[string]client.Server{"server": behind})), token, "2025-11-25")
	after := h.call("read_text_file", args)
	path, _ := after.Meta["weir/path"].(string)
	found := h.call("workspace--grep", fmt.Sprintf(`{"pattern":"^func \\(.*\\) ServeHTTP","path":%q}`, path))
	read := h.call("workspace--read", fmt.Sprintf(`{"path":%q,"offset":2300,"limit":40}`, path))
	if !strings.Contains(found.text(), "ServeHTTP") || read.IsError {
		t.Errorf("found %.300s, read %.300s", found.text(), read.text())
	}
	text, structured := count.Count(before.text()), count.Count(string(before.StructuredContent))
	shown, short := count.Count(after.text()), count.Count(string(after.StructuredContent))
	more := count.Count(found.text()) + count.Count(read.text())
	t.Logf("text %d → %d tokens, structured content %d → %d; a search and a page of 40 lines: %d more", text, shown, structured, short, more)
	if shown+more > text/2 || short+more > structured/2 {
		t.Error("the gateway saves less than half")
	}
}
