package cases

import (
	"fmt"
	"testing"
)

// families of what users of other systems asked for: A orphans, crash and resume; B what is too long;
// C what is kept and read back; D the prompt cache; E encodings and JSON; G time limits; H empty results; I loops of calls;
// J the store under load; K approvals; L scripts. A subtest holds the right behaviour on the product as a whole.
func family() map[string]item {
	all := map[string]item{}
	for _, part := range []map[string]item{
		familyCrashes(), familySettled(), familySizes(), familyKept(), familyFiles(), familyCache(), familyBytes(), familyEnds(), familyStore(), familyApprovals(), familyLoops(), familyScripts(),
	} {
		for id, run := range part {
			if all[id] != nil {
				panic("two items have the number " + id)
			}
			all[id] = run
		}
	}
	return all
}

// familyElsewhere are the items, and the parts of them, that no subtest here holds.
var familyElsewhere = map[string]elsewhere{
	"A06": {file: "membrane/anthropic/wire_test.go", test: "TestStream"}, // its testdata/stream/server_tools.txtar: calls that the provider runs are no calls
	"B01": {file: "mcp/client/peers_test.go", test: "TestPeerSpill"},     // results of servers; here every kind of result of a tool
	"D13": {file: "membrane/anthropic/stream_test.go", test: "TestCacheMarkers"},
	"E06": {waits: "nothing here is a protobuf; what is held is that an edit never leaves half a character"},
	"E07": {waits: "history/postgres: bytea; here the store is SQLite and the text is what is held"},
	"E08": {waits: "history/postgres: jsonb refuses NUL; here the store is SQLite and the bytes are what is held"},
	"H01": {file: "membrane/anthropic/message_test.go", test: "TestEncodeResults"},
	"J02": {file: "history/sqlite/store_test.go", test: "TestLogStaysSmall"},
}

// familyIDs are the items of the families that are held here.
func familyIDs() (ids []string) {
	for _, f := range []struct {
		letter string
		n      int
	}{{"A", 22}, {"B", 16}, {"C", 17}, {"D", 14}, {"E", 11}, {"H", 4}, {"I", 5}, {"J", 6}, {"K", 4}, {"L", 2}} {
		for n := range f.n {
			ids = append(ids, fmt.Sprintf("%s%02d", f.letter, n+1))
		}
	}
	return append(ids, "G01", "G02", "G05")
}

// TestFamily runs every item of the families as a subtest of its number.
func TestFamily(t *testing.T) {
	t.Parallel()
	runItems(t, family())
}

// TestFamiliesAreComplete holds that no number is left out without a word.
func TestFamiliesAreComplete(t *testing.T) {
	t.Parallel()
	complete(t, familyIDs(), family(), familyElsewhere)
}
