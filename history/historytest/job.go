package historytest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/weir-run/weir/history"
)

// testBeside opens rounds beside each other, which only rounds without a message and a turn may be.
func testBeside(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	open := func(n int, beside bool) error {
		_, err := s.OpenRound(c.ctx(), c.l, history.Opening{
			Round: n, Digest: [32]byte{byte(n)}, Beside: beside, Append: history.Append{Now: start},
			Calls: []history.Call{{ID: history.CallID{Round: n, Index: 1}, Tool: "t", State: history.CallRunning, Attempt: 1}},
		})
		return err
	}
	shut := func(n int) error {
		c.round = n
		_, err := s.CloseRound(c.ctx(), c.l, history.Closing{
			Round: n, Settled: []history.Settled{c.result(1, "text")},
			Shown: []history.Shown{{ID: history.CallID{Round: n, Index: 1}, Same: true}}, Append: history.Append{Now: start},
		})
		return err
	}
	for n := 1; n <= 3; n++ {
		if err := open(n, true); err != nil {
			t.Fatal(err)
		}
	}
	if err := open(4, false); !errors.Is(err, history.ErrConflict) {
		t.Errorf("a round that does not say so stands beside others: %v", err)
	}
	if err := open(6, true); !errors.Is(err, history.ErrConflict) {
		t.Errorf("a number is left out: %v", err)
	}
	if err := s.ReleaseLease(c.ctx(), c.l); err != nil {
		t.Fatal(err)
	}
	c.take("c1") // another driver finds all of them
	for _, n := range []int{2, 3, 1} {
		if err := shut(n); err != nil {
			t.Errorf("close round %d: %v", n, err)
		}
	}
	if err := shut(2); !errors.Is(err, history.ErrConflict) {
		t.Errorf("round 2 was closed twice: %v", err)
	}
	c.round = 3
	c.say("", "hello")
	c.must(s.OpenRound(c.ctx(), c.l, c.opening("t")))
	if err := open(5, true); !errors.Is(err, history.ErrConflict) {
		t.Errorf("a round stands beside one of a turn: %v", err)
	}
	sound(t, s, "c1")
}

// testJobs stores a job and its end, once.
func testJobs(t *testing.T, s history.Store) {
	c := begin(t, s, "c1")
	job := func(i int) history.Job {
		return history.Job{
			ID: history.CallID{Round: i, Index: 1}, Tool: "slow", Args: []byte(`{"x": 1}`), State: history.JobRunning,
			Created: start, Started: start.Add(-time.Second),
		}
	}
	for _, i := range []int{3, 1} {
		if err := s.PutJob(c.ctx(), c.l, job(i)); err != nil {
			t.Fatal(err)
		}
	}
	ended := job(3)
	ended.State, ended.Ended = history.JobEnded, start.Add(time.Minute)
	if err := s.PutJob(c.ctx(), c.l, ended); err != nil {
		t.Fatal(err)
	}
	if err := s.PutJob(c.ctx(), c.l, job(3)); !errors.Is(err, history.ErrConflict) {
		t.Errorf("an ended job runs again: %v", err)
	}
	bad := job(4)
	bad.State = "asleep"
	if err := s.PutJob(c.ctx(), c.l, bad); !errors.Is(err, history.ErrConflict) {
		t.Errorf("a state that there is not: %v", err)
	}
	got, err := s.JobsOf(c.ctx(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]history.Job{ended, job(1)}, got); d != "" {
		t.Errorf("jobs (-want +got):\n%s", d)
	}
	old := c.l
	c.now = c.now.Add(2 * history.LeaseTime)
	old.Fence--
	if err := s.PutJob(c.ctx(), old, job(5)); !errors.Is(err, history.ErrStale) {
		t.Errorf("an older driver: %v", err)
	}
}
