package membrane_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/membrane"
)

func calls(ids ...string) []membrane.Block {
	blocks := []membrane.Block{{Type: membrane.Text, Text: "I look."}}
	for _, id := range ids {
		blocks = append(blocks, membrane.Block{Type: membrane.Call, CallID: id, Tool: "t"})
	}
	return blocks
}

func TestFreshIDs(t *testing.T) {
	t.Parallel()
	used := func(ids ...string) func(string) bool {
		return func(id string) bool {
			for _, u := range ids {
				if u == id {
					return true
				}
			}
			return false
		}
	}
	long := strings.Repeat("x", 22) + "é" + strings.Repeat("y", 30)
	for _, c := range []struct {
		name string
		ids  []string
		used func(string) bool
		want []string
	}{
		{"unique ids stay", []string{"b", "a", "functions.sh:0"}, nil, []string{"b", "a", "functions.sh:0"}},
		{"no calls", nil, nil, nil},
		{"a pair", []string{"c1", "c1"}, nil, []string{"c1", "c1-2"}},
		{"many", []string{"c1", "c1", "c1", "c1"}, nil, []string{"c1", "c1-2", "c1-3", "c1-4"}},
		{"empty", []string{"", "x", "x", ""}, nil, []string{"call-1", "x", "x-2", "call-2"}},
		{"a later call has the fresh id", []string{"c", "c", "c-2", "", "call-1"}, nil, []string{"c", "c-3", "c-2", "call-2", "call-1"}},
		{"used earlier", []string{"c1", "c2", ""}, used("c1", "call-1", "c1-2"), []string{"c1-3", "c2", "call-2"}},
		{"no text", []string{"\xff", "a\xff"}, nil, []string{"call-1", "a-2"}},
		{"long", []string{long, long}, nil, []string{long, strings.Repeat("x", 22) + "é-2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			given := calls(c.ids...)
			got := membrane.FreshIDs(given, c.used)
			if diff := cmp.Diff(calls(c.want...), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(calls(c.ids...), given); diff != "" {
				t.Errorf("the given blocks have changed:\n%s", diff)
			}
			if diff := cmp.Diff(got, membrane.FreshIDs(calls(c.ids...), c.used)); diff != "" {
				t.Errorf("another time it gives other ids:\n%s", diff)
			}
		})
	}
}

// TestFreshIDsOfLongConversation has a provider that gives no ids, for a thousand rounds.
func TestFreshIDsOfLongConversation(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	looks := 0
	for range 1000 {
		blocks := membrane.FreshIDs(calls("", ""), func(id string) bool { looks++; return seen[id] })
		for _, b := range blocks[1:] {
			if seen[b.CallID] {
				t.Fatalf("id %s comes twice", b.CallID)
			}
			seen[b.CallID] = true
		}
	}
	if want := 60_000; looks > want {
		t.Errorf("%d looks at the conversation, want at most %d", looks, want)
	}
	// A caller to whom every id is used gets an answer too.
	membrane.FreshIDs(calls(""), func(string) bool { return true })
}

func TestMentions(t *testing.T) {
	t.Parallel()
	r := membrane.Request{Messages: []byte(`{"content":[{"id":"c1","text":"the id \"c2\" is quoted, c3 named"},{"id":"a\"b"}]}`)}
	for id, want := range map[string]bool{"c1": true, "c2": false, "c3": false, "c": false, `a"b`: true, "": false} {
		t.Run(fmt.Sprintf("%q", id), func(t *testing.T) {
			t.Parallel()
			if got := r.Mentions(id); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func FuzzFreshIDs(f *testing.F) {
	f.Add("a,a,,b", "a-2")
	f.Add(",,call-1", "")
	f.Add("x-2,x,x,x-2", "x")
	f.Fuzz(func(t *testing.T, ids, used string) {
		taken := map[string]bool{}
		for _, id := range strings.Split(used, ",") {
			taken[id] = true
		}
		own := map[string]bool{}
		for _, b := range membrane.FreshIDs(calls(strings.Split(ids, ",")...), func(id string) bool { return taken[id] })[1:] {
			if b.CallID == "" || own[b.CallID] || taken[b.CallID] {
				t.Errorf("ids %q, used %q: %q is not fresh", ids, used, b.CallID)
			}
			own[b.CallID] = true
		}
	})
}
