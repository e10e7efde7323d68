//go:build unix

package client_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-run/weir/agent"
	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/mcp/client"
	"github.com/weir-run/weir/membrane/scripted"
	"github.com/weir-run/weir/result"
)

// TestPeerEverything calls every tool of server-everything.
func TestPeerEverything(t *testing.T) {
	t.Parallel()
	s := connect(t, client.Options{}, map[string]client.Server{"all": peer(t, "server-everything", "stdio")})
	args := map[string][2]string{
		"echo":                           {`{"message":"<b> & \"ü\" 9007199254740993"}`, "Echo: <b> & \"ü\" 9007199254740993"},
		"get-sum":                        {`{"a":2,"b":40}`, "42"},
		"get-structured-content":         {`{"location":"New York"}`, `{"temperature":33`},
		"get-annotated-message":          {`{"messageType":"error","includeImage":true}`, "Error: Operation failed\n[1 of 2 blocks are for the user only and are not shown]"},
		"get-resource-links":             {`{"count":2}`, "[resource link: "},
		"get-resource-reference":         {`{"resourceType":"Text","resourceId":1}`, "[resource: demo://"},
		"trigger-long-running-operation": {`{"duration":1,"steps":2}`, "Long running operation completed"},
		"gzip-file-as-resource":          {`{"name":"x.gz","data":"data:text/plain;base64,aGVsbG8=","outputType":"resource"}`, "[resource: "},
		"get-tiny-image":                 {`{}`, "[image: image/png, ~4KB]"},
		"toggle-simulated-logging":       {`{}`, "logging"},
		"toggle-subscriber-updates":      {`{}`, "updates"},
		"get-env":                        {`{}`, `"PATH"`},
	}
	for _, offered := range s.Tools() {
		_, name, _ := s.Origin(offered.Name)
		c, known := args[name]
		if !known {
			t.Errorf("%s has no call in this test", name)
			continue
		}
		r, text := call(t, s, offered.Name, c[0])
		if r.IsError || !strings.Contains(text, c[1]) {
			t.Errorf("%s: want %q in: %.500s", name, c[1], text)
		}
		delete(args, name)
	}
	for name := range args {
		t.Errorf("%s is not offered", name)
	}
	if got := strings.Join(s.Servers()[0].Problems, "\n"); !strings.Contains(got, `"simulate-research-query" is left out: it runs only as a task`) {
		t.Errorf("problems: %s", got)
	}
	if r, text := call(t, s, "all--get-env", `{}`); r.IsError || strings.Contains(text, "WEIR_PEERS") {
		t.Errorf("the child has more of this process's environment than it was given: %s", text)
	}
	if r, err := s.Call(t.Context(), "all", "simulate-research-query", []byte(`{"topic":"x"}`)); err != nil || !r.IsError || result.Text(r) == "" {
		t.Errorf("a tool that runs only as a task: %v %s", err, result.Text(r))
	}
}

// TestPeerFilesystem calls every tool of server-filesystem.
func TestPeerFilesystem(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, client.Options{}, map[string]client.Server{"fs": peer(t, "server-filesystem", dir)})
	path := func(name string) string { return fmt.Sprintf("%q", filepath.Join(dir, name)) }
	png := []byte("\x89PNG\r\n\x1a\n" + strings.Repeat("0aZ9+\x00\x01\xfe", 2000))
	if err := os.WriteFile(filepath.Join(dir, "p.png"), png, 0o600); err != nil {
		t.Fatal(err)
	}
	calls := []struct{ tool, args, text string }{
		{"create_directory", `{"path":` + path("sub") + `}`, "Successfully created"},
		{"write_file", `{"path":` + path("a.txt") + `,"content":"one\ntwo <&> \"x\"\n"}`, "Successfully wrote"},
		{"edit_file", `{"path":` + path("a.txt") + `,"edits":[{"oldText":"one","newText":"1"}]}`, "+1"},
		{"read_text_file", `{"path":` + path("a.txt") + `}`, "1\ntwo <&> \"x\"\n"},
		{"read_file", `{"path":` + path("a.txt") + `}`, "1\ntwo <&> \"x\"\n"},
		{"read_multiple_files", `{"paths":[` + path("a.txt") + `]}`, "two <&>"},
		{"read_media_file", `{"path":` + path("p.png") + `}`, "[image: image/png, ~16KB"},
		{"list_directory", `{"path":` + path("") + `}`, "[FILE] a.txt"},
		{"list_directory_with_sizes", `{"path":` + path("") + `}`, "a.txt"},
		{"directory_tree", `{"path":` + path("") + `}`, `"name": "a.txt"`},
		{"move_file", `{"source":` + path("a.txt") + `,"destination":` + path("b.txt") + `}`, "Successfully moved"},
		{"search_files", `{"path":` + path("") + `,"pattern":"*.txt"}`, "b.txt"},
		{"get_file_info", `{"path":` + path("b.txt") + `}`, "size"},
		{"list_allowed_directories", `{}`, dir},
	}
	var called []string
	for _, c := range calls {
		r, text := call(t, s, "fs--"+c.tool, c.args)
		if r.IsError || !strings.Contains(text, c.text) {
			t.Errorf("%s: want %q in: %.500s", c.tool, c.text, text)
		}
		if r.Structured == nil {
			t.Errorf("%s: the structured content is gone", c.tool)
		}
		if c.tool == "read_media_file" && len(text) > 200 || strings.HasSuffix(c.tool, "text_file") && text != c.text {
			t.Errorf("%s shows what it should not, or twice: %.500s", c.tool, text)
		}
		called = append(called, "fs--"+c.tool)
	}
	for _, n := range names(s.Tools()) {
		if !slices.Contains(called, n) {
			t.Errorf("%s was not called", n)
		}
	}
	if r, text := call(t, s, "fs--read_text_file", `{"path":"/etc/passwd"}`); !r.IsError || !strings.Contains(text, "denied") {
		t.Errorf("outside of its folder: %s", text)
	}
}

// TestPeerMemory calls every tool of server-memory and of server-sequential-thinking.
func TestPeerMemory(t *testing.T) {
	t.Parallel()
	memory := peer(t, "server-memory")
	memory.Env = map[string]string{"MEMORY_FILE_PATH": filepath.Join(t.TempDir(), "m.json")}
	s := connect(t, client.Options{}, map[string]client.Server{"mem": memory, "think": peer(t, "server-sequential-thinking")})
	calls := []struct{ tool, args, text string }{
		{"mem--create_entities", `{"entities":[{"name":"a","entityType":"b","observations":["c"]},{"name":"z","entityType":"b","observations":[]}]}`, `"observations"`},
		{"mem--create_relations", `{"relations":[{"from":"a","to":"z","relationType":"knows"}]}`, `"knows"`},
		{"mem--add_observations", `{"observations":[{"entityName":"a","contents":["d"]}]}`, `"d"`},
		{"mem--read_graph", `{}`, `"entities"`},
		{"mem--search_nodes", `{"query":"a"}`, `"a"`},
		{"mem--open_nodes", `{"names":["a"]}`, `"a"`},
		{"mem--delete_observations", `{"deletions":[{"entityName":"a","observations":["d"]}]}`, "deleted"},
		{"mem--delete_relations", `{"relations":[{"from":"a","to":"z","relationType":"knows"}]}`, "deleted"},
		{"mem--delete_entities", `{"entityNames":["a"]}`, "deleted"},
		{"think--sequentialthinking", `{"thought":"x","thoughtNumber":1,"totalThoughts":1,"nextThoughtNeeded":false}`, "thoughtNumber"},
	}
	if len(s.Tools()) != len(calls) {
		t.Errorf("%d tools are offered, %d called: %v", len(s.Tools()), len(calls), names(s.Tools()))
	}
	for _, c := range calls {
		r, text := call(t, s, c.tool, c.args)
		if r.IsError || !strings.Contains(text, c.text) || r.Structured == nil {
			t.Errorf("%s: want %q in: %.500s", c.tool, c.text, text)
		}
		if strings.Count(text, `"entityType"`) > 2 {
			t.Errorf("%s shows both copies of the same JSON: %s", c.tool, text)
		}
	}
}

// TestPeerSpill reads a file of 405 KB through a round: its result spills and is read back by line.
func TestPeerSpill(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for n := 1; b.Len() < 405_000; n++ {
		fmt.Fprintf(&b, "line %d of <a> & \"large\" file\n", n)
	}
	if err := os.WriteFile(filepath.Join(dir, "large.txt"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s := connect(t, client.Options{}, map[string]client.Server{"fs": peer(t, "server-filesystem", dir)})
	store, err := sqlite.Open(t.Context(), t.TempDir(), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	lines := strings.Split(b.String(), "\n")
	args, err := json.Marshal(map[string]string{"path": filepath.Join(dir, "large.txt")})
	if err != nil {
		t.Fatal(err)
	}
	model, err := scripted.New(scripted.Script{Steps: []scripted.Step{
		{Calls: []scripted.Call{{Tool: "fs--read_text_file", Args: args}}},
		{
			Expect: []scripted.Expect{{Result: 1, Contains: lines[0]}, {Result: 1, Contains: "tool-results/r1-1-fs--read_text_file.txt"}, {Result: 1, NotContains: `\"large`}},
			Calls:  []scripted.Call{{Tool: "workspace--read", Args: []byte(`{"path":"tool-results/r1-1-fs--read_text_file.txt","offset":9000,"limit":2}`)}},
		},
		{Text: "read", Expect: []scripted.Expect{{Result: 1, Contains: lines[8999]}, {Result: 1, Contains: lines[9000]}, {Result: 1, NotContains: lines[9001]}}},
	}}, scripted.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(store, model, agent.Config{Tools: s.Tools()})
	if err != nil {
		t.Fatal(err)
	}
	out, err := a.Run(t.Context(), agent.Turn{Conversation: "c1", Text: "read it"}).Collect()
	if err != nil || out.Text != "read" {
		t.Errorf("got %q, %v", out.Text, err)
	}
}
