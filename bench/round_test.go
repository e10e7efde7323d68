package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weir-run/weir/history"
	"github.com/weir-run/weir/history/sqlite"
)

// settling is how long Weir is left alone after rounds whose log it moves into the database in the
// background: 200 ms after the last write, and some time to do it.
const settling = 300 * time.Millisecond

// repeat is a side that does so many rounds in each turn.
func repeat(rounds int, do func() error) side {
	return side{units: rounds, do: func() error {
		for range rounds {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}}
}

// beside compares rounds of Weir with rounds of raw SQL, twice. Of single rounds the medians tell how long a
// caller waits. In turns of a hundred each side also pays for moving its log into the database, which
// comes every 60 rounds or so. The log is reported with the first.
func beside(b *testing.B, goal float64, dir string, weir func() error, peer *raw) {
	b.Run("rounds=1", func(b *testing.B) {
		compare(b, goal, repeat(1, weir), repeat(1, peer.round))
		reportLog(b, "weir", filepath.Join(dir, "weir.db"), 1, weir)
		reportLog(b, "peer", peer.path, 1, peer.round)
	})
	b.Run("rounds=100", func(b *testing.B) {
		ours := repeat(100, weir)
		ours.rest = settling
		compare(b, goal, ours, repeat(100, peer.round))
	})
}

// BenchmarkRoundNormal is P1: one whole round (open, four results of 16 KB together, close) through the
// contract of package history, against the same bytes in two transactions of raw SQL, both NORMAL. "host"
// is a round as a host's own loop stores it; "agent" stores what went on the wire too, so 33 KB.
func BenchmarkRoundNormal(b *testing.B) {
	for _, name := range []string{"host", "agent"} {
		b.Run(name, func(b *testing.B) {
			dir, l := b.TempDir(), newLoad(name == "agent")
			d := newDriver(b, open(b, dir, sqlite.Normal), "c1", l)
			beside(b, 1.15, dir, d.round, newRaw(b, "NORMAL", l))
		})
	}
}

// BenchmarkRoundFull is P2: the round of an agent, FULL, against two appends to a file with fdatasync; alone,
// and with conversations that run at once and share commits. The figures are for one round.
func BenchmarkRoundFull(b *testing.B) {
	for _, at := range []struct {
		conversations, each int // each is the rounds of a conversation in one turn
		goal                float64
	}{{1, 16, 1.4}, {16, 4, 0.5}} {
		b.Run(fmt.Sprintf("conversations=%d", at.conversations), func(b *testing.B) {
			dir, l := b.TempDir(), newLoad(true)
			s := open(b, dir, sqlite.Full)
			drivers := make([]*driver, at.conversations)
			for i := range drivers {
				drivers[i] = newDriver(b, s, fmt.Sprintf("c%d", i), l)
			}
			rounds := at.conversations * at.each
			together := func() error {
				errs := make([]error, len(drivers))
				var wg sync.WaitGroup
				for i, d := range drivers {
					wg.Go(func() { errs[i] = repeat(at.each, d.round).do() })
				}
				wg.Wait()
				return errors.Join(errs...)
			}
			ours := side{units: rounds, do: together, rest: settling}
			compare(b, at.goal, ours, repeat(16, newAppended(b, l).round))
			reportLog(b, "weir", filepath.Join(dir, "weir.db"), rounds, together)
		})
	}
}

// BenchmarkSettle is P3: everything that Weir does for a round of four no-op tools, against the raw SQL of
// P1. "held" holds the conversation over the rounds, as the agent does; "alone" takes it for each round
// and gives it back.
func BenchmarkSettle(b *testing.B) {
	for _, name := range []string{"held", "alone"} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			s := open(b, dir, sqlite.Normal)
			var lease *history.Lease
			if name == "held" {
				taken, err := s.TakeLease(context.Background(), history.Take{
					Conversation: "c1", Create: &history.Conversation{ID: "c1"}, Run: "bench", Now: time.Now(),
				})
				if err != nil {
					b.Fatal(err)
				}
				lease = &taken
			}
			beside(b, 1.5, dir, settle(b, s, "c1", lease), newRaw(b, "NORMAL", newLoad(false)))
		})
	}
}
