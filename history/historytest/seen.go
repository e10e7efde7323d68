package historytest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
)

// testSeen holds that what was last seen of a file is there to the nanosecond, for the conversation that saw
// it, and that only who drives the conversation changes it.
func testSeen(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	seen := history.Seen{
		Path: "project/a.go", Size: 17, Changed: start.Add(123 * time.Nanosecond), SHA256: [32]byte{1, 2, 3},
		By: history.CallID{Round: 3, Index: 1},
	}
	if _, err := s.SeenOf(c.ctx(), "c1", seen.Path); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("nothing was seen: %v", err)
	}
	other := history.Seen{Path: "project/b.go", By: history.CallID{Round: 4, Index: 2, Sub: 7}}
	for _, put := range []history.Seen{{Path: seen.Path, Size: 1, Changed: start}, other, seen} {
		if err := s.PutSeen(c.ctx(), "c1", put); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []history.Seen{seen, other} {
		got, err := s.SeenOf(c.ctx(), "c1", want.Path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("seen (-want +got):\n%s", d)
		}
	}
	if _, err := s.SeenOf(c.ctx(), "c2", seen.Path); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("another conversation saw it: %v", err)
	}
	for why, bad := range map[string]history.Seen{"no path": {}, "a size below 0": {Path: "a", Size: -1}} {
		if err := s.PutSeen(c.ctx(), "c1", bad); !errors.Is(err, history.ErrConflict) {
			t.Errorf("%s: %v", why, err)
		}
	}
	if err := s.PutSeen(c.ctx(), "nobody", seen); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("a conversation that is not there: %v", err)
	}
	if err := s.ReleaseLease(c.ctx(), c.l); err != nil {
		t.Fatal(err)
	}
	if err := s.PutSeen(c.ctx(), "c1", other); !errors.Is(err, history.ErrStale) {
		t.Errorf("nobody drives the conversation: %v", err)
	}
}
