package weir_test

import (
	"os"
	"testing"
)

// anything in a row lifts the table for that package.
const anything = "*"

// house is the law of this tree. A new package gets a row in inside (and one in
// outside if it needs a module from elsewhere) in the commit that makes it.
// Imports only go down: a row names packages of lower floors.
var house = law{
	module: "github.com/weir-run/weir",

	// package → packages of this module that it may import.
	inside: map[string][]string{
		".": {},

		// Ground.
		"internal/lines":    {},
		"internal/canon":    {},
		"internal/schema":   {"internal/canon"},
		"internal/search":   {"internal/lines"},
		"internal/folder":   {},
		"internal/document": {"internal/lines"},
		"tool":              {"internal/canon"},
		"internal/args":     {"tool"},

		// Words.
		"tokens":     {},
		"migrations": {},
		"spill":      {"internal/canon", "internal/lines"},
		"result":     {"tool", "internal/canon", "internal/lines"},
		"history":    {"spill", "internal/lines"},
		"membrane":   {"tool", "internal/canon"},

		// Hands.
		"envelope":                        {"internal/canon", "tokens", "tool"},
		"envelope/fingerprint":            {"internal/canon"},
		"envelope/loop":                   {"internal/canon", "envelope/fingerprint"},
		"history/historytest":             {"history", "spill"},
		"history/sqlite":                  {"history", "spill", "migrations", "internal/lines", "history/sqlite/internal/db", "history/sqlite/internal/holder"},
		"history/sqlite/internal/db":      {},
		"history/sqlite/internal/holder":  {},
		"membrane/internal/object":        {"internal/canon"},
		"membrane/internal/schema":        {"membrane", "membrane/internal/object", "internal/canon"},
		"membrane/anthropic":              {"membrane", "membrane/wire", "membrane/internal/object", "membrane/internal/schema", "internal/canon"},
		"membrane/gemini":                 {"membrane", "membrane/wire", "membrane/internal/object", "membrane/internal/schema", "internal/canon"},
		"membrane/membranetest":           {"membrane", "internal/canon"},
		"membrane/openai":                 {"membrane", "membrane/wire", "membrane/internal/object", "membrane/openai/internal/form", "internal/canon"},
		"membrane/openai/internal/form":   {"membrane", "membrane/wire", "membrane/internal/object", "membrane/internal/schema", "internal/canon"},
		"membrane/openai/responses":       {"membrane", "membrane/wire", "membrane/internal/object", "membrane/openai/internal/form", "internal/canon"},
		"membrane/scripted":               {"membrane", "internal/canon", "tool"},
		"membrane/wire":                   {"membrane", "internal/canon"},
		"result/shape":                    {"tool", "result", "tokens", "internal/canon", "internal/schema"},
		"shell":                           {"tool", "internal/canon", "result"},
		"scripting":                       {"tool", "internal/args", "internal/canon", "internal/document", "internal/search", "scripting/internal/child", "scripting/internal/pipe", "scripting/internal/realm"},
		"scripting/internal/child":        {"scripting/internal/pipe", "scripting/internal/realm"},
		"scripting/internal/pipe":         {"tool", "scripting/internal/realm"},
		"scripting/internal/realm":        {"tool", "internal/canon", "scripting/internal/lower", "scripting/internal/locale", "scripting/internal/regex"},
		"scripting/internal/lower":        {},
		"scripting/internal/locale":       {},
		"scripting/internal/regex":        {},
		"mcp/client":                      {"mcp/client/internal/wire", "tool", "result", "internal/canon", "internal/schema"},
		"mcp/client/internal/conformance": {"mcp/client"},
		"mcp/client/internal/wire":        {"internal/canon"},
		"workspace":                       {"tool", "spill", "history", "result", "internal/lines", "internal/search", "internal/folder", "internal/document", "internal/args"},

		// One call, rounds, loops.
		"execute": {"tool", "envelope", "result", "spill", "internal/canon", "internal/lines", "internal/schema", "tokens"},
		"round":   {"execute", "envelope", "envelope/loop", "result", "spill", "history", "tool", "tokens", "internal/canon"},
		"agent": {
			"round", "execute", "envelope", "result", "spill", "history", "tool",
			"membrane", "tokens", "internal/canon", "workspace",
		},

		// Our tools over MCP.
		"mcp/server": {
			"round", "execute", "envelope", "envelope/fingerprint", "result", "history", "tool", "workspace",
			"internal/canon", "internal/schema", "mcp/server/internal/conformance",
		},
		"mcp/server/internal/conformance": {},

		// Assembly.
		"mcp/gateway": {
			"mcp/client", "mcp/server", "envelope", "envelope/fingerprint", "history", "internal/canon", "internal/schema",
			"result/shape", "round", "tokens", "tool",
		},
		"mcp/lab": {"mcp/client", "mcp/server", "result", "tokens", "tool", "internal/canon"},

		// Door.
		"cmd/weir":         {"internal/cli", "scripting"},
		"internal/cli":     {anything},
		"internal/cases":   {anything},
		"internal/drill":   {anything},
		"internal/economy": {anything},
	},

	// package → modules from elsewhere that it may import, beside the standard
	// library. No row: none.
	outside: map[string][]string{
		"tool":                            {"github.com/google/jsonschema-go"},
		"internal/schema":                 {"github.com/santhosh-tekuri/jsonschema/v6"},
		"internal/folder":                 {"github.com/bmatcuk/doublestar/v4"},
		"result/shape":                    {"github.com/itchyny/gojq"},
		"round":                           {"github.com/google/uuid", "go.opentelemetry.io/otel"},
		"agent":                           {"go.opentelemetry.io/otel"},
		"spill":                           {"github.com/rivo/uniseg"},
		"history/sqlite":                  {"modernc.org/sqlite", "github.com/pressly/goose/v3", "github.com/gofrs/flock"},
		"history/historytest":             {"github.com/google/go-cmp"},
		"membrane/membranetest":           {"github.com/google/go-cmp", "github.com/rogpeppe/go-internal"},
		"history/sqlite/internal/holder":  {"github.com/gofrs/flock", "github.com/google/uuid"},
		"shell":                           {"golang.org/x/sys"},
		"scripting/internal/child":        {"golang.org/x/sys"},
		"scripting/internal/realm":        {"github.com/dop251/goja", "github.com/dlclark/regexp2/v2"},
		"scripting/internal/lower":        {"github.com/evanw/esbuild"},
		"scripting/internal/locale":       {"golang.org/x/text"},
		"mcp/client":                      {"github.com/modelcontextprotocol/go-sdk"},
		"mcp/gateway":                     {"github.com/modelcontextprotocol/go-sdk", "go.yaml.in/yaml/v3"},
		"mcp/lab":                         {"github.com/modelcontextprotocol/go-sdk"},
		"mcp/client/internal/wire":        {"github.com/modelcontextprotocol/go-sdk"},
		"workspace":                       {"golang.org/x/sync"},
		"mcp/server":                      {"github.com/modelcontextprotocol/go-sdk", "github.com/google/uuid"},
		"mcp/server/internal/conformance": {"github.com/modelcontextprotocol/go-sdk"},
		"internal/cases":                  {"modernc.org/sqlite"},
		"internal/cli":                    {"github.com/spf13/cobra", "github.com/spf13/pflag", "golang.org/x/term", "github.com/google/uuid"},
	},

	// Modules that any test may import, beside those of its own package.
	tests: []string{
		"github.com/google/go-cmp", "github.com/rogpeppe/go-internal", "go.opentelemetry.io/otel/sdk",
		"github.com/pkoukk/tiktoken-go", "github.com/pkoukk/tiktoken-go-loader", // what tokens is compared with
	},

	// Public packages without an Example, each with its reason.
	noExample: map[string]string{
		"history/historytest":   "runs inside another store's tests; its use is history/sqlite's test",
		"membrane/membranetest": "runs inside an adapter's tests; its use is membrane/scripted's test",
	},

	// Packages that may have more than maxFiles files, each with its reason.
	manyFiles: map[string]string{
		"internal/cli": "one file a command",
		"mcp/server":   "two transports, what is offered, and jobs, each with its own way to answer",
		"round":        "three ways in (a round of a model, the inner calls of a call, the line of a client) over one way through",
		"agent":        "the loop, and what it tells: events, spans, offers",
	},
}

// TestHouse holds the whole tree to the law: where a package may reach, how
// large a thing may grow, what must be said about it.
func TestHouse(t *testing.T) {
	t.Parallel()
	tr, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, problem := range c.find(tr, house) {
				t.Error(problem)
			}
		})
	}
}
