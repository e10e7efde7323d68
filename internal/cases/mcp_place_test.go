package cases

import (
	"fmt"
	"testing"
)

// Where a test holds a numbered item of MCP results.
func clientTest(file, test, says string) elsewhere {
	return elsewhere{file: "mcp/client/" + file, test: test, says: says}
}

// labItem is an item that known hosts' policies decide; mcp/client's own tests hold the policies.
func labItem(test string) elsewhere {
	return elsewhere{file: "internal/cases/mcp_lab_edge_test.go", test: test}
}

// mcpEdges are the edge cases of MCP results, 01 to 48: the shape of a result, schemas, views, the protocol.
var mcpEdges = map[string]elsewhere{
	"01": clientTest("odd_test.go", "TestOddOnTheWire", "content missing"),
	"02": clientTest("odd_test.go", "TestOddOnTheWire", "content null"),
	"03": clientTest("odd_test.go", "TestOddOnTheWire", "content object"),
	"04": clientTest("odd_test.go", "TestOddOnTheWire", "unknown block between good ones"),
	"05": clientTest("odd_test.go", "TestOddOnTheWire", "text missing"),
	"06": clientTest("odd_test.go", "TestOddOnTheWire", "bad base64"),
	"07": clientTest("odd_test.go", "TestOddOnTheWire", "image without a type"),
	"08": clientTest("odd_test.go", "TestOddOnTheWire", "resource with neither"),
	"09": clientTest("odd_test.go", "TestOddOnTheWire", "structured null"),
	"10": clientTest("odd_test.go", "TestOddOnTheWire", "structured zero"),
	"11": clientTest("odd_test.go", "TestOddOnTheWire", "structured array in the handshake era"),
	"12": clientTest("odd_test.go", "TestOddOnTheWire", "content twice"),
	"13": clientTest("odd_test.go", "TestOddOnTheWire", "capitals"),
	"14": clientTest("odd_test.go", "TestOddOnTheWire", "nul and separators"),
	"15": clientTest("odd_test.go", "TestOddOnTheWire", "digits, order, duplicates"),
	"16": clientTest("odd_test.go", "TestOddOnTheWire", "not escaped"),
	"17": clientTest("odd_test.go", "TestOddOnTheWire", "digits, order, duplicates"),
	"18": clientTest("odd_test.go", "TestOddOnTheWire", "structured absent"), // the empty text stands
	"19": clientTest("view_test.go", "TestMatrix", "with_schema__structured_violates_schema"),
	"20": clientTest("view_test.go", "TestMatrix", "with_schema__structured_missing"),
	"21": {file: "internal/cases/mcp_client_test.go", test: "mcpClientCases", says: "C134"},
	"22": clientTest("list_test.go", "TestChanged", "the schema that came with the change is not used"),
	"23": clientTest("list_test.go", "TestPages", "three pages"),
	"24": clientTest("list_test.go", "TestBadTools", "ring"),
	"25": clientTest("list_test.go", "TestBadTools", "draft7"),
	"26": clientTest("list_test.go", "TestBadTools", "regex"),
	"27": clientTest("schema_test.go", "TestSchemas", "27 a format is not asserted"),
	"28": clientTest("schema_test.go", "TestSchemas", "28 an extra field"),
	"29": clientTest("list_test.go", "TestBadTools", "array"),
	"30": clientTest("list_test.go", "TestBadTools", "want 15 problems"),
	"31": clientTest("schema_test.go", "TestSchemas", "31 a multiple of 0.1"),
	"32": clientTest("list_test.go", "TestBadTools", "hostile schemas took"),
	"33": clientTest("list_test.go", "TestChanged", "has the same contract"),
	"34": labItem("mcpLabMismatch"),
	"35": labItem("mcpLabImage"),
	"36": labItem("mcpLabBulk"),
	"37": labItem("mcpLabAudience"),
	"38": labItem("mcpLabError"),
	"39": labItem("mcpLabZeros"),
	"40": labItem("mcpLabWrapped"),
	"41": labItem("mcpLabEcho"),
	"42": labItem("mcpLabCaps"), // files over the cap: spill
	"43": clientTest("web_test.go", "TestEras", "stateful"),
	"44": clientTest("trip_test.go", "TestTrips", "with the state as it came"),
	"45": clientTest("odd_test.go", "TestOddOnTheWire", "a task of 2025-11-25 unasked"),
	"46": clientTest("life_test.go", "TestLimits", "it ran longer than its limit of 3s"), // over HTTP: TestEras
	"47": clientTest("list_test.go", "TestPages", "an empty cursor is one"),
	"48": clientTest("life_test.go", "TestNoise", "Server starting"), // panics: mcp/server; dies, floods: TestDeath, TestFlood
}

// mcpFamilies are what users of other systems asked for of MCP results, time limits and what a changelog tells.
var mcpFamilies = map[string]elsewhere{
	"E12": clientTest("odd_test.go", "TestOddOnTheWire", "9007199254740993"),
	"F01": clientTest("view_test.go", "TestPicks", "36 base64 in structured content"),
	"F02": clientTest("peers_test.go", "TestPeerEverything", "[image: image/png, ~4KB]"),
	"F03": {file: "internal/cases/mcp_client_test.go", test: "farResult", says: "base64 stands in the model's text"},
	"F04": {file: "internal/cases/mcp_client_test.go", test: "mcpClientCases", says: "C139"},
	"F05": {file: "mcp/server/result_test.go", test: "TestWhichStructuredContentIsSent"},
	"F06": clientTest("odd_test.go", "TestOddOnTheWire", "one"), // an envelope is never wrapped again: the bytes are compared
	"F07": clientTest("odd_test.go", "TestOddOnTheWire", "and why"),
	"G03": clientTest("life_test.go", "TestLimits", "steps"),
	"G04": clientTest("life_test.go", "TestLimits", "a call without a progress token"),
	"G06": clientTest("life_test.go", "TestDeath", "outcome unknown"),
	"G07": {file: "mcp/server/frame_test.go", test: "TestEveryRequestHasOneAnswer"},
	"N01": {file: "round/full_linux_test.go", test: "TestLaw04AFullDisk"},
	"N02": {file: "internal/cases/grep_test.go", test: "badPattern"},
	"N03": {file: "internal/cases/family_size_test.go", test: "trueFigures"},
	"N04": {file: "internal/cases/torn_test.go", test: "nextRecord"},
	"N05": {file: "internal/cases/orphan_test.go", test: "durableFirst"},
	"N06": {file: "internal/cases/text_test.go", test: "splitCharacter"},
	"N07": {file: "internal/cases/family_kept_test.go", test: "quotaHolds"},
	"N08": {file: "internal/cases/family_settle_test.go", test: "nInNOut"},
	"N09": {waits: "no record here has a parent that a file could name: a round's order is its number"},
	"N10": {file: "internal/cases/cache_test.go", test: "fixedDate"},
}

// TestMCPIsComplete holds that no number is left out without a word and that the tests that are named are there.
func TestMCPIsComplete(t *testing.T) {
	t.Parallel()
	var ids []string
	for n := range 48 {
		ids = append(ids, fmt.Sprintf("%02d", n+1))
	}
	complete(t, ids, nil, mcpEdges)
	ids = []string{"E12", "F01", "F02", "F03", "F04", "F05", "F06", "F07", "G03", "G04", "G06", "G07"}
	for n := range 10 {
		ids = append(ids, fmt.Sprintf("N%02d", n+1))
	}
	complete(t, ids, nil, mcpFamilies)
}
