package cases

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-run/weir/history/sqlite"
	"github.com/weir-run/weir/tool"
)

// item is one numbered item of a list, as a test on the product.
type item func(t *testing.T)

// elsewhere says what of an item is not held by a subtest of its own.
type elsewhere struct {
	// waits names the room that is not built yet, or says why the item cannot apply.
	waits string
	// file, from the root of the module, and test name a test that holds it; says is a text that the file
	// must have, such as the name of a subtest.
	file, test, says string
}

// edges are the edge cases of tool results, 01 to 69, by their number.
func edges() map[string]item {
	all := map[string]item{}
	for _, part := range []map[string]item{edgeTexts(), edgeSpills(), edgeCalls(), edgeModels(), edgeFiles(), edgeScripts()} {
		for id, run := range part {
			if all[id] != nil {
				panic("two items have the number " + id)
			}
			all[id] = run
		}
	}
	return all
}

// edgesElsewhere are the edge cases, and the parts of them, that no subtest here holds.
var edgesElsewhere = map[string]elsewhere{
	"33": {file: "mcp/gateway/gateway_test.go", test: "TestNames", says: "server--workspace--read"}, // of servers; here two tools of one name are refused
	"41": {file: "result/edge_test.go", test: "TestEdges", says: "Edge41 no half of a pair is ever at an edge"},
	"46": {file: "internal/folder/folder_test.go", test: "TestSwap"},
	"51": {file: "internal/cases/edge_script_test.go", test: "loopInAScript"},     // in a script; here it is a command's
	"54": {file: "internal/cases/edge_script_test.go", test: "millionsInAScript"}, // a script's; here it is a tool's
	"56": {file: "shell/shell_test.go", test: "TestEnvironment"},
	"59": {file: "membrane/anthropic/stream_test.go", test: "TestCacheMarkers"},
	"60": {file: "membrane/anthropic/message_test.go", test: "TestEncodeUser", says: "<svg/>"},
	"61": {file: "internal/cases/edge_script_test.go", test: "stoppedWhileAScriptWaits"},    // a script that waits for a tool; here it is a tool and the calls behind it
	"64": {file: "internal/cases/mcp_client_test.go", test: "mcpClientCases", says: "C134"}, // isError of a server; here a tool's own mark is a failure
}

// TestEdge runs every edge case as a subtest of its number.
func TestEdge(t *testing.T) {
	t.Parallel()
	runItems(t, edges())
}

// TestEdgesAreComplete holds that no number is left out without a word.
func TestEdgesAreComplete(t *testing.T) {
	t.Parallel()
	var ids []string
	for n := range 69 {
		ids = append(ids, fmt.Sprintf("%02d", n+1))
	}
	complete(t, ids, edges(), edgesElsewhere)
}

func runItems(t *testing.T, items map[string]item) {
	t.Helper()
	for _, id := range slices.Sorted(maps.Keys(items)) {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			items[id](t)
		})
	}
}

// complete holds that each id has a subtest or a word about where it is, that a test that is named is
// there, and that nothing here speaks of an id that is not in the list.
func complete(t *testing.T, ids []string, items map[string]item, others map[string]elsewhere) {
	t.Helper()
	for _, id := range ids {
		if _, told := others[id]; items[id] == nil && !told {
			t.Errorf("%s has no subtest, and nothing says where it is", id)
		}
	}
	for id := range items {
		if !slices.Contains(ids, id) {
			t.Errorf("%s has a subtest and is not in the list", id)
		}
	}
	for id, other := range others {
		switch {
		case !slices.Contains(ids, id):
			t.Errorf("%s is said to be elsewhere and is not in the list", id)
		case (other.waits == "") == (other.test == ""):
			t.Errorf("%s waits for %q and is held by %q: it must be one of the two", id, other.waits, other.test)
		case other.test != "":
			holdsTest(t, id, other)
		}
	}
}

// holdsTest holds that a test that is named is in its file.
func holdsTest(t *testing.T, id string, other elsewhere) {
	t.Helper()
	path := filepath.Join("..", "..", filepath.FromSlash(other.file))
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Errorf("%s is said to be held in %s: %v", id, other.file, err)
		return
	}
	found, says := false, other.says == ""
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			found = found || n.Recv == nil && n.Name.Name == other.test
		case *ast.BasicLit:
			says = says || strings.Contains(n.Value, other.says)
		}
		return true
	})
	if !found || !says {
		t.Errorf("%s is said to be held by %s of %s (%q): the test is there: %v, the text: %v", id, other.test, other.file, other.says, found, says)
	}
}

// quick is a world whose writes are not forced to the disk: no item depends on a power loss.
func quick(t *testing.T, tools ...tool.Tool) *world {
	t.Helper()
	w := newWorld(t, tools...)
	w.store.Synchronous, w.store.Spill.NoSync = sqlite.Normal, true
	return w
}

// shown are the results of the newest results message of the last request, as the provider received them.
func (w *world) shown() []wireBlock {
	w.t.Helper()
	messages := parseBody(w.t, w.last()).Messages
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == "results" {
			return messages[i].Content
		}
	}
	w.t.Fatal("the provider received no results")
	return nil
}
